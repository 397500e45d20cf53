"""Buttons for calls that need the user's approval; the static card above them shows the calls."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from deepnb import widgets as w
from deepnb.values.approvals import Decision, PendingCall
from deepnb.values.code import CODE_TOOLS
from deepnb.values.errors import InvalidError
from deepnb.views.approval import UNREAD, ApprovalView, CallCard
from deepnb.views.tool import pretty
from deepnb.views.view import View, notice_view
from deepnb.widgets.actions import attempt, button, fill, press, set_html, shown

EDIT, DISCARD = "Edit ...", "Discard edits"


class ApprovalButtons:
    """A row of controls for each call: approve, reject with a reason, edit, allow its tool in this thread.

    A `DeepnbError` that `decide` raises is said below the row, and the call still waits.
    """

    def __init__(
        self, cards: Sequence[CallCard], decide: Callable[[Decision], object], offer: Sequence[str] = ()
    ) -> None:
        """`offer` are tools that skills ask to have allowed."""
        self._decide, self._offer, self._said, self._rows = decide, tuple(offer), w.HTML(), {}
        for one in cards:
            made = self._question if one.call.is_question else self._call
            self._rows[one.call.key] = w.VBox(made(one.number, one.call))
        self.widget: Any = w.VBox([*self._rows.values(), self._said], layout=w.Layout(width="100%"))

    def decided(self, calls: Sequence[PendingCall]) -> None:
        """These calls have been decided: their rows go."""
        gone = [self._rows.pop(call.key, None) for call in calls]
        fill(self.widget, [one for one in self.widget.children if all(one is not row for row in gone)])

    def _question(self, number: int, call: PendingCall) -> list[Any]:
        about, hint = f"answer to question {number}, as JSON", 'JSON, such as {"answer": "yes"}'
        look = w.Layout(width="99%")
        area = w.Textarea(placeholder=hint, rows=3, description="Answer", tooltip=about, layout=look)

        def answer(text: str) -> None:
            self._click(lambda: call.answer(arguments(text, 'write a JSON value, such as true or "text"')))

        send = button("Answer", f"answer question {number}", partial(shown, area, answer), "success")
        return [area, w.HBox([w.HTML(f"<b>{number}</b>"), send])]

    def _call(self, number: int, call: PendingCall) -> list[Any]:
        name = f"call {number}, {call.name}"
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


Waiting = tuple[ApprovalView, Sequence[str]]
"""The pending calls of a thread, and the tools that skills in use ask to have allowed there."""


class ApprovalsPanel:
    """The policy in force, and below it the pending calls of every thread with their buttons."""

    def __init__(
        self,
        policy: Callable[[], View],
        waiting: Callable[[], Sequence[Waiting]],
        decide: Callable[[Decision], str],
        empty: View,
    ) -> None:
        self._policy, self._waiting, self._decide, self._empty = policy, waiting, decide, empty
        self._keys: list[tuple[str, str]] | None = None
        self._head, self._said, self._list = w.HTML(), w.HTML(), w.VBox()
        self.widget: Any = w.VBox([self._head, self._list, self._said])
        self.refresh()

    def refresh(self) -> None:
        """Show what waits now; where it is the same nothing is made anew."""
        set_html(self._head, self._policy().html())
        waiting = self._waiting()
        if (keys := [(card.call.key, card.call.before) for view, _ in waiting for card in view.cards]) != self._keys:
            self._keys = keys
            made = ((view.html(), ApprovalButtons(view.cards, self._click, offer).widget) for view, offer in waiting)
            rows = [part for html, buttons in made for part in (w.HTML(html), buttons)]
            fill(self._list, rows or [w.HTML(self._empty.html())])

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
