"""What the teaching model says of the result of its code: the figures that are in it, or why there are none."""

import re
from collections.abc import Mapping

from deepnb.models.teaching.analysis import Analysis, default_how
from deepnb.models.teaching.conversation import Conversation, Step
from deepnb.models.teaching.frames import Frame
from deepnb.models.teaching.moves import failure

_PHRASES = {"sum": "total", "mean": "average", "median": "median", "max": "maximum", "min": "minimum", "count": "count"}
_SHOWN = 10
"""Lines of a result that an answer has."""


def unclear(c: Conversation, frame: Frame, unknown: str = "") -> str:
    """That the request leaves too much open, or names what is no column."""
    names = ", ".join(column.name for column in frame.columns[:12])
    if unknown:
        return c.tell(
            f"{frame.name} has no column like `{unknown}`. Its columns are: {names}.",
            f"{frame.name} 没有类似 `{unknown}` 的列。它的列有：{names}。",
        )
    return c.tell(
        f"I match words by rules and can't tell what to compute of {frame.name}. Its columns are: {names}.",
        f"我只按规则比对词语，看不出要用 {frame.name} 计算什么。它的列有：{names}。",
    )


def corrected(c: Conversation, asked: Analysis, typed: str, name: str) -> str:
    """That a column was misspelt, and which one was taken."""
    return c.tell(
        f"{asked.table} has no column `{typed}`; I took `{name}`, the nearest. ",
        f"{asked.table} 没有列 `{typed}`，我改用最接近的 `{name}`。",
    )


def report(c: Conversation, asked: Analysis, name: str, step: Step) -> str:
    """What the result of the code says, with its figures; `name` is the variable that it was to make."""
    if step.failed:
        return _no_figures(c, asked, step)
    made = name and re.search(rf"\[variables: .*\b{re.escape(name)}\b", step.result)
    kept = c.tell(f" It is in the variable `{name}`.", f"结果在变量 `{name}` 中。") if made else ""
    figures = {} if asked.also or (asked.against and asked.how != "corr") else _figures(step.result)
    if {"count", "mean", "std"} <= set(figures):
        return _spread(c, asked, figures)
    if figures and (asked.by or asked.over):
        return _of_groups(c, asked, figures) + kept
    text = re.sub(r"\n?\[(?:variables: .*|image/\S+ shown to the user)\]", "", step.result).strip("\n")
    lines = text.splitlines()
    number = re.fullmatch(r"(?:correlation: |np\.\w+\()?(-?[\d.]+(?:e[+-]?\d+)?)\)?", lines[-1]) if lines else None
    if number:
        return _single(c, asked, number[1]) + kept
    more = [f"… {len(lines) - _SHOWN}"] if len(lines) > _SHOWN else []
    quote = "\n".join(["```", *lines[:_SHOWN], *more, "```"])
    return c.tell(f"The code gave:\n{quote}", f"代码给出：\n{quote}") + (f"\n{kept.strip()}" if kept else "")


def left_out(c: Conversation, frame: Frame, asked: Analysis) -> str:
    """How many rows of the table were left out since a column that was asked of has no value there."""
    names = {asked.by, asked.over, asked.also, asked.column, asked.against}
    found = [(one.name, lacking) for one in frame.columns if one.name in names and (lacking := frame.lacking(one))]
    en = ", ".join(f"{number:,} without `{name}`" for name, number in found)
    zh = "，".join(f"{number:,} 行没有 `{name}`" for name, number in found)
    return c.tell(f"\nRows left out: {en}.", f"\n未计入：{zh}。") if found else ""


def _figures(result: str) -> dict[str, str]:
    """Label -> figure of a Series as it is printed; nothing of any other value."""
    if not re.search(r"^(?:.*, )?dtype: \w", result, re.M):
        return {}
    found = re.findall(r"^(\S.*?) {2,}(-?\d[\d.]*(?:e[+-]?\d+)?)$", result, re.M)
    return {label: _figure(value) for label, value in found}


def _figure(value: str) -> str:
    """A figure to read: a whole number as it is, any other with four digits."""
    if value.lstrip("-").isdecimal():
        return value
    return f"{float(value):.0f}" if abs(float(value)) >= 1000 else f"{float(value):.4g}"


def _measure(c: Conversation, asked: Analysis) -> str:
    """`sum of units`; the column alone where each group has one row."""
    if not asked.column:
        return c.tell("number of rows", "行数")
    if asked.single and not asked.how:
        return asked.column
    how = asked.how or default_how(asked.column)
    return c.tell(f"{_PHRASES[how]} of {asked.column}", f"{asked.column}（{how}）")


def _of_groups(c: Conversation, asked: Analysis, figures: Mapping[str, str]) -> str:
    """The largest and the smallest of the groups; along time the first and the last."""
    what, labels = _measure(c, asked), list(figures)
    first, last = labels[0], labels[-1]
    if asked.over and not asked.by:
        return c.tell(
            f"The {what} goes from {figures[first]} ({first}) to {figures[last]} ({last}).",
            f"{what}从 {figures[first]}（{first}）变到 {figures[last]}（{last}）。",
        )
    high = max(labels, key=lambda label: float(figures[label]))
    low = min(labels, key=lambda label: float(figures[label]))
    if figures[high] == figures[low]:
        return c.tell(
            f"By {asked.by}, the {what} in {asked.table} is the same everywhere: {figures[high]}.",
            f"{asked.table} 按 {asked.by} 计算{what}：都是 {figures[high]}。",
        )
    return c.tell(
        f"By {asked.by}, the {what} in {asked.table} is highest for {high} ({figures[high]}) and lowest for {low} ({figures[low]}).",
        f"{asked.table} 按 {asked.by} 计算{what}：{high} 最大（{figures[high]}），{low} 最小（{figures[low]}）。",
    )


def _spread(c: Conversation, asked: Analysis, figures: Mapping[str, str]) -> str:
    low, mean, high = (figures.get(name, "?") for name in ("min", "mean", "max"))
    return c.tell(
        f"{asked.column} in {asked.table} goes from {low} to {high}, with a mean of {mean}.",
        f"{asked.table} 的 {asked.column} 从 {low} 到 {high}，平均值 {mean}。",
    )


def _single(c: Conversation, asked: Analysis, number: str) -> str:
    if asked.how == "corr":
        return c.tell(
            f"The correlation of {asked.against} and {asked.column} in {asked.table} is {float(number):.2f}.",
            f"{asked.table} 中 {asked.against} 与 {asked.column} 的相关系数是 {float(number):.2f}。",
        )
    where = " and ".join(f"{one.column} {one.sign} {one.text}" for one in asked.where)
    rows = c.tell(f", where {where},", f"（{where}）") if where else ""
    return c.tell(
        f"The {_measure(c, asked)} in {asked.table}{rows} is {_figure(number)}.",
        f"{asked.table}{rows} 的 {_measure(c, asked)}是 {_figure(number)}。",
    )


def _no_figures(c: Conversation, asked: Analysis, step: Step) -> str:
    """That the code did not run, or how it failed; and, where it was not allowed, what needs no code."""
    text = failure(c, step)
    along = asked.by or asked.over
    if "did not allow" not in step.result or "query_table" not in c.tools or not (along and asked.column):
        return text
    phrase = f"{_PHRASES[asked.how or default_how(asked.column)]} {asked.column} by {along} in {asked.table}"
    return text + c.tell(
        f" `query_table` gives the figures without code: ask for the {phrase}.",
        f" `query_table` 不用代码也能给出这些数字：可以问“每个 {along} 的 {asked.column} 总和”。",
    )
