"""Whether an agent turns in a circle: the same calls with the same results, one answer after the other."""

from typing import Any

from deepnb.core.values import Event, Path, ToolEnded, ToolStarted

MOST = 3
"""Answers that may make the same calls and get the same results; the next one is not asked for."""


class Repeats:
    """Hears of the calls of all agents of a run."""

    def __init__(self) -> None:
        self._begun: dict[tuple[Path, str], ToolStarted] = {}
        self._made: dict[Path, list[tuple[str, Any, str]]] = {}
        """Agent -> (name, arguments, result) of the calls of its last answer."""
        self._before: dict[Path, tuple[list[tuple[str, Any, str]], int]] = {}
        """Agent -> the calls of the answer before it, and how many answers running made these."""

    def add(self, event: Event) -> None:
        """Take note of a call that began or ended."""
        if isinstance(event, ToolStarted):
            self._begun[event.path, event.id] = event
        elif isinstance(event, ToolEnded) and (begun := self._begun.pop((event.path, event.id), None)):
            self._made.setdefault(event.path, []).append((event.name, begun.args, event.result))

    def repeated(self, path: Path) -> str:
        """Name the tool that an agent called too often, as its model is about to be asked again; an empty text if none."""
        made = sorted(self._made.pop(path, []), key=repr)
        before, times = self._before.get(path, ([], 0))
        times = times + 1 if made == before else 1
        self._before[path] = made, times
        return made[0][0] if made and times >= MOST else ""
