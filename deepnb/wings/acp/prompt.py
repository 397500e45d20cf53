"""A client's prompt: what its user typed, images, and files, whose words are not the user's."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from deepnb.gate.own_words import add_words
from deepnb.values.errors import InvalidError
from deepnb.values.image import PromptImage
from deepnb.workshop.images import SUFFIXES, prompt_image

_LONGEST = 40_000
"""Characters of a file that are sent."""


def read_prompt(blocks: Iterable[Any]) -> tuple[str, list[PromptImage]]:
    """Return what a client's blocks ask: the text, with the files below it, and the images."""
    typed: list[str] = []
    below: list[str] = []
    images: list[tuple[str, object]] = []
    for block in blocks:
        given = getattr(block, "resource", block)
        if block.type == "text":
            typed.append(block.text)
        elif block.type == "image":
            images.append((f"image {len(images) + 1}", b64decode(block.data)))
        elif block.type == "resource_link":
            path = _path(block.uri)
            if path is not None and path.suffix.lower() in SUFFIXES:
                images.append((path.name, path))
            else:
                below.append(_linked(block.uri, path))
        elif hasattr(given, "text"):
            below.append(_quoted(given.uri, given.text))
        else:
            raise InvalidError(f"a prompt can't have {block.type}", "send text, images, and files that are text")
    found = [prompt_image(*one) for one in images]
    if None in found:
        raise InvalidError(f"{images[found.index(None)][0]} can't be read", "attach a PNG, JPEG, GIF or WebP")
    prompt = "\n\n".join(typed)
    sent = add_words(prompt, "".join(f"\n\n{one}" for one in below)) if below else prompt
    return sent, [one for one in found if one is not None]


def _path(uri: str) -> Path | None:
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme in ("", "file") and parts.netloc in ("", "localhost") else None


def _linked(uri: str, path: Path | None) -> str:
    """Return the text of a file that the user attached; of anything else where it is."""
    if path is None or path.suffix == ".ipynb":
        return f"Attached: {uri if path is None else f'{path} (read_notebook reads it)'}"
    try:
        with path.open(encoding="utf-8") as file:
            return _quoted(str(path), file.read(_LONGEST + 1))
    except (OSError, UnicodeDecodeError) as error:
        return f"Attached: {path}, which can't be read as text ({type(error).__name__})"


def _quoted(name: str, text: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    cut = "" if len(text) <= _LONGEST else f"\n(the first {_LONGEST:,} characters)"
    return f"Attached: {name}\n{fence}\n{text[:_LONGEST]}\n{fence}{cut}"
