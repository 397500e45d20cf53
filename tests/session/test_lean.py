"""The profile for a small window: seven tools, the others by name; tools and parts that are switched off."""

import re
from functools import cache
from typing import Any

from deepnb import Session
from deepnb.testing import ScriptedModel
from deepnb.values.request import Sent
from deepnb.values.turn import ToolEnded
from deepnb.views.turn import footer_view
from tests.support.functions import gives
from tests.support.refusals import refused
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row

FEW = {"list_variables", "inspect_variable", "read_file", "write_file", "edit_file", "note"}
LEAN = {*FEW, "run_python", "more_tools"}


def session(*answers, window=8_000, **options):
    model = Scripted(answers=list(answers) or ["ok"], profile={"max_input_tokens": window})
    return Session(model=model, namespace={}, **options)


def offered(s, call=1):
    return {piece.label for piece in s.xray(call=call).request if piece.part == "tools"}


def results(turn):
    return [event.result for event in turn.events if isinstance(event, ToolEnded)]


def test_under_a_small_window_seven_tools_are_offered_and_the_others_by_name():
    s = session(call("more_tools", name="grep"), call("grep", id="g", pattern="tea"), "end")
    s.files["/a.md"] = "tea"
    turn = s.run("hi")
    assert offered(s) == LEAN
    assert "few tools are offered, the others by name: %config DeepNB.tools" in footer_view(turn).text()
    assert offered(s, 2) == offered(s, 3) == {*LEAN, "grep"}
    assert results(turn)[0].startswith("grep is there from your next step on. Search files")
    assert "/a.md" in results(turn)[1]
    assert s.budget().parts["tools"] > 0 and {i.name for i in s.budget().items if i.part == "tools"} == {*LEAN, "grep"}
    s.new()
    s.run("hi")
    assert offered(s) == LEAN, "another thread has asked for nothing"


def test_a_tool_that_was_not_offered_is_run_all_the_same_and_an_unknown_one_is_named():
    turn = session(call("ls", path="/"), call("more_tools", id="m", name="fly"), "end").run("hi")
    assert "Error" not in results(turn)[0]
    assert results(turn)[1].startswith("Error: there is no tool 'fly'. There are: ")


def test_the_profile_follows_the_window_or_is_set():
    s = session(window=11_999)
    s.run("hi")
    assert offered(s) == LEAN
    for window, form, lean in ((12_000, None, False), (None, "lean", True), (8_000, "short", False)):
        s.configure(max_input_tokens=window or 100_000, tool_text=form)
        s.run("hi")
        assert (offered(s) == LEAN) is lean, window


def test_a_tool_of_the_users_own_is_offered_at_once():
    s = session(tools=[gives("tide", "high")])
    s.run("hi")
    assert offered(s) == {*LEAN, "tide"}


def test_a_tool_that_is_off_is_neither_offered_nor_run():
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


PARTS = ("filesystem", "memory", "skills", "subagents")
OFF = [{f"enable_{part}": False for i, part in enumerate(PARTS) if number >> i & 1} for number in range(1, 16)]
WORDS = {"memory": r"memory|daily note", "skills": r"skill", "subagents": r"subagent", "filesystem": r"\bfile tools\b"}


def sent(**options: Any) -> tuple[Sent, ...]:
    s = Session(model=ScriptedModel(answers=["hi"]), **options)
    if s.options.enable_memory:
        s.memory.add("tea is green")
    if s.options.enable_skills:
        s.skills.new("demo")
    s.run("hello")
    return tuple(s.xray().request)


@cache
def everything() -> tuple[Sent, ...]:
    return sent()


@every_row("off", OFF, ids=lambda off: "-".join(name.removeprefix("enable_") for name in off))
def test_no_prompt_names_a_tool_that_is_not_there(off):
    pieces = sent(**off)
    there = {piece.label for piece in pieces if piece.part == "tools"}
    tools = {piece.label for piece in everything() if piece.part == "tools"}
    gone = [name for name in tools - there if "_" in name or name == "ls"]
    named = [(piece.label, name) for piece in pieces for name in gone if re.search(rf"\b{name}\b", piece.text)]
    assert named == []


@every_row("off", [off for off in OFF if len(off) == 1], ids=lambda off: next(iter(off)))
def test_a_part_that_is_switched_off_is_not_spoken_of(off):
    (name,) = off
    part = name.removeprefix("enable_")
    prompts = [piece for piece in sent(**off) if piece.part != "tools" or piece.label == "task"]
    assert [piece.label for piece in prompts if re.search(WORDS[part], piece.text, re.IGNORECASE)] == []
    assert [piece.label for piece in everything() if re.search(WORDS[part], piece.text, re.IGNORECASE)]
