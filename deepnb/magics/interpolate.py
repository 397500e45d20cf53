"""A prompt with the kernel's values filled in for {name}, {name.attr} and {name[key]}.

Left byte for byte as typed: what stands in code (fences, backticks) and in mathematics ($...$, $$...$$, \\(...\\),
\\[...\\], environments), doubled braces, and every brace that holds no path of names (JSON, LaTeX, formats, calls).
Fences and backticks follow CommonMark 0.31 (sections 4.5 and 6.1), a lone dollar pandoc's rule with one blank
more, so that `$5 and {x} costs $6` is money. One pass: each value is asked for once, whatever the text's length.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from deepnb.gate.own_words import Filled
from deepnb.magics.last_error import ERR
from deepnb.values.errors import DeepnbError
from deepnb.values.image import PromptImage
from deepnb.workshop.describe import describe, is_table
from deepnb.workshop.exact import is_from, plain
from deepnb.workshop.images import prompt_image

CAP = 2000  # characters of a repr

# Possessive throughout (++, *+), so that a brace that is none costs its own length and no more.
_PLACEHOLDER = re.compile(
    r"""\{ (?P<name>[^\W\d]\w*+)
        (?P<steps>(?: \.[^\W\d]\w*+ | \[ (?: "[^"\n]*+" | '[^'\n]*+' | [^][{}'"\n]++ ) \] )*+)
        \}""",
    re.VERBOSE,
)
_STEP = re.compile(r"""\.(?P<attr>\w+)|\[(?:"(?P<a>[^"]*)"|'(?P<b>[^']*)'|(?P<bare>[^\]]+))\]""")
# A name the kernel knows, but with something after it that is not filled in.
_MORE = re.compile(r"\{([^\W\d]\w*+) ?[.(\[:!+*/-][^{}\n]{0,80}+\}")
_LATEX = re.compile(r"(?:\\[A-Za-z]{1,40}\*?|\^)\Z")  # \frac | x^
_GROUP = re.compile(r"\{[^{}\n]*+\}")

_FENCE = re.compile(
    r"(?P<lead>(?:[ \t]*+(?:>|[-*+](?=[ \t])|[0-9]{1,9}[.)](?=[ \t])))*+[ \t]*+)"
    r"(?:(?P<ticks>`{3,})[^`\n]*+|(?P<tildes>~{3,})[^\n]*+)\n?\Z"
)
_FENCE_END = re.compile(r"(?P<lead>[ \t>]*+)(?P<fence>`{3,}+|~{3,}+)[ \t\r]*+\n?\Z")
_TICKS = re.compile(r"\\.|`+", re.DOTALL)  # \` | ``
_MATH = re.compile(r"\\\\?[()\[\]]|\\(?:begin|end)\{[A-Za-z]{1,40}\*?\}|\\.|\$\$?", re.DOTALL)
_BLANK_LINE = re.compile(r"\n[ \t\r]*(?=\n)")
_ENDS = {"\\(": "\\)", "\\[": "\\]", "\\\\(": "\\\\)", "\\\\[": "\\\\]", "$$": "$$"}

Span = tuple[int, int]
T = TypeVar("T")


@dataclass(frozen=True)
class FilledPrompt:
    """The text with its values (`Filled` where there are any), the placeholders that were filled (without braces), and one line for each not."""

    text: str
    filled: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    images: tuple[PromptImage, ...] = ()
    """Values that are images; the text has their markers."""


def fill(text: str, lookup: Mapping[str, object]) -> FilledPrompt:
    """Return the prompt with the values of `lookup` in place of its placeholders; nothing raises but an interrupt."""
    values = _Values(lookup)
    out, copied, latex_end = [], 0, -1
    for at in _lone_braces(text):
        if at < copied:
            continue
        if at == latex_end or _LATEX.search(text, max(0, at - 42), at):
            group = _GROUP.match(text, at)
            latex_end = group.end() if group else -1
            values.note_known(text, at, "it is read as LaTeX here")
            continue
        if (match := _PLACEHOLDER.match(text, at)) is None:
            values.note_known(text, at, "only {name}, {name.attribute} and {name[key]} are filled in")
            continue
        if (value := values.text_of(match)) is not None:
            lines = "\n" in value and value is values.tables.get(match[0])
            before = "\n" if lines and at and text[at - 1] != "\n" else ""
            after = "\n" if lines and text[match.end() : match.end() + 1] not in ("", "\n") else ""
            out += [text[copied:at], before, value, after]
            copied = match.end()
    images = tuple(values.images.values())
    whole = Filled("".join([*out, text[copied:]]), text) if out else text
    return FilledPrompt(whole, tuple(values.filled), tuple(values.notes.values()), images)


def known_names(text: str, lookup: Mapping[str, object]) -> tuple[str, ...]:
    """Return the placeholders of a text, braces and all, whose variable is there; none is looked at."""
    found = (_PLACEHOLDER.match(text, at) for at in _lone_braces(text))
    return tuple(dict.fromkeys(one[0] for one in found if one and one["name"] in lookup))


def code_and_math(text: str) -> list[Span]:
    """Return where a text is code or mathematics, in order and without overlaps."""
    fences = list(_fences(text))
    blank = [match.start() for match in _BLANK_LINE.finditer(text)]
    spans = list(fences)
    start = 0
    for fence_start, fence_end in [*fences, (len(text), len(text))]:
        code = list(_code_spans(text, start, fence_start, blank))
        spans += code
        spans += _math_spans(text, start, fence_start, blank, code)
        start = fence_end
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span[0] < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], span[1]))
        else:
            merged.append(span)
    return merged


def _lone_braces(text: str) -> Iterator[int]:
    if "{" not in text:
        return
    spans = code_and_math(text)
    next_span = 0
    for match in re.finditer(r"\{+", text):
        at = match.start()
        while next_span < len(spans) and spans[next_span][1] <= at:
            next_span += 1
        inside = next_span < len(spans) and spans[next_span][0] <= at
        if not inside and len(match[0]) == 1 and text[at - 1 : at] != "\\":
            yield at


def _fences(text: str) -> Iterator[Span]:
    """Yield the fenced blocks, in quotes and lists, too; one that is not closed goes on to the end (of its quote)."""
    start = at = depth = width = 0
    fence = ""
    for line in re.findall(r"[^\n]*\n|[^\n]+\Z", text):
        if fence:
            end = _FENCE_END.match(line)
            if line.lstrip(" \t")[:1] != ">" and depth:
                yield start, at
                fence = ""
            elif end and end["fence"].startswith(fence) and len(end["lead"].expandtabs(4)) <= width + 3:
                yield start, at + len(line)
                fence = ""
                at += len(line)
                continue
        if not fence and (begin := _FENCE.match(line)):
            fence, start = begin["ticks"] or begin["tildes"], at
            width, depth = len(begin["lead"].expandtabs(4)), begin["lead"].count(">")
        at += len(line)
    if fence:
        yield start, len(text)


def _code_spans(text: str, start: int, end: int, blank: list[int]) -> Iterator[Span]:
    """Yield the runs of backticks with a run of the same length later in the paragraph, and what is between."""
    runs: dict[int, list[int]] = {}
    for run in re.compile("`+").finditer(text, start, end):
        runs.setdefault(len(run[0]), []).append(run.start())
    done = start
    for token in _TICKS.finditer(text, start, end):
        if token.start() < done or token[0][0] == "\\":
            continue
        length = len(token[0])
        close = _next(runs.get(length, []), token.end())
        if close is not None and close < (_next(blank, token.end()) or end):
            done = close + length
            yield token.start(), done


def _math_spans(text: str, start: int, end: int, blank: list[int], code: list[Span]) -> Iterator[Span]:
    """Yield mathematics between dollars, escaped brackets and in environments; dollars in code are none."""
    code_ends = [span[1] for span in code]
    tokens = []
    for token in _MATH.finditer(text, start, end):
        i = bisect_left(code_ends, token.start() + 1)
        if i == len(code) or token.start() < code[i][0]:
            tokens.append(token)
    places: dict[str, list[int]] = {}
    for token in tokens:
        places.setdefault(token[0], []).append(token.start())
    done = start
    for token in tokens:
        if token.start() < done:
            continue
        word = token[0]
        ending = _ENDS.get(word) or ("\\end" + word[6:] if word.startswith("\\begin") else word if word == "$" else "")
        close = _next(places.get(ending, []), token.end())
        if close is not None and word == "$":  # unless it is money
            at, after = token.start(), text[close + 1 : close + 2]
            apart = close >= (_next(blank, at) or len(text)) or text[at + 1].isspace() != text[close - 1].isspace()
            close = None if apart or after.isdigit() or after == "{" else close
        if close is not None:
            done = close + len(ending)
            yield token.start(), done


def _next(places: list[int], at: int) -> int | None:
    i = bisect_left(places, at)
    return places[i] if i < len(places) else None


class _Refused(Exception):
    """Why a placeholder stays as typed."""


class _Values:
    def __init__(self, lookup: Mapping[str, object]) -> None:
        self.lookup = lookup
        self.rendered: dict[str, str | None] = {}
        self.tables: dict[str, str] = {}
        self.images: dict[str, PromptImage] = {}
        self.filled: dict[str, None] = {}
        self.notes: dict[str, str] = {}

    def text_of(self, match: re.Match[str]) -> str | None:
        """Return what a placeholder stands for, or None where it stays as typed."""
        if (typed := match[0]) not in self.rendered:
            try:
                self.rendered[typed] = self._render(typed, match["name"], match["steps"])
                self.filled[typed[1:-1]] = None
            except _Refused as why:
                self.rendered[typed] = None
                key = match["name"] if not self._knows(match["name"]) else typed
                self.notes.setdefault(key, _note(typed, str(why)))
        return self.rendered[typed]

    def note_known(self, text: str, at: int, why: str) -> None:
        """Say why a brace with a known name in it is left alone; of others it is not known that they were meant."""
        if (match := _PLACEHOLDER.match(text, at) or _MORE.match(text, at)) and self._knows(match[1]):
            self.notes.setdefault(match[0], _note(match[0], why))

    def _knows(self, name: str) -> bool:
        return name in self.lookup and not (name.startswith("__") and name.endswith("__") and len(name) > 4)

    def _render(self, typed: str, name: str, steps: str) -> str:
        if not self._knows(name):
            raise _Refused(f"no variable {name}" + (" and no error yet" if name == ERR else ""))
        value = self.lookup[name]
        for step in _STEP.finditer(steps):
            value = _step(value, step)
        if isinstance(value, str):
            return str.__str__(value)
        try:
            image = prompt_image(typed[1:-1], value, inside=True)
        except DeepnbError as error:
            raise _Refused(error.typed) from None
        if image is not None:
            self.images[typed] = image
            return image.marker
        text = _asked(lambda: _shown(typed[1:-1], value), "it can't be shown")
        if _is_described(value):
            self.tables[typed] = text
        return text


def _step(value: object, step: re.Match[str]) -> object:
    if (attr := step["attr"]) is not None:
        if attr.startswith("_"):
            raise _Refused(f"{attr} is private")
        return _asked(lambda: getattr(value, attr), f"no attribute {attr}", AttributeError)
    quoted = step["a"] if step["a"] is not None else step["b"]
    key: str | int = quoted if quoted is not None else step["bare"]
    if quoted is None and re.fullmatch(r"-?[0-9]{1,18}", step["bare"]):
        key = int(step["bare"])
    return _asked(lambda: value[key], f"no item {key!r}", LookupError, TypeError)  # type: ignore[index]


def _asked(ask: Callable[[], T], why: str, *expected: type[BaseException]) -> T:
    """Return what the user's own code answers; whatever it raises is a reason to leave the placeholder alone."""
    try:
        return ask()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _Refused(why if isinstance(error, expected) else f"{why} ({type(error).__name__})") from None


def _shown(path: str, value: object) -> str:
    if _is_described(value):
        return describe(path, value)
    text = repr(plain(value))
    return text if len(text) <= CAP else f"{text[:CAP]}... ({len(text) - CAP:,} more characters)"


def _is_described(value: object) -> bool:
    """Return whether a value is shown as `inspect_variable` shows it: the repr of a lazy frame would say nothing."""
    return is_table(value) or is_from(value, "polars", ("LazyFrame",))


def _note(typed: str, why: str) -> str:
    return " ".join(f"{typed} is left as typed: {why}".split())
