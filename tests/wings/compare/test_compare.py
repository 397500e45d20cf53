"""A prompt with several options in forks of a thread: what comes of each, how it is shown, and the session as it was."""

import re
import signal
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deepnb
from deepnb import BusyError, DeepnbError, InvalidError, LimitError, RefusedError, Session
from deepnb.values.budget import Budget, rule_for
from deepnb.values.request import Request, Sent
from deepnb.values.turn import Call, Event, ModelEnded, Snapshot, ToolEnded, ToolStarted, Turn, Usage
from deepnb.values.xray import same_beginning
from deepnb.views.diff import marks, pieces
from deepnb.views.markdown import markdown_html
from deepnb.wings.compare.column import Column
from deepnb.wings.compare.comparison import Comparison
from deepnb.wings.compare.view import ComparisonView, comparison_view, marked_html, marked_text
from deepnb.wiring.options import Refresh
from tests.data import hostile
from tests.session.test_attach import session as attached
from tests.support.harmless import harmless
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row

POLICIES: tuple[Refresh, ...] = ("thread", "call", "delta")
GHENT = "Remember that the office is in Ghent."


def everything(session: Session) -> Any:
    work = session.workspace
    thread = work.thread
    names = [info.name for info in session.threads]
    checkpoints = [c for name in names for c in session.checkpointer.list({"configurable": {"thread_id": name}})]
    saved = [(c.config["configurable"], c.checkpoint["id"]) for c in checkpoints]
    entries = session.memory.log_entries()
    turns = (names, session.turns, session.last, session.snapshot, thread.snapshot.checkpoint, thread.held, saved)
    texts = (dict(session.files), dict(work.home.texts(thread)[0]), entries, session.transcript().to_dict())
    return turns, texts, session.options


def shown(found: Comparison) -> ComparisonView:
    return comparison_view(found.columns, found.thread)


def on_disk(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def stale(session: Session) -> Session:
    """A session whose thread has a memory that was changed since its last turn."""
    session.memory.add("The release is on Friday.")
    session.run("hello")
    session.run("when is the release?")
    session.memory.write("/AGENTS.md", "- The release is on Monday.\n")
    return session


HOMES = ("plain", "kept", "persisted", "apart", "shared")


def begun(home: str, folder: Path) -> Session:
    session = Session(persist=folder / "session.db") if home == "persisted" else Session()
    if home == "kept":
        session.memory.keep(folder / "memory")
    if home == "apart":
        session.run("Remember that I prefer tabs.")
        session.new("apart", empty=True)
    if home == "shared":
        session.new("group", shared=True)
    return stale(session)


@pytest.mark.slow
@every_row("home", HOMES)
@every_row("prompt", ["when is the release?", GHENT, "Write a file /plan.md with: buy milk"])
def test_three_policies_and_the_session_as_it_was(home: str, prompt: str, tmp_path: Path) -> None:
    session = begun(home, tmp_path)
    before, disk = everything(session), on_disk(tmp_path / "memory")
    found = session.compare(prompt, memory_refresh=POLICIES)
    assert [column.state for column in found.columns] == ["done"] * 3
    assert everything(session) == before and on_disk(tmp_path / "memory") == disk
    assert [column.stale for column in found.columns] == [("/AGENTS.md",), (), ()]
    if prompt.startswith("when"):
        assert ["Friday" in c.answer for c in found.columns] == [True, False, False]
        assert ["Monday" in c.answer for c in found.columns] == [False, True, True]
    else:
        assert all(len(column.changed) == 1 for column in found.columns), "each did it, in its own files"
    held, block, told = (column.cacheable or 0.0 for column in found.columns)
    assert held > block < told, "a block made anew costs the cache what comes after it"
    session.run("hello")
    assert session.text.startswith("Hello") and session.turns[-1].number == before[0][1][-1].number + 1


def test_the_table_has_a_row_for_each_column_and_marks_a_file_newer_than_the_prompt() -> None:
    session = Session()
    session.run("hello")
    session.memory.add("the release is on Monday")
    found = session.compare("when is the release?", memory_refresh=POLICIES)
    assert [column.stale for column in found.columns] == [("/AGENTS.md",), (), ()]
    assert Session().compare("hello", memory_refresh=POLICIES[:2]).columns[0].stale == (), "no file, nothing stale"
    found = stale(Session()).compare("when is the release?", memory_refresh=POLICIES)
    table, totals = found.df(), [column.budget.total for column in found.columns if column.budget]
    assert list(table["memory_refresh"]) == list(POLICIES) and list(table["state"]) == ["done"] * 3
    assert list(table["stale"]) == [["/AGENTS.md"], [], []] and list(table["context"]) == totals
    assert table["cached"].isna().all(), "the teaching model reports no cache"
    text = shown(found).text()
    assert "»Friday«" in text and "stale: the memory in its prompt is older than /AGENTS.md" in text
    assert "thread main and its memory are as before · 3 forks dropped" in text
    assert text.count("<mark") == 0 and shown(found).html().count(">Monday</mark>") == 1  # two columns share it
    assert repr(found).startswith("<Comparison of 'when is the release?' in main: memory_refresh=thread")


def test_two_triggers_and_one_compaction() -> None:
    session = Session()
    for n in range(8):
        session.run(f"Write a file /n{n}.md with: {'a long line, ' * 20}")
    before = everything(session)
    trigger: Any = [("tokens", 3_000), ("fraction", 0.85)]
    keep: Any = [("messages", 4), ("messages", 6)]
    found = session.compare("hello", trigger=trigger, keep=keep)
    names = [f"trigger={one}, keep={n} messages" for one in ("3,000 tokens", "0.85") for n in (4, 6)]
    assert [column.name for column in found.columns] == names
    assert [column.compactions for column in found.columns] == [1, 1, 0, 0]
    summaries = [bool(column.budget and column.budget.parts["summary"]) for column in found.columns]
    assert summaries == [True, True, False, False]
    assert any(diff.path == "/conversation_history/main.md" for diff in found.columns[0].changed)
    assert everything(session) == before and session.history() == ()
    assert "≠  compactions" in shown(found).text()


def test_other_options_and_their_words() -> None:
    session = Session(namespace={})
    found = session.compare("hello", system_prompt=["", "Be brief."], skills=["/skills/", ("/skills/", "/more/")])
    skills = ("/skills/", "/skills/ + /more/")
    names = [f"system_prompt={one}, skills={other}" for one in ("", "Be brief.") for other in skills]
    assert [column.name for column in found.columns] == names
    parts = [column.budget.parts["system"] for column in found.columns if column.budget]
    assert parts[0] == parts[1] < parts[2] == parts[3]


def test_the_teaching_model_beside_a_tape(tmp_path: Path) -> None:
    recorded = Session(model=Scripted(answers=["hello from the tape", call("ls", id="l", path="/"), "nothing there"]))
    recording = recorded.record(tmp_path / "one.jsonl")
    recorded.run("hello")
    recorded.run("what is there?")
    recording.stop()
    session = Session()
    session.replay(tmp_path / "one.jsonl")
    session.run("hello")
    before = everything(session)
    found = session.compare("what is there?", model=["offline", tmp_path / "one.jsonl"])
    assert [column.name for column in found.columns] == ["model=offline", "model=tape one.jsonl"]
    assert [column.state for column in found.columns] == ["done", "done"]
    assert found.columns[1].answer == "nothing there" and [c.name for c, _ in found.columns[1].tool_calls] == ["ls"]
    assert found.columns[0].begun is None is not found.columns[1].begun, "what a cache of this model can have"
    assert everything(session) == before
    other = session.compare("what else?", model=[tmp_path / "one.jsonl", "offline"])
    assert [column.state for column in other.columns] == ["failed", "done"], "it is not on the tape"
    assert "tape" in other.columns[0].problem


def test_a_failure_or_a_limit_is_the_end_of_its_column_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    session = Session()
    before = everything(session)
    found = session.compare("hi", model=["openai:gpt-5.2", Scripted(answers=[RuntimeError("no luck")]), "offline"])
    assert [column.state for column in found.columns] == ["failed", "failed", "done"]
    assert "OPENAI_API_KEY" in found.columns[0].problem and "no luck" in found.columns[1].problem
    assert everything(session) == before and session.turns == ()
    assert "\n  openai models need a key" in shown(found).text()
    models = [Scripted(answers=[call("ls", id="l", path="/")]), Scripted(answers=["done"])]
    found = Session(max_steps=2).compare("go", model=models)
    assert [column.name for column in found.columns] == ["model=ScriptedModel", "model=ScriptedModel #2"]
    assert [column.state for column in found.columns] == ["stopped", "done"], "the others go on"
    assert "limit of 2 steps" in found.columns[0].problem and not found.interrupted


def test_what_cannot_be_undone_is_not_run(tmp_path: Path) -> None:
    ran: list[str] = []

    def order(what: str) -> str:
        """Order something."""
        ran.append(what)
        return "ordered"

    for name in ("team", "data"):
        (tmp_path / name).mkdir()
    (tmp_path / "team" / "AGENTS.md").write_text("- Ana owns the data\n")
    edit = {"file_path": "/sources/team/AGENTS.md", "old_string": "Ana", "new_string": "Bo"}
    calls = [call("order", id="o", what="milk"), call("run_python", id="r", code="made = 1")]
    calls += [call("write_file", id="w", file_path="/data/new.md", content="new"), call("edit_file", id="e", **edit)]
    namespace: dict[str, Any] = {}
    rules = {"*": "outside", "order": "allow", "write_file": "allow"}
    session = Session(tools=[order], namespace=namespace, approve=rules)
    session.mount("/data", f"disk:{tmp_path / 'data'}")
    session.memory.add_source(str(tmp_path / "team" / "AGENTS.md"))
    session.run("hello")
    session.workspace.thread.granted = frozenset({"run_python", "edit_file"})
    before, disk = everything(session), on_disk(tmp_path)
    for one in calls:
        found = session.compare("go on", model=[Scripted(answers=[one, "done"]), "offline"])
        first, second = found.columns
        assert (first.state, second.state) == ("needs approval", "done"), one.tool_calls
        assert "a comparison runs no call that needs approval or can't be undone" in first.problem
        assert first.tool_calls == () and [c.name for c in first.asked] == [one.tool_calls[0]["name"]]
    assert ran == [] and "made" not in namespace
    assert on_disk(tmp_path) == disk and everything(session) == before


@pytest.mark.slow
@every_row("path", ["/", "/conversation_history", "/memory", "/large_tool_results"])
def test_nothing_is_written_outside_of_the_kernel(path: str, tmp_path: Path) -> None:
    """Nor by what asks nobody: the offload of a compaction, the note of a flush, a large result."""
    session = Session(backend=f"disk:{tmp_path}") if path == "/" else Session()
    if path != "/":
        session.mount(path, f"disk:{tmp_path}")
    for n in range(8):
        session.workspace.thread.granted = frozenset({"write_file"})
        session.run(f"Write a file /n{n}.md with: {'a long line, ' * 20}")
    before, disk = everything(session), on_disk(tmp_path)
    reads = Scripted(answers=[call("read_file", id="r", file_path="/n1.md"), "done"])
    found = session.compare("go on", trigger=[("tokens", 3_000), ("fraction", 0.85)])
    large = session.compare("go on", model=[reads, "offline"], eviction_threshold=[20, 20_000])
    assert [c.state for c in (*found.columns, *large.columns)] == ["done"] * 6
    assert on_disk(tmp_path) == disk and everything(session) == before
    if path in ("/", "/conversation_history"):
        assert found.columns[0].compactions == 0 and "nothing was removed" in found.columns[0].notes[0]
        assert found.columns[0].notes[0] in shown(found).text()
    else:
        assert found.columns[0].compactions == 1


def test_an_interrupt_leaves_what_is_done_and_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepnb.engine.run._GRACE", 0.1)  # the tool waits until the test lets it go
    let_go = threading.Event()

    @deepnb.reads
    def wait() -> str:
        """Wait."""
        signal.raise_signal(signal.SIGINT)
        assert let_go.wait(60)
        return "waited"

    session = Session(tools=[wait])
    session.run("hello")
    before = everything(session)
    slow = Scripted(answers=[call("wait", id="w"), "never said"])
    try:
        found = session.compare("go on", model=["offline", slow, Scripted(answers=["after"])])
    finally:
        let_go.set()
    assert [column.state for column in found.columns] == ["done", "interrupted", "not run"]
    assert found.interrupted and found.columns[1].problem.startswith("interrupted")
    assert found.columns[1].answer == "" and found.columns[2].turn is None and everything(session) == before
    assert "2 forks dropped" in shown(found).text() and session.run("hello").text.startswith("Hello")


@every_row("home", HOMES)
def test_forks_that_are_kept_have_a_memory_of_their_own(home: str, tmp_path: Path) -> None:
    session = begun(home, tmp_path)
    thread, before = session.thread, dict(session.files)
    found = session.compare(GHENT, memory_refresh=["call", "delta"], keep_threads=True)
    assert [column.thread for column in found.columns] == ["compare-1", "compare-2"] and session.thread == thread
    assert "kept as compare-1, compare-2, with a memory of their own" in shown(found).text()
    assert dict(session.files) == before
    session.switch("compare-1")
    assert session.files["/AGENTS.md"] == "- The release is on Monday.\n- the office is in Ghent\n"
    last = session.turns[-1]
    assert (last.prompt, last.thread) == (GHENT, "compare-1")
    session.run("Remember that the door is red.")
    assert "the door is red" in session.files["/AGENTS.md"]
    session.switch("compare-2")
    assert "the door is red" not in session.files["/AGENTS.md"] and "Ghent" in session.files["/AGENTS.md"]
    session.switch(thread)
    assert dict(session.files) == before and session.run("hello").text.startswith("Hello")
    if home == "persisted":
        session.close()
        again = Session(persist=tmp_path / "session.db")
        assert {"compare-1", "compare-2"} < {info.name for info in again.threads}
        again.switch("compare-2")
        assert "Ghent" in again.files["/AGENTS.md"] and len(again.turns) == 3
        again.switch("main")
        assert dict(again.files) == before


def test_undo_drops_what_was_kept() -> None:
    session = stale(Session())
    session.compare("hello", memory_refresh=["call", "delta"], keep_threads=True)
    session.undo()
    assert [info.name for info in session.threads] == ["main", "compare-1"]


def test_nothing_of_a_dropped_fork_is_in_the_database(tmp_path: Path) -> None:
    session = stale(Session(persist=tmp_path / "session.db"))

    def rows() -> set[str]:
        with sqlite3.connect(f"file:{tmp_path / 'session.db'}?mode=ro", uri=True) as database:
            return set(database.iterdump())

    before = rows()
    session.compare("Remember that the word is xyzzy-plugh.", memory_refresh=POLICIES)
    assert rows() == before
    session.close()
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"xyzzy" in file.read_bytes()]


def test_a_thread_without_turns_stays_so_and_one_that_waits_is_not_compared() -> None:
    session = Session()
    session.memory.add("The release is on Friday.")
    thread = session.workspace.thread
    begun = thread.root, thread.snapshot
    found = session.compare("when is the release?", enable_memory=[True, False])
    assert ["Friday" in column.answer for column in found.columns] == [True, False]
    assert (thread.root, thread.snapshot) == begun and session.turns == ()
    session = Session(model=Scripted(answers=[call("run_python", id="r", code="1")]), namespace={})
    session.run("go")
    before = everything(session)
    with pytest.raises(BusyError, match="needs your approval for run_python"):
        session.compare("hello", memory_refresh=["call", "delta"])
    assert everything(session) == before and session.asked


@every_row(("kind", "options", "line"), [
    (InvalidError, {}, "nothing to compare"),
    (InvalidError, {"memory_refresh": ["call"]}, "memory_refresh needs at least two values to compare"),
    (InvalidError, {"memory_refresh": "call"}, "memory_refresh needs at least two values to compare"),
    (InvalidError, {"memory_refresh": ["call", "call"]}, "memory_refresh has the same value twice"),
    (InvalidError, {"memory_refresh": ["call", "never"]}, "memory_refresh must be one of thread, call, delta"),
    (InvalidError, {"memory_refreshs": ["call", "delta"]}, "did you mean memory_refresh"),
    (LimitError, {"memory_refresh": POLICIES, "approve": ["outside", "writes"]}, "6 combinations to compare, 4 at"),
])  # fmt: skip
def test_what_cannot_be_compared_is_one_line(kind: type[DeepnbError], options: dict[str, Any], line: str) -> None:
    session = Session()
    with pytest.raises(kind, match=line) as error:
        session.compare("hello", **options)
    assert "\n" not in str(error.value) and "%" not in str(error.value)
    assert session.turns == () and [info.name for info in session.threads] == ["main"]


def test_a_tool_of_a_column_cannot_change_the_session() -> None:
    said: list[str] = []

    @deepnb.reads
    def meddle() -> str:
        """Try to change the session."""
        for act in (lambda: session.run("more"), lambda: session.configure(max_steps=3), lambda: session.new("x")):
            with pytest.raises(DeepnbError) as error:
                act()
            said.append(error.value.what)
        return "tried"

    session = Session(tools=[meddle])
    models: list[Any] = [Scripted(answers=[call("meddle", id="m"), "done"]), "offline"]
    assert [column.state for column in session.compare("go", model=models).columns] == ["done", "done"]
    assert len(said) == 3 and len(set(said)) == 1


def test_a_graph_of_your_own_is_compared_in_what_it_leaves_open(tmp_path: Path) -> None:
    session = attached("deepagents", tmp_path)
    session.run("What is the answer?")
    before = session.snapshot, session.turns, [info.name for info in session.threads]
    found = session.compare("And then?", max_steps=[1, 5])
    assert [column.name for column in found.columns] == ["max_steps=1", "max_steps=5"]
    assert found.columns[1].answer == "As before."
    assert (session.snapshot, session.turns, [info.name for info in session.threads]) == before
    with pytest.raises(RefusedError, match="memory_refresh is a matter of"):
        session.compare("And then?", memory_refresh=["call", "delta"])
    asks = attached("question", tmp_path).compare("What is the answer?", max_steps=[4, 5])
    assert [column.state for column in asks.columns] == ["stopped"] * 2
    assert asks.columns[0].problem == "the graph asks a question, which a comparison does not answer"
    disk = attached("deepagents on disk", tmp_path)
    with pytest.raises(RefusedError, match="keeps files outside of its state"):
        disk.compare("And then?", max_steps=[1, 5])


def test_a_beginning_ends_at_the_first_piece_that_differs() -> None:
    def request(*pieces: tuple[str, int]) -> Request:
        return Request(tuple(Sent("system", "", text, n) for text, n in pieces))

    first = request(("a", 10), ("b", 20), ("c", 30))
    assert same_beginning(first, request(("a", 10), ("b", 20), ("x", 5), ("c", 30))) == 30
    assert same_beginning(first, request(("x", 10), ("b", 20))) == 0 and same_beginning(first, first) == 60


WORDS = [
    *("one", "two", "**bold**", "`code`", "$x^2$", "$5", "and $7", "\\(a\\)", "[a](http://b/?x>y)", "&lt;", "&nbsp;", "\xa0"),
    *("| a | b |\n|---|---|\n| c | d |\n", "\n\n", "\n- ", "```\nx = 1\n```", "<b>", "<", ">", '"', "\\", "[c](d 'e>f')"),
    '[x](http://h/"onclick="y>z)',
]  # fmt: skip
ANSWERS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
MARK = re.compile(r"</?mark[^>]*>")


@given(st.lists(ANSWERS, min_size=2, max_size=4))
def test_without_its_marks_an_answer_is_as_it_is_shown_alone(answers: list[str]) -> None:
    for answer, marked in zip(answers, marked_html(answers), strict=True):
        assert MARK.sub("", marked) == markdown_html(answer)


@given(st.lists(st.text(alphabet="ab .", max_size=20), min_size=2, max_size=4))
def test_the_pieces_of_a_text_are_that_text(texts: list[str]) -> None:
    for text, marked in zip(texts, marks(texts), strict=True):
        assert "".join(piece.text for piece in pieces(text, marked)) == text


def test_what_differs_is_marked_and_nothing_hostile_runs_for_it() -> None:
    assert marked_text(["due on Friday, it is", "due on Monday, it is", "due on Monday, it is"]) == [
        *("due on »Friday«, it is", "due on »Monday«, it is", "due on »Monday«, it is")
    ]
    assert marked_text(["all alike", "all alike"]) == ["all alike"] * 2
    assert marked_text(["not a word of it", "something quite other here"])[0] == "not a word of it", "no use"
    first, _ = marked_html(["It is May, $x^2$ and $5, $7.", "It is June, $x^2$ and $5, $7."])
    assert first.count("<mark") == 1 and ">May</mark>" in first and "$x^2$" in first
    for text in hostile.SHORT:
        for answers in ([f"one {text} two", f"one two {text} three"], [f"x {text}", f"y {text} and more"]):
            for answer, marked in zip(answers, marked_html(answers), strict=True):
                assert MARK.sub("", marked) == MARK.sub("", markdown_html(answer)), text
                harmless(marked)


def turn(text: str, *names: str, cached: int = 0, reads: int = 1_000, **more: Any) -> Turn:
    budget = Budget({"system": 100, "user": 900}, rule_for(8_000), 2)
    call = Call(1, "answer", (), budget, Usage(reads, 10, cached))
    used = [ToolStarted(name, name, {"path": "/"}) for name in names]
    ended = [ToolEnded(name, name, "", "ok", 0.1) for name in names]
    state = Snapshot("main", files={"/AGENTS.md": "- new\n"}, memory={"/AGENTS.md": more.pop("told", "- new\n")})
    events: tuple[Event, ...] = (*used, *ended, ModelEnded(call))
    return Turn(1, "main", "go", text, events, state, state, Usage(reads, 10, cached), budget, "m", 0.5, **more)


def test_figures_and_calls_that_differ() -> None:
    left = Column({"a": "1", "b": "x"}, "done", turn("yes", "ls", cached=750, told="- old\n"))
    right = Column({"a": "2", "b": "x"}, "done", turn("yes", "ls", "glob", cached=250))
    waits = Column({"a": "3", "b": "x"}, "running")
    view = comparison_view([left, right, waits], "main")
    text = view.text()
    assert "a=1, b=x  done" in text and "a=3, b=x  running …" in text
    assert "(the same answer as with a=1, b=x)" in text and "(the same answer as with a=1, b=x)" in view.html()
    assert view.html().count("yes") == 1 and "max-width:62em" not in view.html()
    assert '  → ls(path="/")  ok' in text and '  ≠ glob(path="/")  ok' in text
    figures = {one.label: (one.values, one.differs) for one in view.figures}
    assert figures["cached"] == (("75 %", "25 %", "–"), True) and figures["tool calls"] == (("1", "2", "–"), True)
    assert figures["memory in the prompt"] == (("stale", "current", "–"), True)
    assert figures["context"] == (("1,000", "1,000", "–"), False) and not figures["time"][1]
    assert "as before" not in text, "nothing is said of forks before all have ended"
    assert view.html().count("≠ differs</mark>") == 1
    harmless(view.html())
