"""The frozen set of paraphrases: 200 notes of a line, 60 questions in other words than theirs, 50 queries of nonsense.

Twenty questions or so of each kind: English, Chinese, and one language about a note in the other.
"""

import re
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SIZE = 128
"""Of `vectors.bin`: eight bits a number, one row for each note, question and query of nonsense; made of the 512 numbers
of the multilingual Universal Sentence Encoder, by the first singular vectors of these rows."""


def notes() -> list[str]:
    """Return the notes, those of both languages in turns, as in a diary of somebody who writes both."""
    english, chinese = ([line for line in _lines(name) if line[:2] != "? "] for name in ("en", "zh"))
    return [note for pair in zip(english, chinese, strict=True) for note in pair]


def questions() -> list[tuple[str, str]]:
    found, note = [], ""
    for line in (*_lines("en"), *_lines("zh")):
        if line.startswith("? "):
            found.append((line[2:], note))
        else:
            note = line
    return found


def nonsense() -> list[str]:
    return _lines("nonsense")


def files() -> dict[str, str]:
    return {f"{n:03}.md": f"{note}\n" for n, note in enumerate(notes())}


def daily() -> dict[str, str]:
    """Return the same as 25 daily notes of eight entries."""
    every = notes()
    return {
        f"memory/2026-03-{day + 1:02}.md": "".join(f"- {8 + i}:{10 + i} {every[day * 8 + i]}\n" for i in range(8))
        for day in range(25)
    }


def kind(question: str, note: str) -> str:
    """Return "en", "zh", or "across"."""
    asked, told = ("zh" if re.search("[一-鿿]", text) else "en" for text in (question, note))
    return asked if asked == told else "across"


def _lines(name: str) -> list[str]:
    return (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines()


class Kept:
    """LangChain `Embeddings` of these texts and no others: those of a note stand for every text that has the note in it."""

    def __init__(self) -> None:
        rows = np.fromfile(HERE / "vectors.bin", np.int8).reshape(-1, SIZE).tolist()
        self._of = dict(zip((*notes(), *(question for question, _ in questions()), *nonsense()), rows, strict=True))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [next(list(map(float, row)) for known, row in self._of.items() if known in text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [float(number) for number in self._of[text]]
