"""Buttons for calls that need the user's approval; the static card above them shows the calls."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from deepnb.values.approvals import Decision, PendingCall
from deepnb.values.code import CODE_TOOLS
from deepnb.values.errors import InvalidError
from deepnb.views.approval import UNREAD
from deepnb.views.tool import pretty
from deepnb.views.view import View, notice_view
from deepnb.widgets.actions import attempt, button, fill, press, shown

EDIT, DISCARD = "Edit ...", "Discard edits"


class ApprovalButtons:
    """A row of controls for each call: approve, reject with a reason, edit, allow its tool in this thread.

    A `DeepnbError` that `decide` raises is said below the row, and the call still waits.
    """

    def __init__(
        self,
        calls: Sequence[PendingCall],
        decide: Callable[[Decision], object],
        offer: Sequence[str] = (),
        numbers: Sequence[int] = (),
    ) -> None:
        """`offer` are tools that skills ask to have allowed; `numbers` are those of the calls, if not from 1."""
        import ipywidgets as w

        self._w, self._decide, self._offer = w, decide, tuple(offer)
        self._said = w.HTML()
        self._rows = {}
        for n, call in zip(numbers or range(1, len(calls) + 1), calls, strict=True):
            self._rows[call.key] = w.VBox(self._question(n, call) if call.is_question else self._call(n, call))
        self.widget: Any = w.VBox([*self._rows.values(), self._said], layout=w.Layout(width="100%"))

    def decided(self, calls: Sequence[PendingCall]) -> None:
        """These calls have been decided: their rows go."""
        for call in calls:
            self._rows.pop(call.key, None)
        fill(self.widget, [*self._rows.values(), self._said])

    def _question(self, number: int, call: PendingCall) -> list[Any]:
        w = self._w
        about, hint = f"answer to question {number}, as JSON", 'JSON, such as {"answer": "yes"}'
        look = w.Layout(width="99%")
        area = w.Textarea(placeholder=hint, rows=3, description="Answer", tooltip=about, layout=look)

        def answer(text: str) -> None:
            self._click(lambda: call.answer(arguments(text, 'write a JSON value, such as true or "text"')))

        send = button("Answer", f"answer question {number}", partial(shown, area, answer), "success")
        return [area, w.HBox([w.HTML(f"<b>{number}</b>"), send])]

    def _call(self, number: int, call: PendingCall) -> list[Any]:
        w, name = self._w, f"call {number}, {call.name}"
        code = CODE_TOOLS.get(call.name)
        text = pretty(dict(call.args)) if code is None else str(call.args.get(code, ""))
        word, about = ("Arguments", f"arguments of {name}, as JSON") if code is None else ("Code", f"code of {name}")
        rows, hidden = min(max(text.count("\n") + 2, 4), 16), w.Layout(display="none", width="99%")
        area = w.Textarea(text, rows=rows, description=word, tooltip=about, layout=hidden)
        reason = w.Text(placeholder="optional", description="Reason", tooltip=f"reason to reject {name}; Enter rejects")

        def toggle() -> None:
            # here and not as somebody types: what a page says of the text may come to another thread
            closes = area.layout.display == ""
            area.layout.display, edit.description = ("none", EDIT) if closes else ("", DISCARD)
            approve.description = "Approve" if closes else "Approve with edits"
            area.value = text

        def run(remember: bool = False, also: Sequence[str] = ()) -> None:
            """Run what is to be seen: what the text holds where it is open, else the call as it is."""

            def typed(now: str) -> Decision:
                if _lines(now) == _lines(text):
                    return call.approve(remember=remember, also=also)
                args = arguments(now) if code is None else {**call.args, code: now}
                return call.edit(args, remember=remember, also=also)

            if area.layout.display == "":
                shown(area, lambda now: self._click(partial(typed, now)))
            else:
                self._click(partial(typed, text))

        def refuse(why: str) -> None:
            self._click(partial(call.reject, why))

        def entered(_: Any, content: Any, __: Any) -> None:
            # JupyterLab takes Enter on a focused button for itself, but not in a text.
            if content.get("event") == "submit":
                press(reject, partial(shown, reason, lambda why: refuse(why) if why.strip() else None))

        reason.on_msg(entered)
        approve = button("Approve", f"approve {name}", run, "success")
        reject = button("Reject", f"reject {name}", partial(shown, reason, refuse), "danger")
        edit = button(EDIT, f"edit the arguments of {name}", toggle)
        unread, later = (", unread", f": {UNREAD}") if code is not None else ("", "")
        every = f"approve {name} and later calls of its tool in this thread{later}"
        allow = button(f"Allow {call.name} in this thread{unread}", every, partial(run, remember=True))
        label = w.HTML(f"<b>{number}</b>")
        flow = w.Layout(flex_flow="row wrap", align_items="center")
        more = [allow] if "remember" in call.allowed else []
        if call.name in self._offer and "remember" in call.allowed:
            asked = f"Allow {', '.join(self._offer)} in this thread"
            these = button(asked, f"approve {name} and the tools skills ask for", partial(run, also=self._offer))
            more = [allow, these] if self._offer != (call.name,) else [these]
        runs = (approve,) if {"approve", "edit"} & {*call.allowed} else ()
        controls = {"reject": (reason, reject), "edit": (edit,)}
        offered = [part for kind, parts in controls.items() if kind in call.allowed for part in parts]
        return [area, w.HBox([label, *runs, *offered, *more], layout=flow)]

    def _click(self, made: Callable[[], Decision]) -> None:
        attempt(lambda: self._decide(made()), self._said)


@dataclass(frozen=True)
class Waiting:
    calls: Sequence[PendingCall]
    numbers: Sequence[int]
    view: View
    offer: Sequence[str] = ()
    """Tools that skills in use ask to have allowed in the thread."""


class ApprovalsPanel:
    """The policy in force, and below it the pending calls of every thread with their buttons."""

    def __init__(
        self,
        policy: Callable[[], View],
        waiting: Callable[[], Sequence[Waiting]],
        decide: Callable[[Decision], str],
        empty: View,
    ) -> None:
        import ipywidgets as w

        self._w, self._policy, self._waiting, self._decide, self._empty = w, policy, waiting, decide, empty
        self._keys: tuple[tuple[str, str], ...] | None = None
        self._head, self._said, self._list = w.HTML(), w.HTML(), w.VBox()
        self.widget: Any = w.VBox([self._head, self._list, self._said])
        self.refresh()

    def refresh(self) -> None:
        """Show what waits now; where it is the same nothing is made anew."""
        html = self._policy().html()
        if self._head.value != html:
            self._head.value = html
        waiting = self._waiting()
        keys = tuple((call.key, call.before) for one in waiting for call in one.calls)
        if keys == self._keys:
            return
        self._keys = keys
        rows = []
        for one in waiting:
            buttons = ApprovalButtons(one.calls, self._click, one.offer, one.numbers)
            rows += [self._w.HTML(one.view.html()), buttons.widget]
        fill(self._list, rows or [self._w.HTML(self._empty.html())])

    def _click(self, decision: Decision) -> None:
        said = self._decide(decision)
        self._said.value = notice_view(said).html() if said else ""
        self.refresh()


def arguments(text: str, do: str = 'write an object such as {"file_path": "/a.md"}') -> Any:
    """Return the value of a JSON text; a mistake is one line that says where it is, and what to `do`."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidError(f"not valid JSON ({error})", do) from None


def _lines(text: str) -> str:
    """Return a text as a page gives it back: its lines end in line feeds."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
