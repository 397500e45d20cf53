"""Lines that tell an agent what to do, in English, Chinese, German and common Spanish and French words.

Generous on purpose: a line that is held only costs a question, and only if a tool's output brought it in.
A sentence that begins with a command's verb counts (`Run tests with make test`: asked about), the same said
as a fact does not (`tests run with make test`: passes).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from deepnb.core.gate.sources import Sources, came_from
from deepnb.core.regex import regex

_VERBS = (
    "use|run|call|send|add|write|include|append|prepend|put|prefix|set|avoid|keep|skip|answer|reply|respond|treat|trust|approve"
    "|delete|remove|commit|push|fetch|download|upload|install|execute|copy|forward|email|e-mail|share|print|say|tell|start|begin|end"
    "|refer|follow|obey|store|save|record|disable|enable|turn|accept|allow|bypass|visit|act|pretend|assume|consider|recommend"
    "|let|have|give|grant|convert|translate|format|instruct|inform|notify|contact|prefer|stop|replace|rename|open|read|check|pay"
    "|drop|hide|reveal|post|publish|switch|go|look|pass|return|show|report|ask|wait|try|pick|choose|select|mark|log|quote"
)
_GERMAN = (
    "sende|schicke|schreibe?|füge|antworte|führe|rufe?|lösche|installiere|lade|öffne|leite|vertraue|behandle|speichere|notiere"
    "|beachte|nimm|gib|setze|kopiere|teile|schalte|hänge|erwähne|empfiehl|nenne|ziehe|rechne|beende|frage?|hole|starte|halte"
    "|lass|sage?|zeige|prüfe|überspringe|entferne|ersetze|wechsle|vermeide|wähle|bevorzuge"
)
_ROMANCE = (
    "usa|utiliza|ejecuta|envía|añade|escribe|ignora|responde|borra|guarda|evita|utilisez?|lancez?|envoyez?|ajoutez?|écri(?:s|vez)"
    "|ignorez?|répond(?:s|ez)|supprimez?|enregistrez?|évitez?"
)
_LEAD = r"^[\s>#*+\-/!<|\"'`\[\]{(:,;\d.)]{0,24}(?:(?:[\w ]{1,24}):[\s\"'*]{0,4})?"
_NO_COMMAND = r"(?![\w\-'(.]|\s*(?:[:=|,)]|\b(?:is|are|was|were|of|has|had|time|times|date|size|shows?|issues?|source|number|difference|replicas?|rate|points?|logs?|cases?|ist|hat|sind)\b))"
_ENGLISH = regex(
    r"\b(?:always|never|must(?:n't)?|should(?:n't)?|shall|do\s+not|don'?t|remember|from\s+now\s+on|going\s+forward|henceforth|in\s+future"
    r"|whenever|make\s+sure|be\s+sure|ensure|ignore|disregard|forget|note\s+that|you\s+(?:are|will|can|may|have|need|must|should|were)"
    r"|(?:user|users|owner|admin|customer|team|he|she|they)(?:'s)?\s+(?:wants?|wishes|prefers?|asks?|asked|likes?|expects?|requires?|requested|instructed|"
    r"insists?|needs?|said|says|told|preference|demands?)|please|only\s+use|use\s+only|(?:before|after|at|in|on)\s+(?:every|each)|(?:every|each)\s+time"
    r"|instead\s+of|(?:is|are|be)\s+(?:required|mandatory|forbidden|prohibited|important|not\s+allowed|to\s+be)|(?:has|have|need|needs)\s+to"
    r"|under\s+no\s+circumstances|no\s+longer|at\s+all\s+times|without\s+exception|system\s+prompt|previous\s+instructions?|mandatory|may\s+not|cannot\s+be\s+told)\b"
    r"|\bnote\s*:|\bimportant\s*:|\brule\s*:|\bpreference\s*:",
    re.IGNORECASE,
)
_CHINESE = regex(
    r"记住|谨记|牢记|切记|请(?!求|帖|假)|始终|总是|永远|永不|一律|不要|不得|不准|不许|不可以|必须|必需|务必|务请|从现在起|从今|今后|以后|往后|每次|每当|凡是"
    r"|禁止|严禁|切勿|请勿|勿|应该|应当|应始终|须(?!知)|(?<![类级性区特分个识差辨鉴派告])别(?![名的处人墅针称])|一定要|只(?:用|能|使用|准|许)|优先|忽略|无视|忘记|确保"
    r"|用户(?:本人)?(?:不)?(?:要求|喜欢|希望|想|偏好|需要|说|指示|规定|要)|都要|你(?:是|现在|要|必|应|将)|無視|必ず|常に|覚えて|してください|禁止|항상|반드시"
)
_OTHERS = regex(
    r"\b(?:immer|nie|niemals|muss|musst|müssen|müsst|soll(?:st|en|t|te|ten)?|merke?\s+(?:dir|euch)|denke?\s+daran|ab\s+(?:jetzt|sofort|heute)|von\s+nun\s+an"
    r"|künftig|zukünftig|stets|bitte|verwende(?:n|t)?|nutze|benutze|darf(?:st)?|achte|stelle?\s+sicher|ignorier(?:e|en|t)|vergiss|jedes\s+mal"
    r"|(?:be)?nutzer(?:in)?\s+(?:will|möchte|wünscht|bevorzugt|verlangt|bat|hat\s+gebeten|mag|braucht|zieht|besteht)|(?:vor|nach|bei|in|an)\s+jede[mnrs]?|grundsätzlich"
    r"|ausschließlich|nur\s+noch|zwingend|unbedingt|keinesfalls|unter\s+keinen\s+umständen|verboten|du\s+(?:bist|sollst|wirst|kannst)|niemandem|zu\s+\w{3,20}en\W{0,3}$"
    r"|siempre|nunca|jamás|debes?|deben|recuerda|no\s+olvides|por\s+favor|a\s+partir\s+de\s+ahora|de\s+ahora\s+en\s+adelante|asegúrate|el\s+usuario\s+(?:quiere|prefiere|pidió|desea)"
    r"|toujours|jamais|doi(?:s|t|vent)|devez|n'oublie[zs]?|souviens|s'il\s+(?:te|vous)\s+plaît|désormais|à\s+partir\s+de\s+maintenant|assurez?"
    r"|l'utilisateur\s+(?:veut|préfère|souhaite|a\s+demandé))\b",
    re.IGNORECASE,
)
_COMMAND = regex(rf"{_LEAD}(?:{_VERBS}|{_GERMAN}|{_ROMANCE})\b{_NO_COMMAND}", re.IGNORECASE)
_SENTENCE = regex(r"(?<=[.!?;])\s+|\\n|[。！？；]|<!--|\*/|/\*")
_LONGEST = 4000  # of a line; a rule hidden further along is looked for in pieces of this length


def is_directive(line: str) -> bool:
    """Whether a line reads like an instruction, a rule or a wish of the user's."""
    pieces = [line[at : at + _LONGEST] for at in range(0, len(line), _LONGEST - 100)] or [""]
    return any(_directive(piece) for piece in pieces)


def _directive(text: str) -> bool:
    if _ENGLISH().search(text) or _CHINESE().search(text) or _OTHERS().search(text):
        return True
    return any(_COMMAND().match(sentence) for sentence in _SENTENCE().split(text) if sentence)


def held_lines(
    added_lines: Iterable[str], tool_texts: Iterable[str] | Sources, user_texts: Iterable[str] | Sources
) -> tuple[str, ...]:
    """The added lines that instruct, came out of a tool's output, and are not what the user said."""
    directives = [line for line in added_lines if is_directive(line)]
    if not directives:
        return ()
    tools = tool_texts if isinstance(tool_texts, Sources) else Sources(tool_texts)
    users = user_texts if isinstance(user_texts, Sources) else Sources(user_texts)
    return tuple(line for line in directives if came_from(line, tools) and not came_from(line, users))
