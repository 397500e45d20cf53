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
from tests.support.refusals import refused
from tests.support.tables import every_row
from tests.support.wings import wing

SETS = json.loads((DATA / "mistyped_lines.json").read_text("utf-8"))
"""Written by hand by somebody who did not know the rule: `practice` before it was finished, `judge` after that."""


def lines(kind: str) -> list[str]:
    return [line for one in SETS.values() for line in one[kind]]


@every_row("prompt", [
    "what is this?", "'tis the season", 'say "hi', "new york is big?", "history of Rome", "history, please",
    "help compaction along", "help compaction?", "-5 degrees in C and F?", "- first\\n- second",
    "a {b} \\frac{c}{d} $x$ C:\\new\\", "theads are great", "what does --raw do?", "subagents remove all of them",
    "tools ask Ana about it", "tools add 3 and 4 for me", "tools remove 2 rows, please", "fix the plot",
    "explain memory", "explain list", "fix 3", "Fix it", "explain main", "code review", "code the plot",
    "explain this error", "fix all", "memory leak in pandas", "record the meeting notes please",
    "export the chart to chart.html", "open the file data.json and tell me what is in it",
    "persist in asking me for the name of the.db", "replay what we did in talk.jsonl",
    "package holidays are cheaper, aren't they", "open source vs. closed source", "open data.csv and plot it",
    "mount /data on the server", "record profits of 3.5", *lines("prompts"),
])  # fmt: skip
def test_a_prompt_is_taken_as_typed(prompt):
    assert parse_agent(f"  {prompt} ") == AgentRun(prompt)


def use(**given: Any) -> Command:
    names = ("model", "base_url", "max_tokens", "temperature", "timeout", "messages_key", "header")
    return Command("use", {**dict.fromkeys(names), **given})


@every_row(("line", "command"), [
    ("", Command("status")), ("use", use()), ("use anthropic:claude-sonnet", use(model="anthropic:claude-sonnet")),
    ("use m --base-url http://h/v1", use(model="m", base_url="http://h/v1")),
    ("use --base-url=http://h/v1 m", use(model="m", base_url="http://h/v1")),
    ("new", Command("new", {"name": None, "empty": False, "shared": False})),
    ("new --empty", Command("new", {"name": None, "empty": True, "shared": False})),
    ("new york --shared --empty", Command("new", {"name": "york", "empty": True, "shared": True})),
    ("fork b --at 3", Command("fork", {"name": "b", "at": 3})),
    ("fork --at=3 b", Command("fork", {"name": "b", "at": 3})),
    ("rewind 0 --memory", Command("rewind", {"turn": 0, "memory": True})),
    ("resume skip", Command("resume", {"choice": "skip"})), ("turns 3", Command("turns", {"which": "3"})),
    ('turns "left out"', Command("turns", {"which": '"left out"'})),
    pytest.param(
        "open a.jsonl", Command("open", {"path": "a.jsonl", "thread": None, "list": False}), marks=wing("open")
    ),
    pytest.param("open 'a b/c.db' --thread x:1", Command("open", {"path": "'a b/c.db'", "thread": "x:1",
        "list": False}), marks=wing("open")),
    pytest.param("open postgresql://u@h/d --list", Command("open", {"path": "postgresql://u@h/d", "thread": None,
        "list": True}), marks=wing("open")),
    ("budget", Command("budget", {"items": False})), ("history", Command("history", {"search": None, "bring": None})),
    ("history moons", Command("history", {"search": "moons", "bring": None})),
    ('history "most moons" "Jupiter"', Command("history", {"search": '"most moons" "Jupiter"', "bring": None})),
    ("history --bring 1:2,5-7", Command("history", {"search": None, "bring": "1:2,5-7"})),
    ("history --bring=none", Command("history", {"search": None, "bring": "none"})),
    ("xray", Command("xray", {"at": None})), ("xray 3.12", Command("xray", {"at": "3.12"})),
    ("approve 2 --thread", Command("approve", {"which": "2", "thread": True, "skill": False})),
    ("reject 2 it's wrong", Command("reject", {"what": "2 it's wrong"})),
    ('edit 1 {"a": "it\'s"}', Command("edit", {"what": '1 {"a": "it\'s"}'})),
    ("panel threads", Command("panel", {"what": "threads"})), ("help", Command("help", {"words": None})),
    ("explain", Command("explain")), (" fix ", Command("fix")), ("code 2", Command("code", {"number": 2})),
    ("subagents", Command("subagents", {"what": None, "yes": False})),
    ("subagents add critic Finds faults, all", Command("subagents", {"what": "add critic Finds faults, all",
     "yes": False})),
    ("subagents add my agents/x.md", Command("subagents", {"what": "add my agents/x.md", "yes": False})),
    ("subagents --yes remove critic", Command("subagents", {"what": "remove critic", "yes": True})),
    ("subagents add DIR --yes", Command("subagents", {"what": "add DIR", "yes": True})),
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
    ("help compaction", Command("help", {"words": "compaction"})),
    ("help memory diff", Command("help", {"words": "memory diff"})),
    ("help %memory diff", Command("help", {"words": "%memory diff"})),
    ('help "key facts"', Command("help", {"words": '"key facts"'})),
    ("help session.fork", Command("help", {"words": "session.fork"})),
    ("help --bg", Command("help", {"words": "--bg"})), ("new -h", Command("help", {"words": "new"})),
    ("--help", Command("help", {"words": None})),
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


MISTAKES = [
    ("news", "no subcommand 'news': type %agent new, or %agent -- news to send it as a prompt"),
    ("Status", "no subcommand 'Status': type %agent status, or %agent -- Status to send it as a prompt"),
    ("udno", "no subcommand 'udno': type %agent undo, or %agent -- udno to send it as a prompt"),
    ("rewind", "rewind needs N: usage: %agent rewind N [--memory], or %agent -- rewind to send it as a prompt"),
    ("history --bring 1:x",
     "--bring '1:x' is not valid: usage: %agent history [SEARCH] [--bring SECTION[:MESSAGES]|none]"),
    ("history --bring", "--bring needs a value: usage: %agent history [SEARCH] [--bring SECTION[:MESSAGES]|none]"),
    ("rewind 3 --memroy", "rewind has no option '--memroy': usage: %agent rewind N [--memory]"),
    (
        "panel memroy",
        "invalid arguments in 'panel memroy': usage: %agent panel [memory|budget|history|skills|prompt|threads|approvals], "
        "or %agent -- panel memroy to send it as a prompt",
    ),
    ("swich main",
     "no subcommand 'swich': usage: %agent switch NAME, or %agent -- swich main to send it as a prompt"),
    ("memory log", "no subcommand 'memory': type %memory log, or %agent -- memory log to send it as a prompt"),
    ("skills", "no subcommand 'skills': type %skills, or %agent -- skills to send it as a prompt"),
    ("--modle x hi", "no option '--modle': type --model, or -- before a prompt"),
    ("--model", "--model needs a value: type --model M"),
    ("--model --raw hi", "--model needs a value: type --model M"),
    ("--raw=yes hi", "--raw takes no value: type --raw"),
    ("--as 1x hi", "--as '1x' is not a valid variable name: type --as NAME, e.g. --as answer"),
    ("--as class hi", "--as 'class' is not a valid variable name: type --as NAME, e.g. --as answer"),
    ("--format foo hi", "unknown format 'foo': type --format markdown|text|json|code|schema:NAME"),
    ("--format schema: hi", "unknown format 'schema:': type --format markdown|text|json|code|schema:NAME"),
    ("--max-steps x hi", "--max-steps 'x' is not a whole number above 0: type --max-steps N, e.g. --max-steps 20"),
    ("--max-steps 0 hi", "--max-steps '0' is not a whole number above 0: type --max-steps N, e.g. --max-steps 20"),
    ("--quiet", "the prompt is empty: type %agent PROMPT, or a prompt below %%agent"),
]  # fmt: skip


@every_row(("parse", "line", "says"), [
    *((parse_agent, *mistake) for mistake in MISTAKES),
    (parse_memory, "shwo", "no subcommand 'shwo': type %memory show"),
    (parse_memory, "ad tea", "no subcommand 'ad': type %memory add"),
    (parse_memory, "add", "invalid arguments in 'add': usage: %memory add [--to PATH] TEXT..."),
    (parse_memory, "add --to /t.md", "invalid arguments in 'add --to /t.md': usage: %memory add [--to PATH] TEXT..."),
    (parse_memory, "diff a", "invalid arguments in 'diff a': usage: %memory diff [A [B]]"),
    (
        parse_memory,
        "zzz",
        "no subcommand 'zzz': type %memory with one of panel, show, add, diff, log, revert, why, edit, load, save, "
        "rm, forget, "
        "pending, accept, drop, keep, sources, search, daily, flush, promote, help",
    ),
    (parse_memory, "/A.md",
     "no subcommand '/A.md': type %memory show /A.md, or %%memory /A.md as the first line of a cell"),
    (parse_skills, "lst", "no subcommand 'lst': type %skills list"),
    (parse_skills, "show", "invalid arguments in 'show': usage: %skills show NAME"),
])  # fmt: skip
def test_a_mistake_is_one_line_that_says_what_to_type(parse, line, says):
    error = refused("", parse, line)
    assert error.typed == says and "\n" not in says


@every_row(("parse", "line", "body", "says"), [
    *((parse_agent, line, "x", "put the prompt into the cell body") for line in ("status", "--raw hi", "-- hi")),
    (parse_agent, "", " \n\n", "the prompt is empty"), (parse_memory, "", "text\n", "type "),
    (parse_memory, "add", "text\n", "type "), (parse_skills, "", "text\n", "type "),
    (parse_skills, "a b", "text\n", "type "),
])  # fmt: skip
def test_a_cell_that_is_no_prompt_and_writes_nothing_is_one_line(parse, line, body, says):
    refused(says, parse, line, body)


@every_row(("line", "command"), [
    ("", Command("picture")), ("panel", Command("panel")), ("show", Command("show", {"path": None})),
    ("show /memory/my notes.md", Command("show", {"path": "/memory/my notes.md"})),
    ("add 'tis \"so", Command("add", {"text": "'tis \"so", "to": None})),
    ("add it's really?", Command("add", {"text": "it's really?", "to": None})),
    ("add --to /t.md  tea, not coffee", Command("add", {"text": "tea, not coffee", "to": "/t.md"})),
    ("add tea --to /t.md", Command("add", {"text": "tea", "to": "/t.md"})),
    ("add -- --to is an option", Command("add", {"text": "--to is an option", "to": None})),
    ("add --dry-run is safe", Command("add", {"text": "--dry-run is safe", "to": None})),
    ("diff", Command("diff", {"a": None, "b": None})), ("diff 2 4", Command("diff", {"a": 2, "b": 4})),
    ("sources", Command("sources", {"what": None, "name": None})),
    ("sources add project", Command("sources", {"what": "add", "name": "project"})),
    ("sources remove my notes/a.md", Command("sources", {"what": "remove", "name": "my notes/a.md"})),
    ("forget the cat --yes", Command("forget", {"text": "the cat", "yes": True})),
    ("load my notes.md", Command("load", {"file": "my notes.md", "to": None})),
    ("load my notes.md --to /b.md", Command("load", {"file": "my notes.md", "to": "/b.md"})),
    ("load --to=/b.md my notes.md", Command("load", {"file": "my notes.md", "to": "/b.md"})),
    ("save out.md --yes --from /b.md", Command("save", {"file": "out.md", "from": "/b.md", "yes": True})),
    ("save --yes out dir --from /b.md", Command("save", {"file": "out dir", "from": "/b.md", "yes": True})),
    ("save 'out dir'", Command("save", {"file": "out dir", "from": None, "yes": False})),
    ("help add", Command("help", {"words": "add"})), ("add -h", Command("help", {"words": "add"})),
])  # fmt: skip
def test_memory_takes_its_subcommands(line, command):
    assert parse_memory(line) == command


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


PARSE: dict[str, Any] = {"agent": parse_agent, "memory": parse_memory, "skills": parse_skills}


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
