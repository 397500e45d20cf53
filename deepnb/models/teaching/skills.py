"""What it follows and hands on: skills, whose steps it does as far as a rule can, subagents, and tools of the user's."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deepnb.core.subagents import GENERAL_PURPOSE, TASK
from deepnb.core.values import Skill
from deepnb.models.teaching.answers import answer, tables_asked
from deepnb.models.teaching.code import compute, wants_code
from deepnb.models.teaching.conditions import Unplaced
from deepnb.models.teaching.conversation import Conversation
from deepnb.models.teaching.files import parse
from deepnb.models.teaching.grammar import Ask, read
from deepnb.models.teaching.moves import MAX_CALLS, Script, Use
from deepnb.models.teaching.tables import Frame
from deepnb.models.teaching.words import chinese, first_match, short, words

_LIST = (r"\b(?:what|which|list|show)\b.{0,30}\bskills\b", r"\bany skills\b|(?:什么|哪些|列出|所有).{0,4}(?:技能|本领)")
_LOOK = r"(?:look(?: at)?|describe|inspect|explore|查看|看看|描述)\b|查看|看看|描述"
_VERBS = (
    r"(?P<x>count .+)",
    r"(?:say|tell|name|give|find|report|list|check for|look for)(?: which| what)?\s+(?P<x>.+)",
    r"(?:说出|数一数|统计|找出|列出)(?P<x>.+)",
)
"""The verbs of steps that a question follows."""
_OF_TABLES = r"\b(?:tables?|data|dataframe|columns?|rows?|csv)\b|表|数据"
_CODE = ("plot", "tail", "corr")
_LINE = r"^(?:write|add|end with|begin with)\s+(?:a|one|the) (?:line|sentence)\b[^\"“:]*[:\"“]\s*(?P<x>[^\"”]+)"


def wants_skills(c: Conversation) -> bool | None:
    return True if first_match(c.request, *_LIST) else None


def list_skills(c: Conversation, _: bool) -> str:
    if not c.skills:
        return c.tell("My prompt lists no skills.", "我的提示词里没有列出任何技能。")
    lines = "\n".join(f"- {s.name}: {short(s.description, 120)} ({s.path})" for s in c.skills)
    return c.tell(
        f"My prompt lists {len(c.skills)}; I read a skill only when I need it:\n{lines}",
        f"我的提示词列出了 {len(c.skills)} 个技能，需要时才会读取：\n{lines}",
    )


def wants_skill(c: Conversation) -> Skill | None:
    """The skill the request names, else the one whose description shares the most words with it."""
    low = c.request.lower()
    for skill in c.skills:
        name = re.escape(skill.name.lower())
        if re.search(rf"(?<![\w-]){name}(?![\w-])", low) and ("-" in skill.name or re.search("skill|技能", low)):
            return skill
    asked = words(c.request)
    needed = 3 if chinese(c.request) else 2
    best = max(c.skills, key=lambda s: len(asked & _about(s)), default=None)
    return best if best and len(asked & _about(best)) >= needed else None


def _about(skill: Skill) -> frozenset[str]:
    return words(f"{skill.name.replace('-', ' ')} {skill.description}")


def follow_skill(c: Conversation, skill: Skill) -> Script:
    """Read the skill, tell its steps, and do what a rule can do of them."""
    step = yield Use("read_file", {"file_path": skill.path})
    steps = instructions("\n".join(parse(step.result)[0]))
    told = "\n".join(f"{i}. {s}" for i, s in enumerate(steps, 1)) or c.tell("(no steps)", "（没有步骤）")
    lead = c.tell(
        f"I read the skill {skill.name} ({skill.path}). Its steps are:\n{told}",
        f"我读了技能 {skill.name}（{skill.path}）。它的步骤是：\n{told}",
    )
    name = rf"(?:\b(?:use|with|using|follow|apply)\s+)?(?:\bthe\s+)?(?:\bskill\s+)?\b{re.escape(skill.name)}\b(?:\s+skill)?\s*(?:on\b|:|,)?"
    c = replace(c, request=re.sub(name, " ", c.request, flags=re.IGNORECASE).strip())
    if wanted := wants_code(c):
        ran = yield from compute(c, wanted)
        return f"{lead}\n\n{ran}"
    frames: list[Frame] = []
    if "inspect_variable" in c.tools and first_match(f"{skill.description} {told} {c.request}", _OF_TABLES):
        found = yield from tables_asked(c, c.request)
        frames = found if isinstance(found, list) and len(found) == 1 else []
    results: list[str] = []
    done: list[Ask] = []
    left = MAX_CALLS - 3  # after the skill, the list of variables and the table
    for number, text in enumerate(steps, 1):
        if line := first_match(text, _LINE):
            results.append(f"{number}. {line['x'].strip()}")
        for question in _questions(text) if frames else ():
            try:
                asked = read(question, frames[0])
            except Unplaced:
                continue
            if asked in done:
                continue
            described = asked.what in ("describe", "columns", "size", "missing")
            if asked.what in _CODE or not (described or (left and "query_table" in c.tools)):
                continue
            left -= not described
            done.append(asked)
            results.append(f"{number}. " + (yield from answer(c, frames[0], asked)))
    if not results:
        return lead + c.tell("\n\nNo rule of mine can do any of them.", "\n\n这些步骤我都没有规则可做。")
    report = "\n".join(results)
    return lead + c.tell(f"\n\nWhat I did of them:\n{report}", f"\n\n我做到的：\n{report}")


def _questions(step: str) -> Iterator[str]:
    """The questions in a step: its parts without their verb, or with that of the part before."""
    named = False
    for part in re.split(r"[;.:,，；。、]\s*|\s+(?:and|then)\s+", step):
        found = next((m for pattern in _VERBS if (m := re.match(pattern, part, re.IGNORECASE))), None)
        if re.match(_LOOK, part, re.IGNORECASE):
            yield "describe"
        elif found or named:
            yield (found["x"] if found else part).strip()
        named = bool(found) or named


def instructions(text: str) -> list[str]:
    """Up to ten steps of a SKILL.md: its numbered lines, else its bullets, else its first lines."""
    body = re.sub(r"\A---\n.*?\n---[ \t]*(?:\n|\Z)", "", text, flags=re.DOTALL)
    for pattern in (r"^\s*\d+[.)]\s+(.+)$", r"^\s*[-*+]\s+(.+)$", r"^\s*([^#\s].*)$"):
        if found := re.findall(pattern, body, re.M):
            return [short(line, 140) for line in found[:10]]
    return []


# -- subagents, and tools of the user's

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
