"""An image that goes with a prompt: its bytes, and what is said of it in words."""

from base64 import b64decode, b64encode
from binascii import Error
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from deepnb.gate.own_words import add_words
from deepnb.values.text import rebuilt, short_repr

LARGEST = 5_000_000
"""Bytes of an image that is sent: what Anthropic's API takes, the least of the large providers."""

_PNG_BEGIN, _JPEG_BEGIN = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_BEGINS = {_PNG_BEGIN: "image/png", _JPEG_BEGIN: "image/jpeg", b"GIF87a": "image/gif", b"GIF89a": "image/gif"}

PICTURES = ("image/png", "image/jpeg", "image/gif")
"""The types of images that outputs of code have."""
IN_A_TERMINAL = "a terminal shows no picture: savefig writes a figure to a file"

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
    """Return a prompt that names all of its images; those that it does not name yet, below it."""
    below = [one.marker for one in images if one.marker not in prompt]
    return add_words(prompt, "".join(f"\n\n{marker}" for marker in below)) if below else prompt


def image_type(data: bytes) -> str | None:
    """Return the type of an image by its first bytes; None for anything that models do not take."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for begin, kind in _BEGINS.items() if data.startswith(begin)), None)


def image_size(data: bytes) -> tuple[int, int] | None:
    """Return width and height of a PNG, GIF or JPEG, from its header."""
    if (kind := image_type(data)) == "image/png" and len(data) >= 24:
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if kind == "image/gif" and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    for mark, at, _ in _jpeg_parts(data) if kind == "image/jpeg" else ():
        if 0xC0 <= mark <= 0xCF and mark not in (0xC4, 0xC8, 0xCC) and at + 9 < len(data):  # the first frame
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
    return None


def image_tokens(size: tuple[int, int] | None) -> int:
    """Return about what an image costs with any provider; the most that one can cost where the size is unknown.

    Width times height by 750, with the longer side brought down to 1,568 pixels: Anthropic's formula
    (https://docs.claude.com/en/docs/build-with-claude/vision). OpenAI's tiles and Gemini's are of the same order.
    """
    if size is None:
        return _MOST_TOKENS
    scale = min(1.0, _LONGEST / max(*size, 1))
    return max(1, min(_MOST_TOKENS, round(size[0] * size[1] * scale * scale / _PIXELS)))


def _jpeg_parts(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield (marker, where it begins, where its part ends) up to the marker behind which the pixels are."""
    at = 2
    while at + 1 < len(data) and data[at] == 0xFF and data[at + 1] != 0xDA:
        if data[at + 1] == 0xFF:  # it may be filled up
            at += 1
            continue
        end = at + 2 + int.from_bytes(data[at + 2 : at + 4], "big")
        yield data[at + 1], at, end
        at = end


# -- A picture without what it says in words: the metadata of PNG, JPEG, GIF and WebP, where a program leaves more than is seen

_PNG = frozenset((b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"cICP", b"sBIT", b"bKGD", b"hIST", b"pHYs", b"sPLT"))
_APNG = frozenset((b"acTL", b"fcTL", b"fdAT"))
_JFIF, _ICC, _ADOBE, _COMMENT = 0xE0, 0xE2, 0xEE, 0xFE
_WEBP_WORDS = (b"EXIF", b"XMP ")
_DATA = "data:image/"


def bare_image(data: bytes) -> bytes:
    """Return the same pixels, colours and moving parts; the same object where there was nothing else, or the bytes are damaged."""
    parts = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}.get(image_type(data) or "")
    try:
        made = b"".join(parts(data)) if parts else data
    except IndexError:
        return data
    if image_type(data) == "image/webp" and made != data:
        made = made[:4] + (len(made) - 8).to_bytes(4, "little") + made[8:]
    return data if made == data else made


def bare_base64(text: str) -> str:
    head, comma, body = text.partition(",") if text.startswith(_DATA) else ("", "", text)
    try:
        data = b64decode(body)
    except (Error, ValueError):
        return text
    made = bare_image(data)
    return text if made is data else f"{head}{comma}{b64encode(made).decode()}"


def bare_images(value: Any) -> Any:
    """Return a JSON-like value with the pictures in it bare; the same object where nothing changed."""
    if isinstance(value, str):
        return bare_base64(value) if len(value) > 64 else value
    return rebuilt(value, bare_images)


def _png(data: bytes) -> Iterator[bytes]:
    yield data[:8]
    at = 8
    while at < len(data):
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        name = data[at + 4 : at + 8]
        if name[0] < 0x60 or name in _PNG or name in _APNG:  # a capital: the picture needs it
            yield data[at:end]
        if name == b"IEND":
            return
        at = end


def _jpeg(data: bytes) -> Iterator[bytes]:
    yield data[:2]
    start = 2
    for mark, at, start in _jpeg_parts(data):
        if mark == 0xE1 and (turned := _orientation(data[at + 4 : start])) > 1:
            body = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0" + bytes([turned]) + bytes(6)
            yield b"\xff\xe1" + (len(body) + 2).to_bytes(2, "big") + body
        if mark in (_JFIF, _ICC, _ADOBE) or not (0xE0 <= mark <= 0xEF or mark == _COMMENT):
            yield data[at:start]
    end = data.rfind(b"\xff\xd9")
    yield data[start : end + 2 if end >= start else None]


def _orientation(exif: bytes) -> int:
    """Return which way up a picture is shown, 1 to 8; 1 where EXIF does not say."""
    order: Literal["little", "big"] = "little" if exif[6:8] == b"II" else "big"
    first = 6 + int.from_bytes(exif[10:14], order) if exif.startswith(b"Exif\0\0") else len(exif)
    count = int.from_bytes(exif[first : first + 2], order)
    for at in range(first + 2, min(first + 2 + 12 * count, len(exif) - 11), 12):
        if int.from_bytes(exif[at : at + 2], order) == 0x0112:
            turned = int.from_bytes(exif[at + 8 : at + 10], order)
            return turned if turned <= 8 else 1
    return 1


def _gif(data: bytes) -> Iterator[bytes]:
    at = 13 + (3 << (data[10] & 7) + 1 if data[10] & 0x80 else 0)
    yield data[:at]
    while at < len(data):
        start = at
        if data[at] == 0x3B:  # the end
            yield data[at : at + 1]
            return
        if data[at] == 0x2C:  # a picture
            at += 10 + (3 << (data[at + 9] & 7) + 1 if data[at + 9] & 0x80 else 0) + 1
        elif data[at] == 0x21:
            at += 2
        else:
            return
        while data[at]:
            at += data[at] + 1
        at += 1
        loop = data[start + 3 : start + 14] in (b"NETSCAPE2.0", b"ANIMEXTS1.0")
        if data[start] == 0x2C or data[start + 1] == 0xF9 or (data[start + 1] == 0xFF and loop):
            yield data[start:at]


def _webp(data: bytes) -> Iterator[bytes]:
    yield data[:12]
    at, last = 12, min(len(data), 8 + int.from_bytes(data[4:8], "little"))
    while at + 8 <= last:
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        end = at + 8 + size + size % 2
        part = data[at:end]
        if part[:4] == b"VP8X":
            part = part[:8] + bytes([part[8] & ~0x0C]) + part[9:]  # says no longer that EXIF and XMP follow
        if part[:4] not in _WEBP_WORDS:
            yield part
        at = end
