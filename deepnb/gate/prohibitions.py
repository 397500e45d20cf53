"""What a user forbids, asks to remember and says of themselves, sentence by sentence."""

import re
from collections.abc import Iterator
from typing import Literal

from deepnb.gate.own_words import MONTH, sentences
from deepnb.gate.regex import regex

_LONGEST = 400
"""Characters of a prohibition; a longer sentence is cut to the clause that holds it."""

_VERBS = """
accept act add address adopt advertise alert allow annotate announce anonymise anonymize answer apologise apologize
append apply appoint approve archive ask assign assume attach authorise authorize avoid back ban begin believe bill
blame block book bring broadcast build bump buy bypass cache calculate call cancel cap change charge check choose cite
claim clear clone close collect combine commit compare complete comply compose compute conceal confirm connect consider
contact continue convert copy count crawl create credit debit debug declare decline decrease decrypt defer delay
delete deliver demand deny deploy deposit describe disable discard disclose disconnect dispatch display divide do
document donate double downgrade download draft draw drop dump edit email embed enable encrypt end endorse enforce
enroll erase escalate establish estimate exclude execute expand export expose extend favor favour fetch filter find
finish fix follow force format forward gather generate get give go grade grant greet group halve hand hash have help
hide hold identify import include increase inform inject insert insist install instruct introduce invent invite join
keep label leak let limit link list load lock log look lower mail make mark mask mention merge mirror mount move
multiply mute name notify obey omit open order pass patch pause pay permit pick pin ping plot post postpone praise
prefer prefix prepare prepend present preserve pretend print produce promote publish purchase purge push put query
quote raise rank rate read rebase recommend record redact redirect reduce refer refund refuse regard register
reimburse reject relay release remove rename render rephrase replace replicate reply report require reroute reset
respect respond restore restrict resume retain return reveal revert review revise rewrite round route run save say
schedule score scrape search select sell send serve set share shift ship shorten show sign silence skip sort speak
split start state stop store subscribe substitute subtract sum summarise summarize support suppress swap switch sync
synchronise synchronize tag take talk tell test thank transfer transform translate treat truncate trust try turn
unlock update upgrade upload use validate verify view visit wait warn wipe wire withdraw work wrap write
"""
_GERMAN = (
    "sende|schicke|schreibe?|füge|antworte|führe|rufe?|lösche|installiere|lade|öffne|leite|vertraue|behandle|speichere|notiere"
    "|beachte|nimm|gib|setze|kopiere|teile|schalte|hänge|erwähne|empfiehl|nenne|ziehe|rechne|beende|frage?|hole|starte|halte"
    "|lass|sage?|zeige?|zeichne|plotte|summiere|filtere|sortiere|gruppiere|vergleiche|finde|erstelle|berechne|mache?|lies|prüfe|überspringe|entferne|ersetze|wechsle|vermeide|wähle|bevorzuge"
)
_ROMANCE = (
    "usa|utiliza|ejecuta|envía|añade|escribe|ignora|responde|borra|guarda|evita|utilisez?|lancez?|envoyez?|ajoutez?|écri(?:s|vez)"
    "|(?:montre|trace|affiche|calcule|charge|filtre|trie|compare|donne|trouve)z?|fais|faites|muestra|dibuja|carga|calcula|filtra|compara|haz|dame|crea"
    "|ignorez?|répond(?:s|ez)|supprimez?|enregistrez?|évitez?"
)
LEAD = r"^[\s>#*+\-/!<|\"'`\[\]{(:,;\d.)]{0,24}(?:(?:[\w ]{1,24})[\"']?:[\s\"'*]{0,4})?"
_NO_COMMAND = r"(?![\w\-'(.]|\s*(?:[:=|,)]|\b(?:is|are|was|were|of|has|had|time|times|date|size|shows?|issues?|source|number|difference|replicas?|rate|points?|logs?|cases?|ist|hat|sind)\b|\s+\w+\s+(?:is|are|was|were|has|have|had|holds?|contains?|ist|hat)\b))"
COMMAND = regex(rf"{LEAD}(?:{'|'.join(_VERBS.split())}|e-mail|{_GERMAN}|{_ROMANCE})\b{_NO_COMMAND}", re.IGNORECASE)
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
    r"|\b(?:why|how come|what if) .{0,40}(?:not|n['’]t)\b|\bdon['’]?t (?:worry|mind|bother me|know|think)\b|\b(?:ich weiß|ich verstehe|je ne (?:sais|comprends|vois|peux)|no sé)\b.{0,20}\b(?:nicht|pas)\b|\bnever ?mind\b"
    r"|\bnot (?:only|sure|yet|bad)\b|能不能|可不可以|要不要|是不是|不能不|不得不|(?:我|他|她|它|我们)(?:不能|不可|不再)",
    re.IGNORECASE,
)
_WISHES = regex(
    r"\b(?:remember|note that|keep (?:this |that )?in mind|bear in mind|don(?:'|’)?t forget|do not forget|(?:i|we)(?:'|’)d rather|lieber|for the record|for future reference|from now on|in future|important:|call me|always|every time|whenever"
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
_OPENS = r"(?:\A|[,;:–—] |\b(?:and|but|because|since|as|so|that|when|if|und|aber|weil|da|dass|wenn|denn|et|mais|car|que|y|pero|porque)\s)(?:(?:\w+ly|now|here|today|tomorrow|also|usually|yes|no|ok(?:ay)?|btw|well|next \w+|(?:on|in|at|from|for|every) \w+) )?"
_FACT = regex(
    r"\b(?:must|ha(?:s|ve) to|(?<!\bi )needs? to|ought to|(?<!\bit )(?<!\bthat )(?<!\bthis )should|(?:is|are) (?:due|required|capped|limited|supposed|obliged|allowed|to be)|(?:we|they|(?:every|no) ?(?:body|one)|only \w+) may)\b"  # All prices must be shown
    r"|\b(?:muss|musst|müssen|darf|dürfen|soll(?:st|en|te|ten)?|verpflichtet|fällig|doi(?:s|t|vent)|devons|il faut|obligatoires?|deb(?:en?|emos)|tienen? que|tenemos que|hay que)(?!\w)|应该|应当|须|只能|最多|至多|最少|至少|なければ|べき|해야"  # Wir dürfen höchstens
    rf"|{_OPENS}(?:(?:my|our)(?! (?:bad|god|goodness|apologies|mistake|pleasure|turn|question))|(?:mein|unser)(?:e[mnrs]?)?|mon|ma|mes|notre|nos|mis?|nuestr[oa]s?)(?: [\w'’.-]+){{2}}"  # My supervisor is
    r"|\A(?:because of|due to|given|wegen|aufgrund|à cause de|en raison de|por|debido a) (?:my|our|meine[rs]|unsere[rs]|ma|mon|mes|notre|nos|mis?|nuestr[oa]s?)\b"  # Wegen meiner Schwäche
    rf"|{_OPENS}(?:i|we)(?:(?:'|’)(?:m|re|ve|ll)| am| are| have|(?: do(?: not|n(?:'|’)t)| can(?:not|(?:'|’)t)))?+(?: (?:really|also|usually|mostly|only|strongly|all|just))*+"  # I call it X
    r" (?!(?:would|do(?:es|n['’]?t)?|did|want|need|think|thought|guess|see|saw|mean|meant|wonder|know|knew|can(?! only)|could|hope|believe|suppose|understand|like to|got|get|agree|forgot|try|tried|trying|look|looking|should|shall|must|may|have to|sorry|not|afraid|curious|wondering|confused|said|asked|find|found|feel|remember|care|mind|a question|no idea|done|say|tell|a bit|a little|a lot|a few|\d+ of)\b)\w+(?: [^\s?]+|\Z|[.!])"
    r"|\A(?:mir|uns|bei (?:mir|uns)|unter uns|chez (?:moi|nous)|pour (?:moi|nous)|a mí|para mí)\b|\b(?:reach|call|contact|mail|erreicht|erreichst|contacte[rz]?) (?:me|mich|us|uns)\b"  # Mir sind Tabellen lieber
    rf"|{_OPENS}(?:ich|wir) (?!(?:möchten?|würden?|will|wollen|brauchen?|sehen?|denken?|glauben?|meinen?|finden?|weiß|wissen|(?:kann|können)(?! nur)|könnten?|hätten?|frage|verstehen?|hoffen?|versuchen?|habe (?:eine frage|keine ahnung))\b)\w+"  # Ich heiße Ida
    r"|\A\w+ [^,?]*?\b(?!(?:möchte|würde|brauche|sehe|hätte|kann|könnte|denke|glaube|finde|meine|hoffe|wollen|können|sollen|müssen|sehen|brauchen)\b)\w+(?:e ich|en wir)\b"  # Seit 2020 leite ich
    rf"|{_OPENS}(?:j(?:'|’)(?!aimerais|ai (?:besoin|une question))|(?:je|nous) (?!(?:voudr|veux|voul|souhait|ne (?:sais|comprends|vois)|pense|crois|vois|voyons|peux|pouv|comprends|cherche|me demande|sais)))\w+"  # Je m'appelle Ida
    r"|\b(?:me (?:llamo|gusta)|soy|tengo (?!una pregunta)|(?!vamos|veamos|podemos|queremos)\w+(?:a|e|i)mos|prefiero|odio|vivo|trabajo|hablo|uso|estoy (?!segur))(?!\w)"  # Me llamo Ida
    r"|(?:\A|[，,。；：:、但而])(?:我|咱)们?+(?:今天|现在)?+(?!想|聊|来|要|需|不知|不懂|不明|觉得|认为|看|能|可以|刚|再|问|试|希望|应该|是不是|是否)|(?:私|僕)(?:は|の)|弊社|저[는희]|제 |우리",  # 我叫小明
    re.IGNORECASE,
)
_FIGURE = regex(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th|er|\.)?(?: of| de)? {MONTH}|{MONTH} \d|(?:in|since|until|by|im|seit|bis|ende|en|depuis|avant|de|desde) {MONTH}|\d{{1,2}}[./]\d{{1,2}}\.(?:\d{{2,4}})?|\d{{4}}-\d\d|\d{{1,2}}:\d\d|\d{{1,2}} (?:[ap]\.?m|h|Uhr)\b)|\d\s?[月日号]"  # on 31 August 2027
    r"|[$€£¥₹]\s?\d|\d\s?(?:k?[€£¥₹%元円원]|(?:euros?|dollars?|pounds?|francs?|pesos|EUR|USD|CHF|GBP)\b)|\b[A-Z]{1,8}[-_]?\d{3,}|\b\d{5,}|\S@\S+\.\w|(?-i:\b[A-ZÄÖÜ]\w+ \d)"  # KX-20931, Sample 12
    r"|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|next (?:week|month|year)|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|(?:lun|mar|mercre|jeu|vendre|same)dis?|(?:lunes|martes|miércoles|jueves|viernes|sábados?|domingos?))\b|周[一-日天末]|星期|每[天周月年]|下[周月]|只有|负责|审批|批准"  # every second Thursday
    r"|\b(?:only|nobody|no one|everyone|everybody|nur|niemand|seule?s?|personne|solo|nadie)\b|(?-i:\b(?:Frau|Herrn?|Mme|Mlle|M|Mr|Mrs|Ms|Dr|Prof|Sra?|Srta)\.? [A-ZÄÖÜÉ])",  # Only Dr. Yun
    re.IGNORECASE,
)
_TALK = regex(
    r"\A\W*(?:(?:ok(?:ay)?|yes|no|great|good|nice|thanks?|thank you|and|also|hmm|so|but|ja|gut|danke|super|und|oui|merci|et|sí|gracias|y|好的?|谢谢)\b[,.!，]? ?)*(?:(?:please|now|then|next|same|again|hello|hi|let|i|we|this|that|it|these|those|there|here|my bad|try|see|go|forecast|predict"
    r"|the (?:data|table|file|plot|chart|ax[ei]s|column|row|code|result|output|title|legend|first|second|third|last|other|next)s?|bitte|jetzt|nun|dann|ich|wir|das (?:ist|war|sieht|geht|passt|stimmt|klingt)|es|wie|hier|die (?:daten|tabelle|spalte|kurve|achse|zweite|erste)n?"
    r"|maintenant|je|nous|ça|cela|voici|le (?:graphique|tableau)|c['’]est (?:bon|bien|parfait|faux)|ahora|eso|quiero|quisiera|el gráfico|la tabla)\b|请|帮我|再|画|显示|计算|读取|列出|比较|给我|把|看|按|现在|这|那|我)",
    re.IGNORECASE,
)
"""How a sentence begins that wants something now, or speaks of what was just shown."""
_ASKING = regex(r"\A(?:what|which|when|where|who|why|how|do you|does|did)\b|吗[?？。]?\s*\Z", re.IGNORECASE)
_CLAUSE = regex(r"(?<=[,;:，；：、])\s*")


def said(text: str) -> Iterator[tuple[Literal["prohibition", "statement"], str]]:
    """(prohibition or statement, the sentence) for what the user forbids, wants remembered or as a rule, or states."""
    for sentence in sentences(text):
        fits = len(sentence) <= _LONGEST
        if forbids(sentence):
            clauses = [one[:_LONGEST] for one in _CLAUSE().split(sentence) if _FORBIDS().search(one)]
            yield from (("prohibition", one) for one in ([sentence] if fits else clauses))
        elif fits and not _ASKING().search(sentence) and (_WISHES().search(sentence) or _states(sentence)):
            yield "statement", sentence


def _states(sentence: str) -> bool:
    """Whether it is of the first person, of what is due or allowed, or has a figure and wants nothing done."""
    if sentence[-1] in "?？" or _FACT().search(sentence):
        return sentence[-1] not in "?？"
    if _TALK().match(sentence) or COMMAND().match(sentence):
        return False
    return bool(_FIGURE().search(sentence)) and (len(sentence.split()) > 3 or sentence > "\u3040")


def forbids(sentence: str) -> bool:
    """Whether a sentence forbids something."""
    return bool(_FORBIDS().search(sentence) and _FORBIDS().search(_ONLY_TALK().sub(" ", sentence)))
