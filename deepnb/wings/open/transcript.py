"""deepnb's own transcripts, kept and exported ones: version 1, as `deepnb/context/transcript.py` describes it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from deepnb.context.transcript import Line, live_messages
from deepnb.values.messages import SUMMARY
from deepnb.values.turn import Usage
from deepnb.wings.open import items as it
from deepnb.wings.open.json_values import array, count, dollars, iso, mapping, text
from deepnb.wings.open.jsonl import JsonlFormat
from deepnb.wings.open.values import OTHER_BRANCHES

_BETWEEN = frozenset(("turn", "moved", "rewind", "fork", "undo", "head"))
"""Lines that stand between turns: how long a turn took, they do not say."""


def fits(objects: Sequence[Mapping[str, Any]]) -> bool:
    kinds = {"type": str, "at": str, "session": str, "n": int}
    return bool(objects) and all(isinstance(objects[0].get(key), kind) for key, kind in kinds.items())


def parse(value: dict[str, Any]) -> it.Entry:
    kind = text(value.get("type"))
    facts: dict[str, Any] = {"type": kind, "session": text(value.get("session")), "n": count(value.get("n"))}
    if path := tuple(map(text, array(value.get("path")))):
        facts |= {"path": path, "side": True}
    if "head" in value:
        facts["head"] = text(value["head"])
    if kind == "turn":
        facts |= {"model": text(value.get("model")), "resumed": bool(value.get("resumed"))}
    id_ = text(value.get("id")) if kind in ("message", "moved") else ""
    return it.Entry(list(_items(kind, value)), iso(value.get("at")), id_, text(value.get("parent")) or None, facts)


def _items(kind: str, value: Mapping[str, Any]) -> Iterator[it.Item]:
    match kind:
        case "session":
            yield it.Fact(text(value.get("thread")), 0, "id")
            yield it.Fact(str(count(value.get("v")) or ""), 0, "version")
        case "message":
            yield from _message(value)
        case "call":
            key = f"call-{text(value.get('session'))}-{count(value.get('n'))}"
            yield it.Reply(key=key, usage=_usage(value), summary=True)
        case "compacted":
            summary, cause = text(value.get("summary")), value.get("cause")
            known: Any = cause if cause in ("by hand", "overflow") else "trigger"
            yield it.Compaction(summary, len(summary), count(value.get("before")), count(value.get("after")), known)
        case "notice":
            yield it.Note(text(value.get("text")))
        case "flushed":
            yield it.Note(f"{len(array(value.get('lines')))} lines were put down in {text(value.get('file'))}")
        case "approval":
            said = f"{text(value.get('name'))}: {text(value.get('decision'))} {text(value.get('reason'))}"
            yield it.Note(said.strip())
        case "end":
            if why := text(value.get("interrupted")):
                yield it.Interruption(why)
            if why := text(value.get("error")):
                yield it.Note(why)


def _message(value: Mapping[str, Any]) -> Iterator[it.Item]:
    said, key, source = text(value.get("text")), text(value.get("id")), text(value.get("source"))
    match value.get("role"):
        case "user" if source != SUMMARY:  # the summary is told where the compaction is
            yield it.Context(said, len(said), source) if source else it.Prompt(said, len(said))
        case "assistant":
            yield it.Reply(key=key, usage=_usage(value))
            yield it.Text(said, len(said), key)
            for call in map(mapping, array(value.get("tool_calls"))):
                yield it.Tool.of(text(call.get("id")), text(call.get("name")), mapping(call.get("args")), key)
        case "tool":
            failed = value.get("status") == "error"
            yield it.Result(said, len(said), text(value.get("tool_call_id")), text(value.get("name")), failed)
        case "system":
            yield it.Context(said, len(said), "system")


def _usage(value: Mapping[str, Any]) -> Usage | None:
    told = mapping(value.get("usage"))
    cached = None if told.get("cached") is None else count(told["cached"])
    given = Usage(count(told.get("input")), count(told.get("output")), cached, dollars(told.get("cost")))
    return given if told else None


def arrange(entries: list[it.Entry], companions: dict[Path, list[it.Entry]]) -> it.Arrangement:
    """Return the thread as it stands, and its nested agents by the calls of `task`."""
    known: dict[tuple[str, int], it.Entry] = {}
    for entry in entries:  # a line may be in the file again
        known.setdefault((entry.facts["session"], entry.facts["n"]), entry)
    last = {e.id: e for e in known.values() if e.facts["type"] == "message"}
    lines = [e for e in known.values() if e.facts["type"] != "message" or last[e.id] is e]
    told = []
    for one in lines:
        data, facts = {"id": one.id, "parent": one.parent}, one.facts
        data |= {"head": facts["head"] or None} if "head" in facts else {}
        told.append(Line(facts["type"], one.at, facts["session"], facts["n"], data, path=facts.get("path", ())))
    live = {line.data["id"] for line in live_messages(told)}
    stretches: list[list[it.Entry]] = [[]]
    for entry in lines:
        if entry.facts["type"] == "turn" and not entry.facts.get("resumed"):
            stretches.append([])
        stretches[-1].append(entry)
    main, nested, prompts, model = list[it.Entry](), defaultdict[tuple[str, ...], list[it.Entry]](list), 0, ""
    for stretch in stretches:
        own = [e for e in stretch if not e.facts.get("path")]
        counts = any(e.id in live and e.facts["type"] == "message" for e in own)
        prompts += sum(e.has(it.Prompt) and e.id not in live for e in own)
        for entry in stretch if counts else ():
            model = entry.facts.get("model") or model
            for item in entry.items:
                if isinstance(item, it.Reply):
                    item.model = model
            if entry.facts.get("path"):
                nested[entry.facts["path"]].append(entry)
            elif entry.id in live if entry.facts["type"] == "message" else entry.facts["type"] not in _BETWEEN:
                main.append(entry)
    agents = [it.Agent("/".join(path), call=path[-1], entries=own) for path, own in nested.items()]
    return it.Arrangement(main, agents, {OTHER_BRANCHES: prompts})


TRANSCRIPT = JsonlFormat("deepnb", "deepnb", fits, parse, arrange)
