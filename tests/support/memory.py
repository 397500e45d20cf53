"""How much memory a process has, as Linux counts it."""

import re
from dataclasses import dataclass
from pathlib import Path

MIB = 1024


@dataclass(frozen=True)
class Memory:
    """In MiB: `resident` counts all pages, `shared_out` divides those that processes share, `private` has none of them."""

    resident: float
    shared_out: float
    private: float
    peak: float


def memory_of(pid: int) -> Memory:
    rollup, status = (Path(f"/proc/{pid}/{name}").read_text() for name in ("smaps_rollup", "status"))

    def mib(name: str, text: str = rollup) -> float:
        found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
        assert found, name
        return int(found[1]) / MIB

    return Memory(mib("Rss"), mib("Pss"), mib("Private_Clean") + mib("Private_Dirty"), mib("VmHWM", status))
