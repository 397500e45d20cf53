"""Weave talks.json, a corpus in the format of LoCoMo, from the hand-written stories beside this file.

    python tests/data/talks/make.py

A story is a row of scenes, which come in this order in different sessions of a conversation. A line is a
speaker (a or b), the number a question knows it by, if any, and what is said. A question is
`? category | numbers of its evidence | question | answer`. Categories are LoCoMo's: 1 several turns,
2 time, 3 inference, 4 one turn, 5 adversarial (asked of the wrong speaker). The format: Maharana et al.,
"Evaluating Very Long-Term Conversational Memory of LLM Agents", 2024. Nothing of its content is in here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).parent
ENGLISH = (
    "Maya Tom Ruth Oscar Lena Idris Clara Hugo Priya Sam Greta Noel Ines Paul Wanda Kofi Edith Liam Mira Otto "
    "Zoe Frank Tess Amir Joan Carl Nina Ravi"
)
CHINESE = "小林 阿杰 晓雯 志强 美玲 建国 思远 雨桐 大伟 丽娜 子涵 海燕"
NAMES = {"en": ENGLISH.split(), "zh": CHINESE.split()}
TOWNS = ["Leeds", "Ghent", "Porto", "Graz", "Turku", "Galway"]


@dataclass(frozen=True)
class Line:
    """What one speaker ("a" or "b") says; `label` is "" where no question asks for it."""

    speaker: str
    label: str
    text: str


@dataclass(frozen=True)
class Question:
    category: int
    labels: tuple[str, ...]
    text: str
    answer: str


@dataclass(frozen=True)
class Story:
    scenes: tuple[tuple[Line, ...], ...]
    questions: tuple[Question, ...]
    plain: tuple[Question, ...] = ()


@dataclass(frozen=True)
class Cast:
    """Who speaks for a and for b in one story of one conversation."""

    a: str
    b: str
    town: str = ""

    def fill(self, text: str) -> str:
        return text.replace("{a}", self.a).replace("{b}", self.b).replace("{town}", self.town)

    def swapped(self) -> Cast:
        return Cast(self.b, self.a, self.town)


def stories(names: list[str], plain: str) -> list[Story]:
    """The stories of some files; each begins with a line `# title`, by which `plain` has further questions.

    The questions in a story are paraphrases, those in `plain` use words of their evidence.
    """
    more = {title: _story(block).questions for title, block in _blocks(plain)}
    found = [(title, _story(block)) for name in names for title, block in _blocks(name)]
    return [replace(story, plain=more[title]) for title, story in found]


def _blocks(name: str) -> list[tuple[str, str]]:
    parts = re.split(r"^# (.*)\n", (HERE / name).read_text(encoding="utf-8"), flags=re.M)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def scenes(name: str) -> list[tuple[Line, ...]]:
    """The scenes of a file without stories: greetings, small talk."""
    return list(_story((HERE / name).read_text(encoding="utf-8")).scenes)


def _story(block: str) -> Story:
    talk = [line for line in block.splitlines() if line and not line.startswith("?")]
    found = [tuple(_line(line) for line in scene.splitlines()) for scene in "\n".join(talk).split("\n--\n")]
    asked = [line[1:].split("|") for line in block.splitlines() if line.startswith("?")]
    return Story(
        tuple(found),
        tuple(Question(int(c), tuple(where.split()), q.strip(), answer.strip()) for c, where, q, answer in asked),
    )


def _line(line: str) -> Line:
    found = re.fullmatch(r"([ab])(\d?) (.+)", line)
    assert found, line
    return Line(*found.groups())


@dataclass(frozen=True)
class Plan:
    """One conversation to make: how many sessions of how many stories, and how many questions to ask of it."""

    language: str
    sessions: int
    stories: int
    questions: int


PLANS = (
    [Plan("en", 22, 40, 60)] * 4 + [Plan("en", 5, 6, 8)] * 24 + [Plan("zh", 12, 12, 36)] + [Plan("zh", 4, 4, 6)] * 11
)


def conversation(n: int, plan: Plan, stock: dict[str, list]) -> dict:
    """Sample `n`: stories cast with two people, their scenes dealt to sessions in order, small talk between."""
    random = Random(1000 + n)
    names = NAMES[plan.language]
    one, two = names[2 * n % len(names)], names[(2 * n + 1) % len(names)]
    # every story is used about equally often: they are taken in turn
    shelf = stock["stories"]
    chosen = [shelf[(stock["next"][0] + i) % len(shelf)] for i in range(plan.stories)]
    stock["next"][0] += plan.stories
    random.shuffle(chosen)
    casts = [Cast(*_two(random, one, two), random.choice(TOWNS)) for _ in chosen]
    rooms: list[list[tuple[int, tuple[Line, ...]]]] = [[] for _ in range(plan.sessions)]
    for s, story in enumerate(chosen):
        places = sorted(random.sample(range(plan.sessions), len(story.scenes)))
        for place, scene in zip(places, story.scenes, strict=True):
            rooms[place].append((s, scene))
    day = datetime(2022, 1, 3) + timedelta(days=random.randrange(300))
    talk: dict = {"speaker_a": one, "speaker_b": two}
    at: dict[tuple[int, str], str] = {}
    dates: dict[tuple[int, str], str] = {}
    chat = random.sample(stock["chat"], len(stock["chat"]))
    for number, room in enumerate(rooms, 1):
        day += timedelta(days=random.randrange(3, 16))
        when = day.replace(hour=random.randrange(8, 22), minute=random.randrange(60))
        random.shuffle(room)
        parts: list[tuple[int | None, tuple[Line, ...]]] = [*room]
        for _ in range(max(2, 5 - len(room))):
            chat = chat or random.sample(stock["chat"], len(stock["chat"]))
            parts.insert(random.randrange(len(parts) + 1), (None, chat.pop()))
        parts = [(None, random.choice(stock["open"])), *parts, (None, random.choice(stock["close"]))]
        turns: list[dict[str, str]] = []
        for of, scene in parts:
            cast = Cast(*_two(random, one, two)) if of is None else casts[of]
            for line in scene:
                who = cast.a if line.speaker == "a" else cast.b
                key = f"D{number}:{len(turns) + 1}"
                turns.append({"speaker": who, "dia_id": key, "text": _said(cast.fill(line.text), stock, random)})
                if of is not None and line.label:
                    at[of, line.label], dates[of, line.label] = key, _day(day, plan.language)
        talk[f"session_{number}_date_time"] = _moment(when, plan.language)
        talk[f"session_{number}"] = turns
    return {"sample_id": f"talk-{n + 1}", "conversation": talk, "qa": _asked(plan, chosen, casts, at, dates, random)}


def _said(text: str, stock: dict[str, list], random: Random) -> str:
    """A line as people say it, with a word before and after: turns of some 110 letters in English."""
    before = random.choice(stock["react"]) + stock["space"][0] if random.random() < 0.5 else ""
    after = stock["space"][0] + random.choice(stock["after"]) if random.random() < 0.5 else ""
    return before + text + after


def _asked(plan: Plan, chosen, casts, at, dates, random: Random) -> list[dict]:
    every = [(s, question) for s, story in enumerate(chosen) for question in story.questions]
    plain = [(s, question) for s, story in enumerate(chosen) for question in story.plain]
    drawn = random.sample(every, plan.questions - plan.questions // 3) + random.sample(plain, plan.questions // 3)
    qa = []
    for s, question in random.sample(drawn, len(drawn)):
        row = {"question": casts[s].fill(question.text), "answer": _dated(casts[s].fill(question.answer), dates, s)}
        qa.append({**row, "evidence": [at[s, label] for label in question.labels], "category": question.category})
    for s, question in random.sample(every, 1 + plan.questions // 20):
        row = {"question": casts[s].swapped().fill(question.text), "adversarial_answer": question.answer}
        qa.append({**row, "evidence": [at[s, label] for label in question.labels], "category": 5})
    return qa


def _two(random: Random, one: str, two: str) -> tuple[str, str]:
    """The two of a conversation, one of them first."""
    first, second = random.sample([one, two], 2)
    return first, second


def _dated(answer: str, dates: dict[tuple[int, str], str], story: int) -> str:
    return re.sub(r"\{(\d)\}", lambda found: dates[story, found[1]], answer)


def _day(day: datetime, language: str) -> str:
    return f"{day.year}年{day.month}月{day.day}日" if language == "zh" else f"{day.day} {day:%B} {day.year}"


def _moment(when: datetime, language: str) -> str:
    hour, half = when.hour % 12 or 12, when.hour // 12
    if language == "zh":
        return f"{_day(when, language)} {'上午下午'[2 * half : 2 * half + 2]}{hour}:{when.minute:02}"
    return f"{hour}:{when.minute:02} {'ap'[half]}m on {when.day} {when:%B}, {when.year}"


def corpus() -> list[dict]:
    """All the samples; the same on every machine."""
    english = stories(["en_home.txt", "en_work.txt", "en_out.txt", "en_life.txt"], "en_plain.txt")
    stock: dict[str, dict[str, list[Any]]] = {
        language: {
            "stories": Random(7).sample(found, len(found)),
            "next": [0],
            "space": [space],
            **{kind: scenes(f"{language}_{kind}.txt") for kind in ("chat", "open", "close")},
            **{kind: _lines(f"{language}_{kind}.txt") for kind in ("react", "after")},
        }
        for language, found, space in (("en", english, " "), ("zh", stories(["zh.txt"], "zh_plain.txt"), ""))
    }
    return [conversation(n, plan, stock[plan.language]) for n, plan in enumerate(PLANS)]


def _lines(name: str) -> list[str]:
    return (HERE / name).read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    text = json.dumps(corpus(), ensure_ascii=False, separators=(",", ":"))
    (HERE.parent / "talks.json").write_text(text + "\n", encoding="utf-8")
