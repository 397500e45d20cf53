"""What in a text is a credential, and the text without it."""

from deepnb.core.secrets.beside import secrecy
from deepnb.core.secrets.credentials import Finding, credentials, reasons, redact, redact_value, refusal
from deepnb.core.secrets.own import add_own

__all__ = ["Finding", "add_own", "credentials", "reasons", "redact", "redact_value", "refusal", "secrecy"]
