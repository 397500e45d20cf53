"""A part that is switched off leaves no word about itself, and no prompt names a tool that is not there."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from deepnb import Session
from deepnb.testing import ScriptedModel
from deepnb.values.request import Sent
from tests.support.tables import every_row

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
    """The pieces of a request with all parts on."""
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
