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
    return _OPEN.sub(lambda found: named(found["words"]), _IMAGE.sub(lambda found: named(found["words"]), text))


def ends_in_image(text: str) -> bool:
    """Return whether `text` ends inside the data of an image."""
    return _OPEN.match(text, max(text.rfind("!["), 0)) is not None


def _inline(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "!":
        return False
    found = _IMAGE.match(state.src, state.pos, state.posMax) or _OPEN.match(state.src, state.pos)
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
