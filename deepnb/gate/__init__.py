"""What in a text is a credential, and the text without it."""

from deepnb.gate.beside import secrecy
from deepnb.gate.credentials import Finding, credentials, reasons, redact, redact_value, refusal
from deepnb.gate.own import add_own

__all__ = ["Finding", "add_own", "credentials", "reasons", "redact", "redact_value", "refusal", "secrecy"]
