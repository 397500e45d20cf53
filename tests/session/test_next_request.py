"""Law: what is shown between two turns is what the next request holds, but for its prompt."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import SystemMessage

from deepnb import Session
from deepnb.magics.pictures import budget_picture, status_picture
from tests.support.compactions import AT_LENGTH, Phased
from tests.support.scripted import call, unasked
from tests.support.tables import every_row

SKILL = "---\nname: {0}\ndescription: Reads {0} of all kinds, and says what is in them.\n---\n\n# {0}\n"


def look(place: str) -> str:
    "Look at a place."
    return f"There is much to see at {place}. " * 9


class Polite(AgentMiddleware):
    def wrap_model_call(self, request, handler):
        return handler(request.override(system_message=SystemMessage(f"{request.system_message.text}\n\nBe polite.")))


def talk(s: Session) -> None:
    for prompt in (f"The depots are in the harbour. {AT_LENGTH}", "Look.", "Which is the oldest?"):
        s.run(prompt)


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
    talk(s)
    CHANGES[change](s)
    shown = s.budget()
    assert shown is not None
    picture, status = budget_picture(s).text(), status_picture(s).text()
    s.run("And what of the weather?")
    first = next(c for c in s.last.calls if c.purpose == "answer" and not c.path)
    meter = s.workspace.built.meter
    (sent,) = [m for m in (model.requests[-1]) if m.text == "And what of the weather?"]
    prompt = sum(p.tokens for p in meter.measured([sent], ())[1])
    assert shown.total == first.budget.total - prompt, (shown.parts, first.budget.parts)
    assert f"{shown.total:,}" in picture and f"{shown.total:,}" in status
    assert sum(item.tokens for item in shown.items) == shown.total


@every_row("change", ["compact", "compact, a turn, compact", "memory added, compact"])
def test_a_compaction_by_hand_says_the_figures_that_the_gauge_has_before_and_after_it(change, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    s = Session(model=Phased(answers=["Yes, they are."]), trigger=("tokens", 90_000))
    talk(s)
    CHANGES[change](s)
    s.run("One more.")
    s.memory.add("A line that is not in the block.")
    before = s.budget().total
    made = s.compact()
    assert (made.before, made.after) == (before, s.budget().total)
