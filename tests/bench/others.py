"""`python -m tests.bench others [NAME [TASK]]`: deepnb and what is nearest to it, by the same ten tasks and one model.

Each is installed into an environment of its own below --cache, with pip as it is set up here, where it is not there
already; no request leaves this machine after that. A task is done where its check holds, whatever is typed for it; what
a tool cannot do was tried, and `others NAME TASK` shows what came of it. Times are the shortest of three, taken in turn
with a bare kernel's.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from deepnb.context.counting import NotAtHandError, load
from tests import ROOT
from tests.bench.drivers.kernels import BARE, DEEPNB, MAGICS, SERVER, InKernel
from tests.bench.drivers.model import ASK, FACT, HELLO, LONG, STORY, Model, messages, text, tools
from tests.bench.drivers.pages import JUPYTER, MARIMO
from tests.support.environments import environment

TOOLS: dict[str, tuple[str, str, Any]] = {
    "deepnb": ("deepnb", "deepnb", DEEPNB),
    "deepagents": ("a bare deep agent", "deepagents", BARE),
    "langgraph": ("LangGraph's dev server", "langgraph-api", SERVER),
    "magics": ("Jupyter AI's magics", "jupyter-ai-magics", MAGICS),
    "marimo": ("marimo", "marimo", MARIMO),
    "jupyter-ai": ("Jupyter AI's chat", "jupyter-ai", JUPYTER),
}
"""Name -> (title, the package whose version is shown, how it is driven)."""
TIMES = 3
MARKS = "<!-- measured: python -m tests.bench others --write -->", "<!-- end of measured -->"


@dataclass
class Seen:
    """What came of a task: what each step showed, whether report.md was there after it, and all requests."""

    shown: list[str] = field(default_factory=list)
    written: list[bool] = field(default_factory=list)
    requests: list[Any] = field(default_factory=list)
    bytes: int = 0

    @property
    def last(self) -> str:
        return self.shown[-1]


def _request(seen: Seen) -> bool:
    """All tools by name, the end of the system prompt word by word, and a number of tokens."""
    first, said = seen.requests[0], " ".join(re.findall(r"\w+", seen.last))
    end = re.findall(r"\w+", text(messages(first)[0]["content"]).rstrip().rpartition("\n")[2])[-5:]
    named = all(name in said for name in tools(first))
    return named and " ".join(end) in said and bool(re.search(r"tokens?\W+\d|\d tokens", seen.last))


TASKS: dict[str, tuple[str, Callable[[Seen], bool]]] = {
    "ask": ("ask a question", lambda seen: STORY[-60:] in " ".join(seen.last.split())),
    "remember": ("remember a fact, also in a new process", lambda seen: f"You prefer {FACT}." in seen.last),
    "request": ("see what the model was sent, and its tokens", _request),
    "approve": (
        "approve a call, seen before it runs",
        lambda seen: (
            not seen.written[-2:][0] and seen.written[-1] and any("report.md" in one for one in seen.shown[:-1])
        ),
    ),
    "revert": (
        "see what changed in memory, and revert it",
        lambda seen: bool(re.search(rf"^\+.*{FACT}", "\n".join(seen.shown), re.M)) and "I know nothing" in seen.last,
    ),
    "edit": ("put code into a cell", lambda seen: bool(re.search(r"\[next cell\][^\[]*print\(42\)", seen.last))),
    "frame": ("have it read a DataFrame", lambda seen: "moons_count" in json.dumps(seen.requests[-1])),
    "interrupt": (
        "interrupt an answer, and go on",
        lambda seen: STORY[-60:] not in seen.last and f"You said: {LONG}" in seen.last,
    ),
    "restart": ("restart, and go on with the conversation", lambda seen: f"You said: {ASK}" in seen.last),
    "compare": (
        "compare two settings side by side",
        lambda seen: seen.last.count("about you") + seen.last.count("same answer") == 2 and len(seen.requests) > 1,
    ),
}
"""Task -> (what it is called in the table, its check)."""
MEASURES = (
    "first answer, in starts of a bare kernel",
    "memory that it adds, MB",
    "tokens of the first request",
    "bytes sent for a character of an answer",
)
ROWS = ("to set up", *(title for title, _ in TASKS.values()), *MEASURES, "left after a restart")


@dataclass
class Tool:
    name: str
    cache: Path

    def __post_init__(self) -> None:
        self.title, self.package, self.one = TOOLS[self.name]

    @property
    def python(self) -> Path:
        place = self.cache / self.name
        if not (place / "installed").exists():
            environment(place, self.one.packages)
            if npm := getattr(self.one, "npm", ""):
                subprocess.run(["npm", "install", "--silent", "--prefix", place, npm], check=True)
            (place / "installed").touch()
        return place / "bin" / "python"

    def version(self) -> str:
        code = f"from importlib.metadata import version; print(version({self.package!r}))"
        return subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    @contextmanager
    def started(self, one: Any = None) -> Iterator[tuple[Any, Model, Path]]:
        with Model() as model, tempfile.TemporaryDirectory() as folder:
            env = {"HOME": folder, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": model.url, "PYTHONPATH": str(ROOT)}
            host = (one or self.one).start(self.python, Path(folder), env, lambda: len(model.requests))
            try:
                yield host, model, Path(folder)
            finally:
                host.close()

    def run(self, steps: Sequence[str]) -> Seen:
        seen = Seen()
        with self.started() as (host, model, folder):
            for step in steps:
                before = host.received
                try:
                    seen.shown.append(host.do(step))
                except Exception as error:  # of a page that has nothing to click
                    seen.shown.append(f"{type(error).__name__}: {error}")
                seen.bytes = host.received - before
                seen.written.append(any(folder.glob("**/report.md")))
            seen.requests = model.requests
        return seen

    def task(self, name: str) -> tuple[Seen, str]:
        """What came of it, and its cell in the table: lines typed and clicks, or no."""
        steps = self.one.steps[name]
        seen = self.run(steps)
        return seen, str(self.one.lines(steps)) if TASKS[name][1](seen) else "no"

    def start(self) -> tuple[float, float, int]:
        """Times until the first answer as a multiple of a bare kernel's, MB more than its host's, tokens sent first."""
        times: dict[bool, list[float]] = {True: [], False: []}
        memory = {}
        for _ in range(TIMES):
            for bare in (True, False):
                begin = time.perf_counter()
                with self.started(InKernel(packages=()) if bare else None) as (host, model, _folder):
                    host.do("1" if bare else self.one.steps["ask"][-1].replace(ASK, HELLO))
                    times[bare].append(time.perf_counter() - begin)
                    memory[bare] = used(host.pids())
                    sent = model.requests
        return (
            min(times[False]) / min(times[True]),
            (memory[False] - memory[True]) / 1e6,
            counted(next((one for one in sent if tools(one)), sent[0])),
        )

    def measure(self, what: str, *, show: bool = False) -> None:
        """Measure one task, or how it starts, and keep the cells with the version and the day."""
        found = {"to set up": str(self.one.setup())}
        if what == "start":
            ready, added, first = self.start()
            found |= zip(MEASURES, (f"{ready:.1f}", f"{added:.0f}", f"{first:,}"), strict=False)
        else:
            seen, found[TASKS[what][0]] = self.task(what)
            if what == "ask":
                found[MEASURES[3]] = f"{seen.bytes / len(STORY):.1f}"
            for step, shown in zip(self.one.steps[what], seen.shown, strict=False) if show else ():
                print(f">>> {step}\n{shown.strip()}\n")
        print(f"{self.name} {what}: {found}", flush=True)
        file = self.cache / f"{self.name}.json"
        kept = json.loads(file.read_text())["cells"] if file.exists() else {}
        new = {"version": self.version(), "day": f"{date.today():%d %B %Y}", "cells": {**kept, **found}}
        file.write_text(json.dumps(new))


def used(pids: Sequence[int]) -> int:
    """Memory that no other process has a share in, of these and all that they have started."""
    alive = {
        one.pid: one for pid in pids for one in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True))
    }
    return sum(one.memory_full_info().uss for one in alive.values())


def counted(request: Any) -> int:
    sent = [text(one.get("content")) for one in messages(request)] + [json.dumps(request.get("tools") or [])]
    try:
        return sum(len(load("o200k_base").encode_ordinary(one)) for one in sent)
    except NotAtHandError:
        return sum(map(len, sent)) // 4


def table(cache: Path) -> str:
    kept = {name: json.loads(file.read_text()) for name in TOOLS if (file := cache / f"{name}.json").exists()}
    cells = {name: kept[name]["cells"] if name in kept else {} for name in TOOLS}
    for one in filter(None, cells.values()):
        left = {"memory": TASKS["remember"][0], "conversation": TASKS["restart"][0]}
        if not set(left.values()) <= set(one):
            continue
        one[ROWS[-1]] = " and ".join(what for what, task in left.items() if one.get(task, "no") != "no") or "nothing"
    lines = [["", *(title for title, _, _ in TOOLS.values())], ["---"] * (len(TOOLS) + 1)]
    lines += [[row, *(one.get(row, "not measured") for one in cells.values())] for row in ROWS]
    said = ", ".join(f"{TOOLS[name][1]} {one['version']}" for name, one in kept.items())
    days = " and ".join(sorted({one["day"] for one in kept.values()}))
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), "", f"Measured on {days}: {said}."])


def main(given: Sequence[str]) -> None:
    parser = argparse.ArgumentParser("python -m tests.bench others", description=__doc__)
    parser.add_argument("name", nargs="?", choices=TOOLS)
    parser.add_argument("task", nargs="?", choices=[*TASKS, "start"])
    parser.add_argument(
        "--cache", type=Path, default=os.environ.get("DEEPNB_OTHERS", Path.home() / ".cache/deepnb-others")
    )
    parser.add_argument("--write", action="store_true", help="only write what was measured last into README")
    asked = parser.parse_args(given)
    for name in [asked.name] if asked.name else () if asked.write else TOOLS:
        for what in [asked.task] if asked.task else [*TASKS, "start"]:
            Tool(name, asked.cache).measure(what, show=bool(asked.task))
    made = table(asked.cache)
    print(made)
    if asked.write:
        readme = ROOT / "README.md"
        before, _, rest = readme.read_text(encoding="utf-8").partition(MARKS[0])
        readme.write_text(f"{before}{MARKS[0]}\n{made}\n{MARKS[1]}{rest.partition(MARKS[1])[2]}", encoding="utf-8")
