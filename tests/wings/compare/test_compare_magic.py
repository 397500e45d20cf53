"""`%%agent --compare` in a shell: how its line is read, what is shown, what values can be typed, and what is refused."""

from typing import Any, get_args

import pytest

from deepnb.magics.options import AgentRun, Command, parse_agent
from deepnb.values.approvals import Mode
from deepnb.values.errors import DeepnbError
from deepnb.wings.compare.compare_magic import COMPARED
from deepnb.wings.compare.comparison import Comparison, comparisons
from deepnb.wiring.options import Options, Refresh, ToolText
from tests.data import rows
from tests.support.shells import Shell
from tests.support.tables import every_row

SETUP = """
brief, formal = "Be brief.", "Be formal, always."
hall = "the great hall"
%memory add The release is on Friday.
%agent hello
%agent when is the release?
%memory forget --yes Friday
%memory add The release is on Monday.
"""


@pytest.fixture
def compare(shell: Shell) -> Shell:
    shell.ok(SETUP)
    return shell


def test_in_a_terminal_policies_are_compared_names_filled_in_and_forks_kept(compare: Shell) -> None:
    turns, files = compare.session.turns, dict(compare.session.files)
    said = compare.ok("%%agent --compare memory_refresh=call,delta --as found\nwhen is the release?")
    assert said.count("comparison · memory_refresh") == 1, "once, when all have ended"
    assert "memory_refresh=call  done" in said and "Monday" in said and "2 forks dropped" in said
    found = compare.ip.user_ns["found"]
    assert isinstance(found, Comparison) and list(found.df()["memory_refresh"]) == ["call", "delta"]
    assert (compare.session.turns, dict(compare.session.files)) == (turns, files)
    assert max(map(len, said.splitlines())) <= 100
    said = compare.ok("%%agent --compare memory_refresh=call,delta --as found\nwhere is {hall}?")
    assert "filled in: {hall}" in said and compare.ip.user_ns["found"].prompt == "where is the great hall?"
    assert "comparison" in compare.ok("%agent --compare memory_refresh=call,delta where is {hall}?")
    said = compare.ok("%%agent --compare memory_refresh=call,delta --keep\nhello")
    assert "kept as compare-1, compare-2, with a memory of their own" in said
    assert "compare-2" in compare.ok("%agent threads")


@every_row(("typed", "option", "values"), [
    ("trigger=0.2,8000,20messages", "trigger", [("fraction", 0.2), ("tokens", 8000), ("messages", 20)]),
    ("trigger=none,0.5", "trigger", [None, ("fraction", 0.5)]), ("window=6000,9000", "max_input_tokens", [6000, 9000]),
    ("system_prompt=brief,formal,none", "system_prompt", ["Be brief.", "Be formal, always.", ""]),
    ("enable_skills=on,off", "enable_skills", [True, False]),
    ("skills=/skills/,/skills/+/more/", "skills", [("/skills/",), ("/skills/", "/more/")]),
    ("tool_text=short,full", "tool_text", ["short", "full"]), ("max_tokens=none,900000", "max_tokens", [None, 900000]),
])  # fmt: skip
def test_values_as_they_are_typed(compare: Shell, typed: str, option: str, values: list[Any], monkeypatch: Any) -> None:
    kept: dict[str, Any] = {}
    whole = comparisons

    def noted(work: Any, prompt: str, choices: Any, **how: Any) -> Any:
        kept.update(choices)
        return whole(work, prompt, choices, **how)

    monkeypatch.setattr("deepnb.wings.compare.compare_magic.comparisons", noted)
    compare.ok(f"%%agent --compare {typed} --quiet --as found\nhello")
    assert [getattr(one, "value", one) for one in kept[option]] == values
    assert [c.state for c in compare.ip.user_ns["found"].columns] == ["done"] * len(values)


@every_row(("typed", "line"), rows("typed_lines")["comparisons refused"])
def test_what_is_refused_is_one_line(compare: Shell, typed: str, line: str) -> None:
    turns = compare.session.turns
    assert line in compare.fails(f"%%agent --compare {typed}\nhello") and compare.session.turns == turns


def test_what_can_be_typed_is_what_there_is() -> None:
    assert set(COMPARED) <= set(Options.__dataclass_fields__)
    assert COMPARED["memory_refresh"] == get_args(Refresh) and COMPARED["tool_text"] == get_args(ToolText)
    assert (*COMPARED["approve"], "allow") == get_args(Mode), "which needs a rule beside it"
    assert all(isinstance(getattr(Options(), name), bool) for name, words in COMPARED.items() if words == ("on", "off"))


@every_row(("line", "meant"), [
    ("jobs", Command("jobs", {"what": None, "number": None})),
    ("jobs stop 2", Command("jobs", {"what": "stop", "number": 2})),
    ("jobs join 1", Command("jobs", {"what": "join", "number": 1})),
    ("jobs in Berlin for data scientists", AgentRun("jobs in Berlin for data scientists")),
    ("--bg jobs stop 2", AgentRun("jobs stop 2", more={"bg": True})),
    ("--compare trigger=0.2,0.85 --keep hi", AgentRun("hi", more={"compare": ("trigger=0.2,0.85",), "keep": True})),
    ("--compare=keep=4,5 --compare model=a,b hi", AgentRun("hi", more={"compare": ("keep=4,5", "model=a,b")})),
])  # fmt: skip
def test_a_line_is_a_subcommand_or_a_prompt_with_its_options(line: str, meant: AgentRun | Command) -> None:
    assert parse_agent(line) == meant


@every_row(("line", "says"), [
    ("--compare model=a hi",
     "--compare 'model=a' is not an option with two values or more: type --compare OPTION=A,B without blanks,"
     " e.g. --compare memory_refresh=call,delta"),
    ("--compare", "--compare needs a value: type --compare OPTION=A,B"),
])  # fmt: skip
def test_a_mistake_is_one_line_that_says_what_to_type(line: str, says: str) -> None:
    with pytest.raises(DeepnbError) as error:
        parse_agent(line)
    assert error.value.typed == says


def test_keep_goes_with_compare(shell: Shell) -> None:
    said = "--keep goes with --compare: type --compare OPTION=A,B --keep"
    assert said in shell.fails("%agent --keep hi") and said in shell.fails("%%agent --keep\nhi")
    assert shell.session.last is None
