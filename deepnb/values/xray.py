"""One request laid open: what a provider had cached of it, its pieces by part, and the layers that made it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from deepnb.values.budget import PARTS
from deepnb.values.request import Request, Sent
from deepnb.values.text import short_repr
from deepnb.values.turn import Call, Turn, Usage

LEAST = 1_024
"""Tokens below which Anthropic and OpenAI cache nothing."""


def last_cached(turns: Sequence[Turn]) -> Usage | None:
    """Return the usage of the main agent's last call for an answer; None where no token of its calls was cached so far."""
    calls = [call for turn in turns for call in turn.calls if call.usage and not call.path]
    answers = [call.usage for call in calls if call.purpose == "answer"]
    return answers[-1] if answers and any(call.usage.cached for call in calls if call.usage) else None


@dataclass(frozen=True)
class Caching:
    """What is known of how a provider caches a prompt."""

    marks: bool = False
    """Whether it keeps a prefix only up to the marks that are set (Anthropic's: tools, system prompt, messages)."""
    least: int = 0
    """Tokens below which it keeps nothing."""


UNKNOWN = Caching()


def cacheable(before: Request, now: Request, how: Caching) -> int:
    """Return tokens at the beginning of a request that a provider can have kept from the one before it.

    Templates of local models read tools before the system prompt or after it: then what is the same in both orders.
    """
    if how.marks:
        same = same_beginning(before, now)
        found = max((end for end in _marked_ends(before) if end <= same), default=0)
    else:
        found = min(same_beginning(before, now), same_beginning(_tools_last(before), _tools_last(now)))
    return found if found >= how.least else 0


def same_beginning(before: Iterable[Sent], now: Iterable[Sent]) -> int:
    """Return tokens at the beginning of a request that are as in another."""
    now = tuple(now)
    return sum(piece.tokens for piece in now[: _alike(tuple(before), now)])


def _tools_last(request: Request) -> Iterator[Sent]:
    tools = [piece for piece in request.head if piece.part == "tools"]
    return chain((piece for piece in request.head if piece.part != "tools"), tools, *request.body)


def _marked_ends(request: Request) -> Iterator[int]:
    """Yield where the marks of a request stand, in tokens from its beginning, as `engine.prompt_cache` sets them."""
    head = list(request.head)
    memory = next((i for i, piece in enumerate(head) if piece.part == "memory"), 0)
    while memory and not head[memory - 1].text.strip():  # the blank lines above it are of the same block
        memory -= 1
    yield sum(piece.tokens for piece in head[:memory])
    total = sum(piece.tokens for piece in head)
    yield total
    answer = max((i for i, one in enumerate(request.body) if one and one[0].part == "assistant"), default=0)
    for number, pieces in enumerate(request.body):
        if number == answer:
            yield total
        total += sum(piece.tokens for piece in pieces)
    yield total


def _is_same(a: Sent, b: Sent) -> bool:
    return a is b or (a.part, a.label, a.text) == (b.part, b.label, b.text)


# -- One request laid open: its pieces by part, and what changed since the request before it


@dataclass(frozen=True)
class PieceChange:
    """A piece that is another now; `before` is None for a new one, `after` for one that is gone."""

    before: Sent | None
    after: Sent | None

    @property
    def piece(self) -> Sent:
        piece = self.after or self.before
        assert piece is not None
        return piece


@dataclass(frozen=True)
class Xray:
    """What one call was sent. Credentials are redacted where it is shown, not here."""

    turn: int
    call: Call
    request: Request
    before: Request | None = None
    """The request before it of the same agent and purpose; None for the first."""
    since: str = ""
    """Which call that was: `turn 2, call 1`."""
    caching: Caching | None = UNKNOWN
    """How its provider caches prompts; None where another model was sent the request before it."""

    def __repr__(self) -> str:
        return short_repr(self, f"of turn {self.turn}, call {self.call.number}: tokens={self.request.tokens}")

    @property
    def parts(self) -> dict[str, tuple[Sent, ...]]:
        """part -> its pieces in the order in which they were sent; parts that were not are left out."""
        found: dict[str, list[Sent]] = {}
        for piece in self.request:
            found.setdefault(piece.part, []).append(piece)
        return {part: tuple(found[part]) for part in PARTS if part in found}

    @property
    def changes(self) -> tuple[PieceChange, ...]:
        """What came, went or changed since the request before, in order."""
        return () if self.before is None else changes(tuple(self.before), tuple(self.request))

    @property
    def cacheable(self) -> int | None:
        """Tokens that the provider can have kept from the request before; None for the first."""
        if self.before is None:
            return None
        return 0 if self.caching is None else cacheable(self.before, self.request, self.caching)


def changes(before: Sequence[Sent], after: Sequence[Sent]) -> tuple[PieceChange, ...]:
    """Return what differs between two requests: those of one part and label in the same place count as one that changed."""
    start = _alike(before, after)
    end = _alike(before[start:][::-1], after[start:][::-1])
    old, new = list(before[start : len(before) - end]), list(after[start : len(after) - end])
    out: list[PieceChange] = []
    for piece in new:
        at = next((i for i, o in enumerate(old) if (o.part, o.label) == (piece.part, piece.label)), None)
        if at is None or piece.part not in _STANDING:
            same = next((i for i, o in enumerate(old) if _is_same(o, piece)), None)
            if same is None:
                out.append(PieceChange(None, piece))
            else:
                del old[same]
            continue
        was = old.pop(at)
        if was.text != piece.text:
            out.append(PieceChange(was, piece))
    return (*(PieceChange(piece, None) for piece in old), *out)


_STANDING = ("system", "memory", "skills", "tools", "summary")
"""Parts a request has one of: another text in them is a change, not one that came and one that went."""


def _alike(a: Sequence[Sent], b: Sequence[Sent]) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if not _is_same(x, y)), min(len(a), len(b)))


# -- What a request passes on its way to the model, layer by layer, and what each adds to it


@dataclass(frozen=True)
class Layer:
    """One middleware of an agent, or a part of the request that no middleware adds."""

    name: str
    does: str
    origin: str
    """The system it comes from: deepagents, LangChain, deepnb, or `yours`."""
    parts: tuple[str, ...] = ()
    """The parts of a request (`values.budget.PARTS`) that are its."""
    tools: tuple[str, ...] = ()
    tokens: int | None = None
    """What it added to the request that was looked at; None before the first."""


@dataclass(frozen=True)
class Node:
    """One node of a graph, and those it leads to: `→ act` always, `⇢ act` on a condition."""

    name: str
    leads: tuple[str, ...] = ()
    runs: bool = False
    """Whether it is to run next in the thread."""


def nodes(names: Sequence[str], edges: Sequence[tuple[str, str, bool]], runs: Sequence[str]) -> tuple[Node, ...]:
    """Return the nodes of a graph in the order of its edges, which are (from, to, whether on a condition), then the others."""
    names = list(dict.fromkeys([*(name for edge in edges for name in edge[:2]), *names]))
    return tuple(
        Node(name, tuple(f"{'⇢' if maybe else '→'} {to}" for begin, to, maybe in edges if begin == name), name in runs)
        for name in sorted(names, key=lambda name: (name != "__start__") + (name == "__end__"))
    )


@dataclass(frozen=True)
class Stack:
    """The layers in the order in which a request passes them, the outermost first, and whose request was looked at."""

    layers: tuple[Layer, ...]
    model: str
    call: str = ""
    """`turn 2, call 1`; empty before the first."""
    exact: bool = True
    """Whether tokens were counted, not estimated."""
    nodes: tuple[Node, ...] = ()
    """Of a graph of somebody else's."""
    channels: tuple[tuple[str, int, str], ...] = ()
    """What turns changed in the state of such a graph, beside its messages: channel, turn, and the value then."""

    def __repr__(self) -> str:
        return short_repr(self, f"over {self.model}: layers={len(self.layers)} tokens={self.tokens}")

    @property
    def tokens(self) -> int:
        return sum(layer.tokens or 0 for layer in self.layers)
