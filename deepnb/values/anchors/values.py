"""What an anchor is."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["prohibition", "statement", "path", "identifier", "number", "date", "name"]
"""`statement` is what the user asks to remember or says of themselves, `name` what stood in code font."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """One fact: its text as it stood, and for a number the words that say of what it is."""

    kind: Kind
    text: str
    phrase: str = ""


@dataclass(frozen=True, slots=True)
class AnchorBlock:
    """What is appended to a summary: its text, the anchors shown in it, and those there was no room for."""

    text: str = ""
    shown: tuple[Anchor, ...] = ()
    hidden: tuple[Anchor, ...] = ()
