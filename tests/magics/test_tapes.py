"""%agent record and %agent replay in a real shell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepnb.models.tapes.tape import VERSION
from tests.support.shells import Shell


@pytest.fixture(autouse=True)
def in_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def recorded(shell: Shell, *prompts: str) -> None:
    """Make the tape a.jsonl."""
    shell.ok("%agent record a.jsonl")
    for prompt in prompts:
        shell.ok(f"%agent -- {prompt}")
    shell.ok("%agent record stop")


def test_a_tape_is_recorded_stopped_and_played(shell: Shell, in_directory: Path) -> None:
    file = "a.jsonl"
    assert shell.ok("%agent record").strip() == "nothing is being recorded"
    assert shell.ok("%agent replay").strip() == "no tape is being played"
    out = shell.ok("%agent record a.jsonl")
    assert out.strip() == f"recording to {file} from the next turn on, without credentials: %agent record stop ends it"
    answer = shell.ok("%agent what can you do?")
    assert f"recording to {file}, 1 request so far: %agent record stop ends it" in shell.ok("%agent")
    assert shell.ok("%agent record").strip() == f"recording to {file}, 1 request so far"
    assert shell.ok("%agent record stop").strip() == f"1 request recorded to {file}: %agent replay {file} plays it"
    assert "recording" not in shell.ok("%agent")
    shell.ok("%agent new again")
    assert "tape a.jsonl from the next turn on: 1 request of offline, recorded " in shell.ok("%agent replay a.jsonl")
    assert shell.ok("%agent replay").strip() == "the model is tape a.jsonl"
    assert "model    tape a.jsonl · window 8,000 tokens" in shell.ok("%agent")
    replayed = shell.ok("%agent what can you do?")
    assert answer.splitlines()[0] == replayed.splitlines()[0] and shell.session.text in replayed
    assert "tape a.jsonl · 1 call" in replayed and "offline" not in replayed
    shell.ok("%agent use offline")
    assert shell.ok("%agent replay").strip() == "no tape is being played"


def test_a_prompt_that_is_not_on_the_tape_shows_the_diff_and_ends_in_one_line(shell: Shell) -> None:
    recorded(shell, "sing of the whales")
    shell.ok("%agent new again")
    shell.ok("%agent replay a.jsonl")
    ran = shell.run("%%agent\nsing of the wales")
    assert ran.err.strip() == (
        "UsageError: the request is not on tape a.jsonl: the nearest, request 1 of 1, differs in message 2 (user):"
        " %agent record FILE makes a tape that has it"
    )
    assert "-sing of the whales" in ran.out and "+sing of the wales" in ran.out


def test_mistakes_are_one_line(shell: Shell, in_directory: Path) -> None:
    recorded(shell, "thanks")
    file = in_directory.resolve() / "a.jsonl"
    assert shell.fails("%agent record stop") == "nothing is being recorded: %agent record FILE.jsonl starts a tape"
    assert shell.fails("%agent record a.jsonl") == "a.jsonl exists already: %agent record --yes a.jsonl overwrites it"
    for magic in ("record", "replay"):
        hint = "a.txt has no ending that says what it is: end the name in .jsonl"
        assert shell.fails(f"%agent {magic} a.txt") == hint
    shell.ok("%agent record --yes a.jsonl")
    assert "already recording to" in shell.fails("%agent record b.jsonl")
    shell.ok("%agent record stop")
    missing = shell.fails("%agent replay missing.jsonl")
    assert missing == f"no tape {file.with_name('missing.jsonl')}: %agent record FILE makes one"
    (in_directory / "x.jsonl").write_text("hello\n")
    assert shell.fails("%agent replay x.jsonl") == "x.jsonl is not a tape: %agent record FILE makes one"
    (in_directory / "n.jsonl").write_text(json.dumps({"tape": VERSION + 1}) + "\n")
    assert shell.fails("%agent replay n.jsonl").endswith(f"up to version {VERSION}: %pip install -U deepnb")
    assert shell.session.model == "offline"


def test_an_older_tape_says_so_and_plays(shell: Shell, in_directory: Path) -> None:
    recorded(shell, "thanks")
    head, _, rest = (in_directory / "a.jsonl").read_text().partition("\n")
    (in_directory / "my tape.jsonl").write_text(json.dumps({**json.loads(head), "tape": 0}) + "\n" + rest)
    shell.ok("%agent new again")
    assert "my tape.jsonl is of version 0, older than 1" in shell.ok('%agent replay "my tape.jsonl"')
    assert "tape my tape.jsonl" in shell.ok("%agent thanks")


@pytest.mark.parametrize("line", ["record the meeting in my notes", "replay the last question", "record a.txt as done"])
def test_a_prompt_that_begins_with_the_word_is_a_prompt(shell: Shell, line: str) -> None:
    shell.ok(f"%agent {line}")
    assert shell.session.turns[-1].prompt == line
