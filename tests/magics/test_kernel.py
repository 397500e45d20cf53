"""What only a real kernel or a terminal shows: the stop button at any moment, its event loop, hidden prompts, an open notebook."""

import json
import os
import random
import re
import signal
import sys
from collections import Counter
from contextlib import closing
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from deepnb.views.view import View
from deepnb.widgets.turn import MAX_OUTPUTS
from tests import IMPORT_TESTS
from tests.support.kernels import Cell, Kernel, Ran, asked
from tests.support.shells import Shell
from tests.support.tables import every_row

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


@pytest.mark.kernel
def test_in_the_model(models: Kernel) -> None:
    ran, queued = stopped(models, "%%agent --model slow\nwhat can you do?", "I am")
    check(models, ran, queued, "while the model answered")
    assert "teaching model" in models.ok("%agent resume").text
    assert "You are welcome" in models.ok("%%agent\nthanks").text


@pytest.mark.kernel
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


@pytest.mark.kernel
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


@pytest.mark.kernel
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


@pytest.mark.kernel
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


SETUP = f"{IMPORT_TESTS}from tests.support.scripted import Scripted, call\n"


@pytest.fixture
def work(kernel: Kernel, tmp_path: Path) -> Path:
    kernel.ok(f"%agent mount /work disk:{tmp_path}\n{SETUP}")
    return tmp_path


WRITE = 'call("write_file", "w{0}", file_path="/work/{0}", content="x")'


@pytest.mark.kernel
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


@pytest.mark.kernel
def test_a_mistake_after_the_click_is_said_below_the_card(kernel: Kernel, work: Path) -> None:
    kernel.ok(f'm = Scripted(answers=[{WRITE.format("a")}, RuntimeError("the line is dead"), "again"])\n%agent use m')
    cell = Cell(kernel, "%agent go")
    cell.click("Approve")
    assert any("the line is dead: fix it, then %agent resume" in text for text in cell.texts)
    assert (work / "a").exists() and "again" in kernel.ok("%agent resume").text


ROUNDS = int(os.environ.get("DEEPNB_INTERRUPTS", "200"))
SEED = int(os.environ.get("DEEPNB_SEED", "35"))

BEGIN = """
import json, os, random, signal, threading, time
from collections import Counter
import deepnb
from deepnb.testing import ScriptedModel
from langchain_core.messages import AIMessage
ran = Counter()

def work(n: int, ms: int) -> str:
    "Work."
    ran[n] += 1
    time.sleep(ms / 1000)
    return f"worked {n}"

def count(n: int, ms: int) -> str:
    "Count."
    ran[n] += 1
    until = time.monotonic() + ms / 1000
    while time.monotonic() < until:
        sum(range(100))
    return f"counted {n}"

def one(chance, n):
    ms, tool = chance.choice([0, 1, 5, 20, 60, 150, 300]), chance.choice(["work", "count", "run_python"])
    if tool == "run_python":
        args = {"code": f"ran[{n}] += 1\\ntime.sleep({ms / 1000})"}
    else:
        args = {"n": n, "ms": ms}
    return {"name": tool, "args": args, "id": f"id{n}"}

def script(seed):
    chance, made, n = random.Random(seed), [], 0
    for _ in range(chance.randint(1, 3)):
        step = [one(chance, n + i) for i in range(chance.choice([1, 1, 2, 3]))]
        n += len(step)
        made.append(AIMessage("", tool_calls=step))
    return n, [*made, "done"]

def go(seconds):
    "A turn that is interrupted after some seconds; the signal never comes while no cell runs: ipykernel would lose it."
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        get_ipython().run_cell_magic("agent", "", "go")
    finally:
        timer.cancel()

def after():
    "Resume until nothing waits: (calls that ran, how often each, names that were asked about, the answer)."
    asked = 0
    for _ in range(20):
        try:
            list(session.resume())
        except deepnb.DeepnbError as error:
            if "nothing to resume" in str(error):
                break
            assert "was interrupted and may have done" in str(error), error
            asked += 1
            list(session.resume("skip"))
    last = session.turns[-1] if session.turns else None
    return json.dumps([dict(ran), asked, len(session.turns), last.text if last else None, session.pending])
"""


@pytest.mark.kernel
@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_each_call_ran_once_or_was_asked_about(kernel: Kernel) -> None:
    kernel.ok(IMPORT_TESTS + BEGIN)
    kernel.ok("session = deepnb.current(); session.configure(tools=[work, count], "
              "approve=dict.fromkeys(['work', 'count', 'run_python'], 'allow'))")  # fmt: skip
    chance, figures, wrong = random.Random(SEED), {"interrupted": 0, "asked": 0, "kept or not begun": 0}, []
    for number in range(ROUNDS):
        kernel.ok(f"n, answers = script({SEED * 1000 + number}); ran.clear(); session.new('t{number}'); "
                  "session.configure(model=ScriptedModel(answers=answers))")  # fmt: skip
        cut = kernel.run(f"go({chance.choice([0.05, 0.2, 0.6, 1.0]) * chance.random()})").status == "error"
        ran, asked, turns, text, pending = json.loads(eval(kernel.value("after()")))
        figures["interrupted"] += cut
        figures["asked"] += bool(asked)
        figures["kept or not begun"] += cut and not asked
        if any(times > 1 for times in ran.values()) or pending or (ran and text != "done"):
            wrong.append((number, ran, asked, turns, text, pending))
    print(f"{ROUNDS} turns, seed {SEED}: {figures}")
    assert not wrong, wrong
    assert figures["interrupted"] > ROUNDS / 4


@pytest.mark.kernel
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminal")
def test_control_c_stops_a_turn_with_one_line_and_it_goes_on(tmp_path: Path) -> None:
    env = {**os.environ, "IPYTHONDIR": str(tmp_path), "TERM": "dumb", "PYTHONUNBUFFERED": "1"}
    command = ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=nocolor", "--no-confirm-exit"]
    child: Any = pytest.importorskip("pexpect").spawn(
        sys.executable, command, env=env, cwd=str(tmp_path), encoding="utf-8", timeout=240, echo=False, dimensions=(50, 200)
    )  # fmt: skip

    def shown() -> str:
        child.expect(r"In \[\d+\]: ")
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r", "", child.before)

    with closing(child):
        shown()
        before = (
            "%load_ext deepnb", IMPORT_TESTS.strip(), "from tests.support.endless import Endless", "slow = Endless()",
        )  # fmt: skip
        for line in (*before, "%agent use slow"):
            child.sendline(line)
            shown()
        child.sendline("%agent what can you do?")
        child.expect("I am deepnb")
        child.sendintr()
        out = shown()
        child.sendline("%agent resume")
        resumed = shown()
    assert "Traceback" not in out and "KeyboardInterrupt" not in out
    (line,) = re.findall(r"^UsageError.*$", out, re.MULTILINE)
    assert line == "UsageError: interrupted while the model answered: %agent resume"
    assert "delegate a task to a subagent; summarize." in resumed


MOMENTS = 7
"""The publication at which the signal comes: from the first to one that never is."""
CUT = {"interrupted", "cut", "off", "no", "result"}
"""Words of a card whose tool was cut."""


class Notebook:
    """Outputs that can change; Ctrl-C comes in the middle of publication number `at`, counted from 1."""

    notebook = True

    def __init__(self, at: int) -> None:
        self.outputs: list[View] = []
        self.at, self.published = at, 0

    def show(self, view: View) -> "_Output":
        self.outputs.append(view)
        self._publish()
        return _Output(self, len(self.outputs) - 1)

    def _publish(self) -> None:
        self.published += 1
        if self.published == self.at:
            os.kill(os.getpid(), signal.SIGINT)

    @property
    def words(self) -> Counter[str]:
        """Of all outputs but the footer, without figures, which are never the same."""
        return Counter(re.findall(r"[^\W\d]+", " ".join(view.text() for view in self.outputs[:-1])))


class _Output:
    def __init__(self, screen: Notebook, number: int) -> None:
        self.screen, self.number = screen, number

    def update(self, view: View) -> None:
        self.screen.outputs[self.number] = view
        self.screen._publish()


def turn(shell: Shell, at: int) -> tuple[Notebook, str]:
    """One turn, interrupted there; gives its screen, and what was said of the interrupt."""
    screen = Notebook(at)
    scene = shell.ip._deepnb.scene
    before, scene.screen = scene.screen, screen
    ran = shell.run("%%agent\nRemember that I like zebras")
    scene.screen = before
    assert "Traceback" not in ran.err + ran.out
    return screen, ran.err.strip()


@pytest.fixture
def undisturbed(shell: Shell) -> Notebook:
    shell.ok("%agent new --empty")
    screen, said = turn(shell, 0)
    assert not said
    shell.ok("%agent switch main")
    return screen


@pytest.mark.parametrize("at", range(1, MOMENTS + 1))
def test_whatever_is_being_shown(shell: Shell, undisturbed: Notebook, at: int) -> None:
    screen, said = turn(shell, at)
    assert bool(said) == (screen.published >= at)
    (kept,) = shell.session.turns
    footer = screen.outputs[-1].text()
    assert "turn 1 · main" in footer
    new = screen.words - undisturbed.words
    if kept.interrupted is None:
        assert not new and not undisturbed.words - screen.words, "not what an undisturbed turn shows"
        told = ("", "UsageError: interrupted after the turn had ended: its answer is kept; you can run the cells below")
        assert said in told
    else:
        assert set(new) <= CUT, "shown twice"
        assert kept.interrupted not in footer, "said once: it ends the cell"
        what, next_ = said.rsplit(": ", 1)
        assert what == f"UsageError: {kept.interrupted}"
        assert next_ == ("%agent resume" if shell.session.pending else "%agent PROMPT continues from here")
        if shell.session.pending:
            shell.ok("%agent resume again" if "in the tool" in said else "%agent resume")
    assert shell.session.files["/AGENTS.md"].count("zebras") == 1
