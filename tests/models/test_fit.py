"""What a provider can't take is never sent to it: odd histories and tools, against servers that refuse what theirs do."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from operator import is_
from typing import Annotated, Any
from unittest.mock import Mock

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from langchain_openai import ChatOpenAI
from langgraph.types import Command

from deepnb import Session, reads
from deepnb.engine import fit
from deepnb.engine.fit import Fitter
from deepnb.engine.fit_tools import fit_parameters
from deepnb.models import windows
from deepnb.testing import ScriptedModel
from deepnb.values.turn import ToolStarted
from tests import DATA
from tests.support.chat_server import Block, Say, Think, Use
from tests.support.contract import PROFILE, SETTINGS
from tests.support.images import png
from tests.support.strict import StrictAnthropic, StrictGoogle, StrictOllama, StrictOpenAI
from tests.support.tables import every_row

ALL = ("openai", "responses", "anthropic")
PIXEL = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}
LONG = "a" * 90


@cache
def served(kind: str) -> tuple[Any, Any]:
    """A provider's own chat model, imported late, and the strict server that it asks: both are there for all cases."""
    settings: dict[str, Any] = {**SETTINGS, "max_retries": 0}
    server: Any
    match kind:
        case "google":
            from langchain_google_genai import ChatGoogleGenerativeAI

            server = StrictGoogle([]).__enter__()
            return ChatGoogleGenerativeAI(base_url=server.address, **settings | {"model": "gemini-2.5-flash"}), server
        case "ollama":
            from langchain_ollama import ChatOllama

            server = StrictOllama([]).__enter__()
            profile: Any = PROFILE
            return ChatOllama(model="some-model", base_url=server.address, profile=profile), server
        case "anthropic":
            from langchain_anthropic import ChatAnthropic

            server = StrictAnthropic([], cache=None).__enter__()
            return ChatAnthropic(base_url=server.url, **settings | {"max_tokens": 4_000}), server
    if kind == "responses":
        settings |= {"use_responses_api": True, "store": False, "include": ["reasoning.encrypted_content"]}
    server = StrictOpenAI([]).__enter__()
    return ChatOpenAI(base_url=server.url, **settings), server


def strict(kind: str, answers: Sequence[Any]) -> tuple[Any, Any]:
    model, server = served(kind)
    server.answers = list(answers)
    server.requests.clear()
    server.refused.clear()
    return model, server


def tool_of(name: str, schema: Mapping[str, Any]) -> Any:
    """A tool whose parameters are described by this schema, as an MCP server's are."""
    made: Any = StructuredTool(
        name=name, description="Does it.", args_schema=dict(schema), func=lambda **given: str(given)
    )
    return reads(made)


def gives(content: Any, **more: Any) -> Any:
    @tool
    def look(own: Annotated[str, InjectedToolCallId]) -> Any:
        """Look."""
        return ToolMessage(content, tool_call_id=own, **more) if more else content

    return reads(look)


def answered_by(*results: str) -> Any:
    """A tool `look` whose call gets a result for each of these ids; an empty one is the call's own."""

    @tool
    def look(own: Annotated[str, InjectedToolCallId]) -> Any:
        """Look."""
        return Command(
            update={"messages": [ToolMessage(f"seen {n}", tool_call_id=id_ or own) for n, id_ in enumerate(results)]}
        )

    return reads(look)


@dataclass(frozen=True)
class Kind:
    """A history: what a model answered, what tools gave, what else is in the thread."""

    answers: tuple[Any, ...] = (Say("Yes."),)
    tools: tuple[Any, ...] = ()
    held: tuple[Any, ...] = ()
    """Messages that the thread begins with, as one from elsewhere does."""
    images: tuple[Any, ...] = ()
    prompts: tuple[str, ...] = ("go",)
    of: tuple[str, ...] = ALL
    """The protocols that can say so."""


def calls(*names: str, args: Any = None, id_: str = "c{}") -> list[Any]:
    return [Use(name, {} if args is None else args, id=id_.format(n)) for n, name in enumerate(names)]


def object_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


DONE = Say("Done.")
LOOK = (calls("look"), DONE)
TURNS = ("one", "two")
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tea"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
    {"type": "web_search_result", "url": "https://example.com", "title": "Tea", "encrypted_content": "abc"}]}  # fmt: skip
REFUSAL = {
    "id": "msg", "type": "message", "role": "assistant", "status": "completed",
    "content": [{"type": "refusal", "refusal": "No."}],
}  # fmt: skip

SCHEMAS: Mapping[str, Any] = json.loads((DATA / "tool_schemas.json").read_text(encoding="utf-8"))
KINDS: Mapping[str, Kind] = {
    # names of tools
    "a name with a dot": Kind((calls("multi_tool_use.parallel"), DONE)),
    "a name with blanks and a slash": Kind((calls("read file/now"), DONE)),
    "a name in Chinese": Kind((calls("查找"), DONE)),
    "a name of 90 letters": Kind((calls(LONG), DONE)),
    "no name": Kind((calls(""), DONE)),
    "a tool of one's own with a dot": Kind((calls("my.tool"), DONE), (tool_of("my.tool", object_of()),)),
    "a name that begins with a digit": Kind((calls("21st_magic"), DONE), (tool_of("21st_magic", object_of()),)),
    "a name that nobody has and that begins with a hyphen": Kind((calls("-rm"), DONE)),
    "two tools that differ in their 90th letter": Kind(
        (calls(f"{LONG}1", f"{LONG}2"), DONE), (tool_of(f"{LONG}1", object_of()), tool_of(f"{LONG}2", object_of()))
    ),
    # ids of calls
    "ids that repeat each turn": Kind((calls("ls"), DONE, calls("ls"), DONE), prompts=TURNS),
    "ids that repeat in each step": Kind((calls("ls"), calls("ls", args={"path": "/tmp"}), DONE)),
    "two calls of one id": Kind((calls("ls", "ls", id_="same"), DONE)),
    "ids with odd letters": Kind((calls("ls", "ls", id_="functions.ls:{}"), DONE)),
    "ids that differ in odd letters alone": Kind(([*calls("ls", id_="a.b"), *calls("ls", id_="a:b")], DONE)),
    "an id of 200 letters": Kind((calls("ls", "ls", id_=f"{'x' * 200}{{}}"), DONE)),
    "no id": Kind((calls("ls", id_=""), DONE)),
    # arguments
    "arguments that are not JSON": Kind((calls("ls", args='{"path": "/'), DONE)),
    "arguments that are a list": Kind((calls("ls", args="[1, 2]"), DONE)),
    "arguments that are null": Kind((calls("ls", args="null"), DONE)),
    "no arguments": Kind((calls("ls", args=""), DONE)),
    # texts
    "an empty answer": Kind((Say(""), DONE), prompts=TURNS),
    "a blank answer": Kind((Say(" \n "), DONE), prompts=TURNS),
    "an answer that ends in blanks": Kind((Say("Yes. \n\n"),)),
    "blank text beside a call": Kind(([Say(" \n"), *calls("ls")], DONE)),
    "half an emoji": Kind((Say("half \ud83d"),), held=(HumanMessage("half \ud83d"),)),
    "a blank prompt": Kind(held=(HumanMessage(" "), AIMessage("What?"))),
    "a prompt of no blocks": Kind(held=(HumanMessage([]), AIMessage("What?"))),
    "a system message in the middle": Kind(held=(HumanMessage("hi"), AIMessage("What?"), SystemMessage("Be brief."))),
    # results
    "an empty result": Kind(LOOK, (gives(""),)),
    "a blank result": Kind(LOOK, (gives(" \n"),)),
    "a result with an empty block": Kind(LOOK, (gives([{"type": "text", "text": ""}, {"type": "text", "text": "x"}]),)),
    "a result of no blocks": Kind(LOOK, (gives([]),)),
    "an error without words": Kind(LOOK, (gives("", status="error"),)),
    "an image as a result": Kind(LOOK, (gives([{"type": "text", "text": "this"}, PIXEL]),)),
    "two results of a call": Kind(LOOK, (answered_by("", ""),)),
    "a result of no call": Kind(LOOK, (answered_by("", "other"),)),
    "results that are missing": Kind(
        held=(HumanMessage("a"), AIMessage("", tool_calls=[{"name": "ls", "args": {}, "id": "z1"}]), HumanMessage("b"))
    ),
    "a result later than the next prompt": Kind(held=(HumanMessage("a"), AIMessage("", tool_calls=[{"name": "ls",
        "args": {}, "id": "z1"}]), HumanMessage("b"), ToolMessage("late", tool_call_id="z1"))),
    "a thread that begins with an answer": Kind(held=(AIMessage("Welcome."),)),
    "a thread that ends with an answer of blanks": Kind(held=(HumanMessage("a"), AIMessage("So \n"))),
    "names of people": Kind(held=(HumanMessage("a", name="Ida Berg"), AIMessage("b", name="the agent"))),
    # blocks
    "thinking, signed": Kind(([Think("hm", "sign 1"), *calls("ls")], [Think("so", "sign 2"), DONE]), of=(*ALL[1:], "google")),
    "thinking without a signature": Kind(([Think("hm", ""), *calls("ls")], DONE), of=("anthropic",)),
    "thinking alone": Kind(([Think("hm", "sign 1")], DONE), prompts=TURNS, of=(*ALL[1:], "google")),
    "thinking in tags": Kind((Say("<think>hm</think>Yes."),)),
    "thinking that is redacted": Kind(
        ([Block({"type": "redacted_thinking", "data": "secret"}), Say("Yes.")],), of=("anthropic",)
    ),
    "a refusal": Kind(([Block(REFUSAL)],), of=("responses",)),
    "a search by the provider, Anthropic's": Kind(([Block(SEARCH), Block(FOUND), Say("Tea.")],), of=("anthropic",)),
    "a search by the provider, OpenAI's": Kind(([Block({"id": "ws", "type": "web_search_call", "status": "completed",
        "action": {"type": "search", "query": "tea"}}), Say("Tea.")],), of=("responses",)),
    "blocks of a third provider": Kind(
        held=(HumanMessage("a"), AIMessage([{"type": "executable_code", "code": "1+1"}, {"type": "text", "text": "2", "index": 0}]))
    ),
    "an image in a prompt": Kind(images=(png(8, 8),)),
    "sound in a prompt": Kind(
        held=(HumanMessage([{"type": "text", "text": "hear"}, {"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"}]), AIMessage("a"))
    ),
    # schemas
    "schemas": Kind(tools=tuple(tool_of(name.replace(" ", "_")[:20], one) for name, one in SCHEMAS.items())),
    "names of parameters with odd letters": Kind(
        (calls("look", args={"filter[x]": "1"}), DONE), (tool_of("look", object_of(**{"filter[x]": {"type": "string"}})),)
    ),
}  # fmt: skip


def held(s: Session) -> list[Any]:
    return [m.model_dump() for m in s.graph.get_state(s.config).values.get("messages", ())]


@cache
def session() -> Session:
    """One session has a thread for each case: it keeps the graphs that it has made."""
    return Session(enable_skills=False, enable_memory=False, enable_subagents=False)


def tried(kind: Kind, first: str, others: Sequence[str]) -> list[str]:
    """What was refused of a history that the first model made, by it, by each of the others, and by the first again."""
    found: list[str] = []
    one, server = strict(first, [*kind.answers, Say("Still here.")])
    asked = [(one, "Still here.")]
    servers = {first: server}
    for other in reversed(others):
        model, servers[other] = strict(other, [Say("Here.")])
        asked.insert(0, (model, "Here."))
    s = session()
    s.configure(model=one, tools=kind.tools)
    s.new()
    if kind.held:
        s.graph.update_state(s.config, {"messages": list(kind.held)}, as_node="model")
    try:
        for number, prompt in enumerate(kind.prompts):
            s.run(prompt, images=kind.images if number == 0 else ())
        before = held(s)
        for model, said in asked:
            s.configure(model=model)
            turn = s.run("and now?")
            found += [] if turn.text == said else [f"{turn.text!r} was said"]
        found += [] if held(s)[: len(before)] == before else ["the thread has changed"]
    except Exception as error:
        found.append(f"{type(error).__name__}: {error}"[:300])
    return [*(f"{name}: {problem}" for name, one in servers.items() for problem in one.refused), *found]


BROKEN = ("arguments that are a list", "arguments that are null")
"""What langchain-openai 1.7 does not read of an answer of Responses (`ValidationError`): no history comes of it."""
WITHOUT_TOOLS_FIRST = sorted(KINDS, key=lambda name: bool(KINDS[name].tools))
"""A session keeps the last graphs that it has made: with the same tools they are the same."""


@pytest.mark.slow
@every_row("name", WITHOUT_TOOLS_FIRST)
@every_row(("first", "others"), [
    ("openai", ("anthropic", "responses", "google")), ("anthropic", ("openai", "responses", "ollama")),
    ("responses", ("openai", "anthropic")), ("google", ("ollama",)), ("ollama", ("google",)),
])  # fmt: skip
def test_what_one_model_said_the_others_take(monkeypatch, name, first, others):
    monkeypatch.setattr(windows, "_asked", lambda model: None)  # no server is asked for its window
    kind = KINDS[name]
    says = first in kind.of or (kind.of == ALL and first not in ALL)
    if says and not (first == "responses" and name in BROKEN):
        assert tried(kind, first, others) == []


KEY: Any = {"api_key": "x"}
GPT: Any = ChatOpenAI(model="some-model", **KEY)


def thought(model: str, signature: str = "s") -> AIMessage:
    block = {"type": "thinking", "thinking": "hm", "signature": signature}
    meta = {"model_provider": "anthropic", "model_name": model}
    return AIMessage([block, {"type": "text", "text": "Yes."}], response_metadata=meta)


@every_row(("model", "said", "kept"), [
    *(("claude-sonnet-4-5", thought(*said), kept) for said, kept in (
        (["claude-sonnet-4-5-20250929"], True), (["claude-sonnet-4-5"], True), (["claude-opus-4-1-20250805"], False),
        (["a name of the gateway's"], True), (["claude-sonnet-4-5", ""], False))),
    ("gateway/claude", thought("claude-opus-4-1-20250805"), True),
    (GPT, thought("claude-sonnet-4-5"), False),
    (ScriptedModel(answers=[]), AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "x"}]),
     True),
])  # fmt: skip
def test_a_thought_goes_back_to_the_model_that_had_it_alone(model, said, kept):
    if isinstance(model, str):
        model = strict("anthropic", [])[0].model_copy(update={"model": model})
    messages = [HumanMessage("a"), said, HumanMessage("b")]
    sent = Fitter()(messages, model)
    assert (sent[1] is said) == kept and sent[1].text == said.text and "hm" in str(said.content)


def test_what_is_fit_is_sent_as_it_is_and_looked_at_once(monkeypatch):
    monkeypatch.setattr(fit, "_fit_one", looked := Mock(wraps=fit._fit_one))
    call = AIMessage("", tool_calls=[{"name": "ls", "args": {}, "id": "c1"}])
    thread = [HumanMessage("a"), call, ToolMessage("x", tool_call_id="c1"), AIMessage("b"), HumanMessage("c")]
    fitter = Fitter()
    for length in (1, 3, 5):
        part = fitter(thread[:length], GPT)
        assert all(map(is_, part, thread[:length])) and len(part) == length
    assert fitter([one.model_copy() for one in thread], GPT) == thread
    assert looked.call_count == 5, "a checkpoint gives equal messages, which are new objects"
    fitter([*thread[:3], HumanMessage("another")], GPT)
    assert looked.call_count == 9, "what begins otherwise is looked at anew"
    odd = [*thread, call, ToolMessage("y", tool_call_id="c1")]
    sent: list[Any] = fitter(odd, GPT)
    assert (sent[5].tool_calls[0]["id"], sent[6].tool_call_id) == ("c1_2", "c1_2")
    assert call.tool_calls[0]["id"] == "c1", "the thread keeps what was said"
    assert Fitter()(odd, GPT) == sent, "a request is the same whatever was sent before it"


def test_a_call_in_the_words_that_were_sent_is_one_of_the_tool():
    given = []
    schema = object_of(**{"filter[x]": {"type": "string"}})
    odd: Any = StructuredTool(
        name="my.tool", description="Do.", args_schema=schema, func=lambda **args: given.append(args)
    )

    def answer(request: Any) -> Any:
        sent = request["tools"][-1]
        return calls(sent["name"], args={next(iter(sent["input_schema"]["properties"])): "1"})

    model, server = strict("anthropic", [answer, DONE])
    s = Session(model, enable_skills=False, enable_memory=False, enable_subagents=False, tools=[reads(odd)])
    turn = s.run("go")
    assert given == [{"filter[x]": "1"}] and server.refused == []
    assert [e.name for e in turn.events if isinstance(e, ToolStarted)] == ["my.tool"]
    assert s.snapshot.messages[1].tool_calls[0].name == "my.tool"


def test_words_of_schemas_that_can_not_be_sent_are_left_out_or_told():
    old = object_of(a={"type": "integer", "required": True, "exclusiveMinimum": True, "minimum": 0})
    assert fit_parameters(old)[0]["properties"]["a"] == {"type": "integer", "minimum": 0}
    good = {**object_of(a={"type": "array", "items": {}}), "required": ["a"], "$defs": {"B": {"type": "null"}}}
    assert fit_parameters(good) == (good, {})
    schema = object_of(
        n={"type": "integer", "description": "How many.", "enum": [1, 2]}, s={"type": "string", "enum": ["a"]}
    )
    assert fit_parameters(schema) == (schema, {})
    made = fit_parameters(schema, enums=False)[0]["properties"]
    assert made["n"] == {"type": "integer", "description": "How many. One of 1, 2."}
    assert made["s"] == schema["properties"]["s"]
