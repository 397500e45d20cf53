"""What stands beside an agent in an application: langgraph.json, requirements.txt, README.md."""

import json
from collections.abc import Iterable, Sequence

from deepnb.wings.package.values import LeftOut

GRAPH = "agent"
"""The name of the graph on the server."""

COMMANDS = ('pip install -r requirements.txt "langgraph-cli[inmem]"', "langgraph dev --no-browser")


def langgraph_json() -> str:
    """The file that the server reads."""
    return json.dumps({"dependencies": ["."], "graphs": {GRAPH: "./agent.py:graph"}}, indent=2) + "\n"


def requirements_txt(lines: Iterable[str]) -> str:
    """The packages, a line each."""
    return "".join(f"{line}\n" for line in sorted(set(lines), key=str.casefold))


def readme(title: str, keys: Sequence[str], left_out: Sequence[LeftOut]) -> str:
    """How to serve the agent, and what to know of it."""
    key = f"Set {' and '.join(f'`{name}`' for name in keys)} in the environment first.\n\n" if keys else ""
    gone = "".join(f"- {one.name}: {one.why}\n" for one in left_out)
    return _README.format(
        title=title,
        first=COMMANDS[0],
        second=COMMANDS[1],
        key=key,
        left_out=f"\n## Left out\n\n{gone}" if gone else "",
    )


_README = """\
# {title}

An agent of a notebook as a LangGraph application, written by deepnb. `agent.py` makes the graph, `files/` has its memory
and skills.

```sh
{first}
{second}
```

{key}**`langgraph dev` has no authentication.** Whoever can reach its port can run the agent with your keys, approve its
calls, and read its memory. It listens on 127.0.0.1: keep it there.

- The in-memory server (`langgraph-api`, which `langgraph-cli[inmem]` installs) is under the Elastic License 2.0, and is
  therefore not in `requirements.txt`.
- The first run of an assistant copies `files/` into the server's store; if the server knows users, each has a copy. From
  then on the store is the memory, and a change in `files/` reaches new assistants only.
- A call that can't be undone interrupts the run, also one that writes memory. `approve=` in `agent.py` says which calls do.
- The system prompt is that of the notebook. `system_prompt=` in `agent.py` sets another.
- `langgraph dev` sends usage data to LangSmith and asks PyPI for its newest version. To turn that off, set
  `LANGGRAPH_CLI_NO_ANALYTICS=1`, `LANGGRAPH_NO_VERSION_CHECK=true` and `LANGSMITH_TRACING=false`.
{left_out}"""
