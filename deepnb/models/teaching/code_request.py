"""A request for code: whether to run it or keep it as a cell, what to draw, which variable to make."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.models.teaching.conversation import Conversation
from deepnb.models.teaching.pandas_code import BAR, HISTOGRAM, LINE, POINTS
from deepnb.models.teaching.words import first_match, is_stop_word

LONGEST = 4_000
"""Characters of a request that is read as a question about a table; a longer one is a text."""
RUN, CELL = "run_python", "propose_cell"
_BY_CODE = (
    r"\b(?:with|using|in|by|through|via|use|run)\s+(?:some |a (?:bit|piece) of |a little |my |your )?(?:python|pandas|code)\b\s*(?:to\b|[:,])?",
    r"(?:用|使用|运行)\s*(?:代码|pandas|python)",
)
_AS_CELL = (
    r"\b(?:give|write|show|make|create|propose|prepare|put|have|get|want|need|insert|add)\b.{0,40}\b(?:cell|code|snippet)\b",
    r"(?:写|给|生成|放|要).{0,8}(?:单元格|代码)",
)
_PLOT = (
    r"(?<![-\w/.])(?:plot|chart|graph|visuali[sz]e|histogram|scatter ?plot)(?:s|ted|ting)?\b(?!\.\w)",
    r"^\s*(?:bars?|lines?|points)\s*:|\bscatter\b|\bas (?:a )?(?:bars?|lines?|points|curve)\b|\bdraw\b.{0,60}\b(?:bars?|lines?|points|curve|distribution)\b",
    r"画出|画.{0,40}图|绘制|柱状图|条形图|折线图|散点图|直方图",
)
_KINDS = (
    (POINTS, r"\bscatter|\bpoints\b|\brelation(?:ship)?\b|\bcorrelat|散点"),
    (HISTOGRAM, r"\bhistogram|\bdistribut|直方|分布"),
    (LINE, r"\blines?\b|\bcurve\b|\bover (?:the )?(?:time|months|days|years|weeks)\b|\btrend|\bdevelop|折线|随"),
    (BAR, r"\bbars?\b|\bcolumn chart\b|柱状|条形"),
)
_IDENTIFIER = r"[`\"'“]?(?P<name>[A-Za-z_]\w*)[`\"'”]?"
_MAKES = r"\b(?:put|store|save|keep|hold|assign|make|create|build|define|compute|calculate|get|set|call|name)\b"
_NAMES = (
    rf"\b(?:call|name)\s+(?:it|them|that|this|(?:the|this|that) (?:result|table|variable|frame))\s+{_IDENTIFIER}",
    rf"{_MAKES}.{{0,200}}\b(?:variable|table|data ?frame|frame|result)\s+(?:that is )?(?:named|called)\s+{_IDENTIFIER}",
    rf"\b(?:in(?:to)?|as|to)\s+(?:a |a new |the new |new )variable\s+(?:named |called )?{_IDENTIFIER}",
    rf"\b(?:make|create|build|define)\s+(?:me )?(?:a |the )?(?:new )?(?:variable|table|data ?frame)\s+{_IDENTIFIER}",
    rf"(?:存到|存入|放到|放进|保存到|赋给|新建|创建)\s*(?:一个)?新?变量\s*{_IDENTIFIER}",
    rf"(?:命名为|叫做|存为|保存为|记为)\s*{_IDENTIFIER}",
)
_NAMES_OF_FIGURES = (
    rf"{_MAKES}.{{0,200}}\b(?:named|called)\s+{_IDENTIFIER}",
    rf"{_MAKES}.{{0,200}}\b(?:as|to|into|under)\s+(?:the name )?{_IDENTIFIER}\s*[.!?]?\s*$",
)
_FIGURES = r"\b(?:total|sum|mean|average|median|rows|table|(?:filter|sort|join|merge)(?:s|ed|ing)?|count|number|largest|smallest|highest|lowest|most|top|where|by|per|each)\b"
_NO_NAME_TEXT = "cell code notebook pandas python file table variable bars bar line lines plot chart high low"
_NO_NAME = frozenset(_NO_NAME_TEXT.split())
_CONNECTED = (
    r"(?:(?:\b(?:named|called|as|to|into|in|under|variable|table|a|the|new|name)\b|存到|存入|存为|变量)\s*)*[`\"'“]?$"
)
_AGAIN = (
    r"\b(?:give|put|show|write|make|keep|have|want|get|save)\s+(?:me\s+)?(?:that|this|it|the (?:last |same )?(?:plot|result|code|cell))(?: code| plot)?\b(?!\s+(?:that|which|for|of|to|with)\b)",
    r"\b(?:code|cell) (?:for|of) (?:that|this|it)\b|刚才|上面|这段",
)


@dataclass(frozen=True)
class Wanted:
    """What is to come of a request: a plot, a variable, a value; run, or as a cell."""

    request: str
    """The request without the words that say how."""
    tool: str = RUN
    plot: bool = False
    kind: str = ""
    name: str = ""
    again: bool = False
    """Whether the code that ran last is meant."""


def wants_code(c: Conversation) -> Wanted | None:
    """A plot, a new variable, or anything else of a table that is asked for as code."""
    if len(c.request) > LONGEST:
        return None
    request = _without(c.request, _BY_CODE)
    by_code = request != c.request
    tool = CELL if first_match(request, *_AS_CELL) else RUN
    plot = first_match(request, *_PLOT) is not None
    name, rest = _name(request)
    if tool not in c.tools or not (by_code or plot or name or tool == CELL):
        return None
    kind = next((kind for kind, pattern in _KINDS if first_match(request, pattern)), "") if plot else ""
    again = tool == CELL and first_match(request, *_AGAIN) is not None
    return Wanted(rest, tool, plot, kind, name, again)


def _without(text: str, patterns: Sequence[str]) -> str:
    for pattern in patterns:
        text = re.sub(pattern, " ", text, flags=re.IGNORECASE)
    return text


def _name(request: str) -> tuple[str, str]:
    """The name of the variable that is to be made, and the request without what says so."""
    for pattern in (*_NAMES, *(_NAMES_OF_FIGURES if first_match(request, _FIGURES) else ())):
        found = first_match(request, pattern)
        if found and not is_stop_word(found["name"].lower()) and found["name"].lower() not in _NO_NAME:
            said = re.sub(_CONNECTED, "", request[: found.start("name")], flags=re.IGNORECASE)
            return found["name"], f"{said} {request[found.end('name') :]}"
    return "", request
