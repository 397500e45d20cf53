"""What in a text is a credential, and the text without it."""

from deepnb.gate.credentials import Finding, add_own, credentials, reasons, redact, redact_value, refusal
from deepnb.gate.random_values import secrecy

__all__ = ["Finding", "add_own", "credentials", "reasons", "redact", "redact_value", "refusal", "secrecy"]
