"""One request: laid open to the byte, shown before it is sent, and made for a small window or without some parts."""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import SystemMessage

from deepnb import Session
from deepnb.magics.pictures import budget_picture, status_picture
from deepnb.models.teaching import TeachingModel
from deepnb.testing import ScriptedModel
from deepnb.values.budget import PARTS
from deepnb.values.request import Sent
from deepnb.values.turn import ToolEnded
from deepnb.values.xray import changes
from deepnb.views.turn import footer_view
from deepnb.views.xray import XrayView
from tests.support.compactions import AT_LENGTH, Phased
from tests.support.scripted import TASK, Scripted, call, gives, unasked, walked
from tests.support.tables import every_row, refused

KEY = "sk-ant-api03-" + "q7Rz9LmX2vB4" * 8


def sent(text: str, part: str = "user", label: str = "") -> Sent:
    return Sent(part, label or part, text, len(text))


@pytest.fixture(scope="module")
def s() -> Session:
    return walked(Session(model=TeachingModel(window=8_000)), "run Remember that I prefer metric units", "run Hello")


def test_the_pieces_are_the_request_and_its_tokens_and_what_was_appended_is_all_that_changed(s):
    x = s.xray()
    assert (x.turn, x.call.number) == (2, 1)
    assert sum(p.tokens for pieces in x.parts.values() for p in pieces) == x.call.budget.total
    expected = {part: n for part, n in x.call.budget.parts.items() if n}
    assert {part: sum(p.tokens for p in pieces) for part, pieces in x.parts.items()} == expected
    assert list(x.parts) == [part for part in PARTS if part in x.parts]
    assert next(p.text for p in x.parts["user"]) == "Remember that I prefer metric units"
    assert x.since == "turn 1, call 2"
    assert [(c.before, c.after.part) for c in x.changes] == [(None, "assistant"), (None, "user")]


def test_any_call_can_be_asked_for(s):
    assert (s.xray(1).call.number, s.xray(1, 1).call.number) == (2, 1)
    assert s.xray(1, 1).before is None and s.xray(1, 1).cacheable is None and s.xray(1, 1).changes == ()
    assert s.xray(1, 2).since == "call 1"
    for at, words in (((7, None), "choose a turn from 1 to 2"), ((1, 9), "its calls are 1, 2")):
        refused(words, s.xray, *at)
    refused(r"no model calls yet: session.run", lambda: Session().xray())


def test_a_memory_block_written_anew_and_a_compaction_show_what_went_and_came():
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


SKILL = "---\nname: {0}\ndescription: Reads {0} of all kinds, and says what is in them.\n---\n\n# {0}\n"


def look(place: str) -> str:
    "Look at a place."
    return f"There is much to see at {place}. " * 9


class Polite(AgentMiddleware):
    def wrap_model_call(self, request, handler):
        return handler(request.override(system_message=SystemMessage(f"{request.system_message.text}\n\nBe polite.")))


CHANGES: dict[str, Callable[[Any], object]] = {
    "nothing": lambda s: None, "compact": lambda s: s.compact(),
    "compact, a turn, compact": lambda s: (s.compact(), s.run("And now?"), s.compact()),
    "rewind": lambda s: s.rewind(2), "rewind, undo": lambda s: (s.rewind(1), s.undo()),
    "rewind with memory": lambda s: (s.memory.add("late"), s.rewind(1, memory=True)), "fork": lambda s: s.fork(),
    "fork at a turn": lambda s: s.fork(at=2), "compact, rewind": lambda s: (s.compact(), s.rewind(2)),
    "switch": lambda s: (s.fork("b", at=1), s.switch("main")),
    "memory added": lambda s: s.memory.add("The depots close at six."),
    "memory added twice": lambda s: (s.memory.add("One."), s.run("Noted?"), s.memory.add("Two.")),
    "memory written": lambda s: s.memory.write("/AGENTS.md", "- all is new here\n"),
    "memory removed": lambda s: s.memory.remove("/AGENTS.md"),
    "another layer": lambda s: s.memory.write("/SOUL.md", "Be calm.\n"),
    "a note": lambda s: s.memory.daily("met at two"), "forget": lambda s: s.memory.forget("harbour rules"),
    "compact, memory added": lambda s: (s.compact(), s.memory.add("After it.")),
    "memory added, compact": lambda s: (s.memory.add("Before it."), s.run("Noted?"), s.compact()),
    "a source": lambda s: (Path("more.md").write_text("- more\n"), s.memory.add_source("more.md")),
    "the first skill": lambda s: s.skills.write("tables", SKILL.format("tables")),
    "another skill": lambda s: (s.skills.write("a", SKILL.format("a")), s.run("Go."), s.skills.new("b")),
    "the last skill removed": lambda s: (s.skills.new("b"), s.run("Go."), s.skills.remove("b")),
    "a skill pinned": lambda s: (s.skills.write("a", SKILL.format("a")), s.skills.pin("a")),
    "a tool added": lambda s: s.tools.add(str.upper), "a tool removed": lambda s: s.tools.remove("look"),
    "no file tools": lambda s: s.configure(enable_filesystem=False),
    "no memory": lambda s: s.configure(enable_memory=False),
    "no subagents": lambda s: s.configure(enable_subagents=False),
    "other instructions": lambda s: s.configure(system_prompt="Answer in one word."),
    "short descriptions": lambda s: s.configure(tool_text="short"),
    "history brought back": lambda s: (s.compact(), s.bring_back(1)),
    "own middleware": lambda s: (s.configure(middleware=[Polite()]), s.run("Hello."), s.memory.add("A line.")),
}  # fmt: skip


OF_MEMORY = [c for c in CHANGES if "memory" in c or c in ("compact", "a note", "forget", "a source")]


@pytest.mark.slow
@every_row("change", list(CHANGES)[::2])
def test_the_figure_is_that_of_the_next_request(change, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    _is_the_next_request(change, "delta")


@pytest.mark.nightly
@every_row(("change", "refresh"), [
    *((change, "delta") for change in list(CHANGES)[1::2]),
    *((change, refresh) for change in CHANGES for refresh in ("call", "thread") if change in OF_MEMORY),
])  # fmt: skip
def test_so_it_is_of_the_others_and_with_the_other_policies(change, refresh, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    _is_the_next_request(change, refresh)


def _is_the_next_request(change: str, refresh: Any) -> None:
    model = Phased(answers=["Yes, they are.", call("look", place="harbour"), *["I see, that is so."] * 40])
    s = Session(model=model, memory_refresh=refresh, trigger=("tokens", 90_000), **unasked(look))
    s.memory.write("/AGENTS.md", "- the harbour rules hold\n- tabs\n")
    for prompt in (f"The depots are in the harbour. {AT_LENGTH}", "Look.", "Which is the oldest?"):
        s.run(prompt)
    CHANGES[change](s)
    shown = s.budget()
    assert shown is not None
    picture, status = budget_picture(s).text(), status_picture(s).text()
    s.run("And what of the weather?")
    first = next(c for c in s.last.calls if c.purpose == "answer" and not c.path)
    meter = s.workspace.built.meter
    (sent,) = [m for m in (model.requests[-1]) if m.text == "And what of the weather?"]
    asked = sum(p.tokens for p in meter.measured([sent], ())[1])
    assert shown.total == first.budget.total - asked, (shown.parts, first.budget.parts)
    assert f"{shown.total:,}" in picture and f"{shown.total:,}" in status
    assert sum(item.tokens for item in shown.items) == shown.total


FEW = {"list_variables", "inspect_variable", "read_file", "write_file", "edit_file", "note"}
LEAN = {*FEW, "run_python", "more_tools"}


def session(*answers, window=8_000, **options):
    model = Scripted(answers=list(answers) or ["ok"], profile={"max_input_tokens": window})
    return Session(model=model, namespace={}, **options)


def offered(s, call=1):
    return {piece.label for piece in s.xray(call=call).request if piece.part == "tools"}


def results(turn):
    return [event.result for event in turn.events if isinstance(event, ToolEnded)]


def test_under_a_small_window_seven_tools_are_offered_and_the_others_run_by_name():
    s = session(call("more_tools", name="grep"), call("grep", id="g", pattern="tea"), "end")
    s.files["/a.md"] = "tea"
    turn = s.run("hi")
    assert offered(s) == LEAN
    assert "few tools are offered, the others by name: %config DeepNB.tools" in footer_view(turn).text()
    assert offered(s, 2) == offered(s, 3) == {*LEAN, "grep"}
    assert results(turn)[0].startswith("grep is there from your next step on. Search files")
    assert "/a.md" in results(turn)[1]
    assert s.budget().parts["tools"] > 0 and {i.name for i in s.budget().items if i.part == "tools"} == {*LEAN, "grep"}
    walked(s, "new", "run hi")
    assert offered(s) == LEAN, "another thread has asked for nothing"
    turn = session(call("ls", path="/"), call("more_tools", id="m", name="fly"), "end").run("hi")
    assert "Error" not in results(turn)[0]
    assert results(turn)[1].startswith("Error: there is no tool 'fly'. There are: ")


def test_the_profile_follows_the_window_or_is_set_and_what_is_off_is_not_run():
    s = session(window=11_999)
    s.run("hi")
    assert offered(s) == LEAN
    for window, form, lean in ((12_000, None, False), (None, "lean", True), (8_000, "short", False)):
        s.configure(max_input_tokens=window or 100_000, tool_text=form)
        s.run("hi")
        assert (offered(s) == LEAN) is lean, window
    s = session(tools=[gives("tide", "high")])
    s.run("hi")
    assert offered(s) == {*LEAN, "tide"}, "the user's own"
    s = session(call("grep", pattern="tea"), "end", window=100_000)
    s.tools.off("grep", "glob", "task", "run_python")
    turn = s.run("hi")
    assert not offered(s) & {"grep", "glob", "task", "run_python"}
    assert results(turn)[0].startswith("Error: there is no tool 'grep'")
    s.tools.on("grep")
    s.run("hi")
    assert "grep" in offered(s) and "glob" not in offered(s)
    assert s.options.tools_off == ("glob", "task", "run_python")
    refused("there is no tool 'gerp'", s.tools.off, "gerp")
    refused("'grep' is not off", s.tools.on, "grep")


ALL_PARTS = ("filesystem", "memory", "skills", "subagents")
OFF = [{f"enable_{part}": False for i, part in enumerate(ALL_PARTS) if number >> i & 1} for number in range(1, 16)]
WORDS = {"memory": r"memory|daily note", "skills": r"skill", "subagents": r"subagent", "filesystem": r"\bfile tools\b"}


def asked_of(**options: Any) -> tuple[Sent, ...]:
    s = Session(model=ScriptedModel(answers=["hi"]), **options)
    if s.options.enable_memory:
        s.memory.add("tea is green")
    if s.options.enable_skills:
        s.skills.new("demo")
    s.run("hello")
    return tuple(s.xray().request)


@cache
def everything() -> tuple[Sent, ...]:
    return asked_of()


@every_row("off", OFF, ids=lambda off: "-".join(name.removeprefix("enable_") for name in off))
def test_no_prompt_names_a_tool_that_is_not_there(off):
    pieces = asked_of(**off)
    there = {piece.label for piece in pieces if piece.part == "tools"}
    tools = {piece.label for piece in everything() if piece.part == "tools"}
    gone = [name for name in tools - there if "_" in name or name == "ls"]
    named = [(piece.label, name) for piece in pieces for name in gone if re.search(rf"\b{name}\b", piece.text)]
    assert named == []


@every_row("off", [off for off in OFF if len(off) == 1], ids=lambda off: next(iter(off)))
def test_a_part_that_is_switched_off_is_not_spoken_of(off):
    (name,) = off
    part = name.removeprefix("enable_")
    prompts = [piece for piece in asked_of(**off) if piece.part != "tools" or piece.label == "task"]
    assert [piece.label for piece in prompts if re.search(WORDS[part], piece.text, re.IGNORECASE)] == []
    assert [piece.label for piece in everything() if re.search(WORDS[part], piece.text, re.IGNORECASE)]
