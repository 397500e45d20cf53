"""How much of the evidence a search finds in conversations, by the protocol for LoCoMo's questions.

    python -m tests.bench.talks FILE.json [--embedder module:name]

FILE.json is in LoCoMo's format; a sample may say on which day is asked (`today`; else on that of its last session).
One index per conversation; each session is a file headed by its date, each turn a line. Asked are the questions that
have evidence, category 5 (adversarial) left out. A passage has at most 1,600 characters, heading included. Evidence is
found by a passage that has its turn in it. `memory_search` is the agent's own tool, called with the query alone: its
answer is judged by the passages that the agent reads, and cut after 2,000 tokens.
"""

import argparse
import importlib
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any

from deepagents.backends.protocol import FileDownloadResponse, GlobResult

from deepnb.memory.searching import MemorySearch, MemoryToolsMiddleware
from deepnb.search.database import Database
from deepnb.search.hits import LEGS, Hit
from deepnb.search.index import Index
from deepnb.search.words import CJK, pairs, read_query, words
from tests import DATA
from tests.bench.row import Row

QUICK = False
PLAIN, OURS = "BM25, fixed passages", "fused, no model"
PASSAGE = 1600
TOKENS = 2000  # a token is four characters
CATEGORIES = {1: "several turns", 2: "time", 3: "inference", 4: "one turn"}
TOOL = "memory_search"
COLUMNS = ("some@6", "2000t", "2000t*")
NOTE = (
    "some@6: one of the turns that answer is in the first 6 passages (of at most 1,600 characters). 2000t: the share\n"
    "of them in the first of these passages that fit into 2,000 tokens; 2000t*: the same where search is given that\n"
    "budget (tokens=2000), and so makes its passages shorter and more."
)

Search = Callable[[str, int | None, int | None], list[Hit]]  # query, number of passages, budget in tokens -> passages


@dataclass(frozen=True)
class Question:
    text: str
    category: int
    evidence: frozenset[tuple[str, int]]


@dataclass(frozen=True)
class Talk:
    files: dict[str, str]
    questions: tuple[Question, ...]
    today: date


def talks(samples: Sequence[dict[str, Any]]) -> list[Talk]:
    return [_talk(sample["conversation"], sample["qa"], sample.get("today")) for sample in samples]


def _talk(conversation: dict[str, Any], asked: Sequence[dict[str, Any]], today: str | None) -> Talk:
    files: dict[str, str] = {}
    at: dict[tuple[int, int], tuple[str, int]] = {}
    numbers = (re.fullmatch(r"session_(\d+)", key) for key in conversation)
    for number in sorted(int(found[1]) for found in numbers if found):
        path = f"session_{number}.md"
        lines = [f"# {conversation.get(f'session_{number}_date_time', '')}", ""]
        for turn in conversation[f"session_{number}"] or []:
            caption = f" [{turn['blip_caption']}]" if turn.get("blip_caption") else ""
            lines.append(" ".join(f"{turn['speaker']}: {turn['text']}{caption}".split()))
            for place in _places([turn["dia_id"]]):
                at[place] = (path, len(lines))
        files[path] = "\n".join(lines) + "\n"
    questions = []
    for row in asked:
        evidence = frozenset(at[place] for place in _places(row.get("evidence") or []) if place in at)
        if evidence and row["category"] != 5:
            questions.append(Question(str(row["question"]), int(row["category"]), evidence))
    last = conversation.get(f"session_{max(number for number, _ in at)}_date_time", "")
    return Talk(files, tuple(questions), date.fromisoformat(today) if today else _day(last))


def _day(said: str) -> date:
    """The day of "1:56 pm on 8 May, 2023" or "2023年5月8日"; today where there is none."""
    if found := re.search(r"(\d{4})年(\d+)月(\d+)日", said):
        return date(*map(int, found.groups()))  # type: ignore[arg-type]
    if found := re.search(r"\d+ [A-Z][a-z]+,? \d{4}", said):
        return datetime.strptime(found[0].replace(",", ""), "%d %B %Y").date()
    return date.today()


def _places(ids: Sequence[str]) -> list[tuple[int, int]]:
    """ "D8:6" and what it has been misspelled as ("D8:6; D9:17", "D:11:26", "D30:05") as numbers."""
    return [(int(s), int(t)) for text in ids for s, t in re.findall(r"D:?(\d+):(\d+)", str(text))]


def searches(talk: Talk, embedder: Any) -> Iterator[tuple[str, Search]]:
    plain = Passages(talk.files)
    yield "AND query", lambda query, k, tokens: plain.search(query, k, " AND ", stop=False)
    yield PLAIN, lambda query, k, tokens: plain.search(query, k, " OR ", stop=True)
    index = Index(embedder=embedder)
    index.update(dict(talk.files))
    ways = {"n-grams alone": ["grams"], OURS: [leg for leg in LEGS if leg != "vector"]}
    if embedder is not None:
        ways |= {"vectors alone": ["vector"], "fused with vectors": [*LEGS]}
    for name, legs in ways.items():
        yield name, partial(_search, index, legs, talk.today)
    yield TOOL, tool(talk)
    index.close()
    for line in dict.fromkeys(index.notices):
        print(line, file=sys.stderr)


def _search(index: Index, legs: Any, today: date, query: str, k: int | None, tokens: int | None) -> list[Hit]:
    return index.search(query, k, tokens=tokens, legs=legs, passage=PASSAGE, today=today)


def tool(talk: Talk) -> Search:
    index = MemorySearch(lambda: None)
    notes = Notes({f"/memory/{path}": text for path, text in talk.files.items()})
    found = MemoryToolsMiddleware(notes, (), lambda: f"{talk.today}T12:00:00", lambda: index)
    (call,) = (one for one in found.tools if one.name == TOOL)
    return lambda query, k, tokens: read(str(call.invoke({"query": query})))


def read(answer: str) -> list[Hit]:
    parts = re.split(r"^/memory/(\S+):(\d+)(?:-(\d+))? \(.*\n", answer, flags=re.M)[1:]
    rows = zip(parts[::4], parts[1::4], parts[2::4], parts[3::4], strict=True)
    return [Hit(path, int(a), int(b or a), text.removesuffix("\n\n"), 0.0, "") for path, a, b, text in rows]


class Notes:
    def __init__(self, files: dict[str, str]) -> None:
        self.files = {path: text.encode() for path, text in files.items()}

    def glob(self, pattern: str, path: str) -> GlobResult:
        return GlobResult(matches=[{"path": path} for path in self.files])

    def download_files(self, paths: Sequence[str]) -> list[FileDownloadResponse]:
        return [FileDownloadResponse(path=path, content=self.files.get(path)) for path in paths]

    def may_read(self, path: str) -> bool:
        return True


class Passages:
    """The plain way: whole lines in passages of a fixed size, FTS5 with stemming, its own bm25."""

    def __init__(self, files: dict[str, str]) -> None:
        self.db = Database(":memory:")
        self.db.rows("CREATE VIRTUAL TABLE passages USING fts5(body, tokenize = 'porter unicode61')")
        self.hits: list[Hit] = []
        for path, text in files.items():
            lines = text.splitlines()
            start, size = 2, len(lines[0])
            for number, line in enumerate([*lines[2:], ""], 3):
                if number > len(lines) or (size + len(line) + 1 > PASSAGE and number > start + 1):
                    body = "\n".join(lines[start : number - 1])
                    self.hits.append(Hit(path, start + 1, number - 1, body, 0.0, "words", lines[0]))
                    start, size = number - 1, len(lines[0])
                size += len(line) + 1
        spaced = partial(CJK.sub, lambda run: f" {' '.join(pairs(run[0]) or [run[0]])} ")
        rows = [(i, spaced(f"{hit.heading}\n{hit.text}")) for i, hit in enumerate(self.hits, 1)]
        self.db.many("INSERT INTO passages (rowid, body) VALUES (?, ?)", rows)

    def search(self, query: str, k: int | None, joined: str, *, stop: bool) -> list[Hit]:
        every = [*words(query), *(p for run in CJK.findall(query) for p in pairs(run))]
        found = read_query(query).words if stop else every
        asked = joined.join(f'"{word}"' for word in found)
        sql = "SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT ?"
        return [self.hits[row - 1] for (row,) in self.db.rows(sql, (asked, -1 if k is None else k))] if asked else []


def measure(question: Question, search: Search) -> tuple[float, ...]:
    hits, best = search(question.text, 40, None), search(question.text, None, TOKENS)
    some = float(any(_found(question, hit) for hit in hits[:6]))
    return some, _recall(question, _affordable(hits)), _recall(question, _affordable(best))


def _found(question: Question, hit: Hit) -> frozenset[tuple[str, int]]:
    return frozenset(at for at in question.evidence if at[0] == hit.path and hit.start <= at[1] <= hit.end)


def _affordable(hits: Sequence[Hit]) -> Iterator[Hit]:
    room = TOKENS * 4
    for hit in hits:
        room -= len(hit.text) + len(hit.heading) + 1
        if room < 0:
            return
        yield hit


def _recall(question: Question, hits: Iterable[Hit]) -> float:
    return len(frozenset().union(*(_found(question, hit) for hit in hits))) / len(question.evidence)


def results(corpus: Sequence[Talk], embedder: Any = None) -> dict[str, dict[str, list[tuple[float, ...]]]]:
    out: dict[str, dict[str, list[tuple[float, ...]]]] = {}
    for talk in corpus:
        for name, search in searches(talk, embedder):
            by = out.setdefault(name, {})
            for question in talk.questions:
                row = measure(question, search)
                kind = f"{question.category} {CATEGORIES.get(question.category, '')}".strip()
                for key in ("all", kind):
                    by.setdefault(key, []).append(row)
    return out


def table(found: dict[str, dict[str, list[tuple[float, ...]]]]) -> str:
    lines = [f"{'':24}{'category':18}{'n':>6}  " + "".join(f"{name:>9}" for name in COLUMNS)]
    for name, by in found.items():
        for kind in sorted(by, key=lambda key: (key != "all", key)):
            means = [sum(column) / len(column) for column in zip(*by[kind], strict=True)]
            label = name if kind == "all" else ""
            lines.append(f"{label:24}{kind:18}{len(by[kind]):6}  {''.join(f'{mean:9.3f}' for mean in means)}")
    return "\n".join(lines)


def rows() -> Iterator[Row]:
    """What is found of the evidence in the tests' own talks and diaries, beside plain passages."""
    for file in ("talks", "diaries"):
        found = results(talks(json.loads((DATA / f"{file}.json").read_text(encoding="utf-8"))))
        of = {name: [sum(col) / len(col) for col in zip(*by["all"], strict=True)] for name, by in found.items()}
        for name, search, what in (
            ("some@6", OURS, "some evidence in the top 6"),
            ("2000t*", OURS, "evidence in 2,000 tokens"),
            ("2000t*", TOOL, "evidence in the answer of memory_search"),
        ):
            ours, plain = of[search][COLUMNS.index(name)], of[PLAIN][COLUMNS.index(name)]
            yield Row(f"{file}: {what}", ours, "of 1", plain, ours / plain)


def load(name: str) -> Any:
    module, _, attribute = name.partition(":")
    found = getattr(importlib.import_module(module), attribute)
    return found if hasattr(found, "embed_query") and not isinstance(found, type) else found()


def main() -> None:
    parser = argparse.ArgumentParser("tests.bench.talks", description=__doc__)
    parser.add_argument("file", help="a corpus in LoCoMo's format")
    parser.add_argument("--embedder", help="module:name of an object with embed_documents and embed_query")
    chosen = parser.parse_args()
    sys.path.insert(0, "")
    corpus = talks(json.loads(Path(chosen.file).read_text(encoding="utf-8")))
    print(f"{len(corpus)} conversations, {sum(len(talk.questions) for talk in corpus)} questions\n")
    print(table(results(corpus, load(chosen.embedder) if chosen.embedder else None)))
    print(f"\n{NOTE}")


if __name__ == "__main__":
    main()
