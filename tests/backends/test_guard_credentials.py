"""Credentials through every way to write, and in the transcript: afterwards they are in nothing that was written."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from deepnb import DeepnbError, Session
from deepnb.values.turn import Asked, Decided, ModelStarted, ToolEnded, ToolStarted
from tests.data.credentials import Sample
from tests.support.credentials import SAMPLES
from tests.support.scripted import Scripted, call, says, unasked
from tests.support.tables import every_row

WAYS = 12
BATCHES = [SAMPLES[at::WAYS] for at in range(WAYS)]


def session(tmp_path: Path, **options: Any) -> Session:
    memory = ("/AGENTS.md", "/box/AGENTS.md")
    s = Session(model=Scripted(answers=["ok"]), memory=memory, checkpointer=InMemorySaver(), **options)
    s.workspace.home.storage.mount("/box", "disk:d", base=tmp_path, store=None, assistant_id=None)
    s.memory.add("first")
    s.memory.write("/box/AGENTS.md", "- first\n")
    return s


def stored(s: Session) -> Iterable[tuple[str, str]]:
    """(where, what) of all that was written: files, journals, every checkpoint and every write to one."""
    for path in s.backend.inner.glob("{*,.*}", "/").matches or ():
        found = s.backend.inner.download_files([path["path"]])[0].content or b""
        yield path["path"], found.decode("utf-8", "replace")
    saver: Any = s.checkpointer
    serde = saver.serde
    for key, (kind, data) in saver.blobs.items():
        yield f"checkpoint {key[2]}", repr(serde.loads_typed((kind, data))) if kind != "empty" else ""
    for name, spaces in saver.storage.items():
        for saved in (one for space in spaces.values() for one in space.values()):
            yield f"checkpoint of {name}", repr([serde.loads_typed(part) for part in saved[:2]])
    for key, writes in saver.writes.items():
        yield f"write to {key[0]}", repr([serde.loads_typed(w[2]) for w in writes.values()])
    for turn in s.turns:
        asked = [e for e in turn.events if isinstance(e, Asked | Decided)]
        calls = [e.call if isinstance(e, Asked) else e.decision.call for e in asked]
        yield f"events of turn {turn.number}", repr((turn.events, [vars(call) for call in calls]))
    yield "journal", repr(s.memory.log_entries())
    yield "notices", repr(s.backend.notices)


def leaks(s: Session, tried: Sequence[Sample]) -> list[tuple[str, str]]:
    kept = [(where, text) for where, text in stored(s)]
    out = []
    for sample in tried:
        for value in sample.values:
            for shown in {value, json.dumps(value)[1:-1], repr(value)[1:-1]}:
                out += [(sample.kind, where) for where, text in kept if shown in text]
    return sorted(set(out))


def refused(s: Session, tried: Sequence[Sample]) -> None:
    assert tried and leaks(s, tried) == [] and s.files["/AGENTS.md"].startswith("- first\n")
    assert s.files["/box/AGENTS.md"] == "- first\n"


def calls(name: str, tried: Sequence[Sample], args: Any) -> list[AIMessage]:
    return [call(name, id=f"k{i}", **args(i, sample.text)) for i, sample in enumerate(tried)]


def results(s: Session) -> list[str]:
    return [m.text for m in s.turns[-1].after.messages if m.role == "tool"]


def home_or_box(i: int) -> str:
    return ("/AGENTS.md", "/box/AGENTS.md")[i % 2]


BY_THE_AGENT: dict[str, tuple[str, int, Callable[[int, str], dict[str, str]]]] = {
    "written whole": ("write_file", 0, lambda i, t: {"file_path": home_or_box(i), "content": f"- first\n{t}\n"}),
    "edited in": ("edit_file", 1,
                  lambda i, t: {"file_path": home_or_box(i), "old_string": "- first", "new_string": f"- first\n{t}"}),
    "in notes": ("write_file", 10, lambda i, t: {"file_path": f"/memory/n{i}.md", "content": t}),
    "with the note tool": ("note", 10, lambda i, t: {"text": t}),
}  # fmt: skip
"""Way -> (tool, number of its batch, arguments of the call)."""


@pytest.mark.slow
@every_row("way", BY_THE_AGENT)
def test_written_by_the_agent(tmp_path: Path, way: str):
    name, batch, args = BY_THE_AGENT[way]
    s, tried = session(tmp_path, max_steps=None), BATCHES[batch]
    says(s, *calls(name, tried, args), "ok")
    s.run("go")
    assert len(results(s)) == len(tried)
    assert name == "note" or all("not written to" in r for r in results(s))
    assert [p for p in s.files if p.startswith("/memory/")] == []
    refused(s, tried)


def skill(s: Session, i: int, text: str) -> None:
    if i % 2:
        s.skills.write("good", f"---\nname: good\ndescription: does good\n---\n{text}\n")
    else:
        s.files[f"/skills/good/ref{i}.txt"] = text


BY_THE_USER: dict[str, tuple[int, Callable[[Session, int, str], Any]]] = {
    "added": (3, lambda s, i, t: s.memory.add(t, home_or_box(i))),
    "written": (4, lambda s, i, t: s.memory.write(home_or_box(i), f"- first\n{t}\n")),
    "set in files": (5, lambda s, i, t: s.files.__setitem__(home_or_box(i), f"- first\n{t}\n")),
    "in skills and their files": (6, skill),
}


@every_row("way", BY_THE_USER)
def test_written_by_the_user(tmp_path: Path, way: str):
    batch, write = BY_THE_USER[way]
    s, tried = session(tmp_path), BATCHES[batch]
    s.skills.new("good", "does good")
    for i, sample in enumerate(tried):
        with pytest.raises(DeepnbError, match="not written") as error:
            write(s, i, sample.text)
        assert "\n" not in str(error.value) and not any(v in str(error.value) for v in sample.values)
    refused(s, tried)


def test_uploaded_or_in_the_name_of_a_file(tmp_path: Path):
    s, tried = session(tmp_path), BATCHES[2]
    texts = [*(sample.text for sample in tried), "数据库的密码是 Zq7Rw2Lm9Xc4", "La contraseña es Zq7Rw2Lm9Xc4"]
    for i, text in enumerate(texts):
        for data in (text.encode(), b"\xff\n" + text.encode(), *map(text.encode, ("utf-16", "utf-16-be", "gb18030"))):
            assert s.backend.upload_files([(home_or_box(i), data)])[0].error == "permission_denied"
    refused(s, tried)
    key = "gh" + "p_" + "a1B2c3D4e5F6" * 3
    with pytest.raises(DeepnbError, match="path itself holds a credential"):
        s.files[f"/memory/{key}.md"] = "x"


def test_while_a_turn_is_unfinished(tmp_path: Path):
    s, tried = session(tmp_path), BATCHES[7] + BATCHES[9]
    s.options.model.delay = 0.05  # so that the run has not ended when it is stopped
    says(s, "a long answer " * 10, "ok")
    events = s.stream("go")
    for event in events:
        if isinstance(event, ModelStarted):
            break
    events.close()
    assert s.pending
    for i, sample in enumerate(tried):
        with pytest.raises(DeepnbError, match="not written to"):
            s.files[home_or_box(i)] = f"- first\n{sample.text}\n"
        with pytest.raises(DeepnbError, match="not written"):
            s.memory.add(sample.text, "/memory/note.md")
    refused(s, tried)
    list(s.resume())
    refused(s, tried)


def test_piece_by_piece_and_with_other_line_ends(tmp_path: Path):
    """A key whose lines come one call after the other, and one put into a file with CRLF ends."""
    s, tried = session(tmp_path, max_steps=None), BATCHES[11]
    s.memory.write("/box/AGENTS.md", "- first\r\n- second\r\n")
    edit = {"file_path": "/box/AGENTS.md", "old_string": "- first\n"}
    says(s, *calls("edit_file", tried, lambda i, t: {**edit, "new_string": f"- first\n{t}\n"}), "ok")
    s.run("go")
    assert all("not written to" in r for r in results(s)) and leaks(s, tried) == []
    pem = next(one for one in SAMPLES if one.kind == "pem RSA" and len(one.values) > 5)
    for line in pem.text.split("\n"):
        s.backend.append("/AGENTS.md", line)
    assert [value for value in pem.values if value in s.files["/AGENTS.md"]] == [pem.values[-1]]  # of 31 signs, alone


# -- the user's own files, and what the engine writes down


@pytest.mark.slow
def test_an_ordinary_file_is_asked_about_and_then_written_as_it_was_meant(tmp_path: Path):
    s = session(tmp_path, max_steps=None)
    tried = SAMPLES[::9]
    says(s, *calls("write_file", tried, lambda i, t: {"file_path": f"/notes{i}.txt", "content": f"a\n{t}\nz\n"}), "ok")
    s.run("go")
    assert all("waits for the user" in r for r in results(s))
    held = s.memory.pending()
    assert len(held) == len(tried) and not any(p.startswith("/notes") for p in s.files)
    assert leaks(s, tried) == []
    for i, (one, sample) in enumerate(zip(held, tried, strict=True)):
        if i % 2:
            s.memory.drop(one.id)
            assert f"/notes{i}.txt" not in s.files
        else:
            s.memory.accept(one.id)
            assert s.files[f"/notes{i}.txt"] == f"a\n{sample.text}\nz\n"
    assert s.memory.pending() == ()


def test_an_accepted_change_keeps_what_the_user_did_meanwhile(tmp_path: Path):
    s = session(tmp_path)
    s.files["/notes.txt"] = "one\ntwo\n"
    says(s, call("edit_file", file_path="/notes.txt", old_string="two", new_string="two\npassword = hunter2"), "ok")
    s.run("go")
    s.files["/notes.txt"] = "zero\none\ntwo\n"
    s.memory.accept(s.memory.pending()[0].id)
    assert s.files["/notes.txt"] == "zero\none\ntwo\npassword = hunter2\n"


def test_ordinary_files_of_the_user_and_of_an_upload(tmp_path: Path):
    s = session(tmp_path)
    s.files["/.env"] = "password = hunter2\n"
    assert s.files["/.env"] == "password = hunter2\n" and s.memory.pending() == ()

    @tool
    def put() -> str:
        """Put a file."""
        return str(made[0].backend.upload_files([("/out.txt", b"password = hunter2\n")])[0].error)

    made = [session(tmp_path, tools=[])]
    made[0].configure(**unasked(put))
    says(made[0], call("put"), "ok")
    made[0].run("go")
    assert "/out.txt" not in made[0].files and len(made[0].memory.pending()) == 1


def test_what_the_engine_writes_down_is_redacted(tmp_path: Path):
    tried = SAMPLES[::7]
    text = "\n".join(f"{sample.text}\nfiller {i} " + "words " * 60 for i, sample in enumerate(tried))

    @tool
    def dump() -> str:
        """Dump."""
        return text

    limits = {"max_input_tokens": 8_000, "trigger": ("tokens", 4_000), "keep": ("messages", 1)}
    s = session(tmp_path, **unasked(dump), eviction_threshold=500, **limits)
    says(s, call("dump"), "ok " * 100)
    s.run("go")
    for n in range(6):
        s.run(f"more {n} " + "words " * 400)
    records = {p: t for p, t in s.files.items() if p.startswith(("/large_tool_results/", "/conversation_history/"))}
    assert any(p.startswith("/large") for p in records) and any(p.startswith("/conv") for p in records)
    found = [(sample.kind, p) for sample in tried for v in sample.values for p, t in records.items() if v in t]
    assert found == [] and s.backend.edit("/large_tool_results/x", "a", "b").error
    path = next(p for p in records if p.startswith("/large"))
    assert s.backend.edit(path, "filler 0", "password = hunter2", True).error is None
    assert "hunter2" not in s.files[path]


def test_the_users_own_message_stays_as_typed_and_nothing_else_holds_it(tmp_path: Path):
    s = session(tmp_path)
    sample = next(one for one in SAMPLES if one.kind == "bearer")
    says(s, call("write_file", file_path="/AGENTS.md", content=f"- {sample.text}\n"), "ok")
    s.run(f"remember this: {sample.text}")
    assert sample.text in s.snapshot.messages[0].text
    others = [m for m in s.snapshot.messages if m.role != "user"]
    assert not any(v in repr(others) for v in sample.values)
    events = [e for e in s.turns[-1].events if isinstance(e, ToolStarted | ToolEnded)]
    assert events and not any(v in repr(events) for v in sample.values)


TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3gI5"


@every_row("before", [0, 1, 59, 60, 61, 200])
@every_row("after", [0, 61])
def test_a_credential_on_any_line_is_refused(before: int, after: int) -> None:
    s = Session(model="offline")
    with pytest.raises(DeepnbError, match="GitHub token"):
        s.memory.write("/AGENTS.md", "- a\n" * before + f"- {TOKEN}\n" + "- b\n" * after)
    assert "/AGENTS.md" not in s.files
