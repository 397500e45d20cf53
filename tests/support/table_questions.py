"""Questions about tables as data workers type them, with the true answers by pandas: what judges the offline model.

`python -m tests.support.table_questions COUNT SEED` asks them, and prints each wrong answer and how many were right.

A template is a text with slots; what stands in brackets names the table, and is left out where the table is the only
one in the kernel, or the one spoken of before. `GROUPS` is a truth with the texts that ask for it; of those in `REFUSE`
only a refusal is right.
"""

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pandas as pd
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from deepnb.models.resolve import resolve
from deepnb.values.turn import CodeOutput
from deepnb.workshop.code_tools import code_tools
from deepnb.workshop.kernel import PlainKernel
from deepnb.workshop.namespace import namespace_tools
from tests.support import table_slots as q
from tests.support.table_verdicts import Kind, Truth, Verdict, verdict

Group = tuple[Callable[[q.Slots], Truth], Sequence[str]]


def ways(s: q.Slots, *numbers: float, kind: Kind = "number", shape: bool = False) -> Truth:
    """Any of these numbers answers; with `yes`, it is yes unless they are 0."""
    said = ("yes" if any(numbers) else "no",) if kind == "yes" else ()
    return Truth(kind, tuple(map(float, numbers)), said, echoes=s.echoes, shape=shape)


def between(s: q.Slots, values: Any, low: Any, high: Any) -> Truth:
    kinds = ("both", "neither", "left", "right")
    return ways(s, *(q.count(s, values.between(low, high, inclusive=one)).numbers[0] for one in kinds))


def agree(s: q.Slots) -> Truth:
    """The group that has the highest n, be it the sum, the mean or the maximum."""
    read = [q.winner(s, q.groups(s, how), True) for how in ("sum", "mean", "max")]
    if len({one.labels for one in read}) > 1:
        raise q.UnfitError
    return Truth("label", tuple(one.numbers[0] for one in read), read[0].labels, read[0].wrong, echoes=s.echoes)


def sort(s: q.Slots, up: bool) -> Truth:
    """The first three rows of the sorted table; how many more are shown is free."""
    frame = s.f.dropna(subset=s.n).sort_values(s.n, ascending=up)
    if frame[s.n].head(4).duplicated().any():
        raise q.UnfitError
    return Truth("rows", tuple(float(one) for one in frame[s.table.id or s.n].head(3)), ordered=True)


def newest(s: q.Slots) -> Truth:
    """The k latest rows, by a column of dates."""
    order = s.time[s.time.notna() & bool(s.d)].sort_values(ascending=False)
    if order.iloc[s.k - 1] == order.iloc[s.k]:
        raise q.UnfitError
    return q.rows(s, s.f.loc[order.index[: s.k]], s.f.loc[order.index[s.k :]])


def day(s: q.Slots, *ends: str) -> Truth:
    return Truth("time" if len(ends) == 1 else "labels", labels=tuple(pd.Period(s.time.agg(one), "D") for one in ends))


def gaps(s: q.Slots) -> Truth:
    each = s.f.isna().sum()[lambda one: one > 0]
    return Truth("series", tuple(map(float, each)), tuple(map(str, each.index))) if len(each) else ways(s, 0)


def table(s: q.Slots, fits: bool) -> Truth:
    if not fits:
        raise q.UnfitError
    return Truth("label", labels=(s.t,), wrong=tuple(one for one in q.tables() if one != s.t))


def home(s: q.Slots, column: str) -> Truth:
    """The table with this column, where no other has one of a like name."""
    taken = [str(name).lower() for one in q.tables().values() if one.name != s.t for name in one.frame.columns]
    return table(s, not any(column.lower() in name or name in column.lower() for name in taken))


def undated(s: q.Slots) -> Truth:
    return table(s, s.table.time is None)


ASKED: Sequence[Group] = (
    (lambda s: Truth("description", (len(s.f),), tuple(map(str, s.f.columns)), shape=True), (
        "describe {t} for me", "Give me an overview of {t}", "what's in {t}?", "Please summarise the {t} table.",
        "I just loaded {t}. What does it contain?", "quick summary of {t}", "介绍一下{t}这个表", "概述{t}的数据")),
    (lambda s: Truth("rows", tuple(map(float, s.f[s.n].agg(["min", "mean", "max"])))), (
        "summary statistics for {n}[ in {t}]", "min, mean and max of {n}[ in {t}]", "describe column {n}[ of {t}]")),
    (lambda s: Truth("rows", tuple(map(float, s.f[s.n].agg(["min", "max"])))), ("min and max {n}[ in {t}]",)),
    (lambda s: Truth("labels", labels=tuple(map(str, s.f.columns))), (
        "what columns does {t} have?", "list the column names of {t}", "{t}有哪些列？")),
    (lambda s: ways(s, len(s.f), shape=True), (
        "how many rows are in {t}?", "number of {rows} in {t}", "How big is {t}?", "row count of {t} please",
        "Hi, could you tell me how many observations {t} has?", "{t}一共有多少行？",
        "As a first step, please tell me how many rows and columns {t} has.")),
    (lambda s: ways(s, len(s.f.columns), shape=True), ("how many columns are there in {t}?",)),
    (lambda s: home(s, s.n), ("which table has the {n} column?", "Where do I find {n}?")),
    (lambda s: home(s, s.c), ("which of my tables has the column {c}?", "哪个表里有{c}这一列？")),
    (lambda s: table(s, s.t == "orders"), ("which table has the most rows?", "What is my biggest table?")),
    (lambda s: table(s, s.t == "parcels"), ("which table has the fewest rows?",)),
    (lambda s: q.stat(s, how="mean"), (
        "average {n}[ in {t}]", "What's the mean {n}[ in {t}]?", "How high is {n} on average[ in {t}]?",
        "could you work out the average {n}[ for {t}], please?", "[{t}里]{n}的平均值是多少？")),
    (lambda s: q.stat(s, how="sum"), (
        "total {n}[ in {t}]", "what does {n} add up to[ in {t}]?", "sum of {n}[ in {t}]",
        "Please add up the {n} column[ of {t}].", "[{t}的]{n}总和是多少？")),
    (lambda s: q.stat(s, how="median"), ("median {n}[ in {t}]", "What is the median {n}[ in {t}]?", "[{t}]{n}的中位数")),
    (lambda s: q.stat(s, how="max"), ("what's the highest {n}[ in {t}]?", "max {n}[ in {t}]", "biggest {n}[ in {t}]?")),
    (lambda s: q.stat(s, how="min"), ("lowest {n}[ in {t}]", "what is the smallest {n} we have[ in {t}]?")),
    (lambda s: q.stat(s, q.is_v(s), "mean"), (
        "average {n} for {v}[ in {t}]", "mean {n} where {c} is {v}[ in {t}]", "[{t}里]{c}为{v}的平均{n}是多少？",
        "What is the average {n} of the {rows} with {c} {v}[ in {t}]?")),
    (lambda s: q.stat(s, q.is_v(s), "sum"), (
        "total {n} for {v}[ in {t}]", "[In {t}, ]what's the total {n} when the {c} is {v}?",
        "how much {n} in total for {c} {v}[ in {t}]?")),
    (lambda s: q.stat(s, q.is_v(s), "median"), ("median {n} of {v}[ in {t}]", "the median {n} if {c} is {v}[ in {t}]")),
    (lambda s: q.stat(s, q.not_v(s), "mean"), ("average {n} if {c} isn't {v}[ in {t}]", "mean {n} without {v}[ in {t}]")),
    (lambda s: q.stat(s, q.not_v(s), "sum"), ("total {n} for everything except {v}[ in {t}]",)),
    (lambda s: q.stat(s, q.is_v(s) & (s.f[s.c2] == s.v2), "sum"), ("total {n} for {c} {v} and {c2} {v2}[ in {t}]",)),
    (lambda s: q.stat(s, s.months == s.m, "sum"), (
        "total {n} in {m}[ for {t}]", "I'm writing the monthly report: what was the total {n} for {m}[ in {t}]?",
        "[{t}]{zm}的{n}总和是多少？")),
    (lambda s: q.stat(s, s.months == s.m, "mean"), ("what was the average {n} in {m}[ in {t}]?",)),
    (lambda s: q.stat(s, s.time.dt.year == 2025, "sum"), ("what was the total {n} in 2025[ in {t}]?",)),
    (lambda s: q.stat(s, q.dated(s, last=s.day), "mean"), ("what was the average {n} before {day}[ in {t}]?",)),
    (lambda s: q.num(s, s.f.loc[s.f[s.n] > s.x, s.n2].mean(), s.f[s.n2].mean()), (
        "average {n2} when {n} is above {x}[ in {t}]", "mean {n2} of {rows} with {n} over {x}[ in {t}]")),
    (lambda s: q.count(s, q.is_v(s)), (
        "how many {rows} have {c} {v}[ in {t}]?", "how many are {v}[ in {t}]?", "count {rows} if {c} is {v}[ in {t}]",
        "How many times does {v} appear[ in {t}]?", "number of {v} {rows}[ in {t}]", "[{t}里]{c}是{v}的有多少行？",
        "how many {rows} where {c} contains {v}[ in {t}]?", "[{t}中]有多少条记录的{c}包含{v}？")),
    (lambda s: q.count(s, q.not_v(s)), (
        "how many {rows} are not {v}[ in {t}]?", "count of {rows} whose {c} isn't {v}[ in {t}]",
        "how many {rows} with {c} other than {v}[ in {t}]?", "[{t}里]{c}不是{v}的有几条？")),
    (lambda s: q.count(s, s.f[s.c].isin([s.v, s.w])), ("how many {rows} are {v} or {w}[ in {t}]?",)),
    (lambda s: q.count(s, q.not_v(s) & (s.f[s.c] != s.w)), ("how many {rows} are neither {v} nor {w}[ in {t}]?",)),
    (lambda s: q.count(s, s.f[s.n] > s.x), (
        "how many {rows} have {n} above {x}[ in {t}]?", "count {rows} with {n} > {x}[ in {t}]",
        "In how many {rows} is the {n} greater than {x}[ in {t}]?", "[{t}里]{n}大于{x}的有多少行？")),
    (lambda s: q.count(s, s.f[s.n] < s.x), ("how many {rows} have {n} below {x}[ in {t}]?", "[{t}中]{n}低于{x}的记录数")),
    (lambda s: q.count(s, s.f[s.n] >= s.x), ("how many {rows} have {n} of at least {x}[ in {t}]?",)),
    (lambda s: ways(s, *(q.count(s, one).numbers[0] for one in (s.f[s.n] <= s.x, ~(s.f[s.n] > s.x)))), (
        "how many {rows} do not have {n} above {x}[ in {t}]?",)),
    (lambda s: between(s, s.f[s.n], s.x, s.y), (
        "how many {rows} have {n} between {x} and {y}[ in {t}]?", "count {rows} with {n} from {x} to {y}[ in {t}]")),
    (lambda s: q.count(s, q.is_v(s) & (s.f[s.n] > s.x)), (
        "how many {v} {rows} have {n} over {x}[ in {t}]?", "[{t}: ]how many with {c} = {v} and {n} > {x}?",
        "For my report I need the number of {rows} where {c} is {v} and {n} is above {x}[ in {t}].",
        "[{t}里]{c}是{v}并且{n}大于{x}的有多少行？")),
    (lambda s: q.count(s, q.is_v(s) & (s.f[s.c2] == s.v2)), (
        "how many {rows} are {v} and {v2}[ in {t}]?", "count where {c} is {v} and {c2} is {v2}[ in {t}]")),
    (lambda s: q.count(s, q.dated(s, first=s.day)), ("how many {rows} have {d} after {day}[ in {t}]?",)),
    (lambda s: q.count(s, q.dated(s, last=s.day)), ("how many {rows} before {day}[ in {t}]?", "[{t}]{zday}之前有几行？")),
    (lambda s: between(s, s.time[q.dated(s)], s.day, s.day2), ("how many {rows} between {day} and {day2}[ in {t}]?",)),
    (lambda s: q.count(s, s.months == s.m), ("how many {rows} in {m}[ in {t}]?", "number of {rows} for {m}[ in {t}]")),
    (lambda s: q.count(s, s.days == pd.Period(s.day, "D")), ("how many {rows} on {day}[ in {t}]?",)),
    (lambda s: q.count(s, s.f[s.b]), ("how many {rows} have {b} true[ in {t}]?",)),
    (lambda s: q.share(s, q.is_v(s), s.f[s.c].notna()), (
        "what percentage of {rows} is {v}[ in {t}]?", "share of {v}[ in {t}]", "[{t}里]{v}占多少百分比？",
        "What fraction of the {rows} has {c} {v}[ in {t}]?")),
    (lambda s: q.share(s, s.f[s.n] > s.x, s.f[s.n].notna()), ("what percent of {rows} have {n} above {x}[ in {t}]?",)),
    (lambda s: q.share(s, s.f[s.b]), ("what share of {rows} is {b}[ in {t}]?",)),
    (lambda s: ways(s, *(float(k * s.f.loc[q.is_v(s), s.n].sum() / s.f[s.n].sum()) for k in (1, 100))), (
        "what percentage of the total {n} comes from {v}[ in {t}]?",)),
    (lambda s: ways(s, s.f[s.c].nunique()), (
        "how many different {c} values are there[ in {t}]?", "number of unique {c}[ in {t}]", "[{t}]有多少种{c}？")),
    (lambda s: q.labels(s, s.c), (
        "what values does {c} take[ in {t}]?", "list all distinct {c}[ in {t}]", "Which {c} values occur[ in {t}]?")),
    (lambda s: ways(s, s.f.isna().sum().sum(), s.f.isna().any(axis=1).sum(), *gaps(s).numbers, kind="yes"), (
        "are there any missing values in {t}?", "Does {t} have nulls?", "{t}里有缺失值吗？",
        "Before I clean anything: is there any missing data in {t}?")),
    (q.missing, ("which columns of {t} have missing values?", "what columns in {t} contain NaN?")),
    (gaps, ("missing values per column in {t}", "how many nulls in each column of {t}?", "统计{t}每列的缺失值数量")),
    (lambda s: ways(s, s.f[s.n].isna().sum()), (
        "how many {n} values are missing[ in {t}]?", "[In {t}, ]how many {rows} have no {n}?")),
    (lambda s: ways(s, q.repeated(s), q.repeated(s, keep=False), kind="yes"), (
        "are there duplicate rows in {t}?", "any duplicates in {t}?", "{t}有没有重复的行？")),
    (lambda s: ways(s, q.repeated(s), q.repeated(s, keep=False)), ("how many duplicate rows does {t} have?",)),
    (q.top, ("the {k} {rows} with the {best} {n}[ in {t}]", "Show me the {k} {rows} with {best} {n}[ in {t}]")),
    (lambda s: q.top(s, True), ("top {k} by {n}[ in {t}]", "show the top {k} {rows} of {t} sorted by {n} descending")),
    (lambda s: q.top(s, True, s.f[q.is_v(s)]), ("top {k} {rows} by {n} where {c} is {v}[ in {t}]",)),
    (q.which_row, ("which {id} has the {best} {n}[ in {t}]?",)), (newest, ("the {k} most recent {rows} in {t}",)),
    (lambda s: q.rows(s, s.f.head(s.k).dropna(subset=s.n), s.f.iloc[s.k :]), ("show me the first {k} {rows} of {t}",)),
    (lambda s: q.rows(s, s.f[s.f[s.n] > s.far], s.f[s.f[s.n] <= s.far]), (
        "show the {rows} with {n} above {far}[ in {t}]", "which {rows} have {n} over {far}[ in {t}]?")),
    (lambda s: sort(s, True), ("sort {t} by {n}", "order {t} by {n} ascending")),
    (lambda s: sort(s, False), ("sort {t} by {n}, largest first", "把{t}按{n}从大到小排序")),
    (lambda s: q.per(s, q.size(s)), (
        "how many {rows} per {c}[ in {t}]?", "count by {c}[ in {t}]", "How often does each {c} occur[ in {t}]?",
        "[{t}里]每个{c}有多少行？")),
    (lambda s: q.per(s, q.groups(s, "mean")), (
        "average {n} by {c}[ in {t}]", "What's the mean {n} for each {c}[ in {t}]?", "[{t}里]每个{c}的平均{n}")),
    (lambda s: q.per(s, q.groups(s, "sum")), (
        "total {n} per {c}[ in {t}]", "break down total {n} by {c}[ in {t}]", "按{c}统计[{t}的]{n}总和")),
    (lambda s: q.per(s, q.groups(s, "median")), ("I'd like to see the median {n} for each {c}[ in {t}]",)),
    (lambda s: q.per(s, q.groups(s)), ("Show me the {stat} {n} for every {c}[ in {t}]", "{stat} {n} by {c}[ in {t}]")),
    (lambda s: q.per(s, q.groups(s, "sum", chosen=s.f[s.c2] == s.v2)), ("total {n} by {c} for {v2} only[ in {t}]",)),
    (lambda s: q.per(s, q.size(s, s.months)), ("how many {rows} per month[ in {t}]?", "monthly number of {rows}[ in {t}]")),
    (lambda s: q.per(s, q.groups(s, "sum", s.months)), ("total {n} by month[ in {t}]", "[{t}]每个月的{n}总和")),
    (lambda s: q.per(s, q.groups(s, "mean", s.months)), ("What is the average {n} for each month[ in {t}]?",)),
    (lambda s: q.per(s, q.groups(s, "sum", s.years)), ("total {n} per year[ in {t}]",)),
    (lambda s: q.per(s, q.groups(s, "sum").sort_values(ascending=False), ordered=True), (
        "rank {c} by total {n}, highest first[, in {t}]",)),
    (lambda s: q.winner(s, q.size(s)), ("which {c} has the {most} {rows}[ in {t}]?",)),
    (lambda s: q.winner(s, q.size(s), True), ("most common {c}[ in {t}]", "[{t}]哪个{c}最多？")),
    (lambda s: q.winner(s, q.size(s), False), ("which {c} is the least common[ in {t}]?",)),
    (lambda s: q.winner(s, q.groups(s, "sum"), True), (
        "which {c} has the highest total {n}[ in {t}]?", "[{t}]哪个{c}的{n}总和最高？")),
    (lambda s: q.winner(s, q.groups(s, "mean")), ("which {c} has the {best} average {n}[ in {t}]?",)),
    (lambda s: agree(s), ("which {c} has the highest {n}[ in {t}]?",)),
    (lambda s: q.winner(s, q.groups(s, "mean")[[s.v, s.w]], True), ("is the average {n} higher for {v} or {w}[ in {t}]?",)),
    (lambda s: q.top_groups(s, q.groups(s, "sum")), ("top {k} {c} by total {n}[ in {t}]",)),
    (lambda s: q.winner(s, q.size(s, s.months), True), ("which month had the most {rows}[ in {t}]?",)),
    (lambda s: q.winner(s, q.groups(s, "sum", s.months)), ("which month has the {best} total {n}[ in {t}]?",)),
    (lambda s: q.winner(s, q.groups(s, "sum", s.days), True), ("on which day was the total {n} highest[ in {t}]?",)),
    (lambda s: day(s, "max"), ("what is the latest date in {t}?", "what is the most recent {d}[ in {t}]?")),
    (lambda s: day(s, "min"), ("what's the earliest {d}[ in {t}]?",)),
    (lambda s: day(s, "min", "max"), ("what date range does {t} cover?",)),
)  # fmt: skip

TRAPS: Sequence[Group] = (
    (lambda s: Truth("number"), (
        "what's the total discount[ in {t}]?", "average profit by {c}[ in {t}]", "which {c} got most refunds[ in {t}]?",
        "how many {rows} have tax above {x}[ in {t}]?", "how many premium {rows} are there[ in {t}]?",
        "total {n} per employee[ in {t}]", "average {n} excluding outliers[ in {t}]", "[{t}里]利润总和是多少？",
        "total {n} for all but one {c}[ in {t}]", "average {n} for some of the {rows}[ in {t}]",
        "which {c} has hardly any {rows}[ in {t}]?", "how many {rows} are only sometimes {v}[ in {t}]?",
        "how many {rows} are probably {v}[ in {t}]?", "how many {rows} are not necessarily {v}[ in {t}]?",
        "how many {rows} have {n} close to {x}[ in {t}]?", "what will the total {n} be next month[ in {t}]?",
        "forecast {n} for next year[ in {t}]", "what would the total {n} be if {v} had doubled[ in {t}]?",
        "why is the average {n} so low for {v}[ in {t}]?", "what causes a high {n}[ in {t}]?",
        "预测下个月[{t}]的{n}总和", "为什么[{t}里]{v}的{n}这么高？",
        "is average {n} above the industry average[ in {t}]?", "How does total {n} compare with our budget[ in {t}]?")),
    (lambda s: Truth("number", (float(s.f[s.id].sum()),)), ("total {id}[ in {t}]", "mean {id} by {c}[ in {t}]")),
    (undated, ("total {n} by month in {t}", "which month had the most {rows} in {t}?")),
)  # fmt: skip

GROUPS: Sequence[Group] = (*ASKED, *TRAPS)
REFUSE = tuple(text for _, texts in TRAPS for text in texts)


@dataclass(frozen=True)
class Pair:
    question: str
    table: str
    kernel: tuple[str, ...]
    truth: Truth
    template: str
    earlier: str = ""


def pairs(count: int, seed: int) -> list[Pair]:
    """Questions of all templates in turn, over tables that fit them; the same for the same seed."""
    rng = random.Random(seed)
    flat = [(truth, text) for truth, texts in GROUPS for text in texts]
    made: list[Pair] = []
    order: list[int] = []
    while len(made) < count:
        order = order or rng.sample(range(len(flat)), len(flat))
        truth, text = flat[order.pop()]
        made.append(_drawn(text, truth, rng, text in REFUSE))
    return made


def _drawn(text: str, truth: Callable[[q.Slots], Truth], rng: random.Random, refuse: bool) -> Pair:
    known = list(q.tables().values())
    for _ in range(400):
        table = rng.choice(known)
        s = q.Slots(table, rng)
        place = rng.choice(("named", "named", "named", "only", "last")) if "[" in text else "named"
        named = re.sub(r"\[(.*?)\]", r"\1" if place == "named" else "", text)
        try:
            question = re.sub(r"\{(\w+)\}", lambda one, s=s: s[one[1]], named)  # type: ignore[misc]
            true = replace(truth(s), refuse=refuse)
        except q.UnfitError:
            continue
        others = rng.sample(
            [one for one in q.tables() if one != table.name], 0 if place == "only" else rng.randint(1, 2)
        )
        kernel = tuple(rng.sample([table.name, *others], len(others) + 1))
        earlier = (
            rng.choice(("describe {}", "how many rows does {} have?")).format(table.name) if place == "last" else ""
        )
        return Pair(question, table.name, kernel, true, text, earlier)
    raise AssertionError(f"no table fits {text!r}")


_CALLS = 12


def ask(pair: Pair) -> str:
    kernel = _kernel()
    kernel.restart(pair)
    messages: list[BaseMessage] = [SystemMessage("You are an agent in the user's notebook.")]
    for prompt in filter(None, (pair.earlier, pair.question)):
        messages.append(HumanMessage(prompt))
        said = kernel.answer(messages)
    return said


class _Kernel:
    """One kernel, and the model with its tools, which are made once; its variables are made for each question."""

    def __init__(self) -> None:
        self.kernel = PlainKernel({})
        self.shown: list[str] = []
        made = [*namespace_tools(self.kernel.namespace), *code_tools(self)]
        self.tools = {one.name: one for one in map(tool, made)}
        self.model = resolve("offline").model.bind_tools(list(self.tools.values()))
        self.seen: dict[str, str] = {}

    def restart(self, pair: Pair) -> None:
        self.kernel.namespace.clear()
        values = {name: q.tables()[name].value for name in pair.kernel}
        copies = {name: one.copy() if isinstance(one, pd.DataFrame) else one for name, one in values.items()}
        self.kernel.namespace.update({"pd": pd} | copies)

    def live(self, output: CodeOutput) -> None:
        self.shown.append(output.text or str(output.data.get("text/plain", "")))

    def answer(self, messages: list[BaseMessage]) -> str:
        self.shown.clear()
        for _ in range(_CALLS):
            said = self.model.invoke(messages)
            messages.append(said)
            assert isinstance(said, AIMessage)
            if not said.tool_calls:
                return "\n".join([*self.shown, str(said.text)])
            messages.extend(self._called(call) for call in said.tool_calls)
        return "(no end of calls)"

    def _called(self, call: Any) -> ToolMessage:
        key = json.dumps([call["name"], call["args"]], sort_keys=True, default=str)
        if key in self.seen:
            return ToolMessage(self.seen[key], name=call["name"], tool_call_id=call["id"])
        result: ToolMessage = self.tools[call["name"]].invoke({**call, "type": "tool_call"})
        alone = call["name"] == "inspect_variable" or (call["name"] == "query_table" and "join" not in call["args"])
        if alone and not str(result.content).startswith("Error"):
            self.seen[key] = str(result.content)
        return result


@cache
def _kernel() -> _Kernel:
    return _Kernel()


def play_all(asked: Sequence[Pair]) -> list[tuple[Pair, str, Verdict]]:
    answers = [(pair, ask(pair)) for pair in asked]
    return [(pair, answer, verdict(pair.truth, answer)) for pair, answer in answers]


if __name__ == "__main__":
    count, seed = map(int, sys.argv[1:])
    played = play_all(pairs(count, seed))
    for pair, answer, judged in played:
        if judged == "wrong":
            print(f"WRONG {pair.question}  ({pair.table} of {', '.join(pair.kernel)}, after {pair.earlier!r})")
            print(f"  said: {answer[:400]!r}\n  true: {pair.truth}")
    print(Counter(judged for *_, judged in played))
