"""Handing a task to a subagent, one that is named or any."""

from dataclasses import dataclass

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
    quote = "\n".join(f"> {short(line, 160)}" for line in step.result.splitlines()[:10] if line.strip())
    who, wer = (f"The subagent {name}", f"子代理 {name} ") if handed.name else ("The subagent", "子代理")
    return c.tell(f"{who} reported:\n{quote}", f"{wer}的报告：\n{quote}")
