"""Skills: list them out of the prompt, read one before following it."""

import re

from deepnb.core.values import Skill
from deepnb.models.teaching.code_request import wants_code
from deepnb.models.teaching.computing import compute
from deepnb.models.teaching.conversation import Conversation
from deepnb.models.teaching.files import parse
from deepnb.models.teaching.frames import look, wants_frame
from deepnb.models.teaching.moves import Script, Use
from deepnb.models.teaching.words import chinese, first_match, short, words

_LIST = (r"\b(?:what|which|list|show)\b.{0,30}\bskills\b", r"\bany skills\b|(?:什么|哪些|列出|所有).{0,4}(?:技能|本领)")


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
    step = yield Use("read_file", {"file_path": skill.path})
    steps = _instructions("\n".join(parse(step.result)[0]))
    told = "\n".join(f"{i}. {s}" for i, s in enumerate(steps, 1)) or c.tell("(no steps)", "（没有步骤）")
    lead = c.tell(
        f"I read the skill {skill.name} ({skill.path}). Its steps are:\n{told}",
        f"我读了技能 {skill.name}（{skill.path}）。它的步骤是：\n{told}",
    )
    if wanted := wants_code(c):
        done = yield from compute(c, wanted)
        return lead + c.tell("\n\nWith the data:\n\n", "\n\n用这些数据：\n\n") + done
    name = wants_frame(c) if "inspect_variable" in c.tools else None
    if name is None:
        return lead
    seen = yield from look(c, name)
    return lead + c.tell("\n\nWhat they are about:\n\n", "\n\n所涉及的数据：\n\n") + seen


def _instructions(text: str) -> list[str]:
    """Up to six steps of a SKILL.md: its numbered lines, else its bullets, else its first lines."""
    body = re.sub(r"\A---\n.*?\n---[ \t]*(?:\n|\Z)", "", text, flags=re.DOTALL)
    for pattern in (r"^\s*\d+[.)]\s+(.+)$", r"^\s*[-*+]\s+(.+)$", r"^\s*([^#\s].*)$"):
        if found := re.findall(pattern, body, re.M):
            return [short(line, 140) for line in found[:6]]
    return []
