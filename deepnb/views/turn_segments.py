"""A turn as it happens: answers, tool cards, what code put out, notes and compactions, in order.

`Segments.add` takes one event and says which segment to show again. What it costs goes with the
event, not with what was said before: an answer keeps its pieces and joins them when looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deepnb.values import turn as values
from deepnb.values.image import PICTURES
from deepnb.values.offload import Offload
from deepnb.values.text import terminal_text
from deepnb.views import compaction
from deepnb.views import html as h
from deepnb.views.data_images import without_data
from deepnb.views.text import clean, indent, middle_cut, page, short
from deepnb.views.tool import Tool, call_line, is_task, task_html, task_text, tool_html, tool_text, who
from deepnb.views.view import Picture

_GROWING = 2_000
"""Characters of the end of a text that are shown while it grows: then it is sent whole."""
_WORDS = 3_000
"""Characters that stand for a rich output in a terminal."""
_TAIL = 400
"""Characters of a thought, or of what a subagent says, that are shown while it grows: then it is sent whole."""
_LATEST = 12
"""Of what happens inside a call that runs, so many things are shown."""


@dataclass
class Printed:
    """Text that code wrote to stdout or stderr."""

    kind: str
    parts: list[str] = field(default_factory=list)
    ended: bool = False

    @property
    def words(self) -> str:
        """All of it; its end while it grows."""
        text = terminal_text(_whole(self.parts))
        return text if self.ended or len(text) <= _GROWING else f"…{text[-_GROWING:]}"

    def text(self) -> str:
        return clean(self.words.rstrip("\n"))

    def html(self) -> str:
        head = h.label(self.kind) if self.kind != "stdout" else None
        return h.box(head, h.pre(self.words.rstrip("\n")))


@dataclass
class Rich:
    """A table, a plot or anything else that Jupyter shows in its own way."""

    output: values.CodeOutput

    @property
    def bundle(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """As the kernel displays it."""
        return self.output.data, self.output.metadata

    def text(self) -> str:
        return clean(middle_cut(self.output.text, _WORDS, 500))

    def html(self) -> str:
        """Return the picture, else the sanitised HTML, else its words: for where it can't be an output of its own."""
        data = harmless(self.output)
        for kind in PICTURES:
            if kind in data:
                source = f"data:{kind};base64,{''.join(data[kind].split())}"
                return h.box(h.el("img", src=source, alt=self.output.text, style="max-width:100%"))
        return h.box(h.Html(data["text/html"]) if "text/html" in data else h.pre(self.text()))


def harmless(output: values.CodeOutput) -> dict[str, str]:
    """Return MIME type -> data of a rich output as it may leave the kernel: pictures, sanitised HTML, and its words."""
    kept = {kind: data for kind in PICTURES if isinstance(data := output.data.get(kind), str)}
    if isinstance(markup := output.data.get("text/html"), str):
        import nh3

        gone = {"script", "style", "svg", "math", "iframe"}
        kept["text/html"] = nh3.clean(markup, url_schemes=set(), clean_content_tags=gone)
    return {**kept, "text/plain": output.text}


@dataclass
class Answer:
    """What the agent said in one model call, as Markdown."""

    call: int
    parts: list[str] = field(default_factory=list)

    @property
    def markdown(self) -> str:
        return _whole(self.parts)

    def text(self) -> str:
        return clean(without_data(self.markdown))

    def html(self) -> str:
        from deepnb.views.markdown import markdown_html

        return h.box(markdown_html(self.markdown))


@dataclass
class Thinking:
    """What the model thought in one call, behind a fold; while it grows, its end alone."""

    call: int
    parts: list[str] = field(default_factory=list)
    ended: bool = False

    @property
    def words(self) -> str:
        """The pieces joined, or the last of them while there come more."""
        return "".join(self.parts) if self.ended else _tail(self.parts)

    def text(self) -> str:
        return page([f"thinking: {short(self.words, 90)}"] if self.ended else ["thinking ..."])

    def html(self) -> str:
        title = f"thinking · {len(self.words):,} characters" if self.ended else "thinking ..."
        return h.box(h.fold(h.muted(title), h.pre(self.words), framed=False))


def _note(line: str) -> Picture:
    look = f"border-left:3px solid {h.LINE};padding:1px 10px;{h.MUTED}"
    words = " ".join(line.split())
    return Picture((), [f"note: {words}"], [h.el("div", h.el("b", "note: "), line, style=look)])


def _compacted(offload: Offload) -> Picture:
    line, summary = f"⇣ {compaction.line(offload)}", short(offload.summary, 90)
    where = h.el("div", h.muted("saved verbatim in ", h.code(offload.path))) if offload.path else None
    body = h.fold(line, where, compaction.facts_html(offload))
    return Picture((), [line, *([f"  {summary}"] if summary else [])], [body])


@dataclass
class ToolSegment(Tool):
    """A call of a tool, running until it has ended; a subagent's doings are nested in it."""

    nested: Segments | None = None
    calls: int = 0
    """Model calls made inside, those of agents nested deeper included."""
    usage: values.Usage = field(default_factory=values.Usage)

    @property
    def children(self) -> list[Segment]:
        return self.nested.segments if self.nested else []

    def text(self) -> str:
        if is_task(self):
            return task_text(self, self.calls, self.usage, self._inside, self.said_last)
        inside = [indent(child.text(), "  │ ") for child in self._inside]
        call, result = tool_text(self)
        return page([call, *inside, *result])

    def html(self) -> str:
        if is_task(self):
            return h.box(task_html(self, self.calls, self.usage, self._inside, self.said_last, self._now))
        return h.box(tool_html(self, [h.Html(child.html()) for child in self._inside]))

    @property
    def _inside(self) -> Sequence[Segment | _NestedLine]:
        """What happened inside; in short while the call runs, for all of it is sent again with each change."""
        if self.status != "running":
            return self.children
        return [_NestedLine(child) for child in self.children[-_LATEST:]]

    @property
    def said_last(self) -> str:
        """What was said last inside; nobody asks while there may come more."""
        if self.status == "running":
            return ""
        last = self.children[-1] if self.children else None
        return last.markdown if isinstance(last, Answer) else ""

    def _now(self) -> str:
        last = self.children[-1]
        if isinstance(last, Answer):
            return _tail(last.parts)[-80:]
        if not isinstance(last, ToolSegment):
            return last.text()
        return f"subagent {who(last)}" if is_task(last) else call_line(last.name, last.args, 60)


Segment = Answer | Thinking | ToolSegment | Printed | Rich | Picture


@dataclass(frozen=True)
class _NestedLine:
    segment: Segment

    def text(self) -> str:
        if isinstance(self.segment, Answer):
            return clean(_tail(self.segment.parts))
        if isinstance(self.segment, ToolSegment) and not is_task(self.segment):
            return page([tool_text(self.segment)[0]])
        return self.segment.text()

    def html(self) -> str:
        return h.el("div", self.text())


class Segments:
    """What there is to show of a turn so far."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self._answers: dict[int, int] = {}
        self._tools: dict[str, int] = {}
        self._begun: dict[str, int] = {}
        """Call of the last answer that has begun -> its place among those of the answer."""
        self._waits = False
        """Whether a call needs the user's approval: what runs after that is shown below."""
        self._outputs: dict[str, int] = {}
        """Call -> how many of its outputs there are: one that was shown while the code ran comes again."""

    def add(self, event: values.Event, path: values.Path | None = None) -> int | None:
        """Return the index of the segment that `event` made or changed; `path` is what is left of its own, inside a call."""
        if path := event.path if path is None else path:
            return self._nest(event, path)
        if not isinstance(event, values.ThinkingDelta):
            self._thought()
        match event:
            case values.ThinkingDelta(text=text, call=call) if text:
                last = self._last
                if not isinstance(last, Thinking) or last.call != call:
                    self._append(last := Thinking(call))
                last.parts.append(text)
                last.ended = False
                return len(self.segments) - 1
            case values.TextDelta(text=text, call=call) if text:
                return self._say(text, call)
            case values.ModelStarted():
                self._begun.clear()
            case values.Asked():
                self._waits = True
            case values.Decided() if self._waits:
                self._begun.clear()
                self._waits = False
            case values.ToolStarted():
                at = self._tool(event.id, event.name, begins=True, place=event.place)
                self._begun[event.id] = event.place
                tool = self._at(at)
                tool.name, tool.args = event.name, event.args
                tool.result, tool.status, tool.seconds = None, "running", None
                return at
            case values.ToolEnded():
                at = self._tool(event.id, event.name)
                tool = self._at(at)
                tool.result, tool.status, tool.seconds = event.result, event.status, event.seconds
                tool.traceback = event.traceback
                return at
            case values.CodeOutput():
                return self._output(event)
            case values.Notice(text=text):
                return self._append(_note(text))
            case values.Compacted(offload=offload):
                return self._append(_compacted(offload))
        return None

    def _nest(self, event: values.Event, path: values.Path) -> int | None:
        """Hand the event to the tool call it happened in; one that was never seen to start gets a card."""
        known = path[0] in self._tools
        nested = self._at(self._tools[path[0]]).nested if known else None
        nested = nested or Segments()
        if isinstance(event, values.ModelEnded) and known:
            tool = self._at(self._tools[path[0]])
            tool.calls, tool.usage = tool.calls + 1, tool.usage + event.call.spent
        if nested.add(event, path[1:]) is None:
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

    def _output(self, event: values.CodeOutput) -> int | None:
        if event.number <= self._outputs.get(event.id, 0):
            return None
        self._outputs[event.id] = event.number
        if event.kind == "rich":
            return self._append(Rich(event))
        if event.kind == "variables":
            names = f"variables: {event.text}"
            return self._append(Picture((), [names], [h.muted(names)]))
        last = self._last
        if not isinstance(last, Printed) or (event.kind not in ("end", last.kind)):
            if event.kind == "end":
                return None
            self._append(last := Printed(event.kind))
        last.parts.append(event.text)
        last.ended = event.kind == "end"
        return len(self.segments) - 1

    def _thought(self) -> None:
        if isinstance(last := self._last, Thinking):
            last.ended = True

    @property
    def _last(self) -> Segment | None:
        return self.segments[-1] if self.segments else None

    def _tool(self, id: str, name: str, *, begins: bool = False, place: int = 0) -> int:  # noqa: A002
        """Return the segment of a call; a new one where a call `begins` under the id of one that has ended. It stands
        before those of the same answer that have begun already and have a later `place` in it."""
        if id not in self._tools or (begins and self._at(self._tools[id]).status in ("ok", "error")):
            later = [self._tools[one] for one, its in self._begun.items() if begins and its > place]
            at = min(later, default=len(self.segments))
            if later:
                self._answers = {call: place + (place >= at) for call, place in self._answers.items()}
                self._tools = {call: place + (place >= at) for call, place in self._tools.items()}
            self.segments.insert(at, ToolSegment(id, name))
            self._tools[id] = at
            self._outputs.pop(id, None)
        return self._tools[id]

    def _at(self, at: int) -> ToolSegment:
        tool = self.segments[at]
        assert isinstance(tool, ToolSegment)
        return tool

    def _append(self, segment: Segment) -> int:
        self.segments.append(segment)
        return len(self.segments) - 1

    def close(self) -> None:
        """Nothing more comes: a call that still runs was cut."""
        self._thought()
        for segment in self.segments:
            if isinstance(segment, Printed):
                segment.ended = True
            if isinstance(segment, ToolSegment):
                segment.status = "cut" if segment.status == "running" else segment.status
                if segment.nested:
                    segment.nested.close()

    def text(self) -> str:
        out: list[str] = []
        for i, segment in enumerate(self.segments):
            apart = i and (isinstance(segment, Answer) or isinstance(self.segments[i - 1], Answer))
            out += ["", segment.text()] if apart else [segment.text()]
        return "\n".join(out)

    def html(self) -> str:
        return h.el("div", *(h.Html(segment.html()) for segment in self.segments))


def turn_segments(turn: values.Turn) -> Segments:
    """Return the segments of a turn that is over; a tool call without an end is shown as cut."""
    segments = Segments()
    for event in turn.events:
        segments.add(event)
    segments.close()
    return segments


def _whole(parts: list[str]) -> str:
    parts[:] = ["".join(parts)]
    return parts[0]


def _tail(parts: Sequence[str]) -> str:
    out: list[str] = []
    room = _TAIL
    for part in reversed(parts):
        out.append(part[-room:])
        room -= len(part)
        if room <= 0:
            return "..." + "".join(reversed(out))
    return "".join(reversed(out))
