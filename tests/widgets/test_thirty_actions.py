"""Law: after each of thirty actions a dashboard shows what the next request holds, what the files hold, and the saved state."""

import os
import random
import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from deepnb.testing import RequestRecorder, SentRequest
from deepnb.values.request import MORE_TOOLS
from deepnb.values.turn import Compacted
from deepnb.views.text import short
from tests.support.screen import Cell, below
from tests.support.scripted import Scripted, call
from tests.support.shells import Shell
from tests.widgets.test_panels import html

SKILL = "/skills/tidy/SKILL.md"
TEXT = "---\nname: tidy\ndescription: Tidies tables up\n---\n\nDrop the empty rows first.\n"
LARGE = os.environ.get("DEEPNB_EXAMPLES") == "large"
SEEDS = random.Random(os.environ.get("PYTEST_XDIST_TESTRUNUID"))  # the same in all processes of a run, new in each run
NEW = [(home, SEEDS.randrange(10**6)) for home in ("kernel", "directory") for _ in range(10 * LARGE)]


def deploy(place: str) -> str:
    """Put the program on a server."""
    return f"deployed to {place}"


class Walk:
    """A shell with a dashboard, and a model whose requests are recorded."""

    def __init__(self, shell: Shell, disk: Path | None, seed: int) -> None:
        self.shell, self.s, self.disk, self.draw, self.n = shell, shell.session, disk, random.Random(seed), 0
        self.recorder, self.done, self.compared = RequestRecorder(), list[str](), 0
        self.model = Scripted(answers=["fine"], callbacks=[self.recorder], flush="- flushed once")
        self.s.configure(model=self.model, tools=[deploy])
        if disk:
            shell.ok(f"%memory keep {disk / 'home'}")
            shell.ok(f"%agent mount /work disk:{disk / 'work'}")
        self.screen = shell.ip._deepnb.scene.screen
        shell.ok("%agent dashboard")
        self.dashboard = self.screen.widgets[0]
        self.panel = self.screen.outputs[-1]

    def actions(self) -> Iterator[str]:
        """Yield each action once in an order that is drawn, then others."""
        yield from self.draw.sample([*ACTIONS], len(ACTIONS))
        while True:
            yield self.draw.choice([*ACTIONS])

    def act(self, kind: str) -> None:
        self.n += 1
        self.done.append(kind)
        ACTIONS[kind](self)

    def edit(self) -> None:
        line, area = (
            one for one in below(self.seen("Memory")) if getattr(one, "description", "") in ("Line", "becomes")
        )
        if line.options:
            line.index = self.draw.randrange(len(line.options))
            area.value = self.draw.choice([f"- edited {self.n}", ""])
            self.click("save this line", "Memory")

    def user_file(self) -> None:
        """The user writes a file as programs do: on the disk itself, where there is one."""
        path, text = self.draw.choice(["/AGENTS.md", f"/work/u{self.n}.md"]), f"- by the user {self.n}\n- twice\n"
        if self.disk:
            self.place(path).parent.mkdir(exist_ok=True)
            self.shell.ok(f"import pathlib; pathlib.Path({str(self.place(path))!r}).write_text({text!r})")
        else:
            self.put(path, text)

    def put(self, path: str, text: str) -> None:
        self.shell.ok(f"import deepnb; deepnb.current().files[{path!r}] = {text!r}")

    def tool(self) -> None:
        box = self.draw.choice(self.boxes("Budget") or [None])
        if box is not None and not self.waits:
            box.value = not box.value

    def bring_back(self) -> None:
        if self.s.history() and not self.waits:
            self.draw.choice(self.boxes("History")).value = True
            self.click("add the chosen messages", "History")

    def rewind(self) -> None:
        if self.s.turns:
            memory = self.draw.choice(["", " --memory"])
            self.shell.run(f"%agent rewind {self.draw.randrange(len(self.s.turns) + 1)}{memory}")

    # -- how

    @property
    def waits(self) -> bool:
        return bool(self.s.workspace.thread.unfinished)

    def says(self, *answers: Any) -> None:
        self.model.answers[:] = [*["-"] * len(self.model.requests), *answers]

    def ask(self, prompt: str, *answers: Any) -> SentRequest | None:
        """Ask, unless a call waits; return the first request for an answer."""
        if self.waits:
            return None
        self.says(*(answers or ["it is fine"]))
        before = len(self.recorder.requests)
        self.shell.ok(f"%%agent\n{prompt}")
        sent = self.recorder.requests[before:]
        return next(one for one in sent if not re.search("<leaving>|<messages>", one.messages[-1].text))

    def click(self, tooltip: str, tab: str) -> bool:
        panel = self.seen(tab)
        there = [one for one in below(panel) if str(one.trait_values().get("tooltip")).startswith(f"{tooltip} ")]
        there = there or [one for one in below(panel) if one.trait_values().get("tooltip") == tooltip]
        if there:
            self.draw.choice(there).click()
        return bool(there)

    def boxes(self, tab: str) -> list[Any]:
        return [one for one in below(self.seen(tab)) if type(one).__name__ == "Checkbox"]

    def seen(self, tab: str) -> Any:
        tabs = self.dashboard.children[-1]
        tabs.selected_index = tabs.titles.index(tab)
        return tabs.children[tabs.selected_index]

    # -- what is to hold

    def words(self, widget: Any) -> str:
        return unescape(re.sub(r"<[^>]+>", "", " ".join(html(widget))))

    def gauge(self) -> tuple[int, dict[str, int]] | None:
        """Return the tokens of the next request in the head row, by part in the tab and in the static twin; all are the same."""
        head = self.words(self.dashboard.children[0])
        if not (total := re.search(r"context +~?([\d,]+) of ([\d,]+) tokens", head)):
            assert "no model calls yet" in head
            return None
        budget, parts = self.seen("Budget"), r"([a-z ]+?) +~?([\d,]+) +[\d.]+ %"
        twin = next(one for one in self.panel[-1].split("\n\n") if "  part  " in one)
        drawn = {name.strip(): number(figure) for _, name, figure in re.findall(rf"([SMKTΣUAR]) +{parts}", twin)}
        for name, tokens in drawn.items():
            assert re.search(rf"{name}.{{0,80}}~?{tokens:,}", self.words(budget)), (name, tokens)
        assert sum(drawn.values()) == number(total[1])
        assert f"{total[1]} of {total[2]} tokens" in self.words(budget)
        return number(total[1]), drawn

    def check(self) -> None:
        """See that the page has the text of each memory file, and of each thread its turns, messages and calls that wait."""
        graph, s = self.s.graph, self.s
        memory, shown = self.files(), self.seen("Memory")
        (line,) = [one for one in below(shown) if getattr(one, "description", "") == "Line"]
        lines = [(path, n, line) for path, text in memory.items() for n, line in enumerate(text.split("\n")) if line]
        assert [said for said, _ in line.options] == [
            f"{short(words, 70)} · {path} {n + 1}" for path, n, words in lines
        ]
        for path, text in memory.items():
            assert not text.strip() or text.rstrip("\n") in self.words(shown), (path, text)
        head, threads = self.words(self.dashboard.children[0]), self.words(self.seen("Threads"))
        waits = 0
        for one in s.threads:
            state = graph.get_state({"configurable": {"thread_id": one.name}})
            messages = state.values.get("messages", [])
            asked = [m for m in messages if m.type == "human" and not m.additional_kwargs.get("lc_source")]
            counts = f"{plural(len(asked), 'turn')} · {plural(len(messages), 'message')}"
            assert re.search(rf"{re.escape(one.name)}  [^a-z]* · [^●]*{counts}", threads), (one.name, counts, threads)
            waits += len(state.interrupts)
            if one.current:
                assert f"{one.name} · {plural(len(asked), 'turn')}" in head
        approvals = self.seen("Approvals")
        there = [w for w in below(approvals) if str(w.trait_values().get("tooltip")).startswith("approve call")]
        assert len([w for w in there if w.description == "Approve"]) == waits
        assert (f"{plural(waits, 'call')}" if waits else "nothing needs your approval") in head or s.memory.pending()

    def files(self) -> dict[str, str]:
        """Return the memory files as they are where they are kept."""
        paths = [path for path in self.s.memory.shown if path in self.s.snapshot.files]
        if self.disk and not any("empty" in one.kind for one in self.s.threads if one.current):
            return {path: self.place(path).read_text() for path in paths}
        return {one.path: (one.content or b"").decode() for one in self.s.backend.download_files(paths)}

    def place(self, path: str) -> Path:
        assert self.disk is not None
        return self.disk / ("" if path.startswith("/work/") else "home") / path[1:]

    def request(self) -> None:
        """Ask: without its prompt, the request is what the gauge has said; then the tab of prompts shows it."""
        told, prompt = self.gauge(), f"and then, in {self.n}?"
        boxes = {one.tooltip.removeprefix("offer the tool "): one.value for one in self.boxes("Budget")}
        if (sent := self.ask(prompt)) is None:
            return
        turn, meter = self.s.turns[-1], self.s.workspace.built.meter
        assert turn.error is None, turn.error
        messages = [one for one in sent.messages if one.text != prompt]
        assert len(messages) == len(sent.messages) - 1
        budget = meter.budget(messages, sent.tools)
        if told is not None and not any(isinstance(event, Compacted) for event in turn.events):
            self.compared += 1
            assert told == (budget.total, {name: n for name, n in budget.parts.items() if n})
        offered = {one["function"]["name"] for one in sent.tools}
        assert (
            not boxes or offered & boxes.keys() == {name for name, on in boxes.items() if on} or MORE_TOOLS in offered
        )
        page = self.words(self.seen("Prompt"))
        for message in sent.messages:
            for words in filter(None, (line.strip() for line in message.text.splitlines())):
                assert words in page, words


ACTIONS: dict[str, Callable[[Any], object]] = {
    "ask": lambda w: w.ask(f"question {w.n}: " + "what of the boats? " * w.draw.randrange(60)),
    "remember": lambda w: w.ask(
        "note it", call("append_memory", id=f"m{w.n}", text=f"fact {w.n}", path="/AGENTS.md"), "noted"
    ),
    "write": lambda w: w.ask(
        "write it",
        call("write_file", id=f"w{w.n}", file_path=f"/work/{w.n}.md", content=f"by the agent {w.n}\n" * 3),
        "written",
    ),
    "deploy": lambda w: w.ask("deploy it", call("deploy", id=f"d{w.n}", place=f"port {w.n}"), "deployed"),
    "decide": lambda w: (
        w.s.approvals.asked()
        and (w.says("decided"), w.click(w.draw.choice(["approve call", "reject call"]), "Approvals"))
    ),
    "context": lambda w: (w.shell.ok(f"cargo = 'coal {w.n}'"), w.ask("what is {cargo}?")),
    "add": lambda w: w.shell.ok(f"%memory add the pump {w.n} is called Berta"),
    "edit": Walk.edit,
    "undo_edit": lambda w: w.s.memory.log_entries() and w.click("undo the last change of memory", "Memory"),
    "revert": lambda w: w.click("revert", "Memory"),
    "user_file": Walk.user_file,
    "skill": lambda w: w.put(SKILL, TEXT),
    "pin": lambda w: w.click("pin", "Skills") or w.click("unpin", "Skills"),
    "unpin": lambda w: w.click("unpin", "Skills") or w.click("disable", "Skills"),
    "enable": lambda w: w.click("enable", "Skills") or w.click("disable", "Skills"),
    "tool": Walk.tool,
    "compact": lambda w: (w.says("in short: boats"), w.shell.run("%agent compact")),
    "bring_back": Walk.bring_back,
    "rewind": Walk.rewind,
    "rewind_by_click": lambda w: w.click("rewind to here", "Threads"),
    "undo": lambda w: w.shell.run("%agent undo"),
    "fork": lambda w: w.click("fork", "Threads"),
    "new": lambda w: w.shell.run(f"%agent new t{w.n}{w.draw.choice(['', ' --empty'])}"),
    "switch": lambda w: w.shell.run(f"%agent switch {w.draw.choice([one.name for one in w.s.threads])}"),
    "window": lambda w: w.shell.ok(f"%config DeepNB.window = {w.draw.choice([9_000, 20_000, 60_000])}"),
    "refresh": lambda w: w.shell.ok(f"%config DeepNB.memory_refresh = {w.draw.choice(['call', 'thread', 'delta'])!r}"),
    "budget": lambda w: w.s.configure(
        memory_budget=w.draw.choice([60, 2_000]), system_prompt=f"Be brief, and number {w.n}."
    ),
}


def number(figure: str) -> int:
    return int(figure.replace(",", ""))


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


@pytest.mark.slow
@pytest.mark.hypothesis  # a law: .ci/nightly draws new walks
@pytest.mark.parametrize(
    ("home", "seed"), [("kernel", 3), pytest.param("kernel", 8, marks=pytest.mark.nightly), ("directory", 7), *NEW]
)
def test_the_dashboard_is_what_is_sent_and_kept_after_each_action(shell: Shell, tmp_path: Path, home: str, seed: int):
    with patch.object(shell.ip._deepnb.scene, "screen", Cell()):
        walk = Walk(shell, tmp_path if home == "directory" else None, seed)
        for n, kind in zip(range(100), walk.actions(), strict=False):
            if n >= 30 and walk.compared > 10:
                break
            try:
                walk.act(kind)
                walk.check()
                walk.request()
                walk.check()
            except AssertionError as error:
                raise AssertionError(f"after {walk.done}") from error
        assert walk.compared > 10
