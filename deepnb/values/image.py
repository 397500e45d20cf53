"""An image that goes with a prompt: its bytes, and what is said of it in words."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from deepnb.gate.own_words import add_words
from deepnb.values.short_repr import short_repr

LARGEST = 5_000_000
"""Bytes of an image that is sent: what Anthropic's API takes, the least of the large providers."""

PICTURES = ("image/png", "image/jpeg", "image/gif")
"""The types of images that outputs of code have."""

_LONGEST = 1_568
_PIXELS = 750
_MOST_TOKENS = 1_600


@dataclass(frozen=True)
class PromptImage:
    """One image, as a model is sent it."""

    name: str
    data: bytes = field(repr=False)
    mime: str
    """`image/png`, `image/jpeg`, `image/gif` or `image/webp`."""
    size: tuple[int, int] | None
    """Width and height in pixels; None where the bytes do not say."""
    description: str = ""
    """What a model is told that does not see images, beside the marker."""

    def __repr__(self) -> str:
        return short_repr(self, self.marker)

    @property
    def marker(self) -> str:
        """`[image: fig, 640x480 png]`: what stands in the prompt."""
        size = f"{self.size[0]}x{self.size[1]} " if self.size else ""
        return f"[image: {self.name}, {size}{self.mime.removeprefix('image/')}]"


def with_markers(prompt: str, images: Sequence[PromptImage]) -> str:
    """A prompt that names all of its images; those that it does not name yet, below it."""
    below = [one.marker for one in images if one.marker not in prompt]
    return add_words(prompt, "".join(f"\n\n{marker}" for marker in below)) if below else prompt


def image_type(data: bytes) -> str | None:
    """The type of an image by its first bytes; None for anything that models do not take."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def image_size(data: bytes) -> tuple[int, int] | None:
    """Width and height of a PNG, GIF or JPEG, from its header."""
    kind = image_type(data)
    if kind == "image/png" and len(data) >= 24:
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if kind == "image/gif" and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    return _jpeg_size(data) if kind == "image/jpeg" else None


def image_tokens(size: tuple[int, int] | None) -> int:
    """About what an image costs: an estimate for all providers, since each counts in its own way.

    Width times height by 750, with the longer side brought down to 1,568 pixels: Anthropic's formula
    (https://docs.claude.com/en/docs/build-with-claude/vision). OpenAI's tiles and Gemini's are of the same order.
    The most that one can cost where the size is unknown.
    """
    if size is None:
        return _MOST_TOKENS
    scale = min(1.0, _LONGEST / max(*size, 1))
    return max(1, min(_MOST_TOKENS, round(size[0] * size[1] * scale * scale / _PIXELS)))


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """From the first frame header: the marker SOF, whose bytes 3 to 6 are height and width."""
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        at += 2 + length
    return None
