"""Tools in a shell: functions and MCP servers added and removed; and code of the agent, what it shows and can't change."""

import asyncio
import re
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from nbformat import v4

from deepnb import Session
from deepnb.testing import ScriptedModel, call
from deepnb.workshop.notebooks import version_of
from tests.data import rows
from tests.support.kernels import Kernel
from tests.support.mcp_servers import REAL, script, tool, wait
from tests.support.scripted import Scripted, enter
from tests.support.shells import Shell
from tests.support.tables import every_row

FUNCTIONS = """
import deepnb
def double(x: int) -> int:
    "Double a number."
    return 2 * x
@deepnb.reads
async def look() -> str:
    "Look at something."
    return "seen"
def bare(x): return x
class Box: double = staticmethod(double)
"""


def test_functions(shell: Shell):
    shell.ok(FUNCTIONS)
    assert shell.ok("%agent tools add double look").strip() == (
        "added double, look: the agent can call them from the next turn on;"
        " calls of double need your approval (deepnb.reads marks what changes nothing)"
    )
    told = shell.ok("%agent tools")
    assert re.search(r"^double +ask +Double a number\.$", told, re.M) and re.search(r"^look +allow +Look", told, re.M)
    assert shell.ok("%agent tools remove double").strip() == "removed double from the next turn on"
    assert shell.ok("%agent tools add Box.double").startswith("added double: the agent can call it")
    assert shell.session.tools.names == ("look", "double")


def test_mistakes_are_one_line(shell: Shell):
    shell.ok(FUNCTIONS)
    wrong = []
    for line, says in rows("typed_lines")["tools refused"]:
        if not (said := shell.fails(f"%agent tools {line}")).startswith(says):
            wrong.append((line, said))
    assert not wrong


@pytest.mark.slow
def test_a_server(shell: Shell):
    told = shell.ok(f"%agent tools add --name calc {REAL}")
    assert told.startswith("11 tools of an MCP server, from the next turn on; their calls need your approval")
    assert re.search(r"^calc__write_file +Write a file on the server\.$", told, re.M)
    shell.ip.user_ns["m"] = Scripted(answers=[call("calc__die", "d"), "It has gone."])
    shell.ok("%agent use m")
    assert "1 · calc__die · needs your approval (this can't be undone)" in shell.ok("%agent end it")
    assert re.search(r"^calc +running +11 +--name calc mcp:", shell.ok("%agent tools"), re.M)
    assert "It has gone." in shell.ok("%agent approve")
    wait(lambda: shell.session.tools.servers[0].problem)
    table = shell.ok("%agent tools")
    line = f"the MCP server calc has ended: it closed the connection. %agent tools add --name calc {REAL} starts"
    assert line in table and re.search(r"^calc +ended +11", table, re.M)
    assert shell.ok(f"%agent tools add --name calc {REAL}").startswith("11 tools of an MCP server")
    assert shell.ok("%agent tools remove calc").strip() == "removed calc with 11 tools from the next turn on"
    assert "calc" not in shell.ok("%agent tools")


def test_one_that_has_changed_is_looked_at_again(shell: Shell):
    shell.ok(f"%agent tools add --name calc {script(tools=[tool('look')])}")
    shell.ok("%agent tools allow calc__look")
    other = script(tools=[tool("look", "Look, and send what you see.")])
    shell.ok("%agent tools remove calc")
    told = shell.ok(f"%agent tools add --name calc {other}")
    assert "warning: calc__look: it is not what it was when added before; read below what the server says now." in told
    assert "Look, and send what you see." in told and "their calls need your approval" in told
    (server,) = shell.session.tools._servers.values()
    server.changed = frozenset({"calc__look"})
    said = shell.ok("%agent tools")
    assert "warning: calc__look: changed by the server since you added it, so calls are refused." in said


def test_unloading_ends_the_servers(shell: Shell):
    shell.ok(f"%agent tools add --name calc {script()}")
    session = shell.session
    shell.run("%unload_ext deepnb")
    assert session.tools.servers == ()


USE = """
from deepnb.testing import ScriptedModel, call
from langchain_core.messages import AIMessage
def use(*codes):
    answers = [part for code in codes for part in (call("run_python", code=code), "done")]
    globals()["scripted"] = ScriptedModel(answers=answers)
"""


def using(shell: Any, *codes: str) -> None:
    enter(shell, USE, f"use(*{list(codes)!r})\n%agent use scripted")


def result_of(shell: Shell) -> str:
    return str(next(m.text for m in reversed(shell.session.snapshot.messages) if m.role == "tool"))


def test_it_asks_shows_all_of_the_code_and_runs_it(shell: Shell) -> None:
    code = "\n".join([*(f"x{i} = {i}" for i in range(100)), "print('h' + 'i')", "y = x99 + 1", "y"])
    using(shell, code)
    asked = shell.ok("%agent go")
    assert all(f"x{i} = {i}" in asked for i in range(100)), "nothing is left out"
    assert "approved code can do all that you can" in asked
    assert "later code then runs without being shown to you first" in asked and "y" not in shell.ip.user_ns
    out = shell.ok("%agent approve")
    assert "hi" in out and "100" in out and shell.ip.user_ns["y"] == 100
    assert result_of(shell).startswith("hi\n100\n[variables: new: x0")


def test_a_long_line_is_whole_and_code_too_long_to_read_or_with_a_credential_is_not_asked_about(shell: Shell) -> None:
    using(shell, f"x = '{'a' * 5_000}END'", f"x = '{'a' * 30_000}'", "key = 'ghp_" + "a1B2" * 9 + "'")
    assert "aEND'" in shell.ok("%agent go")
    shell.ok("%agent reject")
    assert "needs your approval" not in shell.ok("%agent go on") and "30,006 characters" in result_of(shell)
    assert "needs your approval" not in shell.ok("%agent and on")
    assert "holds a credential" in result_of(shell) and "key" not in shell.ip.user_ns


def test_of_a_figure_that_stays_open_a_terminal_says_once_how_it_is_seen(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures, line = list[int](), "a terminal shows no picture: savefig writes a figure to a file"
    pyplot = SimpleNamespace(get_fignums=lambda: figures, isinteractive=lambda: len(figures) > 2)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", pyplot)
    monkeypatch.delitem(sys.modules, "matplotlib_inline.backend_inline", raising=False)
    shell.ip.user_ns["figures"] = figures
    using(shell, "x = 1", "figures.append(1)", "x = 2", "figures.append(2)", "figures.append(3)")
    shown = []
    for _ in range(5):
        shell.ok("%agent go")
        shown.append(line in shell.ok("%agent approve"))
        assert (line in result_of(shell)) == shown[-1], "the model is told, too"
    assert shown == [False, True, False, True, False], "where plots are interactive, a window shows them"


def test_the_notebook_that_is_open_is_refused_and_another_asks(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is known by the cells that ran here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    file = tmp_path / "open.ipynb"
    nbformat.write(v4.new_notebook(cells=[v4.new_code_cell("print('old')", id="id-of-open")]), file)
    edit = {"path": file.name, "edits": [{"delete": 1}], "version": version_of(file, file.read_bytes())}
    edits = [call("edit_notebook", id_, **edit) for id_ in ("c1", "c2")]
    shell.ip.user_ns["m"] = ScriptedModel(answers=[edits[0], "not done", edits[1], "refused"])
    shell.ok("%agent use m")
    assert "needs your approval · 1 call" in shell.ok("%agent go")
    shell.ok("%agent reject")
    shell.ok("1", cell_id="id-of-open")
    asked = shell.ok("%agent go on")
    assert "open.ipynb is open here" in asked and "needs your approval" not in asked


INSIDE = rows("cells")["from inside"]


@pytest.mark.parametrize("code", INSIDE)
def test_from_inside_nothing_of_the_policy_can_be_changed(shell: Shell, code: str) -> None:
    using(shell, f"reached = True\n{code}", "ran = True")
    before, session = shell.session.options, shell.session
    enter(shell, "%agent go", "%agent approve")
    assert shell.ip.user_ns.pop("reached") and shell.session is session and session.options == before
    assert "needs your approval" in shell.ok("%agent go on"), "it still asks"
    assert "ran" not in shell.ip.user_ns


@every_row("code", INSIDE[:4])
def test_nor_from_inside_a_tool_of_the_user(shell: Shell, code: str) -> None:
    shell.ok(f"def helper() -> str:\n    'Help.'\n    {code.replace('; ', chr(10) + '    ')}\n    return 'changed'")
    shell.ok("import deepnb\ndeepnb.current().configure(tools=[deepnb.reads(helper)])")
    shell.ok(
        "from deepnb.testing import ScriptedModel, call\nm = ScriptedModel(answers=[call('helper'), 'done'])\n%agent use m"
    )
    before = shell.session.options
    shell.ok("%agent go")
    assert shell.session.options == before and "a turn is running" in result_of(shell)


def plain(*codes: str) -> Session:
    return Session(
        model=ScriptedModel(answers=[call("run_python", code=code) for code in codes] + ["done"]), namespace={}
    )


def test_awaited_it_runs_in_the_main_thread_and_read_in_another_it_does_not_run() -> None:
    async def go() -> str:
        s = plain("import threading\nthreading.current_thread() is threading.main_thread()")
        await s.arun("go")
        async for _ in s.aresume([one.approve() for one in s.asked]):
            pass
        return next(m.text for m in s.snapshot.messages if m.role == "tool")

    assert asyncio.run(go()).startswith("True")
    s = plain("x = 1")
    s.run("go")
    reader = threading.Thread(target=lambda: list(s.resume([one.approve() for one in s.asked])))
    reader.start()
    reader.join(30)
    assert "main thread alone" in next(m.text for m in s.snapshot.messages if m.role == "tool")
    assert "x" not in s.options.namespace


def asked(kernel: Kernel, *codes: str) -> None:
    using(kernel, *codes)
    kernel.ok("%agent go")


@pytest.mark.kernel
def test_a_future_of_the_kernels_loop_is_an_error_and_a_proposed_cell_is_a_payload(kernel: Kernel) -> None:
    kernel.ok("import asyncio\nfuture = asyncio.get_running_loop().create_future()")
    asked(kernel, "await future")
    kernel.ok("%agent approve")
    assert "attached to a different loop" in kernel.value(
        "next(m.text for m in reversed(__import__('deepnb').current().snapshot.messages) if m.role == 'tool')"
    )
    ran = kernel.ok("%agent code")
    assert [p["text"] for p in ran.reply["payload"] if p["source"] == "set_next_input"] == ["await future"]
