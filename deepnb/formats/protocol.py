"""What a package implements to add a format of session files."""

from deepnb.wings.open.protocol import Format, SessionFile

__all__ = ["Format", "SessionFile"]
