"""A kernel of its own on a server: `python -m tests.support.server_client URL THREAD PROMPT`.

It prints a line of JSON for each tool call that begins or ends, and for the turn, or the error, in the end.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import deepnb
from deepnb.values.turn import ToolEnded, ToolStarted
from tests import ROOT


@contextmanager
def client(url: str, thread: str, prompt: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.support.server_client", url, thread, prompt]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def told(process: subprocess.Popen[str]) -> dict[str, Any]:
    line = process.stdout.readline()
    assert line, "the program has ended"
    found: dict[str, Any] = json.loads(line)
    return found


def main(url: str, thread: str, prompt: str) -> None:
    s = deepnb.Session(graph=url)
    (s.switch if thread in {one.name for one in s.threads} else s.new)(thread)

    def say(**what: Any) -> None:
        print(json.dumps(what), flush=True)

    try:
        for event in s.stream(prompt):
            if isinstance(event, ToolStarted | ToolEnded):
                say(**{type(event).__name__: event.id})
    except deepnb.DeepnbError as error:
        say(error=error.typed)
    else:
        say(text=s.text, turns=len(s.turns))


if __name__ == "__main__":
    main(*sys.argv[1:])
