"""What the words of a subcommand are made of: arguments, options, and what each kind of word must look like."""

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
