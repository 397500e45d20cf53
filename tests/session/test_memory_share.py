"""A memory file that is longer than its room: each place says how much of it is in the prompt, and it is said once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from deepnb import Session
from deepnb.magics.pictures import budget_picture, memory_picture, status_picture
from deepnb.values.turn import Notice
from tests.support.scripted import Scripted
from tests.support.shells import Shell
from tests.support.tables import every_row


def written(parts: int) -> str:
    return "".join(f"## Part {i}\n\n- {'rule ' * 12}\n" for i in range(parts))


def said(s: Session) -> list[str]:
    return [e.text for t in s.turns for e in t.events if isinstance(e, Notice) and "in the prompt" in e.text]


@every_row("refresh", ["delta", "thread"])
@every_row("files", [{"/AGENTS.md": 90}, {"/AGENTS.md": 3, "/USER.md": 120}, {"/AGENTS.md": 60, "/SOUL.md": 200}])
def test_each_place_says_how_many_of_its_tokens_were_sent(files: dict[str, int], refresh: Any):
    s = Session(model=Scripted(answers=["ok"]), max_input_tokens=40_000, memory_budget=600, memory_refresh=refresh)
    for path, parts in files.items():
        s.memory.write(path, written(parts))
    before = memory_picture(s.memory).text()
    s.run("hi")
    sent = {piece.label: piece.tokens for piece in s.xray().request if piece.part == "memory"}
    whole = {path: s.count(s.files[path]) for path in files}
    words = {p: f"{sent[p]:,} of {whole[p]:,} tokens in the prompt" for p in files if sent[p] < whole[p]}
    assert words
    memory, status = memory_picture(s.memory), status_picture(s)
    items = {item.name: item.tokens for item in budget_picture(s).items}
    for path, line in words.items():
        assert line in memory.text() and line in memory.html() and line in status.text() and line in status.html()
        assert line in before, "the same is said of the first prompt"
        assert items[path] == sent[path]
        assert [one for one in said(s) if one.startswith(f"{path}: {line}")]
    total = sum(sent[p] if p in words else whole[p] for p in files)
    assert f"{total:,} of {sum(whole.values()):,} tokens in the prompt" in memory.title
    for path in files.keys() - words:
        assert re.search(rf"^{path}  .*  in the prompt$", memory.text(), re.MULTILINE)
    s.run("again")
    assert len(said(s)) == len(words), "once"


def test_a_file_that_fits_is_in_the_prompt_whole():
    s = Session(model=Scripted(answers=["ok"]), memory_budget=1_500)
    s.memory.write("/AGENTS.md", written(4))
    s.run("hi")
    assert s.memory.shares() == {} and said(s) == []
    assert "tokens in the prompt" not in memory_picture(s.memory).text()


def test_a_source_that_is_added_says_it_at_once(shell: Shell, tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("LONG.md").write_text(written(150), "utf-8")
    Path("short.md").write_text("- tabs\n", "utf-8")
    shell.ok("%load_ext deepnb")
    assert " tokens in the prompt" not in shell.ok("%memory sources add ./short.md")
    added = shell.ok("%memory sources add ./LONG.md")
    (line,) = re.findall(r"[\d,]+ of [\d,]+ tokens in the prompt", added)
    assert line in shell.ok("%memory")
