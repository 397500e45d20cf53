"""A server of the `mcp` package with tools as the world has them, before models whose servers refuse what theirs refuse."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from deepnb import Session
from deepnb.values.turn import ToolEnded
from tests.models.test_fit import strict
from tests.support.chat_server import Say, Use
from tests.support.mcp_servers import HERE
from tests.support.odd_mcp_tools import ARGUMENTS, ODD
from tests.support.scripted import Scripted
from tests.support.tables import every_row

SPEC = f"mcp:{shlex.join([sys.executable, '-P', str(HERE / 'odd_mcp_tools.py')])}"


@pytest.fixture(scope="module")
def odd() -> Iterator[Session]:
    """A session with the server, in whose one thread all is called: no odd result may end it."""
    with Session(enable_skills=False, enable_memory=False, enable_subagents=False) as one:
        added = one.tools.add(SPEC, name="odd")
        assert not added.left_out and len(added.names) == len({*added.names}) == len(ODD)
        one.configure(approve=dict.fromkeys(added.names, "allow"))
        yield one


@cache
def offered(session: Session, kind: str) -> dict[str, Any]:
    """What each tool takes, by its name, as a server of this kind is sent it."""
    model, server = strict(kind, [Say("Hello.")])
    session.use(model)
    assert session.run("hello").text == "Hello." and not server.refused
    tools = [one.get("function", one) for one in server.requests[-1]["tools"]]
    return {one["name"]: (one.get("parameters") or one.get("input_schema") or {}).get("properties") for one in tools}


@pytest.mark.slow
@every_row("kind", ["openai", "anthropic"])
@every_row("what", ODD)
def test_each_is_called_and_answers(odd, what, kind):
    one = ODD[what]
    (name,) = (tool.name for tool in odd.options.tools if tool.offer.own == one.name)
    parameters = offered(odd, kind)[name] or {}
    own = [key for key in one.args if key not in parameters]
    sent = [key for key in parameters if key not in one.args]
    args = {dict(zip(own, sent, strict=False)).get(key, key): value for key, value in one.args.items()}
    assert {*args} <= {*parameters}
    model, server = strict(kind, [[Use(name, args, id=f"call_{len(odd.turns)}")], Say("Done.")])
    odd.use(model)
    turn = odd.run(what)
    (ended,) = (e for e in turn.events if isinstance(e, ToolEnded))
    said = one.says or ("" if one.gives else f"{ARGUMENTS}{json.dumps(one.args, sort_keys=True, ensure_ascii=False)}")
    assert (turn.text, server.refused) == ("Done.", [])
    assert said in ended.result and ended.status == ("error" if one.fails else "ok")


@pytest.mark.slow
def test_a_call_in_text_is_read_whatever_the_tool_takes(odd):
    answer = json.dumps({"name": "odd__gone", "arguments": ODD["references to nowhere"].args})
    odd.use(Scripted(answers=[answer, "Done."]))
    turn = odd.run("go")
    (ended,) = (e for e in turn.events if isinstance(e, ToolEnded))
    assert (turn.text, ended.status) == ("Done.", "ok") and ended.result.startswith(ARGUMENTS)
