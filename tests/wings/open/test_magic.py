"""`%agent open`: sessions made elsewhere in a shell; what is shown, refused, and gone on from."""

import json
import re
from pathlib import Path

import pytest

import deepnb
from deepnb.wings.open.session import OpenedSession
from tests.data import hostile
from tests.support.harmless import harmless
from tests.support.shells import Shell
from tests.support.tables import every_row, wing
from tests.wings.open.session_files import FORMATS, Claude, claude_file, graph_file, jsonl, stamps

REFUSED = "thread claude-code-1f0c2a3b was opened to be read: %agent fork NAME --at N goes on from its turn N"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return claude_file(tmp_path)


def test_the_first_picture(shell: Shell, file: Path) -> None:
    shown = shell.ok(f"%agent open {file}")
    lines = shown.splitlines()
    assert lines[0] == "opened · Claude Code · 3 turns   (thread claude-code-1f0c2a3b)"
    assert "models        claude-x" in lines and "calls         6" in lines
    assert "context       996 tokens at the end, at most 2,096, 1 compaction" in lines
    assert "memory files  /w/CLAUDE.md (1 edit)" in lines
    assert "context over time  ▁▃▁█↓▁▄"[:18] in shown and "↓" in shown
    assert "And the south?" in shown and "%agent fork NAME --at N goes on from turn N" in shown
    assert shell.ok("%agent") == shown


@pytest.mark.parametrize("name", FORMATS)
def test_every_view_of_each_format(name: str, tmp_path: Path, shell: Shell) -> None:
    file = FORMATS[name](tmp_path)
    before = stamps(tmp_path)
    shell.ok(f"%agent open {file}")
    turns = len(deepnb.current().turns)
    for line in ("turns", *(f"turns {n}" for n in range(1, turns + 1)), "turns a", "budget", "history", "transcript"):
        shell.ok(f"%agent {line}")
    for line in ("agent threads", "agent panel", "agent dashboard", "memory", "memory panel"):
        assert not re.search(r"%memory (add|edit)|%agent compact", shell.ok(f"%{line}")), line
    for line in ("memory show", "memory diff", "memory diff 0", "memory search a"):
        shell.ok(f"%{line}")
    assert stamps(tmp_path) == before


def test_a_directory_lists_what_is_below_it_and_may_have_a_plain_name(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claude_file(tmp_path / "a")
    (tmp_path / "b c").mkdir()
    graph_file(tmp_path / "b c")
    shown = shell.ok(f"%agent open {tmp_path}")
    assert shown.startswith(f"sessions in {tmp_path} · 3\n")
    monkeypatch.chdir(tmp_path)
    assert shell.ok("%agent open a").startswith("sessions")
    assert "rule-based model" in shell.ok("%agent open sesame")
    cells = [line.strip() for line in shown.splitlines() if line.startswith("  %agent")]
    graph = f"%agent open '{tmp_path}/b c/sessions.db' --thread"
    assert cells == [f"{graph} main", f"{graph} older", f"%agent open {tmp_path}/a/claude.jsonl"]
    for cell in cells:
        shell.ok(cell)
    assert "3" in shell.ok("%agent threads")
    assert [s.thread for s in sessions(shell).opened.values()] == [
        *("langgraph-main", "langgraph-older", "claude-code-1f0c2a3b")
    ]
    assert "main" in shell.ok(f"%agent open --list '{tmp_path}/b c/sessions.db'")


def sessions(shell: Shell):
    return shell.ip._deepnb.sessions


@every_row("line", [
    *("agent hello", "agent rewind 1", "agent undo", "agent compact", "agent resume", "agent new b", "agent mount"),
    *("agent tools", "agent record a.jsonl", "agent persist a.db", "agent panel threads", "agent --thread main hello"),
    pytest.param("agent package out", marks=wing("package")), pytest.param("agent --bg hello", marks=wing("compare")),
    pytest.param("agent --compare memory_refresh=call,delta hello", marks=wing("compare")),
    *("agent history --bring 1", "agent subagents add x", "skills", "skills new x", "agent approve"),
    *("memory add x", "memory forget x", "memory flush", "memory promote", "memory rm /w/CLAUDE.md", "memory log"),
    *("memory accept p1", "memory keep out", "memory edit"),
    *("%agent\nhello", "%memory /AGENTS.md\n- x", "%skills tidy\nx"),
])  # fmt: skip
def test_what_would_change_something_is_refused_in_one_line(shell: Shell, file: Path, line: str) -> None:
    shell.ok(f"%agent open {file}")
    assert shell.fails(f"%{line}") == REFUSED


def test_switching_between_opened_and_own_threads(shell: Shell, file: Path) -> None:
    shell.ok("%agent hello")
    shell.ok(f"%agent open {file}")
    shown = shell.ok("%agent threads")
    assert f"claude-code-1f0c2a3b: opened from Claude Code · {file}\n" in shown and shown.count("← current") == 1
    assert shell.ok("%agent switch main").startswith("thread main, at turn 1")
    assert shell.ok("%agent hello again")
    assert shell.ok("%agent switch claude-code-1f0c2a3b").startswith("opened · Claude Code")
    assert shell.fails("%agent switch nowhere").startswith("no thread 'nowhere'")
    assert isinstance(deepnb.current(), OpenedSession) and "offline" in shell.ok("%agent use offline")
    assert not isinstance(deepnb.current(), OpenedSession)


def test_going_on_from_a_turn(shell: Shell, file: Path) -> None:
    shell.ok(f"%agent open {file}")
    shown = shell.ok("%agent fork live --at 3")
    assert "thread live, forked from claude-code-1f0c2a3b@3: 7 messages" in shown
    assert "2 lines of its memory can be taken: %memory pending, %memory accept ID or all" in shown
    pending = shell.ok("%memory pending")
    assert "+- we use tabs" in pending and "it reads like an instruction" in pending and "aB3dE5gH7j" not in pending
    assert "accepted 2 changes" in shell.ok("%memory accept all")
    assert "turn 4 · live" in shell.ok("%agent What do you know about me?")
    shell.ok("%agent switch claude-code-1f0c2a3b")
    assert shell.fails("%agent fork live").startswith("a thread 'live' already exists")
    assert isinstance(deepnb.current(), OpenedSession)


def test_dropping_what_is_offered(shell: Shell, file: Path) -> None:
    shell.ok(f"%agent open {file}")
    shell.ok("%agent fork live")
    assert shell.ok("%memory drop all") == "dropped 2 changes\n" and "nothing" in shell.ok("%memory pending")


def test_two_sessions_of_one_name(shell: Shell, tmp_path: Path) -> None:
    for name in ("a", "b"):
        shell.ok(f"%agent open {claude_file(tmp_path / name)}")
    assert deepnb.current().thread == "claude-code-1f0c2a3b-2"
    shell.ok(f"%agent open {tmp_path}/a/claude.jsonl")
    assert deepnb.current().thread == "claude-code-1f0c2a3b" and len(sessions(shell).opened) == 2


def test_a_session_with_no_turns(shell: Shell, tmp_path: Path) -> None:
    log = Claude().put("a1", "system", subtype="informational", content="x").put("a2", "mystery")
    assert "0 turns" in shell.ok(f"%agent open {log.write(tmp_path / 's.jsonl')}")
    for line in ("turns", "budget", "history", "transcript", "threads"):
        shell.ok(f"%agent {line}")
    assert "no turn" in shell.fails("%agent turns 1") and "has no turns" in shell.fails("%agent fork live")


def test_a_very_long_turn_shows_its_ends(shell: Shell, tmp_path: Path) -> None:
    log = Claude().say("u Go")
    for n in range(200):
        log.say(f"a{n} +t{n} Read", f"r{n} t{n} {'x' * 5_000}")
    shell.ok(f"%agent open {log.write(tmp_path / 's.jsonl')}")
    shown = shell.ok("%agent turns 1")
    assert "150 steps are left out here" in shown and shown.count("→ Read(") == 50


@every_row("text", hostile.SHORT[::9])
def test_hostile_texts_in_every_field_of_a_file_run_nowhere(text: str, tmp_path: Path) -> None:
    def junk(value):
        if isinstance(value, dict):
            return {k: v if k in KEPT else junk(v) for k, v in value.items()}
        return [junk(v) for v in value] if isinstance(value, list) else text if isinstance(value, str) else value

    lines = [json.loads(line) for line in claude_file(tmp_path).read_text().splitlines()]
    file = jsonl(tmp_path / "s.jsonl", *map(junk, lines))
    with deepnb.Session() as session:
        opened = deepnb.open_session(file, into=session)
        from deepnb.magics.pictures import budget_picture, history_picture, memory_picture, picture
        from deepnb.views.search_marks import found_view
        from deepnb.views.threads import turns_view
        from deepnb.views.turn import long_turn_view

        views = [picture(opened), budget_picture(opened), history_picture(opened), memory_picture(opened.memory)]
        views += [turns_view(opened.turns), found_view(opened.passages(text[:5]), text)]
        for view in (*views, *map(long_turn_view, opened.turns)):
            harmless(view.html())
            view.text()


KEPT = frozenset(("type", "role", "uuid", "parentUuid", "timestamp", "subtype", "id", "tool_use_id", "isSidechain"))
"""Fields that make a line what it is."""
