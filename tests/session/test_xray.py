"""One request laid open: by part, against the request before it, to the byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb import Session
from deepnb.models.teaching import TeachingModel
from deepnb.values.budget import PARTS
from deepnb.values.request import Sent
from deepnb.values.xray import changes
from deepnb.views.xray import XrayView
from tests.support.refusals import refused
from tests.support.scripted import Scripted, call
from tests.support.walks import walked

TASK = call("task", id="t1", description="work", subagent_type="general-purpose")
KEY = "sk-ant-api03-" + "q7Rz9LmX2vB4" * 8


def sent(text: str, part: str = "user", label: str = "") -> Sent:
    return Sent(part, label or part, text, len(text))


@pytest.fixture(scope="module")
def s() -> Session:
    return walked(Session(model=TeachingModel(window=8_000)), "run Remember that I prefer metric units", "run Hello")


def test_the_pieces_are_the_request_and_its_tokens(s):
    x = s.xray()
    assert (x.turn, x.call.number) == (2, 1)
    assert sum(p.tokens for pieces in x.parts.values() for p in pieces) == x.call.budget.total
    expected = {part: n for part, n in x.call.budget.parts.items() if n}
    assert {part: sum(p.tokens for p in pieces) for part, pieces in x.parts.items()} == expected
    assert list(x.parts) == [part for part in PARTS if part in x.parts]
    assert next(p.text for p in x.parts["user"]) == "Remember that I prefer metric units"


def test_what_was_appended_is_all_that_changed(s):
    x = s.xray(2)
    assert x.since == "turn 1, call 2"
    assert [(c.before, c.after.part) for c in x.changes] == [(None, "assistant"), (None, "user")]


def test_any_call_can_be_asked_for(s):
    assert (s.xray(1).call.number, s.xray(1, 1).call.number) == (2, 1)
    assert s.xray(1, 1).before is None and s.xray(1, 1).cacheable is None and s.xray(1, 1).changes == ()
    assert s.xray(1, 2).since == "call 1"
    for at, words in (((7, None), "choose a turn from 1 to 2"), ((1, 9), "its calls are 1, 2")):
        refused(words, s.xray, *at)
    refused(r"no model calls yet: session.run", lambda: Session().xray())


def test_a_memory_block_written_anew_is_a_change_with_a_diff():
    s = Session(model=Scripted(answers=["ok"]), memory_refresh="call")
    s.memory.write("/AGENTS.md", "- tea at four\n- metric units\n")
    s.run("a")
    s.memory.write("/AGENTS.md", "- tea at five\n- metric units\n")
    s.run("b")
    x = s.xray()
    (changed,) = [c for c in x.changes if c.before]
    assert changed.after.part == "memory" and "tea at five" in changed.after.text
    view = XrayView(x)
    assert "-- tea at four" in view.text() and "+- tea at five" in view.text()
    assert "~ changed: /AGENTS.md" in view.text() and "<ins" in view.html()


def test_a_compaction_shows_what_went_and_the_summary_that_came():
    s = Session(model=Scripted(answers=["the summary"]), trigger=("messages", 5), keep=("messages", 1))
    walked(s, "run one", "run two", "run three")
    x = s.xray()
    assert x.call.budget.parts["summary"] > 0
    gone = [c.before.text for c in x.changes if c.after is None]
    assert "one" in gone and "two" in gone
    assert next(c.after.part for c in x.changes if c.before is None) == "summary"


def test_calls_of_subagents_and_of_a_resumed_turn_are_compared_with_their_own():
    nested = [call("ls", id="n1", path="/"), "nested"]
    s = Session(model=Scripted(answers=[TASK, *nested, "end"]))
    s.run("p")
    assert s.xray(1, 2).before is None and s.xray(1, 3).since == "call 2"
    assert s.xray().since == "call 1"
    assert "answer of subagent general-purpose (t1)" in XrayView(s.xray(1, 3)).title
    s = Session(model=Scripted(answers=[call("ls", path="/"), KeyboardInterrupt(), "end"]))
    with pytest.raises(KeyboardInterrupt):
        s.run("p")
    list(s.resume())
    numbers = [c.number for c in s.turns[0].calls]
    assert numbers == sorted(set(numbers)) == [1, 3]
    assert s.xray(1, 2).call.usage is None  # the call that was cut can be looked at, too
    assert s.xray(1, 3).since == "call 2"


def test_credentials_are_not_shown_and_html_is_escaped():
    s = Session(model=Scripted(answers=["ok"]))
    s.run(f"my key is {KEY} " + '<img src=x onerror="alert(1)"> </pre></details>')
    s.run("next")
    for at in ((1, 1), (2, 1)):
        view = XrayView(s.xray(*at))
        html = view.html()
        assert KEY not in view.text() and KEY not in html
        assert "<img" not in html and html.count("<details") == html.count("</details>") > 5
    assert any(KEY in p.text for p in s.xray(1).request)


def test_the_magic_takes_a_turn_and_a_call(shell):
    shell.ok("%agent --quiet Hello")
    assert "request of turn 1, call 1" in shell.ok("%agent xray 1.1")


PIECES = st.lists(
    st.builds(sent, st.text(max_size=6), st.sampled_from(["user", "assistant", "memory", "system"])), max_size=8
)


@given(PIECES, PIECES)
def test_changes_account_for_every_piece(a, b):
    found = changes(a, b)
    left = [p.text for p in a]
    for c in found:
        if c.before is not None:
            left.remove(c.before.text)
    left += [c.after.text for c in found if c.after is not None]
    assert sorted(left) == sorted(p.text for p in b) and changes(a, list(a)) == ()
