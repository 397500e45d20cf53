"""What a user forbids, sentence by sentence, in seven languages."""

import re
from collections.abc import Iterator

from deepnb.core.own_words import sentences
from deepnb.core.regex import regex

_LONGEST = 400
"""Characters of a prohibition; a longer sentence is cut to the clause that holds it."""

_FORBIDS = regex(
    r"\b(?:do not|don['’]?t|does not|doesn['’]t|must not|mustn['’]t|may not|should not|shouldn['’]t|shall not|you can ?not|you can['’]t"
    r"|never|avoid|refrain from|stop (?:using|doing|adding|writing|making|sending|calling)|no longer|under no circumstances"
    r"|(?:is|are|it's) (?:forbidden|prohibited|off[- ]limits|not (?:allowed|permitted|ok(?:ay)?|acceptable|to be))"
    r"|not allowed|not permitted|forbidden|prohibited|off[- ]limits|keep (?:away|off|out)|hands off|leave .{1,60} (?:alone|untouched|as (?:it|they) (?:is|are))"
    r"|without (?:asking|my|telling|permission|approval)|no (?:more )?[a-z-]{2,30} (?:in|on|at|for|from|without|please|ever|allowed))\b"
    r"|不要|不得|不能|不可|不许|不准|不应|不该|禁止|严禁|切勿|请勿|勿|千万别|(?<![特分区级类个性差识辨告离])别(?![的人处墅名])|避免|不再"
    r"|しないで|するな|ないでください|てはいけ|てはなら|ちゃだめ|禁止|厳禁|避けて"
    r"|하지\s?마|지\s?마세요|지\s?말|금지|안\s?됩니다|안\s?돼|하면\s?안"
    r"|\b(?:niemals|nie|nicht|kein(?:e[mnrs]?)?|verboten|vermeide[nt]?|keinesfalls)\b"
    r"|\b(?:jamais|interdit|évite[zr]?|n['’e]\s?[\wéèêà]{1,20} (?:pas|jamais|plus))\b"
    r"|\b(?:nunca|jamás|prohibid[oa]|evita[rd]?|no (?:uses?|hagas?|toques?|borres?|cambies?|modifiques?|escribas?|envíes?|debes?|se (?:debe|puede)))\b",
    re.IGNORECASE,
)
_ONLY_TALK = regex(
    r"\b(?:I|we|you|it|they|he|she|that|this|there|which|who|what|why) (?:(?:really|just|still|also) )?(?:do not|don['’]?t|does not|doesn['’]t|can ?not|can['’]t)"
    r" (?!want|wish|like|allow|accept|touch|use|let|ever)[a-z]"
    r"|\b(?:why|how come|what if) .{0,40}(?:not|n['’]t)\b|\bdon['’]?t (?:worry|mind|bother me|know|think)\b|\bnever ?mind\b"
    r"|\bnot (?:only|sure|yet|bad)\b|能不能|可不可以|要不要|是不是|不能不|不得不|(?:我|他|她|它|我们)(?:不能|不可|不再)",
    re.IGNORECASE,
)
_CLAUSE = regex(r"(?<=[,;:，；：、])\s*")


def prohibitions(text: str) -> Iterator[str]:
    """The sentences of a text that forbid something."""
    for sentence in sentences(text):
        if forbids(sentence):
            if len(sentence) <= _LONGEST:
                yield sentence
            else:
                yield from (c[:_LONGEST] for c in _CLAUSE().split(sentence) if _FORBIDS().search(c))


def forbids(sentence: str) -> bool:
    """Whether a sentence forbids something."""
    return bool(_FORBIDS().search(sentence) and _FORBIDS().search(_ONLY_TALK().sub(" ", sentence)))
