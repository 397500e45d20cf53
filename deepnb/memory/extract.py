"""What a user said that is worth keeping, found by rule: for when no model can be asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from deepnb.core.anchors import prohibitions, sentences

_KEEP = re.compile(
    r"\b(?:remember|note that|keep in mind|from now on|in future|for the record|make sure|important|deadline|due (?:on|by)"
    r"|we (?:decided|agreed|chose|will|use|are using|switched)|I (?:decided|prefer|always|never|want|like|need|use|work|live|hate|chose)"
    r"|let(?:['’]s| us) (?:use|go with|keep|call)|decision|decided|agreed|to-?do|next step|always|must|my (?:name|email|team|project|boss|goal|preference)s?"
    r"|(?:is|are) called|the (?:reason|cause|bug|fix|answer|result|plan|goal|password policy) (?:is|was))\b"
    r"|记住|记得|牢记|从现在起|以后|决定|约定|偏好|我(?:更?喜欢|偏好|需要|想要|总是|从不|叫|在|用)|截止|必须|务必|重要|结论|原因是|计划"
    r"|覚えて|今後|決め|必ず|締め切り|重要|私は|기억|앞으로|결정|반드시|마감|중요|저는",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[?？]\s*$|^\s*(?:what|which|when|where|who|why|how|do you|can you|could you)\b", re.IGNORECASE)


def worth_keeping(texts: Iterable[str]) -> Iterator[str]:
    """The sentences of a user's messages that tell of a decision, a preference, a rule or a fact; each once."""
    seen: set[str] = set()
    for text in texts:
        forbidden = set(prohibitions(text))
        for sentence in sentences(text):
            wanted = sentence in forbidden or (_KEEP.search(sentence) and not _QUESTION.search(sentence))
            if wanted and len(sentence) <= 400 and sentence not in seen:
                seen.add(sentence)
                yield sentence
