"""A mistyped subcommand costs no model call; what people ask is sent.

The lines were written by hand by somebody who did not know the rule: `practice` before it was finished (of its first
160, 6 went wrong), `judge` after that (of 160, none).
"""

import json

import pytest

from deepnb.magics.options import AgentRun, Command, parse_agent
from deepnb.values.errors import DeepnbError
from deepnb.values.wings import part
from tests import DATA
from tests.support.refusals import refused
from tests.support.tables import every_row
from tests.support.wings import wing

SETS = json.loads((DATA / "mistyped_lines.json").read_text("utf-8"))


def lines(kind: str) -> list[str]:
    return [line for one in SETS.values() for line in one[kind]]


@every_row("line", lines("typos"))
def test_a_mistyped_line_is_an_error_that_says_what_to_type(line):
    with pytest.raises(DeepnbError) as error:
        parsed = parse_agent(line)
        if isinstance(parsed, Command) and parsed.name == "help":
            part("%agent help WORD")("agent", str(parsed.args["words"]))
    said = error.value.typed
    assert "%agent " in said or "%memory" in said or "%skills" in said
    assert len(said.splitlines()) == 1


@every_row("prompt", lines("prompts"))
def test_a_prompt_that_begins_with_the_word_of_a_subcommand_is_sent(prompt):
    assert parse_agent(prompt) == AgentRun(prompt)


@every_row(("line", "typed"), [
    ("persist my file.db", 'a path with blanks needs quotes: %agent persist "my file.db"'),
    ("export --yes my last report.html", '%agent export --yes "my last report.html"'),
    pytest.param("open old talks/march.jsonl --thread t1", '%agent open --thread t1 "old talks/march.jsonl"',
        marks=wing("open")),
    pytest.param("open ./old\\ talks/march.jsonl", '%agent open "./old talks/march.jsonl"', marks=wing("open")),
    ("record take two.jsonl", '%agent record "take two.jsonl"'),
    ('replay "take two.jsonl', '%agent replay "take two.jsonl"'),
    pytest.param("package ../my app", '%agent package "../my app"', marks=wing("package")),
    pytest.param("package C:\\new app", '%agent package "C:\\new app"', marks=wing("package")),
    ("mount /w ./my dir", "usage: %agent mount"),
])  # fmt: skip
def test_a_path_with_blanks_is_no_prompt(line, typed):
    error = refused("", parse_agent, line)
    assert typed in error.typed and error.typed.endswith(f"%agent -- {line} to send it as a prompt")


@every_row("line", [
    "tools readonly", "tools ad f", "tools romove f", "tool add f", "xray last", "mount google /x", "rewind to 3",
    "rewind3", "dash board", "explan", "fixx", "codee",
])  # fmt: skip
def test_so_does_one_whose_rest_nearly_fits(line):
    refused(r"usage|type", parse_agent, line)
