"""What of the skills the agent was shown in a thread, out of the turns' records."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deepnb.engine.pinned_skills import PINNED, is_pinned
from deepnb.values.skills import SkillRead
from deepnb.values.turn import ToolEnded, ToolStarted, Turn

_SHOWN = re.compile(r"@@ lines (\d+)-(\d+) of (\d+)")
"""The first line of what `read_file` gives."""


@dataclass
class _Seen:
    """What was shown of one file so far."""

    then: str
    """The file as it was when it was last shown."""
    turns: dict[int, None] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)
    total: int = 0
    pinned: bool = False


def reads(turns: Sequence[Turn], now: Mapping[str, str]) -> dict[str, SkillRead]:
    """path -> how the main agent came to know it, of the files in `now` (path -> text) that it was shown.

    By read_file, or because a skill was pinned; what it saw in another way (grep, a subagent) is not counted.
    """
    pinned = _pinned(turns, now)
    seen: dict[str, _Seen] = {}
    for turn in turns:
        shown = [*((path, None) for path in pinned.get(turn.number, ())), *_results(turn, now)]
        for path, result in shown:
            was = turn.after.files.get(path, now[path])
            one = seen.setdefault(path, _Seen(was))
            if was != one.then:
                one.then, one.lines, one.total, one.pinned = was, set(), 0, False
            one.turns[turn.number] = None
            one.pinned |= result is None
            if header := _SHOWN.match(result or ""):
                first, last, one.total = map(int, header.groups())
                one.lines |= set(range(first, last + 1))
    return {
        path: SkillRead(
            tuple(one.turns), len(one.lines), one.total or len(one.then.splitlines()), one.then != now[path], one.pinned
        )
        for path, one in seen.items()
    }


def _results(turn: Turn, now: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(path, what read_file gave of it), for the main agent."""
    asked: dict[str, str] = {}
    for event in turn.events:
        if isinstance(event, ToolStarted) and event.name == "read_file" and not event.path:
            asked[event.id] = str(event.args.get("file_path"))
        elif isinstance(event, ToolEnded) and event.status == "ok" and asked.get(event.id) in now:
            yield asked[event.id], event.result


def _pinned(turns: Sequence[Turn], now: Mapping[str, str]) -> dict[int, list[str]]:
    """Turn -> paths of the skills that were put before its prompt."""
    found: dict[int, list[str]] = {}
    messages = turns[-1].after.messages if turns else ()
    for i, message in enumerate(messages):
        if message.source == PINNED:
            number = next((t.number for t in turns if i < len(t.after.messages)), turns[-1].number)
            found.setdefault(number, []).extend(p for p in now if is_pinned(PINNED, message.text, p))
    return found
