"""`application`: memory in the store, approvals, nested agents, its options; and the five parts together, without IPython."""

import asyncio
import json
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from deepnb.backends.memory_store import MemoryStoreBackend
from deepnb.middleware import application
from deepnb.testing import ScriptedModel, call
from tests.middleware import story
from tests.support.applications import files_in, say, with_store
from tests.support.scripted import pay
from tests.support.tables import every_row, refused

SEED = {"/AGENTS.md": b"- tabs\n", "/MEMORY.md": b"private\n"}
APPROVE: Any = Command(resume={"type": "approve"})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    for path, content in SEED.items():
        (tmp_path / f"files{path}").write_bytes(content)
    return tmp_path


def graph(place: Path, *answers: Any, store: Any = None, **options: Any) -> Any:
    model = ScriptedModel(answers=[*answers, "done"])
    return with_store(application(place, model=model, **options), store)


def results(state: Any) -> list[str]:
    return [m.text for m in state["messages"] if m.type == "tool"]


def run_of(store: Any, assistant: str = "a", user: str | None = None) -> Any:
    known = SimpleNamespace(identity=user) if user else None
    return SimpleNamespace(store=store, server_info=SimpleNamespace(assistant_id=assistant, user=known))


def test_memory_is_in_the_store_and_the_files_of_the_package_come_once(place: Path) -> None:
    store = InMemoryStore()
    edit = call("edit_file", "1", file_path="/AGENTS.md", old_string="- tabs", new_string="- spaces")
    first = graph(place, call("write_file", "0", file_path="/draft.md", content="x"), edit, store=store)
    assert "__interrupt__" in say(first, "go"), "what is in the store no checkpoint brings back"
    state = say(first, APPROVE)
    assert files_in(store) == {"/AGENTS.md": "- spaces\n", "/MEMORY.md": "private\n"}
    assert list(state["files"]) == ["/draft.md"], "other files are the thread's"

    (place / "files" / "AGENTS.md").write_text("- a later package\n")
    (place / "files" / "USER.md").write_text("new\n")
    second = graph(place, store=store)
    say(second, "go", thread="2")
    assert files_in(store)["/AGENTS.md"] == "- spaces\n" and "/USER.md" not in files_in(store)


SPACE = ("deepnb", "a", "everyone", "files")


def test_a_file_that_is_there_already_is_not_written_over() -> None:
    store, backend = InMemoryStore(), MemoryStoreBackend(tuple(SEED))
    store.put(SPACE, "/AGENTS.md", {"content": "- mine\n", "encoding": "utf-8"})
    backend.seed(SEED, run_of(store))
    assert files_in(store) == {"/AGENTS.md": "- mine\n", "/MEMORY.md": "private\n"}
    store.delete(SPACE, "/MEMORY.md")
    backend.seed(SEED, run_of(store))
    assert "/MEMORY.md" not in files_in(store), "what was removed stays removed"


class Overtaken(InMemoryStore):
    """Lets another run go first, where it can, before the first file is put into it."""

    other: threading.Thread | None = None

    def batch(self, ops: Any) -> Any:
        ops, other = list(ops), self.other
        if other is not None and any(isinstance(op, PutOp) for op in ops):
            self.other = None
            other.start()
            other.join(0.5)  # where it waits for us, it comes after
        return super().batch(ops)


def test_two_first_runs_at_once_lose_nothing() -> None:
    store, backend = Overtaken(), MemoryStoreBackend(tuple(SEED))

    def run() -> None:
        backend.seed(SEED, run_of(store))
        store.put(SPACE, "/AGENTS.md", {"content": "- edited\n", "encoding": "utf-8"})

    store.other = other = threading.Thread(target=run)
    backend.seed(SEED, run_of(store))
    other.join()
    assert files_in(store) == {"/AGENTS.md": "- edited\n", "/MEMORY.md": "private\n"}


def test_assistants_and_users_have_memory_of_their_own() -> None:
    store = InMemoryStore()
    backend = MemoryStoreBackend(tuple(SEED))
    for assistant, user in (("a", None), ("b", None), ("a", "auth0|ada@example.com")):
        backend.seed(SEED, run_of(store, assistant, user))
    spaces = {item.namespace[1:3] for item in store.search(("deepnb",), limit=100) if item.namespace[-1] == "files"}
    assert spaces == {("a", "everyone"), ("b", "everyone"), ("a", "auth0~7c~ada~40~example~2e~com")}


@every_row("awaits", [False, True])
def test_notes_are_added_searched_and_guarded(place: Path, awaits: bool) -> None:
    key = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    calls = [call("note", "1", text="The colour is red."), call("memory_search", "2", query="colour")]
    store = InMemoryStore()
    made = graph(place, *calls, call("note", "3", text=f"The key is {key}."), store=store)
    config: Any = {"configurable": {"thread_id": "1"}}
    state = asyncio.run(made.ainvoke({"messages": [("user", "go")]}, config)) if awaits else say(made, "go")
    noted, found, refused = results(state)
    assert noted.startswith("Noted in /memory/") and "The colour is red." in found
    assert refused.startswith("Error: not written to /memory/") and key not in f"{files_in(store)}{state}"
    assert {"/AGENTS.md", "/MEMORY.md"} < {*files_in(store)}


def test_a_subagent_is_asked_about_and_reads_no_private_memory(place: Path) -> None:
    inner = ScriptedModel(answers=[call("read_file", "3", file_path="/MEMORY.md"), call("pay", "4", amount=2), "paid"])
    clerk = {"name": "clerk", "description": "Pays.", "system_prompt": "Pay.", "model": inner}
    made = graph(place, call("task", "1", subagent_type="clerk", description="pay"), subagents=[clerk], tools=[pay])
    (waiting,) = say(made, "go")["__interrupt__"]
    assert waiting.value["name"] == "pay" and "/MEMORY.md is kept from a subagent" in inner.requests[1][-1].text
    assert results(say(made, APPROVE)) == ["paid"]


@every_row(("options", "line"), [
    ({"modle": "offline"}, "application has no option 'modle': did you mean model?"),
    ({"max_cost": 1.0}, "max_cost is of a session in a kernel: leave it out"),
    ({"trigger": "often"}, "trigger can't be 'often'"),
])  # fmt: skip
def test_a_bad_option_is_one_line(place: Path, options: Any, line: str) -> None:
    assert str(refused("", application, place, **options)).startswith(line)


def test_without_a_store_and_with_a_mistake_in_a_subagents_file_it_says_what_to_do(place: Path) -> None:
    made = application(place)
    config = {"configurable": {"thread_id": "1"}}
    refused(r"there is no store for memory: set graph\.store", made.invoke, {"messages": [("user", "go")]}, config)
    (place / "files" / "agents").mkdir()
    (place / "files" / "agents" / "critic.md").write_text("---\ntools: fly\n---\nYou.\n")
    refused(r"/agents/critic\.md can't be used", application, place)


def test_a_run_ends_at_its_limit_of_model_calls(place: Path) -> None:
    answers = [call("ls", str(n), path="/") for n in range(9)]
    state = say(graph(place, *answers, max_steps=3), "go")
    assert len(results(state)) == 3 and "limit" in state["messages"][-1].text


UPDATE = "--- /dev/null\n+++ b/AGENTS.md\n@@ -0,0 +1 @@\n+- tabs\n"


def check(told: dict[str, Any], kind: str) -> None:
    *turn, summary, last = told["requests"]
    (first, second, third, fourth, _), history = turn, told["history"]
    # memory
    assert "(nothing yet" in first[0][1] and "/AGENTS.md starts it" in first[0][1]
    assert second[-1][0] == "human" and second[-1][1].endswith(UPDATE), "the edit is in the very next call"
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(turn)), "what was sent stays as it was"
    assert len([text for _, text in last if UPDATE in text]) == 1, "a compaction does not lose it"
    # skills
    assert "- **greeting**: How to greet. -> read_file `/skills/greeting/SKILL.md`" in first[0][1]
    assert "Say hello." not in first[0][1]
    # approvals
    (asked,) = told["asked"]
    assert (asked["type"], asked["name"], asked["args"]) == ("tool_approval", "pay", {"amount": 3})
    assert third[-1] == ["tool", "paid 3"]
    # the guard
    role, answer = fourth[-1]
    assert role == "tool" and answer.startswith("Error: not written to /AGENTS.md: a credential")
    assert told["memory"] == "- tabs\n"
    assert story.KEY not in str(told), f"{kind}: neither in the state nor in what was sent or kept"
    # compaction
    assert history.startswith("## Summarized at ") and "Remember that I like tabs, then pay 3." in history
    assert "[redacted: Anthropic key]" in history and "→ pay" in history
    assert any("What is the colour?" in said for _, said in summary)
    assert "/conversation_history/" in last[1][1] and "(the summary)" in last[1][1]
    talk = [text for _, text in last if not text.startswith("Memory has changed")]  # which comes before the prompt
    assert talk[talk.index("Go on.") - 1] == "the colour is red"


@pytest.mark.slow
@every_row("kind", ["deep", "plain"])
def test_the_parts_in_an_agent(kind: str, tmp_path: Any) -> None:
    command = [sys.executable, str(story.__file__), kind, str(tmp_path / "told")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert list(told) == ["invoke", "ainvoke", "astream"]
    for one in told.values():
        check(one, kind)
