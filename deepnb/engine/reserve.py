"""What a client sets aside of the window for the answer, lowered as the window fills.

A provider refuses a request whose tokens and reserve are together more than the window, and deepagents compacts so
much earlier. A client of Claude reserves 64,000 tokens unless told otherwise: a third of a window of 200,000.
"""

from collections.abc import Mapping
from typing import Any

from deepnb.values.budget import Rule

_NAMES = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def reserves(model: Any, settings: Mapping[str, Any] | None = None) -> dict[str, int]:
    """Name -> tokens, of what a client or the settings of its call reserve; each can be set for one call, too."""
    bound, model = getattr(model, "kwargs", None), getattr(model, "bound", model)
    sent = getattr(model, "_default_params", None)  # OpenAI's has another name for it than its field
    named = isinstance(sent, Mapping) and any(name in sent for name in _NAMES)
    own = sent if named else {name: getattr(model, name, None) for name in _NAMES}
    given = [one for one in (own, bound, settings) if isinstance(one, Mapping)]
    found = {name: one[name] for one in given for name in _NAMES if name in one}
    return {n: v for n, v in found.items() if isinstance(v, int) and not isinstance(v, bool) and v > 0}


def reserve_of(model: Any) -> tuple[int, int]:
    """(tokens that a client reserves for the answer, those of them that are for thinking and so are not lowered)."""
    thinking = getattr(getattr(model, "bound", model), "thinking", None)
    fixed = thinking.get("budget_tokens") if isinstance(thinking, Mapping) else 0
    return max(reserves(model).values(), default=0), fixed if isinstance(fixed, int) else 0


def lowered(model: Any, settings: Mapping[str, Any], rule: Rule, total: int) -> dict[str, int]:
    """The settings that make room for a request of `total` tokens; none where there is room."""
    room = rule.answer_room(total)
    return {} if room is None else {name: room for name, value in reserves(model, settings).items() if value > room}
