"""Tables of a session as DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from deepnb.backends.journal import Entry
from deepnb.context.transcript import Line, agents, live_messages, said
from deepnb.values.agent import Spent
from deepnb.values.budget import NOT_RECORDED, PARTS
from deepnb.values.turn import Call, Turn, Usage


def ledger(turns: Sequence[Turn]) -> pd.DataFrame:
    """One row per model call: what was sent by part, as counted here, and beside it what the provider reported.

    `agent` is main, or the name of a subagent, however deep it is nested. Figures are tokens; `cost` is US dollars,
    and empty where no price was given; what the provider did not report is empty, too.
    """
    foreign = any(NOT_RECORDED in call.budget.parts for turn in turns for call in turn.calls)
    parts = (*PARTS, *((NOT_RECORDED,) if foreign else ()))
    rows = [
        {
            "turn": turn.number,
            "call": call.number,
            "purpose": call.purpose,
            "agent": call.agent or ("/".join(call.path) or "main"),
            "model": call.model or turn.model,
            **{part: call.budget.parts.get(part, 0) for part in parts},
            "total": call.budget.total,
            "exact": call.budget.exact,
            "reported": used.input if used else None,
            "cached": used.cached if used else None,
            "cached_share": round(used.cached / used.input, 3)
            if used and used.cached is not None and used.input
            else None,
            "output": used.output if used else None,
            "cost": used.cost if used else None,
            "seconds": round(call.seconds, 3),
        }
        for turn in turns
        for call in turn.calls
        for used in (call.usage,)
    ]
    reported = ["reported", "cached", "output"]
    columns = ["turn", "call", "purpose", "agent", "model", *parts, "total", "exact"]
    columns += ["reported", "cached", "cached_share", "output", "cost", "seconds"]
    kinds = {**dict.fromkeys(reported, "Int64"), "cached_share": "Float64", "cost": "Float64"}
    return pd.DataFrame(rows, columns=columns).astype(kinds)


def spent_by(calls: Iterable[Call], runs: Mapping[str, int]) -> dict[str, Spent]:
    """Return what the subagents that made these calls spent, by name, with how often each was used; tokens as reported, else as counted."""
    made = {name: Spent(runs=n) for name, n in runs.items()}
    for call in calls:
        used = made.get(name := call.agent or "subagent", Spent())
        tokens = Usage(used.input, used.output, exact=used.exact) + call.spent
        made[name] = replace(used, calls=used.calls + 1, input=tokens.input, output=tokens.output, exact=tokens.exact)
    return made


def journal(entries: Sequence[Entry]) -> pd.DataFrame:
    """One row per change of a file, oldest first; `at` is an ISO timestamp, `change` the first line that changed."""
    rows = [(e.at, e.turn, e.origin, e.change(32), e.path, e.note, e.id, e.thread, e.cell, e.diff) for e in entries]
    names = ["at", "turn", "origin", "change", "path", "note", "id", "thread", "cell", "diff"]
    return pd.DataFrame(rows, columns=names).astype({"turn": "Int64"})


def transcript(lines: Sequence[Line], session: str) -> pd.DataFrame:
    """One row per line, what is read first before the ids: `what` is the role of a message, the type of any other line.

    `live` says of a message that it is in the thread as it stands in this session; `input` and `output` are
    tokens as the provider reported them; `agent` is main, or the name of a subagent, however deep it is nested, and
    `path` the ids of the calls it works for, outermost first.
    """
    named = agents(lines)
    live = {line.data["id"] for line in live_messages(lines, session)}
    rows = [
        {
            "at": line.at,
            "turn": line.turn,
            "what": line.data.get("role", line.type),
            "text": said(line),
            "name": line.data.get("name", ""),
            "calls": [c["name"] for c in line.data.get("tool_calls") or ()],
            "agent": named.get(line.path, "/".join(line.path)) if line.path else "main",
            "input": (line.data.get("usage") or {}).get("input"),
            "output": (line.data.get("usage") or {}).get("output"),
            "seconds": line.data.get("seconds"),
            "type": line.type,
            "live": line.type == "message" and line.data["id"] in live,
            "id": line.data.get("id", ""),
            "parent": line.data.get("parent") or "",
            "path": "/".join(line.path),
            "session": line.session,
        }
        for line in lines
    ]
    names = ["at", "turn", "what", "text", "name", "calls", "agent", "input", "output", "seconds", "type", "live"]
    table = pd.DataFrame(rows, columns=[*names, "id", "parent", "path", "session"])
    return table.astype({"turn": "Int64", "input": "Int64", "output": "Int64", "seconds": "Float64"})


def log_in_short(log: pd.DataFrame) -> pd.DataFrame:
    """A journal for reading: time, turn, origin, change, path, note, and the id that `revert` takes."""
    return _timed(log)[["time", "turn", "origin", "change", "path", "note", "id"]]


def origins_in_short(found: pd.DataFrame) -> pd.DataFrame:
    """Where lines come from, for reading."""
    return _timed(found)[["text", "path", "line", "time", "turn", "origin", "entry"]]


def transcript_in_short(table: pd.DataFrame) -> pd.DataFrame:
    """A transcript for reading: time, turn, what (with the subagent that it is of), and text on one line.

    The text of a message that only calls tools names them; that of a tool begins with its name.
    """
    made = _timed(table)[["time", "turn", "what", "text"]]
    made["what"] = [
        what if who == "main" else f"{what} ({who})" for what, who in zip(table.what, table.agent, strict=True)
    ]
    rows = zip(table.text, table.name, table.calls, strict=True)
    made["text"] = [" ".join(_said(text, name, calls).split()) for text, name, calls in rows]
    return made


def _said(text: str, name: str, calls: Sequence[str]) -> str:
    if calls and not text.strip():
        return f"calls {', '.join(calls)}"
    return f"{name}: {text}" if name and text else text or name


def _timed(table: pd.DataFrame) -> pd.DataFrame:
    """The table with a column `time`, to the second (and the day, where there are several); of no turn is blank."""
    times = [at[:19].replace("T", " ") for at in table["at"]]
    day = len({at[:10] for at in times}) > 1
    turns = table["turn"].astype(object).where(table["turn"].notna(), "")
    return table.assign(time=times if day else [at[11:] for at in times], turn=turns)
