"""The frozen set of long abstracts: 300 texts made of hand-written parts, and 100 questions about them in other words.

Each abstract treats one of its field's ten objects under one of its five conditions. A question is about one of both:
the abstract with these answers it (2), those of the same object treat its topic (1).
"""

import re
import textwrap
from pathlib import Path
from random import Random

from tests.data.documents import Question

HERE = Path(__file__).parent
FORMS = ("wrapped", "line", "labelled", "mixed")


def documents(form: str = "wrapped") -> dict[str, str]:
    """Path to Markdown: under a title and wrapped at a column, all in one line, in one whose parts have labels, or mixed."""
    found: dict[str, str] = {}
    common = (HERE / "any.txt").read_text(encoding="utf-8").splitlines()
    for field, entry in _fields("parts"):
        lines = entry.split("\n")
        objects, conditions = ([line[2:].split(" | ") for line in lines if line[0] == mark] for mark in "*+")
        others = [line[2:] for line in lines if line[0] == "~"]
        for i, (subject, about) in enumerate(objects):
            for j, (condition, how) in enumerate(conditions):
                random = Random(f"{field} {i} {j}")
                said = random.sample(others, random.randint(2, 7)) + random.sample(common, random.randint(3, 12))
                first, second = (re.split(r"(?<=\.) ", part, maxsplit=1) for part in (about, how))
                said[1:1] = [first[0], second[0]]
                said.insert(random.randint(3, len(said)), second[1])
                said.insert(random.randint(1, len(said)), first[1])
                if random.random() < 0.5:  # many abstracts name their object again and again
                    said.append(f"{subject.capitalize()} behaved alike under {condition} in all the years.")
                found[f"{field}_{i}_{j}.md"] = _formed(f"{subject.capitalize()} and {condition}", said, form, random)
    return found


def questions() -> tuple[Question, ...]:
    found = []
    for field, entry in _fields("questions"):
        for line in entry.split("\n"):
            numbers, text = line.split(": ", 1)
            i, j = map(int, numbers.split())
            found.append(Question(text, {f"{field}_{i}_{n}.md": 2 if n == j else 1 for n in range(5)}))
    return tuple(found)


def _formed(title: str, said: list[str], form: str, random: Random) -> str:
    if form == "mixed":
        form = random.choice(FORMS[:3])
    if form == "wrapped":
        return f"# {title}\n\n{textwrap.fill(' '.join(said), random.randint(64, 79))}\n"
    if form == "line":
        return f"{' '.join(said)}\n"
    third = len(said) // 3
    return f"Background: {' '.join(said[:third])} Methods: {' '.join(said[third:-third])} Results: {' '.join(said[-third:])}\n"


def _fields(name: str) -> list[tuple[str, str]]:
    parts = re.split(r"^== ", (HERE / f"{name}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return [tuple(part.strip().split("\n", 1)) for part in parts]  # type: ignore[misc]
