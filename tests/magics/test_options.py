"""What a line of %agent, %memory or %skills is read as: a mistyped subcommand costs no model call, what people ask is sent."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.magics.options import AgentRun, Command, fit, parse_agent, parse_memory, parse_skills
from deepnb.magics.slips import one_edit_apart
from deepnb.magics.usage import MAGICS, SUBCOMMANDS, subcommand, subcommands, usage_text
from deepnb.values.errors import DeepnbError
from deepnb.values.wings import part
from tests import DATA
from tests.data import rows
from tests.support.tables import every_row, refused, wing

SETS = json.loads((DATA / "mistyped_lines.json").read_text("utf-8"))
"""Written by hand by somebody who did not know the rule: `practice` before it was finished, `judge` after that."""


PARSE: dict[str, Any] = {"agent": parse_agent, "memory": parse_memory, "skills": parse_skills}


def lines(kind: str) -> list[str]:
    return [line for one in SETS.values() for line in one[kind]]


@every_row("prompt", [*rows("typed_lines")["prompts"], *lines("prompts")])
def test_a_prompt_is_taken_as_typed(prompt):
    assert parse_agent(f"  {prompt} ") == AgentRun(prompt)


def use(**given: Any) -> Command:
    names = ("model", "base_url", "max_tokens", "temperature", "timeout", "messages_key", "header")
    return Command("use", {**dict.fromkeys(names), **given})


@every_row(("line", "command"), [
    *((line, Command(*command)) for line, command in rows("typed_lines")["subcommands"]),
    ("use", use()),
    ("use anthropic:claude-sonnet", use(model="anthropic:claude-sonnet")),
    ("use m --base-url http://h/v1", use(model="m", base_url="http://h/v1")),
    ("use --base-url=http://h/v1 m", use(model="m", base_url="http://h/v1")),
    pytest.param(
        "open a.jsonl", Command("open", {"path": "a.jsonl", "thread": None, "list": False}), marks=wing("open")
    ),
    pytest.param("open 'a b/c.db' --thread x:1", Command("open", {"path": "'a b/c.db'", "thread": "x:1",
        "list": False}), marks=wing("open")),
    pytest.param("open postgresql://u@h/d --list", Command("open", {"path": "postgresql://u@h/d", "thread": None,
        "list": True}), marks=wing("open")),
    *(
        (f"tools {what}", Command("tools", {"what": what}))
        for what in (
            "add",
            "add f g",
            "add np.mean",
            "add mcp:python server.py --port 3",
            "add mcp:https://host/mcp",
            "add --name calc --env A,B --timeout 5 mcp:serve 'two words'",
            "remove f calc",
            "deny write_file",
            "read-only",
        )
    ),
])  # fmt: skip
def test_a_subcommand_whose_arguments_fit_is_that_subcommand(line, command):
    assert parse_agent(line) == command


@every_row(("line", "run"), [
    ("--raw what is {x}?", AgentRun("what is {x}?", raw=True)),
    ("--model a:b --thread t hi there", AgentRun("hi there", model="a:b", thread="t")),
    ("--model=a:b hi", AgentRun("hi", model="a:b")),
    ("--as answer --format text hi", AgentRun("hi", as_name="answer", format="text")),
    ("--format schema:City hi", AgentRun("hi", format="schema:City")),
    ("--quiet --max-steps 7 status", AgentRun("status", quiet=True, max_steps=7)),
    ("-- new york", AgentRun("new york")),
    pytest.param("open the file", AgentRun("open the file"), marks=wing("open")),
    ("open a.csv and plot it", AgentRun("open a.csv and plot it")),
    pytest.param("open https://a.example/b", AgentRun("open https://a.example/b"), marks=wing("open")),
    ("turns out to be slow", AgentRun("turns out to be slow")), ("--", None),
    ("--raw -- --raw is fun", AgentRun("--raw is fun", raw=True)), ("-- -- two", AgentRun("-- two")),
])  # fmt: skip
def test_options_stand_before_the_prompt(line, run):
    if run is None:
        refused(r"the prompt is empty: type session.run\(PROMPT\)", parse_agent, line)
    else:
        assert parse_agent(line) == run


@every_row(("magic", "line", "says"), rows("typed_lines")["mistakes"])
def test_a_mistake_is_one_line_that_says_what_to_type(magic, line, says):
    assert refused("", PARSE[magic], line).typed == says and "\n" not in says


@every_row(("parse", "line", "body", "says"), [
    *((parse_agent, line, "x", "put the prompt into the cell body") for line in ("status", "--raw hi", "-- hi")),
    (parse_agent, "", " \n\n", "the prompt is empty"), (parse_memory, "", "text\n", "type "),
    (parse_memory, "add", "text\n", "type "), (parse_skills, "", "text\n", "type "),
    (parse_skills, "a b", "text\n", "type "),
])  # fmt: skip
def test_a_cell_that_is_no_prompt_and_writes_nothing_is_one_line(parse, line, body, says):
    refused(says, parse, line, body)


@every_row(("line", "command"), rows("typed_lines")["of memory"])
def test_memory_takes_its_subcommands(line, command):
    assert parse_memory(line) == Command(*command)


@every_row(("parse", "given", "taken"), [
    (parse_agent, ("", "  new\n--raw {x}\n\n"), AgentRun("  new\n--raw {x}\n")),
    (parse_agent, ("--raw --as a --", "status"), AgentRun("status", raw=True, as_name="a")),
    (parse_agent, ("", "ends in two?? \r\n"), AgentRun("ends in two?? ")),
    (parse_agent, ("-h", "x"), Command("help", {"words": None})), (parse_skills, ("",), Command("picture")),
    (parse_skills, ("list",), Command("list")), (parse_skills, ("show tidy-data",), Command("show", {"name": "tidy-data"})),
    (parse_skills, ("new tidy",), Command("new", {"name": "tidy", "description": None})),
    (parse_skills, ("new tidy it's a \"table",), Command("new", {"name": "tidy", "description": "it's a \"table"})),
    (parse_memory, ("/AGENTS.md", "# Me\n\n"), Command("write", {"path": "/AGENTS.md", "text": "# Me\n"})),
    (parse_memory, ('"my notes.md"', "x"), Command("write", {"path": "my notes.md", "text": "x"})),
    (parse_skills, ("tidy", "---\n"), Command("write", {"name": "tidy", "text": "---"})),
])  # fmt: skip
def test_cells_and_subcommands_of_skills(parse, given, taken):
    assert parse(*given) == taken


@given(st.text())
def test_after_two_dashes_everything_is_the_prompt(prompt):
    prompt = prompt.strip()
    if prompt:
        assert parse_agent(f"-- {prompt}") == AgentRun(prompt)


@given(st.text(min_size=1).filter(lambda body: body.strip() and body[-1] != "\r"))
def test_a_cell_body_comes_through(body):
    assert parse_agent("--raw", body + "\n") == AgentRun(body, raw=True)


@given(st.text())
def test_any_line_is_a_value_or_a_deepnb_error(line):
    for parse in (parse_agent, parse_memory, parse_skills):
        for body in (None, "x"):
            try:
                assert isinstance(parse(line, body), AgentRun | Command)
            except DeepnbError as error:
                assert len(error.typed.splitlines()) == 1


@every_row(("a", "b", "near"), [
    ("theads", "threads", True), ("threadss", "threads", True), ("thraeds", "threads", True),
    ("threats", "threads", True), ("new", "new", True), ("thanks", "tools", False), ("hello", "help", False),
    ("abcd", "badc", False), ("a", "", True), ("ab", "", False),
])  # fmt: skip
def test_one_edit_apart(a, b, near):
    assert one_edit_apart(a, b) is near and one_edit_apart(b, a) is near


@every_row("magic", MAGICS)
def test_the_usage_is_made_from_the_rows(magic):
    text = usage_text(magic)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    for sub in subcommands(magic):
        assert any(line.startswith(f"  {sub.name} ") for line in lines), sub
    assert len(text.split("examples\n")[1].splitlines()) == 3


def test_the_examples_of_the_help_are_what_they_say():
    for magic, parse in PARSE.items():
        for example in usage_text(magic).split("examples\n")[1].splitlines():
            parse(example.strip().removeprefix(f"%{magic} "))


def test_every_row_can_be_told_from_a_prompt():
    sample = {
        "number": "3", "turn": "3", "call": "3.1", "help": "diff", "model": "m", "text": "a b", "file": "/a.md", "which": "2",
        "job": "2", "json": "{}", "answer": "{}", "place": "/a", "backend": "disk:d", "export": "a.html", "database": "a.db",
        "recording": "a.jsonl", "tape": "a.jsonl", "session": "a.jsonl", "tools": "add f", "provider": "openai",
        "places": "/MEMORY.md /memory/",
    }  # fmt: skip
    for sub in SUBCOMMANDS:
        words = " ".join(arg.choices[0] if arg.choices else sample.get(arg.kind, "x") for arg in sub.args)
        args = fit(sub, words)
        assert args is not None and None not in [args[arg.key] for arg in sub.args], sub
        parsed = PARSE[sub.magic](f"{sub.name} {words}")
        assert (parsed.name, parsed.args if sub.name != "help" else args) == (sub.name, args), sub
        assert subcommand(sub.magic, sub.name) is sub


@every_row("line", lines("typos"))
def test_a_mistyped_line_is_an_error_that_says_what_to_type(line):
    with pytest.raises(DeepnbError) as error:
        parsed = parse_agent(line)
        if isinstance(parsed, Command) and parsed.name == "help":
            part("%agent help WORD")("agent", str(parsed.args["words"]))
    said = error.value.typed
    assert "%agent " in said or "%memory" in said or "%skills" in said
    assert len(said.splitlines()) == 1


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
