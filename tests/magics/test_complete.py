"""What Tab offers after the magics."""

import warnings

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from deepnb.magics import complete
from deepnb.magics.complete import candidates
from deepnb.magics.usage import LEFT_OUT, TOOL_WORDS
from tests.data import rows
from tests.support.tables import every_row, wing

WORDS = {
    "model": ("anthropic:claude-sonnet", "openai:gpt-5", "offline", "my_graph"), "thread": ("main", "york-2"),
    **dict.fromkeys(("path", "place", "file"), ("/AGENTS.md", "/memory/my.md")), "skill": ("tidy-data", "plots"),
    "source": ("user", "project"), "job": ("1", "2"), "subagent": ("critic", "critical"),
    "subagents": ("add", "remove", "critic", "critical"), "tools": TOOL_WORDS, "tool": ("write_file", "ls"),
    "own tool": ("f", "calc"), "function": ("double", "look"), "recording": ("stop",), "change": ("12", "11", "3"),
    "pending": ("p1",), "messages": ("2", "1", "none"), "bundled": ("clear-plot",), "turn": ("3", "2", "1"),
    "call": ("3", "2", "1", "3.2", "3.1"),
}  # fmt: skip


def there_are(kind):
    return WORDS.get(kind, ())


SUBS_TEXT = """
status use models key new open threads switch fork rewind undo resume approve reject edit jobs turns budget xray compact
history transcript export record replay explain fix code tools subagents mount persist package graph panel dashboard help
"""
SUBS = [name for name in SUBS_TEXT.split() if f"%agent {name}" not in LEFT_OUT]
MEMORY_TEXT = """
panel show add diff log revert why edit load save rm forget pending accept drop keep sources search daily flush promote
help
"""
MEMORY = MEMORY_TEXT.split()
OPTS = ["--model", "--thread", "--raw", "--as", "--format", "--quiet", "--max-steps", "--bg", "--compare", "--keep"]
OPTS = [name for name in OPTS if f"%agent {name}" not in LEFT_OUT]


@every_row(("magic", "line", "offers"), [
    *rows("completions")["lines"],
    ("agent", "", SUBS + OPTS),
    ("agent", "--", OPTS),
    ("agent", "--raw ", [o for o in OPTS if o != "--raw"]),
    ("agent", "--model ", list(WORDS["model"])),
    pytest.param("agent", "--compare memory_r", ["memory_refresh=thread,call,delta"], marks=wing("compare")),
    pytest.param("agent", "--compare=enable_m", ["--compare=enable_memory=on,off"], marks=wing("compare")),
    ("agent", "use ", [*WORDS["model"], "--base-url", "--max-tokens", "--temperature", "--timeout", "--messages-key",
     "--header"]),
    pytest.param("agent", "jobs ", ["stop", "join"], marks=wing("compare")),
    pytest.param("agent", "jobs stop ", ["1", "2"], marks=wing("compare")),
    pytest.param("agent", "help comp", ["compact", "compaction", "compare"], marks=wing("course")),
    ("memory", "", MEMORY),
])  # fmt: skip
def test_a_line_is_offered_what_fits_there(magic, line, offers):
    assert candidates(magic, line, line.rpartition(" ")[2], there_are) == offers


@every_row(("magic", "line", "offers"), [
    *rows("completions")["heads of cells"],
    ("agent", "", OPTS),
])  # fmt: skip
def test_the_head_of_a_cell_takes_no_subcommands(magic, line, offers):
    assert candidates(magic, line, line.rpartition(" ")[2], there_are, cell=True) == offers


@pytest.fixture(scope="module")
def shell():
    shell = InteractiveShell(config=Config({"HistoryManager": {"hist_file": ":memory:"}}))
    complete.install(shell, there_are)
    yield shell
    complete.uninstall(shell)
    shell.history_manager.end_session()


def offered(shell, cell):
    at = cell.index("|")
    cell = cell.replace("|", "")
    with provisionalcompleter():
        return [cell[: c.start] + c.text for c in shell.Completer.completions(cell, at) if c._origin == "deepnb"]


@every_row(("cell", "offers"), rows("completions")["in a shell"])
def test_a_real_shell_offers_it(shell, cell, offers):
    assert offered(shell, cell) == offers


def test_the_older_completion_call_offers_it_too(shell):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert shell.Completer.complete(line_buffer="%%agent --mo", cursor_pos=12) == ("--mo", ["--model"])
        assert shell.Completer.complete(line_buffer="%agent use of", cursor_pos=13) == ("of", ["offline"])


def test_a_prompt_is_offered_the_kernels_names(shell):
    shell.user_ns["planets_by_mass"] = 1
    with provisionalcompleter():
        found = [c.text for c in shell.Completer.completions("%agent plot {planets_", 21)]
    assert any("planets_by_mass" in text for text in found)


@every_row(("cell", "offers"), rows("completions")["columns of tables"])
def test_a_prompt_is_offered_the_columns_of_tables(shell, cell, offers):
    words = ("{sales[units]}", "{sales[unit price]}")
    complete.install(shell, lambda kind: words if kind == "column" else ())
    try:
        assert offered(shell, cell) == offers
    finally:
        complete.install(shell, there_are)


@every_row("cell", ["%memory accept ", "%memory revert ", pytest.param("%agent jobs stop ", marks=wing("compare"))])
def test_where_there_is_nothing_to_name_no_variables_are_offered(shell, cell):
    shell.user_ns["planets_by_mass"] = 1
    complete.install(shell, lambda kind: ())
    with provisionalcompleter():
        found = {cell[: c.start] + c.text for c in shell.Completer.completions(cell, len(cell))}
    complete.install(shell, there_are)
    assert found <= {cell}


def test_a_session_that_cannot_say_its_names_does_not_break_tab(shell):
    def fails(kind):
        raise RuntimeError

    complete.install(shell, fails)
    assert offered(shell, "%agent th|") == ["%agent threads"]
    assert offered(shell, "%agent switch |") == ["%agent switch "], "nothing but what was typed"
    complete.install(shell, there_are)


def test_installing_twice_leaves_one_matcher(shell):
    complete.install(shell, there_are)
    assert len(shell.Completer.custom_matchers) == 1


def test_only_what_can_stand_there_is_looked_up():
    asked: list[str] = []

    def names(kind: str) -> tuple[str, ...]:
        asked.append(kind)
        return ()

    for magic, typed in (("agent", "rewind "), ("memory", "show "), ("skills", "show "), ("agent", "")):
        candidates(magic, typed, "", names)
    assert asked == ["turn", "file", "skill"]
