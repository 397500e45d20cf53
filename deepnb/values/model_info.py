"""A chat model as it is listed: whether it can be used here, and what is known of it."""

from dataclasses import dataclass

from deepnb.values.listing import Listing
from deepnb.values.short_repr import short_repr


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model, or one provider whose models can't be used yet."""

    name: str
    """What `%agent use` takes; of a provider that can't be used, the provider."""
    usable: bool
    window: int | None = None
    """Tokens; None where it is unknown."""
    sees: bool | None = None
    """Whether it takes images."""
    caches: bool | None = None
    """Whether its provider caches prompts."""
    note: str = ""
    """`in use`, `no LLM`, where the key is from."""
    do: str = ""
    """What makes it usable, in one line; empty where it is."""

    def __repr__(self) -> str:
        window = f" window={self.window}" if self.window else ""
        return short_repr(self, f"{self.name}{window}" if self.usable else f"{self.name}: {self.do}")


class ModelInfos(Listing[ModelInfo]):
    """Models and providers, those that can be used first."""

    __slots__ = ()
