"""The usual phrasings of questions about tables, by what they ask for; see `table_questions`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from tests.support import table_slots as q
from tests.support.table_verdicts import Truth

Slots = q.Slots


def described(s: Slots) -> Truth:
    return Truth("description", (len(s.f),), tuple(s.f.columns))


def mean_of_c(s: Slots) -> pd.Series:
    return q.groups(s, "mean")


GROUPS: Sequence[tuple[Callable[[Slots], Truth], Sequence[str]]] = (
    # the table as a whole
    (described, ("describe {t}", "what is in {t}?", "tell me about {t}", "give me an overview of {t}",
                 "what does {t} look like?", "summarize {t}", "描述 {t}", "{t} 里有什么？", "看一下 {t}")),
    (lambda s: Truth("labels", labels=tuple(s.f.columns)), ("what columns does {t} have?", "list the columns of {t}",
                 "which columns are in {t}?", "column names of {t}", "{t} 有哪些列？")),
    (lambda s: Truth("number", (len(s.f),)), ("how many rows does {t} have?", "how many {rows} are in {t}?",
                 "count the rows of {t}", "number of {rows} in {t}", "how many rows[ in {t}]?", "row count of {t}",
                 "{t} 有多少行？", "{t} 一共有几行")),
    (lambda s: q.num(s, s.f.shape[1]), ("how many columns does {t} have?",)),
    # one number of a column
    (q.stat, ("what is the {stat} {n}[ in {t}]?", "{stat} {n}[ in {t}]", "{stat} {n} of {t}",
              "show me the {stat} {n}[ of {t}]", "compute the {stat} {n}[ in {t}]", "what's the {stat} {n}[ in {t}]?",
              "find the {stat} {n} in {t}", "{t} 中 {n} 的{zstat}是多少？", "{n} 的{zstat}[，在 {t} 中]")),
    (lambda s: q.stat(s, how="sum"), ("sum of {n} in {t}", "sum {n}[ in {t}]", "add up {n}[ in {t}]",
              "what is the sum of {n}[ in {t}]?", "total of {n} in {t}")),
    (lambda s: q.stat(s, how="mean"), ("mean of {n} in {t}", "what is the average of {n}[ in {t}]?",
              "calculate the mean {n}[ of {t}]", "{t} 的平均 {n} 是多少")),
    (lambda s: q.stat(s, how="median"), ("median of {n}[ in {t}]", "what is the median of {n} in {t}?")),
    (lambda s: q.stat(s, how="max"), ("max {n}[ in {t}]", "what is the biggest {n}[ in {t}]?")),
    (lambda s: q.stat(s, how="min"), ("min {n}[ in {t}]", "what is the smallest {n} in {t}?")),
    # with a condition
    (lambda s: q.count(s, q.is_v(s)), ("how many {rows} of {t} have {c} {v}?", "how many {v} {t} are there?",
              "how many {rows} are there where {c} is {v}[ in {t}]?", "count {t} where {c} is {v}",
              "count the rows where {c} is {v}[ in {t}]", "number of {rows}[ in {t}] with {c} {v}",
              "how many {t} are {v}?", "how many {t} have {c} = {v}?", "{t} 中 {c} 是 {v} 的有多少行？",
              "{c} 为 {v} 的有多少行[，在 {t} 中]？")),
    (lambda s: q.count(s, q.not_v(s)), ("how many {rows}[ of {t}] have a {c} that is not {v}?",
              "how many {t} are not {v}?", "count the rows of {t} where {c} is not {v}")),
    (lambda s: q.count(s, s.f[s.n] > s.x), ("how many {t} have {n} above {x}?", "how many {rows}[ of {t}] have {n} > {x}?",
              "how many {t} have a {n} over {x}?", "count rows where {n} is greater than {x}[ in {t}]",
              "how many {rows} have more than {x} {n}[ in {t}]?", "{t} 中 {n} 大于 {x} 的有多少行？")),
    (lambda s: q.count(s, s.f[s.n] < s.x), ("how many {t} have {n} below {x}?", "how many {rows}[ of {t}] have {n} under {x}?",
              "number of rows[ of {t}] with {n} less than {x}", "{t} 中 {n} 小于 {x} 的有几行？")),
    (lambda s: q.count(s, s.f[s.n] >= s.x), ("how many {t} have {n} of at least {x}?", "count {t} with {n} >= {x}")),
    (lambda s: q.count(s, s.f[s.n] <= s.x), ("how many {rows}[ of {t}] have {n} of at most {x}?", "count {t} with {n} <= {x}")),
    (lambda s: q.count(s, s.f[s.n].between(s.x, s.y)), ("how many {t} have {n} between {x} and {y}?",
              "count the {rows}[ of {t}] where {n} is between {x} and {y}", "{t} 中 {n} 在 {x} 和 {y} 之间的有多少行？")),
    (lambda s: q.count(s, s.f[s.c].str.contains(s.v) == True), (  # noqa: E712  # missing is not True
              'how many {rows}[ of {t}] have a {c} that contains "{v}"?', "count {t} whose {c} contains {v}")),
    (lambda s: q.count(s, s.f[s.b]), ("how many {t} are {b}?", "how many {rows}[ of {t}] have {b} true?",
              "count the rows of {t} where {b} is true")),
    (lambda s: q.count(s, ~s.f[s.b]), ("how many {t} are not {b}?", "how many {rows} have {b} false[ in {t}]?")),
    (lambda s: q.count(s, q.is_v(s) & (s.f[s.n] > s.x)), ("how many {v} {t} have {n} above {x}?",
              "how many {rows} have {c} {v} and {n} above {x}[ in {t}]?", "count {t} where {c} is {v} and {n} > {x}")),
    (lambda s: q.count(s, q.is_v(s) & (s.f[s.c2] == s.v2)), ("how many {rows}[ of {t}] have {c} {v} and {c2} {v2}?",
              "how many {v2} {t} are there where {c} is {v}?")),
    (lambda s: q.count(s, s.f[s.c].isin([s.v, s.w])), ("how many {t} have {c} {v} or {w}?",
              "count the rows[ of {t}] where {c} is {v} or {w}")),
    (lambda s: q.stat(s, q.is_v(s)), ("what is the {stat} {n} where {c} is {v}[ in {t}]?", "{stat} {n} of {v} {t}",
              "what is the {stat} {n} for {v}[ in {t}]?", "{stat} {n} for {c} {v}[ in {t}]",
              "{stat} {n}[ in {t}] where {c} = {v}", "{t} 中 {c} 是 {v} 的 {n} 的{zstat}是多少？")),
    (lambda s: q.stat(s, q.not_v(s)), ("{stat} {n}[ in {t}] where {c} is not {v}",)),
    (lambda s: q.stat(s, q.is_v(s) & (s.f[s.c2] == s.v2)), (
              "{stat} {n}[ in {t}] where {c} is {v} and {c2} is {v2}", "what is the {stat} {n} for {v} and {v2}[ in {t}]?")),
    (lambda s: q.share(s, q.is_v(s), s.f[s.c].notna()), ("what percentage of {t} is {v}?", "what share of {t} has {c} {v}?",
              "what percent of the {rows}[ in {t}] have {c} {v}?", "share of {v} in {t}", "{t} 中 {v} 占百分之多少？")),
    (lambda s: q.share(s, s.f[s.b]), ("what percentage of {t} is {b}?", "what share of the {rows}[ in {t}] is {b}?")),
    # distinct, missing, twice
    (lambda s: q.num(s, s.f[s.c].nunique()), ("how many distinct {c} values are in {t}?", "how many different {c} are there[ in {t}]?",
              "how many unique values does {c} have[ in {t}]?", "number of unique {c}[ in {t}]", "{t} 中有多少个不同的 {c}？")),
    (lambda s: q.labels(s, s.c), ("what are the distinct values of {c}[ in {t}]?", "which values does {c} have[ in {t}]?",
              "list the unique {c} values[ of {t}]", "unique {c}[ in {t}]", "which {c} are there[ in {t}]?")),
    (q.missing, ("which columns of {t} have missing values?", "where are values missing[ in {t}]?",
              "what is missing in {t}?", "are there missing values in {t}?", "{t} 有缺失值吗？")),
    (lambda s: Truth("number", (int(s.f[s.n].isna().sum()),)), ("how many missing values does {n} have[ in {t}]?",
              "how many {n} values are missing[ in {t}]?", "how many rows[ of {t}] have no {n}?")),
    (lambda s: Truth("number", (int(s.f.isna().sum().sum()),)), ("how many missing values are there in {t}?",)),
    (lambda s: q.yes(s.f.duplicated().sum()), ("are there duplicate rows in {t}?", "does {t} have duplicates?",
              "are any rows repeated in {t}?", "{t} 有重复的行吗？")),
    (lambda s: Truth("number", (int(s.f.duplicated().sum()), int(s.f.duplicated(keep=False).sum()))),
              ("how many duplicate rows are in {t}?", "how many rows of {t} are duplicated?")),
    # rows
    (lambda s: q.top(s, True), ("show the {k} largest {t} by {n}", "top {k} {rows}[ of {t}] by {n}",
              "what are the {k} {rows} with the highest {n}[ in {t}]?", "which {k} {t} have the largest {n}?",
              "show me the top {k} {t} by {n}", "{t} 中 {n} 最大的 {k} 行")),
    (lambda s: q.top(s, False), ("the {k} {rows} with the lowest {n}[ in {t}]", "bottom {k} {rows}[ of {t}] by {n}",
              "which {k} {t} have the smallest {n}?")),
    (lambda s: q.rows(s, s.f[s.f[s.n] > s.far], s.f[s.f[s.n] <= s.far]), ("show the {rows}[ of {t}] where {n} is above {far}",
              "which {t} have {n} above {far}?", "list the {rows} with {n} over {far}[ in {t}]", "show {t} with {n} > {far}")),
    (lambda s: q.top(s, False), ("sort {t} by {n} and show the first {k} rows", "first {k} {rows}[ of {t}] sorted by {n}")),
    (lambda s: q.top(s, True), ("sort {t} by {n} descending, first {k} rows", "{t} by {n}, highest first, {k} rows")),
    (q.which_row, ("which {id} has the {best} {n}[ in {t}]?", "what is the {id} of the row with the {best} {n}[ in {t}]?")),
    # groups
    (lambda s: q.per(s, q.size(s)), ("how many {rows} per {c}[ in {t}]?", "how many {t} are there for each {c}?",
              "count {t} by {c}", "number of {rows} by {c}[ in {t}]", "how many {t} does each {c} have?", "每个 {c} 有多少行[，在 {t} 中]？")),
    (lambda s: q.per(s, q.groups(s)), ("{stat} {n} per {c}[ in {t}]", "{stat} {n} by {c}[ in {t}]", "what is the {stat} {n} of each {c}[ in {t}]?",
              "show the {stat} {n} for each {c}[ in {t}]", "for each {c}, what is the {stat} {n}[ in {t}]?", "{stat} {n} grouped by {c}[ in {t}]",
              "{t} 中每个 {c} 的 {n} 的{zstat}")),
    (lambda s: q.per(s, q.groups(s, chosen=s.f[s.c2] == s.v2)), ("{stat} {n} by {c} where {c2} is {v2}[ in {t}]", "{stat} {n} per {c} for {v2} {t}")),
    (lambda s: q.per(s, q.size(s, chosen=s.f[s.c2] == s.v2)), ("how many {v2} {t} does each {c} have?", "count of {v2} {t} per {c}")),
    (lambda s: q.per(s, q.groups(s).sort_values(ascending=False), True), ("{stat} {n} by {c}[ in {t}], sorted from high to low",)),
    (lambda s: q.winner(s, q.size(s)), ("which {c} has the {most} {rows}[ in {t}]?", "which {c} has the {most} {t}?")),
    (lambda s: q.winner(s, q.size(s), True), ("what is the most common {c}[ in {t}]?", "most frequent {c} in {t}", "{t} 中哪个 {c} 最多？")),
    (lambda s: q.winner(s, q.size(s, chosen=s.f[s.c2] == s.v2)), ("which {c} has the {most} {v2} {t}?",)),
    (lambda s: q.winner(s, q.groups(s, "sum")), ("which {c} has the {best} total {n}[ in {t}]?", "which {c} has the {best} sum of {n}[ in {t}]?", "{t} 中哪个 {c} 的 {n} 总和{zbest}？")),
    (lambda s: q.winner(s, mean_of_c(s)), ("which {c} has the {best} average {n}[ in {t}]?", "what {c} has the {best} mean {n}[ in {t}]?", "哪个 {c} 的平均 {n} {zbest}[，在 {t} 中]？")),
    (lambda s: q.top_groups(s, q.groups(s, "sum")), ("top {k} {c} by total {n}[ in {t}]", "which {k} {c} have the highest total {n}[ in {t}]?")),
    # times
    (lambda s: q.per(s, q.groups(s, by=s.months)), ("{stat} {n} by month[ in {t}]", "{stat} {n} per month[ in {t}]", "what is the {stat} {n} of each month[ in {t}]?",
              "monthly {stat} {n}[ in {t}]", "{t} 中每个月的 {n} 的{zstat}")),
    (lambda s: q.per(s, q.size(s, s.months).sort_index()), ("how many {t} per month?", "count the {rows} by month[ in {t}]", "how many {t} are there each month?")),
    (lambda s: q.per(s, q.groups(s, by=s.time.dt.year)), ("{stat} {n} by year[ in {t}]", "{stat} {n} per year[ in {t}]")),
    (lambda s: q.winner(s, q.groups(s, "sum", s.months)), ("which month had the {best} total {n}[ in {t}]?", "in which month was the total {n} {best}[ in {t}]?", "{t} 中哪个月的 {n} 总和{zbest}？")),
    (lambda s: q.winner(s, q.groups(s, "mean", s.months)), ("which month had the {best} average {n}[ in {t}]?",)),
    (lambda s: q.winner(s, q.size(s, s.months)), ("which month had the {most} {t}?", "in which month were there the {most} {rows}[ in {t}]?")),
    (lambda s: q.winner(s, q.groups(s, "sum", s.days)), ("which day had the {best} total {n}[ in {t}]?", "on which day was total {n} {best}[ in {t}]?")),
    (lambda s: q.winner(s, q.groups(s, "max", s.days), True), ("when was {n} highest[ in {t}]?", "on what date was the highest {n}[ in {t}]?")),
    (lambda s: Truth("time", labels=(s.days.dropna().min(),)), ("what is the earliest {d}[ in {t}]?", "what is the first {d} in {t}?")),
    (lambda s: Truth("time", labels=(s.days.dropna().max(),)), ("what is the latest {d}[ in {t}]?", "most recent {d} in {t}")),
    (lambda s: q.count(s, s.months == s.m), ("how many {t} in {m}?", "how many {rows} are there in {m}[ in {t}]?", "{t} 在{zm}有多少行？")),
    (lambda s: q.stat(s, s.months == s.m), ("what is the {stat} {n} in {m}[ in {t}]?", "{stat} {n} of {t} in {m}")),
    (lambda s: q.count(s, q.dated(s, s.day)), ("how many {t} have {d} after {day}?", "how many {rows} are after {day}[ in {t}]?")),
    (lambda s: q.count(s, q.dated(s, last=s.day)), ("count {t} where {d} is before {day}", "how many {t} before {day}?", "{t} 中 {d} 在 {zday} 之前的有多少行？")),
    (lambda s: q.stat(s, q.dated(s, s.day - q.DAY, s.day2 + q.DAY)), ("{stat} {n}[ in {t}] between {day} and {day2}",)),
)  # fmt: skip
