"""Tables of a session as DataFrames."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from deepnb.core.budget import PARTS
from deepnb.core.values import Turn


def ledger(turns: Sequence[Turn]) -> pd.DataFrame:
    """One row per model call: what was sent by part, what the provider reported. Figures are tokens."""
    rows = [
        {
            "turn": turn.number,
            "call": call.number,
            "purpose": call.purpose,
            "agent": "/".join(call.path) or "main",
            **{part: call.budget.parts.get(part, 0) for part in PARTS},
            "total": call.budget.total,
            "exact": call.budget.exact,
            "reported": call.usage.input if call.usage else None,
            "cached": call.usage.cached if call.usage else None,
            "output": call.usage.output if call.usage else None,
            "seconds": round(call.seconds, 3),
        }
        for turn in turns
        for call in turn.calls
    ]
    columns = ["turn", "call", "purpose", "agent", *PARTS, "total", "exact", "reported", "cached", "output", "seconds"]
    return pd.DataFrame(rows, columns=columns)
