"""What a compaction asks the model; and laws of one by hand: the next request is smaller, or a line says that it is not."""

import asyncio
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, example, given
from hypothesis import strategies as st
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatResult
from langgraph.checkpoint.memory import InMemorySaver

from deepnb import Session
from deepnb.testing import RequestRecorder
from deepnb.values.errors import RefusedError
from deepnb.values.turn import Event, ToolStarted
from tests.support.caching import agent, purpose, ran, serving
from tests.support.chat_server import Say, Use
from tests.support.compactions import AT_LENGTH, HISTORY, Phased, Refusing, compactions, notices, session, stored_once
from tests.support.scripted import call, unasked, walked
from tests.support.tables import every_row, refused


class FormError(Exception):
    status_code = 400


def said(messages: list[BaseMessage]) -> list[Any]:
    return [(m.type, m.content, getattr(m, "tool_calls", None)) for m in messages]


def alone(messages: list[BaseMessage]) -> bool:
    return [m.type for m in messages] == ["human"] and '<message type="human">' in messages[0].text


@every_row("how", ["at the trigger", "awaited", "by hand"])
def test_both_begin_as_the_agents_last_request_did_up_to_the_messages_that_stay(how: str):
    model = Phased()
    s = session(model, trigger=("messages", 99 if how == "by hand" else 7))
    for prompt in ("a" * 400, "b" * 400, "c" * 400, "d" * 400):
        if how == "awaited":
            asyncio.run(s.graph.ainvoke({"messages": [HumanMessage(prompt)]}, s.config))
        else:
            s.run(prompt)
    if how == "by hand":
        s.compact(lambda event: None)
    before = model.requests[-1 if how == "by hand" else -2]
    (flush,), (summary,) = model.flushes, model.summaries
    for one in (flush, summary):
        assert said(one[:-1]) == said(before)[: len(one) - 1] + said(one[len(before) : -1])
        assert "All messages above this one" in one[-1].text
    assert [m.text for m in flush[1:-1:2]] == ["a" * 400, "b" * 400, "c" * 400] and "d" * 400 not in str(flush)


def test_arguments_that_the_last_request_had_cut_are_cut_and_no_others():
    text = "word " * 1_000
    write = call("write_file", file_path="/a.txt", content=text)
    model = Phased(answers=[write, "ok", write.model_copy(update={"id": "2"}), "ok", "ok " * 900])
    s = session(model, trigger=("tokens", 7_000), keep=("tokens", 1_500), approve={"write_file": "allow"})
    for prompt in "abcdefgh":
        s.run(prompt)
        if compactions(s):
            break
    (flush,) = model.flushes
    before = model.requests[-2]
    assert said(flush[:-1]) == said(before[: len(flush) - 1])


@every_row("failure", [ContextOverflowError("too long"), FormError("no user message may stand behind a tool's")])
def test_what_is_not_taken_as_one_more_message_is_asked_alone(failure: Exception):
    model = Refusing(failure=failure, flush="- Ada leads", summary="in short")
    s = session(model)
    walked(s, "run a", "run b", "run c", "run d")
    first = compactions(s)[0].offload
    assert first.flush is not None and (first.summary, first.flush.lines) == ("in short", ("- Ada leads",))
    assert len(model.refused) >= 2 and alone(model.flushes[0])
    assert alone(model.summaries[0]) and not notices(s)


def test_what_has_no_room_is_asked_alone_and_a_failure_that_comes_again_is_not_asked_twice():
    recorder = RequestRecorder()
    model = Phased(answers=["word " * 700], flush="- Ada leads", summary="in short")
    off: dict[str, Any] = {"enable_filesystem": False, "enable_subagents": False, "enable_skills": False}
    s = Session(model, max_input_tokens=4_000, trigger=("tokens", 3_700), keep=("tokens", 40), system_prompt="", **off)
    model.callbacks = [recorder]
    while not compactions(s):
        s.run("go on")
    about = [r for r in recorder.requests if re.search("<messages>|<leaving>", r.messages[-1].text)]
    assert [alone([*r.messages]) for r in about] == [True, True] and [r.tools for r in about] == [(), ()]
    assert any(r.tools for r in recorder.requests)
    model = Refusing(failure=RuntimeError("down"))
    s = session(model)
    walked(s, "run a", "run b", "run c", "run d")
    assert len(model.refused) == 2 * len(compactions(s)) and "no summary (RuntimeError: down)" in notices(s)[0]


def test_calls_in_place_of_an_answer_are_not_run_and_leave_it_to_the_rules_and_to_a_request_without_tools():
    done = []

    def send(text: str) -> str:
        """Send a text."""
        done.append(text)
        return "sent"

    class Calling(Phased):
        def _next(self, messages: list[BaseMessage]) -> AIMessage:
            answer = super()._next(messages)
            asks = "<leaving>" in messages[-1].text or "<messages>" in messages[-1].text
            return call("send", text="now") if asks and len(messages) > 1 else answer

    model = Calling(summary="in short")
    s = session(model, **unasked(send))
    s.run("We decided to ship on 2026-12-01.")
    walked(s, "run b", "run c", "run d")
    first = compactions(s)[0].offload
    assert first.flush is not None
    assert (first.flush.how, first.flush.lines) == ("rules", ("- We decided to ship on 2026-12-01.",))
    assert first.summary == "in short" and [alone(one) for one in model.summaries[:2]] == [False, True]
    assert not done
    assert not [e for t in s.turns for e in t.events if isinstance(e, ToolStarted)]


@every_row("how", ["the task", "the loop"])
def test_a_graph_that_is_awaited_and_cancelled_in_its_flush_asks_and_writes_nothing_more(how: str):
    class Waiting(Phased):
        async def _agenerate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
            if "<leaving>" in messages[-1].text:
                begun.set()
                await asyncio.sleep(600)
            return self._generate(messages)

    begun, model = asyncio.Event(), Waiting(summary="in short")
    s = walked(session(model), "run We decided to ship on 2026-12-01.", "run b")

    async def talk() -> None:
        task = asyncio.create_task(s.graph.ainvoke({"messages": [HumanMessage("c")]}, s.config))
        await begun.wait()
        if how == "the task":
            task.cancel()
            await asyncio.wait((task,))

    asyncio.run(talk())
    assert (model.flushes, model.summaries) == ([], [])
    assert [path for path in s.files if path.startswith(("/memory/", "/conversation_history/"))] == []


def test_what_the_provider_would_refuse_is_made_fit_in_them_too():
    def step(results: list[Any]) -> Any:
        return Say("Done. " * 100) if results else Use("multi_tool_use.parallel", {})

    with serving("openai", agent(step), trigger=("messages", 9), keep=("messages", 1)) as (s, server):
        while not compactions(s):
            ran(s, "Look at all of them.")
        found = {one: request for request in server.requests if (one := purpose(request)) != "answer"}
        assert set(found) == {"flush", "summary"}
        for request in found.values():
            names = [c["function"]["name"] for m in request["messages"] for c in m.get("tool_calls", ())]
            assert names and all(re.fullmatch(r"[a-zA-Z0-9_-]+", name) for name in names)


def test_with_an_answer_in_a_form_the_tools_are_the_same_and_none_is_demanded():
    answer = Use("Depot", {"name": "harbour"})
    form = {"title": "Depot", "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    options: dict[str, Any] = {"trigger": ("messages", 7), "keep": ("messages", 1), "response_format": form}
    with serving("openai", agent(lambda results: answer), **options) as (s, server):
        while not compactions(s):
            assert ran(s, "Which one? " + "Think of all. " * 50).structured == {"name": "harbour"}
        asked = [purpose(request) for request in server.requests]
        at = asked.index("flush")
        before, flush, summary = server.requests[at - 1 : at + 2]
        assert flush["tools"] == summary["tools"] == before["tools"] and "tool_choice" in before
        assert "tool_choice" not in flush
        begin, whole = before["messages"], flush["messages"]
        assert whole[: len(begin)] == begin[: len(whole) - 1]


NO_WORDS = "a summary of no words"
REFUSED = re.compile(
    r"not compacted: with (a summary of no words|this summary) the next request would have ([\d,]+) tokens, and it has "
    r"([\d,]+)(; what is worth keeping is in /memory/\S+\.md)?: %agent budget shows what fills the context"
)


def held(s: Session) -> dict[str, Any]:
    """All that a compaction changes, the daily notes apart."""
    return {
        "messages": s.snapshot.messages,
        "offload": s.snapshot.offload,
        "files": {path: text for path, text in s.files.items() if not path.startswith("/memory/")},
        "binary": s.snapshot.binary,
        "events": [turn.events for turn in s.turns],
        "history": s.history(),
        "transcript": s.transcript().to_dict("records"),
    }


def notes(s: Session) -> dict[str, str]:
    return {path: text for path, text in s.files.items() if path.startswith("/memory/")}


def talked(home: str, folder: Path, model: Phased, prompts: list[str]) -> Session:
    options: dict[str, Any] = {"model": model, "trigger": ("messages", 1_000)}
    if home == "kept":
        options["persist"] = folder / "k.db"
    elif home == "given":  # nobody has the figures of its requests
        options["checkpointer"] = InMemorySaver()
    s = Session(**options)
    for prompt in prompts:
        s.run(prompt)
    if home == "here":
        return s
    s.close()
    return Session(**options)


HOMES = ("here", "kept", "given")
LENGTHS = st.integers(0, 60)
NOTES = st.sampled_from(["NO_REPLY", call("note", text="Ada leads"), RuntimeError("down")])


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]], int, Any]:
    """(where it is kept, words of each prompt and answer, words of the summary, what the flush answers)"""
    turns = draw(st.lists(st.tuples(LENGTHS, LENGTHS), min_size=2, max_size=4))
    return draw(st.sampled_from(HOMES)), turns, draw(st.integers(0, 120)), draw(NOTES)


@pytest.mark.slow
@example(("here", [(0, 200), (0, 0)], 3, "NO_REPLY"))
@given(cases())
def test_the_next_request_is_smaller_or_all_is_as_it_was(case):
    home, turns, words, flush = case
    model = Phased(summary="s " * words, flush=flush, answers=[f"ok {'a ' * n}" for _, n in turns])
    prompts = [f"prompt {number}\n{'p ' * n}".strip() for number, (n, _) in enumerate(turns)]
    with tempfile.TemporaryDirectory() as folder, talked(home, Path(folder), model, prompts) as s:
        if words % 2:
            s.memory.add("A line that is not in the block.")
        before, noted, known, told = held(s), notes(s), s.budget(), list[Event]()
        place = s.snapshot.checkpoint
        try:
            made = s.compact(told.append)
        except RefusedError as error:
            match = REFUSED.fullmatch(error.typed)
            assert match, error.typed
            after, was = (int(figure.replace(",", "")) for figure in match.group(2, 3))
            assert after >= was and (known is None or was == known.total)
            assert held(s) == before and bool(match[4]) == (notes(s) != noted)
            assert notes(s) != noted or s.snapshot.checkpoint == place
            if match[1] == NO_WORDS:
                assert (model.flushes, model.summaries, told) == ([], [], [])
            event(f"{home}: {match[1]}")
        else:
            assert made.after < made.before
            assert known is None or (made.before, made.after) == (known.total, s.budget().total)
            assert s.snapshot.offload == made == compactions(s)[-1].offload
            walked(s, f"run {AT_LENGTH}", "run on")
            known, made = s.budget(), s.compact()
            assert (made.before, made.after) == (known.total, s.budget().total), "once more"
            event(f"{home}: compacted")


@every_row("home", HOMES)
def test_no_model_is_asked_where_no_summary_can_be_worth_it(tmp_path, home):
    model = Phased(summary="in short")
    with talked(home, tmp_path, model, ["a", "b"]) as s:
        with pytest.raises(RefusedError, match=NO_WORDS):
            s.compact()
        assert (model.flushes, model.summaries) == ([], [])
        s.run(AT_LENGTH)
        s.run("d")
        made = s.compact()
        assert made.summary == "in short" and made.before - made.after > 100 and s.snapshot.offload == made


def image() -> Any:
    data = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    return HumanMessage([{"type": "text", "text": "see"}, {"type": "image", "base64": data, "mime_type": "image/png"}])


def test_one_that_is_refused_for_its_summary_leaves_the_note_and_the_next_one_holds_each_message_once():
    model = Phased(summary=AT_LENGTH * 3, flush=call("note", text="Ada leads"), answers=[AT_LENGTH, "ok"])
    s = Session(model=model)
    s.run("one")
    s.graph.update_state(s.config, {"messages": [image()]})
    walked(s, "run two", "run three")
    before = held(s)
    refused(r"with this summary .* what is worth keeping is in /memory/", s.compact)
    (note,) = notes(s)
    assert (held(s), s.files[note].count("Ada leads")) == (before, 1)
    assert HISTORY not in s.files and len(s.history()) == 0 and not s.snapshot.binary
    s.run("four")
    model.summary, model.flush = "in short", call("note", text="Ada leads\nBo follows")
    made = s.compact()
    assert made.flush.lines == ("- Bo follows",), "what was said since is flushed, too"
    assert s.files[note].count("Ada leads") == 1
    stored_once(s, ["one", "two", "three"])
    assert len(s.history()) == 1 and len(s.snapshot.binary) == 1


def test_without_a_summary_it_is_weighed_and_said_as_it_came_out():
    """The words that stand in for a summary are weighed; that all was saved is said only of what was."""
    told: list[Event] = []
    s = Session(model=Phased(summary=RuntimeError("down " * 200)))
    for prompt in ("p " * 120, "b"):
        s.run(prompt)
    with pytest.raises(RefusedError, match="with this summary"):
        s.compact(told.append)
    assert "saved verbatim" not in str(told) and HISTORY not in s.files
