"""A magic's line and cell body, read into one frozen value: a prompt with its options, or a subcommand.

Parsed by hand: a prompt is taken as typed (apostrophes, quotes, braces, backslashes), so nothing here knows of
shell quoting. Blanks at both ends of a line are dropped; a cell body loses one line end, nothing else.
"""

import keyword
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from deepnb.magics import usage
from deepnb.magics.slips import MOST, nearest, path_slip, slip
from deepnb.values.errors import InvalidError
from deepnb.values.wings import names, part

Value = str | int | float | bool | None


@dataclass(frozen=True)
class AgentRun:
    """A prompt to run, as typed, and the options before it."""

    prompt: str
    model: str | None = None
    thread: str | None = None
    raw: bool = False
    as_name: str | None = None
    format: str = "markdown"
    quiet: bool = False
    max_steps: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)
    """The options of wings that were given, by name."""


@dataclass(frozen=True)
class Command:
    """A subcommand and its arguments: every key its usage has is there, None (a flag: False) where not typed.

    Three names are not typed as such: `status` for a bare %agent, `picture` for a bare %memory or %skills, and
    `write` for a cell body.
    """

    name: str
    args: Mapping[str, Value] = field(default_factory=dict)


def parse_agent(line: str, body: str | None = None) -> AgentRun | Command:
    """Return the run or the subcommand meant by `%agent LINE` (body None) or `%%agent LINE` with a cell body."""
    line = line.strip()
    if _asks_for_help(line):
        return Command("help", {"words": None})
    if body is not None:
        values, rest, _ = read_options(line)
        if rest:
            what = f"the %%agent line takes only options, not {_cut(rest)!r}"
            raise InvalidError(what, "put the prompt into the cell body")
        return _run(values, without_end_of_line(body))
    if not line:
        return Command("status")
    if (command := _command("agent", line)) is not None:
        return command
    values, prompt, ended = read_options(line)
    meant = None if values or ended else path_slip(line) or slip(line, fit)
    if meant is not None:  # more likely a mistyped subcommand
        name = line.split()[0]
        known = usage.subcommand("agent", name) is not None
        problem = f"invalid arguments in {_cut(line)!r}" if known else f"no subcommand {name!r}"
        raise InvalidError(problem, f"{meant}, or %agent -- {line} to send it as a prompt")
    return _run(values, prompt)


def without_end_of_line(body: str) -> str:
    """Return a cell body less its last line end, which the notebook added."""
    return body.removesuffix("\n").removesuffix("\r") if body.endswith("\n") else body


def read_options(line: str) -> tuple[dict[str, Any], str, bool]:
    """Return the options at the start of a line, the rest as typed, and whether a `--` ended them."""
    values: dict[str, Any] = {}
    rest = line
    while True:
        word, after = _word(rest)
        if word == "--":
            return values, after, True
        if not re.match(r"--[A-Za-z]", word):
            return values, rest, False
        name, eq, text = word.partition("=")
        option = next((o for o in usage.OPTIONS if o.name == name), None)
        if option is None:
            if (typed := f"%agent {name}") in usage.LEFT_OUT:
                part(typed)
            names = tuple(o.name for o in usage.OPTIONS)
            near = nearest(name, names) or f"one of {', '.join(names)}"
            raise InvalidError(f"no option {name!r}", f"type {near}, or -- before a prompt")
        if option.label and not eq:
            text, after = _word(after)
        value = _option_value(option, bool(eq), text)
        values[option.key] = (*values.get(option.key, ()), value) if option.kind == "comparison" else value
        rest = after


def fit(sub: usage.Sub, rest: str) -> dict[str, Value] | None:
    """Return the arguments in what follows a subcommand, or None where it does not fit the usage.

    Flags stand anywhere among the words; beside a text that is taken as typed, in front of it or behind it.
    """
    args: dict[str, Value] = {arg.key: None for arg in sub.args}
    args |= {flag.key: None if flag.label else False for flag in sub.flags}
    last: dict[str, Value] = {}  # the flags behind a text: %memory add TEXT --to PATH
    for one in sub.flags * len(sub.flags) if sub.args and sub.args[-1].kind in usage.TAKES_THE_REST else ():
        behind = r"(?:=|\s+)(\S+)" if one.label else "()"
        found = re.fullmatch(rf"(.*\S)\s+{one.name}{behind}", rest.strip(), re.DOTALL)
        if one.key not in last and found and (given := _flag_value(one, bool(one.label), found[2])) is not None:
            rest, last[one.key] = found[1], given
    args |= last
    todo = list(sub.args)
    while rest:
        word, after = _word(rest)
        name, eq, text = word.partition("=")
        flag = next((f for f in sub.flags if f.name == name), None)
        if flag is not None:
            if flag.label and not eq:
                text, after = _word(after)
            key, value = flag.key, _flag_value(flag, bool(eq), text)
        elif todo:
            arg = todo.pop(0)
            text, after = _argument(arg, rest)
            key, value = arg.key, _value(sub, arg, text)
        else:
            return None
        if value is None:
            return None
        args[key], rest = value, after
    return None if any(arg.needed for arg in todo) else args


def _run(values: dict[str, Any], prompt: str) -> AgentRun:
    if not prompt.strip():
        raise InvalidError("the prompt is empty", "type %agent PROMPT, or a prompt below %%agent")
    named = {"as_name" if key == "as" else key: value for key, value in values.items()}
    more = {key: named.pop(key) for key in values if f"--{key}" in names("--")}
    return AgentRun(prompt, **named, more=more)


def _command(magic: str, line: str) -> Command | None:
    name, rest = _word(line)
    if (sub := usage.subcommand(magic, name)) is None:
        if (typed := f"%{magic} {name}") in usage.LEFT_OUT and len(line.split()) <= MOST:
            part(typed)
        return None
    if _asks_for_help(rest):
        return Command("help", {"words": name})
    if (args := fit(sub, rest)) is not None:
        return Command(name, args)
    # A mistyped flag of a subcommand that fits otherwise: it was not meant as a prompt.
    known, words = [flag.name for flag in sub.flags], rest.split()
    strange = [w for w in words if re.match(r"--[A-Za-z]", w) and w.partition("=")[0] not in known]
    if strange and fit(sub, " ".join(w for w in words if w not in strange)) is not None:
        raise InvalidError(f"{sub.name} has no option {strange[0]!r}", f"usage: %{sub.magic} {sub.usage}")
    for flag in sub.flags:
        before, found, after = f" {rest} ".partition(f" {flag.name} ")
        value, others = _word(after)
        if found and flag.label and fit(sub, f"{before} {others}".strip()) is not None:
            problem = f"{flag.name} {value!r} is not valid" if value else f"{flag.name} needs a value"
            raise InvalidError(problem, f"usage: %{sub.magic} {sub.usage}")
    if not rest and magic == "agent":
        label = next(arg.label for arg in sub.args if arg.needed)
        do = f"usage: %agent {sub.usage}, or %agent -- {name} to send it as a prompt"
        raise InvalidError(f"{name} needs {label}", do)
    return None


def _parse_plain(magic: str, key: str, label: str, line: str, body: str | None = None) -> Command:
    """Return the subcommand of a line of a magic without prompts, or the `write` of a cell of it."""
    line = line.strip()
    if _asks_for_help(line):
        return Command("help", {"words": None})
    if body is not None:
        if not line:
            raise InvalidError(f"%%{magic} needs {label}", f"type %%{magic} {label} and the text below it")
        word, rest = _word(line)
        if usage.subcommand(magic, word) is not None or (rest and magic == "skills"):
            raise InvalidError(f"%%{magic} takes only {label}", f"type %{magic} {_cut(line)}, or %%{magic} {label}")
        return Command("write", {key: _unquoted(line), "text": without_end_of_line(body)})
    if not line:
        return Command("picture")
    if (command := _command(magic, line)) is not None:
        return command
    name, _ = _word(line)
    if (sub := usage.subcommand(magic, name)) is not None:
        raise InvalidError(f"invalid arguments in {_cut(line)!r}", f"usage: %{magic} {sub.usage}")
    if magic == "memory" and ("/" in name or name.endswith(".md")):
        do = f"type %memory show {name}, or %%memory {name} as the first line of a cell"
        raise InvalidError(f"no subcommand {name!r}", do)
    names = tuple(sub.name for sub in usage.subcommands(magic))
    close = nearest(name, names)
    raise InvalidError(f"no subcommand {name!r}", f"type %{magic} {close or 'with one of ' + ', '.join(names)}")


parse_memory = partial(_parse_plain, "memory", "path", "PATH")
parse_skills = partial(_parse_plain, "skills", "name", "NAME")


def _argument(arg: usage.Arg, rest: str) -> tuple[str, str]:
    if arg.kind == "search" and (quoted := re.match(r'(?:"[^"]+"\s*)+', rest)):
        return quoted[0].strip(), rest[quoted.end() :]
    if arg.kind in usage.QUOTED and (quoted := re.match(r"\"[^\"]+\"|'[^']+'", rest)):
        return quoted[0], rest[quoted.end() :].lstrip()
    if arg.kind not in usage.TAKES_THE_REST:
        return _word(rest)
    word, after = _word(rest)
    return (after if word == "--" else rest), ""


def _value(sub: usage.Sub, arg: usage.Arg, text: str) -> Value:
    if arg.kind == "choice":
        return text if text in arg.choices else None
    if arg.kind == "text":
        return text or None
    if arg.kind == "json":
        return text if re.match(r"(?:[0-9]{1,3}\s+)?\{", text) else None
    if arg.kind in ("file", "source"):
        return _unquoted(text) or None
    return _typed(arg.kind, text)


def _flag_value(flag: usage.Flag, has_value: bool, text: str) -> Value:
    if not flag.label:
        return None if has_value else True
    return _typed(flag.kind, text)


def _typed(kind: str, text: str) -> Value:
    if not re.fullmatch(usage.KINDS[kind], text):
        return text if kind == "session" and os.path.isdir(text) else None  # "data" is a directory only where it is
    return int(text) if kind in ("number", "turn", "job") else float(text) if kind == "decimal" else text


def _option_value(option: usage.Flag, has_value: bool, text: str) -> Value:
    name, kind = option.name, option.kind
    if not option.label and has_value:
        raise InvalidError(f"{name} takes no value", f"type {name}")
    if not option.label:
        return True
    if not text or text.startswith("--"):
        raise InvalidError(f"{name} needs a value", f"type {option}")
    value = _typed(kind, text) if kind in ("number", "thread") else text
    schema = text.removeprefix(usage.SCHEMA) if text.startswith(usage.SCHEMA) else ""
    if kind == "choice" and text not in option.choices and not schema.isidentifier():
        raise InvalidError(f"unknown format {text!r}", f"type {option}")
    if kind == "identifier" and (not text.isidentifier() or keyword.iskeyword(text)):
        raise InvalidError(f"{name} {text!r} is not a valid variable name", f"type {option}, e.g. {name} answer")
    if kind == "comparison" and not re.fullmatch(r"\w+=[^\s,]+(?:,[^\s,]+)+", text):
        do = f"type {option} without blanks, e.g. {name} memory_refresh=call,delta"
        raise InvalidError(f"{name} {text!r} is not an option with two values or more", do)
    if kind == "number" and not value:
        raise InvalidError(f"{name} {text!r} is not a whole number above 0", f"type {option}, e.g. {name} 20")
    if kind == "thread" and value is None:
        raise InvalidError(f"{name} {text!r} is not a valid thread name", f"type {option}; %agent threads lists them")
    return value


def _asks_for_help(text: str) -> bool:
    return text in ("-h", "--help", "?", "??")


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "\"'" else text


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def _word(text: str) -> tuple[str, str]:
    parts = text.split(None, 1)
    return (parts[0] if parts else "", parts[1] if len(parts) > 1 else "")
