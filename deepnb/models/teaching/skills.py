"""What it follows and hands on: skills, whose steps it does as far as a rule can, subagents, and tools of the user's."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any

from deepnb.models.teaching.answers import answer, table_asked
from deepnb.models.teaching.code import compute, wants_code
from deepnb.models.teaching.conversation import Conversation, chinese, first_match, short, words
from deepnb.models.teaching.grammar import Ask, Unplaced, read
from deepnb.models.teaching.memory import parse
from deepnb.models.teaching.tables import Frame
from deepnb.models.teaching.talk import MAX_CALLS, Script, Use, says
from deepnb.values.agent import GENERAL_PURPOSE, TASK, Skill

LIST = (r"\b(?:what|which|list|show)\b.{0,30}\bskills\b", r"\bany skills\b|(?:什么|哪些|列出|所有).{0,4}(?:技能|本领)")
_LOOK = r"(?:look(?: at)?|describe|inspect|explore)\b|查看|看看|描述"
_VERBS = (  # of steps that a question follows
    r"(?P<x>count .+)",
    r"(?:say|tell|name|give|find|report|list|check for|look for)(?: which| what)?\s+(?P<x>.+)",
    r"(?:说出|数一数|统计|找出|列出)(?P<x>.+)",
)
_OF_TABLES = r"\b(?:tables?|data|dataframe|columns?|rows?|csv)\b|表|数据"
_LINE = r"^(?:write|add|end with|begin with)\s+(?:a|one|the) (?:line|sentence)\b[^\"“:]*[:\"“]\s*(?P<x>[^\"”]+)"
_ASK = r"^\s*(?:please |now |(?:can|could|would|will) you )*(?:ask|have|let|tell|get|use) "
_DELEGATE = (
    _ASK + r"(?:a|the|your|another) (?P<name>general-purpose )?sub-?agent (?:to|for)\s+(?P<x>.+)",
    _ASK + r"(?:the |my |your )?(?:sub-?)agent [`\"']?(?P<name>\w[\w-]*)[`\"']? (?:to|for)\s+(?P<x>.+)",
    _ASK + r"(?:the |my |your )?[`\"']?(?P<name>\w[\w-]*)[`\"']? (?:sub-?)agent (?:to |for )?(?P<x>.+)",
    r"^\s*(?:让|请|叫|派)\s*[`“\"]?(?P<name>[a-z0-9][a-z0-9-]*)[`”\"]?\s*子(?:代理|智能体)(?:去|来)?\s*[:：,，]?\s*(?P<x>.+)",
    r"(?:让|请|叫|派)(?:一个)?子(?:代理|智能体)(?:\s*[`“\"]?(?P<name>[a-z0-9][a-z0-9-]*)[`”\"]?\s*)?(?:去|来)?\s*[:：,，]?\s*(?P<x>.+)",
)
_BY_NAME = _ASK + r"(?:the )?[`\"']?(?P<name>\w[\w-]*)[`\"']? (?:to|for)\s+(?P<x>.+)"
_CALL = (
    r"^\s*(?:please )?(?:call|run|use) (?:the |my )?(?:tool |function )?[`\"']?(?P<name>\w+)[`\"']?(?: tool| function)?"
    r"(?:\s*(?:with|on|for|:)\s+(?P<args>.+?)|\((?P<args2>.*)\))?\s*[.!?]?$",
    r"^\s*(?:请)?(?:调用|运行)\s*(?:工具|函数)?\s*[`“\"]?(?P<name>\w+)[`”\"]?\s*(?:[，,:：]?\s*(?:参数|用|以)?\s*(?P<args>.+?)|\((?P<args2>.*)\))?[。.]?$",
)


def list_skills(c: Conversation, _: str) -> str:
    lines = "\n".join(f"- {s.name}: {short(s.description, 120)} ({s.path})" for s in c.skills)
    return says(c, "skills" if c.skills else "no skills", n=len(c.skills), k=lines)


def wants_skill(c: Conversation) -> Skill | None:
    """Return the skill the request names, else the one whose description shares the most words with it."""
    low, asked = c.request.lower(), words(c.request)
    for skill in c.skills:
        name = re.escape(skill.name.lower())
        if re.search(rf"(?<![\w-]){name}(?![\w-])", low) and ("-" in skill.name or re.search("skill|技能", low)):
            return skill
    shared = [(len(asked & words(f"{s.name.replace('-', ' ')} {s.description}")), s) for s in c.skills]
    most, best = max(shared, key=itemgetter(0), default=(0, None))
    return best if most >= (3 if chinese(c.request) else 2) else None


def follow_skill(c: Conversation, skill: Skill) -> Script:
    """Read the skill, tell its steps, and do what a rule can do of them."""
    step = yield Use("read_file", {"file_path": skill.path})
    steps = instructions("\n".join(parse(step.result)[0]))
    listing = "\n".join(f"{i}. {s}" for i, s in enumerate(steps, 1)) or says(c, "no steps")
    lead = says(c, "steps", v=skill.name, x=skill.path, k=listing)
    name = rf"(?:\b(?:use|with|using|follow|apply)\s+)?(?:\bthe\s+)?(?:\bskill\s+)?\b{re.escape(skill.name)}\b(?:\s+skill)?\s*(?:on\b|:|,)?"
    c = replace(c, request=re.sub(name, " ", c.request, flags=re.IGNORECASE).strip())
    if wanted := wants_code(c):
        return f"{lead}\n\n{(yield from compute(c, wanted))}"
    frame: Frame | str = ""
    if "inspect_variable" in c.tools and first_match(f"{skill.description} {listing} {c.request}", _OF_TABLES):
        frame = yield from table_asked(c, c.request)
    results: list[str] = []
    done: list[Ask] = []
    left = MAX_CALLS - 3 if "query_table" in c.tools else 0  # after the skill, the list of variables and the table
    for number, text in enumerate(steps, 1):
        if line := first_match(text, _LINE):
            results.append(f"{number}. {line['x'].strip()}")
        if isinstance(frame, str):
            continue
        for question in _questions(text):
            try:
                asked = read(question, frame)
            except Unplaced:
                continue
            described = asked.what in ("describe", "size", "missing")
            if asked in done or asked.what == "plot" or not (described or left):
                continue
            left -= not described
            done.append(asked)
            results.append(f"{number}. " + (yield from answer(c, frame, asked)))
    return lead + says(c, "steps done" if results else "none done", k="\n".join(results))


def _questions(step: str) -> Iterator[str]:
    """Yield the questions in a step: its parts without their verb, or with that of the part before."""
    named = False
    for part in re.split(r"[;.:,，；。、]\s*|\s+(?:and|then)\s+", step):
        found = first_match(part, *(f"^{verb}" for verb in _VERBS))
        if re.match(_LOOK, part, re.IGNORECASE):
            yield "describe"
        elif found or named:
            yield (found["x"] if found else part).strip()
        named = bool(found) or named


def instructions(text: str) -> list[str]:
    """Return up to ten steps of a SKILL.md: its numbered lines, else its bullets, else its first lines."""
    body = re.sub(r"\A---\n.*?\n---[ \t]*(?:\n|\Z)", "", text, flags=re.DOTALL)
    for pattern in (r"^\s*\d+[.)]\s+(.+)$", r"^\s*[-*+]\s+(.+)$", r"^\s*([^#\s].*)$"):
        if found := re.findall(pattern, body, re.M):
            return [short(line, 140) for line in found[:10]]
    return []


def wants_delegation(c: Conversation) -> tuple[str, str] | None:
    """Return (subagent, task) of `ask the critic subagent to ...`, without the word subagent if there is one of that name."""
    found = first_match(c.request, *_DELEGATE)
    if found is None and ((found := first_match(c.request, _BY_NAME)) is None or found["name"].lower() not in c.agents):
        return None
    name, task = (found["name"] or "").strip().lower(), found["x"].strip()
    return (name, task) if task and name not in ("a", "an", "this", "that", "some") else None


def delegate(c: Conversation, handed: tuple[str, str]) -> Script:
    """Hand the task on, and quote what came of it."""
    named, task = handed
    if named and TASK in c.tools and named not in c.agents:
        return says(c, "no subagent", v=named, k=", ".join(c.agents) or "-")
    general = GENERAL_PURPOSE.name
    name = named or (general if general in c.agents or not c.agents else c.agents[0])
    step = yield Use(TASK, {"description": task, "subagent_type": name})
    quote = "\n".join(f"> {short(line, 160)}" for line in step.result.splitlines()[:40] if line.strip())
    return says(c, "report", v=f" {named}" if named else "", k=quote)


def wants_call(c: Conversation) -> tuple[str, str] | None:
    """Return (tool, its arguments as they were typed) of `call sales with region North`."""
    found = first_match(c.request, *_CALL)
    return (found["name"], found["args"] or found["args2"] or "") if found and found["name"] in c.parameters else None


def call(c: Conversation, wanted: tuple[str, str]) -> Script:
    """Call the tool with the arguments that are named, or the only one; say what it gave."""
    name, typed = wanted
    parameters = c.parameters[name]
    any_of = "|".join(map(re.escape, parameters)) or "(?!)"
    before, *pairs = re.split(rf"\b({any_of})\b\s*(?:=|:|is|是|为)?\s*", typed)
    if not pairs and typed and len(parameters) == 1:
        before, pairs = "", [*parameters, typed]
    args = {
        parameter: _argument(re.sub(r"(?:\s*,|\s+and|，|和)\s*$", "", text.strip()), parameters[parameter])
        for parameter, text in zip(pairs[::2], pairs[1::2], strict=True)
    }
    if before.strip(" ,"):
        return says(c, "takes", v=name, k=short(typed, 60), x=", ".join(parameters) or "-")
    step = yield Use(name, args)
    return says(c, "gave tool", v=name, k=short(step.result, 400))


def _argument(text: str, schema: Mapping[str, Any]) -> Any:
    plain = text.strip("\"'“”`")
    try:
        return plain if schema.get("type", "string") == "string" else json.loads(plain.lower())
    except ValueError:
        return plain
