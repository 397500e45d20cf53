"""What can be typed after %agent, %memory and %skills: one row a subcommand, and the help made from the rows.

A row says what the words after a subcommand must look like (grammar.py); options.py asks whether a line fits,
complete.py what comes next, `usage_text` what to show. A new subcommand is a new row in `SUBCOMMANDS`.
"""

from collections.abc import Iterable

from deepnb.magics.grammar import Arg, Flag, Sub

MAGICS = ("agent", "memory", "skills")

PANELS = ("memory", "budget", "history", "skills", "prompt", "threads", "approvals")


def _sub(key: str = "sub") -> Arg:
    return Arg(key, "SUB", "sub", needed=False)


FORMATS = ("markdown", "text", "json", "code")

# The options of a prompt: `%agent [options] PROMPT` and `%%agent [options]`.
OPTIONS: tuple[Flag, ...] = (
    Flag("--model", "M", "model", "ask this model, this once"),
    Flag("--thread", "T", "thread", "in this thread"),
    Flag("--raw", help="fill in no {name}"),
    Flag("--as", "NAME", "identifier", "keep the answer in this variable"),
    Flag("--format", "|".join(FORMATS), "choice", "how to show the answer; code puts it in the next cell", FORMATS),
    Flag("--quiet", help="show nothing while it runs"),
    Flag("--max-steps", "N", "number", "end the turn in order after N steps"),
)

SUBCOMMANDS: tuple[Sub, ...] = (
    Sub("agent", "status", "model, thread, turns and budget on one screen (also bare %agent)"),
    Sub(
        "agent",
        "use",
        "change the model, or say which one it is",
        (Arg("model", "MODEL|VARIABLE", "model", needed=False),),
        (Flag("--base-url", "URL", "url"),),
    ),
    Sub(
        "agent",
        "new",
        "start a new thread; --empty: with none of this session's memory, notes and skills, and keeping to itself what"
        " it learns; --shared: others read along, so MEMORY.md is kept from it",
        (Arg("name", "NAME", "name", needed=False),),
        (Flag("--empty"), Flag("--shared")),
    ),
    Sub("agent", "threads", "the threads of this session"),
    Sub("agent", "switch", "go on in another thread", (Arg("name", "NAME", "thread"),)),
    Sub(
        "agent",
        "fork",
        "a new thread that starts as this one stands, or stood after turn N",
        (Arg("name", "NAME", "name"),),
        (Flag("--at", "N", "number"),),
    ),
    Sub(
        "agent",
        "rewind",
        "go back to just after turn N; --memory takes memory back, too",
        (Arg("turn", "N", "number"),),
        (Flag("--memory"),),
    ),
    Sub("agent", "undo", "take back the last rewind, fork, new or re-run"),
    Sub(
        "agent",
        "resume",
        "go on after an interrupt; a tool call that was cut is run again, or skipped",
        (Arg("choice", "", "choice", needed=False, choices=("again", "skip")),),
    ),
    Sub(
        "agent",
        "approve",
        "let a call that waits for your word run: number N of those shown, or all; --thread: calls of its tool in this"
        " thread from now on, too; --skill: those of all tools that the skills in use ask for",
        (Arg("which", "N|all", "which", needed=False),),
        (Flag("--thread"), Flag("--skill")),
    ),
    Sub(
        "agent",
        "reject",
        "refuse a call that waits (number N first, or all, where several do), and tell the agent why",
        (Arg("what", "[N|all] WHY", "text", needed=False),),
    ),
    Sub(
        "agent",
        "edit",
        "let a call that waits run with other arguments (number N first, where several do)",
        (Arg("what", "[N] JSON", "json"),),
    ),
    Sub("agent", "turns", "the turns of this thread"),
    Sub("agent", "budget", "what the context costs, by part, and how far the trigger is"),
    Sub(
        "agent",
        "xray",
        "what a model call was sent, by part, and what changed since the call before",
        (Arg("at", "TURN[.CALL]", "call", needed=False),),
    ),
    Sub("agent", "compact", "summarize and offload all but the last turn now, and show what was done"),
    Sub(
        "agent",
        "history",
        'what was summarized and offloaded, or what of it holds a word or a "phrase"; --bring 1:2,5-7 puts messages 2 and'
        " 5 to 7 of section 1 before the next prompt, --bring 1 all of them, --bring none nothing",
        (Arg("search", "SEARCH", "search", needed=False),),
        (Flag("--bring", "SECTION[:MESSAGES]|none", "messages"),),
    ),
    Sub(
        "agent",
        "transcript",
        "all that happened in a thread, a line each, as a DataFrame",
        (Arg("thread", "THREAD", "thread", needed=False),),
    ),
    Sub(
        "agent",
        "tools",
        "the tools, and which calls ask for your word; ask, allow or deny the calls of one; ask for what can't be taken"
        " back (outside), for all that changes anything (writes), or let nothing be changed (read-only)",
        (
            Arg("rule", "", "choice", needed=False, choices=("ask", "allow", "deny", "outside", "writes", "read-only")),
            Arg("name", "NAME", "tool", needed=False),
        ),
    ),
    Sub(
        "agent",
        "subagents",
        "the agents it hands tasks to, or one of them with its prompt; add writes one to fill in, or copies NAME.md (or"
        " all of a directory) in, with --yes in the place of one of the same name; remove deletes one's file",
        (Arg("what", "NAME|add NAME [DESCRIPTION]|add FILE.md|add DIR|remove NAME", "subagents", needed=False),),
        (Flag("--yes"),),
    ),
    Sub(
        "agent",
        "mount",
        "put the files below a path on a disk, in the store, or back into the kernel; alone, say what is mounted",
        (
            Arg("path", "PATH", "path", needed=False),
            Arg("spec", "disk:DIR|store[:NAMESPACE]|state", "file", needed=False),
        ),
    ),
    Sub("agent", "graph", "the middleware in its order: what each does, where it comes from, what tokens it adds"),
    Sub(
        "agent",
        "panel",
        "budget and history, live, or one panel by name: memory, budget, history, skills, prompt, threads or approvals",
        (Arg("what", "", "choice", needed=False, choices=PANELS),),
    ),
    Sub("agent", "dashboard", "all panels as tabs, live: memory, budget, history, skills, prompt, threads, approvals"),
    Sub("agent", "help", "this text, or that of one subcommand", (_sub(),)),
    Sub("memory", "panel", "memory by turn, live"),
    Sub("memory", "show", "the text of a memory file, or of all", (Arg("path", "PATH", "file", needed=False),)),
    Sub(
        "memory",
        "add",
        "append a line, as typed, to memory",
        (Arg("text", "TEXT", "text"),),
        (Flag("--to", "PATH", "path"),),
    ),
    Sub(
        "memory",
        "diff",
        "what changed in memory: in the last turn, since turn A, or from A to B",
        (Arg("a", "A", "number", needed=False), Arg("b", "B", "number", needed=False)),
    ),
    Sub("memory", "log", "every change of memory, notes and skills, as a DataFrame"),
    Sub("memory", "revert", "take one change back, keeping what came after it", (Arg("id", "ID", "word"),)),
    Sub("memory", "why", "which file, line and change some words of memory come from", (Arg("text", "TEXT", "text"),)),
    Sub(
        "memory",
        "edit",
        "a memory file in a text area, to save or cancel; in a terminal, as the cell that writes it",
        (Arg("path", "PATH", "file", needed=False),),
    ),
    Sub(
        "memory",
        "load",
        "write a Markdown file of your disk to memory (to the first source, or --to PATH)",
        (Arg("file", "FILE", "file"),),
        (Flag("--to", "PATH", "path"),),
    ),
    Sub(
        "memory",
        "save",
        "write memory to your disk: one file (the first source, or --from PATH) to a name in .md, all into a directory;"
        " --yes also over what was changed there",
        (Arg("file", "FILE|DIR", "file"),),
        (Flag("--from", "PATH", "path"), Flag("--yes")),
    ),
    Sub("memory", "rm", "remove a memory file (%memory revert brings it back)", (Arg("path", "PATH", "file"),)),
    Sub(
        "memory",
        "forget",
        "find some words in all that was recorded; with --yes, take them out there",
        (Arg("text", "TEXT", "text"),),
        (Flag("--yes"),),
    ),
    Sub("memory", "pending", "changes that wait for your word"),
    Sub("memory", "accept", "make a change that waits", (Arg("id", "ID", "word"),)),
    Sub("memory", "drop", "throw away a change that waits", (Arg("id", "ID", "word"),)),
    Sub(
        "memory",
        "keep",
        "keep memory, notes, skills and journal in a directory from now on",
        (Arg("path", "DIR", "file"),),
    ),
    Sub(
        "memory",
        "sources",
        "the files memory is read from, in order; add joins in those of your disk, remove takes them out again (on the"
        " disk nothing changes)",
        (
            Arg("what", "", "choice", needed=False, choices=("add", "remove")),
            Arg("name", "user|project|PATH", "source", needed=False),
        ),
    ),
    Sub(
        "memory",
        "search",
        "find passages in all daily notes and MEMORY.md; with --transcripts, in what was said, too",
        (Arg("query", "QUERY", "text"),),
        (Flag("-k", "N", "number"), Flag("--transcripts")),
    ),
    Sub(
        "memory",
        "daily",
        "today's note; with TEXT, add a line to it, under the time",
        (Arg("text", "TEXT", "text", needed=False),),
    ),
    Sub("memory", "flush", "add to today's note what is worth keeping of this thread; nothing leaves its prompt"),
    Sub(
        "memory",
        "promote",
        "entries of daily notes worth keeping in MEMORY.md; --yes writes those shown, or only entries N...",
        (Arg("numbers", "N", "text", needed=False),),
        (Flag("--yes"),),
    ),
    Sub("memory", "help", "this text, or that of one subcommand", (_sub(),)),
    Sub("skills", "panel", "the skills, live: what each costs, which were read, switched on and off"),
    Sub("skills", "list", "the skills, as a DataFrame"),
    Sub("skills", "show", "the text of a skill", (Arg("name", "NAME", "skill"),)),
    Sub(
        "skills",
        "new",
        "a new skill to fill in",
        (Arg("name", "NAME", "word"), Arg("description", "DESCRIPTION", "text", needed=False)),
    ),
    Sub(
        "skills",
        "add",
        "copy skills in with all their files: one that comes with deepnb, a directory or a zip; --yes in the place of one"
        " of the same name; alone, say which come with deepnb",
        (Arg("what", "NAME|DIR|ZIP", "file", needed=False),),
        (Flag("--yes"),),
    ),
    Sub(
        "skills",
        "validate",
        "what is to be mended: in all skills, in one, or in a directory or zip of your disk",
        (Arg("path", "NAME|PATH", "file", needed=False),),
    ),
    Sub("skills", "enable", "tell the agent of a skill again", (Arg("name", "NAME", "skill"),)),
    Sub("skills", "disable", "keep a skill, and tell the agent nothing of it", (Arg("name", "NAME", "skill"),)),
    Sub("skills", "remove", "delete a skill's directory", (Arg("name", "NAME", "skill"),)),
    Sub(
        "skills",
        "pin",
        "put a skill's text before the next prompt, once; --off takes it back; alone, say what is pinned",
        (Arg("name", "NAME", "skill", needed=False),),
        (Flag("--off"),),
    ),
    Sub("skills", "help", "this text, or that of one subcommand", (_sub(),)),
)

# What a magic is for; its forms beside the subcommands; three examples.
ABOUT: dict[str, tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]] = {
    "agent": (
        "%agent asks the agent in this kernel, and says how it stands.",
        (
            ("%agent [options] PROMPT", "ask; the prompt is taken as typed, no quotes needed"),
            ("%%agent [options]", "ask; the cell body is the prompt, {name} is filled in"),
            ("%agent -- PROMPT", "ask, whatever the prompt's first word is"),
            ("%agent SUBCOMMAND", "one of the subcommands below; alone it is status"),
        ),
        (
            "%agent which planet has the most moons?",
            "%agent --as answer --format text what is in planets?",
            "%agent rewind 3",
        ),
    ),
    "memory": (
        "%memory shows what the agent remembers, and writes it.",
        (
            ("%memory", "a picture of memory as it stands"),
            ("%memory SUBCOMMAND", "one of the subcommands below"),
            ("%%memory PATH", "write the cell body to a memory file"),
        ),
        ("%memory add I prefer metric units", "%memory add --to /memory/team.md Ana owns the data", "%memory diff 2 4"),
    ),
    "skills": (
        "%skills shows what the agent can do, and writes it.",
        (
            ("%skills", "a picture of the skills"),
            ("%skills SUBCOMMAND", "one of the subcommands below"),
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
