"""Weave diaries.json: dated questions, and questions whose answer is in several turns, in English and Chinese.

    python -m tests.data.diaries.make

A theme is a row of scenes: a numbered line of one speaker and the other's reply. `2-` is about the day before. `@` is
what is asked of one scene, with a date of many forms in the place of {when}; `?` is asked of several. The format is
that of `tests/data/talks`, and each sample has `today`, the day on which it is asked. Between them stand stories and
small talk of the talks, and everyday lines that often are about the same things (`*_days.txt`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from tests.data.talks import make as talks

HERE = Path(__file__).parent
NAMES = {"en": "Nora Felix Hanna Jonas", "zh": "小雨 阿明 雅琴 国栋"}
STORIES = {"en": ["en_home.txt", "en_work.txt", "en_out.txt", "en_life.txt"], "zh": ["zh.txt"]}
CONVERSATIONS, SESSIONS, MOST_STORIES = 2, 36, 40
EVERYDAY = {"en": 4, "zh": 13}
"""Everyday scenes of a session: as many as make the conversation several times as long as an answer may be."""
RECENT, MONTHS, DAYS = 12, 6, 12
"""Dated questions of a conversation: relative to today, of a month, of a day."""
GATHERED = 30
DIGITS = "零一二三四五六七八九"


@dataclass(frozen=True)
class Scene:
    label: str
    ago: int
    lines: tuple[str, str]


@dataclass(frozen=True)
class Theme:
    dated: tuple[str, ...]
    scenes: tuple[Scene, ...]
    gathered: tuple[talks.Question, ...]


@dataclass(frozen=True)
class Part:
    """What is said without a break, by whom; `scene` is that of a theme, if it is one."""

    said: tuple[tuple[str, str], ...]
    theme: int = -1
    scene: Scene | None = None


@dataclass(frozen=True)
class Event:
    """A scene as it was told: which theme, who told it, when it happened, and the turn."""

    theme: int
    teller: str
    label: str
    day: date
    turn: str


def themes(language: str) -> list[Theme]:
    blocks = re.split(r"^# .*\n", (HERE / f"{language}.txt").read_text(encoding="utf-8"), flags=re.M)[1:]
    return [_theme(block.splitlines()) for block in blocks]


def _theme(lines: list[str]) -> Theme:
    scenes = [
        Scene(found[1], len(found[2]), (found[3], lines[i + 1][2:]))
        for i, line in enumerate(lines)
        if (found := re.fullmatch(r"(\d)(-?) (.+)", line))
    ]
    asked = [[part.strip() for part in line[1:].split("|")] for line in lines if line.startswith("?")]
    gathered = (talks.Question(1, tuple(where.split()), text, answer) for where, text, answer in asked)
    return Theme(tuple(line[2:] for line in lines if line.startswith("@")), tuple(scenes), tuple(gathered))


def conversation(n: int, language: str) -> dict[str, Any]:
    """A conversation of two people: scenes in their order over the sessions, everyday lines between them."""
    random = Random(f"{language} {n}")
    names = NAMES[language].split()[2 * n : 2 * n + 2]
    chosen = themes(language)
    tellers = [names[t % 2] for t in random.sample(range(len(chosen)), len(chosen))]
    rooms = _rooms(random, language, names, chosen, tellers)
    day = date(2023, 1, 1) + timedelta(days=random.randrange(600))
    talk: dict[str, Any] = {"speaker_a": names[0], "speaker_b": names[1]}
    events: list[Event] = []
    for number, parts in enumerate(rooms, 1):
        day += timedelta(days=random.randrange(2, 8) if number < SESSIONS - 7 else random.randrange(1, 4))
        random.shuffle(parts)
        turns: list[dict[str, str]] = []
        for part in parts:
            if part.scene is not None:
                happened = day - timedelta(days=part.scene.ago)
                events.append(
                    Event(part.theme, part.said[0][0], part.scene.label, happened, f"D{number}:{len(turns) + 1}")
                )
            for who, text in part.said:
                turns.append({"speaker": who, "dia_id": f"D{number}:{len(turns) + 1}", "text": text})
        when = datetime(day.year, day.month, day.day, random.randrange(8, 22), random.randrange(60))
        talk[f"session_{number}_date_time"] = talks._moment(when, language)
        talk[f"session_{number}"] = turns
    today = day + timedelta(days=1)
    asked = [*_dated(random, language, chosen, events, today), *_gathered(random, chosen, events)]
    return {"sample_id": f"diary-{language}-{n + 1}", "today": str(today), "conversation": talk, "qa": asked}


def _rooms(
    random: Random, language: str, names: list[str], chosen: list[Theme], tellers: list[str]
) -> list[list[Part]]:
    """What is said in each session, in no order yet."""
    rooms: list[list[Part]] = [[] for _ in range(SESSIONS)]
    for t, theme in enumerate(chosen):
        pair = (tellers[t], _other(names, tellers[t]))
        for place, scene in zip(_places(random, len(theme.scenes)), theme.scenes, strict=True):
            rooms[place].append(Part(tuple(zip(pair, scene.lines, strict=True)), t, scene))
    stories = talks.stories(STORIES[language], "en_plain.txt" if language == "en" else "zh_plain.txt")
    for story in random.sample(stories, min(MOST_STORIES, len(stories))):
        cast = _pair(random, names, talks.TOWNS)
        for place, lines in zip(_places(random, len(story.scenes)), story.scenes, strict=True):
            rooms[place].append(Part(_cast(cast, lines)))
    for lines in talks.scenes(f"{language}_chat.txt"):
        random.choice(rooms).append(Part(_cast(_pair(random, names), lines)))
    everyday = _everyday(random, language)
    for room in rooms:
        for _ in range(EVERYDAY[language]):
            room.append(Part(tuple(zip(random.sample(names, 2), next(everyday), strict=True))))
    return rooms


def _places(random: Random, count: int) -> list[int]:
    return sorted(random.sample(range(SESSIONS), count))


def _pair(random: Random, names: list[str], towns: Sequence[str] = ()) -> talks.Cast:
    a, b = random.sample(names, 2)
    return talks.Cast(a, b, random.choice(towns) if towns else "")


def _cast(cast: talks.Cast, lines: tuple[talks.Line, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((cast.a if line.speaker == "a" else cast.b, cast.fill(line.text)) for line in lines)


def _everyday(random: Random, language: str) -> Iterator[tuple[str, str]]:
    """A line on somebody or something else and a reply, without end, no line twice."""
    lines = (HERE / f"{language}_days.txt").read_text(encoding="utf-8").splitlines()
    slots = {name: row.split("|") for name, row in (line.split(": ", 1) for line in lines if line[0] not in "<>")}
    forms, replies = ([line[2:] for line in lines if line[0] == mark] for mark in "><")
    known: set[str] = set()
    while True:
        text = re.sub(r"<(\w+)>", lambda found: random.choice(slots[found[1]]), random.choice(forms))
        if text not in known:
            known.add(text)
            yield text[0].upper() + text[1:], random.choice(replies)


def _other(names: list[str], name: str) -> str:
    return names[1 - names.index(name)]


def _gathered(random: Random, chosen: list[Theme], events: list[Event]) -> list[dict[str, Any]]:
    every = [(t, question) for t, theme in enumerate(chosen) for question in theme.gathered]
    rows = []
    for t, question in random.sample(every, GATHERED):
        told = [e for e in events if e.theme == t and e.label in question.labels]
        text = question.text.replace("{a}", told[0].teller)
        answer = question.answer.replace("{a}", told[0].teller)
        rows.append({"question": text, "answer": answer, "evidence": [e.turn for e in told], "category": 1})
    return rows


def _dated(
    random: Random, language: str, chosen: list[Theme], events: list[Event], today: date
) -> Iterator[dict[str, Any]]:
    """Questions of the last days, of months and of days, of different scenes as far as there are enough."""
    taken: set[tuple[str, ...]] = set()
    for forms, count in ((_recent, RECENT), (_months, MONTHS), (_days, DAYS)):
        every = [(e, when) for e in events for when in forms(language, e.day, today)]
        random.shuffle(every)
        for event, (when, first, last) in every:
            turns = tuple(e.turn for e in events if e.theme == event.theme and first <= e.day <= last)
            if not count or turns in taken:
                continue
            taken.add(turns)
            count -= 1
            text = random.choice(chosen[event.theme].dated).replace("{a}", event.teller).replace("{when}", when)
            labels = [s.lines[0] for s in chosen[event.theme].scenes if s.label == event.label]
            yield {"question": text, "answer": labels[0], "evidence": list(turns), "category": 2}
        assert not count, (forms, event)


Span = tuple[str, date, date]


def _days(language: str, day: date, today: date) -> list[Span]:
    if language == "zh":
        said = [
            f"{day.year}年{day.month}月{day.day}日",
            f"{day.month}月{day.day}号",
            f"{_han(day.month)}月{_han(day.day)}日",
        ]
    else:
        month = f"{day:%B}"
        said = [
            f"on {day.day} {month} {day.year}",
            f"on {month} {day.day}",
            f"on the {_th(day.day)} of {month}",
            f"on {day}",
        ]
    return [(text, day, day) for text in said]


def _months(language: str, day: date, today: date) -> list[Span]:
    first = day.replace(day=1)
    last = (first + timedelta(days=32)).replace(day=1) - timedelta(days=1)
    if language == "zh":
        said = [f"{day.year}年{day.month}月", f"{_han(day.month)}月份"]
    else:
        said = [f"in {day:%B}", f"in {day:%B %Y}"]
    return [(text, first, last) for text in said]


def _recent(language: str, day: date, today: date) -> list[Span]:
    ago = (today - day).days
    week = (today - timedelta(days=today.weekday()) - (day - timedelta(days=day.weekday()))).days // 7
    monday = day - timedelta(days=day.weekday())
    zh = language == "zh"
    found: list[Span] = []
    if ago == 1:
        found.append(("昨天" if zh else "yesterday", day, day))
    if ago == 2:
        found.append(("前天" if zh else "the day before yesterday", day, day))
    if 3 <= ago <= 6:
        number = _han(ago) if zh else ["three", "four", "five", "six"][ago - 3]
        found.append((f"{number}天前" if zh else f"{number} days ago", day, day))
    if 2 <= ago <= 7 and not zh:
        found.append((f"last {day:%A}", day, day))
    if week == 1 and zh:
        found.append((f"上周{'一二三四五六日'[day.weekday()]}", day, day))
    if week in (1, 2):
        said = {1: ("last week", "上周"), 2: ("two weeks ago", "两周前")}[week][zh]
        found.append((said, monday, monday + timedelta(days=6)))
    return found


def _han(number: int) -> str:
    """14 as 十四, up to 31."""
    tens, ones = divmod(number, 10)
    return ("" if tens == 0 else "十" if tens == 1 else f"{DIGITS[tens]}十") + (DIGITS[ones] if ones else "")


def _th(day: int) -> str:
    return f"{day}{'th' if 10 < day < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


def corpus() -> list[dict[str, Any]]:
    """All the samples; the same on every machine."""
    return [conversation(n, language) for language in NAMES for n in range(CONVERSATIONS)]


if __name__ == "__main__":
    text = json.dumps(corpus(), ensure_ascii=False, separators=(",", ":"))
    (HERE.parent / "diaries.json").write_text(text + "\n", encoding="utf-8")
