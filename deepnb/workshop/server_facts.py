"""What is known of an MCP server: where it is, its name and environment, and what it offers as tools."""

import hashlib
import json
import os
import re
import shlex
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from deepnb.gate import redact
from deepnb.values.errors import InvalidError, NotFoundError

PREFIX = "mcp:"
LONGEST_NAME = 30

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9]*(?:[_-][a-zA-Z0-9]+)*")
"""Two underscores end the name of a server in the names of its tools."""

# What a program needs to run and holds no key; proxies may hold a password, and PYTHONPATH is another program's.
PASSED_ON = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE"),
    *("LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME"),
)
"""The variables of the environment that every server gets, where they are set."""

# Programs that run another one, whose name says more.
_RUNNERS = re.compile(r"python[\d.]*|pypy[\d.]*|node|deno|bun|bunx|npx|uv|uvx|pipx|docker|podman|bash|sh|env")
_RUNNERS_WORDS = frozenset({"run", "exec", "tool", "x", "dlx"})


@dataclass(frozen=True)
class Address:
    """A server as the user names it."""

    name: str
    command: tuple[str, ...] = ()  # empty where it has a URL
    url: str = ""
    env: tuple[str, ...] = ()  # names of variables that its command gets beside the usual ones

    def __str__(self) -> str:
        name = "" if self.name == _derived(self.command, self.url) else f"--name {self.name} "
        env = f"--env {','.join(self.env)} " if self.env else ""
        return name + env + redact(f"{PREFIX}{self.url or shlex.join(self.command)}")

    def is_place_of(self, other: "Address") -> bool:
        """Whether both are one server."""
        return (self.command, self.url) == (other.command, other.url)


def address(spec: str, name: str | None = None, env: Sequence[str] = ()) -> Address:
    """Return the server that `mcp:COMMAND` or `mcp:URL` names."""
    text = spec.removeprefix(PREFIX).strip()
    command: tuple[str, ...] = ()
    if url := text if re.match(r"https?://", text) else "":
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host, parts = None, urlsplit("")
        if not host or re.search(r"\s", url):
            raise InvalidError(f"{redact(url)!r} is not a URL", "%agent tools add mcp:http://HOST:PORT/PATH")
        if parts.username or parts.password:
            how = 'session.tools.add("mcp:URL", headers={"Authorization": ...}) sends one'
            raise InvalidError("the URL of an MCP server can't hold a password", how)
    else:
        try:
            command = tuple(shlex.split(text))
        except ValueError:
            raise InvalidError("a quote in the command is not closed", "%agent tools add mcp:COMMAND") from None
        if not command:
            how = "%agent tools add mcp:COMMAND, or mcp:http://HOST/PATH"
            raise InvalidError("mcp: needs a command or a URL", how)
    if name is not None and not (_NAME.fullmatch(name) and len(name) <= LONGEST_NAME):
        how = f"use up to {LONGEST_NAME} letters and digits, with single _ or - between them"
        raise InvalidError(f"{name!r} can't be the name of a server", how)
    return Address(name or _derived(command, url), command, url, tuple(env))


def environment(names: Sequence[str], there: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a server's command is started with: nothing but the variables that hold no key, and those the user names."""
    there = os.environ if there is None else there
    if missing := [name for name in names if name not in there]:
        raise NotFoundError(f"there is no environment variable {missing[0]!r}", "set it with os.environ[NAME] = VALUE")
    return {name: there[name] for name in (*PASSED_ON, *names) if name in there}


def _derived(command: Sequence[str], url: str) -> str:
    """Return a name made of the host, or of the program that a command runs: `server` of `python -m server` and of `npx -y @scope/server@1.2`."""
    if url:
        said = str(urlsplit(url).hostname)
    else:
        first = command[0]
        if _RUNNERS.fullmatch(re.split(r"[/\\]", first)[-1]) and not {*command[1:2]} & {"-c", "-e"}:
            named = (word for word in command[1:] if not word.startswith("-") and word not in _RUNNERS_WORDS)
            first = next(named, first)
        last = [part for part in re.split(r"[/\\]", first) if part][-1:]
        said = re.sub(r"(?<=.)@.*|\.(?:py|js|mjs|ts|sh|exe)$", "", last[0]) if last else "server"
    plain = re.sub(r"[^a-zA-Z0-9]+", "_", said).strip("_")
    return (plain if re.match(r"[a-zA-Z]", plain) else f"mcp_{plain}")[:LONGEST_NAME].strip("_")


# -- what an MCP server offers, as tools that a model can be shown: its words are not trusted, and a change is noticed


MOST = 100  # tools of one server; providers take 128 in all
LONGEST_TOOL_NAME = 64  # characters of a tool's name that every provider takes
LONGEST_DESCRIPTION = 2_000
LONGEST_SCHEMA = 20_000  # characters of a tool's parameters, as JSON
LONGEST_WORDS = 500  # characters of what is said of one parameter

Listed = tuple[str, str, Any]  # (name, description, schema of the parameters) of a tool, as a server lists it


@dataclass(frozen=True)
class Offer:
    """A tool of a server, as a model is shown it."""

    name: str  # `server__tool`: no tool of deepnb has two underscores in its name
    own: str  # what the server calls it
    description: str
    schema: Mapping[str, Any]
    fingerprint: str  # the hash of what the server says of it, all of it


def offers(server: str, listed: Iterable[Listed]) -> tuple[tuple[Offer, ...], tuple[str, ...]]:
    """The tools of a server, and a line for each that can't be used."""
    made: dict[str, Offer] = {}
    left_out: list[str] = []
    for own, description, schema in listed:
        problem = ""
        if not own.strip():
            problem = "it has no name"
        elif own in {offer.own for offer in made.values()}:
            problem = "the server lists two tools of this name; the first is used"
        elif not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
            problem = "its parameters are not a JSON object"
        elif len(json.dumps(schema)) > LONGEST_SCHEMA:
            problem = f"its parameters take more than {LONGEST_SCHEMA:,} characters"
        elif len(made) == MOST:
            problem = f"only the first {MOST} tools of a server are used"
        if problem:
            left_out.append(f"{_plain_text(own, LONGEST_TOOL_NAME)!r}: {problem}")
            continue
        name, rounds = f"{server}__{re.sub(r'[^a-zA-Z0-9_-]', '_', own)}", 0
        while len(name) > LONGEST_TOOL_NAME or name in made:  # it ends with the beginning of a hash of its own name
            mark = hashlib.sha256(f"{own}{rounds or ''}".encode("utf-8", "replace")).hexdigest()[:8]
            name, rounds = f"{name[: LONGEST_TOOL_NAME - 9]}_{mark}", rounds + 1
        words = f"The tool {_plain_text(own, LONGEST_TOOL_NAME)} of the MCP server {server}."
        form = {"type": "object", "properties": {}, **_cleaned(schema)}
        words = _plain_text(description, LONGEST_DESCRIPTION) or words
        made[name] = Offer(name, own, words, form, fingerprint(own, description, schema))
    return tuple(made.values()), tuple(left_out)


def fingerprint(own: str, description: str, schema: Any) -> str:
    """A hash of what a server says of a tool."""
    return hashlib.sha256(json.dumps([own, description, schema], sort_keys=True).encode()).hexdigest()


def _cleaned(schema: Any, key: str = "") -> Any:
    """A schema whose words are plain and short; names and values in it are as they were."""
    if isinstance(schema, Mapping):
        return {name: _cleaned(value, name) for name, value in schema.items()}
    if isinstance(schema, str) and key in ("description", "title"):
        return _plain_text(schema, LONGEST_WORDS)
    return [_cleaned(one) for one in schema] if isinstance(schema, list) else schema


def _plain_text(text: str, longest: int) -> str:
    seen = "".join(c for c in text[: 4 * longest] if c in "\n\t" or unicodedata.category(c)[0] != "C").strip()
    return seen if len(seen) <= longest else f"{seen[: longest - 1]}…"
