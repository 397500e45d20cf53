"""One request laid open: its pieces by part, and what changed since the request before it."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.values.budget import PARTS
from deepnb.values.cached import UNKNOWN, Caching, cacheable
from deepnb.values.request import Request, Sent
from deepnb.values.short_repr import short_repr
from deepnb.values.turn import Call


@dataclass(frozen=True)
class Prefix:
    """How much of a request is byte for byte what the request before it began with: UTF-8 bytes of its texts."""

    same: int
    before: int
    """Bytes of the request before."""
    now: int

    @property
    def kept(self) -> float:
        """The share of the request before that stayed, from its beginning: 1 where all of it did."""
        return self.same / self.before if self.before else 1.0


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

    @property
    def prefix(self) -> Prefix | None:
        """How much of its beginning is that of the request before; None for the first."""
        return None if self.before is None else prefix(tuple(self.before), tuple(self.request))


def prefix(before: Sequence[Sent], after: Sequence[Sent]) -> Prefix:
    """The bytes two requests begin with alike: of whole pieces, then of the first that differs."""
    same = 0
    for a, b in zip(before, after, strict=False):
        alike = (a.part, a.label) == (b.part, b.label)
        if a is not b and not (alike and a.text == b.text):
            same += _common(_bytes(a), _bytes(b)) if alike else 0
            break
        same += len(_bytes(a))
    return Prefix(same, sum(len(_bytes(p)) for p in before), sum(len(_bytes(p)) for p in after))


def changes(before: Sequence[Sent], after: Sequence[Sent]) -> tuple[PieceChange, ...]:
    """What differs between two requests: those of one part and label in the same place count as one that changed."""
    start = _alike(before, after)
    end = _alike(before[start:][::-1], after[start:][::-1])
    old, new = list(before[start : len(before) - end]), list(after[start : len(after) - end])
    out: list[PieceChange] = []
    for piece in new:
        at = next((i for i, o in enumerate(old) if (o.part, o.label) == (piece.part, piece.label)), None)
        if at is None or piece.part not in _STANDING:
            same = next((i for i, o in enumerate(old) if o == piece), None)
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
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x is not y and x != y), min(len(a), len(b)))


def _bytes(piece: Sent) -> bytes:
    return piece.text.encode("utf-8", "surrogatepass")


def _common(a: bytes, b: bytes) -> int:
    low, high = 0, min(len(a), len(b))
    while low < high:  # halving: a comparison of slices is as fast as memory
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[:middle] == b[:middle] else (low, middle - 1)
    return low
