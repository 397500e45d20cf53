"""`python -m tests.support.reference` writes notebooks/REFERENCE.md from parsers, settings, signatures and docstrings."""

from __future__ import annotations

from tests import ROOT
from tests.support.entries import reference_text

FILE = ROOT / "notebooks" / "REFERENCE.md"


def main() -> None:
    text = reference_text()
    FILE.write_text(text, encoding="utf-8")
    print(f"{FILE.name}: {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
