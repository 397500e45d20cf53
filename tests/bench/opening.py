"""A Claude Code session of 200 MB, made by hand in a temporary folder: time to its first picture, one turn, and peak memory."""

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

from tests.bench.row import Row, below

QUICK = False
BYTES = 200_000_000
_TEXT = "def answer(x):\n\treturn {'x': x, \"y\": 'é'}\n"


def rows() -> Iterator[Row]:
    """The file is read in a process of its own, so that its peak is that of reading."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "session.jsonl")
        turns, calls = write(path, BYTES)
        out = subprocess.run([sys.executable, "-m", "tests.bench.opening", str(path)], capture_output=True, check=True)
        found: dict[str, Any] = json.loads(out.stdout)
    assert (found["turns"], found["calls"]) == (turns, calls), (found, turns, calls)
    yield below("seconds of %agent open to the picture of 200 MB", found["picture"], None, "s", 5.0)
    yield Row("  of them the processor's", found["processor"], "s", detail=True)
    yield Row("  bytes of the picture", found["bytes"], "B", detail=True)
    yield below("seconds to its last turn after that", found["content"], None, "s", 0.2)
    yield below("seconds to a list of its folder", found["list"], None, "s", 0.2)
    yield below("peak memory above an empty process", found["peak"], None, "MB", 500)


def write(path: Path, size: int) -> tuple[int, int]:
    turns = calls = line = 0
    parent: str | None = None
    with path.open("wb") as file:

        def put(kind: str, message: dict[str, Any], **more: Any) -> None:
            nonlocal parent, line
            line += 1
            at = f"2026-01-01T{line // 3600 % 24:02}:{line // 60 % 60:02}:{line % 60:02}.000Z"
            value: dict[str, Any] = {"isSidechain": False, "cwd": "/w", "sessionId": "s", "version": "2.1.40"}
            value |= {"type": kind, "message": message, "uuid": f"u{line:08}", "parentUuid": parent, "timestamp": at}
            value |= more
            parent = value["uuid"]
            file.write(json.dumps(value, ensure_ascii=False).encode() + b"\n")

        while file.tell() < size:
            turns += 1
            put("user", {"role": "user", "content": f"Do step {turns} of the plan. " * 4})
            for step in range(12):
                calls += 1
                given = {"input_tokens": 4, "cache_read_input_tokens": 1000 * step, "cache_creation_input_tokens": 500}
                told = {"id": f"msg_{calls}", "role": "assistant", "model": "claude-x"}
                for n, block in enumerate(_blocks(calls)):
                    put("assistant", {**told, "content": [block], "usage": {**given, "output_tokens": 1 + 100 * n}})
                result = {"type": "tool_result", "tool_use_id": f"t{calls}", "content": _TEXT * (20 + calls % 100)}
                structured = {"type": "text", "file": {"content": result["content"], "numLines": 20}}
                put("user", {"role": "user", "content": [result]}, toolUseResult=structured)
    return turns, calls


def _blocks(call: int) -> list[dict[str, Any]]:
    args = {"file_path": f"/w/file{call}.py", "content": _TEXT * 10}
    return [
        {"type": "thinking", "thinking": "look first " * 20, "signature": "Eo" * 100},
        {"type": "text", "text": "I will look at the next file. " * 5},
        {"type": "tool_use", "id": f"t{call}", "name": "Write", "input": args},
    ]


def measure(path: Path) -> dict[str, float]:
    from IPython.core.interactiveshell import InteractiveShell

    import deepnb

    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "deepnb")
    empty, shown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, StringIO()
    start, worked = perf_counter(), process_time()
    with redirect_stdout(shown):
        shell.run_line_magic("agent", f"open {path}")
    html = shell.display_formatter.format(deepnb.current())[0]["text/html"]
    pictured, worked = perf_counter(), process_time() - worked
    session = deepnb.current()
    assert session.turn(len(session.turns)).events
    read = perf_counter()
    deepnb.list_sessions(path.parent)
    listed = perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls = sum(len(turn.calls) for turn in session.turns)
    sizes = {"bytes": len(html) + len(shown.getvalue()), "turns": len(session.turns), "calls": calls}
    times = {"picture": pictured - start, "processor": worked, "content": read - pictured, "list": listed - read}
    return {**sizes, **times, "peak": (peak - empty) / 1024}


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
