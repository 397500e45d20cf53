"""Handing a task to a subagent, one that is named or any; and calling a tool of the user's by its name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deepnb.core.subagents import GENERAL_PURPOSE, TASK
from deepnb.models.teaching.conversation import Conversation
from deepnb.models.teaching.moves import Script, Use
from deepnb.models.teaching.words import first_match, short

_ANY = (
    r"\b(?:ask|have|let|tell|get|use) (?:a|the|your|another) (?:general-purpose )?sub-?agent (?:to|for)\s+(?P<x>.+)",
    r"^\s*(?:please )?delegate(?: this| to a sub-?agent)?\s*[:,]?\s*(?:to a sub-?agent\s*[:,]?\s*)?(?P<x>.+)",
    r"(?:让|请|叫|派)(?:一个)?子(?:代理|智能体)(?:去|来)?\s*[:：,，]?\s*(?P<x>.+)",
    r"^\s*委派(?:给子代理)?\s*[:：,，]?\s*(?P<x>.+)",
)
_ASK = r"^\s*(?:please |now )?(?:ask|have|let|tell|get|use) "
_NAMED = (
    _ASK + r"(?:the |my |your )?(?:sub-?)agent [`\"']?(?P<name>\w[\w-]*)[`\"']? (?:to|for)\s+(?P<x>.+)",
    _ASK + r"(?:the |my |your )?[`\"']?(?P<name>\w[\w-]*)[`\"']? (?:sub-?)agent (?:to |for )?(?P<x>.+)",
    r"^\s*(?:让|请|叫|派)\s*[`“\"]?(?P<name>[a-z0-9][a-z0-9-]*)[`”\"]?\s*子(?:代理|智能体)(?:去|来)?\s*[:：,，]?\s*(?P<x>.+)",
    r"^\s*(?:让|请|叫|派)子(?:代理|智能体)\s*[`“\"]?(?P<name>[a-z0-9][a-z0-9-]*)[`”\"]?\s*(?:去|来)?\s*[:：,，]?\s*(?P<x>.+)",
)
_BY_NAME = _ASK + r"(?:the )?[`\"']?(?P<name>\w[\w-]*)[`\"']? (?:to|for)\s+(?P<x>.+)"
_QUOTED = 40
"""Lines of a report."""
_NO_NAMES = ("a", "the", "an", "another", "your", "my", "this", "that", "some")


@dataclass(frozen=True)
class Handed:
    """A task, and the name it is for; empty for any subagent."""

    task: str
    name: str = ""


def wants_named(c: Conversation) -> Handed | None:
    """`ask the critic subagent to ...`; without the word subagent where there is one of that name."""
    found = first_match(c.request, *_NAMED)
    if found is None and (found := first_match(c.request, _BY_NAME)) and found["name"].lower() not in c.agents:
        found = None
    if found is None or found["name"].lower() in _NO_NAMES or not found["x"].strip():
        return None
    return Handed(found["x"].strip(), found["name"].lower())


def wants_any(c: Conversation) -> Handed | None:
    found = first_match(c.request, *_ANY)
    return Handed(found["x"].strip()) if found and found["x"].strip() else None


def delegate(c: Conversation, handed: Handed) -> Script:
    if handed.name and TASK in c.tools and handed.name not in c.agents:
        there = ", ".join(c.agents) or c.tell("none", "没有")
        return c.tell(
            f"There is no subagent {handed.name}: the tool `task` lists {there}.",
            f"没有名为 {handed.name} 的子代理：工具 `task` 列出的是 {there}。",
        )
    general = GENERAL_PURPOSE.name
    name = handed.name or (general if general in c.agents or not c.agents else c.agents[0])
    step = yield Use(TASK, {"description": handed.task, "subagent_type": name})
    quote = "\n".join(f"> {short(line, 160)}" for line in step.result.splitlines()[:_QUOTED] if line.strip())
    who, wer = (f"The subagent {name}", f"子代理 {name} ") if handed.name else ("The subagent", "子代理")
    return c.tell(f"{who} reported:\n{quote}", f"{wer}的报告：\n{quote}")


_CALL = (
    r"^\s*(?:please )?(?:call|run|use) (?:the |my )?(?:tool |function )?[`\"']?(?P<name>\w+)[`\"']?(?: tool| function)?"
    r"(?:\s*(?:with|on|for|:)\s+(?P<args>.+?)|\((?P<args2>.*)\))?\s*[.!?]?$",
    r"^\s*(?:请)?(?:调用|运行)\s*(?:工具|函数)?\s*[`“\"]?(?P<name>\w+)[`”\"]?\s*(?:[，,:：]?\s*(?:参数|用|以)?\s*(?P<args>.+?)|\((?P<args2>.*)\))?[。.]?$",
)


def wants_call(c: Conversation) -> tuple[str, str] | None:
    """(tool, its arguments as they were typed) of `call sales with region North`."""
    found = first_match(c.request, *_CALL)
    return (found["name"], found["args"] or found["args2"] or "") if found and found["name"] in c.parameters else None


def call(c: Conversation, wanted: tuple[str, str]) -> Script:
    """Call the tool with the arguments that are named, or the only one; say what it gave."""
    name, typed = wanted
    parameters = c.parameters[name]
    args: dict[str, Any] = {}
    at = [
        (m.start(), m.end(), m[1])
        for m in re.finditer(rf"\b({'|'.join(map(re.escape, parameters)) or '$'})\b\s*(?:=|:|is|是|为)?\s*", typed)
    ]
    for i, (_, end, parameter) in enumerate(at):
        text = typed[end : at[i + 1][0] if i + 1 < len(at) else len(typed)]
        args[parameter] = _argument(re.sub(r"(?:\s*,|\s+and|，|和)\s*$", "", text.strip()), parameters[parameter])
    if not at and typed and len(parameters) == 1:
        args = {(only := next(iter(parameters))): _argument(typed, parameters[only])}
    if (typed and not args) or (at and typed[: at[0][0]].strip(" ,")):
        takes = ", ".join(parameters) or "-"
        return c.tell(
            f'I can\'t place "{short(typed, 60)}": `{name}` takes {takes}.',
            f"我无法理解“{short(typed, 60)}”：`{name}` 的参数是 {takes}。",
        )
    step = yield Use(name, args)
    return c.tell(f"`{name}` gave: {short(step.result, 400)}", f"`{name}` 返回：{short(step.result, 400)}")


def _argument(text: str, schema: Mapping[str, Any]) -> Any:
    """A value as the schema has it."""
    plain = text.strip("\"'“”`")
    kind = schema.get("type")
    if kind == "boolean":
        return plain.lower() in ("true", "yes", "1")
    if kind in ("integer", "number") and re.fullmatch(r"-?\d+(?:\.\d+)?", plain):
        return int(plain) if kind == "integer" and plain.lstrip("-").isdecimal() else float(plain)
    return plain
