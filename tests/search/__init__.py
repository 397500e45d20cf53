"""Tests of deepnb/search."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deepnb.search import Index


def filled(files: Mapping[str, str], path: Path | None = None, **options: Any) -> Index:
    """Return an index that holds these files: in memory, unless it has a path."""
    index = Index(path, **options)
    index.update(dict(files))
    return index
