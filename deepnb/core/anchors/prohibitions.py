"""What a user forbids, asks to remember and says of themselves, sentence by sentence."""

import re
from collections.abc import Iterator

from deepnb.core.own_words import MONTH, sentences
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
    r"|\b(?:why|how come|what if) .{0,40}(?:not|n['’]t)\b|\bdon['’]?t (?:worry|mind|bother me|know|think)\b|\b(?:ich weiß|ich verstehe|je ne sais|no sé)\b.{0,20}\b(?:nicht|pas)\b|\bnever ?mind\b"
    r"|\bnot (?:only|sure|yet|bad)\b|能不能|可不可以|要不要|是不是|不能不|不得不|(?:我|他|她|它|我们)(?:不能|不可|不再)",
    re.IGNORECASE,
)
_WISHES = regex(
    r"\b(?:remember|note that|keep (?:this |that )?in mind|bear in mind|don(?:'|’)?t forget|do not forget|for the record|for future reference|from now on|in future|important:|call me|always|every time|whenever"
    r"|let(?:'|’| u)s (?:use|go with|keep|call|stick)|decision|next step|to-?do|deadline|due (?:on|by)|allerg(?:y|ic)|(?:is|are) called|the (?:reason|cause|bug|fix|answer|result|plan|goal) (?:is|was)|i (?:need|want) .{1,80}? (?:by|before|until|every))\b"  # Let's use DuckDB
    r"|(?:\A|[,;:] )(?:please )?(?:answer|reply|respond|write|speak|talk)(?: to me| everything)?(?: only)? in (?:[A-Z]\w+|(?:plain|simple|short))"  # Answer in German
    r"|\b(?:use|write|say|prefer|take|format|choose|keep to)\b.{1,80}?(?:,? not\b|\binstead of\b|\brather than\b|\beverywhere\b|\bthroughout\b|\bby default\b|\bonly\b)"  # Use tabs, not spaces
    r"|\b(?:merke? (?:dir|sich)|notier(?:e|en)|denke? daran|vergiss nicht|behalte?|ab (?:jetzt|sofort|heute)|künftig|in zukunft|immer|stets|jedes ?mal|nenn(?:e)? mich|wichtig:|(?:die |der )?(?:frist|abgabetermin))(?!\w)"  # Antworte immer
    r"|\b(?:nutze?|verwende?|nimm|schreibe?|sag|benutze?)\b.{1,80}?\b(?:statt|anstatt|anstelle|nicht|nur)\b|\b(?:antworte|schreibe?|sprich)(?: mir)?(?: nur)? auf [A-Z]\w+"  # Nutze Tabs statt Leerzeichen
    r"|\b(?:souviens-toi|souvenez-vous|retiens|retenez|n(?:'|’)oublie[rz]? pas|désormais|dorénavant|toujours|à partir de maintenant|appelle[- ]moi|réponds? en)(?!\w)"  # Réponds toujours
    r"|\b(?:recuerd[ae]|no olvides|anota|apunta|a partir de ahora|de ahora en adelante|siempre|llámame|responde en)\b"  # Recuerda que
    r"|\b(?:utilise[rz]?|usa|utiliza)\b.{1,80}?\b(?:au lieu de|plutôt que|pas|en lugar de|en vez de|no|solo|seulement)\b"  # Utilise A, pas B
    r"|记住|记得|牢记|谨记|从现在起|从今以后|今后|以后|总是|始终|一律|每次|永远|务必|必须|重要[：:]|叫我|请?用.{1,10}(?:回答|回复)|而不是|别忘|(?:请|要|只)用.{1,30}[，,]?不[是要用]|决定|约定|偏好|截止|结论|原因是|过敏"  # 始终用中文回答
    r"|覚えて|今後|常に|いつも|必ず|忘れないで|アレルギー|決め(?:た|まし)|締め切り|기억해|앞으로|항상|반드시|잊지|알레르기|결정했|마감",  # 覚えておいて
    re.IGNORECASE,
)
_MUST = regex(
    r"\b(?:must|ha(?:s|ve) to|(?<!\bi )needs? to|ought to|(?<!\bit )(?<!\bthat )(?<!\bthis )should|(?:is|are) (?:due|required|capped|limited|supposed|obliged|allowed|to be)|(?:we|they|(?:every|no) ?(?:body|one)|only \w+) may)\b"  # All prices must be shown
    r"|\b(?:muss|musst|müssen|darf|dürfen|soll(?:st|en|te|ten)?|verpflichtet|fällig|doi(?:s|t|vent)|devons|il faut|obligatoires?|deb(?:en?|emos)|tienen? que|tenemos que|hay que)(?!\w)|应该|应当|须|只能|最多|至多|最少|至少|なければ|べき|해야",  # Wir dürfen höchstens
    re.IGNORECASE,
)
_OPENS = r"(?:\A|[,;:–—] |\b(?:and|but|because|since|as|so|that|when|if|und|aber|weil|da|dass|wenn|denn|et|mais|car|que|y|pero|porque)\s)(?:(?:\w+ly|now|here|today|also|usually|yes|no|ok(?:ay)?|btw|well|next \w+|(?:on|in|at|from|for|every) \w+) )?"
_OWN = regex(
    rf"{_OPENS}(?:(?:my|our)(?! (?:bad|god|goodness|apologies|mistake|pleasure|turn|question))|(?:mein|unser)(?:e[mnrs]?)?|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?)(?: [\w'’.-]+){{2}}"  # My supervisor is
    r"|\A(?:because of|due to|given|wegen|aufgrund|à cause de|en raison de|por|debido a) (?:my|our|meine[rs]|unsere[rs]|ma|mon|mes|notre|nos|mis?|nuestr[oa]s?)\b"  # Wegen meiner Schwäche
    rf"|{_OPENS}(?:i|we)(?:(?:'|’)(?:m|re|ve|ll)| am| are| have|(?: do(?: not|n(?:'|’)t)| can(?:not|(?:'|’)t)))?+(?: (?:really|also|usually|mostly|only|strongly|all|just))*+"  # I call it X
    r" (?!(?:would|do(?:es|n['’]?t)?|did|want|need|think|thought|guess|see|saw|mean|meant|wonder|know|knew|can(?! only)|could|hope|believe|suppose|understand|like to|got|get|agree|forgot|try|tried|trying|look|looking|should|shall|must|may|have to|sorry|not|afraid|curious|wondering|confused|said|asked|find|found|feel|remember|care|mind|a question|no idea|done|say|tell|a bit|a little|a lot|a few|\d+ of)\b)\w+(?: [^\s?]+|\Z|[.!])"
    rf"|{_OPENS}(?:ich|wir) (?!(?:möchten?|würden?|will|wollen|brauchen?|sehen?|denken?|glauben?|meinen?|finden?|weiß|wissen|(?:kann|können)(?! nur)|könnten?|hätten?|frage|verstehen?|hoffen?|versuchen?|habe (?:eine frage|keine ahnung))\b)\w+"  # Ich heiße Ida
    r"|\A\w+ [^,?]*?\b(?!(?:möchte|würde|brauche|sehe|hätte|kann|könnte|denke|glaube|finde|meine|hoffe|wollen|können|sollen|müssen|sehen|brauchen)\b)\w+(?:e ich|en wir)\b"  # Seit 2020 leite ich
    rf"|{_OPENS}(?:j(?:'|’)(?!aimerais|ai (?:besoin|une question))|(?:je|nous) (?!(?:voudr|veux|voul|souhait|ne (?:sais|comprends|vois)|pense|crois|vois|voyons|peux|pouv|comprends|cherche|me demande|sais)))\w+"  # Je m'appelle Ida
    r"|\b(?:me (?:llamo|gusta)|soy|somos|tengo (?!una pregunta)|tenemos|prefiero|odio|vivo|trabajo|hablo|uso|usamos|estoy (?!segur)|hemos \w+|decidimos)(?!\w)"  # Me llamo Ida
    r"|(?:\A|[，,。；：:、但而])(?:我|咱)们?+(?:今天|现在)?+(?!想|聊|来|要|需|不知|不懂|不明|觉得|认为|看|能|可以|刚|再|问|试|希望|应该|是不是|是否)|(?:私|僕)(?:は|の)|弊社|저[는희]|제 |우리",  # 我叫小明
    re.IGNORECASE,
)
_FIGURE = regex(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th|er|\.)?(?: of| de)? {MONTH}|{MONTH} \d|(?:in|since|until|by|im|seit|bis|en|depuis|avant) {MONTH}|\d{{1,2}}[./]\d{{1,2}}\.(?:\d{{2,4}})?|\d{{4}}-\d\d-\d\d|\d{{1,2}}:\d\d|\d{{1,2}} (?:[ap]\.?m|h|Uhr)\b)|\d\s?[月日号]"  # on 31 August 2027
    r"|[$€£¥₹]\s?\d|\d\s?(?:[€£¥₹%元円원]|(?:euros?|dollars?|pounds?|francs?|pesos|EUR|USD|CHF|GBP)\b)|\b[A-Z]{1,8}[-_]?\d{3,}|\b\d{5,}|\S@\S+\.\w"  # KX-20931
)
_TASK = regex(
    r"\A\W*(?:(?:please|now|then|ok(?:ay)?|and|next|bitte|jetzt|dann|also|maintenant|ahora),? )*(?:(?:show|plot|draw|load|read|open|list|print|compute|calculate|count|sum|group|filter|sort|compare|find|get|give|make|create|add|merge|join|select|take|run|fix|explain|check|look|see|try|go|drop|forecast|analy[sz]e|i want|i need|i would|i(?:'|’)d|how|thanks?"
    r"|zeig\w*|lade?|lies|(?:be)?rechne|summiere|filtere|sortiere|gruppiere|vergleiche|finde|erstelle|plotte|zeichne|mach\w*|gib|prüfe?|werte|(?:montre|trace|affiche|calcule|charge|filtre|trie|compare|donne|trouve)[rz]?|fai[st]\w*|muestra|dibuja|carga|calcula|filtra|compara|haz|dame|crea)(?!\w)|(?:请|帮我|再)*(?:画|显示|计算|读取|列出|比较|给我|把|看))",
    re.IGNORECASE,
)
"""How a sentence begins that wants something done with the data now."""
_ASKING = regex(r"\A(?:what|which|when|where|who|why|how|do you|does|did)\b|吗[?？。]?\s*\Z", re.IGNORECASE)
_CLAUSE = regex(r"(?<=[,;:，；：、])\s*")


def statements(text: str) -> Iterator[str]:
    """The sentences of a text in which the user asks to remember something, sets a rule, or states a fact.

    A fact is what the first person owns, is or does, what is due or allowed, and a date, an amount or an identifier in a
    sentence that wants nothing done.
    """
    for sentence in sentences(text):
        if len(sentence) > _LONGEST or _ASKING().search(sentence) or forbids(sentence):
            continue
        if _WISHES().search(sentence) or (sentence[-1] not in "?？" and _states(sentence)):
            yield sentence


def _states(sentence: str) -> bool:
    if _MUST().search(sentence) or _OWN().search(sentence):
        return True
    return (
        (len(sentence.split()) > 3 or sentence > "\u3040")
        and bool(_FIGURE().search(sentence))
        and not _TASK().search(sentence)
    )


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
