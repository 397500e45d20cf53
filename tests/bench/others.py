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
from tests.bench.beside.kernels import BARE, DEEPNB, MAGICS, SERVER, InKernel
from tests.bench.beside.model import ASK, FACT, LONG, STORY, Model, messages, text, tools
from tests.support.environments import environment

TOOLS: dict[str, tuple[str, str, Any]] = {
    "deepnb": ("deepnb", "deepnb", DEEPNB),
    "deepagents": ("a bare deep agent", "deepagents", BARE),
    "langgraph": ("LangGraph's dev server", "langgraph-api", SERVER),
    "magics": ("Jupyter AI's magics", "jupyter-ai-magics", MAGICS),
}
"""Name -> (title, the package whose version is shown, how it is driven)."""
TIMES, HELLO = 3, "Hello"
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
        lambda seen: STORY[-60:] not in seen.shown[0] and LONG in seen.last,
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
            (place / "installed").touch()
        return place / "bin" / "python"

    def version(self) -> str:
        code = f"from importlib.metadata import version; print(version({self.package!r}))"
        return subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()

    @contextmanager
    def started(self, one: Any = None) -> Iterator[tuple[Any, Model, Path]]:
        with Model() as model, tempfile.TemporaryDirectory() as folder:
            env = {"HOME": folder, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": model.url, "PYTHONPATH": str(ROOT)}
            host = (one or self.one).start(self.python, Path(folder), env)
            try:
                yield host, model, Path(folder)
            finally:
                host.close()

    def run(self, steps: Sequence[str]) -> Seen:
        seen = Seen()
        with self.started() as (host, model, folder):
            for step in steps:
                before = host.received
                seen.shown.append(host.do(step))
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
                with self.started(InKernel((), (), {}) if bare else None) as (host, model, _folder):
                    host.do("1" if bare else self.one.steps["ask"][-1].replace(ASK, HELLO))
                    times[bare].append(time.perf_counter() - begin)
                    memory[bare] = used(host.pids())
                    sent = model.requests
        return min(times[False]) / min(times[True]), (memory[False] - memory[True]) / 1e6, counted(sent[0])

    def column(self, say: Callable[[str], None]) -> list[str]:
        cells = {name: self.task(name) for name in TASKS}
        for name, (seen, cell) in cells.items():
            say(f"{self.name} {name}: {cell}" + (f" ({seen.last.split(chr(10))[0][:80]})" if cell == "no" else ""))
        ready, added, first = self.start()
        left = [what for task, what in (("remember", "memory"), ("restart", "conversation")) if cells[task][1] != "no"]
        wire = f"{cells['ask'][0].bytes / len(STORY):.1f}"
        measures = [f"{ready:.1f}", f"{added:.0f}", f"{first:,}", wire, " and ".join(left) or "nothing"]
        say(f"{self.name}: {measures}")
        return [str(self.one.setup()), *(cell for _, cell in cells.values()), *measures]


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


def head(titles: Sequence[str]) -> str:
    return f"| | {' | '.join(titles)} |\n|---|{'---|' * len(titles)}"


def table(columns: dict[str, list[str]], versions: dict[str, str]) -> str:
    rows = [f"| {name} | {' | '.join(one[at] for one in columns.values())} |" for at, name in enumerate(ROWS)]
    said = ", ".join(f"{TOOLS[name][1]} {version}" for name, version in versions.items())
    return "\n".join([head([TOOLS[name][0] for name in columns]), *rows, "", f"{date.today():%B %Y}: {said}."])


def main(given: Sequence[str]) -> None:
    parser = argparse.ArgumentParser("python -m tests.bench others", description=__doc__)
    parser.add_argument("name", nargs="?", choices=TOOLS)
    parser.add_argument("task", nargs="?", choices=[*TASKS, "start"])
    cache = os.environ.get("DEEPNB_OTHERS", "~/.cache/deepnb-others")
    parser.add_argument("--cache", type=lambda given: Path(given).expanduser(), default=Path(cache).expanduser())
    parser.add_argument("--write", action="store_true", help="write the table into README")
    asked = parser.parse_args(given)
    if asked.task == "start":
        print(*Tool(asked.name, asked.cache).start())
    elif asked.task:
        tool = Tool(asked.name, asked.cache)
        seen, cell = tool.task(asked.task)
        for step, shown in zip(tool.one.steps[asked.task], seen.shown, strict=True):
            print(f">>> {step}\n{shown.strip()}\n")
        print(f"{TASKS[asked.task][0]}: {cell}")
    else:
        every = {name: Tool(name, asked.cache) for name in ([asked.name] if asked.name else TOOLS)}
        columns = {name: tool.column(lambda line: print(line, flush=True)) for name, tool in every.items()}
        made = table(columns, {name: tool.version() for name, tool in every.items()})
        print(made)
        if asked.write and not asked.name:
            readme = ROOT / "README.md"
            before, after = (part.split(mark)[at] for at, mark in enumerate(MARKS) for part in [readme.read_text()])
            readme.write_text(f"{before}{MARKS[0]}\n{made}\n{MARKS[1]}{after}")
