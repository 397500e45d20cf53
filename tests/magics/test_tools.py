"""%agent tools add and remove as they are typed: functions, MCP servers, what Tab offers, and the end of a kernel."""

import re

import pytest

from tests.support.mcp_servers import REAL, script, tool, wait
from tests.support.scripted import Scripted, call
from tests.support.shells import Shell

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
    for line, says in (
        ("add bare", "the tool bare has no docstring: add one: it tells the model what the tool does"),
        ("add nosuch", "there is no variable 'nosuch': define the function first;"),
        ("add Box.nosuch", "Box has no 'nosuch': check the name;"),
        ("add", "add needs the name of a function, or an MCP server: %agent tools add NAME,"),
        ("remove", "remove needs the name of a tool or of an MCP server: %agent tools lists them"),
        ("remove ls", "ls is one of the agent's own tools: %agent tools deny ls"),
        ("add --nme x mcp:true", "tools add has no option '--nme': %agent tools add --name NAME --env"),
        ("add --name mcp:true", "--name needs a value"),
        ("add --timeout soon mcp:true", "--timeout 'soon' is not a number of seconds: --timeout 600"),
        ("add --env NOSUCH_VARIABLE mcp:true", "there is no environment variable 'NOSUCH_VARIABLE'"),
        (
            "add mcp:true",
            "the MCP server true can't be used: it ended before it answered: check the command or the URL",
        ),
        ("add mcp:", "mcp: needs a command or a URL: %agent tools add mcp:COMMAND, or mcp:http://HOST/PATH"),
    ):
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
