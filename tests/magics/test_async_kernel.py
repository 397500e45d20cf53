"""The Python face in a real kernel: turns on its event loop, tools that are only coroutines, interrupts, and help."""

from __future__ import annotations

import re
from typing import Any

import pytest

from deepnb.wiring.options import Options
from tests.support.kernels import HANG, Kernel

pytestmark = pytest.mark.kernel

TOOLS = """
import asyncio, deepnb
from deepnb.testing import ScriptedModel as Scripted, call

async def fetch(page: str) -> str:
    "Fetch a page."
    await asyncio.sleep(0.01)
    return f"text of {page}"

async def hang() -> str:
    "Wait for ever."
    print("hanging", flush=True)
    await asyncio.Event().wait()

def session(*answers):
    allowed = {"fetch": "allow", "hang": "allow"}
    return deepnb.Session(model=Scripted(answers=[*answers]), tools=[fetch, hang], approve=allowed)

def results(turn):
    return [e.result for e in turn.events if isinstance(e, deepnb.ToolEnded)]
"""
WAYS = {
    "run": "turn = s.run('p')",
    "arun": "turn = await s.arun('p')",
    "cell": "%%agent --quiet\np",
}


def begin(kernel: Kernel, tool: str, way: str) -> None:
    """A session `s` whose model calls a tool once: that of the extension, for a cell."""
    kernel.ok(TOOLS)
    args = ", page='a'" if tool == "fetch" else ""
    kernel.ok(f"s = session(call({tool!r}{args}), 'done')")
    if way == "cell":
        kernel.ok("s.close(); given = s.options; s = deepnb.current()")
        kernel.ok("s.configure(model=given.model, tools=given.tools, approve=given.approve)")


def test_a_coroutine_is_a_tool(kernel: Kernel):
    shown = {}
    for way, cell in WAYS.items():
        begin(kernel, "fetch", way)
        kernel.ok(cell)
        shown[way] = kernel.value("(results(s.turns[-1]), s.text)")
    assert shown == dict.fromkeys(WAYS, "(['text of a'], 'done')")


def test_interrupted_in_a_coroutine_the_kernel_is_free_and_the_turn_resumes(kernel: Kernel):
    def stop(kernel: Kernel, message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream" and "hanging" in message["content"]["text"]:
            kernel.interrupt()

    for way, cell in WAYS.items():
        begin(kernel, "hang", way)
        ran = kernel.wait(kernel.send(cell), stop)
        assert ran.status == "error", way
        assert kernel.value("s.turns[-1].interrupted") == "'interrupted in the tool hang'", way
        kernel.ok("for event in s.resume('skip'): pass")
        assert kernel.value("s.text") == "'done'", way


def test_three_at_once_on_three_sessions(kernel: Kernel):
    kernel.ok(TOOLS)
    kernel.ok("sessions = [session(call('fetch', page=str(n)), f'answer {n}') for n in range(3)]")
    kernel.ok("turns = await asyncio.gather(*(s.arun('p') for s in sessions))")
    assert kernel.value("[t.text for t in turns]") == "['answer 0', 'answer 1', 'answer 2']"
    assert kernel.value("[results(t) for t in turns]") == "[['text of 0'], ['text of 1'], ['text of 2']]"


def test_shift_tab_on_session_lists_every_option_with_a_line(kernel: Kernel):
    kernel.ok("import deepnb")
    content = kernel.client.inspect("deepnb.Session", detail_level=0, reply=True, timeout=HANG)["content"]
    assert content["found"]
    text = re.sub(r"\x1b\[[0-9;]*m", "", content["data"]["text/plain"])
    signature, _, docstring = text.partition("Docstring:")
    for name in Options.__dataclass_fields__:
        assert re.search(rf"\b{name}\b", signature), f"{name} is not in the signature"
        assert re.search(rf"^- {name}: \S+ \S+", docstring, re.M), f"{name} has no line"


def test_tab_completes_options(kernel: Kernel):
    kernel.ok("import deepnb")
    for begun, option in (("deepnb.Session(max_in", "max_input_tokens="), ("s.configure(memory_re", "memory_refresh=")):
        kernel.ok("s = deepnb.Session()")
        matches = kernel.client.complete(begun, reply=True, timeout=HANG)["content"]["matches"]
        assert any(option.rstrip("=") in match for match in matches), matches
