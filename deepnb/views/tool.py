"""A call of a tool, and a task handed to a subagent: a line that says how it went, and a card with the rest."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from deepnb.values.agent import TASK
from deepnb.values.answers import how_called
from deepnb.values.turn import Usage
from deepnb.views import html as h
from deepnb.views.text import clean, counted, indent, middle_cut, page, seconds, short, tokens, width
from deepnb.views.view import View

Status = Literal["running", "ok", "error", "cut"]

_LINE = 84
"""Columns of a call's own part of its line: status and time come after it."""
_ARGUMENT = 40
_HEAD, _TAIL, _MIDDLE = 3_000, 1_000, 30_000
"""Characters of a long result that its card shows at once, and of those between them that it unfolds."""

WORDS = {"running": "running …", "ok": "ok", "error": "error", "cut": "interrupted: no result"}
_NEST = f"border-left:2px solid {h.LINE};margin:6px 0;padding:0 0 0 10px"
COLOURS = {
    "running": h.GREY.format(0.2),
    "ok": h.GREEN.format(0.18),
    "error": h.RED.format(0.22),
    "cut": h.ORANGE.format(0.25),
}


@dataclass
class Tool:
    """What is known of a call; it changes while the call runs."""

    id: str
    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    result: str | None = None
    status: Status = "running"
    seconds: float | None = None
    traceback: str = ""


def call_line(name: str, args: Mapping[str, Any], columns: int = _LINE) -> str:
    """Return `write_file(file_path="/AGENTS.md", content="- The user…")` in at most `columns`."""
    room = max(8, columns - width(name) - 2)
    written: list[str] = []
    for key, value in args.items():
        one = f"{key}={_value(value, _ARGUMENT)}"
        used = sum(width(w) + 2 for w in written)
        if used + width(one) > room:
            short_one = f"{key}={_value(value, max(8, room - used - width(str(key)) - 1))}"
            written.append(short_one if used + width(short_one) <= room else "…")
            break
        written.append(one)
    return short(f"{name}({', '.join(written)})", columns)


def tool_text(tool: Tool) -> tuple[str, list[str]]:
    """Return the line of the call, and the line of its result if there is one to show."""
    took = "" if tool.seconds is None else f" {seconds(tool.seconds)}"
    first, how = short(next(filter(str.strip, (tool.result or "")[:4_000].split("\n")), ""), 92), how_called(tool.id)
    line = f"→ {call_line(tool.name, tool.args)}{how and f' {how}'}  {WORDS[tool.status]}{took}"
    return line, [f"  {first}"] if first else []


def tool_html(tool: Tool, inside: Sequence[h.Html] = ()) -> h.Html:
    """Return the card: its summary line opens to arguments, what happened inside, and the result."""
    took = "" if tool.seconds is None else seconds(tool.seconds)
    state = h.join(" · ", h.swatch(WORDS[tool.status], COLOURS[tool.status]), "  ", h.muted(took))
    body: list[h.Child] = []
    if tool.args:
        body += [h.label("arguments"), h.pre(middle_cut(pretty(tool.args), _HEAD, _TAIL), low=True)]
    if inside:
        body += [h.label("inside"), h.el("div", *inside, style=_NEST)]
    if tool.result is not None:
        body += [h.label("result"), long_text(tool.result) if tool.result else " (empty)"]
    if tool.traceback:
        body.append(h.fold("traceback", h.pre(tool.traceback, low=True), framed=False))
    how = [h.muted(f" {how}") for how in (how_called(tool.id),) if how]
    head = h.join(h.code(call_line(tool.name, tool.args)), *how, state)
    return h.fold(head, *(body or [h.muted("no arguments")]))


def long_text(text: str) -> h.Html:
    """Return a block of text; of a long one its head and its tail, with a fold that shows all between them."""
    if (between := len(text) - _HEAD - _TAIL) <= 60:
        return h.pre(text, low=True)
    middle = h.pre(middle_cut(text[_HEAD : len(text) - _TAIL], _MIDDLE, 0))
    rest = h.fold(f"show {counted(between, 'more character')}", middle, framed=False)
    return h.join(h.pre(text[:_HEAD], low=True), rest, h.pre(text[len(text) - _TAIL :], low=True))


def pretty(value: Any) -> str:
    """Return JSON on several lines; what JSON does not know is written as Python shows it."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, default=repr)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def _value(value: Any, columns: int) -> str:
    if isinstance(value, str):
        line = " ".join(clean(value[: 4 * columns + 40]).split())
        whole = len(value) <= 4 * columns + 40
        cut = line if whole and width(line) <= columns - 2 else short(line + " …", columns - 2)
        return '"' + cut.replace('"', "'") + '"'
    return short(pretty(value), columns)


# -- a task handed to a subagent: while it runs its card holds a line for each thing done, when it is over all


_TASK = 60
"""Columns of the task in its line."""
_SAID = 160
"""Columns of what a subagent is saying just now."""


def is_task(tool: Tool) -> bool:
    return tool.name == TASK and isinstance(tool.args.get("subagent_type"), str)


def task_text(tool: Tool, calls: int, usage: Usage, inside: Sequence[View], last: str) -> str:
    """Return `→ subagent critic: "list files"  ok 0.36 s · 2 calls · 5,764 in / 31 out`, what it did and its report."""
    took = "" if tool.seconds is None else f" {seconds(tool.seconds)}"
    state = " · ".join([f"{WORDS[tool.status]}{took}", *_spent(calls, usage)])
    result = clean(tool.result or "").strip()
    report = [f"  {short(result, 92)}"] if result and result != last.strip() else []
    return page([f"→ subagent {who(tool)}  {state}", *(indent(one.text(), "  │ ") for one in inside), *report])


def task_html(
    tool: Tool, calls: int, usage: Usage, inside: Sequence[View], last: str, now: Callable[[], str]
) -> h.Html:
    """Return the card: its summary line opens to the task, what the subagent did, and its report. `now` is its last doing."""
    took = "" if tool.seconds is None else seconds(tool.seconds)
    state = h.join(" · ", h.swatch(WORDS[tool.status], COLOURS[tool.status]), "  ")
    running = tool.status == "running"
    said = [*([took] if took else []), *_spent(calls, usage), *([short(now(), _SAID)] if running and inside else [])]
    line = h.join(h.muted("subagent "), h.code(who(tool)), state, h.muted(" · ".join(said)))
    task = str(tool.args.get("description", ""))
    body: list[h.Child] = [h.label("task"), h.pre(middle_cut(task, _HEAD, _TAIL), low=True)]
    if inside:
        shown = [h.el("div", short(one.text(), _SAID)) if running else h.Html(one.html()) for one in inside]
        body += [h.label("what it did"), h.el("div", *shown, style=_NEST)]
    if (result := (tool.result or "").strip()) and result != last.strip():
        body += [h.label("report"), long_text(result)]
    return h.fold(line, *body)


def who(tool: Tool) -> str:
    name = short(str(tool.args["subagent_type"]), 64)
    task = short(clean(str(tool.args.get("description", ""))), _TASK).replace('"', "'")
    return f'{name}: "{task}"'


def _spent(calls: int, usage: Usage) -> list[str]:
    if not calls:
        return []
    return [counted(calls, "call"), f"{tokens(usage.input, usage.exact)} in / {tokens(usage.output, usage.exact)} out"]
