"""The tables that a request is about, found among the user's variables."""

from collections.abc import Generator

from deepnb.models.teaching.analysis_request import fit, wants_join
from deepnb.models.teaching.conversation import Conversation, Step
from deepnb.models.teaching.frames import LOOKED_AT, Frame, parse_frame, said, variables
from deepnb.models.teaching.moves import Use, failure
from deepnb.models.teaching.words import words


def tables_asked(c: Conversation, request: str) -> Generator[Use, Step, tuple[list[Frame], list[str]] | str]:
    """The table that a request is about, and one to join; the names that are in use. Else what is to be said."""
    given = parse_frame(c.request) or parse_frame(c.base)
    if given:
        return [given[0]], [given[0].name]
    step = yield Use("list_variables", {})
    names, types = variables(step.result)
    frames = [name for name in names if types[name] == "DataFrame"]
    if not frames:
        return c.tell(
            "I compute with DataFrames, and `list_variables` shows none.",
            "我只计算 DataFrame，而 `list_variables` 里没有。",
        )
    named = said(request, frames)
    joins = wants_join(request)
    near = sorted(frames, key=lambda name: not words(name.replace("_", " ")) & words(c.request.replace("_", " ")))
    seen: list[Frame] = []
    for name in named[: 2 if joins else 1] if named and (len(named) > 1 or not joins) else [*named, *near][:LOOKED_AT]:
        step = yield Use("inspect_variable", {"name": name})
        if found := parse_frame(step.result):
            seen.append(found[0])
            if not (named or joins) and fit(found[0], request) > 1:
                break
    if not seen:
        return failure(c, step)
    best = sorted(seen, key=lambda frame: -fit(frame, request)) if not named else seen
    return (best[:2] if joins else best[:1]), names
