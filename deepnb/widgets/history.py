"""The live panel of the offloaded history: searched, its messages chosen and added to the next prompt."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from deepnb import widgets as w
from deepnb.values.offload import HistoryMessage
from deepnb.views.history import HistoryView, SectionMatch, head_html, message_html, section_html
from deepnb.views.html import box, frame, muted
from deepnb.views.text import counted
from deepnb.views.view import notice_view
from deepnb.widgets.actions import attempt, button, fill, grid, on_change

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
        self._view, self._bring = view, bring
        self._chosen: set[MessagePlace] = set()
        self._shown: object = None
        self._rows: dict[Key, Any] = {}
        self._search = w.Text(placeholder='words, or "a phrase"', description="Search", layout=w.Layout(width="24em"))
        on_change(self._search, self.refresh)
        bring_, drop_ = partial(self._act, self._bring_chosen), partial(self._act, drop)
        about = "add the chosen messages to the next prompt"
        self._do = button("Add to next prompt", about, bring_, "primary")
        self._undo = button("Remove", "remove the messages from the next prompt", drop_)
        self._found, self._said, self._waits = w.HTML(), w.HTML(), w.HTML()
        self._list = w.Box(layout=grid("26em"))
        self._list.layout.max_height, self._list.layout.overflow = "36em", "auto"
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
            self._fill(view.matches, "" if view.sections else view.empty)
        self._choosable()

    def _fill(self, shown: Sequence[SectionMatch], empty: str) -> None:
        old, self._rows = self._rows, {}
        room = rooms([len(one.items) for one in shown])
        made = [self._line("empty", empty, old)] if empty else []
        if earlier := len(shown) - len(room):
            made.append(self._line("earlier", f"{counted(earlier, 'earlier section')}: search for their messages", old))
        for one, left in zip(shown[earlier:], room, strict=True):
            head: Key = (one.number, one.section, one.terms, len(one.items))
            whole = partial(w.HTML, box(frame(head_html(one), section_html(one))), layout=self._across())
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
        return self._kept((where, words), old, lambda: w.HTML(box(muted(words)), layout=self._across()))

    def _across(self) -> Any:
        return w.Layout(grid_area="auto / 1 / auto / -1")  # the page drops a grid_column where there is no area

    def _row(self, one: SectionMatch, item: HistoryMessage) -> Any:
        place = (one.number, item.number)
        name = f"{one.number}:{item.number}"
        about = f"choose message {item.number} of section {one.number}"
        tick = w.Checkbox(value=place in self._chosen, description=name, indent=False, tooltip=about)
        tick.layout = w.Layout(width="6em", flex="0 0 6em")

        def chosen() -> None:
            (self._chosen.add if tick.value else self._chosen.discard)(place)
            self._choosable()

        on_change(tick, chosen)
        text = w.HTML(message_html(item, one.terms), layout=w.Layout(flex="1 1 auto", min_width="0"))
        return w.HBox([tick, text], layout=w.Layout(align_items="flex-start"))

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
