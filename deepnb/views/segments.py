"""A turn as it happens: answers, tool cards, notes and compactions, in order.

`Segments.add` takes one event and says which segment to show again. What it costs goes with the
event, not with what was said before: an answer keeps its pieces and joins them when looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from deepnb.core.values import (
    Compacted,
    Event,
    ModelEnded,
    Notice,
    Offload,
    Path,
    TextDelta,
    ToolEnded,
    ToolStarted,
    Turn,
    Usage,
)
from deepnb.views import compaction
from deepnb.views import html as h
from deepnb.views.plain import clean, indent, page, short
from deepnb.views.subagent_card import doing, is_task, task_html, task_text
from deepnb.views.tool import Tool, tool_html, tool_text

__all__ = ["Answer", "Compaction", "Note", "Segment", "Segments", "ToolSegment", "turn_segments"]


@dataclass
class Answer:
    """What the agent said in one model call, as Markdown."""

    call: int
    parts: list[str] = field(default_factory=list)

    @property
    def markdown(self) -> str:
        """The pieces joined, just as the model sent them."""
        if len(self.parts) > 1:
            self.parts[:] = ["".join(self.parts)]
        return "".join(self.parts)

    def text(self) -> str:
        """The Markdown as it stands."""
        return clean(self.markdown)

    def html(self) -> str:
        """The Markdown rendered and sanitised."""
        from deepnb.views.markdown import markdown_html

        return h.box(markdown_html(self.markdown))


@dataclass
class Note:
    """One line the user should know of."""

    line: str

    def text(self) -> str:
        """`note: ...`."""
        return page([f"note: {' '.join(self.line.split())}"])

    def html(self) -> str:
        """The line, small, beside a thin edge."""
        look = f"border-left:3px solid {h.LINE};padding:1px 10px;{h.MUTED}"
        return h.box(h.el("div", h.el("b", "note: "), self.line, style=look))


@dataclass
class Compaction:
    """The moment at which the older part of the thread left the prompt."""

    offload: Offload

    @property
    def line(self) -> str:
        """What happened, in one line."""
        return compaction.line(self.offload)

    def text(self) -> str:
        """The line, and the first words of the summary."""
        summary = short(self.offload.summary, 90)
        return page([f"⇣ {self.line}", *([f"  {summary}"] if summary else [])])

    def html(self) -> str:
        """The line, which opens to what was kept and where the words are."""
        where = self.offload.path
        words = h.el("div", h.muted("word for word in ", h.code(where))) if where else None
        return h.box(h.fold(h.join("⇣ ", self.line), words, compaction.facts_html(self.offload)))


@dataclass
class ToolSegment(Tool):
    """A call of a tool, running until it has ended; a subagent's doings are nested in it."""

    nested: Segments | None = None
    calls: int = 0
    """Model calls made inside, those of agents nested deeper included."""
    usage: Usage = field(default_factory=Usage)
    """What they cost."""

    @property
    def children(self) -> list[Segment]:
        """What happened inside the call, in order."""
        return self.nested.segments if self.nested else []

    def text(self) -> str:
        """`→ name(args)  ok 0.01 s`, what happened inside, and the first line of the result."""
        if is_task(self):
            return task_text(self, self.calls, self.usage, self.children, self._last)
        inside = [indent(child.text(), "  │ ") for child in self.children]
        call, result = tool_text(self)
        return page([call, *inside, *result])

    def html(self) -> str:
        """A card that opens to the arguments, the nested segments and the result."""
        if is_task(self):
            return h.box(task_html(self, self.calls, self.usage, self.children, self._last, self._now))
        return h.box(tool_html(self, [h.Html(child.html()) for child in self.children]))

    @property
    def _last(self) -> str:
        """What was said last inside."""
        last = self.children[-1] if self.children else None
        return last.markdown if isinstance(last, Answer) else ""

    def _now(self) -> str:
        """What happens inside just now."""
        last = self.children[-1]
        if isinstance(last, Answer):
            return last.markdown[-80:]
        return doing(last) if isinstance(last, ToolSegment) else last.text()


Segment = Answer | ToolSegment | Note | Compaction


class Segments:
    """What there is to show of a turn so far."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self._answers: dict[int, int] = {}
        self._tools: dict[str, int] = {}

    def add(self, event: Event) -> int | None:
        """The index of the segment that `event` made or changed; None where there is nothing to show."""
        return self._add(event, event.path)

    def _add(self, event: Event, path: Path) -> int | None:
        if path:
            return self._nest(event, path)
        match event:
            case TextDelta(text=text, call=call) if text:
                return self._say(text, call)
            case ToolStarted():
                at = self._tool(event.id, event.name)
                tool = self._at(at)
                tool.name, tool.args = event.name, event.args
                tool.result, tool.status, tool.seconds = None, "running", None
                return at
            case ToolEnded():
                at = self._tool(event.id, event.name)
                tool = self._at(at)
                tool.result, tool.status, tool.seconds = event.result, event.status, event.seconds
                return at
            case Notice(text=text):
                return self._append(Note(text))
            case Compacted(offload=offload):
                return self._append(Compaction(offload))
        return None

    def _nest(self, event: Event, path: Path) -> int | None:
        """Hand the event to the tool call it happened in; one that was never seen to start gets a card."""
        known = path[0] in self._tools
        nested = self._at(self._tools[path[0]]).nested if known else None
        nested = nested or Segments()
        if isinstance(event, ModelEnded) and known:
            tool = self._at(self._tools[path[0]])
            tool.calls, tool.usage = tool.calls + 1, tool.usage + (event.call.usage or Usage())
        if nested._add(event, path[1:]) is None:
            return None
        at = self._tool(path[0], "task")
        self._at(at).nested = nested
        return at

    def _say(self, text: str, call: int) -> int:
        if call not in self._answers:
            self._answers[call] = self._append(Answer(call))
        at = self._answers[call]
        answer = self.segments[at]
        assert isinstance(answer, Answer)
        answer.parts.append(text)
        return at

    def _tool(self, id: str, name: str) -> int:  # noqa: A002
        if id not in self._tools:
            self._tools[id] = self._append(ToolSegment(id, name))
        return self._tools[id]

    def _at(self, at: int) -> ToolSegment:
        tool = self.segments[at]
        assert isinstance(tool, ToolSegment)
        return tool

    def _append(self, segment: Segment) -> int:
        self.segments.append(segment)
        return len(self.segments) - 1

    def text(self) -> str:
        """All segments, a blank line between an answer and what is not one."""
        out: list[str] = []
        for i, segment in enumerate(self.segments):
            apart = i and (isinstance(segment, Answer) or isinstance(self.segments[i - 1], Answer))
            out += ["", segment.text()] if apart else [segment.text()]
        return "\n".join(out)

    def html(self) -> str:
        """All segments in one <div>."""
        return h.el("div", *(h.Html(segment.html()) for segment in self.segments))


def turn_segments(turn: Turn) -> Segments:
    """The segments of a turn that is over; a tool call without an end is shown as cut."""
    segments = Segments()
    for event in turn.events:
        segments.add(event)
    _close(segments)
    return segments


def _close(segments: Segments) -> None:
    for segment in segments.segments:
        if isinstance(segment, ToolSegment):
            segment.status = "cut" if segment.status == "running" else segment.status
            if segment.nested:
                _close(segment.nested)
