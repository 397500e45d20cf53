"""Images that a text brings along as data, `![words](data:image/png;base64,...)`: shown, and named where there is only text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline

_LARGEST = 3_000_000
"""Characters of an image; a larger one is only named."""

_BEGINNINGS = {"png": "iVBORw0KGgo", "jpeg": "/9j/", "jpg": "/9j/", "gif": "R0lGOD", "webp": "UklGR"}
"""What an image of each type begins with, in base64: those of dots, which can hold no script."""
_DATA = r"data:image/(?P<type>png|jpe?g|gif|webp);base64,(?P<data>[A-Za-z0-9+/]+={0,2})"
_ADDRESS = re.compile(_DATA)
_HEAD = r"!\[(?P<words>[^\[\]\n]{0,500})\]\([ \t]*"
_IMAGE = re.compile(_HEAD + _DATA + r"""(?:[ \t]+(?:"[^"\n]*"|'[^'\n]*'))?[ \t]*\)""")
_BEGUN = "|".join(re.escape("data:image/"[:length]) for length in range(1, 12))
_OPEN = re.compile(rf"{_HEAD}(?:(?:{_BEGUN})|data:image/[a-z]{{1,4}}(?:;[a-z0-9]*(?:,[A-Za-z0-9+/]*={{0,2}})?)?)\Z")
_HEAD_OPEN = re.compile(r"!(?:\[[^\[\]\n]{0,500}(?:\](?:\([ \t]*)?)?)?\Z")


def data_images_plugin(parser: MarkdownIt) -> None:
    """Teach the parser the token `data_image`: with `src` and `alt`, or with `alt` alone where only its name is shown."""
    parser.inline.ruler.before("image", "data_image", _inline)


def is_image(address: str) -> bool:
    """Return whether an address is an image as data, of a type that can only be looked at."""
    found = _ADDRESS.fullmatch(address)
    return found is not None and found["data"].startswith(_BEGINNINGS[found["type"]])


def named(words: str) -> str:
    """Return what stands for an image in a text."""
    return f"[picture: {words}]" if words else "[picture]"


def without_data(text: str) -> str:
    """Return `text` with the names of its images in the place of their data, also of one that has no end yet."""
    if "](" not in text:
        return text
    return _OPEN.sub(_named, _IMAGE.sub(_named, text))


def ends_in_image(text: str) -> bool:
    """Return whether `text` ends inside the data of an image."""
    return _open(text, max(text.rfind("!["), 0)) is not None


class ImageNames:
    """A text that comes in pieces, with the names of images in the place of their data."""

    def __init__(self) -> None:
        self._held: list[str] = []

    def add(self, piece: str) -> str:
        """Return what can be shown by now: what may turn out to be an image waits for its end."""
        if self._held and ")" not in piece and "\n" not in piece and len(self._held) > 1:
            self._held.append(piece)
            return ""
        text = "".join([*self._held, piece])
        at = max(text.rfind("!["), text.rfind("!", len(text) - 1))
        waits = at >= 0 and (_HEAD_OPEN.match(text, at) or _open(text, at))
        self._held = [text[at:]] if waits else []
        return without_data(text[:at] if waits else text)

    def end(self) -> str:
        text, self._held = "".join(self._held), []
        return without_data(text)


def _named(found: re.Match[str]) -> str:
    return named(found["words"])


def _open(text: str, at: int) -> re.Match[str] | None:
    return _OPEN.match(text, at)


def _inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "!":
        return False
    found = _IMAGE.match(state.src, state.pos, state.posMax) or _open(state.src, state.pos)
    if found is None:
        return False
    whole = "data" in found.groupdict() and is_image(f"data:image/{found['type']};base64,{found['data']}")
    if "data" in found.groupdict() and not whole:
        return False
    if not silent:
        token = state.push("data_image", "", 0)
        token.attrs["alt"] = found["words"]
        if whole and len(found[0]) <= _LARGEST:
            token.attrs["src"] = f"data:image/{found['type']};base64,{found['data']}"
    state.pos = found.end()
    return True
