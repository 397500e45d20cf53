"""A credential that another program put into a memory file on disk: masked in what the model sees, left in the file."""

from pathlib import Path

from deepnb import Session
from deepnb.engine.request import message_text
from deepnb.values.turn import Notice
from deepnb.views.memory import memory_view
from tests.support.compactions import compactions
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row

KEY = "zrq_live_" + "Zq7Rw2Lm9Xc4Vb6Nt8Yp1Ks3Jd5Hf0Ga"
MARK = "[redacted: token]"


def session(tmp_path: Path, *answers, **options) -> Session:
    s = Session(model=Scripted(answers=list(answers) or ["ok"]), memory=("/AGENTS.md", "/box/AGENTS.md"), **options)
    s.workspace.home.storage.mount("/box", "disk:d", base=tmp_path, store=None, assistant_id=None)
    s.memory.write("/box/AGENTS.md", "- first\n")
    return s


def foreign(tmp_path: Path, text: str) -> Path:
    path = next(tmp_path.rglob("AGENTS.md"))
    path.write_text(text, encoding="utf-8")
    return path


def sent(s: Session) -> list[str]:
    return ["\n".join(message_text(m) for m in request) for request in s.options.model.requests]


def notices(s: Session) -> list[str]:
    return [e.text for e in s.turns[-1].events if isinstance(e, Notice)]


@every_row("refresh", ["delta", "call", "thread"])
def test_it_is_masked_in_the_block_and_named_once(tmp_path: Path, refresh):
    s = session(tmp_path, memory_refresh=refresh)
    text = f"- first\n- the key is {KEY}, for staging\n"
    path = foreign(tmp_path, text)
    s.run("a")
    assert notices(s) == [
        "/box/AGENTS.md holds a long random value after the prefix zrq_ (line 2): masked in the prompt;"
        " the file itself was not changed"
    ]
    s.run("b")
    assert notices(s) == []
    assert all(f"- the key is {MARK}, for staging" in one and KEY not in one for one in sent(s))
    assert path.read_text(encoding="utf-8") == text and KEY not in repr(s.snapshot.memory)


def test_it_is_masked_in_the_diff_of_a_change_and_in_the_panel(tmp_path: Path):
    s = session(tmp_path)
    s.run("a")
    foreign(tmp_path, f"- first\n- the key is {KEY}\n")
    s.run("b")
    assert f"+- the key is {MARK}" in sent(s)[-1] and KEY not in sent(s)[-1] and len(notices(s)) == 1
    foreign(tmp_path, f"- first\n- the key is {KEY}\n- and tea\n")
    s.run("c")
    assert "+- and tea" in sent(s)[-1] and KEY not in sent(s)[-1]
    assert notices(s) == []  # it was said
    foreign(tmp_path, f"- first\n- the key is {KEY}\n- and tea\npassword = hunter2\n")
    s.run("d")
    assert "+password = [redacted: password]" in sent(s)[-1] and "a value named password (line 4)" in notices(s)[0]
    s = session(tmp_path)
    foreign(tmp_path, f"- the key is {KEY}\n")
    s.run("a")
    view = memory_view(s.snapshot, s.memory.sources, len)
    file = next(f for f in view.files if f.path == "/box/AGENTS.md")
    assert file.state == "masked" and KEY not in repr(view) and MARK in file.content


def test_it_is_masked_after_a_compaction_too(tmp_path: Path):
    limits = {"max_input_tokens": 8_000, "trigger": ("tokens", 3_000), "keep": ("messages", 1)}
    s = session(tmp_path, *["words " * 400] * 12, **limits)
    s.run("a")
    foreign(tmp_path, f"- first\n- the key is {KEY}\n")
    for n in range(5):
        s.run(f"{n} " + "words " * 300)
    assert compactions(s) and not any(KEY in one for one in sent(s)) and MARK in sent(s)[-1]


@every_row(
    "look",
    [call("read_file", file_path="/box/AGENTS.md"),
     call("grep", pattern="key", path="/", output_mode="content"),
     call("memory_get", path="/box/AGENTS.md")],
    ids=lambda look: look.tool_calls[0]["name"],
)  # fmt: skip
def test_no_tool_reads_it_to_the_model(tmp_path: Path, look):
    s = session(tmp_path, look, "ok")
    path = foreign(tmp_path, f"- first\n- the key is {KEY}, for staging\n")
    s.run("a")
    result = s.turns[-1].after.messages[2].text
    assert f"the key is {MARK}, for staging" in result and KEY not in repr(s.options.model.requests)
    assert KEY in path.read_text(encoding="utf-8")
    assert KEY in s.files["/box/AGENTS.md"], "the user sees it"


def test_an_edit_after_reading_keeps_what_is_masked(tmp_path: Path):
    read = call("read_file", id="r", file_path="/box/AGENTS.md")
    edit = call("edit_file", id="e", file_path="/box/AGENTS.md", old_string="- first", new_string="- second")
    s = session(tmp_path, read, edit, "ok")
    path = foreign(tmp_path, f"- first\n- the key is {KEY}\n")
    s.run("a")
    assert path.read_text(encoding="utf-8") == f"- second\n- the key is {KEY}\n"
