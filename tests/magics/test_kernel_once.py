"""Interrupts at random moments in a real kernel: no call of a tool runs twice unasked."""

import json
import os
import random

import pytest

from tests import IMPORT_TESTS
from tests.support.kernels import Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.nightly]

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
