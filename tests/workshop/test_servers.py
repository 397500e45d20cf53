"""MCP servers: where they are, as the user types it, and what they say of their tools."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnb.values.errors import DeepnbError
from deepnb.workshop.approvals import NOTES, READS, TASK, WRITES
from deepnb.workshop.server_facts import (
    LONGEST_DESCRIPTION,
    LONGEST_SCHEMA,
    MOST,
    PASSED_ON,
    address,
    environment,
    fingerprint,
    offers,
)
from tests.support.tables import every_row


@every_row(("spec", "name"), [
    ("mcp:python server.py", "server"), ("mcp:/usr/bin/python3.12 -m my.weather", "my_weather"),
    ("mcp:python -c 'print(1)'", "python"),
    ("mcp:npx -y @scope/server-files@1.2 /data", "server_files"),
    ("mcp:uv run --script tools/calc.py", "calc"), ("mcp:docker run -i --rm files", "files"),
    ("mcp:./my-server --port 3", "my_server"), ("mcp:http://127.0.0.1:8000/mcp", "mcp_127_0_0_1"),
    ("mcp:https://Tools.Example.com/mcp", "tools_example_com"),
    (f"mcp:{'long-' * 20}", "long_long_long_long_long_long"),
])  # fmt: skip
def test_a_name_is_made_of_it(spec, name):
    made = address(spec)
    assert made.name == name and str(made) == spec and bool(made.url) != bool(made.command)


def test_options_of_the_command_are_its_own_and_a_credential_is_not_shown():
    made = address("mcp:serve 'two words' --name x --env Y", "calc", ["A", "B"])
    assert made.command == ("serve", "two words", "--name", "x", "--env", "Y")
    assert str(made) == "--name calc --env A,B mcp:serve 'two words' --name x --env Y"
    key = "sk-proj-" + "Zx81Qw7pLm39TnVb5Kc2"
    assert key not in str(address(f"mcp:serve --api-key {key}"))
    assert address(f"mcp:serve --api-key {key}").command[-1] == key


@every_row(("spec", "name", "line"), [
    ("mcp:", None, "mcp: needs a command or a URL"),
    ("mcp:serve 'x", None, "a quote in the command is not closed"),
    *((f"mcp:{url}", None, "is not a URL") for url in ("http://", "http://h:99999/", "http://h/a b")),
    ("mcp:http://ana:secret@h/", None, "can't hold a password"),
    *(("mcp:serve", name, "can't be the name of a server") for name in ("a__b", "_a", "a_", "", "a" * 31, "a.b")),
])  # fmt: skip
def test_what_is_none_is_one_line(spec, name, line):
    with pytest.raises(DeepnbError, match=line) as error:
        address(spec, name)
    assert "secret" not in error.value.typed and "\n" not in error.value.typed


def test_the_environment_is_a_list_of_what_is_passed_on():
    passed = {"PATH": "/bin", "HOME": "/home/ana", "LC_ALL": "C"}
    there = dict.fromkeys(("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "LC_API_KEY", "PYTHONPATH"), "x")
    there |= {**passed, "HTTPS_PROXY": "http://ana:pw@proxy", "MINE": "1"}
    assert environment((), there) == passed and environment(("MINE",), there) == {**passed, "MINE": "1"}
    with pytest.raises(DeepnbError, match="there is no environment variable 'NOSUCH'"):
        environment(("NOSUCH",), there)
    assert not [name for name in PASSED_ON if any(word in name for word in ("KEY", "TOKEN", "SECRET", "PASS"))]


SCHEMA = {"type": "object", "properties": {"a": {"type": "integer", "description": "a number"}}, "required": ["a"]}
NAMES = st.lists(st.one_of(st.text(max_size=90), st.sampled_from(["write_file", "x__write_file", "a.b", "a_b", "__"])))


@given(NAMES)
def test_laws_of_names(names):
    made, left_out = offers("calc", [(name, "", SCHEMA) for name in names])
    shown = [offer.name for offer in made]
    assert len(set(shown)) == len(shown)
    assert all(re.fullmatch(r"calc__[a-zA-Z0-9_-]+", name) and len(name) <= 64 for name in shown)
    assert not {*READS, *WRITES, *NOTES, TASK} & {*shown}
    assert [offer.own for offer in made] == [*dict.fromkeys(name for name in names if name.strip())][:MOST]
    assert len(made) + len(left_out) == len(names)


@every_row(("own", "name"), [
    ("write_file", "calc__write_file"), ("x__write_file", "calc__x__write_file"), ("../../etc", "calc________etc"),
    ("größe\n", "calc__gr__e_"),
])  # fmt: skip
def test_a_name(own, name):
    assert [offer.name for offer in offers("calc", [(own, "", SCHEMA)])[0]] == [name]


def test_names_that_come_out_the_same_differ_and_the_first_of_one_name_and_of_too_many_are_used():
    first, second = offers("calc", [("a.b", "", SCHEMA), ("a_b", "", SCHEMA)])[0]
    assert first.name == "calc__a_b" and re.fullmatch(r"calc__a_b_[0-9a-f]{8}", second.name)
    again = offers("calc", [("a.b", "", SCHEMA), ("a_b", "", SCHEMA)])[0]
    assert [offer.name for offer in again] == [first.name, second.name]
    made, left_out = offers("calc", [(f"t{i}", "", SCHEMA) for i in range(MOST + 2)])
    assert len(made) == MOST and len(left_out) == 2
    made, left_out = offers("calc", [("look", "one", SCHEMA), ("look", "two", SCHEMA)])
    assert [offer.description for offer in made] == ["one"]
    assert left_out == ("'look': the server lists two tools of this name; the first is used",)


@given(st.text(), st.text(max_size=30))  # of more the schema would be too long
def test_words_are_plain(description, said):
    schema = {"type": "object", "properties": {"a": {"description": said * 50, "enum": [said], "default": said}}}
    (offer,), _ = offers("calc", [("look", description * 200, schema)])
    parameter = offer.schema["properties"]["a"]
    for text in (offer.description, parameter["description"]):
        assert not [c for c in text if c not in "\n\t" and unicodedata.category(c)[0] == "C"]
    assert 0 < len(offer.description) <= LONGEST_DESCRIPTION and len(parameter["description"]) <= 500
    assert parameter["enum"] == [said] and parameter["default"] == said, "values are as they were"


def test_a_parameter_called_description_stays():
    schema = {"type": "object", "properties": {"description": {"type": "string"}, "title": {"type": "string"}}}
    (offer,), _ = offers("calc", [("look", "", schema)])
    assert offer.schema == schema


@every_row(("listed", "line"), [
    ((" ", "", SCHEMA), "it has no name"),
    (("look", "", {"type": "string"}), "its parameters are not a JSON object"),
    (("look", "", []), "its parameters are not a JSON object"),
    (("look", "", {"x": "y" * LONGEST_SCHEMA}), "its parameters take more than 20,000 characters"),
])  # fmt: skip
def test_what_can_not_be_used_is_named(listed, line):
    made, left_out = offers("calc", [listed])
    assert made == () and left_out[0].endswith(line)


def test_any_change_is_another_fingerprint():
    one = fingerprint("look", "Look.", SCHEMA)
    assert one == fingerprint("look", "Look.", {**SCHEMA, "type": "object"})
    others = {
        fingerprint("Look", "Look.", SCHEMA),
        fingerprint("look", "Look." + " " * LONGEST_DESCRIPTION + "And send it.", SCHEMA),
        fingerprint("look", "Look.\u200b", SCHEMA),
        fingerprint("look", "Look.", {**SCHEMA, "required": []}),
    }
    assert len(others) == 4 and one not in others
