"""The words of questions about tables: what each means, and a request cut into tokens.

A line of the lexicon is a letter, what it stands for, and the words and phrases that mean it, in English and Chinese.
"""

import calendar
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

from deepnb.gate.spans import word_set
from deepnb.models.teaching.conversation import HAN_RUN, chinese
from deepnb.models.teaching.tables import Frame, singular

NOISE = word_set("""
a an the of in on at for from to is are was were do does did has have had with there it this we ones which what
me my you can please show list give tell find see get compute calculate value values dataframe table data
的 了 吗 呢 里 中 在 请 哪 个 哪个 是多少 计算
""")
"""Words that mean nothing: none of them denies, compares or counts."""

_LEXICON = """
H: how many|number of|total number of|how many times|number of times|how often|count|count of|多少|几|数量|个数|有多少|有几|计数
h: counts|counts of|frequency of
M: how much
A mean: mean|average|avg|on average|averaged|mean value|average value|means|averages|平均|平均值|均值
A sum: grand total|grand total of|add up to|sum to|加起来|total|sum|sum of|totals|total of|sum up|combined|summed|add up|总和|合计|总计|总|求和|总数|总量
a: in total|altogether|overall|in all|一共|总共
A median: median|median value|medians|中位数|中值
A std: standard deviation|std|standard deviation of|spread|spread out|how spread out|标准差
S max most: most|最多
S min most: fewest|least|最少
S max: highest|greatest|maximum|max|strongest|maximum value|highest value|largest value|peak|最高|最大值|最强
S max size: largest|biggest|最大
S min: lowest|minimum|min|weakest|minimum value|lowest value|smallest value|最低|最小值|最弱
S min size: smallest|最小
S max date: latest|newest|most recent|最新|最晚
S min date: earliest|最早
G max: most common|most frequent|commonest|most often|busiest|最常见
G min: least common|rarest
B: by|per|each|every|for each|for every|in each|of each|grouped by|group by|broken down by|split by|across|每|每个|每种|各|各个|按|按照
U month: month|months|月|月份|个月
U day: day|days|天|日
U year: year|years|年|年份
U week: week|weeks|周
U weekday: weekday|weekdays|day of the week|day of week|星期|星期几
U quarter: quarter|quarters|季度
w: when|on which date|on what date|什么时候|何时
R row: row|rows|record|records|entry|entries|observation|observations|行|条|记录|条记录|行数
K: column|columns|fields|headers|column names|names of the columns|列|字段|列名|有哪些列|哪些列
Q: describe|schema|quick look at|explain|what is in|what's in|tell me about|summarize|summary|overview|explore|inspect|look at|what does|look like
Q: 描述|概况|看看|有什么|查看|介绍|看一下|怎么样
s: shape|shape of|size|size of|how big|how large|how long|dimensions of|形状|大小
y: type|types|dtype|dtypes|data types|类型
X: share|share of|percentage|percentage of|proportion|proportion of|fraction of|percent|percent of|百分比|比例|占比|百分之几|占百分之多少|占多少
d: distinct|different|unique|distinct values|unique values|different values|kinds of|categories of|不同|唯一|不同值|不同的
m: missing|null|nulls|nan|nans|na|empty|blank|blanks|missing values|missing value|missing data|gaps|incomplete|缺失|缺失值|空值
u: duplicate|duplicates|duplicated|repeated|duplicate values|duplicate entries|重复|重复的
O: sort|sorted|order by|ordered by|sort by|sorted by|rank|ranked|rank by|ranked by|ordered|arrange by|排序|排列
o max: descending|in descending order|desc|highest first|largest first|high to low|降序|从大到小|从高到低
o min: ascending|in ascending order|asc|lowest first|smallest first|low to high|升序|从小到大|从低到高
f: first|top|前
f min: bottom
l: last|最后
E: are there|anything|is anything|is there|any|are there any|is there any|有没有|是否有|有
> >: above|over|beyond|exceed|more than|greater than|larger than|higher than|exceeding|exceeds|>|大于|超过|高于|多于
> <: below|under|less than|fewer than|smaller than|lower than|<|小于|低于|少于|不到
@ >=: or more|or higher|or above|or greater|or larger|and above|and up|以上
@ <=: or less|or fewer|or lower|or below|or under|and below
> >=: at least|no less than|not less than|no fewer than|no lower than|not below|not under|no smaller than|>=|至少|至少为|大于等于|大于或等于|不小于|不少于|不低于
> <=: at most|no more than|not more than|no higher than|not above|no greater than|no larger than|not over|not exceeding|up to|<=|至多|至多为|小于等于|小于或等于|不大于|不高于|不超过|不多于
> after: after|later than|newer than|more recent than|之后|以后|晚于
> before: before|earlier than|prior to|up to but excluding|up to but not including|之前|以前|早于
> since: since|starting|on or after|no earlier than|not before|自从
> until: until|till|on or before|no later than|not after|up to and including
b: between|介于|之间
&: and|和|与|到|以及|且|并且
|: or|或|或者
!: not|isn't|aren't|wasn't|except|except for|leaving out|not counting|not including|everything but|everything except|all but|ignoring|excluding|other than|but not|不是|不为|不在|除了|!=
n: without|no|with no|lack|lacks|lacking|have no|has no|没有
i: equals|equal to|equal|=|==|等于|是|为
c: contains|containing|contain|包含
q: considering only|looking only at|只看|只考虑|where|whose|that|if|其中
t: over time|through time|随时间|over the time
v: against|versus|vs
P: plot|plots|chart|graph|draw|visualize|visualise|画|画出|绘制|图
p bar: bar|bars|bar chart|bar plot|bar graph|柱状图|条形图
p line: line|lines|line chart|line plot|line graph|折线图
p scatter: scatter|scatter plot|points|散点图
p hist: histogram|histogram of|distribution|distribution of|直方图|分布
z unit sale quantity revenue amount: sold|sell|sells|bought|buy|buys|卖
z mass weight: weigh|weighs|weighed
"""
_ADJECTIVES = """
mass weight: heaviest,heavier than,最重|lightest,lighter than,最轻
length duration distance: longest,longer than,最长|shortest,shorter than,最短
age: oldest,older than,最老|youngest,younger than,最年轻
price cost: most expensive,dearest,最贵|cheapest,cheaper than,least expensive,最便宜
temperature: hottest,warmest,hotter than,最热|coldest,coolest,colder than,最冷
"""
LEXICON: Mapping[str, tuple[str, str]] = {
    phrase: (head[0], head[2:])
    for head, _, phrases in (line.partition(": ") for line in _LEXICON.strip().splitlines())
    for phrase in phrases.split("|")
    if phrase
} | {
    word: (">", f"{sign} {of}") if word.endswith("than") else ("S", f"{end} {of}")
    for of, _, pair in (line.partition(": ") for line in _ADJECTIVES.strip().splitlines())
    for (end, sign), said in zip((("max", ">"), ("min", "<")), pair.split("|"), strict=True)
    for word in said.split(",")
}
"""Phrase -> its letter, and what it stands for; of the adjectives, also the words in a column that they speak of."""
_NUMBERS = ("one two three four five six seven eight nine ten eleven twelve", "一 二 三 四 五 六 七 八 九 十", "_ 两")
_DIGITS = {word: n for line in _NUMBERS for n, word in enumerate(line.split(), 1)}
_MONTHS = "|".join(name for n in range(1, 13) for name in (calendar.month_name[n], calendar.month_abbr[n]))
_PIECE = re.compile(
    r"\"[^\"]+\"|“[^”]+”|`[^`]+`|\d{4}-\d{2}(?:-\d{2})?(?![\d-])|-?\d[\d,]*\.\d+(?!\w)|-?\d+(?:,\d{3})*(?![\w-])"  # "North", 2026-03, 1.5, 8,000
    r"|[<>=!]=|[<>=%]|[㐀-鿿]+|[^\W㐀-鿿]+(?:[-.][^\W\d]+)*(?:['’](?:t|s(?= in\b)))?|[^\s\w.,;:?!()'’，。？！：；、]"  # >=, 地区, well-known, isn't
)
_PREPOSITIONS = "in of from on for at 里 中 在"
_BEFORE_YEARS = "in of during before after since for from until year"
_DATE = rf"\d{{4}}-\d\d(?:-\d\d)?|(?:\d{{1,2}} )?(?:{_MONTHS}) \d{{4}}"  # 2026-02, 2026-02-03, 3 February 2026
_WHEN = rf"(?:{_DATE}|-?\d[\d,.]*\b)"
_PHRASES = r"""
\bfrom (WHEN) (?:up )?(?:to|until|till|through) (WHEN) => between \1 and \2
,\s*(TABLE)\W*$ => \040in \1
\b(?:could|would) you\b|\b(?:I|we)(?: would|'d) like\b|\b(?:I|we) (?:need|want)\b|\blet me (?:see|know)\b|\bfor (?:my|our|the) report\b => \040
\bdo (?:I|we) have\b => are there
\bdo(?:es)? (TABLE) have\b => are there in \1
\b(?:value[ _]counts?|frequencies|tabulate)\b(?: of\b)? => counts of
\bhow (high|low) (?:does|do|did|can) (?:the )?(.+?) (?:go|get)\b => \1est \2
^\W*is (\S+) complete\W*$ => missing values in \1
\b(day|week|month|year) by \1\b|\b(week|month|year)ly\b => per \1\2
\b(?:fall|falls|fell) (?:into|in|within)\b|\bduring\b => in
\b(?:go|goes|went|stay|stays|stayed|lie|lies) (below|above|over|under|between)\b => \1
\blooking at (.+?) only\b => where \1
\bthose (?=that\b|which\b|where\b|whose\b|with\b) => \040
\bamong\b|\bout of\b => of
(?:按照?)(.+?)分组 => 按\1
除了(.+?)(?:以外|之外) => 除了\1
是(?:什么|几) => 是多少
(?<!看)一下|请问|这张表|这个表 => \040
"""
_SAID_AS = tuple(tuple(line.replace("WHEN", _WHEN).split(" => ")) for line in _PHRASES.strip().splitlines())
"""Texts, and others that say the same in words of the lexicon."""
_LONGEST = 5  # words of a phrase
_NO_TABLE = Frame("", 0, 0, ())
_ASKING = "|how many|number of|top|rows|records|entries|row|per|each|多少|有多少|几|行|有什么|"
_OPENINGS = "what which how is are does do has have show list give find display when 哪 什么 列出"


@dataclass(frozen=True)
class Token:
    """A word or phrase with its letter: one of the lexicon, C a column, V a value, N a number, D a date, T the table.

    `?` is a word that is nothing of these; `of` says that a preposition is before it.
    """

    kind: str
    text: str
    value: Any = ""
    of: bool = False


def speaks_of_tables(request: str) -> bool:
    """Return whether a request has a word that questions about tables have."""
    tokens = [phrase[0] for phrase in spans(pieces(request, _NO_TABLE), _NO_TABLE)]
    asked = any(t.kind in "ASGXdmuOKsM" or f"|{t.text.lower()}|" in _ASKING for t in tokens)
    return asked or (tokens[:1] != [] and tokens[0].kind in "QHhfBO" and len(tokens) < 15)


def may_ask(request: str) -> bool:
    """Return whether a request may be about a table by its form: a question, or a few words that compare."""
    words = pieces(request, _NO_TABLE)
    tokens = [phrase[0] for phrase in spans(words, _NO_TABLE)]
    content = any(t.kind == "?" and len(t.text) > 2 - chinese(t.text) for t in tokens)
    compared = any(t.kind in "ND>bcnq!" for t in tokens) and len(words) < 9
    opens = {word.lower() for word in (words if chinese(request) else words[:1])} & {*_OPENINGS.split()}
    told = re.search(r"[.。!]\s+\S|\w (?:is|are|was|were|has|have) \w", request)  # a statement
    return content and bool(opens or (compared and not told))


def names_part(request: str, frame: Frame) -> bool:
    """Return whether a request has the name of a table, of a column or of a value in it."""
    found = spans(pieces(request, frame), frame)
    return any(t.kind in "TCV" and len(t.text) > 1 for phrase in found for t in phrase)


def pieces(request: str, frame: Frame) -> tuple[str, ...]:
    """Return the words of a request; Chinese is cut by longest match over the lexicon and the names of the table."""
    called = "|".join(re.escape(one) for one in (frame.name, *frame.nouns) if one) or "(?!)"
    for pattern, said in _SAID_AS:
        request = re.sub(pattern.replace("TABLE", called), said, request, flags=re.IGNORECASE)
    names = [frame.name, *(name for column in frame.columns for name in (column.name, *column.values))]
    words = sorted({one for one in (*LEXICON, *NOISE, *names, *_DIGITS) if chinese(one)}, key=len, reverse=True)
    han = re.compile("|".join([*map(re.escape, words), "."]))
    parts = _PIECE.findall(re.sub(r"(?<=[^\W\d])[’']s\b(?! in\b)", "", request))
    return tuple(one for part in parts for one in (han.findall(part) if HAN_RUN.fullmatch(part) else [part]))


def unknown_words(request: str, frame: Frame) -> list[str]:
    """Words, and runs of them, that may be values which the description of the table does not show."""
    words = pieces(request, frame)
    plain = ["" if word.lower() in NOISE or readings(words, at, 1, frame) else word for at, word in enumerate(words)]
    odd = [word.strip('"“”') if word[0] in '"“' else one for word, one in zip(words, plain, strict=True)]
    runs = [odd[i:j] for i in range(len(odd)) for j in range(i + 1, min(i + 3, len(odd)) + 1)]
    return list(dict.fromkeys(" ".join(run) for run in runs if all(run)))


def spans(words: tuple[str, ...], frame: Frame, short: int = -1) -> list[list[Token]]:
    """Return the readings of each phrase, by longest match; that at `short` is not the longest."""
    found: list[list[Token]] = []
    at, of = 0, False
    while at < len(words):
        matches = ((n, r) for n in range(min(_LONGEST, len(words) - at), 0, -1) if (r := readings(words, at, n, frame)))
        length, read = next(islice(matches, int(at == short), None), (1, []))
        word = words[at].lower()
        if read:
            after = words[at + length] if at + length < len(words) else ""
            begins = read[0].kind == "N" or (read[0].kind == "D" and read[0].value[0] == read[0].value[1])
            if at and read[0].kind in "DN" and (words[at - 1] == "to" or (words[at - 1] == "from" and begins)):
                found.append([Token("?", words[at - 1])])  # from this day on, or of this day?
            of = of or (after in ("里", "中", "的") and read[0].kind in "TC")
            found.append([replace(one, of=of) for one in read])
            of = False
        elif word in NOISE:
            of = word in _PREPOSITIONS.split() or (of and word in ("the", "my", "this", "table", "dataframe", "data"))
        else:
            found.append([Token("?", words[at].strip('"“”'))])
        at += length
    return found


@lru_cache(maxsize=4096)  # a question is read several times, each time with another phrase cut short
def readings(words: tuple[str, ...], at: int, length: int, frame: Frame) -> list[Token]:
    """Return what a phrase may be."""
    text, before, is_word = " ".join(words[at : at + length]), words[at - 1] if at else "", length == 1
    low, plain = text.lower(), text.strip('"“”`')
    date = _date(low, before.lower())
    number = is_word and (low in _DIGITS or re.fullmatch(r"-?\d[\d,]*(?:\.\d+)?", low))
    if date or number:
        amount = _DIGITS.get(low) or float(low.replace(",", "")) if number else 0
        return ([Token("D", text, date)] if date else []) + ([Token("N", text, amount)] if number else [])
    known = plain == text and low in LEXICON
    found = [Token(LEXICON[low][0], text, LEXICON[low][1])] if known else []
    strict = plain == text and (known or low in NOISE)
    for column in frame.columns:
        if column.type == "bool" and column in frame.named(plain):
            found.append(Token("V", text, (column.name, True)))
        for value in column.values:
            folded, wanted = value.casefold(), plain.casefold()
            same = value == plain and not value.islower() if strict else folded == wanted
            if same or (strict and known and folded == wanted) or (len(value) > 3 and wanted == f"{folded}s"):
                found.append(Token("V", text, (column.name, value == "True" if column.type == "bool" else value)))
    table = plain.casefold() == frame.name.casefold()
    if low not in NOISE or plain != text:
        named = frame.named(plain)
        named = [c for c in named if c.name.casefold() == plain.casefold()] if table else named
        found += [Token("C", text, c) for c in named if not known or c.name.casefold() == plain.casefold()]
    if table or (not strict and singular(plain) in frame.nouns):
        found.append(Token("T", text))
    if not found and any(low in c.units for c in frame.columns) and before[-1:].isdigit():
        found.append(Token("g", text, low))
    return found


def _date(text: str, before: str) -> tuple[str, str] | None:
    text = re.sub(r"^(\d{4}) 年 (\d{1,2}) 月$", r"\1-\2", text)
    year = re.fullmatch(r"(?:19|20)\d\d", text) and before in _BEFORE_YEARS.split()
    if not (year or re.fullmatch(rf"{_DATE}|\d{{4}}-\d", text, re.IGNORECASE)):
        return None
    from pandas import Period

    try:
        period = Period(text)
    except ValueError:
        return None
    return f"{period.start_time:%Y-%m-%d}", f"{period.end_time:%Y-%m-%d}"
