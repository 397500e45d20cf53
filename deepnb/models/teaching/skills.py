"""Skills: list them out of the prompt, read one before following it, and do those of its steps that a rule can do."""

import re
from collections.abc import Iterator

from deepnb.core.values import Skill
from deepnb.models.teaching.answers import answer, tables_asked
from deepnb.models.teaching.code import compute, wants_code
from deepnb.models.teaching.conversation import Conversation
from deepnb.models.teaching.files import parse
from deepnb.models.teaching.grammar import Unplaced, read
from deepnb.models.teaching.moves import MAX_CALLS, Script, Use
from deepnb.models.teaching.tables import Frame
from deepnb.models.teaching.words import chinese, first_match, short, words

_LIST = (r"\b(?:what|which|list|show)\b.{0,30}\bskills\b", r"\bany skills\b|(?:什么|哪些|列出|所有).{0,4}(?:技能|本领)")
_LOOK = r"(?:look at|describe|inspect|explore|查看|看看|描述)\b|查看|看看|描述"
_VERBS = (
    r"(?P<x>count .+)",
    r"(?:say|tell|name|give|find|report|list|check for|look for)(?: which| what)?\s+(?P<x>.+)",
    r"(?:说出|数一数|统计|找出|列出)(?P<x>.+)",
)
"""The verbs of steps that a question follows."""
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
    """Read the skill, do what a rule can do of each step, and name the steps that are left."""
    step = yield Use("read_file", {"file_path": skill.path})
    steps = instructions("\n".join(parse(step.result)[0]))
    told = "\n".join(f"{i}. {s}" for i, s in enumerate(steps, 1)) or c.tell("(no steps)", "（没有步骤）")
    lead = c.tell(
        f"I read the skill {skill.name} ({skill.path}). Its steps are:\n{told}",
        f"我读了技能 {skill.name}（{skill.path}）。它的步骤是：\n{told}",
    )
    if wanted := wants_code(c):
        done = yield from compute(c, wanted)
        return f"{lead}\n\n{done}"
    frames: list[Frame] = []
    if "inspect_variable" in c.tools and any(_questions(s) for s in steps):
        found = yield from tables_asked(c, c.request)
        frames = found if isinstance(found, list) and len(found) == 1 else []
    results: list[str] = []
    left = MAX_CALLS - 3  # after the skill, the list of variables and the table
    for number, text in enumerate(steps, 1):
        if line := first_match(text, _LINE):
            results.append(f"{number}. {line['x'].strip()}")
        for question in _questions(text) if frames else ():
            try:
                asked = read(question, frames[0])
            except Unplaced:
                continue
            described = asked.what in ("describe", "columns", "size", "missing")
            if asked.what in _CODE or not (described or (left and "query_table" in c.tools)):
                continue
            left -= not described
            results.append(f"{number}. " + (yield from answer(c, frames[0], asked)))
    done = "\n".join(dict.fromkeys(results))
    if not done:
        return lead + c.tell("\n\nNo rule of mine can do any of them.", "\n\n这些步骤我都没有规则可做。")
    return lead + c.tell(f"\n\nWhat I did of them:\n{done}", f"\n\n我做到的：\n{done}")


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
