"""Law: a compaction by hand makes the next request smaller, or says in one line that it does not and changes nothing."""

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from deepnb import Session
from deepnb.values.errors import RefusedError
from deepnb.values.turn import Event
from tests.support.compactions import AT_LENGTH, HISTORY, Phased, compactions, stored_once
from tests.support.refusals import refused
from tests.support.scripted import call
from tests.support.tables import every_row
from tests.support.walks import walked

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


def session(home: str, folder: Path, model: Phased, prompts: list[str]) -> Session:
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
@given(cases())
def test_the_next_request_is_smaller_or_all_is_as_it_was(case):
    home, turns, words, flush = case
    model = Phased(summary="s " * words, flush=flush, answers=[f"ok {'a ' * n}" for _, n in turns])
    prompts = [f"prompt {number}\n{'p ' * n}".strip() for number, (n, _) in enumerate(turns)]
    with tempfile.TemporaryDirectory() as folder, session(home, Path(folder), model, prompts) as s:
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
            event(f"{home}: compacted")


@every_row("home", HOMES)
def test_no_model_is_asked_where_no_summary_can_be_worth_it(tmp_path, home):
    model = Phased(summary="in short")
    with session(home, tmp_path, model, ["a", "b"]) as s:
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
