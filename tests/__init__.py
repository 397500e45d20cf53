"""The tests, in a folder for each room of the package; what they share is in `support`, what they measure in `bench`."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
IMPORT_TESTS = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
"""What a cell or a process runs before it imports from `tests`."""
