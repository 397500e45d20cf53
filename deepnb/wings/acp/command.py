"""`python -m deepnb acp`: the process that a client starts, and the entry that has a client start it."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import threading
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnb.values.errors import NotInstalledError

if TYPE_CHECKING:
    from deepnb.wings.acp.agent import Agent
    from deepnb.wings.acp.turns import Turns
    from deepnb.wings.acp.wire import Log

_JUPYTER_AI = '''\
# For Jupyter AI 3: save this as .jupyter/personas/deepnb_persona.py in the directory that JupyterLab is started in,
# then type /refresh-personas in a chat.
from jupyter_ai_acp_client.base_acp_persona import BaseAcpPersona
from jupyter_ai_persona_manager import PersonaDefaults


class DeepnbPersona(BaseAcpPersona):
    NOTEBOOK_EDITING_GUIDANCE = ""  # deepnb has tools for notebooks, and takes a prompt for the user's own words

    def __init__(self, *args, **kwargs):
        super().__init__(*args, executable={command}, **kwargs)

    @property
    def defaults(self):
        about = "An agent that shares its memory with your notebooks"
        return PersonaDefaults(name="deepnb", description=about, avatar_path="", system_prompt="unused")'''


def run_acp(*, register: str | None = None, **given: Any) -> int:
    """Serve a client on the standard input and output until it goes; with `register` print the entry for that client.

    What is `given` are the fields of `Setup`.
    """
    if find_spec("acp") is None:
        raise NotInstalledError("the Agent Client Protocol needs agent-client-protocol", 'pip install "deepnb[acp]"')
    for name in ("keep", "persist"):
        if given.get(name) is not None and "://" not in given[name]:
            given[name] = str(Path(given[name]).expanduser().absolute())
    if register is not None:
        print(_entry(register, given))
        return 0
    from deepnb.wings.acp.agent import Agent
    from deepnb.wings.acp.chat import Setup
    from deepnb.wings.acp.turns import Turns
    from deepnb.wings.acp.wire import Log, take_pipes

    pipes, turns, log, over = take_pipes(), Turns(), Log(), threading.Event()
    logging.basicConfig(handlers=[log], level=logging.WARNING)
    agent = Agent(Setup(**given), turns)
    served = threading.Thread(target=_serve, args=(agent, turns, pipes, log, over), daemon=True)
    served.start()
    turns.serve()
    agent.close()
    over.set()
    served.join(5)
    return 0


def _serve(agent: Agent, turns: Turns, pipes: Any, log: Log, over: threading.Event) -> None:
    from acp import AgentSideConnection

    from deepnb.wings.acp.wire import open_pipes

    async def serve() -> None:
        writer, lines = await open_pipes(pipes, log)
        client = AgentSideConnection(agent, writer, lines, listening=False, use_unstable_protocol=True)
        ended = asyncio.create_task(asyncio.to_thread(over.wait))
        await asyncio.wait((asyncio.create_task(client.listen()), ended), return_when=asyncio.FIRST_COMPLETED)
        if agent.is_busy:
            log.say("the client has gone: the turn was stopped, what it reached is kept, and what asks for approval waits")
        log.is_over = True
        turns.end()
        await ended
        with suppress(Exception):
            await client.close()

    try:
        asyncio.run(serve())
    except ValueError:  # of asyncio: a file
        log.say("the Agent Client Protocol is spoken over pipes: let a client start this command")
    finally:
        turns.end()


def _entry(client: str, given: dict[str, Any]) -> str:
    """Return what is entered in a client's list of agents to have this command started."""
    words = [word for name in ("model", "keep", "persist") if given.get(name) for word in (f"--{name}", given[name])]
    words += [word for one in given.get("mcp", ()) for word in ("--mcp", one)] + ["--mount"] * given.get("mount", False)
    command = [sys.executable, "-m", "deepnb", "acp", *words]
    if client == "zed":
        return json.dumps({"agent_servers": {"deepnb": {"command": command[0], "args": command[1:]}}}, indent=2)
    return _JUPYTER_AI.replace("{command}", json.dumps(command))
