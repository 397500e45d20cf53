"""What the words of a subcommand are made of: arguments, options, and what each kind of word must look like.

What can be typed after %agent, %memory and %skills: one row a subcommand, and the help made from the rows.

A row says what the words after a subcommand must look like (grammar.py); options.py asks whether a line fits,
complete.py what comes next, `usage_text` what to show. A new subcommand is a new row in `SUBCOMMANDS`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

# What a word must look like, by kind; `text`, `file` and `source` take the rest of the line, spaces and all.
# A word to search is one alone, or stands in quotes: `%agent history of Rome` is a prompt.
# A name or a model does not end like a sentence does: `%agent new york?` and `%agent use this!` are prompts.
KINDS: dict[str, str] = {
    "number": r"[0-9]{1,9}",
    "decimal": r"[0-9]{1,6}(?:\.[0-9]{1,6})?",
    "turn": r"[0-9]{1,9}",
    "job": r"[0-9]{1,4}",
    "call": r"[0-9]{1,6}(?:\.[0-9]{1,6})?",
    "name": r"\w(?:[\w.\-]*\w)?",
    "thread": r"\w(?:[\w.\-]*\w)?",
    "skill": r"\S+",
    "tools": r"(?:ask|allow|deny|outside|writes|read-only)(?:\s+\w[\w.\-]*)?|(?:add|remove|off|on)(?:\s+[^\W\d][\w.\-]*)*"
    r"|add\s+(?:\S+\s+)*mcp:.*",
    "which": r"all|[0-9]{1,3}",
    "answer": r"again|skip|(?:[0-9]{1,3}\s+)?(?:[\[{\"](?s:.*)|true|false|null|-?[0-9]+(?:\.[0-9]+)?)",
    "model": r"\w(?:\S*[^\s?!.,;:])?",
    "provider": r"[a-z][a-z_]+",
    "header": r"[A-Za-z][A-Za-z0-9-]*",
    "url": r"\w+://\S+",
    "path": r"\S+",
    "place": r"/\S*",
    "backend": r"disk:.+|store(?::\S+)?|state",
    "word": r"\S+",
    "change": r"\S+",
    "pending": r"\S+",
    "export": r"""[^\s"']\S*\.\w+|"[^"]+\.\w+"|'[^']+\.\w+'""",
    "recording": r"""stop|[^\s"']\S*\.\w+|"[^"]+\.\w+"|'[^']+\.\w+'""",
    "tape": r"""[^\s"']\S*\.\w+|"[^"]+\.\w+"|'[^']+\.\w+'""",
    "database": r"""\w+://\S+|[^\s"']\S*\.\w+|"[^"]+"|'[^']+'""",
    "session": r"""postgres(?:ql)?://\S+|~|\.\.?|[^\s"':]*[/\\][^\s"']*[^\s"'?!,;:]?|[^\s"']+\.\w+|"[^"]+"|'[^']+'""",
    "folder": r"""[^\s"']*[^\s"'?!.,;:]|"[^"]+"|'[^']+'""",
    "places": r"(?:/\S*|\S+/|\S+\.md)(?:\s+(?:/\S*|\S+/|\S+\.md))*",
    "help": r'(?:%?(?:agent|memory|skills)\s+)?(?!(?:me|us|it|this|that|please|now|needed|wanted)$)(?:%{0,2}[\w/.-]*\w)|"[^"]+"',
    "search": r'(?:"[^"]+"\s*)+|[^\s"]*[^\s?!.,;:"]',
    "subagents": r"[\w-]+|add\s+\S.*|remove\s+[\w-]+",
    "messages": r"none|[0-9]{1,9}(?::[0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*)?",
}
TAKES_THE_REST = ("answer", "help", "text", "json", "file", "source", "subagents", "tools", "backend", "places")
QUOTED = ("session", "export", "recording", "tape", "database", "folder")
"""Kinds of names of files, which stand in quotes where they have spaces."""
COMPARED: dict[str, tuple[str, ...]] = {
    "model": (),
    "memory_refresh": ("thread", "call", "delta"),
    "trigger": (),
    "keep": (),
    "system_prompt": (),
    "skills": (),
    "memory": (),
    "approve": ("outside", "writes", "read-only"),
    "tool_text": ("lean", "short", "full"),
    **dict.fromkeys(("max_input_tokens", "memory_budget", "eviction_threshold", "max_steps", "max_tokens"), ()),
    **dict.fromkeys(("enable_memory", "enable_skills", "enable_filesystem", "enable_subagents"), ("on", "off")),
    "general_purpose": ("on", "off"),
}
"""What `--compare` takes: option -> the words that are its values; empty where these are not words of ours."""
TOOL_WORDS = ("ask", "allow", "deny", "outside", "writes", "read-only", "add", "remove", "off", "on")
"""What `%agent tools` can be followed by."""


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


MAGICS = ("agent", "memory", "skills")

PANELS = ("memory", "budget", "history", "skills", "prompt", "threads", "approvals")


_HELP = (
    "show this text, or what the reference says of a word, or of several in quotes: a subcommand, a setting, an option, a"
    " Python name, a file, an error, a topic"
)
_WORDS = (Arg("words", "WORD", "help", needed=False),)

FORMATS = ("markdown", "text", "json", "code")

# The options of a prompt: `%agent [options] PROMPT` and `%%agent [options]`.
OPTIONS: tuple[Flag, ...] = (
    Flag("--model", "M", "model", "use this model for this prompt only"),
    Flag("--thread", "T", "thread", "run in this thread"),
    Flag("--raw", help="do not fill in {name}"),
    Flag("--as", "NAME", "identifier", "assign the answer to this variable"),
    Flag("--format", "|".join(FORMATS), "choice", "how to show the answer; code puts it into the next cell", FORMATS),
    Flag("--quiet", help="show nothing while it runs"),
    Flag("--max-steps", "N", "number", "end the turn after N steps"),
    Flag("--bg", help="run in the background, in a fork of the thread, while other cells run"),
    Flag(
        "--compare",
        "OPTION=A,B",
        "comparison",
        "run the prompt once for each value, in forks of the thread, and show the answers side by side; repeatable",
    ),
    Flag("--keep", help="with --compare: keep the forks as threads"),
)

SUBCOMMANDS: tuple[Sub, ...] = (
    Sub("agent", "status", "show model, thread, turns and budget on one screen (the same as %agent alone)"),
    Sub(
        "agent",
        "use",
        "change the model; alone, show the current one, and with --base-url alone the models of that server; --max-tokens,"
        " --temperature and --timeout (seconds) are those of its answers; a variable that holds a compiled LangGraph graph, or the address"
        " http://host:port/assistant of one on a LangGraph server, runs that in a new thread; --messages-key: the channel"
        " of its conversation, if it is not messages; --header: the header the server wants, whose value is asked for",
        (Arg("model", "MODEL|VARIABLE|URL", "model", needed=False),),
        (
            Flag("--base-url", "URL", "url"),
            Flag("--max-tokens", "N", "number"),
            Flag("--temperature", "T", "decimal"),
            Flag("--timeout", "S", "decimal"),
            Flag("--messages-key", "KEY", "name"),
            Flag("--header", "NAME", "header"),
        ),
    ),
    Sub(
        "agent",
        "models",
        "list the models that can be used here, with window, images and cache, and what is missing for the others",
    ),
    Sub(
        "agent",
        "key",
        "ask for a provider's key with a hidden prompt; it is kept in this process only",
        (Arg("provider", "PROVIDER", "provider"),),
    ),
    Sub(
        "agent",
        "new",
        "start a new thread; --empty: without the session's memory, notes and skills, and what it learns stays in it;"
        " --shared: for a thread that others can read, without MEMORY.md",
        (Arg("name", "NAME", "name", needed=False),),
        (Flag("--empty"), Flag("--shared")),
    ),
    Sub(
        "agent",
        "open",
        "show a session of Claude Code, Codex, pi, OpenClaw, LangGraph or deepnb, read-only, with all views: of a file or a"
        " PostgreSQL database, the newest or the one you name; of a directory, list the sessions below it; --list: list those"
        " in a file or database",
        (Arg("path", "FILE|DIR|URL", "session"),),
        (Flag("--thread", "THREAD", "word"), Flag("--list")),
    ),
    Sub("agent", "threads", "list the threads of this session, and those that were opened"),
    Sub("agent", "switch", "switch to another thread, of this session or opened", (Arg("name", "NAME", "thread"),)),
    Sub(
        "agent",
        "fork",
        "start a new thread from the current state of this one, or from its state after turn N; from an opened thread,"
        " continue its conversation",
        (Arg("name", "NAME", "name"),),
        (Flag("--at", "N", "turn"),),
    ),
    Sub(
        "agent",
        "rewind",
        "go back to the state after turn N; --memory also restores memory",
        (Arg("turn", "N", "turn"),),
        (Flag("--memory"),),
    ),
    Sub("agent", "undo", "undo the last rewind, fork, new or re-run, or what code did to your variables"),
    Sub(
        "agent",
        "resume",
        "continue after an interrupt; run an interrupted tool call again, or skip it; answer a question of your own graph"
        " with JSON, after its number N where it asks several",
        (Arg("choice", "[N] JSON", "answer", needed=False, choices=("again", "skip")),),
    ),
    Sub(
        "agent",
        "approve",
        "approve a tool call: number N on the card, or all; --thread: also allow later calls of its tool in this"
        " thread; --skill: also allow the tools that the skills in use ask for",
        (Arg("which", "N|all", "which", needed=False),),
        (Flag("--thread"), Flag("--skill")),
    ),
    Sub(
        "agent",
        "reject",
        "reject a tool call and tell the agent why; with several calls, give the number N or all first",
        (Arg("what", "[N|all] WHY", "text", needed=False),),
    ),
    Sub(
        "agent",
        "edit",
        "approve a tool call with edits: the new arguments as JSON; with several calls, give the number N first",
        (Arg("what", "[N] JSON", "json"),),
    ),
    Sub(
        "agent",
        "jobs",
        "list the prompts that run or ran in the background (--bg); stop one, or join it: continue in its thread",
        (
            Arg("what", "", "choice", needed=False, choices=("stop", "join")),
            Arg("number", "N", "job", needed=False),
        ),
    ),
    Sub(
        "agent",
        "turns",
        'list the turns of this thread; N shows one, SEARCH lists what was said with a word or a "phrase" in it',
        (Arg("which", "N|SEARCH", "search", needed=False),),
    ),
    Sub(
        "agent",
        "budget",
        "show the tokens in the context by part, and what is left until the trigger; --items lists each tool, memory"
        " file, skill and large message, and what takes it out",
        flags=(Flag("--items"),),
    ),
    Sub(
        "agent",
        "xray",
        "show the request of a model call by part, and what changed since the call before",
        (Arg("at", "TURN[.CALL]", "call", needed=False),),
    ),
    Sub("agent", "compact", "summarize and offload everything but the last turn now, and show the result"),
    Sub(
        "agent",
        "history",
        'show the offloaded messages, or search them for words or a "phrase"; --bring 1:2,5-7 adds messages 2 and 5 to 7'
        " of section 1 to the next prompt, --bring 1 adds the whole section, --bring none removes them",
        (Arg("search", "SEARCH", "search", needed=False),),
        (Flag("--bring", "SECTION[:MESSAGES]|none", "messages"),),
    ),
    Sub(
        "agent",
        "transcript",
        "show everything that happened in a thread, as a DataFrame: time, turn, what and text",
        (Arg("thread", "THREAD", "thread", needed=False),),
    ),
    Sub(
        "agent",
        "export",
        "write a thread to a file: a notebook, a page for a browser, or the transcript; --yes overwrites a file",
        (Arg("file", "FILE.ipynb|FILE.html|FILE.jsonl", "export"),),
        (Flag("--thread", "NAME", "thread"), Flag("--yes")),
    ),
    Sub(
        "agent",
        "record",
        "record every model call to a tape from now on, without credentials; stop ends it; --yes overwrites a file;"
        " alone, show what is being recorded",
        (Arg("file", "FILE.jsonl|stop", "recording", needed=False),),
        (Flag("--yes"),),
    ),
    Sub(
        "agent",
        "replay",
        "play a tape in the place of all models, with no key and the same every time, until %agent use names a model;"
        " --pace keeps the recorded timing; alone, show which tape is played",
        (Arg("file", "FILE.jsonl", "tape", needed=False),),
        (Flag("--pace"),),
    ),
    Sub(
        "agent",
        "explain",
        "explain the last error from your code and its variables; {err} in a prompt is filled in with the same text",
    ),
    Sub(
        "agent",
        "fix",
        "put a corrected copy of the cell that failed into the next cell, shown as a diff; nothing is run",
    ),
    Sub(
        "agent",
        "code",
        "put a block of code of the last answer into the next cell: the last one, or number N; the code of tool calls"
        " counts on after the blocks; nothing is run",
        (Arg("number", "N", "number", needed=False),),
    ),
    Sub(
        "agent",
        "tools",
        "list the tools and which calls need your approval; ask, allow or deny sets the rule of one tool; outside asks"
        " for calls that can't be undone, writes for calls that change anything, read-only denies all changes; add gives"
        " the agent functions of yours, or the tools of an MCP server: add [--name NAME] [--env VARIABLE,...] [--timeout"
        " SECONDS] mcp:COMMAND or mcp:URL; remove takes a tool or a server away; off leaves tools of any kind out of all requests,"
        " and on brings them back",
        (
            Arg(
                "what",
                "ask|allow|deny NAME|outside|writes|read-only|add FUNCTION|add mcp:SERVER|remove NAME|off NAME|on NAME",
                "tools",
                needed=False,
            ),
        ),
    ),
    Sub(
        "agent",
        "subagents",
        "list the subagents, or show one with its prompt; add creates one from a template, or copies a file or a"
        " directory of files (--yes replaces one of the same name); remove deletes a subagent's file",
        (Arg("what", "NAME|add NAME [DESCRIPTION]|add FILE.md|add DIR|remove NAME", "subagents", needed=False),),
        (Flag("--yes"),),
    ),
    Sub(
        "agent",
        "mount",
        "keep the files below a path on disk, in the store, or in the kernel again; alone, list the mounts",
        (
            Arg("path", "PATH", "place", needed=False),
            Arg("spec", "disk:DIR|store[:NAMESPACE]|state", "backend", needed=False),
        ),
        (Flag("--yes"),),
    ),
    Sub(
        "agent",
        "persist",
        "keep this session, through restarts, in a file or a PostgreSQL database; alone, show where it is kept",
        (Arg("where", "FILE|URL", "database", needed=False),),
    ),
    Sub(
        "agent",
        "package",
        "list what this agent is as an application that langgraph dev serves, and what is left out; --yes writes it to"
        " DIR; MEMORY.md, notes, mounts and other files go only if you name them (/MEMORY.md, /memory/)",
        (Arg("directory", "DIR", "folder"), Arg("include", "PATH...", "places", needed=False)),
        (Flag("--yes"),),
    ),
    Sub(
        "agent", "graph", "show the middleware in order: what each layer does, where it comes from, the tokens it adds"
    ),
    Sub(
        "agent",
        "panel",
        "show a live panel: budget and history, or the one you name",
        (Arg("what", "", "choice", needed=False, choices=PANELS),),
    ),
    Sub(
        "agent",
        "dashboard",
        "show all live panels as tabs: memory, budget, history, skills, prompt, threads, approvals",
    ),
    Sub("agent", "help", _HELP, _WORDS),
    Sub("memory", "panel", "show a live panel of memory by turn"),
    Sub("memory", "show", "show the text of a memory file, or of all", (Arg("path", "PATH", "file", needed=False),)),
    Sub(
        "memory",
        "add",
        "append a line to memory, as typed",
        (Arg("text", "TEXT", "text"),),
        (Flag("--to", "PATH", "path"),),
    ),
    Sub(
        "memory",
        "diff",
        "show what changed in memory: in the last turn, since turn A, or from turn A to turn B",
        (Arg("a", "A", "turn", needed=False), Arg("b", "B", "turn", needed=False)),
    ),
    Sub("memory", "log", "list every change to memory, notes and skills, as a DataFrame"),
    Sub("memory", "revert", "revert one change and keep the later ones", (Arg("id", "ID", "change"),)),
    Sub(
        "memory", "why", "show which file, line and change a text in memory comes from", (Arg("text", "TEXT", "text"),)
    ),
    Sub(
        "memory",
        "edit",
        "edit a memory file in a text area; in a terminal, get the cell that writes it",
        (Arg("path", "PATH", "file", needed=False),),
    ),
    Sub(
        "memory",
        "load",
        "load a Markdown file from disk into memory (into the first source, or --to PATH)",
        (Arg("file", "FILE", "file"),),
        (Flag("--to", "PATH", "path"),),
    ),
    Sub(
        "memory",
        "save",
        "save memory to disk: one file (the first source, or --from PATH) if the name ends in .md, else all files to a"
        " directory; --yes overwrites files that were changed there",
        (Arg("file", "FILE|DIR", "file"),),
        (Flag("--from", "PATH", "path"), Flag("--yes")),
    ),
    Sub(
        "memory",
        "rm",
        "remove a memory file (%memory revert restores it); --yes also one on your disk",
        (Arg("path", "PATH", "file"),),
        (Flag("--yes"),),
    ),
    Sub(
        "memory",
        "forget",
        "find a text in everything deepnb recorded; --yes removes it there",
        (Arg("text", "TEXT", "text"),),
        (Flag("--yes"),),
    ),
    Sub("memory", "pending", "list the memory changes that need your approval"),
    Sub(
        "memory",
        "accept",
        "approve a pending change, or all, and apply it; keep both texts of a conflict",
        (Arg("id", "ID|all", "pending"),),
    ),
    Sub("memory", "drop", "discard a pending change, or all", (Arg("id", "ID|all", "pending"),)),
    Sub(
        "memory",
        "keep",
        "keep memory, notes, skills and the journal in a directory on disk from now on",
        (Arg("path", "DIR", "file"),),
    ),
    Sub(
        "memory",
        "sources",
        "list the files memory is read from, in order; add and remove add files from disk and remove them again"
        " (the files on disk stay as they are)",
        (
            Arg("what", "", "choice", needed=False, choices=("add", "remove")),
            Arg("name", "user|project|PATH", "source", needed=False),
        ),
    ),
    Sub(
        "memory",
        "search",
        "search all daily notes and MEMORY.md; -k N shows the best N passages, --transcripts also searches the conversations",
        (Arg("query", "QUERY", "text"),),
        (Flag("-k", "N", "number"), Flag("--transcripts")),
    ),
    Sub(
        "memory",
        "daily",
        "show today's note; with TEXT, add a line to it under the current time",
        (Arg("text", "TEXT", "text", needed=False),),
    ),
    Sub("memory", "flush", "add what is worth keeping from this thread to today's note; the context stays as it is"),
    Sub(
        "memory",
        "promote",
        "propose entries of daily notes for MEMORY.md; --yes writes those shown, or only entries N...",
        (Arg("numbers", "N", "text", needed=False),),
        (Flag("--yes"),),
    ),
    Sub("memory", "help", _HELP, _WORDS),
    Sub("skills", "panel", "show a live panel of the skills: what each costs, which were read, enable and disable"),
    Sub("skills", "list", "list the skills, as a DataFrame"),
    Sub("skills", "show", "show the text of a skill", (Arg("name", "NAME", "skill"),)),
    Sub(
        "skills",
        "new",
        "create a skill from a template",
        (Arg("name", "NAME", "word"), Arg("description", "DESCRIPTION", "text", needed=False)),
    ),
    Sub(
        "skills",
        "add",
        "add skills with all their files: one that comes with deepnb, a directory or a zip; --yes replaces one of the"
        " same name; alone, list those that come with deepnb",
        (Arg("what", "NAME|DIR|ZIP", "file", needed=False),),
        (Flag("--yes"),),
    ),
    Sub(
        "skills",
        "validate",
        "list what to fix: in all skills, in one, or in a directory or zip on disk",
        (Arg("path", "NAME|PATH", "file", needed=False),),
    ),
    Sub("skills", "enable", "show a disabled skill to the agent again", (Arg("name", "NAME", "skill"),)),
    Sub("skills", "disable", "keep a skill but hide it from the agent", (Arg("name", "NAME", "skill"),)),
    Sub(
        "skills",
        "remove",
        "delete a skill's directory; --yes also one on your disk",
        (Arg("name", "NAME", "skill"),),
        (Flag("--yes"),),
    ),
    Sub(
        "skills",
        "pin",
        "add a skill's text to the next prompt, once; --off cancels that; alone, list the pinned skills",
        (Arg("name", "NAME", "skill", needed=False),),
        (Flag("--off"),),
    ),
    Sub("skills", "help", _HELP, _WORDS),
)

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
    """The rows of one magic, in the order in which its help shows them."""
    return tuple(sub for sub in SUBCOMMANDS if sub.magic == magic)


def subcommand(magic: str, name: str) -> Sub | None:
    """The row of one subcommand, or None."""
    return next((sub for sub in SUBCOMMANDS if (sub.magic, sub.name) == (magic, name)), None)


def usage_text(magic: str, name: str | None = None) -> str:
    """The help of a magic, or of one of its subcommands; of the whole magic where there is no such subcommand."""
    sub = subcommand(magic, name) if name else None
    if sub is not None:
        return f"%{magic} {sub.usage}\n    {sub.help}"
    about, forms, examples = ABOUT[magic]
    parts = [about, "\n".join(_columns(forms))]
    if magic == "agent":
        parts.append("options (before the prompt)\n" + "\n".join(_columns((str(o), o.help) for o in OPTIONS)))
    parts.append("subcommands\n" + "\n".join(_columns((sub.usage, sub.help) for sub in subcommands(magic))))
    parts.append("examples\n" + "\n".join(f"  {example}" for example in examples))
    return "\n\n".join(parts)


def _columns(rows: Iterable[tuple[str, str]]) -> list[str]:
    pairs = list(rows)
    width = max(len(left) for left, _ in pairs)
    return [f"  {left:<{width}}  {right}" for left, right in pairs]
