"""Facts a summary must not lose: found in messages by rule, checked against it, kept word for word.

A summarizer keeps the gist and drops what can't be guessed again: a path, a ticket number, 37 ms, what the
user forbade. Those are looked for here, in any language that writes them with digits and Latin letters,
and the user's prohibitions in English, Chinese, Japanese, Korean, German, French and Spanish.
"""

from deepnb.core.anchors.block import CLOSE, OPEN, anchor_block
from deepnb.core.anchors.find import find, lost, union
from deepnb.core.anchors.prohibitions import prohibitions
from deepnb.core.anchors.values import Anchor, AnchorBlock, Kind

__all__ = [
    "CLOSE",
    "OPEN",
    "Anchor",
    "AnchorBlock",
    "Kind",
    "anchor_block",
    "find",
    "lost",
    "prohibitions",
    "union",
]
