"""Cases in a process of their own, each with a time limit; one that hangs is named, and killed with the process."""

from __future__ import annotations

import faulthandler
import re
import subprocess
import sys
from collections.abc import Callable, Iterable

from tests import ROOT

Case = tuple[str, Callable[[], object]]

LIMIT = 10.0


def run_each(cases: Iterable[Case], limit: float = LIMIT) -> None:
    """Run the cases, saying each one's name first. The watch is no Python, so it ends a loop in C, too."""
    for name, case in cases:
        print(name, flush=True)
        faulthandler.dump_traceback_later(limit, exit=True)
        case()
        faulthandler.cancel_dump_traceback_later()


def in_process(module: str, call: str = "main()") -> tuple[list[str], str]:
    """(names of the cases that were begun, what is wrong with the last of them) of a module; "": nothing."""
    code = f"import {module} as cases; cases.{call}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    names = done.stdout.splitlines()
    return names, "" if done.returncode == 0 else f"{names[-1] if names else 'no case'}: {done.stderr[-3000:]}"


def loop(limit: float) -> None:
    """A case that hangs in C: for the test of the watch."""
    run_each([("good", lambda: None), ("in C", lambda: re.match(r"(a+)+$", "a" * 60 + "b"))], limit)
