"""What is used from the cells of a notebook: deepnb, a bare deep agent, LangGraph's dev server, Jupyter AI's magics."""

import json
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from tests import ROOT
from tests.bench.drivers import model as m
from tests.support.kernels import Kernel, Ran
from tests.support.langgraph_server import LangGraphServer


@dataclass(frozen=True, kw_only=True)
class InKernel(m.Way):
    served: bool = False

    def start(self, python: Path, home: Path, env: Mapping[str, str], sent: Callable[[], int]) -> "Cells":
        return Cells(self, python, home, env, sent)


class Cells:
    """A kernel, and the server beside it where there is one."""

    def __init__(
        self, one: InKernel, python: Path, home: Path, env: Mapping[str, str], sent: Callable[[], int]
    ) -> None:
        self.one, self.python, self.home, self.received, self.sent = one, python, home, 0, sent
        self.env = {**os.environ, "IPYTHONDIR": f"{home}/ipython", "JUPYTER_RUNTIME_DIR": f"{home}/runtime", **env}
        for name, text in one.files.items():
            (home / name).write_text(text)
        if one.served:
            self.server = LangGraphServer(home, python.parent, home, env)
            self.env["SERVER"] = self.server.url
        self.begin()

    def begin(self) -> None:
        if self.one.served:
            self.server.start()
        self.kernel = Kernel(str(self.home), self.env, [str(self.python)])
        for cell in self.one.first:
            self.do(cell)

    def do(self, step: str) -> str:
        if step == m.RESTART:
            self.close()
            self.begin()
            return ""
        if step.startswith(m.STOPPED):
            Thread(target=self.stop, args=[self.sent()], daemon=True).start()
        ran = self.kernel.run(step.removeprefix(m.STOPPED))
        self.received += sum(len(json.dumps(one["content"], default=str)) for one in ran.messages)
        return shown(ran)

    def stop(self, before: int) -> None:
        while self.sent() == before:
            time.sleep(0.05)
        time.sleep(m.PATIENCE)
        self.kernel.interrupt()

    def pids(self) -> list[int]:
        server = [self.server._process.pid] if self.one.served and self.server._process else []
        return [int(self.kernel.manager.provisioner.pid), *server]  # type: ignore[union-attr]

    def close(self) -> None:
        self.kernel.close()
        if self.one.served:
            self.server.stop()


def shown(ran: Ran) -> str:
    values = [one["data"].get("text/markdown") or one["data"].get("text/plain", "") for one in ran.of("execute_result")]
    plain = [one["data"].get("text/markdown", "") for one in ran.of("display_data")]
    cells = [f"[next cell] {one['text']}" for one in ran.reply.get("payload", ()) if one["source"] == "set_next_input"]
    error = ["\n".join(ran.reply.get("traceback", ()))] if ran.status != "ok" and not ran.asks else []
    return re.sub(r"\x1b\[[\d;]*m", "", "\n".join([ran.text, *plain, *values, *cells, *error]))


DEEPNB = InKernel(
    packages=("-e", f"{ROOT}[openai,sqlite]", "ipykernel", "pandas"),
    first=("%load_ext deepnb", f"%agent use openai:{m.NAME}"), say="%agent {}".format,
    own={
        "remember": [
            "%memory keep notes", f"%agent {m.REMEMBER}", m.RESTART, "%memory keep notes", f"%agent {m.ABOUT}",
        ],
        "request": [f"%agent {m.ASK}", "%agent xray"],
        "approve": ["%agent mount /work disk:.", f"%agent {m.WRITE}", "%agent approve"],
        "revert": [f"%agent {m.REMEMBER}", "%memory diff", "%memory revert 1", "%agent new", f"%agent {m.ABOUT}"],
        "frame": [m.FRAMED, f"%agent {m.FRAME}"],
        "restart": [
            "%agent persist talk.db", f"%agent {m.ASK}", m.RESTART, "%agent persist talk.db", f"%agent {m.AGAIN}",
        ],
        "compare": [f"%agent --compare memory_refresh=call,delta {m.ABOUT}"],
    },
)  # fmt: skip

_AGENT = f"""create_deep_agent(
    "openai:{m.NAME}", memory=["/AGENTS.md"], interrupt_on={{"write_file": True}},
    backend=FilesystemBackend(".", virtual_mode=True)"""
_IMPORTS = """from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
"""
_BEFORE = "import difflib, os\nbefore = open('AGENTS.md').read() if os.path.exists('AGENTS.md') else ''"
_DIFF = "print(*difflib.unified_diff(before.splitlines(), open('AGENTS.md').read().splitlines()), sep='\\n')"
_BACK = "_ = open('AGENTS.md', 'w').write(before)"
_NEXT, _LAST = "get_ipython().set_next_input(", "['messages'][-1]"
_ASK = "ask({!r})".format
_ALIKE = {
    "remember": [_ASK(m.REMEMBER), "ask(yes)", m.RESTART, f"ask({m.ABOUT!r}, two)"],
    "approve": [_ASK(m.WRITE), "ask(yes)"],
    "revert": [_BEFORE, _ASK(m.REMEMBER), "ask(yes)", _DIFF, _BACK, f"ask({m.ABOUT!r}, two)"],
    "frame": [m.FRAMED, f"ask(f'{m.FRAME.replace('planets', '{planets}')}')"],
}
"""Of a graph that is run in cells, in this process or on a server."""
BARE = InKernel(
    packages=("deepagents", "langchain-openai", "langgraph-checkpoint-sqlite", "ipykernel", "pandas"),
    first=(
        f"""{_IMPORTS}from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command
import sqlite3
saver = SqliteSaver(sqlite3.connect("talk.db", check_same_thread=False))
agent = {_AGENT}, checkpointer=saver)
one, two = "1", "2"
yes = Command(resume={{"decisions": [{{"type": "approve"}}]}})
def ask(given, thread=one, agent=agent, **more):
    given = {{"messages": [("user", given)]}} if isinstance(given, str) else given
    config = {{"configurable": {{"thread_id": thread}}, **more}}
    for chunk, _ in agent.stream(given, config, stream_mode="messages"):
        print(chunk.text, end="", flush=True)
    print(*agent.get_state(config).interrupts)""",
    ),
    say=_ASK,
    own={
        **_ALIKE,
        "edit": [
            f"ask({m.EDIT!r})",
            f"{_NEXT}agent.get_state({{'configurable': {{'thread_id': one}}}}).values{_LAST}.text)",
        ],
        "request": [
            f"""from langchain_core.callbacks import BaseCallbackHandler
class Show(BaseCallbackHandler):
    def on_chat_model_start(self, model, messages, **more):
        print(messages, more["invocation_params"]["tools"])
    def on_llm_end(self, answer, **more):
        print(answer.generations[0][0].message.usage_metadata)
ask({m.ASK!r}, callbacks=[Show()])"""
        ],
        "compare": [
            f"""plain = create_deep_agent("openai:{m.NAME}", checkpointer=saver)
for name, other in [("with memory", agent), ("without memory", plain)]:
    print(name)
    ask({m.ABOUT!r}, name, other)"""
        ],
    },
)
SERVER = InKernel(
    packages=("langgraph-cli[inmem]", "deepagents", "langchain-openai", "ipykernel", "pandas"),
    files={
        "graph.py": f"""{_IMPORTS}agent = {_AGENT})
plain = create_deep_agent("openai:{m.NAME}")""",
        "langgraph.json": """{"dependencies": ["."],
 "graphs": {"agent": "./graph.py:agent", "plain": "./graph.py:plain"}}""",
    },
    served=True,
    first=(
        """import os
from langgraph_sdk import get_sync_client
client = get_sync_client(url=os.environ["SERVER"])
one, two, three = (f"{n:032x}" for n in (1, 2, 3))
for thread in one, two, three:
    client.threads.create(thread_id=thread, graph_id="agent", if_exists="do_nothing")
yes = {"resume": {"decisions": [{"type": "approve"}]}}
def ask(given, thread=one, graph="agent"):
    input = {"messages": [{"role": "user", "content": given}]} if isinstance(given, str) else None
    command = None if isinstance(given, str) else given
    stream = client.runs.stream(thread, graph, input=input, command=command, multitask_strategy="interrupt",
                                stream_mode=["messages-tuple", "updates"])
    for part in stream:
        if part.event == "messages":
            content = part.data[0]["content"]
            print(content if isinstance(content, str) else "".join(one.get("text", "") for one in content),
                  end="", flush=True)
        elif "__interrupt__" in part.data:
            print(part.data)""",
    ),
    say=_ASK,
    own={
        **_ALIKE,
        "edit": [f"ask({m.EDIT!r})", f"{_NEXT}client.threads.get(one)['values']{_LAST}['content'][0]['text'])"],
        "request": [f"ask({m.ASK!r})", "print(client.threads.get(one), client.runs.list(one))"],
        "compare": [
            f"""for name, thread, graph in [("with memory", two, "agent"), ("without memory", three, "plain")]:
    print(name)
    ask({m.ABOUT!r}, thread, graph)"""
        ],
    },
)


def _ai(prompt: str, options: str = "") -> str:
    return f"%%ai openai-chat:{m.NAME}{options}\n{prompt}"


MAGICS = InKernel(
    packages=("jupyter-ai-magics<3", "langchain-openai", "ipykernel", "pandas"),
    first=("%load_ext jupyter_ai_magics",),
    say=_ai,
    own={
        "request": [_ai(m.ASK), "%ai help"],
        "revert": [_ai(m.REMEMBER), "%ai help", _ai(m.ABOUT)],
        "edit": [_ai(m.EDIT, " -f code")],
        "frame": [m.FRAMED, _ai(m.FRAME.replace("planets", "{planets}"))],
        "compare": [
            f"""for name in "{m.NAME}", "gpt-4o-mini":
    print(name)
    display(get_ipython().run_cell_magic("ai", f"openai-chat:{{name}}", {m.ABOUT!r}))"""
        ],
    },
)
