"""The frozen set of documents: hard-wrapped abstracts and long questions about them with graded judgments."""

import re
import textwrap
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
FIELDS_TEXT = """
heat_and_bridges corrosion_and_concrete earth_and_sea animals crafts_and_machines people food_health_water
arts_and_energy speech_and_markets between_fields german_and_french chinese
"""
FIELDS = FIELDS_TEXT.split()
NARROW, WIDE = 64, 79


@dataclass(frozen=True)
class Question:
    """What is asked, and the documents that answer it (2) or treat its topic (1), by path."""

    text: str
    grades: Mapping[str, int]


def documents(width: int | None = None) -> dict[str, str]:
    """Path to Markdown: a title and its text, wrapped at `width` columns, or at a width of each document's own."""
    found: dict[str, str] = {}
    for field in FIELDS:
        for entry in re.split(r"^== ", _read(field), flags=re.MULTILINE)[1:]:
            identifier, title, text = entry.strip().split("\n", 2)
            found[path(identifier)] = f"# {title}\n\n{_wrapped(text, width or own_width(identifier))}\n"
    return found


def questions() -> tuple[Question, ...]:
    return tuple(_question(entry) for entry in _read("questions").strip().split("\n\n"))


def path(identifier: str) -> str:
    return f"{identifier}.md"


def own_width(identifier: str) -> int:
    """Columns from 64 to 79, the same for an identifier on every machine."""
    return NARROW + zlib.crc32(identifier.encode()) % (WIDE - NARROW + 1)


def is_chinese(text: str) -> bool:
    return re.search("[一-鿿]", text) is not None


def _question(entry: str) -> Question:
    text, *judgments = entry.strip().split("\n")
    grades: dict[str, int] = {}
    for judgment in judgments:
        grade, identifiers = judgment.split(": ")
        for identifier in identifiers.split():
            grades[path(identifier)] = int(grade)
    return Question(text, grades)


def _wrapped(text: str, width: int) -> str:
    columns = width // 2 if is_chinese(text) else width  # a Chinese character takes two columns
    paragraphs = text.split("\n\n")
    return "\n\n".join(textwrap.fill(each, columns, break_on_hyphens=False) for each in paragraphs)


def _read(name: str) -> str:
    return (HERE / f"{name}.txt").read_text(encoding="utf-8")
