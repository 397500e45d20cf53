"""What a call was sent, by part and folded, and what changed since the call before. Credentials are redacted."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.gate import redact
from deepnb.values.files import FileDiff
from deepnb.values.request import Sent
from deepnb.values.xray import PieceChange, Xray
from deepnb.views import html as h
from deepnb.views.budget import figure, part_look
from deepnb.views.diff import diff_html
from deepnb.views.text import counted, indent, middle_cut, page, percent, quoted, title_line
from deepnb.views.view import table_html, table_text

EMPTY = "no model calls yet: type %agent PROMPT"
_CUT = {"tools": (160, 60)}
_CHANGES = 8
"""Changes that the outline lists."""
HEAD, TAIL = 1_000, 400
"""Characters of a piece's beginning and end that the text shows (fewer of a tool's schema); the HTML folds, and shows all."""


@dataclass(frozen=True)
class XrayView:
    """One call laid open."""

    xray: Xray
    stamp: str = ""
    brief: bool = False
    """Whether parts and changes are listed, without what was sent in them."""
    wide: bool = False
    """Whether changes and parts are side by side where there is room."""

    @property
    def title(self) -> str:
        """`request of turn 2, call 1 · 4,210 tokens · answer of the main agent`."""
        x = self.xray
        who = "the main agent" if not x.call.path else f"subagent {x.call.agent} ({'/'.join(x.call.path)})"
        total = counted_tokens(x, x.call.budget.total)
        return f"request of turn {x.turn}, call {x.call.number} · {total} · {x.call.purpose} of {who}"

    @property
    def facts(self) -> tuple[str, ...]:
        """What became of the beginning, which a provider may have cached."""
        x = self.xray
        if (cacheable := x.cacheable) is None:
            return ("the first request of its kind: no earlier one to compare it with",)
        total = x.request.tokens
        share = f"{figure(x.call.budget, cacheable)} of {counted_tokens(x, total)} ({percent(cacheable, total)})"
        lines = [f"Cacheable since {x.since}: {share}"]
        if x.caching is None:
            lines[-1] += ", since another model was sent the request before"
        if (usage := x.call.usage) is not None and usage.cached:
            lines.append(f"The provider reports {usage.cached:,} of {usage.input:,} tokens as cached")
        return tuple(lines)

    @property
    def where(self) -> str:
        return f"to read what was sent: %agent xray {self.xray.turn}.{self.xray.call.number}"

    def text(self) -> str:
        table = table_text(("", "part", "", "tokens"), [(part_look(row[0])[0], *row) for row in self._rows], right=(3,))
        lines = [title_line(self.title, self.stamp), "", indent(table)]
        lines += ["", *self.facts, *(f"  {line}" for line in self._changed)]
        if self.brief:
            return page([*lines, self.where])
        for change in self.xray.changes:
            if change.before and change.after:
                lines += ["", indent(_diff(change).unified().rstrip("\n"))]
        for part, pieces in self.xray.parts.items():
            for piece in pieces:
                lines += ["", f"{part_look(part)[0]} {self._named(piece)}"]
                lines += quoted(middle_cut(_text(piece), *_CUT.get(part, (HEAD, TAIL))))
        return page(lines)

    def html(self) -> str:
        body: list[h.Child] = [h.heading(*self.title.split(" · "), stamp=self.stamp)]
        body += [h.el("div", fact) for fact in self.facts]
        if self.brief:
            rows = [(h.swatch(*part_look(row[0])), *row) for row in self._rows]
            body.append(table_html(("", "part", "", "tokens"), rows, right=(3,)))
            return h.box(*body, h.el("ul", *(h.el("li", line) for line in self._changed)), h.muted(self.where))
        if changes := self.xray.changes:
            shown = []
            for change in changes:
                is_diff = change.before and change.after
                text = diff_html(_diff(change)) if is_diff else h.pre(_text(change.piece), low=True)
                shown.append(h.fold(f"{_sign(change)} {self._named(change.piece)}", text, framed=False))
            body.append(h.fold(f"{counted(len(changes), 'change')} since {self.xray.since}", *shown, opened=True))
        parts = list[h.Html]()
        for part, pieces in self.xray.parts.items():
            title = f" {part} · {counted_tokens(self.xray, _sum(pieces))} · {counted(len(pieces), 'piece')}"
            folds = (h.fold(self._named(one), h.pre(_text(one), low=True), framed=False) for one in pieces)
            parts.append(h.fold(h.join(h.swatch(*part_look(part)), title), *folds))
        if self.wide and changes:
            sides = (h.el("div", side, style="flex:1 1 28em;min-width:0") for side in (body.pop(), h.join(*parts)))
            parts = [h.el("div", *sides, style="display:flex;flex-wrap:wrap;column-gap:20px")]
        return h.box(*body, *parts, wide=self.wide)

    @property
    def _rows(self) -> list[tuple[str, str, str]]:
        budget = self.xray.call.budget
        return [
            (part, counted(len(pieces), "piece"), figure(budget, _sum(pieces)))
            for part, pieces in self.xray.parts.items()
        ]

    @property
    def _changed(self) -> list[str]:
        lines = [f"{_sign(change)} {self._named(change.piece)}" for change in self.xray.changes]
        if self.brief and len(lines) > _CHANGES + 1:
            lines[_CHANGES:] = [f"and {len(lines) - _CHANGES:,} more"]
        return lines

    def _named(self, piece: Sent) -> str:
        return f"{_name(piece)} · {counted_tokens(self.xray, piece.tokens)}"


def counted_tokens(xray: Xray, tokens: int) -> str:
    """Return `1 token`, `~1,234 tokens`."""
    return counted(tokens, "token", xray.call.budget.exact)


def _name(piece: Sent) -> str:
    return f"tool {piece.label}" if piece.part == "tools" else piece.label or piece.part


def _text(piece: Sent) -> str:
    return redact(piece.text) or "(no text)"


def _sign(change: PieceChange) -> str:
    if change.before is None:
        return "+ new:"
    return "− gone:" if change.after is None else "~ changed:"


def _sum(pieces: Sequence[Sent]) -> int:
    return sum(piece.tokens for piece in pieces)


def _diff(change: PieceChange) -> FileDiff:
    assert change.before is not None and change.after is not None
    return FileDiff(_name(change.after), redact(change.before.text), redact(change.after.text))
