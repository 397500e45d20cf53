"""Figures in words: seconds, tokens, costs, counts."""

import math


def seconds(value: float) -> str:
    """A time, always as `0.01 s`: two decimals, so that a saved notebook can mask it."""
    return f"{value if math.isfinite(value) else 0.0:,.2f} s"


def elapsed(value: float) -> str:
    """A time that goes on: `8 s`, `1 min 05 s`, `1 h 02 min`."""
    whole = int(value)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def cost(dollars: float) -> str:
    """US dollars, as `$0.0012`; two decimals from a dollar on."""
    return f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.4f}"


def tokens(count: int, exact: bool = True) -> str:
    """`1,234`; `~1,234` for an estimate."""
    return f"{'' if exact else '~'}{count:,}"


def counted(count: int, noun: str, exact: bool = True) -> str:
    """`1 call`, `2 calls`, `1,234 tokens`; `~1,234 tokens` for an estimate."""
    return f"{tokens(count, exact)} {noun}{'' if count == 1 else 's'}"


def percent(part: float, whole: float) -> str:
    """`65 %`, `0.4 %`, `<0.1 %`; a dash where there is no whole."""
    if whole <= 0:
        return "–"
    value = 100 * part / whole
    if 0 < value < 0.05:
        return "<0.1 %"
    return f"{value:.0f} %" if value >= 9.95 or value <= 0 else f"{value:.1f} %"
