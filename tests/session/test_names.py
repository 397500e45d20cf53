"""Names of files that no file can have: one line wherever a name is taken, and the session goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import deepnb
from deepnb import DeepnbError, Session
from tests.support.scripted import Scripted
from tests.support.tables import every_row
from tests.support.wings import wing

TAKES: dict[str, Callable[[Session, str], Any]] = {
    "persist": lambda s, name: s.persist(name),
    "export": lambda s, name: s.export(f"{name}.html"),
    "record": lambda s, name: s.record(f"{name}.jsonl"),
    "replay": lambda s, name: s.replay(f"{name}.jsonl"),
    "keep": lambda s, name: s.memory.keep(name),
    "save": lambda s, name: s.memory.save(name),
    "save one": lambda s, name: s.memory.save(f"{name}.md"),
    "load": lambda s, name: s.memory.load(f"{name}.md"),
    "source": lambda s, name: s.memory.add_source(name),
    "mount": lambda s, name: s.mount("/w", f"disk:{name}"),
    "package": lambda s, name: s.package(name, write=True),
    "skills": lambda s, name: s.skills.add(name),
    "validate": lambda s, name: s.skills.validate(name),
    "subagents": lambda s, name: s.subagents.add(name),
    "open": lambda s, name: deepnb.open_session(name),
    "list": lambda s, name: deepnb.list_sessions(name),
}
NAMES = {
    "long": "x" * 300,
    "longer": "y" * 5000,
    "NUL": "a\0b",
    "half a character": "half\ud83d",
    "nobody's home": "~nosuchuser/x",
    "a circle": "loop/x",
    "below a file": "there.txt/x",
}


@wing("open")
@wing("package")
@every_row("take", TAKES)
@every_row("name", NAMES)
def test_a_name_that_no_file_has_is_one_line(take: str, name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    if not (tmp_path / "loop").is_symlink():
        (tmp_path / "loop").symlink_to("loop")
        (tmp_path / "there.txt").write_text("x")
    s = Session(model=Scripted(answers=["ok"] * 2))
    s.run("hi")
    with pytest.raises(DeepnbError) as error:
        TAKES[take](s, NAMES[name])
    assert "\n" not in (said := str(error.value)) and len(said) < 300, said[:300]
    assert s.run("and now?").text == "ok"
