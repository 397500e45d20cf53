"""The frozen Chinese questions, those that are only a date, and some that mean nothing; made before the rules they try.

Chinese: 120 questions over 400 paragraphs, a file each, of which 280 are put together of halves and only stand in the
way; `across` are 24 of them in the other script. Dates: each question with its days; a note is right if it is of one.
"""

from collections.abc import Iterator
from datetime import date

from tests import DATA

TODAY = date(2026, 11, 25)
"""A Wednesday: what the dates are relative to."""
NONSENSE = """
zzzz qqqq|xkcdw vbnmq|asdfgh jklqw|qwrtp zxcvb|blorf|wug frindle|snorp glibbet|vexqu|flumph|grzyb|hjkl hjkl|bnmx trwq|jjjj|
pqrst uvwx|what is zyxwq?|where did the kwyjibo qzx?|how to fnord xyzq|ytrewq|lkjhgf|mnbvcxz|qazwsx|plmokn|
ijnuhb|ygvtfc|rdxesz|xxxx yyyy|0xqzqz|@@@@|???|!!! ###|()()|🦖🦖|龘靐齉|鬻饕餮|魑魅魍魉|饔飧|甪彧|鼋鼍|彳亍|囹圄|
耄耋|龃龉|蘡薁|ぬぺぽ|ヴュヂ|뷁쀍|ξζψ|щжыъ|ĸŋħ|ƕȝƿ
"""


def nonsense() -> list[str]:
    return NONSENSE.replace("\n", "").split("|")


def chinese() -> tuple[dict[str, str], list[tuple[str, str]], list[tuple[str, str]]]:
    """Return path -> paragraph, questions with the path that answers each, and those in the other script."""
    subjects, *kinds = _read("chinese").split("\n= ")
    halves = [part.strip().split("\n") for part in kinds]
    files: dict[str, str] = {}
    asked: dict[str, list[tuple[str, str]]] = {"?": [], "!": []}
    for at, subject in enumerate(subjects.split("\n# ")):
        head, *lines = subject.removeprefix("# ").strip().split("\n")
        name, kind = head.split()
        for line in lines:
            if line[0] in asked:
                asked[line[0]].append((line[2:], list(files)[-1]))
            else:
                files[f"{len(files)}.md"] = line
        traditional = any(sign in "".join(lines) for sign in "書醫島溫調車專團")
        firsts, seconds = (part.split("|") for part in [h[1:] for h in halves if h[0] == kind][traditional])
        for n, first in enumerate(firsts):
            files[f"{len(files)}.md"] = f"{first.replace('{}', name)}，{seconds[(at + n) % len(seconds)]}。"
    return files, asked["?"], asked["!"]


def dates() -> tuple[dict[str, str], list[tuple[str, list[str]]]]:
    """Return path -> note, and questions with the paths of the notes of their days, newest first."""
    memory, notes, questions = (part.split("\n", 1)[1].strip() for part in _read("date_questions").split("= ")[1:])
    path, text = memory.split("\n", 1)
    files = {path: f"{text}\n"}
    for line in notes.split("\n"):
        day, said = line.split(" ", 1)
        files[f"/memory/{day}.md"] = "".join(f"- 9:{15 + i}: {one}\n" for i, one in enumerate(said.split("|")))
    return files, [
        (asked, list(_right(files, days))) for asked, days in (q.split(" | ") for q in questions.split("\n"))
    ]


def _right(files: dict[str, str], days: str) -> Iterator[str]:
    first, _, last = days.partition("..")
    for path in sorted(files, reverse=True):
        if f"/memory/{first}.md" <= path <= f"/memory/{last or first}.md":
            yield path


def _read(name: str) -> str:
    return (DATA / f"{name}.txt").read_text(encoding="utf-8")
