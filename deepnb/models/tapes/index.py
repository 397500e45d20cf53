"""Which exchange of a tape answers a request; where none does, the nearest one and what differs."""

import json
from collections import Counter
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from deepnb.models.tapes.tape import Exchange, Tape
from deepnb.models.tapes.tape_request import Parts, TapeForm
from deepnb.values.diff import FileDiff
from deepnb.values.model_failure import NotOnTapeError

_LOOKED_AT = 5
"""Exchanges with most parts in common that are compared word by word."""
_COMPARED = 4_000
"""Characters of a part that are compared then."""


class TapeIndex:
    """The exchanges of a tape by their requests, for some days."""

    def __init__(self, tape: Tape, form: TapeForm) -> None:
        """`form` masks the times of all days in question: those of the tape, and now."""
        self._tape = tape
        names = {name: form.masked_part(part) for name, part in tape.parts.items()}
        self._texts: dict[str, Any] = dict(names.values())
        self._requests = [
            Parts(names[one.tools][0], tuple(names[m][0] for m in one.messages)) for one in tape.exchanges
        ]
        self._by_key: dict[tuple[str, ...], list[int]] = {}
        for number, request in enumerate(self._requests):
            self._by_key.setdefault(request.key, []).append(number)

    def exchanges(self, request: Parts) -> list[Exchange]:
        """Give the exchanges of this request, in the order in which they were recorded; raise an error where there is none."""
        numbers = self._by_key.get(request.key)
        if numbers is None:
            raise self._not_found(request)
        return [self._tape.exchanges[number] for number in numbers]

    def _not_found(self, asked: Parts) -> NotOnTapeError:
        what, do = f"the request is not on {self._tape.label}", "%agent record FILE makes a tape that has it"
        if not self._requests:
            return NotOnTapeError(f"{what}, which is empty", do)
        number = self._nearest(asked)
        nearest = self._requests[number]
        texts = {**self._texts, **asked.texts}
        diff = FileDiff("request", _page(nearest, texts), _page(asked, texts))
        of = f"request {number + 1} of {len(self._requests)}"
        return NotOnTapeError(f"{what}: the nearest, {of}, differs in {_differs(nearest, asked, texts)}", do, diff)

    def _nearest(self, asked: Parts) -> int:
        """The exchange that has most parts of a request; of several, one as long whose other parts are most alike."""
        wanted = Counter(asked.key)

        def common(number: int) -> tuple[int, int]:
            key = self._requests[number].key
            return sum((wanted & Counter(key)).values()), -abs(len(key) - len(asked.key))

        best = sorted(range(len(self._requests)), key=common, reverse=True)[:_LOOKED_AT]
        return max(best, key=lambda n: (common(n), self._alike(self._requests[n], asked), -n))

    def _alike(self, one: Parts, asked: Parts) -> float:
        texts = {**self._texts, **asked.texts}
        a, b = (
            "\n".join(_lines(texts[name])[:_COMPARED] for name in x.key if name not in y.key)[:_COMPARED]
            for x, y in ((one, asked), (asked, one))
        )
        return SequenceMatcher(None, a, b, autojunk=False).quick_ratio()


def _differs(nearest: Parts, asked: Parts, texts: Mapping[str, Any]) -> str:
    """The first thing in which two requests differ, in a few words."""
    if nearest.tools != asked.tools:
        return "its tools"
    for number, (one, other) in enumerate(zip(nearest.messages, asked.messages, strict=False), 1):
        if one != other:
            return f"message {number} ({texts[other]['role']})"
    more = len(asked.messages) - len(nearest.messages)
    return f"having {abs(more)} message{'s' if abs(more) != 1 else ''} {'fewer' if more > 0 else 'more'}"


def _page(request: Parts, texts: Mapping[str, Any]) -> str:
    """A request as text: each part below a heading."""
    heads = ["tools", *(f"message {i}: {texts[m]['role']}" for i, m in enumerate(request.messages, 1))]
    return "\n".join(f"# {head}\n{_lines(texts[name])}\n" for head, name in zip(heads, request.key, strict=True))


def _lines(part: Any) -> str:
    """A part as lines."""
    if isinstance(part, list):
        return "\n".join(f"{name}: {' '.join(description.split())}" for name, description in part)
    calls = [f"{name} {json.dumps(args, ensure_ascii=False, sort_keys=True)}" for name, args in part.get("calls", ())]
    images = [f"image {name}" for name in part.get("images", ())]
    return "\n".join(filter(None, (part.get("text", ""), *calls, *images)))
