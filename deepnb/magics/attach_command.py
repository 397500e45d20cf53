"""`%agent use VARIABLE` where that holds a compiled graph: a new thread on it, and what it lacks."""

from __future__ import annotations

from typing import Any

from deepnb.magics.scene import Args, Result, Scene, notice
from deepnb.views.features import features_view
from deepnb.wiring.attachment import is_graph


def held_graph(scene: Scene, name: str | None) -> Any:
    """The graph that a variable of this name holds; None where it holds none."""
    value = scene.namespace.get(name) if name else None
    return value if is_graph(value) else None


def attach(scene: Scene, args: Args, graph: Any) -> Result:
    """Put a graph in the place of the agent in use; what it lacks is said when it is new."""
    name = args["model"]
    session, new = scene.sessions.attach(name, graph, args["messages_key"])
    if session.turns or session.snapshot.messages:
        session.new()
    scene.show(notice(f"thread {session.thread} on {name}; %agent use MODEL goes back to deepnb's agent"))
    return features_view(session.features, session.memory.stamp) if new else None
