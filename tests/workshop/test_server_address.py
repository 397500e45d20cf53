"""Where MCP servers are, as the user types it: commands, URLs, names, and the environment of a command."""

from __future__ import annotations

import pytest

from deepnb.values.errors import DeepnbError
from deepnb.workshop.server_facts import PASSED_ON, address, environment
from tests.support.tables import every_row


@every_row(
    ("spec", "name"),
    [
        ("mcp:python server.py", "server"),
        ("mcp:/usr/bin/python3.12 -m my.weather", "my_weather"),
        ("mcp:python -c 'print(1)'", "python"),
        ("mcp:npx -y @scope/server-files@1.2 /data", "server_files"),
        ("mcp:uv run --script tools/calc.py", "calc"),
        ("mcp:docker run -i --rm files", "files"),
        ("mcp:./my-server --port 3", "my_server"),
        ("mcp:http://127.0.0.1:8000/mcp", "mcp_127_0_0_1"),
        ("mcp:https://Tools.Example.com/mcp", "tools_example_com"),
        (f"mcp:{'long-' * 20}", "long_long_long_long_long_long"),
    ],
)
def test_a_name_is_made_of_it(spec, name):
    made = address(spec)
    assert made.name == name and str(made) == spec
    assert bool(made.url) != bool(made.command)


def test_quotes_and_options_of_the_command_are_its_own():
    made = address("mcp:serve 'two words' --name x --env Y", "calc", ["A", "B"])
    assert made.command == ("serve", "two words", "--name", "x", "--env", "Y")
    assert str(made) == "--name calc --env A,B mcp:serve 'two words' --name x --env Y"


@every_row(
    ("spec", "name", "line"),
    [
        ("mcp:", None, "mcp: needs a command or a URL"),
        ("mcp:serve 'x", None, "a quote in the command is not closed"),
        ("mcp:http://", None, "is not a URL"),
        ("mcp:http://h:99999/", None, "is not a URL"),
        ("mcp:http://h/a b", None, "is not a URL"),
        ("mcp:http://ana:secret@h/", None, "can't hold a password"),
        ("mcp:serve", "a__b", "can't be the name of a server"),
        ("mcp:serve", "_a", "can't be the name of a server"),
        ("mcp:serve", "a_", "can't be the name of a server"),
        ("mcp:serve", "", "can't be the name of a server"),
        ("mcp:serve", "a" * 31, "can't be the name of a server"),
        ("mcp:serve", "a.b", "can't be the name of a server"),
    ],
)
def test_what_is_none_is_one_line(spec, name, line):
    with pytest.raises(DeepnbError, match=line) as error:
        address(spec, name)
    assert "secret" not in error.value.typed and "\n" not in error.value.typed


def test_a_credential_is_not_shown():
    key = "sk-proj-" + "Zx81Qw7pLm39TnVb5Kc2"
    assert key not in str(address(f"mcp:serve --api-key {key}"))
    assert address(f"mcp:serve --api-key {key}").command[-1] == key


def test_the_environment_is_a_list_of_what_is_passed_on():
    passed = {"PATH": "/bin", "HOME": "/home/ana", "LC_ALL": "C"}
    there = dict.fromkeys(("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "LC_API_KEY", "PYTHONPATH"), "x")
    there |= {**passed, "HTTPS_PROXY": "http://ana:pw@proxy", "MINE": "1"}
    assert environment((), there) == passed
    assert environment(("MINE",), there) == {**passed, "MINE": "1"}
    with pytest.raises(DeepnbError, match="there is no environment variable 'NOSUCH'"):
        environment(("NOSUCH",), there)
    assert not [name for name in PASSED_ON if any(word in name for word in ("KEY", "TOKEN", "SECRET", "PASS"))]
