"""What can be typed after %agent, %memory and %skills: one row a subcommand, and the help made from the rows.

A row says what the words after a subcommand must look like; options.py asks whether a line fits, complete.py what comes
next, `usage_text` what to show. A new subcommand is a new row in the table of its magic. The rows of wings are in
`deepnb/values/wings.py`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import shorten

from deepnb.values.wings import WINGS

# What a word must look like, by kind; `text`, `file` and `source` take the rest of the line, spaces and all.
# A word to search is one alone, or stands in quotes: `%agent history of Rome` is a prompt.
# A name or a model does not end like a sentence does: `%agent new york?` and `%agent use this!` are prompts.
_FILE = r"""[^\s"']\S*\.\w+|"[^"]+\.\w+"|'[^']+\.\w+'"""  # a.jsonl | "my a.jsonl" | 'my a.jsonl'
KINDS: dict[str, str] = {
    **dict.fromkeys(("number", "turn"), r"[0-9]{1,9}"),  # 12
    "job": r"[0-9]{1,4}",  # 3
    **dict.fromkeys(("decimal", "call"), r"[0-9]{1,6}(?:\.[0-9]{1,6})?"),  # 0.5, 3.1
    **dict.fromkeys(("name", "thread"), r"\w(?:[\w.\-]*\w)?"),  # idea-2
    **dict.fromkeys(("skill", "path", "word", "change", "pending"), r"\S+"),  # tidy-data
    # ask write_file | add price | add --name calc mcp:python calc.py
    "tools": r"(?:ask|allow|deny|outside|writes|read-only)(?:\s+\w[\w.\-]*)?|(?:add|remove|off|on)(?:\s+[^\W\d][\w.\-]*)*"
    r"|add\s+(?:\S+\s+)*mcp:.*",
    "which": r"all|[0-9]{1,3}",
    # again | skip | 2 {"answer": "yes"} | true | -1.5
    "answer": r"again|skip|(?:[0-9]{1,3}\s+)?(?:[\[{\"](?s:.*)|true|false|null|-?[0-9]+(?:\.[0-9]+)?)",
    "model": r"\w(?:\S*[^\s?!.,;:])?",  # openai:gpt-5.2
    "provider": r"[a-z][a-z_]+",  # mistral
    "header": r"[A-Za-z][A-Za-z0-9-]*",  # X-Api-Key
    "url": r"\w+://\S+",  # http://localhost:8000
    "place": r"/\S*",  # /data
    "backend": r"""["']?disk:.+|store(?::\S+)?|state""",  # disk:my notes | "disk:my notes" | store:team | state
    **dict.fromkeys(("export", "tape"), _FILE),
    "recording": f"stop|{_FILE}",
    "database": r"""\w+://\S+|[^\s"']\S*\.\w+|"[^"]+"|'[^']+'""",  # postgres://host/db | s.db | "my s" | 'my s'
    # postgresql://host/db | ~ | .. | logs/ | a.jsonl | "my logs" | 'my logs'
    "session": r"""postgres(?:ql)?://\S+|~|\.\.?|[^\s"':]*[/\\][^\s"']*[^\s"'?!,;:]?|[^\s"']+\.\w+|"[^"]+"|'[^']+'""",
    "folder": r"""[^\s"']*[^\s"'?!.,;:]|"[^"]+"|'[^']+'""",  # app | "my app" | 'my app'
    "places": r"(?:/\S*|\S+/|\S+\.md)(?:\s+(?:/\S*|\S+/|\S+\.md))*",  # /memory/ notes/ MEMORY.md
    # %memory add | "two words", but not `help me`
    "help": r'(?:%?(?:agent|memory|skills)\s+)?(?!(?:me|us|it|this|that|please|now|needed|wanted)$)(?:%{0,2}[\w/.-]*\w)|"[^"]+"',
    "search": r'(?:"[^"]+"\s*)+|[^\s"]*[^\s?!.,;:"]',  # "two words" "and more" | zebras
    "subagents": r"[\w-]+|add\s+\S.*|remove\s+[\w-]+",  # critic | add critic finds slips | remove critic
    "messages": r"none|[0-9]{1,9}(?::[0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*)?",  # none | 1:2,5-7
}
TAKES_THE_REST = ("answer", "help", "text", "json", "file", "source", "subagents", "tools", "backend", "places")
QUOTED = ("session", "export", "recording", "tape", "database", "folder")
"""Kinds of names of files, which stand in quotes where they have spaces."""
TOOL_WORDS = ("ask", "allow", "deny", "outside", "writes", "read-only", "add", "remove", "off", "on")


@dataclass(frozen=True)
class Arg:
    """One word of a subcommand (or the rest of its line): its key in `Command.args`, and what it may be."""

    key: str
    label: str
    kind: str
    needed: bool = True
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Flag:
    """One `--option`; with an empty label it is either there or not, else it takes a value of that kind."""

    name: str
    label: str = ""
    kind: str = ""
    help: str = ""
    choices: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The name in `Command.args`: `--base-url` is `base_url`."""
        return self.name.lstrip("-").replace("-", "_")

    def __str__(self) -> str:
        return f"{self.name} {self.label}".strip()


@dataclass(frozen=True)
class Sub:
    """One subcommand of one magic."""

    magic: str
    name: str
    help: str
    args: tuple[Arg, ...] = ()
    flags: tuple[Flag, ...] = ()

    @property
    def usage(self) -> str:
        """What is typed after the magic, e.g. `fork NAME [--at N]`; consecutive optional words nest: `[A [B]]`."""
        words = [_label(arg) for arg in self.args if arg.needed]
        optional = [_label(arg) for arg in self.args if not arg.needed]
        if optional:
            words.append("[" + " [".join(optional) + "]" * len(optional))
        flags = [f"[{flag}]" for flag in self.flags]
        as_typed = any(arg.kind in TAKES_THE_REST for arg in self.args)
        return " ".join([self.name, *(flags + words if as_typed else words + flags)])


def _label(arg: Arg) -> str:
    return "|".join(filter(None, (*arg.choices, arg.label))) + ("..." if arg.kind == "text" else "")


def _split(text: str) -> list[str]:
    return list(filter(None, re.split(r"\n+(?=\S)", text.strip())))


def _read(row: str) -> tuple[str, list[Arg], list[Flag]]:
    """Return the help of a row, and its words; words that go on in the next line stand deeper than the help, choices after a `|`."""
    head, *rest = re.sub(r"(\|?)\n {5,}", lambda found: found[1] or "  ", row).split("\n")
    text = " ".join(map(str.strip, rest))
    args, flags = list[Arg](), list[Flag]()
    for word in re.split(r" {2,}", head):
        left, _, label = word.partition(" ")
        key, _, kind = left.removeprefix("?").partition(":")
        kind, _, listed = kind.rstrip("}").partition("{")
        choices = tuple(filter(None, listed.split("|")))
        if key.startswith("-"):
            flags.append(Flag(key, label, kind, text if word == head else "", choices))
        else:
            args.append(Arg(key, label, kind, not left.startswith("?"), choices))
    return text, args, flags


MAGICS = ("agent", "memory", "skills")

SCHEMA = "schema:"
"""Begins the format of an answer that is an object."""

# The subcommands, in the order in which the help shows them. A row names a subcommand and its words (two blanks before
# each): `name:kind LABEL`, with `?` in front where it may be left out, and with the words to choose from in braces;
# `--flag`, or `--flag:kind LABEL` where it takes a value. Below it, indented, is what the help says. A name in
# parentheses is where the row of a wing stands, if the wing is here.
_AGENT = """
status
    show model, thread, turns and budget on one screen (the same as %agent alone)
use  ?model:model MODEL|VARIABLE|URL  --base-url:url URL  --max-tokens:number N  --temperature:decimal T
        --timeout:decimal S  --messages-key:name KEY  --header:header NAME
    change the model; alone, show the current one, and with --base-url alone the models of that server;
    --max-tokens, --temperature and --timeout (seconds) are those of its answers; a variable that holds a compiled
    LangGraph graph, or the address http://host:port/assistant of one on a LangGraph server, runs that in a new
    thread; --messages-key: the channel of its conversation, if it is not messages; --header: the header the server
    wants, whose value is asked for
models
    list the models that can be used here, with window, images and cache, and what is missing for the others
key  provider:provider PROVIDER
    ask for a provider's key with a hidden prompt; it is kept in this process only
new  ?name:name NAME  --empty  --shared
    start a new thread; --empty: without the session's memory, notes and skills, and what it learns stays in it;
    --shared: for a thread that others can read, without MEMORY.md
(open)
threads
    list the threads of this session, and those that were opened
switch  name:thread NAME
    switch to another thread, of this session or opened
fork  name:name NAME  --at:turn N
    start a new thread from the current state of this one, or from its state after turn N; from an opened thread,
    continue its conversation
rewind  turn:turn N  --memory
    go back to the state after turn N; --memory also restores memory
undo
    undo the last rewind, fork, new or re-run
resume  ?choice:answer{again|skip} [N] JSON
    continue after an interrupt; run an interrupted tool call again, or skip it; answer a question of your own graph
    with JSON, after its number N where it asks several
approve  ?which:which N|all  --thread  --skill
    approve a tool call: number N on the card, or all; --thread: also allow later calls of its tool in this thread;
    --skill: also allow the tools that the skills in use ask for
reject  ?what:text [N|all] WHY
    reject a tool call and tell the agent why; with several calls, give the number N or all first
edit  what:json [N] JSON
    approve a tool call with edits: the new arguments as JSON; with several calls, give the number N first
(jobs)
turns  ?which:search N|SEARCH
    list the turns of this thread; N shows one, SEARCH lists what was said with a word or a "phrase" in it
budget  --items
    show the tokens in the context by part, and what is left until the trigger; --items lists each tool, memory
    file, skill and large message, and what takes it out; assigned to a variable, it is a table of all calls
xray  ?at:call TURN[.CALL]
    show the request of a model call by part, and what changed since the call before
compact
    summarize and offload everything but the last turn now, and show the result
history  ?search:search SEARCH  --bring:messages SECTION[:MESSAGES]|none
    show the offloaded messages, or search them for words or a "phrase"; --bring 1:2,5-7 adds messages 2 and 5 to 7
    of section 1 to the next prompt, --bring 1 adds the whole section, --bring none removes them
transcript  ?thread:thread THREAD
    show everything that happened in a thread, as a DataFrame: time, turn, what and text
export  file:export FILE.ipynb|FILE.html|FILE.jsonl  --thread:thread NAME  --yes
    write a thread to a file: a notebook, a page for a browser, or the transcript; --yes overwrites a file
record  ?file:recording FILE.jsonl|stop  --yes
    record every model call to a tape from now on, without credentials; stop ends it; --yes overwrites a file;
    alone, show what is being recorded
replay  ?file:tape FILE.jsonl
    play a tape in the place of all models, with no key and the same every time, until %agent use names a model;
    alone, show which tape is played
explain
    explain the last error from your code and its variables; {err} in a prompt is filled in with the same text
fix
    put a corrected copy of the cell that failed into the next cell, shown as a diff; nothing is run
code  ?number:number N
    put a block of code of the last answer into the next cell: the last one, or number N; the code of tool calls
    counts on after the blocks; nothing is run
tools
        ?what:tools ask|allow|deny NAME|outside|writes|read-only|add FUNCTION|add mcp:SERVER|remove NAME|off NAME|on NAME
    list the tools and which calls need your approval; ask, allow or deny sets the rule of one tool; outside asks
    for calls that can't be undone, writes for calls that change anything, read-only denies all changes; add gives
    the agent functions of yours, or the tools of an MCP server: add [--name NAME] [--env VARIABLE,...] [--timeout
    SECONDS] mcp:COMMAND or mcp:URL; remove takes a tool or a server away; off leaves tools of any kind out of all
    requests, and on brings them back
subagents  ?what:subagents NAME|add NAME [DESCRIPTION]|add FILE.md|add DIR|remove NAME  --yes
    list the subagents, or show one with its prompt; add creates one from a template, or copies a file or a
    directory of files (--yes replaces one of the same name); remove deletes a subagent's file
mount  ?path:place PATH  ?spec:backend disk:DIR|store[:NAMESPACE]|state  --yes
    keep the files below a path on disk, in the store, or in the kernel again; alone, list the mounts
persist  ?where:database FILE|URL
    keep this session, through restarts, in a file or a PostgreSQL database; alone, show where it is kept
(package)
graph
    show the middleware in order: what each layer does, where it comes from, the tokens it adds; of a graph of your
    own, also its nodes and edges, and what the last turns changed in its channels
panel  ?what:choice{memory|budget|history|skills|prompt|threads|approvals}
    show a live panel: budget and history, or the one you name
dashboard
    show all live panels as tabs below one choice of a turn; to dock it, right-click it: Create New View for Cell Output
"""
_MEMORY = """
panel
    show a live panel of memory by turn
show  ?path:file PATH
    show the text of a memory file, or of all
add  text:text TEXT  --to:path PATH
    append a line to memory, as typed
diff  ?a:turn A  ?b:turn B
    show what changed in memory: in the last turn, since turn A, or from turn A to turn B
log
    list every change to memory, notes and skills, as a DataFrame
revert  id:change ID
    revert one change and keep the later ones
why  text:text TEXT
    show which file, line and change a text in memory comes from
edit  ?path:file PATH
    edit a memory file in a text area; in a terminal, get the cell that writes it
load  file:file FILE  --to:path PATH
    load a Markdown file from disk into memory (into the first source, or --to PATH)
save  file:file FILE|DIR  --from:path PATH  --yes
    save memory to disk: one file (the first source, or --from PATH) if the name ends in .md, else all files to a
    directory; --yes overwrites files that were changed there
rm  path:file PATH  --yes
    remove a memory file (%memory revert restores it); --yes also one on your disk
forget  text:text TEXT  --yes
    find a text in everything deepnb recorded; --yes removes it there
pending
    list the memory changes that need your approval
accept  id:pending ID|all
    approve a pending change, or all, and apply it; keep both texts of a conflict
drop  id:pending ID|all
    discard a pending change, or all
keep  path:file DIR
    keep memory, notes, skills and the journal in a directory on disk from now on
sources  ?what:choice{add|remove}  ?name:source user|project|PATH
    list the files memory is read from, in order; add and remove add files from disk and remove them again (the
    files on disk stay as they are)
search  query:text QUERY  -k:number N  --transcripts
    search all daily notes and MEMORY.md; -k N shows the best N passages, --transcripts also searches the
    conversations
daily  ?text:text TEXT
    show today's note; with TEXT, add a line to it under the current time
flush
    add what is worth keeping from this thread to today's note; the context stays as it is
promote  ?numbers:text N  --yes
    propose entries of daily notes for MEMORY.md; --yes writes those shown, or only entries N...
"""
_SKILLS = """
panel
    show a live panel of the skills: what each costs, which were read, enable and disable
list
    list the skills, as a DataFrame
show  name:skill NAME
    show the text of a skill
new  name:word NAME  ?description:text DESCRIPTION
    create a skill from a template
add  ?what:file NAME|DIR|ZIP  --yes
    add skills with all their files: one that comes with deepnb, a directory or a zip; --yes replaces one of the
    same name; alone, list those that come with deepnb
validate  ?path:file NAME|PATH
    list what to fix: in all skills, in one, or in a directory or zip on disk
enable  name:skill NAME
    show a disabled skill to the agent again
disable  name:skill NAME
    keep a skill but hide it from the agent
remove  name:skill NAME  --yes
    delete a skill's directory; --yes also one on your disk
pin  ?name:skill NAME  --off
    add a skill's text to the next prompt, once; --off cancels that; alone, list the pinned skills
"""
# The options of a prompt: `%agent [options] PROMPT` and `%%agent [options]`.
_OPTIONS = """
--model:model M
    use this model for this prompt only
--thread:thread T
    run in this thread
--raw
    do not fill in {name}
--as:identifier NAME
    assign the answer to this variable
--format:choice{markdown|text|json|code} markdown|text|json|code|schema:NAME
    how to show the answer; code puts it into the next cell, schema:NAME makes it an object of the class, or of the
    JSON schema, in the variable NAME
--quiet
    show nothing while it runs
--max-steps:number N
    end the turn after N steps
(--bg)
(--compare)
(--keep)
"""
_HELP = """
help  ?words:help WORD
    show this text, or what the reference says of a word, or of several in quotes: a subcommand, a setting, an
    option, a Python name, a file, an error, a topic
"""


_PLACE = re.compile(r"^\((.+)\)$", re.MULTILINE)  # (jobs)
_OF_WINGS = {re.split(r"[\s:]", row)[0]: row for wing in WINGS.values() for row in _split(wing.usage)}


def _rows(text: str) -> Iterator[tuple[str, list[Arg], list[Flag]]]:
    return map(_read, _split(_PLACE.sub(lambda found: _OF_WINGS.get(found[1], ""), text)))


OPTIONS = tuple(flags[0] for *_, flags in _rows(_OPTIONS))
SUBCOMMANDS = tuple(
    Sub(magic, name.key, help_, tuple(args), tuple(flags))
    for magic, text in zip(MAGICS, (_AGENT, _MEMORY, _SKILLS), strict=True)
    for help_, (name, *args), flags in _rows(text + _HELP)
)
LEFT_OUT = {f"%agent {name}" for name in _PLACE.findall(_AGENT + _OPTIONS) if name not in _OF_WINGS}
"""What is typed for wings that are not here."""

# What a magic is for; its forms beside the subcommands; three examples.
ABOUT: dict[str, tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]] = {
    "agent": (
        "%agent runs prompts with the agent in this kernel, and shows its state.",
        (
            ("%agent [options] PROMPT", "run a prompt, taken as typed: no quotes needed"),
            ("%%agent [options]", "run the cell body as the prompt, with {name} filled in"),
            ("%agent -- PROMPT", "run a prompt whose first word is a subcommand"),
            ("%agent SUBCOMMAND", "run one of the subcommands below; without one: status"),
        ),
        (
            "%agent which planet has the most moons?",
            "%agent --as answer --format text what is in planets?",
            "%agent rewind 3",
        ),
    ),
    "memory": (
        "%memory shows and edits what the agent remembers.",
        (
            ("%memory", "show the current memory"),
            ("%memory SUBCOMMAND", "run one of the subcommands below"),
            ("%%memory PATH", "write the cell body to a memory file"),
        ),
        ("%memory add I prefer metric units", "%memory add --to /memory/team.md Ana owns the data", "%memory diff 2 4"),
    ),
    "skills": (
        "%skills shows and edits the agent's skills.",
        (
            ("%skills", "show the skills"),
            ("%skills SUBCOMMAND", "run one of the subcommands below"),
            ("%%skills NAME", "write the cell body to a skill's SKILL.md"),
        ),
        ("%skills add explore-dataframe", "%skills new tidy-data How to tidy a table", "%skills show tidy-data"),
    ),
}


def subcommands(magic: str) -> tuple[Sub, ...]:
    """Return the rows of one magic, in the order in which its help shows them."""
    return tuple(sub for sub in SUBCOMMANDS if sub.magic == magic)


def subcommand(magic: str, name: str) -> Sub | None:
    return next((sub for sub in SUBCOMMANDS if (sub.magic, sub.name) == (magic, name)), None)


PANELS = next(sub for sub in SUBCOMMANDS if sub.name == "panel").args[0].choices


def usage_text(magic: str) -> str:
    """Return the help of a magic."""
    about, forms, examples = ABOUT[magic]
    groups: dict[str, list[tuple[str, str]]] = {about: [*forms]}
    if magic == "agent":
        groups["options (before the prompt)"] = [(str(one).partition(" markdown|")[0], one.help) for one in OPTIONS]
    group = "subcommands"
    for sub in subcommands(magic):
        group = _GROUPS.get((magic, sub.name), group)
        groups.setdefault(group, []).append((sub.name, sub.help))
    parts = []
    for title, rows in groups.items():  # each row in one line, the words beside a name to their first stop
        width = max(len(left) for left, _ in rows)
        said = [shorten(re.split(r"[;:] | \(", right)[0], _WIDE - width - 4, placeholder=" …") for _, right in rows]
        lines = [f"  {left:<{width}}  {words}" for (left, _), words in zip(rows, said, strict=True)]
        parts.append("\n".join([title, *lines]))
    parts.append(f"%{magic} NAME -h says all of one, such as %{magic} {subcommands(magic)[1].name} -h")
    return "\n\n".join([*parts, "\n".join(["examples", *(f"  {example}" for example in examples)])])


_GROUPS = {
    ("agent", "status"): "the agent and its model",
    ("agent", "new"): "threads",
    ("agent", "resume"): "turns and calls",
    ("agent", "budget"): "context",
    ("agent", "transcript"): "records",
    ("agent", "explain"): "errors and code",
    ("agent", "tools"): "what the agent is made of",
    ("agent", "panel"): "panels and help",
    ("memory", "panel"): "memory and its changes",
    ("memory", "edit"): "files",
    ("memory", "pending"): "what needs your approval",
    ("memory", "keep"): "where it is kept",
    ("memory", "search"): "notes",
}
"""The subcommand that a group of the help begins with -> what the group is called."""
_WIDE = 100
