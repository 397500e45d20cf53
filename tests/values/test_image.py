"""Images: type, size and cost by their first bytes, and without the metadata that a program left in them."""

import base64
import io
import struct
import zlib
from typing import Any

import pytest

from deepnb.values.image import (
    PromptImage,
    bare_base64,
    bare_image,
    bare_images,
    image_size,
    image_tokens,
    image_type,
    with_markers,
)
from tests.support.images import chunk, gif, jpeg, png
from tests.support.tables import every_row


@every_row(("data", "kind", "size"), [
    (png(640, 480), "image/png", (640, 480)), (gif(30, 20), "image/gif", (30, 20)),
    (jpeg(1024, 768), "image/jpeg", (1024, 768)), (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp", None),
    (b"<svg/>", None, None), (b"", None, None), (b"\x89PNG\r\n\x1a\n", "image/png", None),
    (b"\xff\xd8\xff\xe0", "image/jpeg", None),
    (b"\xff\xd8\xff\xe0" + struct.pack(">H", 0) + b"\xff" * 20, "image/jpeg", None),
])  # fmt: skip
def test_type_and_size(data, kind, size):
    assert (image_type(data), image_size(data)) == (kind, size)


@every_row(
    ("size", "tokens"),
    [((750, 1), 1), ((640, 480), 410), ((1568, 765), 1_599), ((20_000, 10_000), 1_600), ((0, 0), 1), (None, 1_600)],
)
def test_tokens(size, tokens):
    assert image_tokens(size) == tokens


def test_markers_of_images_that_the_prompt_does_not_name_stand_below_it():
    one, two = (PromptImage(name, b"", "image/png", (2, 1)) for name in ("a", "b"))
    assert with_markers(f"see {one.marker}", [one, two]) == "see [image: a, 2x1 png]\n\n[image: b, 2x1 png]"


SECRET = b"qu13t" + b"-R1ver!88"


def segment(mark: int, data: bytes) -> bytes:
    return bytes([0xFF, mark]) + struct.pack(">H", len(data) + 2) + data


def png_with(*chunks: bytes) -> bytes:
    whole = png(3, 2)
    return whole[:33] + b"".join(chunks) + whole[33:]


def riff(*chunks: tuple[bytes, bytes]) -> bytes:
    body = b"WEBP" + b"".join(
        kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2) for kind, data in chunks
    )
    return b"RIFF" + struct.pack("<I", len(body)) + body


VP8X = b"\0\0\0\0" + bytes(6)
SAID = b"\x21\xfe" + bytes([len(SECRET)]) + SECRET + b"\0"
LOOP = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0"


@every_row(
    ("data", "bare"),
    [
        (png_with(chunk(b"tEXt", b"Comment\0" + SECRET)), png(3, 2)),
        (png_with(chunk(b"zTXt", b"Comment\0\0" + zlib.compress(SECRET))), png(3, 2)),
        (png_with(chunk(b"iTXt", b"Comment\0\0\0\0\0" + SECRET)), png(3, 2)),
        (png_with(chunk(b"eXIf", b"MM\0*" + SECRET)), png(3, 2)),
        (png_with(chunk(b"ruSt", SECRET)), png(3, 2)),
        (png(3, 2, more=SECRET), png(3, 2)),
        (jpeg(3, 2)[:2] + segment(0xE1, b"Exif\0\0" + SECRET) + jpeg(3, 2)[2:], jpeg(3, 2)),
        (jpeg(3, 2)[:2] + segment(0xFE, SECRET) + segment(0xED, SECRET) + jpeg(3, 2)[2:], jpeg(3, 2)),
        (jpeg(3, 2) + b"\xff\xda\0\x02\x11\xff\xd9" + SECRET, jpeg(3, 2) + b"\xff\xda\0\x02\x11\xff\xd9"),
        (gif(3, 2)[:-1] + SAID + LOOP + b";" + SECRET, gif(3, 2)[:-1] + LOOP + b";"),
        (riff((b"VP8X", b"\x0c" + VP8X[1:]), (b"VP8 ", b"\1\2"), (b"EXIF", SECRET)), riff((b"VP8X", VP8X), (b"VP8 ", b"\1\2"))),
        (riff((b"VP8 ", b"\1\2"), (b"XMP ", SECRET)) + SECRET, riff((b"VP8 ", b"\1\2"))),
    ],
)  # fmt: skip
def test_what_is_not_seen_is_left_out(data: bytes, bare: bytes) -> None:
    assert bare_image(data) == bare and bare_image(bare) is bare


@every_row(
    "data", [png(3, 2), png(3, 2)[:40], b"\x89PNG\r\n\x1a\n", jpeg(3, 2), gif(3, 2), b"GIF89a", riff(), b"%PDF", b""]
)
def test_a_bare_a_cut_and_no_picture_is_the_same_object(data: bytes) -> None:
    assert bare_image(data) is data


def test_the_pixels_and_the_way_up_stay() -> None:
    image = pytest.importorskip("PIL.Image")
    picture = image.effect_noise((40, 30), 60)
    for kind in ("PNG", "JPEG", "GIF", "WEBP"):
        exif = image.Exif()
        exif[0x0112], exif[0x010E] = 6, SECRET.decode()
        more: dict[str, Any] = {"comment": SECRET} if kind == "GIF" else {"exif": exif}
        file = io.BytesIO()
        picture.save(file, kind, **more)
        made = bare_image(file.getvalue())
        assert SECRET in file.getvalue() and SECRET not in made, kind
        assert list(image.open(io.BytesIO(made)).getdata()) == list(image.open(file).getdata()), kind
        if kind == "JPEG":
            assert image.open(io.BytesIO(made)).getexif()[0x0112] == 6


def test_base64_as_a_block_of_a_message_holds_it() -> None:
    coded = base64.b64encode(png_with(chunk(b"tEXt", b"Comment\0" + SECRET))).decode()
    bare = base64.b64encode(png(3, 2)).decode()
    assert bare_base64(coded) == bare and bare_base64(bare) is bare
    block = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{coded}"}, "detail": "low"}
    assert bare_images(block) == {**block, "image_url": {"url": f"data:image/png;base64,{bare}"}}
    assert bare_images({"a": bare, "n": 1}) == {"a": bare, "n": 1}
