"""The tools that a user gives the agent: functions, LangChain tools, and those of MCP servers."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deepnb.running.workspace import Workspace
from deepnb.session.approvals import SessionApprovals
from deepnb.session.part import Part
from deepnb.values.agent import TASK
from deepnb.values.approvals import Policy, policy_of
from deepnb.values.code import CODE_TOOLS, PROPOSAL_TOOLS
from deepnb.values.errors import DeepnbError, InvalidError, NotFoundError, NotInstalledError, RefusedError
from deepnb.wiring.options import check_parts
from deepnb.workshop.approvals import NOTES, READS, WRITES
from deepnb.workshop.server_facts import PREFIX, Address, address

if TYPE_CHECKING:
    import pandas as pd
    from langchain_core.tools import BaseTool

    from deepnb.workshop.servers import Server

TIMEOUT = 300.0
"""Seconds that a call of a server's tool may take."""
LONGEST_TIMEOUT = 86_400

_OURS = frozenset({*READS, *WRITES, *NOTES, TASK, *CODE_TOOLS, *PROPOSAL_TOOLS})
"""Names of deepnb's own tools, those of parts that are switched off too."""


@dataclass(frozen=True)
class AddedTools:
    """What became of `tools.add`."""

    names: tuple[str, ...]
    changed: tuple[str, ...] = ()
    """Those of a server that are not what they were when they were added before: their approvals are withdrawn."""
    left_out: tuple[str, ...] = ()
    """Why tools of a server can't be used, a line for each."""


@dataclass(frozen=True)
class ServerState:
    """An MCP server as it is listed."""

    name: str
    address: str
    """What is typed after `%agent tools add`."""
    tools: tuple[str, ...]
    problem: str = ""
    """Why it has ended; empty while it is running."""
    changed: tuple[str, ...] = ()
    """Tools that it has changed since they were added: calls of them are refused."""


class SessionTools(Part):
    """The tools of a session that are the user's own, and the MCP servers that were started for them."""

    def __init__(self, workspace: Workspace, approvals: SessionApprovals) -> None:
        super().__init__(workspace)
        self._approvals = approvals
        self._servers: dict[str, Server] = {}
        self._known: dict[str, tuple[Address, str]] = {}
        """Name of a server's tool -> its server and fingerprint when it was last added."""
        weakref.finalize(self, _stop, self._servers).atexit = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the user's own tools."""
        return tuple(map(name_of, self._workspace.options.tools))

    @property
    def servers(self) -> tuple[ServerState, ...]:
        """The MCP servers, those that have ended too."""
        return tuple(
            ServerState(name, str(one.address), self._tools_of(name), one.problem, tuple(sorted(one.changed)))
            for name, one in self._servers.items()
        )

    def list(self) -> pd.DataFrame:
        """One row per tool, the agent's own too: name, what happens to its calls, the server it is of, description."""
        import pandas as pd

        built = self._workspace.built.tools
        rows = [(name, self._approvals.words(name), self._server_of(name), said) for name, said in built]
        return pd.DataFrame(rows, columns=["name", "calls", "server", "description"])

    def add(
        self,
        *tools: BaseTool | Callable[..., object] | str,
        name: str | None = None,
        env: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
        timeout: float = TIMEOUT,
    ) -> AddedTools:
        """Let the agent call functions, LangChain tools and MCP servers, from the next turn on; one of the same name is replaced.

        A server is `mcp:COMMAND` or `mcp:URL`; it is started now, and ends with the session, or when it is removed.
        Only for servers:

        - name: what the names of its tools begin with, in the place of one made of its command or host
        - env: names of environment variables that its command gets beside `PATH`, `HOME` and the like
        - headers: sent with each request to a URL
        - timeout: seconds that a call may take
        """
        self._workspace.current.idle()
        specs = [tool for tool in tools if isinstance(tool, str)]
        given = [tool for tool in tools if not isinstance(tool, str)]
        if name is not None and len(specs) != 1:
            raise InvalidError("name is for one MCP server", "add the servers one by one")
        if not (isinstance(timeout, int | float) and 0 < timeout <= LONGEST_TIMEOUT):
            raise InvalidError(f"timeout can't be {timeout!r}", f"give seconds above 0, at most {LONGEST_TIMEOUT:,}")
        places = [self._place(spec, name, env) for spec in specs]
        if len({place.name for place in places}) < len(places):
            raise InvalidError("two of these servers have the same name", "add them one by one, with a name")
        check_parts(tuple(given), (), None, None)
        for tool in given:
            self._check(tool)
        started: list[Server] = []
        try:
            for place in places:
                try:
                    from deepnb.workshop.servers import opened
                except ImportError as error:
                    if (error.name or "").partition(".")[0] not in ("mcp", "langchain_mcp_adapters"):
                        raise
                    what, do = "MCP servers need the package langchain-mcp-adapters", "%pip install 'deepnb[mcp]'"
                    raise NotInstalledError(what, do) from None
                started += [opened(place, timeout, headers)]
            return self._joined(given, started)
        except BaseException:
            _stop({one.name: one for one in started})
            raise

    def remove(self, *names: str) -> tuple[str, ...]:
        """Take tools of the user's, or all of a server, from the agent; gives the names of the tools. A server that is left with none ends."""
        work = self._workspace
        work.current.idle()
        gone: list[str] = []
        for name in names:
            if name not in self._servers and name not in self.names:
                if any(name == tool for tool, _ in work.built.tools):
                    raise RefusedError(f"{name} is one of the agent's own tools", f"%agent tools deny {name}")
                what = f"there is no tool or server {name!r} to remove (there are: "
                what += f"{', '.join((*self._servers, *self.names)) or 'none'})"
                raise NotFoundError(what, "%agent tools lists all")
            gone += self._tools_of(name) if name in self._servers else (name,)
        work.configure({"tools": [tool for tool in work.options.tools if name_of(tool) not in gone]})
        for name in [n for n in self._servers if n in names or not self._tools_of(n)]:
            self._servers.pop(name).close()
        return tuple(gone)

    def off(self, *names: str) -> None:
        """Leave tools, the agent's own too, out of all requests from the next turn on."""
        there = [name for name, _ in self._workspace.built.tools]
        if unknown := [name for name in names if name not in (*there, *self._workspace.options.tools_off)]:
            raise NotFoundError(f"there is no tool {unknown[0]!r}", "%agent tools lists all")
        self._switch((*self._workspace.options.tools_off, *names))

    def on(self, *names: str) -> None:
        """Bring tools back that are off."""
        off = self._workspace.options.tools_off
        if unknown := [name for name in names if name not in off]:
            do = "%agent tools lists all"
            raise NotFoundError(f"{unknown[0]!r} is not off (off are: {', '.join(off) or 'none'})", do)
        self._switch([name for name in off if name not in names])

    def close(self) -> None:
        """End the servers."""
        servers = tuple(self._servers.values())
        _stop(self._servers)
        for one in servers:
            one.close()

    def _joined(self, given: Sequence[Any], servers: Sequence[Server]) -> AddedTools:
        work = self._workspace
        replaced = {*map(name_of, given), *(tool for one in servers for tool in self._tools_of(one.name))}
        kept = [tool for tool in work.options.tools if name_of(tool) not in replaced]
        taken = {*map(name_of, (*kept, *given))}
        found: list[tuple[Server, Any, tuple[str, ...]]] = []
        if servers:  # without one the extra is not needed
            from deepnb.workshop.servers import server_tools

            found = [(server, *server_tools(server, taken)) for server in servers]
        new = [*given, *(tool for _, made, _ in found for tool in made)]
        facts = {tool.name: (server.address, tool.offer.fingerprint) for server, made, _ in found for tool in made}
        known = {name: self._known[name] for name in facts if name in self._known}
        same = {n for n, (place, mark) in known.items() if place.is_place_of(facts[n][0]) and mark == facts[n][1]}
        changed = tuple(name for name in known if name not in same)
        changes: dict[str, Any] = {"tools": [*kept, *new]}
        if changed:  # no call of these runs unasked
            policy = policy_of(work.options.approve)
            rules = {name: rule for name, rule in policy.rules.items() if rule != "allow" or name not in changed}
            rules = {**dict.fromkeys(changed, "ask"), **rules} if policy.mode == "allow" else rules
            changes["approve"] = Policy(policy.mode, rules).option
        work.configure(changes)
        for name in facts:
            if name in changed or name not in known:  # what was allowed there was another tool of this name
                work.threads.withdraw(name)
        self._known |= facts
        before = [self._servers.pop(one.name) for one in servers if one.name in self._servers]
        self._servers |= {one.name: one for one in servers}
        for one in before:
            one.close()
        left_out = tuple(f"{server.name} {line}" for server, _, lines in found for line in lines)
        return AddedTools(tuple(map(name_of, new)), changed, left_out)

    def _switch(self, off: Sequence[str]) -> None:
        self._workspace.current.idle()
        self._workspace.configure({"tools_off": tuple(dict.fromkeys(off))})

    def _tools_of(self, server: str) -> tuple[str, ...]:
        there = self._servers.get(server)
        tools = self._workspace.options.tools if there is not None else ()
        return tuple(name_of(tool) for tool in tools if getattr(tool, "server", None) is there)

    def _server_of(self, name: str) -> str:
        return next((server for server in self._servers if name in self._tools_of(server)), "")

    def _place(self, spec: str, name: str | None, env: Sequence[str]) -> Address:
        if not spec.startswith(PREFIX):
            do = "pass a function with a docstring, a LangChain tool, or 'mcp:COMMAND'"
            raise InvalidError(f"{spec!r} is not a tool", do)
        place = address(spec, name, env)
        there = self._servers.get(place.name)
        if there is not None and not place.is_place_of(there.address):
            do = f"give this one another name, or %agent tools remove {place.name}"
            raise RefusedError(f"there is a server {place.name} already ({there.address})", do)
        return place

    def _check(self, tool: Any) -> None:
        """Raise an error for a tool that no model could call, or that would take the place of another."""
        if isinstance(tool, Mapping):  # a tool that the provider runs
            return
        name = name_of(tool)
        if not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
            raise InvalidError(f"{name!r} can't be the name of a tool", "use up to 64 of a-z, A-Z, 0-9, _ and -")
        own = {*_OURS, *(tool for tool, _ in self._workspace.built.tools)} - {*self.names}
        if name in own:
            raise RefusedError(f"{name} is one of the agent's own tools", "give the function another name")
        if server := self._server_of(name):
            raise RefusedError(f"{name} is a tool of the server {server}", "give the function another name")
        from langchain_core.utils.function_calling import convert_to_openai_tool

        from deepnb.engine.tools import described

        try:
            for one in described([tool]):
                convert_to_openai_tool(one)
        except DeepnbError:
            raise
        except Exception as error:
            what = f"{name} can't be a tool: its parameters have no JSON schema ({type(error).__name__})"
            raise InvalidError(what, "annotate them with str, int, float, bool, list or dict") from None


def name_of(tool: Any) -> str:
    """What the model calls a tool by."""
    if isinstance(tool, Mapping):
        return str(tool.get("name") or tool.get("function", {}).get("name") or tool.get("type", "tool"))
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", "tool"))


def _stop(servers: dict[str, Server]) -> None:
    """Begin to end servers; nobody waits, since this may run wherever Python collects what is gone."""
    for one in tuple(servers.values()):
        one.stop()
    servers.clear()
