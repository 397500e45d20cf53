"""Images by their first bytes: type, size, and about what they cost."""

from __future__ import annotations

import struct

from deepnb.values.image import PromptImage, image_size, image_tokens, image_type, with_markers
from tests.support.images import gif, jpeg, png
from tests.support.tables import every_row


@every_row(
    ("data", "kind", "size"),
    [
        (png(640, 480), "image/png", (640, 480)),
        (gif(30, 20), "image/gif", (30, 20)),
        (jpeg(1024, 768), "image/jpeg", (1024, 768)),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp", None),
        (b"<svg/>", None, None),
        (b"", None, None),
        (b"\x89PNG\r\n\x1a\n", "image/png", None),
        (b"\xff\xd8\xff\xe0", "image/jpeg", None),
        (b"\xff\xd8\xff\xe0" + struct.pack(">H", 0) + b"\xff" * 20, "image/jpeg", None),
    ],
)
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
