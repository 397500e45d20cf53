"""What a line of %agent, %memory or %skills is read as."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.magics.options import AgentRun, Command, fit, parse_agent, parse_memory, parse_skills
from deepnb.magics.slips import one_edit_apart
from deepnb.magics.usage import LEFT_OUT, MAGICS, SUBCOMMANDS, subcommand, subcommands, usage_text
from deepnb.values.errors import DeepnbError
from tests.support.tables import every_row
from tests.support.wings import wing


@every_row(
    "prompt",
    [
        "what is this?",
        "'tis the season",
        'say "hi',
        "use pandas to plot it",
        "use this!",
        "new york is big?",
        "new york?",
        "rewind the tape",
        "resume the work",
        "history of Rome",
        "history lessons for me",
        "compact this table",
        "history, please",
        "xray of the wrist",
        "status report, please",
        "undo that",
        "help me",
        "help please",
        "help with this table",
        "help compaction along",
        "help compaction?",
        "help!",
        "fork it off at 3",
        "thanks",
        "hello",
        "now",
        "work",
        "-5 degrees in C and F?",
        "- first\\n- second",
        "a {b} \\frac{c}{d} $x$ C:\\new\\",
        "theads are great",
        "what does --raw do?",
    ],
)
def test_a_prompt_is_taken_as_typed(prompt):
    assert parse_agent(f"  {prompt} ") == AgentRun(prompt)


def use(**given: Any) -> Command:
    """The command of a `use` line that gives these options and no other."""
    names = ("model", "base_url", "max_tokens", "temperature", "timeout", "messages_key", "header")
    return Command("use", {**dict.fromkeys(names), **given})


@every_row(
    ("line", "command"),
    [
        ("", Command("status")),
        ("status", Command("status")),
        (
            "use",
            use(),
        ),
        (
            "use anthropic:claude-sonnet",
            use(model="anthropic:claude-sonnet"),
        ),
        (
            "use http://localhost:2024/agent",
            use(model="http://localhost:2024/agent"),
        ),
        (
            "use m --base-url http://h/v1",
            use(model="m", base_url="http://h/v1"),
        ),
        (
            "use --base-url=http://h/v1 m",
            use(model="m", base_url="http://h/v1"),
        ),
        ("new", Command("new", {"name": None, "empty": False, "shared": False})),
        ("new york", Command("new", {"name": "york", "empty": False, "shared": False})),
        ("new --empty", Command("new", {"name": None, "empty": True, "shared": False})),
        ("new york --shared --empty", Command("new", {"name": "york", "empty": True, "shared": True})),
        ("threads", Command("threads")),
        ("switch york", Command("switch", {"name": "york"})),
        ("fork b", Command("fork", {"name": "b", "at": None})),
        ("fork b --at 3", Command("fork", {"name": "b", "at": 3})),
        ("fork --at=3 b", Command("fork", {"name": "b", "at": 3})),
        ("rewind 3", Command("rewind", {"turn": 3, "memory": False})),
        ("rewind 0 --memory", Command("rewind", {"turn": 0, "memory": True})),
        ("undo", Command("undo")),
        ("resume", Command("resume", {"choice": None})),
        ("resume skip", Command("resume", {"choice": "skip"})),
        ("turns", Command("turns", {"which": None})),
        ("turns 3", Command("turns", {"which": "3"})),
        ('turns "left out"', Command("turns", {"which": '"left out"'})),
        pytest.param(
            "open a.jsonl", Command("open", {"path": "a.jsonl", "thread": None, "list": False}), marks=wing("open")
        ),
        pytest.param(
            "open ~/.claude/projects",
            Command("open", {"path": "~/.claude/projects", "thread": None, "list": False}),
            marks=wing("open"),
        ),
        pytest.param("open .", Command("open", {"path": ".", "thread": None, "list": False}), marks=wing("open")),
        pytest.param(
            "open 'a b/c.db' --thread x:1",
            Command("open", {"path": "'a b/c.db'", "thread": "x:1", "list": False}),
            marks=wing("open"),
        ),
        pytest.param(
            "open postgresql://u@h/d --list",
            Command("open", {"path": "postgresql://u@h/d", "thread": None, "list": True}),
            marks=wing("open"),
        ),
        ("budget", Command("budget", {"items": False})),
        ("compact", Command("compact")),
        ("history", Command("history", {"search": None, "bring": None})),
        ("history moons", Command("history", {"search": "moons", "bring": None})),
        ('history "most moons" "Jupiter"', Command("history", {"search": '"most moons" "Jupiter"', "bring": None})),
        ("history --bring 1", Command("history", {"search": None, "bring": "1"})),
        ("history --bring 1:2,5-7", Command("history", {"search": None, "bring": "1:2,5-7"})),
        ("history --bring=none", Command("history", {"search": None, "bring": "none"})),
        ("xray", Command("xray", {"at": None})),
        ("xray 3", Command("xray", {"at": "3"})),
        ("xray 3.12", Command("xray", {"at": "3.12"})),
        ("tools", Command("tools", {"what": None})),
        ("tools deny execute", Command("tools", {"what": "deny execute"})),
        ("approve 2 --thread", Command("approve", {"which": "2", "thread": True, "skill": False})),
        ("reject 2 it's wrong", Command("reject", {"what": "2 it's wrong"})),
        ('edit 1 {"a": "it\'s"}', Command("edit", {"what": '1 {"a": "it\'s"}'})),
        ("panel", Command("panel", {"what": None})),
        ("panel threads", Command("panel", {"what": "threads"})),
        ("graph", Command("graph")),
        ("dashboard", Command("dashboard")),
        ("help", Command("help", {"words": None})),
        ("help new", Command("help", {"words": "new"})),
        ("help compaction", Command("help", {"words": "compaction"})),
        ("help memory diff", Command("help", {"words": "memory diff"})),
        ("help %memory diff", Command("help", {"words": "%memory diff"})),
        ('help "key facts"', Command("help", {"words": '"key facts"'})),
        ("help session.fork", Command("help", {"words": "session.fork"})),
        ("help --bg", Command("help", {"words": "--bg"})),
        ("new -h", Command("help", {"words": "new"})),
        ("--help", Command("help", {"words": None})),
    ],
)
def test_a_subcommand_whose_arguments_fit_is_that_subcommand(line, command):
    assert parse_agent(line) == command


@every_row(
    ("line", "run"),
    [
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
        ("turns out to be slow", AgentRun("turns out to be slow")),
        ("--", None),
        ("--raw -- --raw is fun", AgentRun("--raw is fun", raw=True)),
        ("-- -- two", AgentRun("-- two")),
    ],
)
def test_options_stand_before_the_prompt(line, run):
    if run is None:
        with pytest.raises(DeepnbError, match=r"the prompt is empty: type session.run\(PROMPT\)"):
            parse_agent(line)
    else:
        assert parse_agent(line) == run


@every_row(
    ("line", "says"),
    [
        ("theads", "no subcommand 'theads': type %agent threads, or %agent -- theads to send it as a prompt"),
        ("news", "no subcommand 'news': type %agent new, or %agent -- news to send it as a prompt"),
        ("Status", "no subcommand 'Status': type %agent status, or %agent -- Status to send it as a prompt"),
        ("udno", "no subcommand 'udno': type %agent undo, or %agent -- udno to send it as a prompt"),
        ("rewind", "rewind needs N: usage: %agent rewind N [--memory], or %agent -- rewind to send it as a prompt"),
        (
            "history --bring 1:x",
            "--bring '1:x' is not valid: usage: %agent history [SEARCH] [--bring SECTION[:MESSAGES]|none]",
        ),
        ("history --bring", "--bring needs a value: usage: %agent history [SEARCH] [--bring SECTION[:MESSAGES]|none]"),
        ("rewind 3 --memroy", "rewind has no option '--memroy': usage: %agent rewind N [--memory]"),
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
    ],
)
def test_a_mistake_is_one_line_that_says_what_to_type(line, says):
    with pytest.raises(DeepnbError) as error:
        parse_agent(line)
    assert error.value.typed == says
    assert "\n" not in says


def test_a_cell_body_is_the_prompt_as_it_stands():
    assert parse_agent("", "  new\n--raw {x}\n\n") == AgentRun("  new\n--raw {x}\n")
    assert parse_agent("--raw --as a --", "status") == AgentRun("status", raw=True, as_name="a")
    assert parse_agent("", "ends in two?? \r\n") == AgentRun("ends in two?? ")
    assert parse_agent("-h", "x") == Command("help", {"words": None})


@every_row(("line", "body"), [("status", "x"), ("--raw hi", "x"), ("-- hi", "x")])
def test_a_cell_line_holds_options_only(line, body):
    with pytest.raises(DeepnbError, match="put the prompt into the cell body"):
        parse_agent(line, body)


def test_an_empty_cell_is_an_empty_prompt():
    with pytest.raises(DeepnbError, match="the prompt is empty"):
        parse_agent("", " \n\n")


@every_row(
    ("line", "command"),
    [
        ("", Command("picture")),
        ("panel", Command("panel")),
        ("show", Command("show", {"path": None})),
        ("show /memory/my notes.md", Command("show", {"path": "/memory/my notes.md"})),
        ("add 'tis \"so", Command("add", {"text": "'tis \"so", "to": None})),
        ("add it's really?", Command("add", {"text": "it's really?", "to": None})),
        ("add --to /t.md  tea, not coffee", Command("add", {"text": "tea, not coffee", "to": "/t.md"})),
        ("add tea --to /t.md", Command("add", {"text": "tea", "to": "/t.md"})),
        ("add -- --to is an option", Command("add", {"text": "--to is an option", "to": None})),
        ("add --dry-run is safe", Command("add", {"text": "--dry-run is safe", "to": None})),
        ("diff", Command("diff", {"a": None, "b": None})),
        ("diff 2 4", Command("diff", {"a": 2, "b": 4})),
        ("sources", Command("sources", {"what": None, "name": None})),
        ("sources add project", Command("sources", {"what": "add", "name": "project"})),
        ("sources remove my notes/a.md", Command("sources", {"what": "remove", "name": "my notes/a.md"})),
        ("forget the cat --yes", Command("forget", {"text": "the cat", "yes": True})),
        ("help add", Command("help", {"words": "add"})),
        ("add -h", Command("help", {"words": "add"})),
    ],
)
def test_memory_takes_its_subcommands(line, command):
    assert parse_memory(line) == command


@every_row(
    ("parse", "line", "says"),
    [
        (parse_memory, "shwo", "no subcommand 'shwo': type %memory show"),
        (parse_memory, "ad tea", "no subcommand 'ad': type %memory add"),
        (parse_memory, "add", "invalid arguments in 'add': usage: %memory add [--to PATH] TEXT..."),
        (
            parse_memory,
            "add --to /t.md",
            "invalid arguments in 'add --to /t.md': usage: %memory add [--to PATH] TEXT...",
        ),
        (parse_memory, "diff a", "invalid arguments in 'diff a': usage: %memory diff [A [B]]"),
        (
            parse_memory,
            "zzz",
            "no subcommand 'zzz': type %memory with one of panel, show, add, diff, log, revert, why, edit, load, save, "
            "rm, forget, "
            "pending, accept, drop, keep, sources, search, daily, flush, promote, help",
        ),
        (
            parse_memory,
            "/A.md",
            "no subcommand '/A.md': type %memory show /A.md, or %%memory /A.md as the first line of a cell",
        ),
        (parse_skills, "lst", "no subcommand 'lst': type %skills list"),
        (parse_skills, "show", "invalid arguments in 'show': usage: %skills show NAME"),
    ],
)
def test_an_unknown_subcommand_names_the_nearest(parse, line, says):
    with pytest.raises(DeepnbError) as error:
        parse(line)
    assert error.value.typed == says


def test_skills_takes_its_subcommands():
    assert parse_skills("") == Command("picture")
    assert parse_skills("list") == Command("list")
    assert parse_skills("show tidy-data") == Command("show", {"name": "tidy-data"})
    assert parse_skills("new tidy") == Command("new", {"name": "tidy", "description": None})
    assert parse_skills("new tidy it's a \"table") == Command("new", {"name": "tidy", "description": "it's a \"table"})


def test_a_cell_writes_a_memory_file_or_a_skill():
    assert parse_memory("/AGENTS.md", "# Me\n\n") == Command("write", {"path": "/AGENTS.md", "text": "# Me\n"})
    assert parse_memory('"my notes.md"', "x") == Command("write", {"path": "my notes.md", "text": "x"})
    assert parse_skills("tidy", "---\n") == Command("write", {"name": "tidy", "text": "---"})


@every_row(("parse", "line"), [(parse_memory, ""), (parse_memory, "add"), (parse_skills, ""), (parse_skills, "a b")])
def test_a_cell_that_writes_needs_one_name(parse, line):
    with pytest.raises(DeepnbError, match="type "):
        parse(line, "text\n")


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


@every_row(
    ("a", "b", "near"),
    [
        ("theads", "threads", True),
        ("threadss", "threads", True),
        ("thraeds", "threads", True),
        ("threats", "threads", True),
        ("new", "new", True),
        ("thanks", "tools", False),
        ("hello", "help", False),
        ("abcd", "badc", False),
        ("a", "", True),
        ("ab", "", False),
    ],
)
def test_one_edit_apart(a, b, near):
    assert one_edit_apart(a, b) is near
    assert one_edit_apart(b, a) is near


USAGES = {
    "agent": (
        "status; use [MODEL|VARIABLE|URL] [--base-url URL] [--max-tokens N] [--temperature T] [--timeout S] [--messages-key KEY] [--header NAME]; models; key PROVIDER; new [NAME] [--empty] [--shared]; open FILE|DIR|URL [--thread THREAD] [--list]; threads; switch NAME; fork NAME [--at N];"
        " rewind N [--memory]; undo; resume [again|skip|[N] JSON]; approve [N|all] [--thread] [--skill]; reject [[N|all] WHY...];"
        " edit [N] JSON; jobs [stop|join [N]]; turns [N|SEARCH]; budget [--items]; xray [TURN[.CALL]]; compact;"
        " history [SEARCH] [--bring SECTION[:MESSAGES]|none]; transcript [THREAD];"
        " export FILE.ipynb|FILE.html|FILE.jsonl [--thread NAME] [--yes];"
        " record [FILE.jsonl|stop] [--yes]; replay [FILE.jsonl];"
        " explain; fix; code [N];"
        " tools [ask|allow|deny NAME|outside|writes|read-only|add FUNCTION|add mcp:SERVER|remove NAME|off NAME|on NAME];"
        " subagents [--yes] [NAME|add NAME [DESCRIPTION]|add FILE.md|add DIR|remove NAME];"
        " mount [--yes] [PATH [disk:DIR|store[:NAMESPACE]|state]]; persist [FILE|URL]; package [--yes] DIR [PATH...]; graph; panel [memory|budget|history|skills|prompt|threads|approvals]; dashboard; help [WORD]"
    ),
    "memory": (
        "panel; show [PATH]; add [--to PATH] TEXT...; diff [A [B]]; log; revert ID; why TEXT...; edit [PATH];"
        " load [--to PATH] FILE; save [--from PATH] [--yes] FILE|DIR; rm [--yes] PATH;"
        " forget [--yes] TEXT...; pending; accept ID|all; drop ID|all; keep DIR; sources [add|remove [user|project|PATH]]; "
        "search [-k N] [--transcripts] QUERY...; daily [TEXT...]; flush; promote [--yes] [N...]; help [WORD]"
    ),
    "skills": "panel; list; show NAME; new NAME [DESCRIPTION...]; add [--yes] [NAME|DIR|ZIP]; validate [NAME|PATH]; enable NAME;"
    " disable NAME; remove NAME [--yes]; pin [NAME] [--off]; help [WORD]",
}


@every_row(
    ("line", "args"),
    [
        ("load my notes.md", {"file": "my notes.md", "to": None}),
        ("load my notes.md --to /b.md", {"file": "my notes.md", "to": "/b.md"}),
        ("load --to=/b.md my notes.md", {"file": "my notes.md", "to": "/b.md"}),
        ("save out.md --yes --from /b.md", {"file": "out.md", "from": "/b.md", "yes": True}),
        ("save --yes out dir --from /b.md", {"file": "out dir", "from": "/b.md", "yes": True}),
        ("save 'out dir'", {"file": "out dir", "from": None, "yes": False}),
    ],
)
def test_flags_before_and_behind_a_file_name(line, args):
    assert parse_memory(line).args == args


@every_row("magic", MAGICS)
def test_the_usage_is_made_from_the_rows(magic):
    usages = [usage for usage in USAGES[magic].split("; ") if f"%{magic} {usage.split()[0]}" not in LEFT_OUT]
    assert [sub.usage for sub in subcommands(magic)] == usages
    text = usage_text(magic)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    for sub in subcommands(magic):
        assert any(line.startswith(f"  {sub.name} ") for line in lines), sub
        assert usage_text(magic, sub.name) == f"%{magic} {sub.usage}\n    {sub.help}"
    assert len(text.split("examples\n")[1].splitlines()) == 3


def test_the_usage_of_one_subcommand():
    assert usage_text("agent", "rewind").startswith("%agent rewind N [--memory]\n")
    assert usage_text("agent", "nosuch") == usage_text("agent")


def test_the_examples_of_the_help_are_what_they_say():
    for magic, parse in (("agent", parse_agent), ("memory", parse_memory), ("skills", parse_skills)):
        for example in usage_text(magic).split("examples\n")[1].splitlines():
            parse(example.strip().removeprefix(f"%{magic} "))


def test_every_row_can_be_told_from_a_prompt():
    sample = {
        "number": "3",
        "turn": "3",
        "call": "3.1",
        "help": "diff",
        "model": "m",
        "text": "a b",
        "file": "/a.md",
        "which": "2",
        "job": "2",
        "json": "{}",
        "answer": "{}",
        "place": "/a",
        "backend": "disk:d",
        "export": "a.html",
        "recording": "a.jsonl",
        "tape": "a.jsonl",
        "tools": "add f",
        "provider": "openai",
        "database": "a.db",
        "session": "a.jsonl",
        "places": "/MEMORY.md /memory/",
    }
    for sub in SUBCOMMANDS:
        words = " ".join(arg.choices[0] if arg.choices else sample.get(arg.kind, "x") for arg in sub.args)
        args = fit(sub, words)
        assert args is not None and None not in [args[arg.key] for arg in sub.args], sub
        assert subcommand(sub.magic, sub.name) is sub
