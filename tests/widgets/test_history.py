"""The history panel: what is listed, chosen and brought back; and the line that says what takes long."""

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from ipywidgets import Checkbox, Widget

from deepnb.values.errors import DeepnbError
from deepnb.values.offload import BroughtBack, HistoryMessage, HistorySection
from deepnb.views.history import HistoryView, history_view
from deepnb.views.view import notice_view
from deepnb.widgets.history import ROWS, SECTIONS, HistoryPanel, rooms
from deepnb.widgets.progress import Progress
from deepnb.widgets.screen import Terminal
from tests.support.histories import ITEMS, LATER, SECTION
from tests.support.screen import Cell, below, until


class Story:
    def __init__(self, *sections: HistorySection) -> None:
        self.sections = list(sections)
        self.brought: BroughtBack | None = None
        self.asked: list[tuple[int, list[int]]] = []
        self.refuses = False
        self.panel = HistoryPanel(self.view, self.bring, self.drop)

    def view(self, words: str) -> HistoryView:
        return history_view(self.sections, "", words, self.brought)

    def bring(self, section: int, numbers: Sequence[int]) -> None:
        if self.refuses:
            raise DeepnbError("no room", "choose fewer")
        self.asked.append((section, list(numbers)))
        self.brought = BroughtBack("x", tuple((section, ITEMS[n - 1]) for n in numbers), 7)

    def drop(self) -> None:
        self.brought = None

    def find(self, kind: type, **traits: Any) -> list[Any]:
        found = [one for one in below(self.panel.widget) if isinstance(one, kind)]
        return [one for one in found if all(getattr(one, k) == v for k, v in traits.items())]

    @property
    def ticks(self) -> dict[str, bool]:
        return {tick.description: tick.value for tick in self.find(Checkbox)}

    def tick(self, name: str) -> None:
        self.find(Checkbox, description=name)[0].value = True

    def type(self, words: str) -> None:
        self.panel._search.value = words

    @property
    def html(self) -> str:
        return "\n".join(widget.value for widget in self.find(type(self.panel._said)))


def test_each_message_has_a_box_by_which_it_is_brought_back_also_among_those_a_search_lists():
    story = Story(SECTION, LATER)
    assert story.ticks == {"1:1": False, "1:2": False, "1:3": False, "2:1": False}
    assert "at the trigger" in story.html and "6,812 → 3,104 tokens" in story.html
    assert story.panel._do.disabled and story.panel._undo.disabled
    story.tick("1:3")
    story.tick("1:1")
    story.tick("2:1")
    assert story.panel._do.description == "Add 3 to next prompt"
    story.panel._do.click()
    assert story.asked == [(1, [1, 3]), (2, [1])]
    assert not any(story.ticks.values()) and story.panel._do.disabled
    assert "added to the next prompt: message 1 of section 2 (7 tokens)" in story.html
    story.panel._undo.click()
    assert story.brought is None and "added to the next prompt" not in story.html
    story = Story(SECTION, LATER)
    story.tick("2:1")
    story.type("moons")
    assert list(story.ticks) == ["1:1", "1:3"]
    assert "search for moons: 2 messages in 1 section" in story.html and ">MOONS</mark>" in story.html
    story.tick("1:1")
    story.type("")
    assert [name for name, chosen in story.ticks.items() if chosen] == ["1:1", "2:1"]
    story.panel._do.click()
    assert story.asked == [(1, [1]), (2, [1])]


def test_what_is_refused_is_said_and_stays_chosen():
    story = Story(SECTION)
    story.refuses = True
    story.tick("1:2")
    story.panel._do.click()
    assert "no room: choose fewer" in story.html
    assert story.ticks["1:2"]
    story.refuses = False
    story.panel._do.click()
    assert "no room" not in story.html


def test_it_follows_what_comes_and_forgets_what_is_gone():
    story = Story()
    assert "nothing offloaded yet" in story.html
    story.sections = [SECTION, LATER]
    story.panel.refresh()
    story.tick("2:1")
    rows = story.find(Checkbox)
    story.panel.refresh()
    assert story.find(Checkbox) == rows, "nothing is made anew where nothing changed"
    story.sections = [SECTION]
    story.panel.refresh()
    assert list(story.ticks) == ["1:1", "1:2", "1:3"] and story.panel._do.disabled
    assert story.find(Checkbox) == rows[:3], "what is there still is not made anew"
    assert rows[3].comm is None, "closed"
    story.tick("1:2")
    before = story.find(Widget)
    story.sections.append(LATER)
    story.panel.refresh()
    assert story.ticks == {"1:1": False, "1:2": True, "1:3": False, "2:1": False}
    made = [widget for widget in story.find(Widget) if widget not in before]
    assert len(made) == 4, "a head, and a row of two"


def test_a_long_history_lists_its_newest_sections_and_finds_the_others():
    items = tuple(HistoryMessage(n, "user", f"word{n}") for n in range(1, ROWS + 11))
    story = Story(SECTION, replace(SECTION, items=items), LATER)
    assert len(story.ticks) == ROWS and next(iter(story.ticks)) == "2:1" and "3:1" in story.ticks
    assert "11 more messages: search for them" in story.html
    assert "1 earlier section: search for their messages" in story.html
    story.type(f"word{ROWS + 5}")
    assert list(story.ticks) == [f"2:{ROWS + 5}"]
    story.type("moons")
    assert list(story.ticks) == ["1:1", "1:3"]


@given(st.lists(st.integers(0, 3 * ROWS)))
def test_what_is_listed_is_bounded_and_is_the_newest(messages):
    room = rooms(messages)
    assert sum(room) <= ROWS and len(room) <= SECTIONS
    assert bool(room) == bool(messages)
    listed = messages[len(messages) - len(room) :]
    assert all(left == count for left, count in list(zip(room, listed, strict=True))[1:]), "only the oldest is cut"
    assert len(room) in (len(messages), SECTIONS) or sum(room) == ROWS


def test_what_takes_long_is_said_and_replaced_and_what_is_quick_or_fails_leaves_no_line():
    cell = Cell()
    progress = Progress(cell, "doing it ...", after=60)
    progress.end(notice_view("done", "ok"))
    assert cell.outputs == [[cell.outputs[0][0]]] and cell.last == ["done"]
    cell = Cell()
    progress = Progress(cell, "doing it ...", after=0)
    until(cell, "doing it")
    progress.end(notice_view("done", "ok"))
    assert cell.last == ["done"]
    cell = Cell()
    progress = Progress(cell, "doing it ...", after=0)
    until(cell, "doing it")
    progress.stop("not done")
    assert cell.last == ["note: not done"]
    out = io.StringIO()
    progress = Progress(Terminal(lambda line: out.write(f"{line}\n")), "doing it ...", after=0)
    until(out, "doing it")
    progress.end(notice_view("done", "ok"))
    assert out.getvalue() == "note: doing it ...\ndone\n"
