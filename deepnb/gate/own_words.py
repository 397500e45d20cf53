"""What of a prompt its user says: not what was filled in, quoted, pasted, or only asked about.

A prompt that values were filled into is kept with what was typed (`Filled`). In what was typed these are somebody
else's words: fenced blocks and lines behind `>`; rows of a table or a log; what follows a task on a text (`Sum up:`) or
stands beside a question on it, and quotations in such sentences; what a text is said to say. A question says nothing by
itself. A sentence that asks to keep what it holds (`Remember: "..."`) says it.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import Literal, Self

from deepnb.gate.spans import regex


class Filled(str):
    """A prompt with values in it; `typed` is what its user typed, where `{name}` stands for itself."""

    __slots__ = ("typed",)

    typed: str

    def __new__(cls, text: str, typed: str) -> Self:
        made = super().__new__(cls, text)
        made.typed = typed
        return made


def add_words(prompt: str, words: str) -> str:
    return Filled(f"{prompt}{words}", prompt.typed if isinstance(prompt, Filled) else prompt)


_KEEP = regex(
    r"(?i)\b(?:remember|note(?: that|(?= ?:))|keep in mind|memori[sz]e|write down"  # Remember what the page says:
    r"|merke?n?|notiere?|denke? daran|retiens|retenez|souviens|notez?|recuerda|anota|apunta)\b"  # Merke dir:
    r"|记住|记得|记下|牢记|切记|请注意|覚えて|기억",  # 记住:
)
_TEXT = (
    r"(?:text|e-?mail|message|page|letter|article|post|paragraph|document|readme|log|error|traceback|excerpt|ticket"  # email
    r"|transcript|snippet|site|website|review|comment|output|mail|nachricht|seite|brief|artikel|absatz|texte|courriel"  # transcript
    r"|lettre|texto|correo|mensaje|página|carta|artículo)s?"  # lettre
)
_TASK = regex(
    r"(?i)^(?:please |can you |could you |kindly |bitte |kannst du |peux-tu |pouvez-vous |¿?puedes |请?帮我|请)?(?:"
    r"(?:sum(?: up|mari[sz]e)|translate|explain|paraphrase|rephrase|reword|rewrite|proofread|shorten|condense|tl;?dr|read|review"  # Sum up:
    r"|check|correct|analy[sz]e|classify|extract|interpret|comment on|reply to|answer|look at|here(?:'s| is| are)|(?:I|we) (?:just )?(?:got|received|found))\b"
    rf"|(?:this|these) (?:is|are|{_TEXT})\b"  # This mail came in:
    r"|(?:fasse?|übersetze?|erkläre?|lies|prüfe?|korrigiere?|kürze?|formuliere?|hier (?:ist|sind)|dies(?:e[rs]?)? (?:ist|sind))\b"  # Fass zusammen:
    r"|(?:résume[rz]?|tradui[st]|traduisez|explique[rz]?|lis|lisez|corrige[rz]?|reformule[rz]?|voici)\b"  # Résume :
    r"|(?:resume|traduce|explica|lee|corrige|reformula|acorta|aquí (?:está|tienes))\b"  # Resume:
    r"|总结|概括|翻译|解释|润色|改写|缩短|校对|分析|阅读|看看|看一下|这是|收到)",  # 总结:
)
_SHOWS = regex(
    rf"(?i)\b(?:this|these|the following|following|the|diese[rsnm]?|der|die|das|ce(?:tte|t)?|le|la|est[ea]|el) (?:\w+ )?{_TEXT}\b"  # this mail
    r"|\b(?:below|above|the following|folgende[rsn]?|ci-dessous|suivante?|siguiente)\b|这段|这封|这篇|这个网页|以下|下面|上面",  # 这段话
)
_TELLS = regex(
    rf"(?i)\b(?:{_TEXT}|it)\b.{{0,30}}\b(?:sa(?:ys|id)|tells?|told|asks?|wants?|writes|wrote|reads|states|claims|suggests|sagt|schreibt|steht|dit|écrit|dice|escribe)\b"  # the page says
    r"|\b(?:wrote|writes|says|said|(?:told|asked) (?:me|us)|schrieb|schreibt|sagt|a écrit|dit|escribió|dijo)\s*:"  # Bob wrote:
    r"|(?:邮件|网页|网站|页面|文章|文档|消息|信|里|上)(?:里|中|上)?(?:说|写着?|要求|写道)",  # 邮件里说
)
_ASKS = regex(r"[?？][\s\"'”’)）]*$")  # What is that?
_REQUEST = regex(
    r"(?i)^(?:(?:can|could|would|will) (?:you|we)|please|kannst|könntest|würdest|bitte|peux-tu|pouvez-vous|pourr|¿?(?:puedes|podrías)|可以|能|请)"  # Could you ...?
    r"|(?:[,，] ?(?:ok(?:ay)?|right|alright|please|yes|ja|gut|oui|d'accord|vale|sí)|好吗|好不好|行吗|可以吗)[?？]\s*$",  # ..., okay?
)
_FENCE = regex(r"^ {0,3}(`{3,}|~{3,}|\"{3}|'{3}|<<<)[^\n]*\n.*?(?:^ {0,3}\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_BEHIND = regex(r"^ {0,3}>[^\n]*$", re.MULTILINE)  # > Hello,
_TAG = regex(r"<([A-Za-z][\w-]{0,30})[^<>\n]{0,200}>")  # <document>
_QUOTED = regex(
    r"\"[^\"\n]{1,4000}\"|“[^“”]{1,4000}”|„[^“”„]{1,4000}[“”]|«[^«»]{1,4000}»|»[^«»]{1,4000}«|「[^「」]{1,4000}」|『[^『』]{1,4000}』"  # "Always ask"
    r"|(?<!\w)[‘'](?! )[^‘’'\n]{1,4000}(?<! )[’'](?!\w)"  # 'Always ask'
)
MONTH = (
    r"(?:Jan(?:uary?)?|Feb(?:ruary?)?|Mar(?:ch)?|Mär(?:z)?|Apr(?:il)?|Ma[yi]|June?|Juni|July?|Juli|Aug(?:ust)?|Sept?(?:ember)?|O[ck]t(?:ober)?|Nov(?:ember)?|De[cz](?:ember)?|janv(?:ier)?|févr(?:ier)?|mars|avr(?:il)?|mai|juin|juil(?:let)?"  # Aug, août
    r"|août|sept(?:embre)?|oct(?:obre)?|nov(?:embre)?|déc(?:embre)?|enero|febrero|marzo|abril|mayo|junio|julio|agosto|sept?iembre|octubre|noviembre|diciembre)(?![^\W\d_])"  # août, agosto
)
"""A month as English, German, French and Spanish write it, which tell some apart by their first letter: `mars`, not `Mars`."""
_END = regex(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？；])|\n+")
_RUNS_ON = (  # none of the words that mostly begin a sentence follows
    r"(?!(?:What|Which|Who|Where|When|Why|How|Do(?:es)?|Did|Is|Are|Can|Could|Would|Will|I|We|You|He|She|It|They|Th(?:is|at|ese|ose|ere|en|e|anks?)|My|Our|Your|Please|Never|Always|And|But|So|If|Also|Now|Was|Welche[mnrs]?|Wer|Wie|Wo|Wann|Warum|Ist|Sind|Hat|Kann|Ich|Wir|Du|Sie|Er|Es|De[rmn]"
    r"|Die|Das|Mein|Unser|Bitte|Nie|Immer|Und|Aber|Wenn|Dann|Danke|Quel(?:le)?s?|Qu[ei]|Où|Quand|Comment|Pourquoi|Est|Combien|Je|J['’]|Nous|Vous|Ils?|Elles?|Les?|La|L['’]|Mon|Notre|Merci|Yo|El|L[ao]s|Mi|Nuestr[oa]|Gracias)(?!\w)|¿)"
)
_INSIDE = regex(
    r"(?m)(?<!\w)(?:Drs?|Mr|Mrs|Ms|Mx|Prof|Rev|Hon|Capt|Lt|Col|Sgt|Gen|Gov|Sen|Rep|Hr|Fr|Frl|Dipl|Ing|Mag|med|rer|nat|phil|jur|Hd|Mmes?|Mlles?|MM|Me|Pr|Sres?|Sras?|Srta|Dra|Dña|Uds?)\.\s+"  # Dr. Smith
    r"|(?<!\w)(?:vs|viz|cf|etc|approx|resp|incl|excl|Ste?|Mt|Jr|Sr|Inc|Ltd|Corp|Bros|bzw|bspw|Bsp|ca|evtl|ggf|gem|inkl|exkl|zzgl|abzgl|sog|vgl|usw|vorm|nachm|geb|gest|Str|Tel|Mio|Mrd|Tsd|Std|Sek|env|ex|ej|núm|tél|EE"
    rf"|(?!I\.)[A-Za-zÀ-ÿ])\.\s+{_RUNS_ON}"  # z. B. Äpfel, J. R. Miller, 3 p.m. with Ines
    r"|(?<!\w)(?:Jan|Feb|Mar|Mär|Apr|Jun|Jul|Aug|Sept?|O[ck]t|Nov|De[cz]|janv|févr|avr|juil|sept|oct|nov|déc|ene|abr|ago|dic|Mon|Tues?|Wed|Thur?s?|Fri|Sat|Sun|Mo|Di|Mi|Do|Sa|al|max|[Mm]in|[Aa]vg|[Dd]ept|[Ee]xt|[Ee]st)\.\s+(?=[\da-zà-ÿ(])"  # Jan. 5
    r"|(?<!\w)(?:[Nn]os?|Nrn?|Art|Abs|Kap|Abb|Tab|Ziff|Bd|Pos|[Ff]igs?|[Ee]qs?|[Ss]ecs?|[Cc]h(?:ap)?|[Vv]ols?|[Vv]er|[Pp]ág|pp?|S)\.\s+(?=\d)"  # Nr. 5
    rf"|(?<![\d.,])\d{{1,2}}\.\s+(?=(?i:{MONTH}))(?!May I\b)"  # 3. Mai
    r"|\b(?i:am|der|die|das|dem|den|des|im|zum|zur|vom|bis|ab|beim|jede[mnrs]?|(?:mein|unser|ihr|ein)(?:e[mnrs]?)?) \d{1,2}\.\s+(?=[^\W\d_])"  # der 2. Bericht
    rf"|(?<![\d.,])\d{{1,2}}\.\d{{1,2}}\.\s+{_RUNS_ON}|^\W{{0,4}}\d{{1,2}}\.\s+",  # am 3.5. um 12 Uhr; 1. Load it
)
"""A period that ends no sentence, and the gap behind it."""
_WRAPPED = regex(r"(?<=[^\n]{40})(?<=[\w,])[ \t]*\n(?=[a-zà-ÿ])")
"""Where an editor has broken a sentence."""
_ITEM = regex(r"[-*>•\s]*(?:\d{1,2}[.)]\s+)?")  # - 1. Load
_AND = regex(r"and|or|und|oder|et|ou|y|o|和|与|或", re.IGNORECASE)
_LEAD = regex(r"[^\n:：]{2,120}[:：](?:(?<=[^\x00-\x7f].)|(?=\s|[^\x00-\x7f]|[\"']))")  # The mail says:
_BLOCK = regex(r"\n[ \t]*(?:[-=*_]{3,}[ \t]*)?\n")  # ---
_FILLED = regex(r"\s*(?:\ufffc(?!\ufffc)|\{[\w.\[\]'\"]+\})")
_ROWS = regex(r"\s*\ufffc\ufffc[ \t]*\n[ \t]*\n")
_WORD = regex(r"[぀-ヿ一-鿿가-힯]|[^\W_]+(?:['’-][^\W_]+)*")  # don't, well-known
_GAP = "\ufffc"
"""Stands for words that are not the user's; two of them for rows."""
# none of them in a sentence: a `;` has no space behind it, a `,` is not that of 12,500
_BETWEEN = regex(r"\t|\||(?<![.!?:])\s{2,}|(?<![\s\u3000-\u9fff\uff00-\uffef])(?<!\d(?=,\d{3}(?!\d)))[,;](?![\s\u3000-\u9fff\uff00-\uffef])")  # fmt: skip
_RECORD = regex(  # "id": 4711, 12:00:01 started, INFO started
    r"\s*(?:\||[{}\[\]](?!\w)|\"[^\"\n]*\"\s*:|[\[(]?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d|(?:\d{1,3}\.){3}\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:|[\[(]?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE)\b)"
)
_DATA = regex(r"\b(?:data|csv|tables?|rows|extract|excerpt|log|daten|tabelle|auszug|données|tableau|extrait|datos|tabla)\b|数据|表|日志", re.I)  # fmt: skip
_ASIDE = regex("\ufffc(?:(\\d+)\ufffc)?")


def pieces(text: str) -> Iterator[str]:
    """Yield a text cut behind each sentence and line; no period of an abbreviation, an initial, a date or a number ends one."""
    inside, at = {found.end() for found in _INSIDE().finditer(text)}, 0
    for end in _END().finditer(text):
        if "\n" in end[0] or end.end() not in inside:
            yield text[at : end.end()]
            at = end.end()
    yield text[at:]


def sentences(text: str) -> Iterator[str]:
    """Yield a text's sentences and lines, without what makes them items of a list and white space round them."""
    yield from filter(None, (_ITEM().sub("", piece, count=1).strip() for piece in pieces(text)))


def less_rows(text: str) -> str:
    """Return the text with a gap for each table, log or the like of three rows or more that was pasted into it."""
    runs = [(are_rows, [*run]) for are_rows, run in groupby(text.split("\n"), _is_row)]
    return "\n".join(_GAP * 2 if are_rows and len(run) > 2 else "\n".join(run) for are_rows, run in runs)


def _is_row(line: str) -> bool:
    words, cells = line.split(), [*filter(str.strip, _BETWEEN().split(line.strip()))]
    figures = [word for word in words if any(map(str.isdigit, word)) and not any(map(str.isalpha, word))]
    table = len(cells) > 2 or (len(cells) == 2 and (len(words) == 1 or cells[-1][-1:].isdigit()))
    return table or 0 < 0.6 * len(words) <= len(figures) or bool(_RECORD().match(line))


@lru_cache(4096)  # each compaction asks for the whole thread
def own_words(typed: str) -> str:
    """Return what the user says in a prompt as typed, a sentence a line."""
    text = typed.replace("\r\n", "\n")
    text = _BEHIND().sub(_GAP, _FENCE().sub(_GAP, text))
    parts, at, unclosed = list[str](), 0, set[str]()
    for tag in _TAG().finditer(text):  # what is in tags goes
        if tag.start() < at or tag[1] in unclosed:
            continue
        if (end := text.find(f"</{tag[1]}>", tag.end())) < 0:
            unclosed.add(tag[1])
            continue
        parts += [text[at : tag.start()], _GAP]
        at = end + len(tag[1]) + 3
    text = less_rows("".join([*parts, text[at:]]))
    quotations = list[str]()

    def set_aside(quoted: re.Match[str]) -> str:
        quotations.append(quoted[0])
        return f"{_GAP}{len(quotations)}{_GAP}"

    own = list[str]()
    for sentence in sentences(_WRAPPED().sub(" ", _less_pasted(_QUOTED().sub(set_aside, text)))):
        bare = _ASIDE().sub(" ", sentence).strip()
        if all(_AND().fullmatch(word) for word in _WORD().findall(bare)):
            continue  # it joins quotations
        if _ASKS().search(bare) and not _REQUEST().search(bare):
            continue
        keeps = bool(_KEEP().search(bare))
        if not keeps and _TELLS().search(bare):
            continue  # it tells what a text wants
        whole = _ASIDE().sub(lambda m: quotations[int(m[1]) - 1] if m[1] else " ", sentence).strip()
        own.append(bare if _is_task(bare) and not keeps else whole)
    return "\n".join(own)


def _less_pasted(text: str) -> str:
    """Return the text without what a task on a text is about, unless that was quoted or filled in, or is rows of data."""
    for lead in _LEAD().finditer(text):
        if _is_task(lead[0]) and not _KEEP().search(lead[0]):
            ends = _FILLED().match(text, lead.end()) or (_DATA().search(lead[0]) and _ROWS().match(text, lead.end()))
            return text if ends else text[: lead.end()]
    if not (blocks := [block for block in _BLOCK().split(text) if block.strip()]):
        return ""
    if len(blocks) == 1:
        blocks = text.strip().split("\n", 1)
    for task, others in ((blocks[0], blocks[1:]), (blocks[-1], blocks[:-1])):
        block = task.strip()
        if len(block) > 200 or re.search(rf"[\n{_GAP}]|\{{\w", block) or _KEEP().search(block):
            continue
        shows = len(_WORD().findall(block)) <= 3 or _SHOWS().search(block)
        if shows and _is_task(block) and len([*sentences("\n".join(others))]) > 1:
            return task
    return text


def _is_task(words: str) -> bool:
    line = words.strip().rstrip(":：")
    asks = _ASKS().search(line) and not _REQUEST().search(line)
    return bool(asks or _TASK().search(line) or _TELLS().search(words))


# -- What a user forbids, asks to remember and says of themselves, sentence by sentence

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
    r"(?i)\b(?:do not|don['’]?t|does not|doesn['’]t|must not|mustn['’]t|may not|should not|shouldn['’]t|shall not|you can ?not|you can['’]t"
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
)
_ONLY_TALK = regex(
    r"(?i)\b(?:I|we|you|it|they|he|she|that|this|there|which|who|what|why) (?:(?:really|just|still|also) )?(?:do not|don['’]?t|does not|doesn['’]t|can ?not|can['’]t)"
    r" (?!want|wish|like|allow|accept|touch|use|let|ever)[a-z]"
    r"|\b(?:why|how come|what if) .{0,40}(?:not|n['’]t)\b|\bdon['’]?t (?:worry|mind|bother me|know|think)\b|\b(?:ich weiß|ich verstehe|je ne (?:sais|comprends|vois|peux)|no sé)\b.{0,20}\b(?:nicht|pas)\b|\bnever ?mind\b"
    r"|\bnot (?:only|sure|yet|bad)\b|能不能|可不可以|要不要|是不是|不能不|不得不|(?:我|他|她|它|我们)(?:不能|不可|不再)",
)
_WISHES = regex(
    r"(?i)\b(?:remember|note that|keep (?:this |that )?in mind|bear in mind|don(?:'|’)?t forget|do not forget|(?:i|we)(?:'|’)d rather|lieber|for the record|for future reference|from now on|in future|important:|call me|always|every time|whenever"
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
)
_OPENS = r"(?:\A|[,;:–—] |\b(?:and|but|because|since|as|so|that|when|if|und|aber|weil|da|dass|wenn|denn|et|mais|car|que|y|pero|porque)\s)(?:(?:\w+ly|now|here|today|tomorrow|also|usually|yes|no|ok(?:ay)?|btw|well|next \w+|(?:on|in|at|from|for|every) \w+) )?"
_FACT = regex(
    r"(?i)\b(?:must|ha(?:s|ve) to|(?<!\bi )needs? to|ought to|(?<!\bit )(?<!\bthat )(?<!\bthis )should|(?:is|are) (?:due|required|capped|limited|supposed|obliged|allowed|to be)|(?:we|they|(?:every|no) ?(?:body|one)|only \w+) may)\b"  # All prices must be shown
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
)
_FIGURE = regex(
    rf"(?i)\b(?:\d{{1,2}}(?:st|nd|rd|th|er|\.)?(?: of| de)? {MONTH}|{MONTH} \d|(?:in|since|until|by|im|seit|bis|ende|en|depuis|avant|de|desde) {MONTH}|\d{{1,2}}[./]\d{{1,2}}\.(?:\d{{2,4}})?|\d{{4}}-\d\d|\d{{1,2}}:\d\d|\d{{1,2}} (?:[ap]\.?m|h|Uhr)\b)|\d\s?[月日号]"  # on 31 August 2027
    r"|[$€£¥₹]\s?\d|\d\s?(?:k?[€£¥₹%元円원]|(?:euros?|dollars?|pounds?|francs?|pesos|EUR|USD|CHF|GBP)\b)|\b[A-Z]{1,8}[-_]?\d{3,}|\b\d{5,}|\S@\S+\.\w|(?-i:\b[A-ZÄÖÜ]\w+ \d)"  # KX-20931, Sample 12
    r"|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|next (?:week|month|year)|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|(?:lun|mar|mercre|jeu|vendre|same)dis?|(?:lunes|martes|miércoles|jueves|viernes|sábados?|domingos?))\b|周[一-日天末]|星期|每[天周月年]|下[周月]|只有|负责|审批|批准"  # every second Thursday
    r"|\b(?:only|nobody|no one|everyone|everybody|nur|niemand|seule?s?|personne|solo|nadie)\b|(?-i:\b(?:Frau|Herrn?|Mme|Mlle|M|Mr|Mrs|Ms|Dr|Prof|Sra?|Srta)\.? [A-ZÄÖÜÉ])",  # Only Dr. Yun
)
_TALK = regex(
    r"(?i)\A\W*(?:(?:ok(?:ay)?|yes|no|great|good|nice|thanks?|thank you|and|also|hmm|so|but|ja|gut|danke|super|und|oui|merci|et|sí|gracias|y|好的?|谢谢)\b[,.!，]? ?)*(?:(?:please|now|then|next|same|again|hello|hi|let|i|we|this|that|it|these|those|there|here|my bad|try|see|go|forecast|predict"
    r"|the (?:data|table|file|plot|chart|ax[ei]s|column|row|code|result|output|title|legend|first|second|third|last|other|next)s?|bitte|jetzt|nun|dann|ich|wir|das (?:ist|war|sieht|geht|passt|stimmt|klingt)|es|wie|hier|die (?:daten|tabelle|spalte|kurve|achse|zweite|erste)n?"
    r"|maintenant|je|nous|ça|cela|voici|le (?:graphique|tableau)|c['’]est (?:bon|bien|parfait|faux)|ahora|eso|quiero|quisiera|el gráfico|la tabla)\b|请|帮我|再|画|显示|计算|读取|列出|比较|给我|把|看|按|现在|这|那|我)",
)
"""How a sentence begins that wants something now, or speaks of what was just shown."""
_ASKING = regex(r"\A(?:what|which|when|where|who|why|how|do you|does|did)\b|吗[?？。]?\s*\Z", re.IGNORECASE)
_CLAUSE = regex(r"(?<=[,;:，；：、])\s*")


def said(text: str) -> Iterator[tuple[Literal["prohibition", "statement"], str]]:
    """Yield (prohibition or statement, the sentence) for what the user forbids, wants remembered or as a rule, or states."""
    for sentence in sentences(text):
        fits = len(sentence) <= _LONGEST
        if forbids(sentence):
            clauses = [one[:_LONGEST] for one in _CLAUSE().split(sentence) if _FORBIDS().search(one)]
            yield from (("prohibition", one) for one in ([sentence] if fits else clauses))
        elif fits and not _ASKING().search(sentence) and (_WISHES().search(sentence) or _states(sentence)):
            yield "statement", sentence


def _states(sentence: str) -> bool:
    """Return whether it is of the first person, of what is due or allowed, or has a figure and wants nothing done."""
    if sentence[-1] in "?？" or _FACT().search(sentence):
        return sentence[-1] not in "?？"
    if _TALK().match(sentence) or COMMAND().match(sentence):
        return False
    return bool(_FIGURE().search(sentence)) and (len(sentence.split()) > 3 or sentence > "\u3040")


def forbids(sentence: str) -> bool:
    return bool(_FORBIDS().search(sentence) and _FORBIDS().search(_ONLY_TALK().sub(" ", sentence)))


# -- Whether a prompt asks for what only a tool can do: to remember something, or to write a file

_FILE = (
    r"(?:(?<![\w.])[\w~./-]*\w\.(?:md|txt|[ct]sv|jsonl?|ya?ml|toml|ini|cfg|conf|py|ipynb|html?|css|[jt]sx?|sql|xlsx?|docx?|pdf|png|jpe?g"
    r"|svg|parquet|log|xml|sh|tex|rst|env|db|sqlite)(?!\w)|(?<![\w.:])/\w[\w./-]*)"
)
_PLACE = (
    r"(?:(?:\S+ ){0,3}?(?:(?:files?|folder|directory|disk|memory|notes?|csv|excel|parquet)\b(?! (?:manage|usage|leak|system|form|style|name))"  # to a file
    r"|\w*(?:datei|gedächtnis|notiz(?:en)?|ordner|festplatte|csv)\b"  # in eine Datei
    r"|(?:fichier|dossier|disque|mémoire|notes?)\b|(?:archivo|fichero|carpeta|disco|memoria|notas?)\b))"
)
_CHINESE_PLACE = rf"(?:{_FILE}|文件|笔记|记忆|备忘|磁盘|csv)"
_CODE = (
    r"(?:\w+ ){0,4}?(?:code|functions?|script|program|snippet|quer(?:y|ies)|regex|command|class|method|loop|example|cell|test|sql"
    r"|funktion|skript|programm|beispiel|befehl|fonction|función)\b(?! (?:in|to|into|called|named) \S*\.)"
)
_POLITE = (
    r"(?:(?:please|kindly|also|from now on|now|then|next|finally|and|ok(?:ay)?|so|hey|hi|hello|thanks?|just|yes|first|(?:can|could|would|will) you|you (?:should|must|can)"
    r"|(?:i want|i need|i'd like|i would like) you to|let(?:'|’)?s|let us|(?:make|be) sure (?:to|you)|go ahead and|for (?:next time|later|the future)"
    r"|bitte|auch|dann|und|nun|jetzt|(?:ich möchte|ich will|ich hätte gern),? dass du|(?:kannst|könntest|würdest) du|können sie|könnten sie|mal|doch"
    r"|s(?:'|’)il te plaît|s(?:'|’)il vous plaît|peux-tu|pouvez-vous|et|aussi|por favor|¿?puedes|y|también)[,!:]? +)*"
)
_START = rf"(?:\A|[.;:!,，。；！：] *| (?:and|then|und|dann|et|y) ){_POLITE}"
_KEEPS = regex(
    rf"(?i){_START}(?:"
    r"remember(?!\s(?:me\b|what|when|where|who|which|how|if|whether|why|any|the (?:time|day)\b))\b|memori[sz]e (?:that|this|my|our)\b"  # remember that
    r"|(?:do not|don(?:'|’)?t|never) forget\b(?! to (?:cite|mention|include|add|use|explain))|(?:keep|bear) (?:this |that |it )?in mind\b"  # don't forget
    r"|(?:make|take|add|leave|write) (?:a |another |yourself a )?(?:\w+ )?notes?\b|note(?: down| this| my)|(?:write|jot|note) (?:this|that|it|these) down\b"  # make a note
    r"|(?:write|jot|note) down (?:that|this|my|our|:)|(?:save|store|record|log) (?:this|that|it|these|my|our|the decision)\b"  # save this
    r"|forget (?:that|my|our|what|everything|all|the)\b|remind me (?:to|that|about|on|tomorrow|next)\b|commit (?:\w+ ){1,5}to memory\b"  # forget my
    r"|(?:merke? dir|merken sie sich|notiere?(?:n sie)?|behalte? (?:im|in|das|dir|bitte)\b|denke? daran|erinnere? dich (?:daran, )?dass|vergiss (?:nicht\b|dass|bitte|meine|alles|was))\b"  # merk dir
    r"|(?:schreibe?|halte?) (?:\w+ ){0,4}?(?:auf|fest)\b|(?:speichere?|sichere?) (?:dir |das|dies|es|meine)\b|(?:dir |das |es |bitte )+(?:\S+ ){0,6}?(?:merken|notieren|aufschreiben|merkst|notierst)\b"
    r"|(?:retiens|retenez|mémorise[rz]?|souviens-toi|souvenez-vous|n(?:'|’)oublie[rz]? pas|note[rz]?(?= que| ça| mon| ma)|prends? note|enregistre[rz]? (?:que|ça|mon|ma|cela))"
    r"|(?:recuerd[ae]|no olvid(?:es|e)|anot[ae]|apunt[ae]|memoriza|toma nota|guarda (?:que|esto|mi))(?! qué)\b"  # recuerda que
    r")|(?<![还记不])(?:记住|牢记|记下|记一下|记录(?:下来|一下)|记着|谨记|别忘|不要忘|勿忘|请记|帮我记|记到|记在|(?:请|就|把.{1,20})忘(?:记|掉)(?:我|吧)?|(?:\A|请|要|，|,|。)记得|覚えて|메모|기억해)",
)
_WRITES = regex(
    rf"(?i){_START}(?:"
    rf"(?:write|save|store|put|append|add|export|dump|record|insert|copy|move|convert|rename|turn|schreibe?|nimm|speichere?|sichere?|füge?|hänge?|trage?|packe?|exportiere?|kopiere?|benenne?"
    rf"|écri[st]|écrivez|enregistre[rz]?|sauvegarde[rz]?|ajoute[rz]?|mets|escrib[ae]|guard[ae]|añad[ae]|agreg[ae]|pon)\b(?! (?:me )?(?:mir |uns )?{_CODE})"
    rf"[^.!?;\n]{{0,160}}? (?:{_FILE}|(?:to|into|in|as|onto|als|zu|ins?|auf|dans|sur|à|en|como) {_PLACE})"  # write it to a file
    rf"|(?:create|make|start|generate|erstelle?|erzeuge?|lege?|crée[rz]?|créez|crea|genera)\b(?! (?:me )?(?:mir )?{_CODE}) (?:\S+ ){{0,4}}?(?:{_FILE}|files?\b|folder\b|directory\b|\w*datei\b|\w*notiz\b|\w*ordner\b|fichier\b|dossier\b|archivo\b|carpeta\b|fichero\b)"  # create a file
    rf"|(?:update|edit|change|modify|fix|correct|delete|remove|overwrite|replace|clean up|ändere?|bearbeite?|korrigiere?|lösche?|entferne?|ersetze?|aktualisiere?|ergänze?|überschreibe?|modifie[rz]?|supprime[rz]?|corrige[rz]?|remplace[rz]?|met(?:s|tez) à jour|actualiza|modifica|borra|elimina|corrige|reemplaza|cambia)\b"
    rf"[^.!?;\n]{{0,120}}? (?:{_FILE}|(?:in |from |aus |dans |en |de )?{_PLACE})"  # fix the typo in README.md
    rf")|\b(?:in|to) (?:the )?(?:file )?{_FILE},? (?:please )?(?:add|put|write|change|replace|insert|fix|append|delete)\b"  # in notes.md, add
    rf"|(?<!怎么)(?<!如何)(?<!怎样)(?:保存|写入|写到|写进|存到|存为|存入|存成|另存|导出|添加|追加|加到|放到|放进)[^。！？\n]{{0,40}}?{_CHINESE_PLACE}"  # 保存到 notes.md
    rf"|写(?![^。！？\n]{{0,30}}(?:函数|代码|脚本|程序))[^。！？\n]{{0,40}}?(?:{_FILE}|[到入进在成]{_CHINESE_PLACE})"
    rf"|(?:把|将)[^。！？\n]{{0,40}}?(?:保存|写入|写到|写进|存到|存为|存入|存成|另存|导出)|(?:把|将|在) ?{_FILE}[^。！？\n]{{0,30}}?[改换删加写添替]"
    rf"|(?:创建|新建|建立|修改|更新|删除|编辑|替换|重命名|生成)[^。！？\n]{{0,40}}?{_CHINESE_PLACE}",
)
_DISCUSSES = regex(
    r"(?i)\A(?:explain|describe|discuss|compare|tell me|what|how|why|when|show me how|is it|does|erkläre?|beschreibe?|wie|was|warum|zeige? mir,? wie|explique|comment|pourquoi|décri[st]|cómo|qué|por qué"
    r"|forget (?:it|about it|that,)|remember,? (?:\w+ )?(?:said|once)|解释|说明|介绍|怎么|如何|为什么|什么)",
)
_RESULT = regex(
    rf"(?i) (?:and|then|und|dann|et|y) (?:save|write|store|put|speichere?|schreibe?|enregistre|écris|guarda|escribe)\b [^.!?;\n]{{0,60}}?\b(?:to|into|in|as|als|unter|dans|en) [^.!?;\n]{{0,30}}?{_FILE}",
)


_MOST_READ = 1_000
"""Characters of a sentence that are looked at."""


def asks_to_write(prompt: str) -> bool:
    """Return whether the user asks in a prompt to have something remembered, forgotten or written to a file."""
    typed = prompt.typed if isinstance(prompt, Filled) else prompt
    said = own_words(typed).split("\n")
    if len(said) == 1 and re.match(r"(?:please )?note(?: that\b|:)", said[0], re.IGNORECASE):
        return True
    for sentence in (one[:_MOST_READ] for one in said):
        if _DISCUSSES().match(sentence):
            if _RESULT().search(sentence):
                return True
        elif not sentence.endswith(("吗？", "吗?", "吗")) and (_KEEPS().search(sentence) or _WRITES().search(sentence)):
            return True
    return False
