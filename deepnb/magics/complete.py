"""What Tab offers after %agent, %memory and %skills, also on the first line of a cell with a body.

`candidates` is pure; `matcher` puts it behind IPython's matcher API (version 2), which is asked for cells, too,
where the older `complete_command` hook is not. In a prompt the columns of tables are offered beside IPython's own names.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from deepnb.magics.usage import MAGICS, OPTIONS, Flag, subcommand, subcommands
from deepnb.values import wings

IDENTIFIER = "deepnb"
_NAMES = "|".join(MAGICS)
_LINE = re.compile(rf"\s*(?:[\w.]+\s*=\s*)?%({_NAMES})\s(.*)", re.DOTALL)
_CELL = re.compile(rf"%%({_NAMES})\s(.*)", re.DOTALL)

NamesOf = Callable[[str], Iterable[str]]
"""Kind of a word, as `usage.py` has it -> the names there are of it, those that are most likely meant first."""
_OWN = ("thread", "job", "skill", "turn", "call", "change", "pending", "messages", "bundled")
"""Kinds that nothing but a name of deepnb's can be."""
_ANY_NAME = "?"


def candidates(magic: str, line: str, cursor_text: str, names: NamesOf, cell: bool = False) -> list[str]:
    """Return the words that can stand where `cursor_text` stands, the end of `line`, which begins after the magic's name.

    `cell` tells the first line of a cell magic from a line magic.
    """
    words = line[: len(line) - len(cursor_text)].split()
    typed, waiting, others = _read_flags(OPTIONS, words)
    if magic == "agent" and others:  # a word before is no option of a prompt
        offered = [] if cell else _after_subcommand(magic, words, cursor_text, names)
    elif magic == "agent":
        offered = _names_of(magic) if not words and not cell else []
        offered += _flag_words(OPTIONS, typed, waiting, cursor_text, names)
    elif cell:
        offered = list(names("path" if magic == "memory" else "skill")) if not words else []
    else:
        offered = _after_subcommand(magic, words, cursor_text, names) if words else _names_of(magic)
    return [word for word in dict.fromkeys(offered) if word.startswith(cursor_text) and word != cursor_text]


def matcher(names_of: NamesOf) -> Any:
    """Return a matcher for `ip.Completer.custom_matchers`; `names_of` is asked at each Tab on a line of ours."""
    from IPython.core.completer import SimpleCompletion, context_matcher

    def names(kind: str) -> Iterable[str]:  # nothing where they can't be told: a Tab never shows a traceback
        try:
            return list(names_of(kind))
        except Exception:
            return ()

    @context_matcher(priority=100, identifier=IDENTIFIER)
    def deepnb_matcher(context: Any) -> dict[str, Any]:
        until, row, lines = context.text_until_cursor, context.cursor_line, context.full_text.split("\n")
        head = next((i for i, line in enumerate(lines) if line.strip()), 0)
        cell = lines[head].startswith("%%")
        match = (_CELL if cell else _LINE).fullmatch(until) if not cell or row == head else None
        is_prompt = cell and row > head and re.match(r"%%agent\b", lines[head]) is not None
        if match and not cell and match[1] == "agent":  # on a line the first word may be a subcommand
            typed = _read_flags(OPTIONS, re.split(r"\s+", match[2])[:-1])[2]
            is_prompt = bool(typed) and subcommand("agent", typed[0]) is None
        if is_prompt:
            fragment = re.search(r"\{[^{}\n]*\Z|\w*\Z", until)[0]  # type: ignore[index]
            known = list(names("column")) if fragment else []
            if "[" not in fragment:  # after `{table[` the rest of the placeholder, else the column alone
                known = [one.partition("[")[2].removesuffix("]}") for one in known]
            words = [word for word in dict.fromkeys(known) if word.startswith(fragment) and word != fragment]
            found = [SimpleCompletion(word, type="column") for word in words]
            return {"completions": found, "matched_fragment": fragment, "suppress": False}
        if match is None:
            return {"completions": []}
        magic, line = match.groups()
        fragment = re.search(r"\S*\Z", line)[0]  # type: ignore[index]
        words = candidates(magic, line, fragment, names, cell)
        any_name = candidates(magic, line, "", lambda kind: [_ANY_NAME] * (kind in _OWN), cell)
        if not words and any_name == [_ANY_NAME]:
            words = [fragment]  # IPython heeds `suppress` only where there is something, and variables are wrong here
        found = [SimpleCompletion(word, type="magic") for word in words]
        return {"completions": found, "matched_fragment": fragment, "suppress": bool(words), "ordered": True}

    return deepnb_matcher


def install(ip: Any, names_of: NamesOf) -> None:
    """Add the matcher to a shell; a second time replaces the first."""
    uninstall(ip)
    ip.Completer.custom_matchers.append(matcher(names_of))


def uninstall(ip: Any) -> None:
    """Take the matcher out again, also one that an earlier import of this module put there."""
    matchers = ip.Completer.custom_matchers
    matchers[:] = [m for m in matchers if getattr(m, "matcher_identifier", "") != IDENTIFIER]


def _read_flags(flags: Iterable[Flag], words: list[str]) -> tuple[set[Flag], Flag | None, list[str]]:
    """Return the flags among some words, the last one if it waits for its value, and the words that are no flags."""
    typed, others, waiting = set[Flag](), list[str](), None
    for word in words:
        if waiting is not None:
            waiting = None
        elif flag := next((f for f in flags if f.name == word.partition("=")[0]), None):
            typed.add(flag)
            waiting = flag if flag.label and "=" not in word else None
        else:
            others.append(word)
    return typed, waiting, others


def _after_subcommand(magic: str, words: list[str], cursor_text: str, names: NamesOf) -> list[str]:
    """Return what may stand after a subcommand and the words that follow it; nothing once the text is free."""
    if (sub := subcommand(magic, words[0])) is None:
        return []
    todo = list(sub.args)
    typed, waiting, others = _read_flags(sub.flags, words[1:])
    for _ in others:
        if words[1:] == ["remove"] and todo and todo[0].kind == "subagents":
            return list(names("subagent"))
        if todo and todo[0].kind == "tools":
            verb, *rest = words[1:]
            if verb == "add":  # nothing in the command of a server
                is_server = any(word.startswith("mcp:") for word in rest)
                return [] if is_server else [*names("function"), "mcp:", "--name", "--env", "--timeout"]
            if verb == "remove":
                return list(names("own tool"))
            return list(names("tool")) if verb == "off" or (verb in ("ask", "allow", "deny") and not rest) else []
        if not todo or todo[0].kind in ("text", "file"):
            return []
        todo.pop(0)
    words_here = _flag_words(sub.flags, typed, waiting, cursor_text, names)
    if waiting is not None:
        return words_here
    arg, offered = todo[0] if todo else None, list[str]()
    if arg is not None and arg.kind == "help":
        topics = wings.part("%agent help TOPIC") if wings.home("%agent help TOPIC") else ()
        offered = [*_names_of(sub.magic), *topics]
    elif arg is not None and sub.magic == "skills" and arg.kind == "file":  # files of the disk, which IPython offers
        offered = list(names("bundled" if sub.name == "add" else "skill"))
    elif arg is not None:
        offered = list(arg.choices or names(arg.kind))
    return offered + words_here


def _flag_words(
    flags: Iterable[Flag], typed: set[Flag], waiting: Flag | None, cursor_text: str, names: NamesOf
) -> list[str]:
    """Return the values of the last flag, or of one that is being typed with its `=`, else the flags not yet typed."""
    if waiting is not None:
        return list(waiting.choices or names(waiting.kind))
    name, eq, _ = cursor_text.partition("=")
    if eq:
        flag = next((f for f in flags if f.name == name), None)
        return [f"{name}={value}" for value in (flag.choices or names(flag.kind))] if flag else []
    return [flag.name for flag in flags if flag not in typed]


def _names_of(magic: str) -> list[str]:
    return [sub.name for sub in subcommands(magic)]
