"""What calls cost, from the prices the user gave: deepnb ships none, since they change and differ by contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deepnb.values.turn import Usage

Price = tuple[float, float, float]
"""US dollars for a million tokens: of input, of input that was cached, of output."""


def price_of(prices: Mapping[str, Price], model: str, label: str = "") -> Price | None:
    """The price of the model a provider calls `model`, shown under `label`; None where none was given for it.

    A price may be given under either name: `openai:gpt-5.2` or `gpt-5.2`.
    """
    own = not model or label == model or label.partition(":")[2] == model
    for name in (label if own else "", model):
        if name and name in prices:
            return prices[name]
    return next((price for name, price in prices.items() if model and name.partition(":")[2] == model), None)


def cost_of(usage: Usage, price: Price) -> float:
    """US dollars: what was cached at its own price, the rest of the input and the output at theirs."""
    full, cached, output = price
    read = usage.cached or 0
    fresh = max(0, usage.input - read)
    return (fresh * full + read * cached + usage.output * output) / 1_000_000
