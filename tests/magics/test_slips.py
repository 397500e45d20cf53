"""A mistyped subcommand costs no model call; what people ask is sent.

The lines were written by hand by somebody who did not know the rule: `practice` before it was finished (of its first
160, 6 went wrong), `judge` after that (of 160, none).
"""

from __future__ import annotations

import json

import pytest

from deepnb.magics.options import AgentRun, Command, parse_agent
from deepnb.values.errors import DeepnbError
from deepnb.values.wings import part
from tests import DATA
from tests.support.tables import every_row

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


@every_row(
    "prompt",
    [
        "record the meeting notes please",
        "export the chart to chart.html",
        "open the file data.json and tell me what is in it",
        "persist in asking me for the name of the.db",
        "replay what we did in talk.jsonl",
        "package holidays are cheaper, aren't they",
        "open source vs. closed source",
        "open data.csv and plot it",
        "mount /data on the server",
        "record profits of 3.5",
    ],
)
def test_talk_of_files_is_a_prompt(prompt):
    assert parse_agent(prompt) == AgentRun(prompt)


@every_row(
    ("line", "says"),
    [
        (
            "panel memroy",
            "invalid arguments in 'panel memroy': usage: %agent panel [memory|budget|history|skills|prompt|threads|approvals], "
            "or %agent -- panel memroy to send it as a prompt",
        ),
        (
            "swich main",
            "no subcommand 'swich': usage: %agent switch NAME, or %agent -- swich main to send it as a prompt",
        ),
        ("theads", "no subcommand 'theads': type %agent threads, or %agent -- theads to send it as a prompt"),
        ("memory log", "no subcommand 'memory': type %memory log, or %agent -- memory log to send it as a prompt"),
        ("skills", "no subcommand 'skills': type %skills, or %agent -- skills to send it as a prompt"),
    ],
)
def test_the_error_names_what_was_meant(line, says):
    with pytest.raises(DeepnbError) as error:
        parse_agent(line)
    assert error.value.typed == says


@every_row("line", ["tools readonly", "xray last", "mount google /x", "rewind to 3"])
def test_so_does_one_whose_rest_nearly_fits(line):
    with pytest.raises(DeepnbError, match=r"usage|type"):
        parse_agent(line)


@every_row(
    "prompt", ["fix the plot", "edit the plot", "help me plot", "use pandas to plot it", "memory leak in pandas"]
)
def test_words_that_people_ask_with_are_prompts_when_no_argument_follows(prompt):
    assert parse_agent(prompt) == AgentRun(prompt)
