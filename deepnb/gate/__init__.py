"""What in a text is a credential, and the text without it."""

from deepnb.gate.credentials import add_own, credentials, leaks, reasons, redact, redact_value, refusal
from deepnb.gate.random_values import secrecy
from deepnb.gate.spans import Finding

__all__ = ["Finding", "add_own", "credentials", "leaks", "reasons", "redact", "redact_value", "refusal", "secrecy"]
