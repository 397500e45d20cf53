"""Facts a summary must not lose: found in messages by rule, checked against it, kept word for word.

A summarizer keeps the gist and drops what can't be guessed again: a path, a ticket number, 37 ms, what the
user forbade, asked to remember and said of themselves. Those are looked for here, in any language that writes them
with digits and Latin letters, and the user's sentences in English, Chinese, Japanese, Korean, German, French and Spanish.
What a look at the data gives again (types, names of columns) is none, and neither are deepnb's own files.
"""

from deepnb.gate.prohibitions import said
from deepnb.values.anchors.block import CLOSE, OPEN, SAID, anchor_block
from deepnb.values.anchors.find import find, lost, union
from deepnb.values.anchors.values import Anchor, AnchorBlock, Kind

__all__ = [
    "CLOSE",
    "OPEN",
    "SAID",
    "Anchor",
    "AnchorBlock",
    "Kind",
    "anchor_block",
    "find",
    "lost",
    "said",
    "union",
]
