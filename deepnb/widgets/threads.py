"""The live panels of a thread: its requests, its turns beside those of other threads, its offloaded history."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from deepnb.values.offload import HistoryMessage
from deepnb.views.history import EMPTY, HistoryView, SectionMatch, head_html, message_html, section_html
from deepnb.views.html import box, frame, muted
from deepnb.views.text import counted
from deepnb.views.view import View, notice_view
from deepnb.widgets.actions import ActionPanel, Row, attempt, button, choose_from, fill, on_change, shown

LISTED = 40
"""Turns, or calls, that can be chosen, the newest ones."""


@dataclass(frozen=True)
class Turns:
    """The turns of the current thread, and what can be done with one of them by its number."""

    words: Callable[[], Sequence[tuple[int, str]]]
    """(number, first words) of each."""
    see: Callable[[int], View]
    fork: Callable[[int], object]
    rewind: Callable[[int], object]


class ThreadsPanel:
    """A row for each thread with its buttons; below them the current one's turns, and the picture of the chosen one."""

    def __init__(self, rows: Callable[[], Sequence[Row]], turns: Turns, undo: Callable[[], object]) -> None:
        import ipywidgets as w

        self._turns = turns
        self._list = ActionPanel(rows, notice_view("no threads yet: type %agent new NAME"))
        self._choice = w.Select(description="Turn", rows=6, layout=w.Layout(width="100%", max_width="52em"))
        on_fork = partial(shown, self._choice, partial(self._act, turns.fork), "index")
        fork = button("Fork from here", "start a new thread from the state after this turn", on_fork)
        on_rewind = partial(shown, self._choice, partial(self._act, turns.rewind), "index")
        rewind = button("Rewind to here", "rewind the current thread to the state after this turn", on_rewind)
        undo_ = button("Undo", "undo the last rewind, fork or new", partial(self._do, undo))
        self._on_turn = (self._choice, fork, rewind)
        self._picture, self._said = w.HTML(), w.HTML()
        self._seen: object = None
        on_change(self._choice, self._show)
        buttons = w.HBox([fork, rewind, undo_], layout=w.Layout(flex_flow="row wrap"))
        self.widget: Any = w.VBox([self._list.widget, self._choice, buttons, self._said, self._picture])
        self.refresh()

    def refresh(self) -> None:
        """Show the threads as they are now; a choice that was the last turn follows it."""
        self._list.refresh()
        options = [(words, number) for number, words in self._turns.words()[-LISTED:]]
        choose_from(self._choice, options)
        for widget in self._on_turn:
            widget.disabled = not options
        self._show()

    def _show(self) -> None:
        number = self._choice.value
        words = self._choice.label
        if (number, words) != self._seen:
            self._seen = (number, words)
            self._picture.value = self._turns.see(number).html() if number is not None else ""

    def _act(self, act: Callable[[int], object], at: int | None) -> None:
        if at is not None:
            self._do(partial(act, self._choice.options[at][1]))

    def _do(self, act: Callable[[], object]) -> None:
        attempt(act, self._said)
        self.refresh()


Place = tuple[int, int]
"""A call: its turn, and its number there."""


class PromptPanel:
    """The calls of a thread to choose from, the newest one chosen, and the picture of that one."""

    def __init__(self, calls: Callable[[], Sequence[tuple[str, Place]]], at: Callable[[Place | None], View]) -> None:
        """`calls` gives the name and the place of each call; `at` gives the picture of a place, or of None before the first."""
        import ipywidgets as w

        self._calls, self._at = calls, at
        self._choice = w.Dropdown(description="Call", layout=w.Layout(width="24em"))
        self._picture = w.HTML()
        self._older = w.HTML()
        self._shown: object = ()
        self._now: object = ()
        self._filling = False
        on_change(self._choice, self._show)
        self.widget: Any = w.VBox([w.HBox([self._choice, self._older]), self._picture])
        self.refresh()

    def refresh(self) -> None:
        all_ = list(self._calls())
        calls = all_[-LISTED:]
        calls = [call for call in all_[:-LISTED] if call[1] == self._choice.value] + calls
        older = len(all_) - len(calls)
        self._older.value = box(muted(f"{counted(older, 'earlier call')}: %agent xray TURN.CALL")) if older else ""
        self._now = (len(all_), all_[-1:])
        self._filling = True
        choose_from(self._choice, calls)
        self._filling = False
        self._choice.disabled = not calls
        self._show()

    def _show(self) -> None:
        place = self._choice.value
        if self._filling or self._shown == (place, self._now):
            return
        self._shown = (place, self._now)
        self._picture.value = self._at(place).html()


ROWS, SECTIONS = 150, 20
"""Messages and sections that are listed at once, the newest; a search finds the others."""

MessagePlace = tuple[int, int]
"""Of a message: its section and its number there."""
Key = tuple[object, ...]
"""All that a row shows: one of the same key is the same row."""


class HistoryPanel:
    """A search box, the sections, a check box for each message, and buttons to add the chosen ones to the prompt."""

    def __init__(
        self,
        view: Callable[[str], HistoryView],
        bring: Callable[[int, Sequence[int]], object],
        drop: Callable[[], object],
    ) -> None:
        import ipywidgets as w

        self._w, self._view, self._bring = w, view, bring
        self._chosen: set[MessagePlace] = set()
        self._shown: object = None
        self._rows: dict[Key, Any] = {}
        self._search = w.Text(placeholder='words, or "a phrase"', description="Search", layout=w.Layout(width="24em"))
        on_change(self._search, self.refresh)
        bring_, drop_ = partial(self._act, self._bring_chosen), partial(self._act, drop)
        about = "add the chosen messages to the next prompt"
        self._do = button("Add to next prompt", about, bring_, "primary", None)
        self._undo = button("Remove", "remove the messages from the next prompt", drop_, width=None)
        self._found, self._said, self._waits = w.HTML(), w.HTML(), w.HTML()
        self._list = w.VBox(layout=w.Layout(max_height="36em", overflow="auto", display="block", width="100%"))
        head = w.HBox([self._search, self._do, self._undo], layout=w.Layout(flex_flow="row wrap"))
        self.widget: Any = w.VBox([head, self._said, self._waits, self._found, self._list])
        self.refresh()

    def refresh(self) -> None:
        """Show the history as it is now; where it shows the same messages they stay as they were folded."""
        view = self._view(self._search.value)
        self._undo.disabled = view.brought is None
        self._waits.value = notice_view(view.brought_line, "ok").html() if view.brought_line else ""
        self._found.value = box(muted(view.found_line)) if view.found_line else ""
        if (now := (view.sections, view.terms)) != self._shown:
            self._shown = now
            self._chosen &= {(n, item.number) for n, section in enumerate(view.sections, 1) for item in section.items}
            self._fill(view.matches, empty=not view.sections)
        self._choosable()

    def _fill(self, shown: Sequence[SectionMatch], *, empty: bool) -> None:
        old, self._rows = self._rows, {}
        room = rooms([len(one.items) for one in shown])
        made = [self._line("empty", EMPTY, old)] if empty else []
        if earlier := len(shown) - len(room):
            made.append(self._line("earlier", f"{counted(earlier, 'earlier section')}: search for their messages", old))
        for one, left in zip(shown[earlier:], room, strict=True):
            head: Key = (one.number, one.section, one.terms, len(one.items))
            whole = partial(self._w.HTML, box(frame(head_html(one), section_html(one))))
            made.append(self._kept(head, old, whole))
            for item in one.items[:left]:
                key: Key = (one.number, one.section.at, item, one.terms)
                row = self._kept(key, old, partial(self._row, one, item))
                row.children[0].value = (one.number, item.number) in self._chosen
                made.append(row)
            if more := len(one.items) - left:
                made.append(self._line(one.number, f"{counted(more, 'more message')}: search for them", old))
        fill(self._list, made)

    def _kept(self, key: Key, old: Mapping[Key, Any], make: Callable[[], Any]) -> Any:
        self._rows[key] = old[key] if key in old else make()
        return self._rows[key]

    def _line(self, where: object, words: str, old: Mapping[Key, Any]) -> Any:
        return self._kept((where, words), old, lambda: self._w.HTML(box(muted(words))))

    def _row(self, one: SectionMatch, item: HistoryMessage) -> Any:
        place = (one.number, item.number)
        name = f"{one.number}:{item.number}"
        about = f"choose message {item.number} of section {one.number}"
        tick = self._w.Checkbox(value=place in self._chosen, description=name, indent=False, tooltip=about)
        tick.layout = self._w.Layout(width="6em", flex="0 0 6em")

        def chosen() -> None:
            (self._chosen.add if tick.value else self._chosen.discard)(place)
            self._choosable()

        on_change(tick, chosen)
        text = self._w.HTML(message_html(item, one.terms), layout=self._w.Layout(flex="1 1 auto", min_width="0"))
        return self._w.HBox([tick, text], layout=self._w.Layout(align_items="flex-start"))

    def _choosable(self) -> None:
        self._do.disabled = not self._chosen
        self._do.description = f"Add {len(self._chosen)} to next prompt" if self._chosen else "Add to next prompt"

    def _bring_chosen(self) -> None:
        for section in sorted({section for section, _ in self._chosen}):
            self._bring(section, sorted(number for of, number in self._chosen if of == section))
            self._chosen = {place for place in self._chosen if place[0] != section}
        self._shown = None

    def _act(self, act: Callable[[], object]) -> None:
        attempt(act, self._said)
        self.refresh()


def rooms(messages: Sequence[int]) -> list[int]:
    """Return how many of its `messages` each of the newest sections lists, the oldest first, while there is room for more."""
    found: list[int] = []
    left = ROWS
    for count in reversed(messages[-SECTIONS:]):
        if found and left <= 0:
            break
        found.append(min(count, left))
        left -= count
    return found[::-1]
