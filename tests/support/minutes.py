"""`python -m tests.support.minutes FILE...`: minutes of tests by folder, and the slowest ten, from pytest's JUnit XML."""

import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any


def told(files: list[Path]) -> str:
    seconds: Any = Counter()
    folders: Any = Counter()
    counts = Counter[str]()
    for file in files:
        for case in ElementTree.parse(file).iter("testcase"):
            place, took = case.get("classname", ""), float(case.get("time", 0))
            folder = "/".join(place.split(".")[:2])
            seconds[f"{place.replace('.', '/')}.py::{case.get('name')}"] += took
            folders[folder] += took
            counts[folder] += 1
    lines = [f"{folder:24} {took / 60:5.1f} min {counts[folder]:5,} tests" for folder, took in folders.most_common()]
    total = f"{'in all':24} {folders.total() / 60:5.1f} min {counts.total():5,} tests, added up over all processes"
    slowest = [f"{took:6.1f} s  {name}" for name, took in seconds.most_common(10)]
    return "\n".join(["Minutes by folder:", *lines, total, "The slowest ten:", *slowest])


if __name__ == "__main__":
    print(told([Path(name) for name in sys.argv[1:]]))
