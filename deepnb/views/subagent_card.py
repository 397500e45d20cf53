"""A task handed to a subagent: a line that says who works on it and what it is doing, and a card with all it did.

While it runs the card holds a line for each thing done, so that showing it anew costs little; when it is over, all.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from deepnb.core.subagents import TASK
from deepnb.core.values import Usage
from deepnb.views import html as h
from deepnb.views.numbers import counted, seconds, tokens
from deepnb.views.text import clean, indent, middle_cut, page, short
from deepnb.views.tool import COLOURS, WORDS, Tool, call_line, long_text

_TASK = 60
"""Columns of the task in its line."""
_SAID = 160
"""Columns of what a subagent is saying just now."""
_HEAD, _TAIL = 3_000, 1_000


class Inside(Protocol):
    """Something a subagent did."""

    def text(self) -> str: ...

    def html(self) -> str: ...


def is_task(tool: Tool) -> bool:
    """Whether a call hands a task to a subagent."""
    return tool.name == TASK and isinstance(tool.args.get("subagent_type"), str)


def task_text(tool: Tool, calls: int, usage: Usage, inside: Sequence[Inside], last: str) -> str:
    """`→ subagent critic: "list files"  ok 0.36 s · 2 calls · 5,764 in / 31 out`, what it did, what it reported."""
    lines = [indent(one.text(), "  │ ") for one in inside]
    return page([f"{task_head(tool)}  {_state(tool, calls, usage)}", *lines, *_report(tool, last)])


def task_head(tool: Tool) -> str:
    """`→ subagent critic: "list files"`."""
    return page([f"→ subagent {_who(tool)}"])


def task_end(tool: Tool, calls: int, usage: Usage, last: str) -> str:
    """How it ended and what it spent, and its report where that is not what was said last."""
    return page([f"  {_state(tool, calls, usage)}", *_report(tool, last)])


def task_html(
    tool: Tool, calls: int, usage: Usage, inside: Sequence[Inside], last: str, now: Callable[[], str]
) -> h.Html:
    """The card: its summary line opens to the task, what the subagent did, and its report. `now` is its last doing."""
    took = "" if tool.seconds is None else seconds(tool.seconds)
    state = h.join(" · ", h.swatch(WORDS[tool.status], COLOURS[tool.status]), "  ")
    running = tool.status == "running"
    said = [*([took] if took else []), *_spent(calls, usage), *([short(now(), _SAID)] if running and inside else [])]
    line = h.join(h.muted("subagent "), h.code(_who(tool)), state, h.muted(" · ".join(said)))
    task = str(tool.args.get("description", ""))
    body: list[h.Child] = [h.label("task"), h.pre(middle_cut(task, _HEAD, _TAIL), low=True)]
    if inside:
        nest = f"border-left:2px solid {h.LINE};margin:6px 0;padding:0 0 0 10px"
        shown = [h.el("div", short(one.text(), _SAID)) if running else h.Html(one.html()) for one in inside]
        body += [h.label("what it did"), h.el("div", *shown, style=nest)]
    result = (tool.result or "").strip()
    if result and result != last.strip():
        body += [h.label("report"), long_text(result)]
    return h.fold(line, *body)


def doing(tool: Tool) -> str:
    """What a call is, in a few words: for the line of the subagent that makes it."""
    return f"subagent {_who(tool)}" if is_task(tool) else call_line(tool.name, tool.args, 60)


def _state(tool: Tool, calls: int, usage: Usage) -> str:
    took = "" if tool.seconds is None else f" {seconds(tool.seconds)}"
    return " · ".join([f"{WORDS[tool.status]}{took}", *_spent(calls, usage)])


def _report(tool: Tool, last: str) -> list[str]:
    result = clean(tool.result or "").strip()
    return [] if not result or result == last.strip() else [f"  {short(result, 92)}"]


def _who(tool: Tool) -> str:
    name = short(str(tool.args["subagent_type"]), 64)
    task = short(clean(str(tool.args.get("description", ""))), _TASK).replace('"', "'")
    return f'{name}: "{task}"'


def _spent(calls: int, usage: Usage) -> list[str]:
    if not calls:
        return []
    return [counted(calls, "call"), f"{tokens(usage.input, usage.exact)} in / {tokens(usage.output, usage.exact)} out"]
