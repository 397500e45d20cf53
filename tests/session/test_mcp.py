"""MCP servers over stdio and over HTTP on loopback: real ones, slow, erring, dying, changing, and some that misbehave."""

import asyncio
import gc
import json
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import deepnb
from deepnb import Session
from deepnb.values.turn import ToolEnded
from deepnb.workshop import servers
from deepnb.workshop.server_facts import PASSED_ON
from tests.models.test_fit import strict
from tests.support.chat_server import Quiet, Say, Use, serving
from tests.support.mcp_server import KEY
from tests.support.mcp_servers import HERE, REAL, WebServer, given, is_alive, script, tool, wait
from tests.support.mcp_servers import session as session  # a fixture
from tests.support.odd_mcp_tools import ARGUMENTS, ODD
from tests.support.scripted import Scripted, call, gives
from tests.support.tables import every_row, refused


@pytest.fixture(scope="module")
def calc() -> Iterator[Session]:
    """A session with the real server over stdio, which no test here ends or changes."""
    with Session() as one:
        one.tools.add(REAL, name="calc")
        yield one


@pytest.fixture
def web() -> Iterator[WebServer]:
    one = WebServer()
    one.start()
    yield one
    one.stop()


@pytest.fixture
def live() -> Callable[[], set[servers.Server]]:
    before = set(servers.LIVE)
    return lambda: servers.LIVE - before


def test_a_call_needs_approval_and_gives_its_result(calc: Session):
    calc.configure(model=Scripted(answers=[call("calc__add", a=1, b=2), "It is 3."]))
    calc.run("go")
    (asked,) = calc.asked
    assert asked.name == "calc__add" and asked.args == {"a": 1, "b": 2} and asked.effect == "outside"
    assert asked.parameters == {"a": "integer", "b": "integer"} and asked.required == ("a", "b")
    events = list(calc.resume(asked.approve()))
    (ended,) = (e for e in events if isinstance(e, deepnb.ToolEnded))
    assert (ended.status, ended.result) == ("ok", "3") and calc.text == "It is 3."
    status, text = given(calc, "calc__add", a="x", b=1)
    assert status == "error" and "valid integer" in text
    assert json.dumps(calc.tools.servers[0].__dict__) and repr(calc.tools).startswith("<")


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


def said(*texts: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text} for text in texts], **more}


RESULTS = {
    "structured only": (said(structuredContent={"left": 7}), '{"left": 7}'),
    "beside words": (said("in stock", structuredContent={"left": 7}), 'in stock\n{"left": 7}'),
    "said as JSON": (said('{ "left": 7 }', structuredContent={"left": 7}), '{ "left": 7 }'),
    "said as its value": (said("7", structuredContent={"result": 7}), "7"),
    "said item by item": (said("a", "b", structuredContent={"result": ["a", "b"]}), "a\nb"),
    "an error": (said(structuredContent={"code": 5}, isError=True), 'Error: {"code": 5}'),
}


def test_what_is_structured_in_a_result_is_said(session: Session):
    names = dict(enumerate(RESULTS))
    results = {f"t{at}": RESULTS[name][0] for at, name in names.items()}
    session.tools.add(script(tools=[tool(name) for name in results], results=results), name="odd")
    got = {name: given(session, f"odd__t{at}")[1] for at, name in names.items()}
    assert got == {name: says for name, (_, says) in RESULTS.items()}


@every_row("sees", [True, False])
def test_an_image_is_passed_to_a_model_that_sees(session: Session, sees: bool):
    image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    results = {"draw": {"content": [{"type": "text", "text": "drawn"}, image]}}
    session.tools.add(script(tools=[tool("draw")], results=results), name="odd")
    model = Scripted(answers=[call("odd__draw"), "done"], profile={"image_inputs": sees, "max_input_tokens": 50_000})
    session.configure(model=model, approve={"odd__draw": "allow"})
    session.run("go")
    sent = model.requests[-1][-2 if sees else -1 :]
    assert sent[0].text == ("drawn" if sees else "drawn\n\n[image image/png, 69 bytes, not passed on]")
    expected = [PIXEL] if sees else []
    assert [b.get("base64") for m in sent for b in m.content_blocks if b["type"] == "image"] == expected


def test_a_result_is_masked_and_cut_and_what_a_server_asks_for_is_refused(calc: Session):
    status, text = given(calc, "calc__leak", size=150_000)
    assert status == "success" and KEY not in text and "[redacted: OpenAI key]" in text
    assert len(text) < 101_000 and text.endswith("more characters were cut off]")
    said = given(calc, "calc__ask_back")[1]
    assert said == "Sampling not supported | Elicitation not supported | List roots not supported; offered: {}"
    (found,) = (t for t in calc.options.tools if t.name == "calc__add")

    async def both() -> list[Any]:
        return list(await asyncio.gather(found.ainvoke({"a": 1, "b": 2}), found.ainvoke({"a": 3, "b": 4})))

    assert asyncio.run(both()) == ["3", "7"]


def test_its_environment_holds_no_key(session: Session, monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENAI_API_KEY", "MY_SECRET", "LANGSMITH_TRACING", "WANTED"):
        monkeypatch.setenv(name, "x")
    session.tools.add(script(), name="calc", env=["WANTED"])
    names = given(session, "calc__look")[1].splitlines()[1].split()
    assert {"PATH", "WANTED"} <= {*names} <= {*PASSED_ON, "WANTED", "LC_CTYPE"}, "Python itself sets LC_CTYPE"


def test_a_slow_call_ends_at_its_timeout_and_the_server_goes_on(calc: Session, monkeypatch: pytest.MonkeyPatch):
    (server,) = calc.tools._servers.values()
    monkeypatch.setattr(server, "timeout", 0.1)
    status, text = given(calc, "calc__wait", seconds=60)
    assert (status, text) == ("error", "Error: calc__wait took more than 0.1 s: add the server with a longer --timeout")
    monkeypatch.undo()
    assert given(calc, "calc__wait", seconds=0) == ("success", "waited")


def test_an_interrupt_ends_a_slow_call(calc: Session):
    calc.configure(model=Scripted(answers=[call("calc__wait", seconds=60), "never"]), approve={"calc__wait": "allow"})
    stream = calc.stream("go")
    for event in stream:
        if isinstance(event, deepnb.ToolStarted):
            break
    stream.close()
    assert stream.turn.error is None or "interrupted" in str(stream.turn.error)
    calc.configure(approve="outside")
    list(calc.resume("skip"))
    assert given(calc, "calc__add", a=1, b=1) == ("success", "2")


@pytest.mark.slow
def test_a_change_is_noticed_unannounced_and_a_death_in_a_call_is_a_line(session: Session):
    session.tools.add(REAL, name="calc")
    assert given(session, "calc__change", announce=False) == ("success", "changed")
    assert given(session, "calc__add", a=1, b=2)[1] == (
        "Error: the server calc changed calc__add, which was not run: %agent tools says how to look at it and add it again"
    )
    assert session.tools.servers[0].changed == ("calc__add",)
    ended = "Error: the MCP server calc ended in the call: %agent tools says how to start it again"
    assert given(session, "calc__die") == ("error", ended)
    wait(lambda: session.tools.servers[0].problem)
    assert session.tools.servers[0].problem == "it closed the connection"
    assert "has ended" in given(session, "calc__add", a=1, b=2)[1]


@pytest.mark.slow
def test_http(web: WebServer, session: Session, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(servers, "PING", 0.05)
    added = session.tools.add(web.spec, name="web")
    assert {"web__add", "web__write_file"} <= {*added.names} and not added.changed
    session.configure(approve={"web__add": "allow", "web__fail": "allow"})
    assert given(session, "web__add", a=1, b=2) == ("success", "3") and given(session, "web__fail")[0] == "error"
    assert given(session, "web__wait", seconds=0.3) == ("success", "waited"), "it answers pings meanwhile"
    assert "not supported" in given(session, "web__ask_back")[1]
    assert given(session, "web__change", announce=True) == ("success", "changed")
    assert "changed web__add, which was not run" in given(session, "web__add", a=1, b=2)[1]
    again = session.tools.add(web.spec, name="web")
    assert again.changed == ("web__add",) and again.names == added.names
    assert session.options.approve == {"*": "outside", "web__fail": "allow"}, "what was allowed is withdrawn"
    assert given(session, "web__add", a=1, b=2) == ("success", "3")
    assert session.tools.add(web.spec, name="web").changed == ()
    assert "the MCP server web ended in the call" in given(session, "web__die")[1]
    wait(lambda: session.tools.servers[0].problem)
    assert "can't be reached" in session.tools.servers[0].problem
    refused(r"web can't be used: http://127.0.0.1:\d+/mcp can't be reached", session.tools.add, web.spec, name="web")
    assert "web__add" in session.tools.names, "what was there is there still"
    web.start()
    assert "has ended" in given(session, "web__add", a=1, b=2)[1]
    session.tools.add(web.spec, name="web")
    web.stop()
    web.start()
    assert "ended in the call" in given(session, "web__add", a=1, b=2)[1], "the new process does not know the session"


def test_what_a_thread_allowed_does_not_cover_a_changed_tool(session: Session):
    session.tools.add(script(), name="calc")
    session.configure(model=Scripted(answers=[call("calc__look"), "done"]))
    session.run("go")
    list(session.resume(session.asked[0].approve(remember=True)))
    assert session.approvals.words("calc__look") == "allow in this thread"
    assert session.tools.add(script(), name="calc").changed == ()
    assert session.approvals.words("calc__look") == "allow in this thread", "it is what it was"
    session.tools.remove("calc")
    assert session.tools.add(script(error="another"), name="calc").changed == ("calc__look",)
    assert session.approvals.words("calc__look") == "ask"


class Page(Quiet):
    """Answers every request with the status that its path names; a redirect leads to another origin."""

    seen: list[str]
    other: str

    def do_POST(self) -> None:  # noqa: N802
        self.rfile.read(int(self.headers["content-length"]))
        self.seen.append(self.path)
        body = b"<html>Hello!</html>"
        self.send_response(status := int(self.path.strip("/").partition("/")[0]))
        if status // 100 == 3:
            self.send_header("location", f"{self.other}/200/redirected")
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST  # noqa: N815


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    """Two servers that speak no MCP; the first redirects to the second, which is another origin."""
    Page.seen = []
    with serving(Page) as address, serving(Page) as Page.other:
        yield address


@every_row(("path", "says"), [
    ("200", "its answer is not MCP"),
    *((path, f"HTTP {path}, a redirect to") for path in ("301", "302", "307", "308")),
    *((path, f"HTTP {path}: ") for path in ("401", "404", "500")),
])  # fmt: skip
def test_what_is_no_server_is_a_line(pages: Any, session: Session, live: Any, path: str, says: str):
    error = refused("", session.tools.add, f"mcp:{pages}/{path}", name="x")
    assert says in str(error)
    assert ('session.tools.add("mcp:' in str(error)) == (path == "401"), "how to send a key"
    assert not [seen for seen in Page.seen if "redirected" in seen]
    assert session.tools.servers == () and not live()


@every_row(("spec", "says"), [
    ("mcp:nosuch-command x", "there is no command 'nosuch-command'"), ("mcp:/", "/: Permission denied"),
    ("mcp:true", "it ended before it answered"),
    (script(end=True, error="no module named nosuch"), "it ended before it answered (it said: no module named nosuch)"),
    (script(end=True, error=f"bad key {KEY}"), "(it said: bad key [redacted: OpenAI key])"),
])  # fmt: skip
def test_one_that_does_not_start_is_a_line(session: Session, live: Any, spec: str, says: str):
    error = refused("", session.tools.add, spec, name="x")
    assert error.what.startswith("the MCP server x can't be used: ") and says in error.what
    assert session.tools.servers == () and session.options.tools == () and not live()


def test_one_that_does_not_answer_is_given_up(session: Session, live: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(servers, "OPENING", 0.2)
    refused(r"it did not answer within 0\.2 s", lambda: session.tools.add(script(mute=True), name="x"))
    assert not live()


def test_what_it_lists_is_not_trusted_and_no_url_in_it_is_opened(session: Session, pages: Any):
    listed = [
        tool("write_file", annotations={"readOnlyHint": True, "deepnb_effect": "reads"}), tool("twice", "first"),
        tool("twice", "second"),
        tool("elsewhere", schema={"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}),
        tool("list", schema={"type": "array"}),
    ]  # fmt: skip
    added = session.tools.add(script(tools=listed), name="odd")
    assert added.names == ("odd__write_file", "odd__twice")
    assert [line.partition(":")[0] for line in added.left_out] == ["odd 'twice'", "odd 'list'", "odd 'odd__elsewhere'"]
    assert [session.approvals.words(name) for name in added.names] == ["ask"] * 2
    elsewhere = {"$ref": f"{pages}/200/schema"}
    session.tools.add(script(tools=[tool("look", outputSchema={"type": "object", **elsewhere})]), name="calc")
    status, text = given(session, "calc__look")
    assert status == "error" and text.startswith("Error: calc__look: Invalid schema for tool look")
    assert not [path for path in Page.seen if "schema" in path]


def test_what_it_says_between_is_nothing(session: Session, capfd: pytest.CaptureFixture[str]):
    said = [
        "a line for people", {"jsonrpc": "2.0", "method": "notifications/nosuch", "params": {"x": 1}},
        {"jsonrpc": "2.0", "id": 7, "method": "no/such", "params": {}},
        {"jsonrpc": "2.0", "id": 8, "method": "roots/list"},
        {"jsonrpc": "2.0", "id": 99, "result": {"unasked": True}},
    ]  # fmt: skip
    session.tools.add(script(say=said, error="starting"), name="calc")
    assert given(session, "calc__look")[0] == "success" and capfd.readouterr() == ("", "")


def test_names_of_servers(session: Session):
    one = script()
    session.tools.add(one, name="calc")
    line = r"there is a server calc already \(.*\): give this one another name"
    refused(line, session.tools.add, script(error="other"), name="calc")
    refused("two of these servers have the same name", lambda: session.tools.add(script(error="a"), script(error="b")))
    session.tools.add(one, name="other")
    assert [server.name for server in session.tools.servers] == ["calc", "other"]
    shadow = gives("calc__look", "mine")
    refused("calc__look is a tool of the server calc: give the function another name", session.tools.add, shadow)


def test_a_function_of_the_same_name_is_neither_replaced_nor_its_approval_taken_over(session: Session):
    session.tools.add(gives("calc__look", "mine"))
    session.configure(model=Scripted(answers=[call("calc__look"), "done"]))
    session.run("go")
    list(session.resume(session.asked[0].approve(remember=True)))
    added = session.tools.add(script(), name="calc")
    assert added.names == () and added.left_out == ("calc 'calc__look': the agent has another tool of this name",)
    session.tools.remove("calc__look", "calc")
    assert session.tools.add(script(), name="calc").names == ("calc__look",)
    assert session.approvals.words("calc__look") == "ask"


def pid(session: Session) -> int:
    return int(given(session, "calc__look")[1].rpartition(" ")[2])


@every_row("end", [
    lambda s: s.tools.remove("calc") == ("calc__look",) and not s.options.tools,
    lambda s: s.tools.remove("calc__look") and s.tools.servers == (),
    lambda s: s.tools.add(script(), name="calc") and is_alive(pid(s)), lambda s: s.close() is None,
], ids=["remove", "remove its tool", "again", "close"])  # fmt: skip
def test_its_process_ends_with_it(live: Any, end: Callable[[Session], bool]):
    session = Session()
    session.tools.add(script(), name="calc")
    process = pid(session)
    assert is_alive(process) and end(session) and not is_alive(process)
    session.close()
    assert not live()


def test_its_process_ends_with_a_session_that_nobody_holds():
    session = Session()
    session.tools.add(script(), name="calc")
    process = pid(session)
    assert is_alive(process)
    del session
    gc.collect()
    wait(lambda: not is_alive(process))


@pytest.mark.slow
def test_one_that_does_not_want_to_end_is_killed(session: Session):
    session.tools.add(script(deaf=True), name="calc")
    process = pid(session)
    session.tools.remove("calc")
    assert not is_alive(process)


@pytest.mark.slow
def test_it_ends_with_python(tmp_path: Any):
    code = f"""
        from deepnb import Session
        from tests.support.mcp_servers import given
        session = Session()
        session.tools.add({script(deaf=True)!r}, name="calc")
        print(given(session, "calc__look")[1].rpartition(" ")[2])
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert not is_alive(int(ended.stdout)) and ended.stderr == ""


def test_a_missing_package_is_a_line_and_functions_need_none(session: Session, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "deepnb.workshop.servers")
    for name in ("mcp", "langchain_mcp_adapters", "langchain_mcp_adapters.interceptors"):
        monkeypatch.setitem(sys.modules, name, None)
    error = refused("", lambda: session.tools.add(script(), name="calc"))
    assert str(error) == "MCP servers need the package langchain-mcp-adapters: pip install 'deepnb[mcp]'"

    session.tools.add(gives("free", ""))
    assert "free" in dict(session.workspace.built.tools) and session.tools.remove("free") == ("free",)


SPEC = f"mcp:{shlex.join([sys.executable, '-P', str(HERE / 'odd_mcp_tools.py')])}"


@pytest.fixture(scope="module")
def odd() -> Iterator[Session]:
    """A session with the server, in whose one thread all is called: no odd result may end it."""
    with Session(enable_skills=False, enable_memory=False, enable_subagents=False) as one:
        added = one.tools.add(SPEC, name="odd")
        assert not added.left_out and len(added.names) == len({*added.names}) == len(ODD)
        one.configure(approve=dict.fromkeys(added.names, "allow"))
        yield one


@pytest.mark.slow
@every_row("kind", ["openai", "anthropic"])
def test_each_is_called_and_answers(odd, kind):
    model, server = strict(kind, [Say("Hello.")])
    odd.use(model)
    assert odd.run("hello").text == "Hello." and not server.refused
    tools = [one.get("function", one) for one in server.requests[-1]["tools"]]
    offered = {one["name"]: (one.get("parameters") or one.get("input_schema") or {}).get("properties") for one in tools}
    names = {tool.offer.own: tool.name for tool in odd.options.tools}
    calls, expected = list[Use](), {}
    for what, one in ODD.items():
        parameters = offered[names[one.name]] or {}
        own = [key for key in one.args if key not in parameters]
        sent = [key for key in parameters if key not in one.args]
        args = {dict(zip(own, sent, strict=False)).get(key, key): value for key, value in one.args.items()}
        assert {*args} <= {*parameters}, what
        calls.append(Use(names[one.name], args, id=f"call_{len(calls)}"))
        said = json.dumps(one.args, sort_keys=True, ensure_ascii=False)
        expected[calls[-1].id] = (what, one.says or ("" if one.gives else f"{ARGUMENTS}{said}"), one.fails)
    strict(kind, [calls, Say("Done.")])
    turn = odd.run("call all")
    assert (turn.text, server.refused) == ("Done.", [])
    ended = {e.id: e for e in turn.events if isinstance(e, ToolEnded)}
    assert {*ended} == {*expected}
    wrong = [
        (what, ended[id_].result[:200])
        for id_, (what, said, fails) in expected.items()
        if said not in ended[id_].result or ended[id_].status != ("error" if fails else "ok")
    ]
    assert not wrong


@pytest.mark.slow
def test_a_call_in_text_is_read_whatever_the_tool_takes(odd):
    answer = json.dumps({"name": "odd__gone", "arguments": ODD["references to nowhere"].args})
    odd.use(Scripted(answers=[answer, "Done."]))
    turn = odd.run("go")
    (ended,) = (e for e in turn.events if isinstance(e, ToolEnded))
    assert (turn.text, ended.status) == ("Done.", "ok") and ended.result.startswith(ARGUMENTS)
