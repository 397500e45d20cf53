"""Eight graphs of somebody else's, and what a session does with each: it works, or one line says why not."""

from pathlib import Path
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

import deepnb
from deepnb.middleware import CompactionMiddleware, MemoryMiddleware
from deepnb.models import TeachingModel
from deepnb.values.turn import TextDelta, ToolEnded, ToolStarted, Turn
from deepnb.values.wings import home
from tests.support.graphs import ANSWER, GRAPHS, lookup, model
from tests.support.scripted import Scripted, call, calls, walked
from tests.support.tables import every_row, refused

EVERY = pytest.mark.parametrize("name", GRAPHS)
SOME = ("checkpointer", "files", "memory", "skills", "subagents", "history", "approvals")
OURS = ("compaction by hand", "flush", "tapes", "mounts", "empty and shared threads")


def session(name: str, folder: Path, **options: Any) -> deepnb.Session:
    kind = GRAPHS[name]
    return deepnb.Session(graph=kind.make(folder), **{**kind.options, **options})


def finished(s: deepnb.Session, prompt: str = "What is the answer?", **how: Any) -> Turn:
    return answered(s, s.run(prompt, **how))


def answered(s: deepnb.Session, turn: Turn) -> Turn:
    if not turn.asked:
        return turn
    list(s.resume([call.answer({"hall": 4}) for call in turn.asked]))
    assert s.last is not None
    return s.last


@EVERY
def test_a_turn_is_streamed_counted_and_exported(name: str, tmp_path: Path) -> None:
    s, kind = session(name, tmp_path), GRAPHS[name]
    turn = finished(s)
    assert (turn.number, turn.text, turn.error, turn.interrupted) == (1, ANSWER, None, None)
    started = [e for e in turn.events if isinstance(e, ToolStarted)]
    ended = [e for e in turn.events if isinstance(e, ToolEnded)]
    assert [(e.name, e.args) for e in started] == [(kind.tool, {"key": "answer"})]
    assert [(e.result, e.status) for e in ended] == [("answer is 42", "ok")]
    budget, shown = s.budget(), s.xray()
    assert budget is not None and budget.rule.window == 100_000 and budget.total > 0
    assert budget.rule.compacts is ("history" in kind.has)
    assert any(piece.label == kind.tool for piece in shown.request) and shown.call.number == 2
    assert any(piece.text == "What is the answer?" for piece in shown.request)
    assert ANSWER in s.export(tmp_path / "a.html").read_text(encoding="utf-8")
    events = [*s.stream("And then?")]
    events += s.resume([call.answer({"hall": 4}) for call in s.asked]) if s.asked else []
    pieces = [e.text for e in events if isinstance(e, TextDelta)]
    assert len(pieces) > 1 and "".join(pieces).endswith("As before.")
    roles = [m.role for m in s.snapshot.messages if not m.text.startswith("The hall")]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant"]


@EVERY
def test_rewind_fork_and_undo_take_the_whole_state(name: str, tmp_path: Path) -> None:
    s = session(name, tmp_path)
    finished(s)
    first = _values(s)
    finished(s, "And then?")
    s.rewind(1)
    assert _values(s) == first
    s.undo()
    assert len(s.turns) == 2 and len(s.snapshot.messages) > len(first)
    s.fork("b", at=1)
    assert _values(s) == first and s.pending is None and finished(s, "Go on").text == "As before."
    s.rewind(1)
    assert _values(s) == first, "a state of another thread takes the place of what is there"
    s.switch("main")
    assert len(s.turns) == 2
    s.rewind(0)
    assert len(s.snapshot.messages) == 0 and finished(s, "Anew").text == "As before."


def _values(s: deepnb.Session) -> dict[str, Any]:
    return {name: value for name, value in s.graph.get_state(s.config).values.items() if value}


@EVERY
def test_what_it_has_and_what_it_lacks_is_known_from_the_start(name: str, tmp_path: Path) -> None:
    s, kind = session(name, tmp_path), GRAPHS[name]
    assert {one for one in SOME if s.features.has(one)} == kind.has
    assert all(not s.features.has(one) for one in OURS)
    assert all(one.what and (one.has or one.do) for one in s.features)
    agents = {"deepagents": ["general-purpose"], "deepagents on disk": ["critic", "general-purpose"]}.get(name, [])
    assert sorted(one.agent.name for one in s.subagents.list_subagents()) == agents


@EVERY
def test_memory_and_skills_are_the_files_of_its_prompt_or_one_line(name: str, tmp_path: Path) -> None:
    s, has = session(name, tmp_path), GRAPHS[name].has
    for what, write in (
        ("memory", lambda: s.memory.add("Be brief.")),
        ("skills", lambda: s.skills.new("tidy", "Tidies up.")),
    ):
        if what in has:
            write()
        else:
            refused(r"(Memory|Skills|Filesystem)Middleware", write)
    finished(s)
    sent = [piece.text for piece in s.xray().request]
    assert any("Be brief." in text for text in sent) is ("memory" in has)
    assert any("Tidies up." in text for text in sent) is ("skills" in has)
    if "memory" not in has:
        assert "AGENTS" not in "".join(s.files)
        return
    assert s.snapshot.memory == {"/AGENTS.md": "- Be brief.\n"} and "/AGENTS.md" in list(s.memory.log()["path"])
    assert not [path for path in s.files if ".deepnb" in path] and not (tmp_path / ".deepnb").exists()
    refused(r"does not read it: its memory is /AGENTS.md", s.memory.add, "Be kind.", "/SOUL.md")


@EVERY
def test_what_only_deepnbs_agent_does_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    s = session(name, tmp_path)
    finished(s)
    tried: Any
    for tried in (
        s.compact, s.flush, lambda: s.record(tmp_path / "a.jsonl"), lambda: s.replay(tmp_path / "a.jsonl"),
        lambda: s.mount("/x", f"disk:{tmp_path}"), lambda: s.memory.keep(tmp_path), lambda: s.new("apart", empty=True),
        lambda: s.tools.add(print), lambda: s.use("offline"),
        *([lambda: s.package(tmp_path / "package")] if home("session.package") else []),
        lambda: s.run("x", model="offline"), lambda: s.approvals.mode("read-only"),
        lambda: s.configure(memory_refresh="call"),
    ):  # fmt: skip
        told = refused("your graph", tried)
        assert "\n" not in told.typed and ": " in told.typed
    assert len(s.turns) == 1


@EVERY
def test_limits_end_a_turn_in_order_and_it_goes_on(name: str, tmp_path: Path) -> None:
    s = session(name, tmp_path)
    turn = finished(s, max_steps=1) if name != "question" else s.run("What?", max_steps=1)
    if turn.asked:
        turn = answered(s, turn)  # the limit is for one run
        assert turn.text == ANSWER
        return
    assert turn.interrupted == "reached the limit of 1 step"
    list(s.resume())
    assert s.text == ANSWER


@EVERY
def test_it_is_kept_in_a_file_or_by_its_own_checkpointer(name: str, tmp_path: Path) -> None:
    s, file = session(name, tmp_path / "files"), tmp_path / "kept.db"
    if GRAPHS[name].own_checkpointer:
        refused("its own checkpointer keeps its threads", s.persist, file)
        finished(s)
        again = deepnb.Session(graph=s.options.graph.graph)  # type: ignore[union-attr]
        assert [t.text for t in again.turns] == [ANSWER]
        return
    s.persist(file)
    if has_memory := "memory" in GRAPHS[name].has:
        s.memory.add("Be brief.")
    finished(s)
    assert any("Be brief." in piece.text for piece in s.xray().request) is has_memory
    s.close()
    again = session(name, tmp_path / "files")
    again.persist(file)
    assert ("Be brief." in again.memory.text()) is has_memory
    assert [(t.prompt, t.text) for t in again.turns] == [("What is the answer?", ANSWER)]
    assert len(again.snapshot.messages) >= 4


@every_row(("name", "on_disk"), [("deepagents", False), ("deepagents on disk", True)])
def test_files_in_its_state_are_a_threads_own_and_those_on_a_disk_are_not(tmp_path: Path, name: str, on_disk: bool):
    s = session(name, tmp_path)
    s.memory.add("Be brief.")
    finished(s)
    s.fork("a")
    assert s.memory.text().rstrip().endswith("- Be brief.")
    s.new("b")
    assert len(s.memory.log_entries()) == on_disk, "a thread with other files is no change by anybody"
    assert ("- Be brief." in s.memory.text()) is on_disk
    finished(s)
    walked(s, "fork c", "memory.add Be kind.", "switch b")
    assert ("Be kind." in s.memory.text()) is on_disk
    s.switch("main")
    assert {entry.origin for entry in s.memory.log_entries()} == {"user"}
    assert not on_disk or (tmp_path / "AGENTS.md").read_text() == "- Be brief.\n- Be kind.\n"


def test_what_its_tools_write_to_memory_is_in_the_journal(tmp_path: Path) -> None:
    noted = Scripted(answers=[call("write_file", file_path="/AGENTS.md", content="- Be kind.\n"), "Noted."])
    s = deepnb.Session(graph=create_deep_agent(model=noted, memory=["/AGENTS.md"]))
    s.run("Be kind")
    (entry,) = s.memory.log_entries()
    assert entry.path == "/AGENTS.md" and "+- Be kind." in entry.diff
    assert [d.path for d in s.memory.diff(0, 1)] == ["/AGENTS.md"]
    s.memory.revert(entry.id)
    assert s.memory.text() == ""


@every_row("mode", ["batched", "per_call"])
def test_calls_that_its_middleware_asks_about_are_approved_edited_and_rejected(mode: Any) -> None:
    sent: list[str] = []

    def send(to: str) -> str:
        """Send a letter."""
        sent.append(to)
        return f"sent to {to}"

    people = ("Ada", "Bob", "Cyd")
    made = calls(*(call("send", who, to=who) for who in people))
    asks = HumanInTheLoopMiddleware({"send": True}, interrupt_mode=mode)
    s = deepnb.Session(graph=create_agent(Scripted(answers=[made, "Done."]), [send], middleware=[asks]))
    turn = s.run("Write to them")
    assert [(c.id, c.name, c.args["to"]) for c in turn.asked] == [(who, "send", who) for who in people]
    ada, bob, cyd = turn.asked
    refused("decided by the graph, call by call", ada.approve, remember=True)
    assert list(s.resume(ada.approve())) == []  # two are not decided yet
    list(s.resume([bob.edit({"to": "Bea"}), cyd.reject("too late")]))
    assert (s.text, sorted(sent)) == ("Done.", ["Ada", "Bea"])
    assert any("too late" in m.text for m in s.snapshot.messages if m.role == "tool")


@every_row("mode", ["batched", "per_call"])
def test_only_what_the_middleware_allows_can_be_decided(mode: Any) -> None:
    allowed: Any = {"lookup": {"allowed_decisions": ["approve", "reject"]}}
    asks = HumanInTheLoopMiddleware(allowed, interrupt_mode=mode)
    s = deepnb.Session(graph=create_agent(model(), [lookup], middleware=[asks]))
    (asked,) = s.run("What?").asked
    refused("does not let you edit calls of lookup", asked.edit, {"key": "x"})
    list(s.resume(asked.approve()))
    assert s.text == ANSWER


def test_a_question_that_is_asked_twice_is_asked_twice() -> None:
    def ask(state: MessagesState) -> dict[str, Any]:
        one, two = interrupt("sure?"), interrupt("sure?")
        return {"messages": [("ai", f"{one} and {two}")]}

    graph = StateGraph(MessagesState).add_node("ask", ask).add_edge(START, "ask").add_edge("ask", END).compile()
    s = deepnb.Session(graph=graph)
    s.run("go")
    assert s.pending == "the graph asks a question: %agent resume JSON"
    refused("needs an answer", s.run, "Something else")
    refused("takes an answer", s.asked[0].approve)
    list(s.resume(s.asked[0].answer("yes")))
    assert [c.args for c in s.asked] == [{"value": "sure?"}]
    list(s.resume(s.asked[0].answer(False)))
    assert s.text == "yes and False" and s.asked == ()


def test_what_waits_is_there_in_the_next_session_on_its_checkpointer(tmp_path: Path) -> None:
    asks = HumanInTheLoopMiddleware({"lookup": True})
    graph = create_agent(model(), [lookup], middleware=[asks], checkpointer=InMemorySaver())
    deepnb.Session(graph=graph).run("What is the answer?")
    s = deepnb.Session(graph=graph)
    (asked,) = s.asked
    assert (asked.id, asked.name) == ("c1", "lookup") and s.turns[0].asked == s.asked
    list(s.resume(asked.approve()))
    assert s.text == ANSWER
    file, question = tmp_path / "kept.db", GRAPHS["question"].make(tmp_path)
    with deepnb.Session(graph=question, persist=file) as first:
        first.run("What is the answer?")
    again = deepnb.Session(graph=question, persist=file)
    assert again.restored is not None and again.restored.asked == 1
    list(again.resume(again.asked[0].answer({"hall": 2})))
    assert "The hall is 2." in [m.text for m in again.snapshot.messages] and again.text == ANSWER


@every_row("name", ["another key", "async only", "deepagents"])
def test_a_thread_of_its_checkpointer_is_rewound_in_another_session(tmp_path: Path, name: str) -> None:
    graph = GRAPHS[name].make(tmp_path).copy(update={"checkpointer": InMemorySaver()})
    first = deepnb.Session(graph=graph, **GRAPHS[name].options)
    finished(first)
    there = _values(first)
    finished(first, "And then?")
    again = deepnb.Session(graph=graph, **GRAPHS[name].options)
    assert [t.prompt for t in again.turns] == ["What is the answer?", "And then?"]
    again.rewind(1)
    assert _values(again) == there and len(again.turns) == 1 and finished(again, "Go on").text == "As before."


def test_a_transcript_holds_each_message_once(tmp_path: Path) -> None:
    for name in ("own reducer", "another key", "async only"):
        s = session(name, tmp_path)
        finished(s)
        finished(s, "And then?")
        rows = s.transcript()
        texts = list(rows[rows["type"] == "message"]["text"])
        ids = [m.id for m in s.snapshot.messages]
        assert all(ids) and len({*ids}) == len(ids)
        assert texts.count(ANSWER) == 1 and texts.count("answer is 42") == 1, name


def test_what_was_offloaded_is_shown_with_its_summary_and_brought_back() -> None:
    small = Scripted(answers=["one", "SUMMARY", "two", "three"], profile={"max_input_tokens": 20_000})
    s = deepnb.Session(graph=create_deep_agent(model=small))
    s.run("word " * 9_000)
    turn = s.run("more " * 9_000)
    assert turn.compacted and turn.text == "two"
    (section,) = s.history()
    assert [(item.role, item.text[:8]) for item in section.items] == [("user", "word wor"), ("assistant", "one")]
    assert section.offload is not None and section.offload.summary == "SUMMARY" and section.offload.messages == 2
    s.bring_back(1, [2])
    s.run("Well?")
    assert any("one" in piece.text for piece in s.xray().request if piece.part == "user")


def test_what_cannot_be_attached_is_one_line(tmp_path: Path) -> None:
    builder = StateGraph(MessagesState).add_node("a", lambda state: state).add_edge(START, "a").add_edge("a", END)
    for options, line in (
        ({"graph": builder}, "this graph is not compiled yet: graph=builder.compile()"),
        ({"graph": 3}, "a int is not a compiled graph"),
        ({"graph": GRAPHS["another key"].make(tmp_path)}, "the graph has no channel 'messages': it has chat"),
        ({"graph": builder.compile(), "model": "offline:x"}, "model can't be given with graph"),
        ({"graph": builder.compile(), "tools": [print]}, "tools can't be given with graph"),
    ):
        assert refused("", deepnb.Session, **options).typed.startswith(line)


def test_each_layer_says_who_made_it_and_what_it_does() -> None:
    class Own(AgentMiddleware):
        """Adds nothing."""

        def before_model(self, state: Any, runtime: Any) -> None: ...

    teaching = TeachingModel()
    mixed = [MemoryMiddleware(), CompactionMiddleware(teaching), Own()]
    theirs, ours = (
        deepnb.Session(graph=create_deep_agent(teaching, **how)).stack().layers
        for how in ({"memory": ["/AGENTS.md"]}, {"middleware": mixed})
    )
    of = {layer.name: layer for layer in theirs}
    assert of["MemoryMiddleware"].origin == of["SubAgentMiddleware"].origin == "deepagents"
    assert of["SummarizationMiddleware"].does == "writes old messages to a file, and summarizes them"
    assert "yours" not in {layer.origin for layer in theirs[1:]}
    of = {layer.name: layer for layer in ours}
    assert of["MemoryMiddleware"].origin == of["CompactionMiddleware"].origin == "deepnb"
    assert "diffs" in of["MemoryMiddleware"].does
    assert (of["Own"].origin, of["Own"].does) == ("yours", "Adds nothing.")
