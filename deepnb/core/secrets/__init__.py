"""What in a text is a credential, and the text without it."""

from deepnb.core.secrets.credentials import Finding, credentials, reasons, redact, redact_value, refusal

__all__ = ["Finding", "credentials", "reasons", "redact", "redact_value", "refusal"]
