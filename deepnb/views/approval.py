"""Calls that need the user's approval: what they would do, what to type, and afterwards the decision."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter

from deepnb.values.answers import how_called
from deepnb.values.approvals import Decision, PendingCall
from deepnb.values.code import CODE_TOOLS, CodeReview, review, shown
from deepnb.values.files import FileDiff
from deepnb.views import html as h
from deepnb.views.diff import diff_html
from deepnb.views.text import clean, counted, page, short, title_line
from deepnb.views.tool import call_line, pretty
from deepnb.workshop.notebook_plan import CellDiff, NotebookDiff

_LINES = 60
"""Lines of an argument or a diff that a terminal shows at once."""

RESTARTED = "after a restart of the kernel this card can't be decided any more: run its cell again"
KEPT = "after a restart of the kernel, the cell with %agent persist shows this card again, with its buttons"

_WORDS = {"approve": "approved", "edit": "approved with edits", "reject": "rejected", "answer": "answered"}
_COLOURS = {**dict.fromkeys(("approve", "edit", "answer"), h.GREEN.format(0.18)), "reject": h.RED.format(0.22)}
_WAITS = h.ORANGE.format(0.25)

MASKED = "a part of it is masked as a credential and can't be read here: it can only be rejected"

UNDONE = "dropped: its turn was undone"
AGAIN = "asked again below: what it would change has changed"

WHY = {
    "outside": "this can't be undone",
    "undoable": "this changes the agent's files",
    "reads": "you asked to approve calls of this tool",
}


@dataclass(frozen=True)
class CallCard:
    """One call, pending or decided."""

    number: int
    """Counted from 1 among the calls of one card."""
    call: PendingCall
    change: FileDiff | NotebookDiff | None = None
    """What it would do to a file or notebook."""
    decision: Decision | None = None
    gone: str = ""
    """Why it was dropped without a decision; empty where it was not."""

    @property
    def open(self) -> bool:
        return self.decision is None and not self.gone

    @property
    def title(self) -> str:
        """`1 · write_file, read from text, asked by the subagent critic`."""
        who = f"asked by the subagent {self.call.agent}" if self.call.agent else ""
        return f"{self.number} · {', '.join(filter(None, (self.call.name, how_called(self.call.id), who)))}"

    @property
    def code(self) -> CodeReview | None:
        return code_of(self.call.name, self.call.args)

    @property
    def state(self) -> str:
        """The decision in a few words."""
        if self.decision is None:
            return self.gone or ("needs your answer" if self.call.is_question else "needs your approval")
        if self.decision.kind == "answer":
            return f"answered: {json.dumps(self.decision.value, ensure_ascii=False, default=str)}"
        reason = f": {self.decision.reason}" if self.decision.reason else ""
        allowed = self.decision.also or ((self.call.name,) if self.decision.remember else ())
        later = f", {', '.join(allowed)} allowed in this thread" if allowed else ""
        return f"{_WORDS[self.decision.kind]}{reason}{later}"

    @property
    def ran(self) -> Mapping[str, object]:
        """The arguments that the decision leaves: the edited ones, where there are some."""
        edited = self.decision.args if self.decision is not None else None
        return self.call.args if edited is None else edited

    @property
    def shown(self) -> Mapping[str, object]:
        """The arguments that are shown beside the diff: those that it does not show."""
        args = self.call.args
        if self.code is not None:
            return {k: v for k, v in args.items() if k != CODE_TOOLS[self.call.name]}
        if self.change is None or (isinstance(self.change, NotebookDiff) and self.change.problem):
            return args
        return {k: v for k, v in args.items() if k not in ("content", "old_string", "new_string", "edits")}


@dataclass(frozen=True)
class ApprovalView:
    """Pending calls, or the decisions on them."""

    cards: Sequence[CallCard]
    stamp: str = ""
    offer: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Tool -> skills in use that ask to have it approved."""
    kept: bool = False
    """Whether its session outlives the kernel."""
    whole: bool = False
    """Whether its text shows all of long arguments."""

    @property
    def title(self) -> str:
        what = "question" if self._asks else "call"
        if not any(card.open for card in self.cards):
            return f"{'answered' if self._asks else 'decided'} · {counted(len(self.cards), what)}"
        return f"needs your {'answer' if self._asks else 'approval'} · {counted(len(self.cards), what)}"

    @property
    def _asks(self) -> bool:
        return all(card.call.is_question for card in self.cards)

    @property
    def todo(self) -> tuple[str, ...]:
        """What to type, a line each."""
        if not any(card.open for card in self.cards):
            return ()
        one = len(self.cards) == 1
        if self._asks:
            n, first = ("", "") if one else (" N", " 1")
            return (f"%agent resume{n} JSON answers it, such as %agent resume{first} true",)
        question = any(card.call.is_question for card in self.cards)
        n, it = ("", "it") if one else (" N", "call N")
        kinds = {kind for card in self.cards for kind in card.call.allowed}
        lines = []
        if "approve" in kinds:
            later = f"later {self.cards[0].call.name} calls" if one else "later calls of the same tool"
            unread = f" ({UNREAD})" if any(card.code is not None for card in self.cards) else ""
            also = f"; --thread also allows {later} in this thread{unread}" if "remember" in kinds else ""
            lines.append(f"%agent approve{n} runs {it}{also}")
        if not (one or question or kinds == {"reject"}):
            lines.append("%agent approve all runs all of them")
        if question:
            lines.append("%agent resume N JSON answers question N")
        if "reject" in kinds:
            lines.append(f"%agent reject{n} WHY rejects {it} and tells the agent why")
        if "edit" in kinds:
            lines.append(f"%agent edit{n} {{...}} runs {it} with the arguments you give, a JSON object")
        if self.offer:
            skills = list(dict.fromkeys(name for names in self.offer.values() for name in names))
            who = f"the skill {skills[0]} asks" if len(skills) == 1 else f"the skills {', '.join(skills)} ask"
            asked = ", ".join(self.offer)
            lines.append(f"{who} for {asked}: %agent approve{n} --skill allows these tools in this thread")
        return tuple(lines)

    def text(self) -> str:
        if not self.todo:
            return page(f"{call_line(card.call.name, card.ran)}  {card.state}" for card in self.cards)
        lines = [title_line(self.title, self.stamp)]
        for card in self.cards:
            lines += ["", f"{card.title} · {card.state} ({why(card.call)})", *self._argument_lines(card)]
        return page([*lines, "", *self.todo])

    def _argument_lines(self, card: CallCard) -> list[str]:
        lines: list[str] = []
        for name, value in card.shown.items():
            text = clean(value if isinstance(value, str) else pretty(value)).rstrip("\n")
            if "\n" not in text and len(text) <= 90:
                lines.append(f"  {name}: {text}")
            else:
                lines += [f"  {name}:", *self._cut([f"  │ {line}" for line in text.split("\n")])]
        if card.code is not None:
            digits = len(str(len(card.code.lines)))
            for n, pieces in enumerate(card.code.lines, 1):
                lines.append(f"  {n:>{digits}} │ {''.join(text for text, _ in pieces)}")
            lines += [f"  note: {warning}" for warning in card.code.warnings]
        if isinstance(card.change, NotebookDiff):
            marked = NotebookDiff(card.change.path, tuple(map(_marked, card.change.cells)))
            changed = [_head(card.change), *(marked.unified().split("\n") if card.change.cells else ())]
            lines += [f"  {clean(line)}" for line in changed]
        elif card.change is not None:
            same = card.change.before == card.change.after
            unified = "(no change)" if same else card.change.unified().rstrip("\n")
            lines += self._cut([f"  {line}" for line in unified.split("\n")])
        return lines

    def _cut(self, lines: list[str]) -> list[str]:
        if self.whole or len(lines) <= _LINES:
            return lines
        return [*lines[:_LINES], f"  … {len(lines) - _LINES:,} more lines: %agent panel approvals shows all of them"]

    def html(self) -> str:
        frames = [h.frame(*_card_html(card)) for card in self.cards]
        later = h.muted("by a command · ", KEPT if self.kept else RESTARTED)
        lines = [h.el("div", h.muted(line)) for line in self.todo]
        hints = [h.fold(later, *lines, framed=False)] if lines else []
        return h.box(h.heading(self.title, stamp=self.stamp), *frames, *hints)


def why(call: PendingCall) -> str:
    if call.is_question:
        return "the graph waits for an answer"
    if call.is_unreadable:
        return MASKED
    if "remember" not in call.allowed:
        return "the graph asks before calls of this tool"
    return POWER if call.name in CODE_TOOLS else WHY[call.effect]


def code_of(name: str, args: Mapping[str, object]) -> CodeReview | None:
    code = args.get(CODE_TOOLS[name]) if name in CODE_TOOLS else None
    return review(code) if isinstance(code, str) else None


def _arguments_html(args: Mapping[str, object]) -> list[h.Html]:
    long = {name: value for name, value in args.items() if isinstance(value, str) and "\n" in value.rstrip("\n")}
    rest = {name: value for name, value in args.items() if name not in long}
    texts = (h.join(h.label(name), h.pre(text, low=True)) for name, text in long.items())
    return [*([h.pre(pretty(rest), low=True)] if rest else []), *texts]


def _card_html(card: CallCard) -> list[h.Child]:
    colour = _COLOURS[card.decision.kind] if card.decision else _WAITS
    head = h.el("div", h.el("b", card.title), " · ", h.swatch(short(card.state, 200), colour))
    body: list[h.Child] = []
    if card.shown:
        body += [h.label("question" if card.call.is_question else "arguments"), *_arguments_html(card.shown)]
    if card.code is not None:
        body.append(code_html(card.code))
    if card.change is not None:
        body.append(h.label(_head(card.change)))
    if isinstance(card.change, FileDiff):
        body.append(diff_html(card.change))
    elif card.change is not None:
        for cell in card.change.cells:
            body += [h.el("div", h.muted(cell.title)), diff_html(_marked(cell).lines)]
    if card.open:
        reason = f"Asked because {why(card.call)}" if card.code is None else POWER.capitalize()
        return [head, h.el("div", h.muted(reason)), *body]
    if card.decision is not None and card.decision.args is not None:
        code = code_of(card.call.name, card.ran)
        ran = _arguments_html(card.ran) if code is None else [code_html(code)]
        body = [h.label("ran"), *ran, h.label("what the agent asked for"), *body]
    line = h.code(call_line(card.call.name, card.ran))
    return [head, h.fold(line, *(body or [h.muted("no arguments")]), framed=False)]


# -- the cells of a notebook that change, each with its lines


def _head(change: FileDiff | NotebookDiff) -> str:
    problem = change.problem if isinstance(change, NotebookDiff) else ""
    return problem or f"{change.path} · {change.kind}"


def _marked(cell: CellDiff) -> CellDiff:
    """Return a cell whose hidden and lookalike characters are written out, as on the card of code."""
    sides = (cell.before, cell.after)
    before, after = (None if side is None else "\n".join(map(shown, review(side).lines)) for side in sides)
    return CellDiff(cell.number, cell.kind, before, after, cell.outputs)


# -- code that somebody reads before it runs: every line of it, with what can't be seen made visible


POWER = "approved code can do all that you can: read and change your variables, files and accounts"
UNREAD = "later code then runs without being shown to you first"
"""What is said of allowing a tool that runs code."""

_MARK = "background:rgba(248,81,73,0.35);border-radius:3px;padding:0 2px"


def code_html(review: CodeReview) -> h.Html:
    """Return a block that neither folds nor scrolls; long lines wrap, and go on beside the column of numbers."""
    from deepnb.views.markdown import GROUND, INK, coloured  # whose parsers take long to import

    colours = (colour for colour, text in coloured(review.code, "python") for _ in text)
    digits, rows = len(str(len(review.lines))), list[h.Child]()
    for number, line in enumerate(review.lines, 1):
        row: list[h.Child] = [h.muted(f"{number:>{digits}}  ")]
        for text, odd in line:
            if odd:  # it stands for one character
                next(colours)
                row.append(h.el("span", text, style=_MARK))
                continue
            for colour, run in groupby(zip(text, colours, strict=False), itemgetter(1)):
                shown = "".join(character for character, _ in run)
                row.append(h.el("span", shown, style=f"color:{colour}") if colour else shown)
        next(colours, None)  # of the line feed
        rows.append(h.el("div", *row))
    column = 0.6 * digits + 1.2  # in em, of which a letter takes 0.6: JupyterLab's sanitizer knows no ch
    indent = f"padding-left:{column + 0.8:.1f}em;text-indent:-{column:.1f}em"
    look = f"{h.PRE};color:{INK};background:{GROUND};{indent}"
    warnings = (h.el("div", h.swatch(what, h.ORANGE.format(0.25))) for what in review.warnings)
    return h.join(h.label(counted(len(review.lines), "line")), h.el("pre", *rows, style=look), *warnings)
