"""A subagent's work as lines of a terminal, each printed when it is finished."""

from __future__ import annotations

from deepnb.core.values import Event, ToolStarted
from deepnb.views.subagent_card import is_task, task_end, task_head
from deepnb.views.text import indent
from deepnb.views.turn_segments import Answer, Segment, Thinking, ToolSegment

_EDGE = "  │ "


class TaskLines:
    """What to print of tasks: the first to run line by line, those beside it whole when it has ended."""

    def __init__(self) -> None:
        self._open: ToolSegment | None = None
        self._shown = 0
        self._later: list[ToolSegment] = []

    def take(self, segment: Segment, event: Event) -> list[str] | None:
        """The texts to print now that an event has changed a segment; None where it is no task's."""
        if not isinstance(segment, ToolSegment) or not is_task(segment):
            return None
        if self._open is None and segment.status == "running" and isinstance(event, ToolStarted) and not event.path:
            self._open, self._shown = segment, 0
            return [task_head(segment)]
        if segment is not self._open:
            if segment.status == "running":
                return []
            if self._open is None:
                return [segment.text()]
            self._later.append(segment)
            return []
        if segment.status == "running":
            return self._finished(segment)
        end = [*self._rest(segment), task_end(segment, segment.calls, segment.usage, segment.said_last)]
        late, self._later, self._open = [one.text() for one in self._later], [], None
        return [*end, *late]

    def _finished(self, task: ToolSegment) -> list[str]:
        """What is finished inside and not printed yet: an answer or a thought is where something follows it."""
        out = []
        for i in range(self._shown, len(task.children)):
            child = task.children[i]
            growing = isinstance(child, Answer | Thinking) and i == len(task.children) - 1
            if growing or getattr(child, "status", "ok") == "running":
                break
            out.append(indent(child.text(), _EDGE))
            self._shown = i + 1
        return out

    def _rest(self, task: ToolSegment) -> list[str]:
        return [indent(child.text(), _EDGE) for child in task.children[self._shown :]]
