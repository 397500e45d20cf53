"""Panels that follow a session: what they show, which turn they stay at, that they end; and the dashboard of them all."""

import re
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from ipywidgets import Widget

from deepnb.views.threads import turn_words
from deepnb.views.view import Stack, View, notice_view
from deepnb.widgets.actions import Tabs
from deepnb.widgets.panels import LISTED, MAX_LIVE, Chooser, Live, Page, folded
from deepnb.widgets.screen import Terminal
from tests.support.screen import Cell, below
from tests.support.shells import Shell


class Story:
    def __init__(self) -> None:
        self.turns = 0
        self.watchers: list[Callable[[], None]] = []

    def subscribe(self, watcher: Callable[[], None]) -> Callable[[], None]:
        self.watchers.append(watcher)
        return lambda: self.watchers.remove(watcher)

    def go_on(self) -> None:
        self.turns += 1
        for watcher in tuple(self.watchers):
            watcher()

    def panel(self) -> Page:
        return Page(self.now)

    def now(self) -> View:
        return notice_view(f"now {self.turns}", "ok")


def test_tabs_show_what_is_now() -> None:
    story = Story()
    panel = Tabs({"Now": lambda: Page(story.now), "Same": lambda: Page(lambda: notice_view("same", "ok"))})
    story.turns = 5
    panel.refresh()
    tab = panel.widget.children[-1]
    assert tab.titles == ("Now", "Same")
    assert "now 5" in tab.children[0].children[0].children[0].value


def test_a_panel_and_its_twin_follow_the_session_and_a_terminal_shows_the_twin_and_watches_nothing() -> None:
    story, cell = Story(), Cell()
    panel = story.panel()
    Live(story.subscribe).show(cell, panel, story.now, "memory panel", "a")
    assert cell.last == ["memory panel", "now 0"]
    story.go_on()
    assert cell.last == ["memory panel", "now 1"]
    assert "now 1" in panel.widget.children[0].value
    story, lines = Story(), list[str]()
    Live(story.subscribe).show(Terminal(lines.append), None, story.now, "memory panel", None)
    assert lines == ["now 0"] and story.watchers == []


def test_one_cell_keeps_one_panel_of_each_kind_and_without_cell_ids_the_oldest_ends() -> None:
    story, cell = Story(), Cell()
    live = Live(story.subscribe)
    first = story.panel()
    before = len(Widget._instances) if hasattr(Widget, "_instances") else None
    for i in range(30):
        live.show(cell, first if i == 0 else story.panel(), story.now, "memory panel", "a")
    assert len(story.watchers) == 1
    assert first.widget.comm is None
    story.go_on()
    assert cell.last[-1] == "now 1" and cell.last[1] == "now 0", "the one that is gone is left alone"
    assert before is None or len(Widget._instances) <= 2 * before
    story, cell = Story(), Cell()
    live = Live(story.subscribe)
    live.show(cell, story.panel(), story.now, "memory panel", "a")
    live.show(cell, story.panel(), story.now, "agent panel", "a")
    assert len(story.watchers) == 2
    story, cell = Story(), Cell()
    live = Live(story.subscribe)
    for _ in range(MAX_LIVE + 3):
        live.show(cell, story.panel(), story.now, "memory panel", None)
    assert len(story.watchers) == MAX_LIVE
    story.go_on()
    twins = cell.last[1::2]
    assert [("run the cell again" in text, "now 1" in text) for text in twins[:3]] == [(True, False)] * 3
    assert all(text == "now 1" for text in twins[3:])


def test_a_picture_that_fails_is_said_and_ends_no_turn() -> None:
    story, cell = Story(), Cell()

    def failing() -> View:
        if story.turns == 1:
            raise ValueError("no such picture")
        return story.now()

    Live(story.subscribe).show(cell, Page(failing), failing, "panel", "a")
    story.go_on()
    assert cell.last[1] == "error: this can't be shown: no such picture"
    story.go_on()
    assert cell.last[1] == "now 2"


def test_stack_and_fold_have_all_the_text() -> None:
    both = Stack(notice_view("one", "ok"), notice_view("two", "ok"))
    assert both.text() == "one\n\ntwo" and both.html().count("<div") >= 2
    view = folded("as a picture", both)
    assert view.text() == both.text()
    assert "<details" in view.html() and "as a picture" in view.html()


class InParts:
    def __init__(self, *parts: str) -> None:
        self.elements = parts

    def text(self) -> str:
        return " ".join(self.elements)

    def html(self) -> str:
        return self.text()


def test_a_part_that_stays_is_not_sent_again() -> None:
    shown = [InParts("turn 1", "a", "b")]
    panel = Page(lambda: shown[0])
    stamp, first, second = panel.widget.children
    sent = []
    for page in (stamp, first, second):
        page.observe(lambda change: sent.append(change["new"]), names="value")
    shown[0] = InParts("turn 2", "a", "c")
    panel.refresh()
    assert sent == ["turn 2", "c"]
    shown[0] = InParts("turn 3", "a", "c", "d")
    panel.refresh()
    assert [page.value for page in panel.widget.children] == ["turn 3", "a", "c", "d"]
    assert panel.widget.children[:3] == (stamp, first, second)
    shown[0] = InParts("turn 4")
    panel.refresh()
    assert panel.widget.children == (stamp,) and second.comm is None


def test_each_layer_of_the_graph_says_what_it_adds(shell: Shell) -> None:
    before = shell.ok("%agent graph")
    assert "tokens are counted from the first call on" in before and "execute" not in before
    shell.ok("%agent Remember that I prefer tabs")
    stack = shell.session.stack()
    named = {layer.name: layer for layer in stack.layers}
    assert named["FilesystemMiddleware"].origin == "deepagents" and "ls" in named["FilesystemMiddleware"].tools
    assert named["DeltaMemoryMiddleware"].tokens and named["GuardMiddleware"].tokens == 0
    assert stack.tokens == shell.session.turns[-1].budget.total, "all that was sent is some layer's"
    assert [layer.name for layer in stack.layers].index("DeltaMemoryMiddleware") < [
        layer.name for layer in stack.layers
    ].index("SummarizationMiddleware"), "memory stands outside the trigger"
    out = shell.ok("%agent graph")
    assert f"{stack.tokens:,} tokens in total" in out and "from" in out and "↓ offline" in out


class Chosen:
    def __init__(self) -> None:
        self.turns = 3
        self.calls = 2
        self.followed = 0
        self.chooser = Chooser(
            lambda: self.turns,
            lambda n: turn_words(n, f"prompt {n}"),
            lambda n: [(f"{c} · answer", c) for c in range(1, self.calls + 1)],
        )
        self.chooser.follow = self.follow

    def follow(self) -> None:
        self.followed += 1


def test_the_newest_call_is_chosen_until_another_is_and_of_many_turns_those_around_it_are_offered() -> None:
    story = Chosen()
    chooser = story.chooser
    turn, call = chooser.widget.children
    assert (turn.label, chooser.place, chooser.newest) == ("3 · prompt 3", (3, 2), True)
    turn.value = 1
    assert (chooser.place, chooser.newest, story.followed) == ((1, 2), False, 1)
    call.value = 1
    story.turns = 5
    chooser.refresh()
    assert (chooser.place, len(turn.options), story.followed) == ((1, 1), 5, 2), "it stays, and nobody is told again"
    chooser.choose(5, 1)
    story.turns = 6
    chooser.refresh()
    assert chooser.place == (5, 1)
    turn.value = 6
    story.turns, story.calls = 7, 3
    chooser.refresh()
    assert (chooser.place, chooser.newest) == ((7, 3), True), "who goes to the newest follows it again"
    chooser.choose(6, 3)
    story.turns, story.calls = 2, 0
    chooser.refresh()
    assert (chooser.place, call.disabled) == ((2, 0), True)
    story.turns = 0
    chooser.refresh()
    assert chooser.place is None and turn.disabled
    story = Chosen()
    story.turns = 100
    story.chooser.refresh()
    turn, _ = story.chooser.widget.children
    assert [number for _, number in turn.options] == [*range(100 - LISTED, 101)]
    turn.value = 100 - LISTED
    assert [number for _, number in turn.options] == [*range(100 - 2 * LISTED, 101)]
    turn.value = 61
    turn.value = 41
    assert [number for _, number in turn.options] == [*range(41 - LISTED, 42 + LISTED), 100]


def test_what_is_chosen_is_what_each_tab_shows_and_a_bar_leads_to_its_request(shell: Shell) -> None:
    """One choice for memory, prompt, gauge, history and threads; a click on a bar takes it, and turns to the prompt."""
    scene, session = shell.ip._deepnb.scene, shell.session
    shell.ok("%config DeepNB.window = 4600")
    for prompt in ("Remember that I prefer tabs", "what can you do?", "thanks"):
        shell.ok(f"%agent {prompt}")
    shell.ok("%agent compact")
    with patch.object(scene, "screen", Cell()):
        shell.ok("%agent dashboard")
        dashboard = scene.screen.widgets[0]

    def seen(tab: str) -> str:
        tabs = dashboard.children[-1]
        tabs.selected_index = tabs.titles.index(tab)
        return " ".join(html(tabs.children[tabs.selected_index]))

    def buttons(tooltip: str) -> list[Any]:
        return [w for w in below(dashboard) if str(w.trait_values().get("tooltip")).startswith(tooltip)]

    turn, call = dashboard.children[1].children
    assert "1 section" not in seen("History") and "saved verbatim" in seen("History")
    turn.value = 1
    assert "saved verbatim" not in seen("History"), "nothing was offloaded by then"
    first = session.turn(1)
    assert f"{first.budget.total:,}" in seen("Budget") and "memory in turn 1" in seen("Memory")
    assert "+- The user prefers tabs" in re.sub(r"<[^>]+>", "", seen("Memory")).replace("+ ", "+")
    assert "request</b>" not in seen("Threads") and "I prefer tabs" in seen("Threads")
    call.value = 1
    assert "request of turn 1, call 1" in seen("Prompt")
    seen("Budget")
    (bar,) = buttons("turn 2, call 1: ")
    assert bar.tooltip == f"turn 2, call 1: {session.turn(2).budget.total:,} tokens"
    bar.click()
    assert (turn.value, call.value) == (2, 1) and dashboard.children[-1].titles[
        dashboard.children[-1].selected_index
    ] == "Prompt"
    assert "request of turn 2, call 1" in " ".join(html(dashboard))
    seen("Threads")
    (back,) = buttons("rewind to here")
    back.click()
    assert len(session.turns) == 2 and session.threads[0].turns == 2
    buttons("undo turn")[0].click()
    assert len(session.turns) == 3


def test_a_line_of_memory_is_changed_where_it_is_shown_and_the_change_undone(shell: Shell) -> None:
    """What is typed stays while others write and where it is refused; an empty line goes; each change names its undo."""
    scene, memory = shell.ip._deepnb.scene, shell.session.memory
    shell.ok("%memory add one")
    shell.ok("%memory add two")
    with patch.object(scene, "screen", Cell()):
        shell.ok("%memory panel")
        panel = scene.screen.widgets[0]
    named = {one.description: one for one in below(panel) if getattr(one, "description", "")}
    line, area, save, undo = (named[word] for word in ("Line", "becomes", "Save line", "Undo"))
    assert (line.label, area.value) == ("- two · /AGENTS.md 2", "- two")
    line.index, area.value = 0, "- uno"
    shell.ok("%memory add three")
    assert (line.index, area.value) == (0, "- uno")
    save.click()
    assert memory.text() == "/AGENTS.md\n\n- uno\n- two\n- three\n"
    last = memory.log_entries()[-1]
    assert last.origin == "user" and f"saved /AGENTS.md: %memory revert {last.id} undoes that" in " ".join(html(panel))
    area.value = "- my key is sk-proj-4f8Gh2Kq9LmZx7Wv3Nb6Tc1Yd5Re0Up8Aq2Sw4Df6Gh8Jk"
    save.click()
    assert "sk-proj" in area.value and memory.log_entries()[-1] == last, "a refusal leaves what was typed"
    area.value = ""
    save.click()
    assert memory.text() == "/AGENTS.md\n\n- two\n- three\n"
    undo.click()
    undo.click()
    undo.click()
    assert memory.text() == "/AGENTS.md\n\n- uno\n- two\n- three\n", "an undo is a change, too"
    assert "reverted change" in shell.ok("%memory revert 3") and "undoes that" in shell.ok("%memory revert 2")


def html(widget: Any) -> list[str]:
    return [one.value for one in below(widget) if type(one).__name__ == "HTML"]


def test_the_dashboard_as_text_has_every_panel_and_one_is_shown_by_its_name(shell: Shell) -> None:
    out = shell.ok("%agent dashboard")
    for words in ("nothing remembered yet", "no model calls yet: type %agent PROMPT", "nothing offloaded yet",
                  "no skills yet: type %skills new NAME", "main"):  # fmt: skip
        assert words in out, words
    shell.ok("%agent hello")
    shell.ok("%agent fork idea")
    assert "○" in shell.ok("%agent panel threads") and "context" not in shell.ok("%agent panel threads")
    assert "request of turn 1, call 1" in shell.ok("%agent panel prompt")
    shell.ok("%memory add the pump is called Berta")
    budget, row = shell.session.budget(), shell.ok("%agent dashboard").partition("\n\n")[0]
    free = budget.rule.window - budget.total
    for words in (f"{budget.total:,} of {budget.rule.window:,} tokens", f"{free:,} free", "(85 %)", "idea · 1 turn",
                  f"trigger {budget.rule.trigger_tokens:,}", "user · /AGENTS.md · + the pump is called Berta",
                  "nothing needs your approval", "offline (no LLM)"):  # fmt: skip
        assert words in row, words
