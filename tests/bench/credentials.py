"""What the gate finds of credentials it has not met, and what it flags in clean code.

`practice` and `kinds` are sets that rules were written by; `judge` is the other.
"""

import random
import sysconfig
from collections.abc import Iterator
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


def rows() -> Iterator[Row]:
    sets = {
        "judge": credentials_judge.samples(), "kinds": credentials_kinds.samples(),
        "vendors": tuple(credentials_kinds.vendors()), "practice": credentials_practice.samples(),
    }  # fmt: skip
    for name, samples in sets.items():
        share = 100 * sum(map(is_found, samples)) / len(samples)
        least = {"judge": LEAST, "kinds": LEAST, "vendors": 100 * VENDORS}.get(name)
        bound, ok = (f"{least:.0f} %", share >= least) if least else ("", None)
        yield Row(f"{name} ({len(samples)})", share, "%", bound=bound, ok=ok)
    texts = list(clean_texts())
    count = sum(text.count("\n") + 1 for text in texts)
    share = 100 * sum(len({found.line for found in credentials(text)}) for text in texts) / count
    yield Row(f"{count:,} lines of installed packages flagged", share, "%", bound=f"{MOST} %", ok=share <= MOST)


def is_found(sample: Sample) -> bool:
    """Whether each value lies within a finding as a whole."""
    spans = [(f.start, f.end) for f in credentials(sample.text)]
    at = [(sample.text.rindex(value), len(value)) for value in sample.values]
    return all(any(a <= start and start + size <= b for a, b in spans) for start, size in at)


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
