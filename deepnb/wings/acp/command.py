"""`python -m deepnb acp`: an agent that a client starts, and the entry that has a client start it."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deepnb.values.errors import NotInstalledError

_JUPYTER_AI = """\
# For Jupyter AI 3: save this as .jupyter/personas/deepnb_persona.py in the directory that JupyterLab is started in,
# then type /refresh-personas in a chat.
from jupyter_ai_acp_client.base_acp_persona import BaseAcpPersona
from jupyter_ai_persona_manager import PersonaDefaults

class DeepnbPersona(BaseAcpPersona):
    NOTEBOOK_EDITING_GUIDANCE = ""  # deepnb has tools for notebooks, and takes a prompt for the user's own words
    about = "An agent that shares its memory with your notebooks"
    defaults = PersonaDefaults(name="deepnb", description=about, avatar_path="", system_prompt="unused")

    def __init__(self, *args, **kwargs):
        super().__init__(*args, executable={command}, **kwargs)"""


def run_acp(*, register: str | None = None, **given: Any) -> int:
    """Serve a client until it goes; with `register` print the entry for that client. `given` are fields of `Setup`."""
    if find_spec("acp") is None:
        raise NotInstalledError("the Agent Client Protocol needs agent-client-protocol", 'pip install "deepnb[acp]"')
    for name in ("keep", "persist"):
        if given.get(name) is not None and "://" not in given[name]:
            given[name] = str(Path(given[name]).expanduser().absolute())
    if register is not None:
        words = [w for name in ("model", "keep", "persist") if given.get(name) for w in (f"--{name}", given[name])]
        words += [w for one in given.get("mcp", ()) for w in ("--mcp", one)] + ["--mount"] * given.get("mount", False)
        command = [sys.executable, "-m", "deepnb", "acp", *words]
        entry = {"agent_servers": {"deepnb": {"command": command[0], "args": command[1:]}}}
        jupyter_ai = _JUPYTER_AI.replace("{command}", json.dumps(command))
        print(json.dumps(entry, indent=2) if register == "zed" else jupyter_ai)
    else:
        from deepnb.wings.acp.agent import Agent
        from deepnb.wings.acp.chat import Setup
        from deepnb.wings.acp.process import run

        run(Agent(Setup(**given)))
    return 0
