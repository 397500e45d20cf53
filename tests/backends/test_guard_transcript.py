"""Credentials and the transcript: what it writes down holds none, wherever they came from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from deepnb import Session
from tests.support.credentials import SAMPLES
from tests.support.scripted import Scripted, unasked


def leaks(texts: dict[str, str]) -> list[tuple[str, str]]:
    out = []
    for sample in SAMPLES:
        for shown in {form for v in sample.values for form in (v, json.dumps(v)[1:-1], repr(v)[1:-1])}:
            out += [(sample.kind, where) for where, text in texts.items() if shown in text]
    return sorted(set(out))


def on_disk(directory: Path) -> dict[str, str]:
    files = (p for p in directory.rglob("*") if p.is_file())
    return {str(p.relative_to(directory)): p.read_bytes().decode("utf-8", "replace") for p in files}


@pytest.mark.slow
def test_what_is_typed_said_called_and_returned_is_redacted_in_the_transcript(tmp_path: Path):
    @tool
    def look(what: str) -> str:
        """Look something up."""
        return f"found\n{texts[int(what.split()[0])]}\nthat is all"

    texts = [sample.text for sample in SAMPLES]
    s = Session(model=Scripted(answers=["ok"]), **unasked(look), max_steps=None)
    s.memory.keep(tmp_path)
    for at in range(0, len(texts), 30):
        batch = texts[at : at + 30]
        what = {at + i: {"what": f"{at + i}\n{text}"} for i, text in enumerate(batch)}
        calls = [{"name": "look", "id": f"c{n}", "args": args} for n, args in what.items()]
        said = "I found:\n\n" + "\n\n".join(batch)
        s.options.model.answers[:] = ["-"] * len(s.options.model.requests) + [AIMessage("", tool_calls=calls), said]
        s.new(f"from-{at}")  # what was said before is not sent again
        s.run("here they are:\n\n" + "\n\n".join(batch))
    kept = on_disk(tmp_path)
    print(f"{len(texts)} credentials by 4 ways, {sum(map(len, kept.values()))} characters in {len(kept)} files")
    assert any("transcript" in name for name in kept)
    assert leaks(kept) == []
    assert leaks({"table": s.transcript().to_csv()}) == []
    assert leaks({"what was typed": "\n".join(texts)}), "the scan finds what is there"
