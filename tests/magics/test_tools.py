"""%agent tools add and remove as they are typed: functions, MCP servers, what Tab offers, and the end of a kernel."""

from __future__ import annotations

import os
import re

import pytest

from deepnb.magics.complete import Names, candidates
from deepnb.magics.options import AgentRun, Command, parse_agent
from deepnb.values.errors import DeepnbError
from tests import IMPORT_TESTS
from tests.support.kernels import Kernel
from tests.support.mcp_servers import REAL, is_alive, script, tool, wait
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


@every_row(
    "what",
    [
        "add f",
        "add f g",
        "add np.mean",
        "add mcp:python server.py --port 3",
        "add mcp:https://host/mcp",
        "add --name calc --env A,B --timeout 5 mcp:serve 'two words'",
        "remove f calc",
        "add",
        "remove",
        "deny write_file",
        "read-only",
    ],
)
def test_what_is_the_subcommand(what: str):
    assert parse_agent(f"tools {what}") == Command("tools", {"what": what})


@every_row(
    "line", ["tools are great", "tools ask Ana about it", "tools add 3 and 4 for me", "tools remove 2 rows, please"]
)
def test_what_is_a_prompt(line: str):
    assert parse_agent(line) == AgentRun(line)


@every_row("line", ["tools ad f", "tools readonly", "tools romove f", "tool add f"])
def test_what_is_a_slip(line: str):
    with pytest.raises(DeepnbError, match="usage: "):
        parse_agent(line)


@every_row(
    ("line", "offers"),
    [
        ("tools ", ["ask", "allow", "deny", "outside", "writes", "read-only", "add", "remove", "off", "on"]),
        ("tools off wr", ["write_file"]),
        ("tools a", ["ask", "allow", "add"]),
        ("tools deny wr", ["write_file"]),
        ("tools deny write_file ", []),
        ("tools add ", ["double", "look", "mcp:", "--name", "--env", "--timeout"]),
        ("tools add double l", ["look"]),
        ("tools add mcp:python ", []),
        ("tools remove ", ["f", "calc"]),
    ],
)
def test_what_tab_offers(line: str, offers: list[str]):
    names = Names(tools=("write_file", "ls"), own_tools=("f", "calc"), functions=("double", "look"))
    assert candidates("agent", line, line.rpartition(" ")[2], names) == offers


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


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("add bare", "the tool bare has no docstring: add one: it tells the model what the tool does"),
        ("add nosuch", "there is no variable 'nosuch': define the function first;"),
        ("add Box.nosuch", "Box has no 'nosuch': check the name;"),
        ("add", "add needs the name of a function, or an MCP server: %agent tools add NAME,"),
        ("remove", "remove needs the name of a tool or of an MCP server: %agent tools lists them"),
        ("remove double", "there is no tool or server 'double' to remove (there are: none): %agent tools lists all"),
        ("remove ls", "ls is one of the agent's own tools: %agent tools deny ls"),
        ("add --nme x mcp:true", "tools add has no option '--nme': %agent tools add --name NAME --env"),
        ("add --name mcp:true", "--name needs a value"),
        ("add --timeout soon mcp:true", "--timeout 'soon' is not a number of seconds: --timeout 600"),
        ("add --timeout 0 mcp:true", "timeout can't be 0.0: give seconds above 0"),
        ("add --env NOSUCH_VARIABLE mcp:true", "there is no environment variable 'NOSUCH_VARIABLE'"),
        ("add mcp:", "mcp: needs a command or a URL: %agent tools add mcp:COMMAND, or mcp:http://HOST/PATH"),
        (
            "add mcp:true",
            "the MCP server true can't be used: it ended before it answered: check the command or the URL",
        ),
    ],
)
def test_mistakes_are_one_line(shell: Shell, line: str, says: str):
    shell.ok(FUNCTIONS)
    assert shell.fails(f"%agent tools {line}").startswith(says)


@pytest.mark.slow
def test_a_server(shell: Shell):
    told = shell.ok(f"%agent tools add --name calc {REAL}")
    assert told.startswith("11 tools of an MCP server, from the next turn on; their calls need your approval")
    assert re.search(r"^calc__write_file +Write a file on the server\.$", told, re.M)
    shell.ok("from tests.support.scripted import Scripted, call")
    shell.ok("m = Scripted(answers=[call('calc__add', a=1, b=2), 'It is 3.', call('calc__die', 'd'), 'It has gone.'])")
    shell.ok("%agent use m")
    assert "1 · calc__add · needs your approval (this can't be undone)" in shell.ok("%agent what is 1 + 2?")
    told = shell.ok("%agent approve")
    assert "→ calc__add(a=1, b=2)  ok" in told and "It is 3." in told
    table = shell.ok("%agent tools")
    assert re.search(r"^calc +running +11 +--name calc mcp:", table, re.M) and "ask " in table
    shell.ok("%agent end it")
    told = shell.ok("%agent approve")
    assert "Error: the MCP server calc ended in the call: %agent tools says how to start it again" in told
    assert "It has gone." in told
    wait(lambda: shell.session.tools.servers[0].problem)
    table = shell.ok("%agent tools")
    assert (
        f"the MCP server calc has ended: it closed the connection. %agent tools add --name calc {REAL} starts" in table
    )
    assert re.search(r"^calc +ended +11", table, re.M)
    assert shell.ok(f"%agent tools add --name calc {REAL}").startswith("11 tools of an MCP server")
    assert re.search(r"^calc +running", shell.ok("%agent tools"), re.M)
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
    assert "warning: calc__look: changed by the server since you added it, so calls are refused." in shell.ok(
        "%agent tools"
    )


def test_what_is_left_out_is_named(shell: Shell):
    told = shell.ok(f"%agent tools add --name calc {script(tools=[tool('look'), tool('look')])}")
    assert "warning: left out: calc 'look': the server lists two tools of this name; the first is used" in told
    assert "1 tool of an MCP server" in told


def test_unloading_ends_the_servers(shell: Shell):
    shell.ok(f"%agent tools add --name calc {script()}")
    session = shell.session
    shell.run("%unload_ext deepnb")
    assert session.tools.servers == ()


SLOW = """
from tests.support.scripted import Scripted, call
waits = Scripted(answers=[call("calc__wait", seconds=60), "after waiting"])
asks = Scripted(answers=[call("calc__pid"), "that was it"])
"""


@pytest.mark.slow
@pytest.mark.kernel
def test_in_a_kernel_a_slow_call_is_interrupted_and_the_process_ends_with_it(tmp_path):
    kernel = Kernel(str(tmp_path), {**os.environ, "IPYTHONDIR": str(tmp_path / "ipython")})
    try:
        kernel.ok(IMPORT_TESTS)
        kernel.ok("%load_ext deepnb")
        assert "11 tools of an MCP server" in kernel.ok(f"%agent tools add --name calc {REAL}").text
        kernel.ok(SLOW)
        kernel.ok("%agent use asks")
        kernel.ok("%agent which process?")
        told = kernel.ok("%agent approve").text
        process = int(re.search(r"calc__pid\(\).*\n +(\d+)", told)[1])  # type: ignore[index]
        assert is_alive(process)
        kernel.ok("%agent use waits")
        kernel.ok("%agent wait")

        def stop(kernel: Kernel, message: dict) -> None:  # type: ignore[type-arg]
            if "→ calc__wait(" in str(message["content"]) and not stopped:  # it has begun
                stopped.append(message)
                kernel.interrupt()

        stopped: list[dict] = []  # type: ignore[type-arg]
        ran = kernel.wait(kernel.send("%agent approve"), stop)
        assert stopped and "after waiting" not in ran.text
        assert "after waiting" in kernel.ok("%agent resume skip").text
        assert is_alive(process), "an interrupt ends the call alone"
    finally:
        kernel.client.stop_channels()
        kernel.manager.shutdown_kernel()
    assert not is_alive(process)
