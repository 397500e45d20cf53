"""The gate's rules, pure: what is a credential, and what is an instruction that a tool brought in."""

from deepnb.core.gate.credentials import Finding, credentials, redact, redact_value, refusal
from deepnb.core.gate.directive import held_lines, is_directive
from deepnb.core.gate.sources import Sources, came_from

__all__ = [
    "Finding",
    "Sources",
    "came_from",
    "credentials",
    "held_lines",
    "is_directive",
    "redact",
    "redact_value",
    "refusal",
]
