"""What a setting of `%config DeepNB` does once it is changed, in a line."""

from collections.abc import Mapping

from deepnb.core.budget import Rule
from deepnb.views.budget import rule_words
from deepnb.views.text import short

_SIZES = ("window", "trigger", "keep")
_AT_ONCE = ("rerun", "stop_at_approval", "stream_hz", "updates", "offer_explain", "clock")
_VALUE = 60


def setting_words(name: str, value: object, rule: Rule) -> str:
    """`window is 6,500: compacts at 85 % of the window ...`, `max_steps is 5 from the next turn on`."""
    if name in _SIZES:
        return f"{name} is {_value(value)}: {rule_words(rule)}"
    when = "" if name in _AT_ONCE else " from the next turn on"
    return f"{name} is {_value(value)}{when}"


def _value(value: object) -> str:
    if value is None:
        return "the default"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return short(", ".join(f"{key}: {one}" for key, one in value.items()) or "empty", _VALUE)
    return short(str(value), _VALUE) or "empty"
