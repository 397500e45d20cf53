"""`%agent jobs`, and the options `--bg`, `--compare` and `--keep`: how a line with them is read."""

from __future__ import annotations

import pytest

from deepnb.magics.options import AgentRun, Command, parse_agent
from deepnb.values.errors import DeepnbError
from tests.support.shells import Shell
from tests.support.tables import every_row


@every_row(
    ("line", "meant"),
    [
        ("jobs", Command("jobs", {"what": None, "number": None})),
        ("jobs stop 2", Command("jobs", {"what": "stop", "number": 2})),
        ("jobs join 1", Command("jobs", {"what": "join", "number": 1})),
        ("jobs in Berlin for data scientists", AgentRun("jobs in Berlin for data scientists")),
        ("--bg jobs stop 2", AgentRun("jobs stop 2", more={"bg": True})),
        ("--compare trigger=0.2,0.85 --keep hi", AgentRun("hi", more={"compare": ("trigger=0.2,0.85",), "keep": True})),
        ("--compare=keep=4,5 --compare model=a,b hi", AgentRun("hi", more={"compare": ("keep=4,5", "model=a,b")})),
    ],
)
def test_a_line_is_a_subcommand_or_a_prompt_with_its_options(line: str, meant: AgentRun | Command) -> None:
    assert parse_agent(line) == meant


@every_row(
    ("line", "says"),
    [
        (
            "--compare model=a hi",
            "--compare 'model=a' is not an option with two values or more: type --compare OPTION=A,B",
        ),
        ("--compare", "--compare needs a value: type --compare OPTION=A,B"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_type(line: str, says: str) -> None:
    with pytest.raises(DeepnbError) as error:
        parse_agent(line)
    assert error.value.typed == says


def test_keep_goes_with_compare(shell: Shell) -> None:
    said = "--keep goes with --compare: type --compare OPTION=A,B --keep"
    assert said in shell.fails("%agent --keep hi") and said in shell.fails("%%agent --keep\nhi")
    assert shell.session.last is None
