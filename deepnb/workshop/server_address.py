"""Where an MCP server is: a command to start, or a URL; its name, and the environment that a command is started in."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    command: tuple[str, ...] = ()
    """Empty where it has a URL."""
    url: str = ""
    env: tuple[str, ...] = ()
    """Names of variables that its command gets beside the usual ones."""

    def __str__(self) -> str:
        """The address as it is typed again, without credentials."""
        name = "" if self.name == _derived(self) else f"--name {self.name} "
        env = f"--env {','.join(self.env)} " if self.env else ""
        return name + env + redact(f"{PREFIX}{self.url or shlex.join(self.command)}")

    def is_place_of(self, other: "Address") -> bool:
        """Whether both are one server."""
        return (self.command, self.url) == (other.command, other.url)


def address(spec: str, name: str | None = None, env: Sequence[str] = ()) -> Address:
    """The server that `mcp:COMMAND` or `mcp:URL` names."""
    text = spec.removeprefix(PREFIX).strip()
    is_url = re.match(r"https?://", text)
    made = Address("", url=_checked_url(text)) if is_url else Address("", command=_words(text))
    if name is not None and not (_NAME.fullmatch(name) and len(name) <= LONGEST_NAME):
        raise InvalidError(
            f"{name!r} can't be the name of a server",
            f"use up to {LONGEST_NAME} letters and digits, with single _ or - between them",
        )
    return Address(name or _derived(made), made.command, made.url, tuple(env))


def environment(names: Sequence[str], there: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a server's command is started with: nothing but the variables that hold no key, and those the user names."""
    there = os.environ if there is None else there
    if missing := [name for name in names if name not in there]:
        raise NotFoundError(f"there is no environment variable {missing[0]!r}", "set it with os.environ[NAME] = VALUE")
    return {name: there[name] for name in (*PASSED_ON, *names) if name in there}


def _words(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        raise InvalidError("a quote in the command is not closed", "%agent tools add mcp:COMMAND") from None
    if not words:
        raise InvalidError("mcp: needs a command or a URL", "%agent tools add mcp:COMMAND, or mcp:http://HOST/PATH")
    return words


def _checked_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    if not host or re.search(r"\s", text):
        raise InvalidError(f"{redact(text)!r} is not a URL", "%agent tools add mcp:http://HOST:PORT/PATH")
    if parts.username or parts.password:
        raise InvalidError(
            "the URL of an MCP server can't hold a password",
            'session.tools.add("mcp:URL", headers={"Authorization": ...}) sends one',
        )
    return text


def _derived(of: Address) -> str:
    """A name made of the host, or of the program that the command runs."""
    said = str(urlsplit(of.url).hostname) if of.url else _program(of.command)
    plain = re.sub(r"[^a-zA-Z0-9]+", "_", said).strip("_")
    return (plain if re.match(r"[a-zA-Z]", plain) else f"mcp_{plain}")[:LONGEST_NAME].strip("_")


def _program(words: Sequence[str]) -> str:
    """`server` of `python -m server` and of `npx -y @scope/server@1.2`."""
    first = words[0]
    if _RUNNERS.fullmatch(re.split(r"[/\\]", first)[-1]) and words[1:2] not in (("-c",), ("-e",)):
        named = (word for word in words[1:] if not word.startswith("-") and word not in _RUNNERS_WORDS)
        first = next(named, first)
    last = [part for part in re.split(r"[/\\]", first) if part][-1:]
    return re.sub(r"(?<=.)@.*|\.(?:py|js|mjs|ts|sh|exe)$", "", last[0]) if last else "server"
