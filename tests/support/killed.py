"""A kernel that is killed in the middle of a compaction: run by context/test_compaction_killed in a process of its own.

`python -m tests.support.killed FOLDER PHASE` talks until it kills itself in that phase; `... FOLDER none` goes on
with the same checkpoints and directories, and prints what it finds as JSON.
"""

import json
import os
import signal
import sqlite3
import sys
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from deepnb import Session
from deepnb.engine import compaction, file_extras
from tests.support.scripted import Scripted


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Mortal(Scripted):
    """Dies where it is asked for what its phase is, once the third prompt has been put."""

    phase: str = "none"

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        text = next(str(m.content) for m in reversed(messages) if m.type == "human" and not m.additional_kwargs)
        asked = "flush" if "<leaving>" in text else "summary" if "<messages>" in text else "answer"
        if asked == self.phase and (asked != "answer" or text == "prompt c"):
            die()
        if asked == "answer":
            return AIMessage(f"answer to {text}")
        return AIMessage("- a fact" if asked == "flush" else "ok")


def main(folder: Path, phase: str) -> None:
    saver = SqliteSaver(sqlite3.connect(folder / "threads.db", check_same_thread=False))
    s = Session(
        model=Mortal(answers=["ok"], phase=phase), checkpointer=saver, trigger=("messages", 4), keep=("messages", 1)
    )
    s.mount("/memory", f"disk:{folder / 'memory'}")
    s.mount("/conversation_history", f"disk:{folder / 'history'}")
    if phase != "none":
        real = file_extras.append_text

        def append(backend: Any, path: str, text: str) -> str | None:
            if phase == "before":
                die()
            if phase == "torn":
                real(backend, path, text[: len(text) // 2])
                die()
            error = real(backend, path, text)
            if phase == "after":
                die()
            return error

        vars(compaction)["append_text"] = append
        for prompt in "abc":
            s.run(f"prompt {prompt}")
        return
    s.run("prompt d")
    s.run("prompt e")
    files = {p: t for p, t in s.files.items() if p.startswith(("/memory/", "/conversation_history/"))}
    said = [m.text for m in s.snapshot.messages if m.source is None]
    gone = [m.text for m in s.snapshot.messages[: s.snapshot.offload.cutoff] if m.source is None]
    json.dump({"files": files, "said": said, "gone": gone}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
