"""`python -m tests.support.coverage [PYTEST OPTIONS]`: run the default tests and print how many lines of each room ran.

What ran in a process of its own (kernels, terminals, killed sessions) is not in it.
"""

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

Lines = tuple[int, int]


def rooms(files: Mapping[str, Any]) -> dict[str, Lines]:
    found: dict[str, Lines] = defaultdict(lambda: (0, 0))
    for path, file in files.items():
        room = (*PurePath(path).parts[1:-1], "deepnb")[0]
        ran, missed = found[room]
        found[room] = ran + file["summary"]["covered_lines"], missed + file["summary"]["missing_lines"]
    return dict(sorted(found.items(), key=lambda item: share(item[1])))


def share(lines: Lines) -> float:
    return 100 * lines[0] / max(sum(lines), 1)


def table(found: Mapping[str, Lines]) -> str:
    total = sum(ran for ran, _ in found.values()), sum(missed for _, missed in found.values())
    rows = [*found.items(), ("in all", total)]
    return "\n".join(f"{room:10} {share(lines):5.1f} % of {sum(lines):6,} lines" for room, lines in rows)


def main(options: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "lines.json")
        command = ["slipcover", "--source", "deepnb", "--json", "--out", str(out), "-m", "pytest"]
        code = subprocess.call([sys.executable, "-m", *command, *(options or ["-n", "2", "--dist", "worksteal"])])
        print(table(rooms(json.loads(out.read_text(encoding="utf-8"))["files"])))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
