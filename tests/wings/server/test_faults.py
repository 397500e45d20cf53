"""What goes wrong with a server is one line, after which the thread works; its header is in no text."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import deepnb
from deepnb.values.turn import Notice
from deepnb.wings.server.served import _HEADERS, _features
from tests.support.chat_server import free_port
from tests.support.hints import refused_hints
from tests.support.kernels import Kernel, asked
from tests.support.loopback_server import CUT, LoopbackServer, loopback_server
from tests.support.shells import Shell
from tests.support.tables import every_row

SECRET = "Bearer zq7rw2lm9xc4vb6nt8yp"


def fault(act: Callable[[], object], kind: type[deepnb.DeepnbError] = deepnb.DeepnbError) -> str:
    with pytest.raises(kind) as error:
        act()
    line = error.value.typed
    assert "\n" not in line and error.value.__cause__ is None
    assert error.value.__suppress_context__ or error.value.__context__ is None, "what the SDK says may quote a header"
    return line


def on(server: LoopbackServer) -> deepnb.Session:
    return deepnb.Session(graph=f"{server.url}/echo")


def test_an_agent_without_files_says_what_gives_them() -> None:
    (lacks,) = (one for one in _features("hall", {"ask"}, ["messages"], (), None).lacks if one.name == "files")
    assert (lacks.what, lacks.do) == ("its state has none", "add deepagents' FilesystemMiddleware()")


def test_turns_are_kept_there_and_read_again(server: LoopbackServer) -> None:
    s = on(server)
    assert [s.run("hello").text, s.run("again").text] == ["You said hello.", "You said again."]
    other = deepnb.Session(graph=server.url)
    assert [(t.prompt, t.text) for t in other.turns] == [(t.prompt, t.text) for t in s.turns]
    assert other.turns[0].after.checkpoint == s.turns[0].after.checkpoint
    (only,) = server.threads
    assert server.threads[only]["metadata"]["deepnb_name"] == "main"


def test_a_thread_without_a_name_goes_by_its_id(server: LoopbackServer) -> None:
    s = on(server)
    s.run("hello")
    (id_,) = server.threads
    server.threads[id_]["metadata"].pop("deepnb_name")
    other = on(server)
    assert [(one.name, one.status) for one in other.threads if one.status] == [(id_, "idle")]
    assert other.switch(id_) == id_ and other.text == "You said hello."
    with pytest.raises(deepnb.NotFoundError):
        other.switch(id_[:3])


def test_a_list_that_fails_leaves_the_threads_that_are_known(server: LoopbackServer) -> None:
    s = on(server)
    s.run("hello")
    s.new("b")
    s.run("hello")
    server.faults["search"] = (500, "oops")
    with pytest.raises(deepnb.RunError, match="oops"):
        _ = s.threads
    assert s.workspace.threads.names == ("main", "b")


@every_row(("where", "wrong", "line"), [
    ("runs/stream", (401, "no"), "{url}: a header is asked for (401: no): %agent use URL --header NAME asks"),
    ("runs/stream", (403, "no"), "{url}: a header is asked for (403: no): %agent use URL --header NAME asks"),
    ("runs/stream", (404, "gone"), "the server at {url} has no such thing (404: gone): %agent threads lists"),
    ("runs/stream", (409, "busy"), "a run is going on in this thread on the server: wait until it ends, or %agent"),
    ("runs/stream", (422, "odd\nodd"), "the server at {url} refused the request (422: odd odd)"),
    ("runs/stream", (500, "oops"), "the server at {url} failed (500: oops): its log says why; then run the cell"),
    ("runs/stream", (200, "not a stream"), "lost the connection to {url}: %agent resume follows its run, if the"),
    ("runs/stream", (CUT, ""), "lost the connection to {url}: %agent resume follows its run, if the server goes on"),
    ("GET .*/state", (500, "oops"), "the server at {url} failed (500: oops)"),
    ("GET .*/state", (CUT, ""), "lost the connection to {url}"),
    ("POST /threads ", (500, "oops"), ""),
])  # fmt: skip
def test_a_fault_is_one_line_and_the_thread_goes_on(where: str, wrong: tuple[int | str, str], line: str) -> None:
    with loopback_server() as server:
        s = on(server)
        s.run("hello")
        server.faults[where] = wrong
        if line:
            assert fault(lambda: s.run("lost")).startswith(line.format(url=server.url))
        server.faults.clear()
        assert s.run("again").text == "You said again."
        prompts = [t.prompt for t in deepnb.Session(graph=server.url).turns]
        assert prompts[0] == "hello" and prompts[-1] == "again" and len(set(prompts)) == len(prompts)


def test_a_turn_that_ended_while_nobody_heard_it_is_shown_by_resume(server: LoopbackServer) -> None:
    s = on(server)
    s.run("hello")
    server.faults["runs/stream"] = (CUT, "")
    with pytest.raises(deepnb.DeepnbError, match="lost the connection"):
        s.run("unheard")
    server.faults.clear()
    (thread,) = server.states
    now = server.states[thread][-1]["values"]
    prompt = server.states[thread][-1]["tasks"][0]["result"]["messages"]
    said = {"type": "ai", "id": "late", "content": "Late."}
    server._add(thread, {**now, "messages": [*now["messages"], *prompt, said]}, "loop")
    list(s.resume())
    assert [(t.prompt, t.text, t.error) for t in s.turns][1:] == [("unheard", "Late.", None)]


def test_what_is_not_there_or_no_model_is_one_line(server: LoopbackServer) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    line = fault(lambda: deepnb.Session(graph=f"{url}/echo"))
    assert line == f"no server answers at {url}: start it, then run the cell again"
    with pytest.raises(deepnb.InvalidError, match=r"not a model: session.attach\('http://127.0.0.1:1/x'\) makes"):
        deepnb.Session().use("http://127.0.0.1:1/x")
    line = fault(lambda: deepnb.Session(graph=f"{server.url}/no"), deepnb.NotFoundError)
    assert "has no assistant 'no'" in line and line.endswith(f"%agent use {server.url}/echo")
    server.faults["assistants"] = (200, "hello")
    assert "is no LangGraph server" in fault(lambda: on(server), deepnb.InvalidError)


@every_row("address", ["http://me:word@127.0.0.1/a", "http://127.0.0.1/a?x=1", "http:///a"])
def test_an_address_that_is_none(address: str) -> None:
    assert "word" not in fault(lambda: deepnb.Session(graph=address)).replace("password", "")


def test_what_a_session_on_a_server_lacks_is_refused_in_one_line(server: LoopbackServer, tmp_path: Path) -> None:
    s = on(server)
    s.run("hello")
    for tried in (
        s.compact, lambda: s.record(tmp_path / "a.jsonl"), lambda: s.persist(tmp_path / "a.db"),
        lambda: s.package(tmp_path / "app"), lambda: s.mount("/x", f"disk:{tmp_path}"),
        lambda: s.memory.add("Be brief."), lambda: s.use("offline"), lambda: s.compare("x", max_steps=[1, 2]),
        lambda: s.tools.add(print), lambda: deepnb.Session(graph=f"{server.url}/echo", tools=[print]),
    ):  # fmt: skip
        fault(tried)  # type: ignore[arg-type]


def test_no_hint_is_shown_that_a_graph_on_a_server_refuses(server: LoopbackServer) -> None:
    shell = Shell()
    shell.ok("%load_ext deepnb")
    assert not refused_hints(shell, f"{server.url}/echo")


@pytest.fixture
def header(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[deepnb.Session]:
    monkeypatch.setenv("DEEPNB_HEADER_X_API_KEY", SECRET)
    s = deepnb.Session().attach(f"{server.url}/echo", header="X-Api-Key")
    monkeypatch.delenv("DEEPNB_HEADER_X_API_KEY")
    yield s
    _HEADERS.clear()


def test_the_header_goes_with_every_request_and_is_in_no_text(server, header, tmp_path):
    header.run("hello")
    assert server.headers and all(one["x-api-key"] == SECRET for one in server.headers)
    server.faults["runs/stream"] = (401, f"not {SECRET}")
    line = fault(lambda: header.run("no"), deepnb.RefusedError)
    assert "the header X-Api-Key was not accepted (401: not [hidden])" in line
    server.faults["runs/stream"] = (500, f"why {SECRET.split()[1]}")
    texts = [
        fault(lambda: header.run("no")), repr(header), repr(header.options), str(header.features),
        str(header.transcript().to_dict()),
    ]  # fmt: skip
    texts += [repr(header.options.graph.graph), *(str(t) for t in header.turns)]  # type: ignore[union-attr]
    texts.append(header.export(tmp_path / "a.html").read_text(encoding="utf-8"))
    assert not [text for text in texts if SECRET.split()[1] in text]


def test_the_header_goes_to_no_other_place(server: LoopbackServer, header: deepnb.Session) -> None:
    with loopback_server() as other:
        for status in (301, 302, 307, 308):
            server.faults["runs/stream|state"] = (status, f"{other.url}/elsewhere")
            assert f"redirects to {other.url}" in fault(lambda: header.run("hello"), deepnb.RefusedError)
        deepnb.Session(graph=f"{other.url}/echo").run("hello")
        assert other.headers and not [one for one in other.headers if "x-api-key" in one]


def test_keys_of_other_services_are_not_sent(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANGGRAPH_API_KEY", "LANGSMITH_API_KEY", "LANGCHAIN_API_KEY"):
        monkeypatch.setenv(name, "lsv2_none")
    on(server).run("hello")
    assert not [one for one in server.headers if "x-api-key" in one or "lsv2_none" in str(one)]


def test_a_header_is_typed_where_nobody_sees_it(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def typed(prompt: str) -> str:
        asked.append(prompt)
        return SECRET

    monkeypatch.setattr("getpass.getpass", typed)
    s = deepnb.Session().attach(f"{server.url}/echo", header="Authorization")
    s.run("hello")
    assert len(asked) == 1 and asked[0].startswith("value of the header Authorization for 127.0.0.1:")
    assert server.headers[-1]["authorization"] == SECRET
    for bad in ("", "two\nlines"):
        monkeypatch.setattr("getpass.getpass", lambda prompt, bad=bad: bad)
        with pytest.raises(deepnb.InvalidError, match="header='Authorization'"):
            deepnb.Session().attach(f"{server.url}/echo", header="Authorization")
    _HEADERS.clear()


def test_without_the_sdk_the_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langgraph_sdk.client", None)
    monkeypatch.delitem(sys.modules, "deepnb.wings.server.server", raising=False)
    line = fault(lambda: deepnb.Session(graph="http://127.0.0.1:1/x"), deepnb.NotInstalledError)
    assert line == "an agent on a server needs langgraph-sdk: pip install 'deepnb[server]'"


@pytest.mark.parametrize("lost", [(0,), (1,), (0, 2), (0, 1, 2)])
def test_turns_that_the_server_lost_are_told_once(server: LoopbackServer, lost: tuple[int, ...]) -> None:
    s = on(server)
    prompts = ["one", "two", "three"]
    for prompt in prompts:
        s.run(prompt)
    (id_,) = server.threads
    if len(lost) == len(prompts):
        del server.threads[id_], server.states[id_], server.runs[id_]
    else:
        messages = server.states[id_][-1]["values"]["messages"]
        kept = [m for n, m in enumerate(messages) if n // 2 not in lost]
        server._add(id_, {"messages": kept}, "loop")
    stream = s.stream("four")
    said = [e.text for e in stream if isinstance(e, Notice) and "no longer" in e.text]
    turns = f"{len(lost)} turn{'s' * (len(lost) > 1)}"
    assert said == [f"the server no longer has {turns} of thread main: %agent turns lists those it has"]
    assert [t.prompt for t in s.turns] == [*(p for n, p in enumerate(prompts) if n not in lost), "four"]
    assert [t.number for t in s.turns] == list(range(1, len(s.turns) + 1))
    assert not [e for e in s.stream("five") if isinstance(e, Notice)] and len(server.threads) == 1


# -- in a real kernel


VALUE = "Bearer correct-horse-battery-staple"


@pytest.mark.kernel
def test_an_address_with_a_header(kernel: Kernel, server: LoopbackServer) -> None:
    prompts, published, reply = asked(kernel, f"%agent use {server.url} --header X-Api-Key", VALUE)
    assert reply["status"] == "ok", reply
    where = server.url.removeprefix("http://")
    prompt = f"value of the header X-Api-Key for {where} (hidden, kept in this process only): "
    assert prompts == [{"prompt": prompt, "password": True}]
    assert all(one["x-api-key"] == VALUE for one in server.headers)
    cells = ("%agent hello", "%agent threads", "%agent", "%agent use", "%history", "%agent transcript")
    ran = [kernel.ok(cell) for cell in cells]
    assert "You said hello." in ran[0].text and "idle" in ran[1].text
    assert f"echo at {where}" in ran[3].text or f"{server.url}/echo" in ran[3].text
    server.faults["runs/stream"] = (401, f"{VALUE} is not known")
    fault = kernel.run("%agent again")
    assert fault.reply["evalue"].startswith(
        f"{server.url}: the header X-Api-Key was not accepted (401: [hidden] is not known)"
    )
    server.faults.clear()
    kernel.ok("%agent once more")
    kernel.ok(f"%agent use {server.url}/echo")
    texts = json.dumps([published, [(r.messages, r.reply) for r in (*ran, fault)]], default=str)
    assert VALUE not in texts and "correct-horse" not in texts
    assert "in the place" not in kernel.ok("%agent use offline").text
    assert kernel.ok("%agent hello").text and len(server.runs[next(iter(server.threads))]) == 2


@pytest.mark.kernel
def test_a_front_end_that_can_not_ask_gets_one_line(kernel: Kernel, server: LoopbackServer) -> None:
    ran = kernel.run(f"%agent use {server.url}/echo --header X-Api-Key")
    assert ran.reply["evalue"] == (
        "this front end can't ask for the value of a header: set DEEPNB_HEADER_X_API_KEY in the environment that starts"
        " Jupyter"
    )
