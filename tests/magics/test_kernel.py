"""What only a real kernel shows: the stop button, its event loop, hidden prompts, the notebook that is open."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import v4

from deepnb.widgets.turn import MAX_OUTPUTS
from tests import IMPORT_TESTS
from tests.support.kernels import Cell, Kernel, Ran, asked
from tests.support.tables import every_row

pytestmark = pytest.mark.kernel

TAG = re.compile(r"<[^>]*>")

MODELS = """
import time
from tests.support.scripted import Scripted, call
from tests.support.endless import Endless

def sleeper() -> str:
    "Sleep."
    time.sleep(60)
    return "slept"

def busy() -> str:
    "Count for ever."
    until = time.monotonic() + 60
    while time.monotonic() < until:
        sum(range(1000))
    return "counted"

deepnb_session = __import__("deepnb").current()
deepnb_session.configure(tools=[sleeper, busy], approve={"sleeper": "allow", "busy": "allow"})
slow = Endless()
sleeps = Scripted(answers=[call("sleeper"), "after sleeping"])
counts = Scripted(answers=[call("busy"), "after counting"])
"""


@pytest.fixture
def models(kernel: Kernel) -> Kernel:
    kernel.ok(IMPORT_TESTS + MODELS)
    return kernel


def cut(kernel: Kernel, sent: str, sign: str) -> Ran:
    """The cell that was sent, interrupted when it shows or prints `sign`.

    The picture of an answer grows; its text is sent when it has ended.
    """
    done: list[bool] = []

    def when(kernel: Kernel, message: dict[str, Any]) -> None:
        content, data = message["content"], message["content"].get("data", {})
        seen = unescape(TAG.sub("", str(data.get("text/html", "")))) + str(data.get("text/plain", ""))
        if not done and sign in seen + str(content.get("text", "")):
            done.append(True)
            kernel.interrupt()

    ran = kernel.wait(sent, when)
    assert done, f"{sign!r} was never shown: {ran.text}"
    assert ran.status == "error"
    return ran


def stopped(kernel: Kernel, cell: str, sign: str) -> tuple[Ran, Ran]:
    """A cell that is interrupted there, and one queued behind it."""
    kernel.run("reached = False")
    first, second = kernel.send(cell), kernel.send("reached = True")
    return cut(kernel, first, sign), kernel.wait(second)


def check(kernel: Kernel, ran: Ran, queued: Ran, where: str) -> None:
    assert queued.status == "aborted"
    assert not ran.of("error"), "a traceback"
    (line,) = ran.printed.strip().splitlines()
    assert line.startswith(f"UsageError: interrupted {where}"), line
    assert "%agent resume" in line and f"interrupted {where}" in ran.text
    assert kernel.value("reached") == "False"


def test_in_the_model(models: Kernel) -> None:
    ran, queued = stopped(models, "%%agent --model slow\nwhat can you do?", "I am")
    check(models, ran, queued, "while the model answered")
    assert "teaching model" in models.ok("%agent resume").text
    assert "You are welcome" in models.ok("%%agent\nthanks").text


def test_in_a_tool(models: Kernel) -> None:
    """One that sleeps in C, and one that works in Python."""
    tools = (("sleeps", "sleeper", "after sleeping"), ("counts", "busy", "after counting"))
    for turns, (model, tool, answer) in enumerate(tools, 1):
        models.ok(f"%agent use {model}")
        ran, queued = stopped(models, "%%agent\ngo", f"→ {tool}()")
        check(models, ran, queued, f"in the tool {tool}")
        assert "%agent resume again" in ran.printed and "%agent resume skip" in ran.printed
        unsure = models.run("%agent resume")
        assert unsure.status == "error" and "may have done part of its work" in unsure.printed
        assert answer in models.ok("%agent resume skip").text
        assert models.value("len(deepnb_session.turns)") == str(turns)


GRAPHS = """
import asyncio
from langgraph.graph import END, START, MessagesState, StateGraph
def work(state):
    print("waits")
    while True:
        sum(range(1000))

async def wait(state):
    print("waits")
    await asyncio.sleep(600)

works = StateGraph(MessagesState).add_node("wait", work).add_edge(START, "wait").add_edge("wait", END).compile()
waits = StateGraph(MessagesState).add_node("wait", wait).add_edge(START, "wait").add_edge("wait", END).compile()
"""


@every_row("name", ["waits", "works"])
def test_stop_ends_a_node_that_waits_or_works(kernel: Kernel, name: str) -> None:
    kernel.ok(f"{IMPORT_TESTS}{GRAPHS}\n%agent use {name}")
    ran = cut(kernel, kernel.send("%%agent\nWait"), "waits")
    told = ran.printed + ran.text + str(ran.reply)
    assert "interrupted" in told and "still running" not in told
    assert "interrupted before wait" in kernel.ok("%agent").text


TOOLS = """
import asyncio, deepnb
from deepnb.testing import ScriptedModel as Scripted, call

async def hang() -> str:
    "Wait for ever."
    print("hanging", flush=True)
    await asyncio.Event().wait()

def session(*answers):
    return deepnb.Session(model=Scripted(answers=[*answers]), tools=[hang], approve={"hang": "allow"})
"""
WAYS = {"run": "turn = s.run('p')", "arun": "turn = await s.arun('p')", "cell": "%%agent --quiet\np"}


def test_interrupted_in_a_coroutine_the_kernel_is_free_and_the_turn_resumes(kernel: Kernel):
    for way, cell in WAYS.items():
        kernel.ok(f"{TOOLS}\ns = session(call('hang'), 'done')")
        if way == "cell":  # the session of the extension
            kernel.ok("s.close(); given = s.options; s = deepnb.current()")
            kernel.ok("s.configure(model=given.model, tools=given.tools, approve=given.approve)")
        cut(kernel, kernel.send(cell), "hanging")
        assert kernel.value("s.turns[-1].interrupted") == "'interrupted in the tool hang'", way
        kernel.ok("for event in s.resume('skip'): pass")
        assert kernel.value("s.text") == "'done'", way


KEY = "correct-horse-battery-staple-unlike-any-other"


def test_the_prompt_is_hidden_and_what_is_typed_is_shown_nowhere(kernel: Kernel) -> None:
    prompts, published, reply = asked(kernel, "%agent key openai", KEY)
    assert reply["status"] == "ok"
    assert prompts == [{"prompt": "key for openai (hidden, kept in this process only): ", "password": True}]
    shown = json.dumps(published, default=str)
    assert "key for openai kept in this process only" in shown
    later = [kernel.run(cell) for cell in ("%agent models", "1 / 0", "deepnb", "%agent", "%history", "%config DeepNB")]
    assert "key entered here" in later[0].text
    assert KEY not in shown + json.dumps([[r.messages, r.reply] for r in later], default=str)
    held = "from deepnb.models.keys import kept_key; print(kept_key('openai'), len(kept_key('openai').reveal()))"
    assert kernel.ok(held).text.strip() == f"Key(hidden) {len(KEY)}"


EDIT = """
from tests.support.scripted import Scripted, call
from deepnb.workshop.notebooks import version_of
from pathlib import Path
def edit(name):
    file = Path(name).resolve()
    edits = [{"replace": 1, "source": "print('new')"}, {"insert": 2, "source": "## More", "kind": "markdown"}]
    args = {"path": name, "edits": edits, "version": version_of(file, file.read_bytes())}
    return Scripted(answers=[call("edit_notebook", **args), "done"])
"""


def notebooks(directory: Path) -> None:
    for name in ("open", "other"):
        cells = [v4.new_code_cell("print('old')", id=f"id-of-{name}")]
        nbformat.write(v4.new_notebook(cells=cells), directory / f"{name}.ipynb")


def sources(file: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(file, 4).cells]


@pytest.mark.slow
def test_in_a_kernel_the_notebook_that_is_open_is_refused_and_another_asks(kernel: Kernel, tmp_path: Path):
    notebooks(tmp_path)
    kernel.ok(f"%cd -q {tmp_path}\n{EDIT}")
    kernel.ok("model = edit('open.ipynb')\n%agent use model")
    kernel.wait(kernel.send("1", cell_id="id-of-open"))
    refused = kernel.ok("%agent go")
    assert "open.ipynb is open here" in refused.text and "needs your approval" not in refused.text
    kernel.ok("model = edit('other.ipynb')\n%agent use model\n%agent new")
    asked = kernel.ok("%agent go")
    (card,) = (d for d in asked.outputs.values() if "needs your approval · " in d.get("text/plain", ""))
    assert "+print('new')" in card["text/plain"] and "cell 2 · markdown · added" in card["text/html"]
    kernel.ok("%agent approve")
    assert sources(tmp_path / "other.ipynb") == ["print('new')", "## More"]
    assert sources(tmp_path / "open.ipynb") == ["print('old')"]


SETUP = f"{IMPORT_TESTS}from tests.support.scripted import Scripted, call\n"


@pytest.fixture
def work(kernel: Kernel, tmp_path: Path) -> Path:
    kernel.ok(f"%agent mount /work disk:{tmp_path}\n{SETUP}")
    return tmp_path


WRITE = 'call("write_file", "w{0}", file_path="/work/{0}", content="x")'


@pytest.mark.slow
def test_a_turn_that_fills_the_cell_leaves_room_for_what_comes_of_the_card(kernel: Kernel, work: Path) -> None:
    looks = [
        f'AIMessage("Look {n}. " + "word " * 200, tool_calls=[{{"name": "ls", "args": {{"path": "/{n}"}}, "id": "l{n}"}}])'
        for n in range(30)
    ]
    kernel.ok("from langchain_core.messages import AIMessage")
    kernel.ok(f'm = Scripted(answers=[{", ".join(looks)}, {WRITE.format("a")}, "Over and done."])\n%agent use m')
    cell = Cell(kernel, "%agent go")
    assert len(cell.made) <= MAX_OUTPUTS and "[buttons]" in cell.texts
    cell.click("Approve")
    whole = "\n".join(cell.texts)
    words = [*(f"Look {n}." for n in range(30)), "approved", "Over and done."]
    places = [whole.find(word) for word in words]
    assert -1 not in places and places == sorted(places), [*zip(words, places, strict=True)][-4:]


def test_a_mistake_after_the_click_is_said_below_the_card(kernel: Kernel, work: Path) -> None:
    kernel.ok(f'm = Scripted(answers=[{WRITE.format("a")}, RuntimeError("the line is dead"), "again"])\n%agent use m')
    cell = Cell(kernel, "%agent go")
    cell.click("Approve")
    assert any("the line is dead: fix it, then %agent resume" in text for text in cell.texts)
    assert (work / "a").exists() and "again" in kernel.ok("%agent resume").text
