"""What the agent remembers, and whether the prompt has it; the journal of its changes, and those that wait."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from deepnb.backends.journal import Entry, OpenConflict
from deepnb.gate import redact
from deepnb.values.files import FileDiff
from deepnb.values.turn import Snapshot
from deepnb.views import html as h
from deepnb.views.diff import diff_html, diff_view
from deepnb.views.text import counted, indent, middle_cut, page, quoted, title_line
from deepnb.views.view import Picture

State = Literal["same", "masked", "newer", "new", "gone", "empty", "binary", "edited"]

STATES: dict[State, str] = {
    "same": "in the prompt",
    "masked": "in the prompt, with its credentials masked",
    "newer": "changed in the file: the prompt still has the old text",
    "new": "new: not in the prompt yet",
    "gone": "file removed: the prompt still has the old text",
    "empty": "empty",
    "edited": "as far as the session's edits show it",
    "binary": "not UTF-8 text: not in the prompt",
}
EMPTY = 'nothing remembered yet: type %memory add TEXT, or tell the agent "Remember that ..."'
WHOLE = "%memory show {} shows all of it"
_CUT, BRIEF = (6_000, 3_000), (500, 500)
"""Characters of the head and tail of a long file: in a record and a panel, and in a picture that is sent each turn."""

_COLOURS: dict[State, str] = {
    "same": h.GREEN.format(0.18),
    **dict.fromkeys(("gone", "binary"), h.RED.format(0.2)),
    **dict.fromkeys(("edited", "empty"), h.GREY.format(0.15)),
}
_WAITING = h.ORANGE.format(0.22)


@dataclass(frozen=True)
class MemoryFile:
    """A file of memory: `text` as it is in the file, `prompt` as the model sees it; credentials masked in both."""

    path: str
    text: str | None
    prompt: str | None
    state: State
    tokens: int
    sent: int | None = None
    """Tokens of it in the prompt, where that has not all of it."""

    @property
    def standing(self) -> str:
        """How it stands to the prompt: `in the prompt`, `3,936 of 15,582 tokens in the prompt`."""
        words = STATES[self.state]
        if self.sent is None:
            return words
        part = part_words(self.sent, self.tokens)
        return words.replace(STATES["same"], part) if self.state in ("same", "masked") else f"{words} ({part})"

    @property
    def content(self) -> str:
        """The text of the file; where it is gone, what the prompt has of it."""
        return self.text if self.text is not None else self.prompt or ""

    def cut(self, room: tuple[int, int] = _CUT) -> str:
        """Return the text as it is shown: of a long one its head and its tail."""
        cut = middle_cut(self.content, *room)
        return cut if cut == self.content else f"{cut}\n({WHOLE.format(self.path)})"

    @property
    def size(self) -> str:
        """`46 tokens, 3 lines`."""
        return f"{counted(self.tokens, 'token')}, {counted(len(self.content.splitlines()), 'line')}"

    @property
    def diff(self) -> FileDiff | None:
        """From what the prompt has to what the file has, where both are there and differ."""
        return FileDiff(self.path, self.prompt, self.text) if self.state == "newer" else None


@dataclass(frozen=True)
class MemoryView:
    """The sources in their order, then the other files below /memory."""

    files: tuple[MemoryFile, ...]
    missing: tuple[str, ...]
    """Sources whose file does not exist."""
    others: tuple[tuple[str, str], ...]
    """(path, size) of files that are not injected: found by search, or read by the agent."""
    stamp: str = ""
    hints: tuple[str, ...] = ()
    """Which files on the disk are not sources, and what to type."""
    room: tuple[int, int] = _CUT
    """Characters of the head and tail of a long file that are shown."""
    conflicts: tuple[OpenConflict, ...] = ()
    """Where two writers disagree, in any file of memory."""
    empty: str = EMPTY
    """What is said where nothing is remembered."""

    @property
    def tokens(self) -> int:
        return sum(file.tokens for file in self.files)

    @property
    def title(self) -> str:
        """`memory · 2 files · 46 tokens`."""
        sent = sum(file.tokens if file.sent is None else file.sent for file in self.files)
        tokens = counted(self.tokens, "token") if sent == self.tokens else part_words(sent, self.tokens)
        return f"memory · {counted(len(self.files), 'file')} · {tokens}"

    @property
    def is_empty(self) -> bool:
        return not self.others and all(file.state == "empty" for file in self.files)

    def text(self) -> str:
        if self.is_empty:
            return page([title_line("memory", self.stamp), self.empty, *self.hints])
        lines = [title_line(self.title, self.stamp)]
        for file in self.files:
            lines += ["", f"{file.path}  ({file.size})  {file.standing}"]
            lines += quoted(file.cut(self.room)) if file.content.strip() else []
            if file.diff:
                lines += ["  not in the prompt yet:", indent(_unseen(file.diff, self.room), "    ")]
        lines += ["", *(f"no file yet: {path}" for path in self.missing)] if self.missing else []
        if self.others:
            lines += ["", "other files below /memory", *(f"  {path}  ({size})" for path, size in self.others)]
        lines += ["", *map(conflict_line, self.conflicts)] if self.conflicts else []
        lines += ["", *self.hints] if self.hints else []
        return page(lines)

    def html(self) -> str:
        return h.box(*self._elements())

    @property
    def elements(self) -> tuple[str, ...]:
        """The elements from top to bottom, one for each file."""
        return tuple(h.box(element, above=False, below=False) for element in self._elements())

    def _elements(self) -> list[h.Html]:
        hints = [h.el("div", h.muted(hint)) for hint in self.hints]
        if self.is_empty:
            return [h.heading("memory", stamp=self.stamp), h.muted(self.empty), *hints]
        body = [h.heading(*self.title.split(" · "), stamp=self.stamp)]
        for file in self.files:
            standing = h.swatch(file.standing, _COLOURS.get(file.state, _WAITING))
            inside = [h.pre(file.cut(self.room)) if file.content.strip() else h.muted("empty")]
            if file.diff:
                words = _unseen(file.diff, self.room)
                is_cut = len(words) < len(file.diff.unified().rstrip("\n"))
                inside += [h.label("not in the prompt yet"), h.pre(words) if is_cut else diff_html(file.diff)]
            head = h.join(h.code(file.path), h.muted(" · ", file.size, " · "), standing)
            body.append(h.fold(head, *inside, opened=True))
        body += [h.el("div", h.muted("no file yet: ", h.code(path))) for path in self.missing]
        if self.others:
            items = [h.el("li", h.code(path), h.muted(" ", size)) for path, size in self.others]
            body.append(h.fold(h.join("other files below /memory: ", str(len(items))), h.el("ul", *items)))
        body += [h.el("div", h.swatch("conflict", _WAITING), " ", conflict_line(one)) for one in self.conflicts]
        return [*body, *hints]


def memory_view(
    snapshot: Snapshot,
    sources: Sequence[str],
    count: Callable[[str], int],
    stamp: str = "",
    at_hand: Iterable[tuple[str, str]] = (),
    conflicts: Sequence[OpenConflict] = (),
    known: State | None = None,
    shares: Mapping[str, tuple[int, int]] | None = None,
) -> MemoryView:
    """Return what is remembered; `count` gives the tokens of a text, `at_hand` names files that could be joined in.

    `known` is the state of all files, where the prompt is not known; `shares` has (tokens in the prompt, tokens of the
    file) of those that are not in it whole.
    """
    paths = list(dict.fromkeys([*sources, *snapshot.memory]))
    files, missing = [], []
    for path in paths:
        if (state := known or _state(snapshot, path)) is None:
            missing.append(path)
            continue
        text, prompt = _masked(snapshot, path), snapshot.memory.get(path)
        shown = text if text is not None else prompt or ""
        sent = (shares or {}).get(path, (None,))[0]
        files.append(MemoryFile(path, text, prompt, state, count(shown) if shown else 0, sent))
    below = sorted(p for p in {*snapshot.files, *snapshot.binary} if p.startswith("/memory/") and p not in paths)
    others = []
    for path in below:
        if (body := snapshot.files.get(path)) is None:
            others.append((path, counted(snapshot.binary[path], "byte")))
        else:
            others.append((path, f"{counted(count(body), 'token')}, {counted(len(body.splitlines()), 'line')}"))
    hints = tuple(f"{file} exists but is not a source: %memory sources add {name}" for name, file in at_hand)
    return MemoryView(tuple(files), tuple(missing), tuple(others), stamp, hints, conflicts=tuple(conflicts))


def part_words(sent: int, tokens: int) -> str:
    """Return `3,936 of 15,582 tokens in the prompt`."""
    return f"{sent:,} of {counted(tokens, 'token')} in the prompt"


def conflict_line(one: OpenConflict) -> str:
    return f"conflict in {one.path}, {one.conflict}: change it with %memory edit {one.path}, or type %memory accept {one.id} to keep it as it is"


def _state(snapshot: Snapshot, path: str) -> State | None:
    """Return how the file stands to the prompt; None where neither has it."""
    text, prompt = _masked(snapshot, path), snapshot.memory.get(path)
    if text is None:
        if path in snapshot.binary:
            return "binary"
        return "gone" if prompt else None
    if prompt is None or not prompt.strip():
        return "new" if text.strip() else "empty"
    if text != prompt:
        return "newer"
    return "same" if text == snapshot.files[path] else "masked"


def _masked(snapshot: Snapshot, path: str) -> str | None:
    text = snapshot.files.get(path)
    return None if text is None else redact(text)


def _unseen(diff: FileDiff, room: tuple[int, int]) -> str:
    return middle_cut(diff.unified().rstrip("\n"), *room)


_DIFF_CUT = (4_000, 2_000)
"""Characters of the head and tail of a long diff; `%memory log` has all of it."""


def entry_view(entry: Entry) -> Picture:
    """Return an entry as a line that opens to its diff: `3 · user · turn 2 · /AGENTS.md · + the first changed line`."""
    turn = f"turn {entry.turn}" if entry.turn else ""
    line = " · ".join(filter(None, (entry.id, entry.origin, turn, entry.path, entry.change(44), entry.note)))
    diff = middle_cut(entry.diff, *_DIFF_CUT) or "(no text)"
    return Picture((), [line], [h.fold(line, h.muted(entry.at), h.pre(diff, low=True))])


def journal_view(entries: Sequence[Entry], most: int = 20) -> Picture:
    """Return the newest entries of the journal, newest first, and how many there are before them."""
    if not entries:
        nothing = "no changes yet: type %memory add TEXT"
        return Picture((), [nothing], [h.muted(nothing)])
    shown = [entry_view(entry) for entry in reversed(entries[-most:])]
    older = len(entries) - most
    rest = [f"{counted(older, 'older change')}: %memory log lists all"] if older > 0 else []
    lines = [*(indent(one.text()) for one in shown), *rest]
    body = [*(h.Html(one.html()) for one in shown), *map(h.muted, rest)]
    return Picture(("journal", counted(len(entries), "change")), lines, body)


def pending_view(items: Sequence[tuple[str, str, FileDiff]], stamp: str = "") -> Picture:
    """Return a card for each (id, why it waits, change): what it would do, why, and what to type."""
    if not items:
        nothing = "nothing needs your approval"
        return Picture((), [nothing], [h.muted(nothing)])
    lines, body = list[str](), list[h.Html]()
    for id_, why, change in items:
        title = f"{id_} · {change.path} · {why}"
        todo = f"%memory accept {id_} applies it, %memory drop {id_} discards it"
        lines += ["", diff_view([change], title).text(), todo]
        body.append(h.frame(h.el("div", h.el("b", title)), diff_html(change), h.muted(todo)))
    return Picture(("needs your approval", counted(len(items), "change")), lines, body, stamp)
