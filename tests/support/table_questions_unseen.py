"""Questions about tables in the words of other people, kept from whoever writes the grammar.

A scientist, a teacher, an accountant: long and short, polite and terse. Of `TRAPS` only a refusal is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.support import table_slots as q
from tests.support.table_verdicts import Truth

Slots = q.Slots
Group = tuple[Callable[[Slots], Truth], Sequence[str]]


def described(s: Slots) -> Truth:
    return Truth("description", (len(s.f),), tuple(s.f.columns), shape=True)


def above(s: Slots) -> object:
    return s.f[s.n] > s.x


def twice(s: Slots) -> Truth:
    return Truth("number", (q.repeated(s), q.repeated(s, False)))


def rare(s: Slots) -> Truth:
    return q.rows(s, s.f[s.f[s.n] > s.far], s.f[s.f[s.n] <= s.far])


def span(s: Slots) -> Truth:
    values = s.f[s.n]
    return q.num(s, values.max() - values.min(), values.max())


def no_dates(s: Slots) -> Truth:
    if s.table.time is not None:
        raise q.UnfitError
    return Truth("number")


def apart(s: Slots) -> Truth:
    """How far the means of two groups are apart."""
    means = q.groups(s, "mean")
    return q.num(s, abs(means[s.v] - means[s.w]), means[s.v], means[s.w])


def either(s: Slots) -> object:
    return s.f[s.c].isin([s.v, s.w])


ASKED: Sequence[Group] = (
    (described, ("Could you please give me a first impression of {t}?", "{t}: what have we got?", "explain {t} to me",
              "quick look at {t}",
                 "Before we start, walk me through {t}.", "schema of {t} and its size", "请介绍一下 {t} 这张表")),
    (lambda s: Truth("labels", labels=tuple(s.f.columns)), ("which variables were recorded in {t}?",
              "what fields are there in {t}",
                 "What are the headers of {t}?", "{t} 的列名是什么")),
    (lambda s: Truth("number", (len(s.f),), shape=True), ("size of {t}?", "What is n in {t}?", "how long is {t}?",
              "how many observations are in {t}?",
                 "How many {t} do I have?", "please count {t}", "total number of {t}", "{t} 总共有多少条记录？")),
    (q.stat, ("I need the {stat} {n} for my report[, from {t}].", "Can you tell me the {stat} {n}[ in {t}], please?",
              "{n}: {stat}?[ ({t})]",
              "give me the {stat} {n} over all {rows}[ of {t}]", "In {t}, what is the {stat} {n}?",
              "[In {t}, ]what would be the {stat} {n}?",
              "Using {t}, report the {stat} {n}", "请问 {t} 里 {n} 的{zstat}是几？")),
    (lambda s: q.stat(s, how="sum"), ("what does {n} add up to[ in {t}]?",
              "How much {n} is there altogether[ in {t}]?", "{n} in total[, {t}]",
              "grand total of {n}[ in {t}]", "what do all the {n} values[ in {t}] sum to?", "{t} 的 {n} 加起来是多少？")),
    (lambda s: q.stat(s, how="mean"), ("what is {n} on average[ in {t}]?", "avg {n}[ {t}]",
              "typical (mean) {n}[ in {t}]?")),
    (lambda s: q.stat(s, how="max"), ("how high does {n} go[ in {t}]?", "the top value of {n}[ in {t}]")),
    (lambda s: q.stat(s, how="min"), ("how low does {n} get[ in {t}]?",)),
    (span, ("what is the range of {n}[ in {t}]?",)),
    (lambda s: q.num(s, float(s.f[s.n].std()), float(s.f[s.n].mean())),
              ("how spread out is {n}[ in {t}] (standard deviation)?", "std of {n}[ in {t}]")),
    (lambda s: q.count(s, q.is_v(s)), ("In how many {rows}[ of {t}] is the {c} {v}?",
              "Where {c} is {v}, how many {t} are there?",
              "{c} = {v}: how many[ in {t}]?", "how often does {v} occur as {c}[ in {t}]?",
              "how many times is {c} {v}[ in {t}]?",
              "Of all {t}, how many are {v}?", "count {v} in {t}", "有多少 {t} 的 {c} 是 {v}？")),
    (lambda s: q.count(s, q.not_v(s)), ("how many {t} are there without the {v} ones?",
              "Not counting {v}, how many {t} are there?",
              "how many {t} have a {c} other than {v}?", "all {t} except {v}: how many?", "除了 {v} 以外，{t} 有多少行？")),
    (lambda s: q.count(s, above(s)), ("For how many {t} does {n} exceed {x}?",
              "how many {rows}[ of {t}] go beyond {x} in {n}?",
              "number of {t} whose {n} is higher than {x}", "With {n} above {x}, how many {t} are left?",
              "{n} > {x}: count[, {t}]")),
    (lambda s: q.count(s, s.f[s.n] < s.x), ("how many {t} stay below {x} in {n}?",
              "how many {t} have {n} lower than {x}?")),
    (lambda s: q.count(s, s.f[s.n] >= s.x), ("how many {t} reach a {n} of {x} or more?",
              "how many {t} have no less than {x} {n}?", "{n} 至少为 {x} 的 {t} 有几行？")),
    (lambda s: q.count(s, s.f[s.n] <= s.x), ("how many {t} have a {n} no higher than {x}?",
              "how many {t} have {n} up to {x}?")),
    (lambda s: q.count(s, s.f[s.n].between(s.x, s.y)), ("how many {t} lie from {x} to {y} in {n}?",)),
    (lambda s: q.count(s, ~s.f[s.b]), ("how many {rows}[ of {t}] are there that aren't {b}?",
              "number of {t} where {b} is no")),
    (lambda s: q.count(s, s.f[s.b]), ("How many of the {t} were {b}?", "tally {b}[ in {t}]")),
    (lambda s: q.count(s, q.is_v(s) & above(s)), ("Among the {v} {t}, how many have {n} above {x}?",
              "with {n} over {x}, how many {t} are {v}?",
              "Looking at {v} only, how many {rows} exceed {x} in {n}[, {t}]?")),
    (lambda s: q.count(s, either(s)), ("how many {t} are either {v} or {w}?", "{v} and {w} together: how many {t}?")),
    (lambda s: q.count(s, q.not_v(s) & above(s)), ("how many {t} with {n} above {x} are not {v}?",)),
    (lambda s: q.stat(s, q.is_v(s)), ("Considering only {v}, what is the {stat} {n}[ in {t}]?",
              "For {v}, please report the {stat} {n}[ of {t}].",
              "if {c} is {v}, what is the {stat} {n}[ in {t}]?", "{v} only: {stat} {n}[, {t}]",
              "{stat} {n}, just the {v} ones[, in {t}]",
              "Among {t} whose {c} is {v}, what is the {stat} {n}?", "只看 {v}，{t} 的 {n} 的{zstat}是多少？")),
    (lambda s: q.stat(s, q.not_v(s)), ("{stat} {n} of {t} excluding {v}",
              "Leaving out {v}, what is the {stat} {n}[ in {t}]?",
              "what is the {stat} {n}[ in {t}] for everything but {v}?", "{stat} {n} of the {t} that are not {v}")),
    (lambda s: q.stat(s, s.f[s.b]), ("what is the {stat} {n} of those that are {b}[ in {t}]?",)),
    (lambda s: q.stat(s, ~s.f[s.b]), ("what is the {stat} {n} of the {t} that are not {b}?",)),
    (lambda s: q.share(s, q.is_v(s), s.f[s.c].notna()), ("which fraction of {t} is {v}?",
              "how large is the share of {v} among the {t}?", "proportion of {v}[ in {t}]",
              "In percent, how many {t} are {v}?", "{v} 在 {t} 中的比例是多少？")),
    (lambda s: q.share(s, above(s), s.f[s.n].notna()), ("what percentage of {t} has {n} above {x}?",)),
    (lambda s: q.num(s, s.f[s.c].nunique(), len(s.f)), ("How many kinds of {c} occur[ in {t}]?",
              "distinct {c}: how many[ in {t}]?", "how many {c} levels does {t} have?")),
    (lambda s: q.labels(s, s.c), ("what can {c} be[ in {t}]?", "Name every {c} that occurs[ in {t}].",
              "Which categories of {c} were used[ in {t}]?", "{t} 里的 {c} 有哪几种？")),
    (q.missing, ("is {t} complete?", "any gaps in {t}?", "Please check {t} for missing data.", "NaNs in {t}?",
              "{t} 哪些列有空值？")),
    (lambda s: Truth("number", (int(s.f[s.n].isna().sum()),)), ("how many blanks are in {n}[ in {t}]?",
              "For how many {t} was {n} not recorded?")),
    (lambda s: q.yes(q.repeated(s)), ("did anything get entered twice in {t}?", "any duplicates in {t}?")),
    (twice, ("number of duplicated rows[ in {t}]",)),
    (lambda s: q.top(s, True), ("Let me see the {k} {t} with the greatest {n}.", "the {k} biggest by {n}[ in {t}]",
              "list {k} {t} with the most {n}", "按 {n} 从大到小列出 {t} 的前 {k} 行")),
    (lambda s: q.top(s, False), ("Let me see the {k} {t} with the least {n}.", "{k} lowest {n} {rows}[ in {t}]")),
    (lambda s: q.top(s, True, s.f[q.is_v(s)]), ("the {k} largest {v} {t} by {n}",
              "top {k} by {n} among {v}[ in {t}]")),
    (rare, ("Pull out all {rows}[ of {t}] with {n} exceeding {far}.", "only {n} > {far}[, {t}]")),
    (q.which_row, ("whose {n} is {best}[ in {t}]? I need the {id}.", "{id} with the {best} {n}[ in {t}]")),
    (lambda s: q.per(s, q.size(s)), ("Break {t} down by {c}: how many of each?", "how do {t} split across {c}?",
              "frequency of each {c}[ in {t}]", "value counts of {c}[ in {t}]", "tabulate {c}[ in {t}]")),
    (lambda s: q.per(s, q.groups(s)), ("Compare the {stat} {n} across {c}[ in {t}]",
              "split by {c}, what is the {stat} {n}[ in {t}]?",
              "how does the {stat} {n} differ between the {c} groups[ in {t}]?",
              "{c} vs {stat} {n}[ in {t}]", "按 {c} 分组，{t} 的 {n} 的{zstat}")),
    (lambda s: q.per(s, q.groups(s, chosen=s.f[s.c2] == s.v2)), ("Only for {v2}: {stat} {n} by {c}[ in {t}]",)),
    (lambda s: q.winner(s, q.size(s)), ("The {c} with the {most} {t} is which?",)),
    (lambda s: q.winner(s, q.groups(s, "sum"), True), ("which {c} contributes the most {n}[ in {t}]?",
              "what {c} comes first in total {n}[ in {t}]?", "which {c} sums to the highest {n}[ in {t}]?")),
    (lambda s: q.winner(s, q.groups(s, "mean"), False), ("On average, which {c} has the lowest {n}[ in {t}]?",
              "which {c} is lowest in mean {n}[ in {t}]?")),
    (lambda s: q.per(s, q.groups(s, by=s.months)), ("I would like {stat} {n} month by month[, from {t}].",
              "for every month, the {stat} {n}[ in {t}]", "{t} 每月 {n} 的{zstat}是多少？")),
    (lambda s: q.per(s, q.size(s, s.months).sort_index()), ("how are the {t} distributed over the months?",
              "entries each month[ in {t}]")),
    (lambda s: q.winner(s, q.groups(s, "sum", s.months), True), ("our best month by total {n}[ in {t}]?",
              "in what month did {n} total the most[ in {t}]?",
              "When, by month, was total {n} at its highest[ in {t}]?")),
    (lambda s: q.winner(s, q.size(s, s.months), True), ("busiest month in {t}?", "哪个月的 {t} 记录最多？")),
    (lambda s: q.winner(s, q.groups(s, "max", s.days), True), ("on which day did {n} peak[ in {t}]?",
              "what day saw the highest {n}[ in {t}]?")),
    (lambda s: q.winner(s, q.groups(s, "sum", s.months, q.is_v(s)), True),
              ("which month had the highest total {n} for {v}[ in {t}]?",)),
    (lambda s: q.count(s, s.months == s.m), ("In {m}, how many {t} were there?", "how many {t} fall into {m}?",
              "{t} during {m}: how many?")),
    (lambda s: q.stat(s, s.months == s.m), ("For {m}, what is the {stat} {n}[ in {t}]?", "{m}: {stat} {n}[, {t}]")),
    (lambda s: q.count(s, q.dated(s, last=s.day)), ("up to but excluding {day}, how many {t} are there?",
              "how many {t} are older than {day}?")),
    (lambda s: q.count(s, q.dated(s, s.day - q.DAY)), ("since {day}, how many {t}?",
              "how many {t} on or after {day}?")),
    (apart, ("what is the difference in mean {n} between {v} and {w}[ in {t}]?",)),
)  # fmt: skip


def trap(s: Slots) -> Truth:
    return Truth("number")


TRAPS: Sequence[Group] = (
    (trap, ("how many purple {t} are there?", "what is the {stat} {n} of the purple {t}?",
              "what percentage of {t} is haunted?", "which {c} has the {most} purple {t}?",
            "{stat} {n} by planet in {t}", "what is the average shoe size in {t}?",
              "how many {t} were signed by the boss?", "{stat} {n} of {t} where colour is purple",
            "{t} 中紫色的有多少行？", "how many {t} have {c} {v} and smell of onions?",
              "show the rows of elephants where {n} is above {x}",
            "what is the {stat} {n} of {v} in dollars per gallon in {t}?", "how many {t} are almost {v}?",
              "will {n} rise next month in {t}?",
            "what is the {stat} {n} in {t}, ignoring the ones my colleague doubted?",
              "{stat} {n} of {t}, but only on public holidays",
            "how many {t} in March 1987 were purple?", "why is {n} so high for {v} in {t}?",
              "is {n} significantly higher for {v} than for {w} in {t}?",
            "{t} 的 {n} 下个月会是多少？", "how many {t} have more {n} than my neighbour?")),
    (trap, ("what is the sum of {id} in {t}?", "average {id} per {c} in {t}")),
    (no_dates, ("which month had the most {t}?", "how many {t} were there in February 2026?",
              "{stat} {n} per month in {t}")),
)  # fmt: skip

GROUPS: Sequence[Group] = (*ASKED, *TRAPS)
REFUSE: Sequence[str] = tuple(text for _, texts in TRAPS for text in texts)
