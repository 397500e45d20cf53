"""What a request passes on its way to the model, layer by layer, and what each adds to it."""

from dataclasses import dataclass

from deepnb.values.short_repr import short_repr


@dataclass(frozen=True)
class Layer:
    """One middleware of an agent, or a part of the request that no middleware adds."""

    name: str
    does: str
    """In one line."""
    origin: str
    """The system it comes from: deepagents, LangChain, deepnb, or `yours`."""
    parts: tuple[str, ...] = ()
    """The parts of a request (`values.budget.PARTS`) that are its."""
    tools: tuple[str, ...] = ()
    """The tools that it gives the model."""
    tokens: int | None = None
    """What it added to the request that was looked at; None before the first."""


@dataclass(frozen=True)
class Stack:
    """The layers in the order in which a request passes them, the outermost first, and whose request was looked at."""

    layers: tuple[Layer, ...]
    model: str
    call: str = ""
    """`turn 2, call 1`; empty before the first."""
    exact: bool = True
    """Whether tokens were counted, not estimated."""

    def __repr__(self) -> str:
        return short_repr(self, f"over {self.model}: layers={len(self.layers)} tokens={self.tokens}")

    @property
    def tokens(self) -> int:
        return sum(layer.tokens or 0 for layer in self.layers)
