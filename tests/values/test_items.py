"""The items of a request: together the tokens of each part, counted once, with what takes each out."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from deepnb import Session
from deepnb.context.counting import Counter as TokenCounter
from deepnb.context.counting import Meter
from deepnb.memory.budget import Fitted
from deepnb.memory.guarding import memory_block
from deepnb.testing import ScriptedModel, call
from deepnb.values import tokenizer
from deepnb.values.budget import rule_for
from deepnb.values.request import LARGE, MOST, Item, items, system_parts, system_pieces

KEY = "sk-ant-api03-" + "q7Rz9LmX2vB4" * 8
texts = st.text(alphabet="ab \n/.md*-`<>", max_size=60) | st.integers(0, 400).map(lambda n: "word " * n)
files = st.lists(st.builds(Fitted, st.sampled_from(["/AGENTS.md", "/MEMORY.md", "/a b/c.md"]), texts), max_size=3)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@st.composite
def messages(draw: st.DrawFn) -> list[BaseMessage]:
    block = memory_block(draw(files), "/AGENTS.md")
    out: list[BaseMessage] = [SystemMessage(f"{draw(texts)}{block}")]
    for n, text in enumerate(draw(st.lists(texts, max_size=14))):
        kind = n % 3
        calls = [{"name": "add", "args": {"a": 1, "text": text}, "id": f"c{n}"}]
        out.append(
            [HumanMessage(text, id=f"h{n}"), AIMessage(text, tool_calls=calls, id=f"a{n}"), ToolMessage(text, name="add", tool_call_id=f"c{n}", id=f"t{n}")][kind]
        )  # fmt: skip
    return out


@given(messages())
def test_the_items_of_a_part_are_together_its_tokens_and_nothing_is_counted_again(given_messages):
    counted = []

    def count(text: str) -> int:
        counted.append(text)
        return tokenizer.count(text)

    meter = Meter(TokenCounter(count, exact=True, name="test"), rule_for(8_000))
    budget, request = meter.measured(given_messages, [add])
    before = len(counted)
    found = items(request, ["add"])
    assert len(counted) == before
    sums = Counter[str]()
    for item in found:
        sums[item.part] += item.tokens
    assert dict(sums) | dict.fromkeys(budget.parts, 0) | dict(sums) == dict(budget.parts)
    for part in ("user", "assistant", "tool results"):
        assert sum(item.part == part for item in found) <= MOST + 1


@given(texts, files, texts)
def test_the_pieces_of_a_system_prompt_are_its_parts_cut_further(base, given_files, rest):
    text = f"{base}{memory_block(given_files, '/AGENTS.md')}{rest}"
    pieces = system_pieces(text)
    assert "".join(stretch for _, _, stretch in pieces) == text
    for part in ("system", "memory", "skills"):
        whole = "".join(stretch for name, stretch in system_parts(text) if name == part)
        assert "".join(stretch for name, _, stretch in pieces if name == part) == whole


def session(**options) -> Session:
    def convert(miles: float) -> float:
        """Convert miles to kilometres."""
        return miles * 1.609

    read = call("read_file", file_path="/long.txt")
    model = ScriptedModel(answers=[read, "The file is long."])
    s = Session(model=model, tools=[convert], max_input_tokens=8_000, tool_text="short", namespace={}, **options)
    s.memory.write("/AGENTS.md", "- tea at five\n")
    s.memory.write("/MEMORY.md", "- metric units\n\n/AGENTS.md is elsewhere\n")
    s.skills.new("plotting")
    s.files["/long.txt"] = f"my key is {KEY} and this is long: " + "word " * 2 * LARGE
    s.run("what is in /long.txt?")
    return s


def by_name(s: Session) -> dict[str, Item]:
    budget = s.budget()
    assert budget is not None
    return {item.name: item for item in budget.items}


TOOLS = ["ls", "read_file", "write_file", "edit_file", "delete", "glob", "grep", "note", "memory_search", "memory_get"]
TOOLS += ["list_variables", "inspect_variable", "query_table", "read_notebook", "edit_notebook", "run_python"]
TOOLS += ["propose_cell", "task"]


def test_each_item_says_its_tokens_how_it_begins_and_what_takes_it_out_and_that_does():
    s = session()
    found = by_name(s)
    assert {name: item.out for name, item in found.items()} == {
        **{name: f"%agent tools off {name}" for name in TOOLS}, "guidelines": "enable_memory=False",
        "convert": "%agent tools remove convert", "system prompt": 'system_prompt=""',
        "/AGENTS.md": "%memory rm /AGENTS.md", "/MEMORY.md": "%memory rm /MEMORY.md",
        "instructions": "enable_skills=False", "plotting": "%skills disable plotting",
        "result of read_file": "%agent compact", "1 message": "%agent compact", "2 messages": "%agent compact",
    }  # fmt: skip
    large = found["result of read_file"]
    assert large.tokens >= LARGE and "my key is" in large.start and "q7Rz9" not in large.start
    assert found["/MEMORY.md"].tokens > found["/AGENTS.md"].tokens >= s.count("/AGENTS.md\n\n- tea at five\n")
    s = session()
    before = by_name(s)
    s.tools.remove("convert")
    s.tools.off(*(off := [item.name for item in before.values() if item.out.startswith("%agent tools off ")]))
    s.skills.disable("plotting")
    s.memory.remove("/MEMORY.md")
    s.new()
    s.run("what now?")
    gone = before.keys() - by_name(s).keys()
    assert {"convert", "plotting", "/MEMORY.md", *off} <= gone and set(off) == set(TOOLS)
    for option in {item.out for item in before.values() if item.out.endswith("=False")}:
        name = option.partition("=")[0]
        s = session(**{name: False}) if name != "enable_filesystem" else Session(
            model=ScriptedModel(answers=["ok"]), enable_filesystem=False, enable_skills=False
        )  # fmt: skip
        if not s.turns:
            s.run("hello")
        there = by_name(s)
        assert not [item.name for item in before.values() if item.out == option and item.name in there]
