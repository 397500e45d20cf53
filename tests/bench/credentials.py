"""What the gate finds of credentials it has not met, and what it flags in clean code.

`practice` and `kinds` are sets that rules were written by; `judge` is the other.
"""

import random
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

from deepnb.gate import credentials
from tests.bench.row import Row
from tests.data import credentials_judge, credentials_kinds, credentials_practice
from tests.data.credentials import Sample

QUICK = False
LEAST, MOST, VENDORS = 95, 0.005, 55 / 60
"""Per cent of a set found, and of clean lines flagged; the share of vendors' prefixes found bare in a sentence."""
LINES = 100_000
KINDS = {".py", ".pyi", ".md", ".rst", ".txt", ".json", ".toml", ".cfg", ".yaml", ".yml", ".html", ".css", ".js", ".ts"}
_LONGEST_FILE = 300_000
Found = list[list[tuple[int, int, int]]]


def rows() -> Iterator[Row]:
    sets = {
        "judge": credentials_judge.samples(), "kinds": credentials_kinds.samples(),
        "vendors": tuple(credentials_kinds.vendors()), "practice": credentials_practice.samples(),
    }  # fmt: skip
    for name, samples in sets.items():
        share = 100 * sum(map(_is_found, samples, _found([sample.text for sample in samples]))) / len(samples)
        least = {"judge": LEAST, "kinds": LEAST, "vendors": 100 * VENDORS}.get(name)
        bound, ok = (f"{least:.0f} %", share >= least) if least else ("", None)
        yield Row(f"{name} ({len(samples)})", share, "%", bound=bound, ok=ok)
    texts = list(clean_texts())
    count = sum(text.count("\n") + 1 for text in texts)
    share = 100 * sum(len({line for _, _, line in found}) for found in _found(texts)) / count
    yield Row(f"{count:,} lines of installed packages flagged", share, "%", bound=f"{MOST} %", ok=share <= MOST)


def _is_found(sample: Sample, found: Sequence[tuple[int, int, int]]) -> bool:
    starts = [(sample.text.rindex(value), len(value)) for value in sample.values]
    return all(any(start <= at and at + size <= end for start, end, _ in found) for at, size in starts)


def _found(texts: Sequence[str]) -> Found:
    return [[(f.start, f.end, f.line) for f in credentials(text)] for text in texts]


def clean_texts() -> Iterator[str]:
    """Files of the installed packages, drawn by a seeded chance, with LINES lines together."""
    home = Path(sysconfig.get_path("purelib"))
    files = sorted(p for p in home.rglob("*") if p.suffix in KINDS and "dist-info" not in str(p) and p.is_file())
    random.Random(16).shuffle(files)
    count = 0
    for file in files:
        text = file.read_text("utf-8", "replace")
        if len(text) <= _LONGEST_FILE:
            yield text
            count += text.count("\n") + 1
        if count >= LINES:
            return
