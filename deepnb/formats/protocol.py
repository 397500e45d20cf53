"""What a package implements to add a format of session files."""

from deepnb.wings.open.opening import Format
from deepnb.wings.open.values import SessionFile

__all__ = ["Format", "SessionFile"]
