"""What of a prompt its user says: not what was filled in, quoted, pasted, or only asked about.

A prompt that values were filled into is kept with what was typed (`Filled`). In what was typed these are somebody
else's words: fenced blocks and lines behind `>`; rows of a table or a log; what follows a task on a text (`Sum up:`) or
stands beside a question on it (`What does this mail want?`), and quotations in such sentences; what a text is said to
say. A question says nothing by itself. A sentence that asks to keep what it holds (`Remember: "..."`) says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby

from deepnb.gate.regex import regex


class Filled(str):
    """A prompt with values in it; `typed` is what its user typed, where `{name}` stands for itself."""

    __slots__ = ("typed",)

    typed: str

    def __new__(cls, text: str, typed: str) -> Filled:
        made = super().__new__(cls, text)
        made.typed = typed
        return made


def add_words(prompt: str, words: str) -> str:
    """The prompt with words of ours below it."""
    return Filled(f"{prompt}{words}", prompt.typed if isinstance(prompt, Filled) else prompt)


_KEEP = regex(
    r"\b(?:remember|note(?: that|(?= ?:))|keep in mind|memori[sz]e|write down"  # Remember what the page says:
    r"|merke?n?|notiere?|denke? daran|retiens|retenez|souviens|notez?|recuerda|anota|apunta)\b"  # Merke dir:
    r"|记住|记得|记下|牢记|切记|请注意|覚えて|기억",  # 记住:
    re.IGNORECASE,
)
_TEXT = (
    r"(?:text|e-?mail|message|page|letter|article|post|paragraph|document|readme|log|error|traceback|excerpt|ticket"
    r"|transcript|snippet|site|website|review|comment|output|mail|nachricht|seite|brief|artikel|absatz|texte|courriel"
    r"|lettre|texto|correo|mensaje|página|carta|artículo)s?"
)
_TASK = regex(
    r"^(?:please |can you |could you |kindly |bitte |kannst du |peux-tu |pouvez-vous |¿?puedes |请?帮我|请)?(?:"
    r"(?:sum(?: up|mari[sz]e)|translate|explain|paraphrase|rephrase|reword|rewrite|proofread|shorten|condense|tl;?dr|read|review"  # Sum up:
    r"|check|correct|analy[sz]e|classify|extract|interpret|comment on|reply to|answer|look at|here(?:'s| is| are)|(?:I|we) (?:just )?(?:got|received|found))\b"
    rf"|(?:this|these) (?:is|are|{_TEXT})\b"  # This mail came in:
    r"|(?:fasse?|übersetze?|erkläre?|lies|prüfe?|korrigiere?|kürze?|formuliere?|hier (?:ist|sind)|dies(?:e[rs]?)? (?:ist|sind))\b"  # Fass zusammen:
    r"|(?:résume[rz]?|tradui[st]|traduisez|explique[rz]?|lis|lisez|corrige[rz]?|reformule[rz]?|voici)\b"  # Résume :
    r"|(?:resume|traduce|explica|lee|corrige|reformula|acorta|aquí (?:está|tienes))\b"  # Resume:
    r"|总结|概括|翻译|解释|润色|改写|缩短|校对|分析|阅读|看看|看一下|这是|收到)",  # 总结:
    re.IGNORECASE,
)
_SHOWS = regex(
    rf"\b(?:this|these|the following|following|the|diese[rsnm]?|der|die|das|ce(?:tte|t)?|le|la|est[ea]|el) (?:\w+ )?{_TEXT}\b"  # this mail
    r"|\b(?:below|above|the following|folgende[rsn]?|ci-dessous|suivante?|siguiente)\b|这段|这封|这篇|这个网页|以下|下面|上面",  # 这段话
    re.IGNORECASE,
)
_TELLS = regex(
    rf"\b(?:{_TEXT}|it)\b.{{0,30}}\b(?:sa(?:ys|id)|tells?|told|asks?|wants?|writes|wrote|reads|states|claims|suggests|sagt|schreibt|steht|dit|écrit|dice|escribe)\b"  # the page says
    r"|\b(?:wrote|writes|says|said|(?:told|asked) (?:me|us)|schrieb|schreibt|sagt|a écrit|dit|escribió|dijo)\s*:"  # Bob wrote:
    r"|(?:邮件|网页|网站|页面|文章|文档|消息|信|里|上)(?:里|中|上)?(?:说|写着?|要求|写道)",  # 邮件里说
    re.IGNORECASE,
)
_ASKS = regex(r"[?？][\s\"'”’)）]*$")
_REQUEST = regex(
    r"^(?:(?:can|could|would|will) (?:you|we)|please|kannst|könntest|würdest|bitte|peux-tu|pouvez-vous|pourr|¿?(?:puedes|podrías)|可以|能|请)"  # Could you ...?
    r"|(?:[,，] ?(?:ok(?:ay)?|right|alright|please|yes|ja|gut|oui|d'accord|vale|sí)|好吗|好不好|行吗|可以吗)[?？]\s*$",  # ..., okay?
    re.IGNORECASE,
)
_FENCE = regex(r"^ {0,3}(`{3,}|~{3,}|\"{3}|'{3}|<<<)[^\n]*\n.*?(?:^ {0,3}\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_BEHIND = regex(r"^ {0,3}>[^\n]*$", re.MULTILINE)
_TAG = regex(r"<([A-Za-z][\w-]{0,30})[^<>\n]{0,200}>")
_QUOTED = regex(
    r"\"[^\"\n]{1,4000}\"|“[^“”]{1,4000}”|„[^“”„]{1,4000}[“”]|«[^«»]{1,4000}»|»[^«»]{1,4000}«|「[^「」]{1,4000}」|『[^『』]{1,4000}』"
    r"|(?<!\w)[‘'](?! )[^‘’'\n]{1,4000}(?<! )[’'](?!\w)"
)
MONTH = (
    r"(?:Jan(?:uary?)?|Feb(?:ruary?)?|Mar(?:ch)?|Mär(?:z)?|Apr(?:il)?|Ma[yi]|June?|Juni|July?|Juli|Aug(?:ust)?|Sept?(?:ember)?|O[ck]t(?:ober)?|Nov(?:ember)?|De[cz](?:ember)?|janv(?:ier)?|févr(?:ier)?|mars|avr(?:il)?|mai|juin|juil(?:let)?"
    r"|août|sept(?:embre)?|oct(?:obre)?|nov(?:embre)?|déc(?:embre)?|enero|febrero|marzo|abril|mayo|junio|julio|agosto|sept?iembre|octubre|noviembre|diciembre)(?![^\W\d_])"
)
"""A month as English, German, French and Spanish write it, which tell some apart by their first letter: `mars`, not `Mars`."""
_END = regex(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？；])|\n+")
_RUNS_ON = (  # none of the words that mostly begin a sentence follows
    r"(?!(?:What|Which|Who|Where|When|Why|How|Do(?:es)?|Did|Is|Are|Can|Could|Would|Will|I|We|You|He|She|It|They|Th(?:is|at|ese|ose|ere|en|e|anks?)|My|Our|Your|Please|Never|Always|And|But|So|If|Also|Now|Was|Welche[mnrs]?|Wer|Wie|Wo|Wann|Warum|Ist|Sind|Hat|Kann|Ich|Wir|Du|Sie|Er|Es|De[rmn]"
    r"|Die|Das|Mein|Unser|Bitte|Nie|Immer|Und|Aber|Wenn|Dann|Danke|Quel(?:le)?s?|Qu[ei]|Où|Quand|Comment|Pourquoi|Est|Combien|Je|J['’]|Nous|Vous|Ils?|Elles?|Les?|La|L['’]|Mon|Notre|Merci|Yo|El|L[ao]s|Mi|Nuestr[oa]|Gracias)(?!\w)|¿)"
)
_INSIDE = regex(
    r"(?<!\w)(?:Drs?|Mr|Mrs|Ms|Mx|Prof|Rev|Hon|Capt|Lt|Col|Sgt|Gen|Gov|Sen|Rep|Hr|Fr|Frl|Dipl|Ing|Mag|med|rer|nat|phil|jur|Hd|Mmes?|Mlles?|MM|Me|Pr|Sres?|Sras?|Srta|Dra|Dña|Uds?)\.\s+"  # Dr. Smith
    r"|(?<!\w)(?:vs|viz|cf|etc|approx|resp|incl|excl|Ste?|Mt|Jr|Sr|Inc|Ltd|Corp|Bros|bzw|bspw|Bsp|ca|evtl|ggf|gem|inkl|exkl|zzgl|abzgl|sog|vgl|usw|vorm|nachm|geb|gest|Str|Tel|Mio|Mrd|Tsd|Std|Sek|env|ex|ej|núm|tél|EE"
    rf"|(?!I\.)[A-Za-zÀ-ÿ])\.\s+{_RUNS_ON}"  # z. B. Äpfel, J. R. Miller, 3 p.m. with Ines
    r"|(?<!\w)(?:Jan|Feb|Mar|Mär|Apr|Jun|Jul|Aug|Sept?|O[ck]t|Nov|De[cz]|janv|févr|avr|juil|sept|oct|nov|déc|ene|abr|ago|dic|Mon|Tues?|Wed|Thur?s?|Fri|Sat|Sun|Mo|Di|Mi|Do|Sa|al|max|[Mm]in|[Aa]vg|[Dd]ept|[Ee]xt|[Ee]st)\.\s+(?=[\da-zà-ÿ(])"  # Jan. 5
    r"|(?<!\w)(?:[Nn]os?|Nrn?|Art|Abs|Kap|Abb|Tab|Ziff|Bd|Pos|[Ff]igs?|[Ee]qs?|[Ss]ecs?|[Cc]h(?:ap)?|[Vv]ols?|[Vv]er|[Pp]ág|pp?|S)\.\s+(?=\d)"  # Nr. 5
    rf"|(?<![\d.,])\d{{1,2}}\.\s+(?=(?i:{MONTH}))(?!May I\b)"  # 3. Mai
    r"|\b(?i:am|der|die|das|dem|den|des|im|zum|zur|vom|bis|ab|beim|jede[mnrs]?|(?:mein|unser|ihr|ein)(?:e[mnrs]?)?) \d{1,2}\.\s+(?=[^\W\d_])"  # der 2. Bericht
    rf"|(?<![\d.,])\d{{1,2}}\.\d{{1,2}}\.\s+{_RUNS_ON}|^\W{{0,4}}\d{{1,2}}\.\s+",  # am 3.5. um 12 Uhr; 1. Load it
    re.MULTILINE,
)
"""A period that ends no sentence, and the gap behind it."""
_WRAPPED = regex(r"(?<=[^\n]{40})(?<=[\w,])[ \t]*\n(?=[a-zà-ÿ])")
"""Where an editor has broken a sentence."""
_ITEM = regex(r"[-*>•\s]*(?:\d{1,2}[.)]\s+)?")
_AND = regex(r"and|or|und|oder|et|ou|y|o|和|与|或", re.IGNORECASE)
_LEAD = regex(r"[^\n:：]{2,120}[:：](?:(?<=[^\x00-\x7f].)|(?=\s|[^\x00-\x7f]|[\"']))")
_BLOCK = regex(r"\n[ \t]*(?:[-=*_]{3,}[ \t]*)?\n")
_FILLED = regex(r"\s*(?:\ufffc(?!\ufffc)|\{[\w.\[\]'\"]+\})")
_ROWS = regex(r"\s*\ufffc\ufffc[ \t]*\n[ \t]*\n")
_WORD = regex(r"[぀-ヿ一-鿿가-힯]|[^\W_]+(?:['’-][^\W_]+)*")
_GAP = "\ufffc"
"""Stands for words that are not the user's; two of them for rows."""
_BETWEEN = regex(  # none of them in a sentence: a `;` has no space behind it, a `,` is not that of 12,500
    r"\t|\||(?<![.!?:])\s{2,}|(?<![\s\u3000-\u9fff\uff00-\uffef])(?<!\d(?=,\d{3}(?!\d)))[,;](?![\s\u3000-\u9fff\uff00-\uffef])"
)
_RECORD = regex(  # "id": 4711, 12:00:01 started, INFO started
    r"\s*(?:\||[{}\[\]](?!\w)|\"[^\"\n]*\"\s*:|[\[(]?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d|(?:\d{1,3}\.){3}\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:|[\[(]?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE)\b)"
)
_DATA = regex(
    r"\b(?:data|csv|tables?|rows|extract|excerpt|log|daten|tabelle|auszug|données|tableau|extrait|datos|tabla)\b|数据|表|日志",
    re.I,
)
_ASIDE = regex("\ufffc(?:(\\d+)\ufffc)?")


def pieces(text: str) -> Iterator[str]:
    """A text cut behind each sentence and line; no period of an abbreviation, an initial, a date or a number ends one."""
    inside, at = {found.end() for found in _INSIDE().finditer(text)}, 0
    for end in _END().finditer(text):
        if "\n" in end[0] or end.end() not in inside:
            yield text[at : end.end()]
            at = end.end()
    yield text[at:]


def sentences(text: str) -> Iterator[str]:
    """A text's sentences and lines, without what makes them items of a list and white space round them."""
    for piece in pieces(text):
        if sentence := _ITEM().sub("", piece, count=1).strip():
            yield sentence


def less_rows(text: str) -> str:
    """The text with a gap for each table, log or the like of three rows or more that was pasted into it."""
    runs = [(are_rows, [*run]) for are_rows, run in groupby(text.split("\n"), _is_row)]
    return "\n".join(_GAP * 2 if are_rows and len(run) > 2 else "\n".join(run) for are_rows, run in runs)


def _is_row(line: str) -> bool:
    words, cells = line.split(), [*filter(str.strip, _BETWEEN().split(line.strip()))]
    figures = [word for word in words if any(map(str.isdigit, word)) and not any(map(str.isalpha, word))]
    table = len(cells) > 2 or (len(cells) == 2 and (len(words) == 1 or cells[-1][-1:].isdigit()))
    return table or 0 < 0.6 * len(words) <= len(figures) or bool(_RECORD().match(line))


@lru_cache(4096)  # each compaction asks for the whole thread
def own_words(typed: str) -> str:
    """What the user says in a prompt as typed, a sentence a line."""
    text = typed.replace("\r\n", "\n")
    text = less_rows(_less_tagged(_BEHIND().sub(_GAP, _FENCE().sub(_GAP, text))))
    quotations = list[str]()

    def set_aside(quoted: re.Match[str]) -> str:
        quotations.append(quoted[0])
        return f"{_GAP}{len(quotations)}{_GAP}"

    own = list[str]()
    for sentence in sentences(_WRAPPED().sub(" ", _less_pasted(_QUOTED().sub(set_aside, text)))):
        if _says(bare := _ASIDE().sub(" ", sentence).strip()):
            task = _is_task(bare) and not _KEEP().search(bare)
            own.append(
                bare if task else _ASIDE().sub(lambda m: quotations[int(m[1]) - 1] if m[1] else " ", sentence).strip()
            )
    return "\n".join(own)


def _says(sentence: str) -> bool:
    """Whether a sentence says what it says: it neither asks, nor tells what a text wants, nor joins quotations."""
    if all(_AND().fullmatch(word) for word in _WORD().findall(sentence)):
        return False
    if _ASKS().search(sentence) and not _REQUEST().search(sentence):
        return False
    return bool(_KEEP().search(sentence)) or not _TELLS().search(sentence)


def _less_tagged(text: str) -> str:
    """The text without what stands in tags."""
    parts, at, unclosed = list[str](), 0, set[str]()
    for tag in _TAG().finditer(text):
        if tag.start() < at or tag[1] in unclosed:
            continue
        if (end := text.find(f"</{tag[1]}>", tag.end())) < 0:
            unclosed.add(tag[1])
            continue
        parts += [text[at : tag.start()], _GAP]
        at = end + len(tag[1]) + 3
    return "".join([*parts, text[at:]])


def _less_pasted(text: str) -> str:
    """The text without what a task on a text is about, unless that was quoted or filled in, or is rows of data."""
    for lead in _LEAD().finditer(text):
        if _is_task(lead[0]) and not _KEEP().search(lead[0]):
            ends = _FILLED().match(text, lead.end()) or (_DATA().search(lead[0]) and _ROWS().match(text, lead.end()))
            return text if ends else text[: lead.end()]
    if not (blocks := [block for block in _BLOCK().split(text) if block.strip()]):
        return ""
    if len(blocks) == 1:
        blocks = text.strip().split("\n", 1)
    for task, others in ((blocks[0], blocks[1:]), (blocks[-1], blocks[:-1])):
        if _on_a_text(task.strip()) and len([*sentences("\n".join(others))]) > 1:
            return task
    return text


def _on_a_text(block: str) -> bool:
    """Whether a paragraph is nothing but a task on a text that stands beside it."""
    if len(block) > 200 or "\n" in block or _GAP in block or re.search(r"\{\w", block) or _KEEP().search(block):
        return False
    return _is_task(block) and (len(_WORD().findall(block)) <= 3 or bool(_SHOWS().search(block)))


def _is_task(words: str) -> bool:
    """Whether these words want something done with a text, or tell what one says."""
    line = words.strip().rstrip(":：")
    return bool(
        _TASK().search(line) or _TELLS().search(words) or (_ASKS().search(line) and not _REQUEST().search(line))
    )
