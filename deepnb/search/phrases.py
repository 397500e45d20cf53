"""Phrases of time of other languages as those of English and Chinese, and the words around a date that ask for nothing else.

German, French and Spanish become English, and Japanese Chinese, whose rules then read them (`days.py`).
"""

import re
from collections.abc import Iterator

from deepnb.search.words import STOP, bare, read_query

_UNITS = """
day tag tage tagen jour jours día días, week woche wochen semaine semaines semana semanas,
month monat monate monaten monats mois mes meses, year jahr jahre jahren jahres an ans année années año años,
weekend wochenende week-end fin_de_semana, quarter quartal quartals trimestre
"""
_DAYS = """
monday montag lundi lunes, tuesday dienstag mardi martes, wednesday mittwoch mercredi miércoles,
thursday donnerstag jeudi jueves, friday freitag vendredi viernes, saturday samstag sonnabend samedi sábado,
sunday sonntag dimanche domingo
"""
_MONTHS = """
january januar jänner janvier enero, february februar février febrero, march märz mars marzo, april april avril abril,
may mai mayo, june juni juin junio, july juli juillet julio, august august août agosto,
september september septembre septiembre, october oktober octobre octubre, november november novembre noviembre,
december dezember décembre diciembre
"""
_NUMBERS = """
1 ein eine einem einer un une una uno erste erstes ersten premier primer, 2 zwei deux dos zweite zweites zweiten
deuxième segundo, 3 drei trois tres dritte drittes dritten troisième tercer, 4 vier quatre cuatro vierte viertes vierten
quatrième cuarto, 5 fünf cinq cinco, 6 sechs six seis, 7 sieben sept siete, 8 acht huit ocho, 9 neun neuf nueve,
10 zehn dix diez
"""
_PHRASES = (
    (r"vorgestern|avant-hier|ante(?:s de )?ayer|antier", "the day before yesterday"),
    (r"gestern|ayer|anoche|hier soir|(?<=d['’])hier", "yesterday"),
    (r"heute|aujourd['’]hui|hoy|ce (?:matin|soir)|esta (?:mañana|tarde|noche)", "today"),
    (r"(?:vor|il y a|hace) {N} {U}", "{n} {u} ago"),
    (r"vorletzte\w? {U}", "the {u} before last"),
    (r"(?:letzte|vergangene|vorige)\w? {N} {U}", "last {n} {u}"),
    (r"(?:[cl]es )?{N} derni(?:ers|[eè]res) {U}", "last {n} {u}"),
    (r"(?:l[oa]s )?[úu]ltim[oa]s {N} {U}", "last {n} {u}"),
    (r"(?:(?:letzte|vergangene|vorige)\w?|derni[eè]re?|[úu]ltim[oa]) {U}", "last {u}"),
    (r"(?:la |le |l['’]|el )?{U} (?:derni[eè]re?|pass[ée]e?|pasad[oa])", "last {u}"),
    (r"(?:letzte|vergangene|vorige)\w? {D}", "last {d}"),
    (r"(?:le |el )?{D} (?:dernier|pass[ée]|pasado)", "last {d}"),
    (r"(?:diese\w?|cette|ce|est[ea]) {U}(?:-ci)?", "this {u}"),
    (r"(?:am|le|el|vom) (?P<unit>wochenende|week-end|fin de semana)", "over the weekend"),
    (r"(?:am|vom|le|el) {D}", "on {d}"),
    (r"{D}", "{d}"),
    (r"(?:(?:am|vom|le|el|du|del) )?{K}(?:\.|er|º)? ?(?:de )?{M}{Y}", "{k} {m} {y}"),
    (r"(?:im|anfang|mitte|ende|en|de|du mois d[e'’]|d['’]|vom|début|fin|mi-) ?{M}{Y}", "in {m} {y}"),
    (r"^{M}{Y}(?=\W*$)", "{m} {y}"),
    (r"(?:am|vom) {K}\.(?! ?(?:\d|(?-i:[A-ZÄÖÜ])))", "on the {k}th"),
    (r"(?:le|el|du|del) {K}(?=\W*$)", "on the {k}th"),
    (r"(?:im |au |en el )?{N}\.? (?:quartal|trimestre){Y}", "Q{n} {y}"),
)
_JAPANESE = (  # as `folded` leaves them
    (r"一昨日|おととい", "前天"),
    (r"昨日|きのう", "昨天"),
    (r"今日|きょう", "今天"),
    (r"今朝", "今早"),
    (r"先々周の?(?=.曜)", "上上"),
    (r"先々周", "上上周"),
    (r"先周の?(?=.曜)", "上"),
    (r"今周の?(?=.曜)", "这"),
    (r"先周", "上周"),
    (r"今周", "本周"),
    (r"先月", "上个月"),
    (r"今月", "本月"),
    (r"昨年", "去年"),
    (r"周间前", "周前"),
    (r"[かヶカヵケ箇]月前", "个月前"),
    (r"第?([1-4])四半期", r"Q\1"),
)
_YOUBI = str.maketrans("月火水木金土", "一二三四五六")
_FRENCH = re.compile(r"^\W*hier\W*$|\b(?:j|je|ai|fait|qu|que|quoi|nous|avons|passé|notes?|matin|soir)\b", re.IGNORECASE)
"""What says that "hier" is yesterday in French, where in German it is "here"."""

_ENGLISH = """
accomplish accomplished achieve achieved activities done activity afternoon catch complete date day days diary else end entire
entries entry evening event events everything anything something nothing find full get give go goes going gone got happen
happened happening journal know list log logged logs look memories memory mention mentioned month months morning new night
note noted notes occur occurred ok okay ongoing overview plan planned plans please quick read recall recap record recorded
records remember remind review said say schedule scheduled see short show since spend spent stuff sum summaries summarise
summarize summary take talk talked talking tell thing things timeline together us week weeks went whole work worked
working write writing written wrote year years brief briefly beginning begin early late earlier later back let need want
discuss discussed down far half important interesting like mid noteworthy start first last since my
"""
_GERMAN = """
was habe ich hast du haben wir hat gemacht getan tat passiert geschehen geschah war waren ist los notiz notizen eintrag
eintrage tagebuch zusammenfassung zusammen fasse uberblick von vom am an der die das den dem des im in fur mir mich uns
zeig zeige gib sag es gab gibt etwas irgendwas alles steht stand geschrieben notiert bitte alle meine meinen mein unser und
mit wie lief ging bei zu zum tag tage woche denn so alles abend morgen nachmittag nacht fruh bis zwischen seit hatte
"""
_ROMANCE = """
qu est ce que j ai fait s passe passee il quoi nous avons eu lieu resume notes note journal de du des la le les l d un une
en au aux al mes ma mon moi montre donne dis quelque chose tout y avait t on ecrit pour sur quelles quels quel sont etaient c
etait ca neuf nouveau je a et ete matin soir apres midi depuis entre
que hice hicimos hizo paso ocurrio sucedio resumen notas nota diario del el los las una lo mis mi me muestra dame hay hubo
algo todo fue era escribi anote para sobre y tengo he hemos hecho se mas por tarde noche manana desde hasta
"""
_FILLERS = tuple(frozenset(words.split()) for words in (_ENGLISH, _GERMAN, _ROMANCE))
_CJK = """
我们 咱们 大家 我 你 您 有没有 没有 什么 啥 怎么样 怎样 如何 哪些 哪 些 做过 做 干嘛 干 忙 发生 事情 事 情况 记录 记下 记 笔记 日记 日志 备忘
总结 小结 回顾 概括 概述 概要 摘要 内容 安排 计划 活动 行程 告诉 给 看看 看 说说 说 聊 谈 写 列出 列 请 帮 一下 那天 当天 那 这 天 里 都 还
自从 关于 去 到 从 至 和 期间 之间 以来 时候 早上 上午 中午 下午 晚上 凌晨 全部 所有 整理 查 找 想 知道 了 的 是 在 有 吗 呢 吧 啊 呀 过 得 下 新 上旬 中旬 下旬 月初 月底 年初 年底 初 底
何 なに しました していた しています していました しましたか した する して いた いる ある あった ありました ました ます でした ですか です だった
か は を が の に で と へ も や よ ね 出来事 こと 予定 メモ ノート まとめ 要约 教えて おしえて ください 下さい 见せて 书いた 言った 话した
やった 起きた 起こった どんな から まで
"""
_CJK_FILLERS = re.compile("|".join(sorted(_CJK.split(), key=len, reverse=True)))


def in_english(text: str) -> tuple[str, list[str]]:
    """Return a question with its phrases of time in English and Chinese, and the names of days and months that it had."""
    said: list[str] = []

    def put(found: re.Match[str], phrase: str) -> str:
        parts = {name: _SAID.get(part.lower(), part) for name, part in found.groupdict("").items()}
        said.extend(found[name] for name in "dm" if found.groupdict().get(name))
        return phrase.format(**parts)

    for pattern, phrase in _PATTERNS:
        text = pattern.sub(lambda found, phrase=phrase: put(found, phrase), text)  # type: ignore[misc]
    if _FRENCH.search(text):
        text = re.sub(r"\bhier\b", "yesterday", text, flags=re.IGNORECASE)
    for japanese, phrase in _JAPANESE:
        text = re.sub(japanese, phrase, text)
    return re.sub("([月火水木金土日])曜日?", lambda found: "周" + found[1].translate(_YOUBI), text), said


def only_fillers(text: str, *, foreign: bool) -> bool:
    """Return whether nothing is asked in a text: "what did I do", 做了什么. `foreign`: other languages are expected."""
    words = {bare(word) for word in read_query(_CJK_FILLERS.sub(" ", text)).words} - STOP
    english, *others = _FILLERS
    return words <= english or ((foreign or len(words) > 1) and any(words <= some for some in others))


def _meanings(*tables: str) -> Iterator[tuple[str, str]]:
    for table in tables:
        for row in table.split(","):
            english, *others = row.split()
            for word in others:
                yield from {(word.replace("_", " "), english), (bare(word.replace("_", " ")), english)}


def _any(table: str) -> str:
    return "|".join(sorted({word for word, _ in _meanings(table)}, key=len, reverse=True))


_SAID = dict(_meanings(_UNITS, _DAYS, _MONTHS, _NUMBERS))
_PARTS = {
    "{N}": rf"(?P<n>\d{{1,3}}|{_any(_NUMBERS)})",
    "{U}": f"(?P<u>{_any(_UNITS)})",
    "{D}": f"(?P<d>{_any(_DAYS)})",
    "{M}": f"(?P<m>{_any(_MONTHS)})",
    "{K}": r"(?P<k>[0-3]?\d)",
    "{Y}": r"(?:,? (?:de |del )?(?P<y>(?:19|20)\d\d))?",
}
_FILLED = [(re.sub("{[A-Z]}", lambda found: _PARTS[found[0]], pattern), phrase) for pattern, phrase in _PHRASES]
_PATTERNS = tuple((re.compile(rf"(?<!\w)(?:{one})(?!\w)", re.IGNORECASE), phrase) for one, phrase in _FILLED)
