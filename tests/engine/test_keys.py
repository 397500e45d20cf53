"""Where upstream keeps what we read: each test names the key that moved."""

from typing import Any

import pytest
from deepagents.middleware.filesystem import FilesystemState
from deepagents.middleware.memory import MemoryState
from deepagents.middleware.skills import SkillsState
from deepagents.middleware.summarization import SUMMARIZATION_EVENT_KEY, SUMMARIZATION_SESSION_ID_KEY
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt

from deepnb import Session
from deepnb.engine import keys
from deepnb.engine.probe import snapshot
from deepnb.values.agent import Skill
from tests.support.scripted import Scripted, call

SKILL = "---\nname: csv-report\ndescription: Reports on a CSV.\n---\n\n# Do it\n"


@pytest.fixture(scope="module")
def state() -> dict[str, Any]:
    """The state of a small agent that has used all of it: files, memory, a skill, a compaction."""
    model = Scripted(answers=["one", "two", "summary", "three"])
    s = Session(model=model, trigger=("messages", 5), keep=("messages", 2))
    s.memory.add("likes tea")
    s.files["/skills/csv-report/SKILL.md"] = SKILL
    for prompt in "abc":
        s.run(prompt)
    return dict(s.graph.get_state(s.config).values)


def test_the_state_holds_what_we_read(state):
    kinds = {keys.MESSAGES: list, keys.FILES: dict, keys.MEMORY: dict, keys.SKILLS: list, keys.SKILL_ERRORS: list}
    kinds |= {keys.OFFLOAD: dict, keys.OFFLOAD_ID: str}
    moved = {key: type(state.get(key)).__name__ for key, kind in kinds.items() if not isinstance(state.get(key), kind)}
    assert moved == {}, f"upstream moved them: it has {sorted(state)}"
    assert state[keys.FILES]["/conversation_history/main.md"].keys() >= {"content", "encoding"}
    assert state[keys.MEMORY] == {"/AGENTS.md": "- likes tea\n"}
    assert state[keys.SKILLS][0].keys() >= {"name", "description", "path"}
    assert state[keys.OFFLOAD].keys() >= {"cutoff_index", "summary_message", "file_path"}
    assert state[keys.OFFLOAD_ID] == "main"


def test_upstream_names_them_so():
    assert keys.FILES in FilesystemState.__annotations__
    assert keys.MEMORY in MemoryState.__annotations__
    assert {keys.SKILLS, keys.SKILL_ERRORS} <= SkillsState.__annotations__.keys()
    assert (SUMMARIZATION_EVENT_KEY, SUMMARIZATION_SESSION_ID_KEY) == (keys.OFFLOAD, keys.OFFLOAD_ID)


def test_the_copy_node_and_the_interrupt_chunk():
    def ask() -> str:
        """Ask the user."""
        return str(interrupt("may I?"))

    s = Session(model=Scripted(answers=["one", call("ask")]), tools=[ask], checkpointer=InMemorySaver())
    config = s.config
    s.run("p")
    before = s.graph.get_state(config)
    s.graph.update_state(before.config, None, as_node=keys.COPY_NODE)
    after = s.graph.get_state(config)
    assert after.config != before.config
    assert after.values == before.values
    chunks = list(s.graph.stream({"messages": [("user", "q")]}, config, stream_mode="updates"))
    assert keys.INTERRUPT in chunks[-1]


def test_the_snapshot_of_it(state):
    seen = snapshot("main", state)
    assert seen.memory == {"/AGENTS.md": "- likes tea\n"}
    assert seen.skills == (Skill("csv-report", "Reports on a CSV.", "/skills/csv-report/SKILL.md"),)
    assert (seen.offload.path, seen.offload.cutoff) == ("/conversation_history/main.md", 3) and seen.offload.at
    assert [m.role for m in seen.messages] == ["user", "assistant"] * 3
    assert snapshot("main", state, last=seen).messages is seen.messages
