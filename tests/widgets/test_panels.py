"""Panels that follow a session: what they show, which turn they stay at, and that they end."""

from collections.abc import Callable

from ipywidgets import Widget

from deepnb.views.view import Stack, View, notice_view
from deepnb.widgets.actions import Tabs
from deepnb.widgets.panels import MAX_LIVE, Live, Page, folded
from deepnb.widgets.screen import Terminal
from tests.support.screen import Cell


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


def test_a_panel_and_its_twin_follow_the_session() -> None:
    story, cell = Story(), Cell()
    panel = story.panel()
    Live(story.subscribe).show(cell, panel, story.now, "memory panel", "a")
    assert cell.last == ["memory panel", "now 0"]
    story.go_on()
    assert cell.last == ["memory panel", "now 1"]
    assert "now 1" in panel.widget.children[0].value


def test_one_cell_keeps_one_panel_of_each_kind() -> None:
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


def test_where_the_front_end_sends_no_cell_id_the_oldest_panel_ends_and_says_so() -> None:
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


def test_a_terminal_shows_the_twin_and_watches_nothing() -> None:
    story, lines = Story(), list[str]()
    Live(story.subscribe).show(Terminal(lines.append), None, story.now, "memory panel", None)
    assert lines == ["now 0"] and story.watchers == []


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
