"""An agent on a LangGraph server in the place of the one that `build` makes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from deepnb.engine import keys
from deepnb.gate import add_own
from deepnb.models.keys import Key
from deepnb.session.models import ask_hidden
from deepnb.values.agent import Feature, Features
from deepnb.values.budget import rule_for
from deepnb.values.errors import InvalidError, NotFoundError, NotInstalledError, RefusedError
from deepnb.values.server_address import ServerAddress, server_address
from deepnb.wiring.attachment import Attachment, own_ways
from deepnb.wiring.build import Built
from deepnb.wiring.layers import Host
from deepnb.wiring.model import meter_of
from deepnb.wiring.options import OF_THE_GRAPH, Options, changed
from deepnb.workshop.approvals import Effects

if TYPE_CHECKING:
    from deepnb.wings.server.server import Server

INSTALL = "pip install 'deepnb[server]'"
_OWN_PROMPTS = ("memory", "messages_key")


@dataclass(frozen=True)
class Assistant:
    """One agent of a server."""

    id: str
    graph: str
    name: str
    """As in an address: the graph's own for the assistant that comes with it."""


def server(address: ServerAddress) -> Server:
    """Return the server at an address, with the header that was entered for it."""
    try:
        from deepnb.wings.server.server import Server
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("langgraph_sdk", "httpx"):
            raise
        raise NotInstalledError("an agent on a server needs langgraph-sdk", INSTALL) from None
    name, value = _HEADERS.get(address.url, ("", None))
    return Server(address, name, value.reveal if value else str)


def assistants(found: Server) -> list[Assistant]:
    rows: Any = found.ask(found.client.assistants.search, limit=100)
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) and "assistant_id" in row for row in rows):
        raise InvalidError(f"what answers at {found.address.url} is no LangGraph server", "%agent use http://host:port")
    named = ((str(row["assistant_id"]), str(row["graph_id"]), str(row.get("name") or "")) for row in rows)
    return sorted((Assistant(id_, graph, name or graph) for id_, graph, name in named), key=attrgetter("name"))


def chosen(found: Server) -> Assistant:
    """Return the agent that an address means, by name, by its graph's, or by id; the only one if none is named."""
    listed, name = assistants(found), found.address.assistant
    if not name and len(listed) == 1:
        return listed[0]
    for field in ("name", "graph", "id"):
        if one := next((one for one in listed if name and getattr(one, field) == name), None):
            return one
    url = found.address.url
    do = ", ".join(f"%agent use {url}/{one.name}" for one in listed) or "deploy one"
    if not name:
        raise InvalidError(f"{url} has {len(listed)} assistants", do)
    raise NotFoundError(f"{url} has no assistant {name!r}", do)


def served_options(given: Mapping[str, Any]) -> Options:
    """Return the options of a session on an agent of a server: what was `given`, the rest as the server has it."""
    usual = Options()
    refused = (OF_THE_GRAPH | {"backend", "checkpointer", "store", "assistant_id"}) - {*_OWN_PROMPTS}
    if wrong := next((one for one in given if one in refused and given[one] != getattr(usual, one)), None):
        raise RefusedError(f"{wrong} can't be given with the address of a server", "set it where the graph is made")
    found = server(server_address(given["graph"]))
    one = chosen(found)
    made, threads = _attachment(found, one, given["messages_key"], given["memory"])
    own = {name: value for name, value in given.items() if name not in refused | {"graph"}}
    refresh = "thread" if made.stored is None else "delta"
    options = changed(usual, {**own, "backend": made.backend, "memory_refresh": refresh})
    return replace(options, graph=made, checkpointer=threads, model=None, general_purpose=False, enable_subagents=False)


def served(options: Options, host: Host) -> Built:
    """Return the agent with what the session needs to know of it."""
    made = options.graph
    assert made is not None and made.served is not None
    rule = replace(rule_for(options.max_input_tokens), compacts=False)
    meter = meter_of(None, rule)
    meter.unseen = "the server does not show the tools of a request: they are not counted"
    return Built(
        graph=made.served,
        model=made.graph.address.host,
        rule=rule,
        meter=meter,
        compaction=None,
        tools=(),
        guard=host.backend,
        effects=Effects(host.undoable, {}),
        nested={},
        stack=(),
        sees=True,
    )


def _attachment(found: Server, one: Assistant, messages: str, memory: Any) -> tuple[Attachment, Any]:
    from deepagents.backends import StateBackend, StoreBackend

    from deepnb.backends.memory_store import files_of
    from deepnb.engine.attached_graph import GraphParts
    from deepnb.engine.files import ExactStore
    from deepnb.wings.server.graph import ServerGraph
    from deepnb.wings.server.server import ServerStore
    from deepnb.wings.server.threads import Decoder, ServerThreads

    nodes: Any = found.ask(found.client.assistants.get_graph, one.id)
    schemas: Any = found.ask(found.client.assistants.get_schemas, one.id)
    channels = tuple((schemas.get("state_schema") or {}).get("properties") or ())
    if channels and messages not in channels:
        lists = next((name for name in channels if "messages" in name.lower()), "...")
        do = f"%agent use URL --messages-key {lists}"
        raise InvalidError(f"the graph has no channel {messages!r}: it has {', '.join(channels)}", do)
    threads = ServerThreads(found, one.graph, Decoder(messages))
    names = {str(node["id"]).partition(".")[0] for node in nodes.get("nodes") or ()}
    graph = ServerGraph(threads, one.id, nodes, channels or (messages,))
    sources = (memory,) if isinstance(memory, str) else tuple(memory)
    shown = f"{one.name} at {found.address.host}"
    stored = None
    if keys.TOLD in channels:  # the memory of an agent that deepnb packaged, if it has that of one user alone
        store = ServerStore(found)
        spaces = [space for space in store.list_namespaces(prefix=files_of(one.id)) if space[-1] == "files"]
        space = next(iter(spaces), files_of(one.id, "everyone"))
        if len(spaces) < 2:
            stored = StoreBackend(store=ExactStore(store), namespace=lambda _: space)
    features = _features(shown, names, channels, sources, stored)
    files = StateBackend() if "files" in channels else None
    parts = GraphParts((), (), (), False)
    made = Attachment(found, shown, messages, parts, features, files, stored is None, served, graph, stored, nodes)
    return made, threads


def _features(name: str, nodes: set[str], channels: Sequence[str], memory: tuple[str, ...], stored: Any) -> Features:
    """Return what an agent on a server has, as far as the names of its nodes and channels say."""

    def feature(what: str, has: object, said: str, lacks: str, do: str) -> Feature:
        return Feature(what, said) if has else Feature(what, lacks, do, has=False)

    unseen = "the server does not show them", "they are changed where the graph is made"
    add_files, add_history = "deepagents' FilesystemMiddleware()", "deepnb.middleware.CompactionMiddleware(model)"
    no_history = "it offloads nothing", f"add {add_history}"
    add_approvals = 'add LangChain\'s HumanInTheLoopMiddleware(interrupt_on={"TOOL": True})'
    asks = stored is not None or any(re.search("HumanInTheLoop|Approval", node) for node in nodes)
    none_asks = "by the names of its nodes, none asks before a call of a tool"
    held = Feature("memory", f"{', '.join(memory)}, long-term memory and notes in the server's store")
    if stored is None and keys.TOLD in channels:
        do = "session.snapshot.memory is what its prompt holds"
        held = Feature("memory", "the server's store has that of several users", do, has=False)
    elif stored is None and any(re.search("Memory", name) for name in nodes) and "files" in channels:
        what = f"{', '.join(memory)} in the state, unless Session(graph=URL, memory=[...]) says otherwise"
        held = Feature("memory", what)
    elif stored is None:
        do = "add deepnb.middleware.MemoryMiddleware()"
        held = Feature("memory", "no memory files are in its prompt", do, has=False)
    fork, keeps = "%agent fork NAME, then the prompt", "the server keeps its threads"
    found = (
        Feature("window", "the server does not say it", "Session(graph=URL, max_input_tokens=N)", has=False),
        Feature("checkpointer", "the server's: threads go on when this kernel ends"),
        feature(
            "files", "files" in channels, "those in the state of each thread", "its state has none", f"add {add_files}"
        ),
        held,
        feature("skills", stored is not None, "in the server's store", *unseen),
        Feature("subagents", *unseen, has=False),
        feature("history", keys.OFFLOAD in channels, "it offloads what it summarizes", *no_history),
        feature("approvals", asks, "by its own policy", none_asks, add_approvals),
        *own_ways(kept=False),
        Feature("comparisons", "their forks would be its own", fork, has=False, ours=True),
        Feature("persistence by deepnb", keeps, "%agent threads lists them", has=False),
    )
    return Features(name, found)


# -- the header that a server asks for: typed where it can't be seen, or of the environment; held in this process


_HEADERS: dict[str, tuple[str, Key]] = {}
"""Where a server is -> the header that it is sent."""


def enter_header(address: ServerAddress, name: str) -> None:
    """Hold a header for a server: its value is that of a variable of the environment, else it is asked for."""
    variable = f"DEEPNB_HEADER_{re.sub('[^A-Z0-9]', '_', name.upper())}"
    asked = f"value of the header {name} for {address.host}"
    do = f"set {variable} in the environment that starts Jupyter"
    value = (os.environ.get(variable) or ask_hidden(asked, "the value of a header", do)).strip()
    do = f"%agent use {address.url} --header {name} asks again"
    if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
        raise InvalidError(f"{name!r} can't be the name of a header", "--header Authorization, or --header X-Api-Key")
    if not value:
        raise InvalidError("nothing was entered", do)
    if not value.isprintable() or not value.isascii():
        raise InvalidError("what was entered can't be the value of a header", do)
    for credential in {value, value.rpartition(" ")[2]}:  # as it is, and without `Bearer`
        add_own(credential)
    _HEADERS[address.url] = (name, Key(value))
