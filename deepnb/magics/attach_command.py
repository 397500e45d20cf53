"""`%agent use` with a variable that holds a compiled graph, or with an address: a new thread on it, and what it lacks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from deepnb.core.server_address import server_address
from deepnb.magics.scene import Args, Result, Scene, notice
from deepnb.views.features import features_view
from deepnb.views.table import table_view
from deepnb.wiring.attachment import is_graph


def held_graph(scene: Scene, name: str | None) -> Any:
    """The graph that a variable of this name holds; None where it holds none."""
    value = scene.namespace.get(name) if name else None
    return value if is_graph(value) else None


def attach_server(scene: Scene, args: Args) -> Result:
    """Put the agent at an address in the place of the one in use; of an address without one, list them."""
    from deepnb.session.server_header import enter_header
    from deepnb.wiring.served import assistants, server

    address, header = server_address(args["model"]), args["header"]
    if not address.assistant:
        if header:
            enter_header(address, header)
            args = {**args, "header": None}
        listed = assistants(server(address))
        if len(listed) != 1:
            rows = [(one.shown, one.graph, f"%agent use {address.url}/{one.shown}") for one in listed]
            return table_view(("assistant", "graph", "type"), rows, f"assistants at {address.host}", (), "none")
        address = replace(address, assistant=listed[0].shown)
    return attach(scene, {**args, "model": str(address)}, str(address))


def attach(scene: Scene, args: Args, graph: Any) -> Result:
    """Put a graph in the place of the agent in use; what it lacks is said when it is new."""
    name = args["model"]
    session, new = scene.sessions.attach(name, graph, args["messages_key"], args["header"])
    if session.turns or session.snapshot.messages:
        session.new()
    scene.show(notice(f"thread {session.thread} on {name}; %agent use MODEL goes back to deepnb's agent"))
    return features_view(session.features, session.memory.stamp) if new else None
