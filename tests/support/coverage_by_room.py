"""`python -m tests.support.coverage_by_room FILE`: how many lines of each room ran, from the JSON that slipcover writes.

What ran in a process of its own (kernels, terminals, killed sessions) is not in it.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

Lines = tuple[int, int]
"""Lines that ran, lines that did not."""


def rooms(files: Mapping[str, Any]) -> dict[str, Lines]:
    """room -> its lines, least covered first; files beside the rooms are `deepnb`'s own."""
    found: dict[str, Lines] = defaultdict(lambda: (0, 0))
    for path, file in files.items():
        room = (*PurePath(path).parts[1:-1], "deepnb")[0]
        ran, missed = found[room]
        found[room] = ran + file["summary"]["covered_lines"], missed + file["summary"]["missing_lines"]
    return dict(sorted(found.items(), key=lambda item: share(item[1])))


def share(lines: Lines) -> float:
    return 100 * lines[0] / max(sum(lines), 1)


def table(found: Mapping[str, Lines]) -> str:
    """A line for each room, and one for all of them."""
    total = sum(ran for ran, _ in found.values()), sum(missed for _, missed in found.values())
    rows = [*found.items(), ("in all", total)]
    return "\n".join(f"{room:10} {share(lines):5.1f} % of {sum(lines):6,} lines" for room, lines in rows)


if __name__ == "__main__":
    print(table(rooms(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["files"])))
