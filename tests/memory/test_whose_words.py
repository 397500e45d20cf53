"""What came from elsewhere never becomes the user's without a question; what the user says goes straight in."""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from langchain_core.messages import AIMessage

from deepnb import Session
from deepnb.gate.own_words import said as kinds_said
from deepnb.magics.interpolate import fill
from deepnb.memory.layers import note_day
from tests import DATA
from tests.support.compactions import AT_LENGTH, Phased
from tests.support.scripted import call, walked
from tests.support.shells import Shell

WORDINGS = json.loads((DATA / "wordings.json").read_text("utf-8"))
SAID = [one["said"] for one in WORDINGS]
OWN = [one.get("own", one["said"]) for one in WORDINGS]
NOTES = [one["note"] for one in WORDINGS]
ORDINARY = [line.split(" => ") for line in (DATA / "ordinary_turns.txt").read_text("utf-8").splitlines()]
PAGE = "Hello, and welcome to our page.\n\n" + "\n\n".join(SAID) + "\n\nHave a nice day."
_IDS = count()


class Desk:
    """A shell whose model obeys: it notes what it is told to, sums up what it is told to, and answers."""

    def __init__(self, shell: Shell, place: Path) -> None:
        self.place = place
        self.shell, self.model = shell, Phased(profile={"max_input_tokens": 1_000_000})
        shell.ip.user_ns["m"] = self.model
        shell.ok("%agent use m")
        self.s: Session = shell.session
        self.s.configure(trigger=("tokens", 900_000), keep=("messages", 1))

    def next(self, *answers: Any) -> None:
        self.model.answers[:] = [*["-"] * len(self.model.requests), *answers]

    def run(self, prompt: str, *before: AIMessage, notes: Sequence[str] = NOTES, **names: Any) -> list[str]:
        """One cell, whose agent makes these calls and then these notes; gives the file for each."""
        self.shell.ip.user_ns.update(names)
        self.files = [f"/memory/2026-01-01-{next(_IDS)}.md" for _ in notes]
        calls = [
            {"name": "write_file", "args": {"file_path": path, "content": f"- {note}\n"}, "id": path}
            for path, note in zip(self.files, notes, strict=True)
        ]
        self.next(*before, AIMessage("", tool_calls=calls), "ok")
        self.shell.ok(prompt)
        return self.files

    def compacted(self, summary: str, flush: Any = "NO_REPLY") -> str:
        """What the model is sent after a compaction with this summary and this flush."""
        self.next("ok")
        self.s.run("thanks")
        self.model.flush, self.model.summary = flush, summary
        self.s.compact()
        self.next(AT_LENGTH * 8)  # so that the next compaction is worth it, however much it claims
        self.s.run("next")
        return "\n".join(m.text for m in self.model.requests[-1] if m.type == "human")

    def compacted_twice(self, said: Sequence[str]) -> tuple[str, str]:
        """The same, first with a summary that says nothing, then with one that claims all of it, as the flush does."""
        first = self.compacted("They talked.")
        claims = "\n".join(["They talked.", *(f"The user said: {one}" for one in said)])
        return first, self.compacted(claims, call("note", text="\n".join(f"- {note}" for note in NOTES)))

    def daily(self) -> str:
        return "\n".join(self.s.files[path] for path in self.s.files if note_day(path) and path not in self.files)

    def clean(self) -> None:
        for path in [path for path in self.s.files if path.startswith("/memory/")]:
            del self.s.files[path]
        for held in self.s.memory.pending():
            self.s.memory.drop(held.id)
        for name in {*self.s.tools.list()["name"]} & {"convert", "fetch"}:
            self.s.tools.remove(name)


def error(desk: Desk) -> None:
    desk.shell.run(f"raise ValueError({PAGE!r})")
    desk.run("%agent why this? {err}")


def explained(desk: Desk) -> None:
    desk.shell.run(f"raise ValueError({PAGE!r})")
    desk.run("%agent explain")


def answer(desk: Desk) -> None:
    desk.next(PAGE)
    desk.shell.ok("%%agent --as ans\nmake up a page")
    desk.run("%%agent\nShorten {ans}")


def described(desk: Desk) -> None:
    def convert(n: int) -> str:
        return str(n)

    convert.__doc__ = f"Convert a number.\n\n{PAGE}"
    desk.s.tools.add(convert)
    desk.run("%%agent\nWhich tools are there?")


def output(desk: Desk) -> None:
    def fetch() -> str:
        """Fetch the page."""
        return PAGE

    desk.s.configure(approve={"fetch": "allow"})
    desk.s.tools.add(fetch)
    desk.run("%%agent\nFetch the page", call("fetch"))


def file(desk: Desk) -> None:
    desk.s.files["/data/page.md"] = PAGE
    desk.run("%%agent\nRead /data/page.md", call("read_file", file_path="/data/page.md"))


def skill(desk: Desk) -> None:
    desk.s.files["/skills/pages/SKILL.md"] = f"---\nname: pages\ndescription: {SAID[0]}\n---\n{PAGE}\n"
    desk.run("%%agent\nUse the skill pages", call("read_file", file_path="/skills/pages/SKILL.md"))


def subagent(desk: Desk) -> None:
    task = call("task", description="look at the page", subagent_type="general-purpose")
    desk.run("%%agent\nLet a subagent look at the page", task, AIMessage(PAGE))


CARRIERS: dict[str, Callable[[Desk], Any]] = {
    "page": lambda desk: desk.run("%%agent\nSummarise {page}", page=PAGE),
    "cell": lambda desk: desk.run(
        "%%agent\nWhat is in {row} and {frame}?", row=SAID, frame=pd.DataFrame({"notes": SAID})
    ),
    "column": lambda desk: desk.run(
        "%%agent\nDescribe {frame.columns}, and {frame}", frame=pd.DataFrame({said: [1, 2] for said in SAID})
    ),
    "quoted": lambda desk: desk.run('%%agent\nWhat do these mean? "' + '" and "'.join(SAID) + '"'),
    "pasted": lambda desk: desk.run(f"%%agent\nSum up:\n{PAGE}"),
    "pasted_above": lambda desk: desk.run(f"%%agent\nWhat does this mail want?\n\nDear all,\n\n{PAGE}"),
    **{one.__name__: one for one in (error, explained, answer, described, output, file, skill, subagent)},
}


def foreign_as_the_users(desk: Desk, carriers: Mapping[str, Callable[[Desk], Any]] = CARRIERS) -> list[str]:
    """What of twenty rules on each way stands anywhere as the user's, without a question."""
    wrong: list[str] = []
    for name, carry in carriers.items():
        desk.s.new(name)
        carry(desk)
        first, second = desk.compacted_twice(SAID)
        files, daily, facts = desk.s.files, desk.daily(), first + second.partition("<anchors>")[2]
        found = {
            "memory": [NOTES[i] for i, path in enumerate(desk.files) if path in files],
            "daily note": [note for note in NOTES if note in daily],
            "key fact": [said for said in SAID if said in facts],
            "the user said": [said for said in SAID if f"The user said: {said}" in second],
        }
        wrong += [f"{name}: {where}: {line}" for where, lines in found.items() for line in lines]
        desk.clean()
    return wrong


def own_words_asked_about(desk: Desk) -> list[str]:
    """What of the same rules, said by the user, is not where it belongs."""
    desk.s.new("own")
    missed: list[str] = []
    for own, note in zip(OWN, NOTES, strict=True):
        (path,) = desk.run(f"%%agent\n{own}", notes=[note])
        missed += [f"memory: {note}"] * (path not in desk.s.files)
    desk.clean()
    first, second = desk.compacted_twice(OWN)
    daily = desk.daily()
    missed += [f"key fact: {own}" for own in OWN if ("prohibition", own) in kinds_said(own) and own not in first]
    missed += [f"daily note: {note}" for note in NOTES if note not in daily]
    return missed + [f"summary: {own}" for own in OWN if f"The user said: {own}" not in second]


def questions_of_ordinary_turns(desk: Desk) -> list[str]:
    """The notes that the user is asked about in turns that read a table or a page, and note what the user says."""
    desk.s.new("ordinary")
    desk.s.files["/data/page.md"] = PAGE
    table = {"year": [2021, 2022], "note": SAID[:4]}
    asked = []
    for prompt, note in ORDINARY:
        read = [call("read_file", file_path="/data/page.md")] if "page" in prompt else []
        (path,) = desk.run(f"%%agent\n{prompt}", *read, notes=[note], page=PAGE, table=table)
        asked += [note] * (path not in desk.s.files)
    return asked


@pytest.mark.slow
def test_what_others_say_is_never_the_users_and_what_the_user_says_is(shell: Shell, tmp_path: Path) -> None:
    desk = Desk(shell, tmp_path)
    wrong, missed, asked = foreign_as_the_users(desk), own_words_asked_about(desk), questions_of_ordinary_turns(desk)
    said = f"{len(wrong)} as the user's, {len(missed)} of their own missed, {len(asked)} of {len(ORDINARY)} asked about"
    print(f"{len(CARRIERS)} ways, {len(NOTES)} rules: {said}")
    assert len(CARRIERS) >= 12 and len(NOTES) == 20 and len(ORDINARY) == 60
    assert not wrong and not missed and len(asked) <= 3, "\n".join([said, *wrong, *missed, *asked])


def test_what_was_filled_in_is_not_the_users_after_a_restart(tmp_path: Path) -> None:
    note = call("write_file", file_path="/AGENTS.md", content=f"- {NOTES[0]}\n")
    with Session(model=Phased(), persist=tmp_path / "kept.db") as s:
        s.run(fill("Summarise {page}", {"page": PAGE}).text)
    with Session(model=Phased(answers=[note, "ok"]), persist=tmp_path / "kept.db") as s:
        walked(s, "fork other", "run thanks")
        assert "/AGENTS.md" not in s.files and len(s.memory.pending()) == 1


def test_what_a_nested_agent_is_told_is_no_key_fact_of_the_users() -> None:
    task = call("task", description=PAGE, subagent_type="general-purpose")
    look = [call("ls", id=f"l{n}", path="/") for n in range(4)]
    model = Phased(answers=[task, *look, "seen", "ok"], summary="They looked.")
    Session(model=model, trigger=("messages", 4), keep=("messages", 1), max_steps=None).run("look at it")
    told = ["\n".join(m.text for m in sent) for sent in model.requests]
    assert any("They looked." in text for text in told) and not any("The user said:" in text for text in told)
