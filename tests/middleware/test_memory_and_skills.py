"""MemoryMiddleware and SkillsMiddleware alone: what is injected, when it is read again, what stays private."""

import asyncio
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend
from deepagents.backends.protocol import BackendProtocol
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from deepnb.middleware import MemoryMiddleware, SkillsMiddleware
from deepnb.testing import RequestRecorder, ScriptedModel, call
from tests.support.refusals import refused
from tests.support.tables import every_row

CONFIG: Any = {"configurable": {"thread_id": "t"}}
EDIT = call("write_file", file_path="/AGENTS.md", content="- spaces\n")


def skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: What {name} is for.\n---\nDo it.\n"


def file(text: str) -> dict[str, str]:
    return {"content": text, "encoding": "utf-8"}


def test_no_refresh_but_call_changes_the_prompt_within_a_thread() -> None:
    prompts: dict[str, list[str]] = {}
    for refresh in ("delta", "call", "thread"):
        model = ScriptedModel(answers=[EDIT, "ok", "later"])
        memory = MemoryMiddleware(refresh=refresh)
        graph: Any = create_deep_agent(model, middleware=[memory], checkpointer=InMemorySaver())
        graph.invoke({"messages": "go", "files": {"/AGENTS.md": file("- tabs\n")}}, CONFIG)
        graph.invoke({"messages": "again"}, CONFIG)
        prompts[refresh] = [request[0].text for request in model.requests]
        told = ["+- spaces" in request[-1].text for request in model.requests]
        assert told == [False, refresh == "delta", False]
    assert ["- tabs" in p for p in prompts["delta"]] == ["- tabs" in p for p in prompts["thread"]] == [True] * 3
    assert ["- spaces" in p for p in prompts["call"]] == [False, True, True]


def test_it_replaces_deepagents_own_and_takes_its_place() -> None:
    model = ScriptedModel(answers=["ok"])
    graph: Any = create_deep_agent(model, memory=["/OTHER.md"], skills=["/s/"], middleware=[MemoryMiddleware(), SkillsMiddleware()])  # fmt: skip
    graph.invoke({"messages": "go", "files": {"/AGENTS.md": file("- tabs\n"), "/OTHER.md": file("- other\n")}})
    system = model.requests[0][0].text
    assert "- tabs" in system and "- other" not in system and system.count("<agent_memory>\n") == 1


def test_notes_of_two_days_follow_the_sources(tmp_path: Path) -> None:
    today = date.today()
    (tmp_path / "memory").mkdir()
    for ago in (0, 1, 2):
        (tmp_path / f"memory/{today - timedelta(ago)}.md").write_text(f"- {ago} days ago\n")
    (tmp_path / "TEAM.md").write_text("- the team\n")
    (tmp_path / "USER.md").write_text("- not asked for\n")
    model = ScriptedModel(answers=["ok"])
    memory = MemoryMiddleware(FilesystemBackend(tmp_path, virtual_mode=True), sources=["/TEAM.md"])
    graph: Any = create_agent(model, middleware=[memory])
    graph.invoke({"messages": "go"})
    system = model.requests[0][0].text
    assert system.index("- the team") < system.index("- 0 days ago") < system.index("- 1 days ago")
    assert "2 days ago" not in system and "not asked for" not in system


def test_memory_is_neither_output_nor_a_subagents() -> None:
    model = ScriptedModel(answers=[call("task", description="look", subagent_type="general-purpose"), "nested", "end"])
    recorder = RequestRecorder()
    graph: Any = create_deep_agent(model, middleware=[MemoryMiddleware()])
    files: Any = {"/AGENTS.md": file("- tabs\n")}
    result = graph.invoke({"messages": "go", "files": files}, {"callbacks": [recorder]})
    assert not [key for key in result if key.startswith("memory")]
    assert ["- tabs" in request.system for request in recorder.requests] == [True, False, True]


@every_row("made", [lambda: MemoryMiddleware(sources=["AGENTS.md"]), lambda: SkillsMiddleware(sources=["/a/../b"])])  # fmt: skip
def test_a_mistake_is_one_line(made: Any) -> None:
    refused("is not the path of a file", made)


def test_a_skill_is_there_at_the_next_turn_and_a_broken_one_never() -> None:
    model = ScriptedModel(answers=["ok"])
    graph: Any = create_deep_agent(model, middleware=[SkillsMiddleware()], checkpointer=InMemorySaver())
    graph.invoke({"messages": "go"}, CONFIG)
    more: Any = {"/skills/plot/SKILL.md": file(skill("plot")), "/skills/bad/SKILL.md": file("no frontmatter")}
    graph.invoke({"messages": "go", "files": more}, CONFIG)
    first, second = (request[0].text for request in model.requests)
    assert "/skills/" not in first
    assert "read_file `/skills/plot/SKILL.md`" in second and "/skills/bad" not in second


def test_the_skills_that_a_caller_pins_are_put_into_the_thread() -> None:
    model = ScriptedModel(answers=["ok"])
    graph: Any = create_deep_agent(model, middleware=[SkillsMiddleware()])
    graph.invoke({"messages": "go", "files": {"/skills/plot/SKILL.md": file(skill("plot"))}, "pinned_skills": ["plot"]})
    assert model.requests[0][-1].text.startswith('<skill name="plot"')


class OnlyAsync(BackendProtocol):
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def als(self, path: str) -> Any:
        return self.inner.ls(path)

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> Any:
        return self.inner.read(file_path, offset, limit)

    async def adownload_files(self, paths: list[str]) -> Any:
        return self.inner.download_files(paths)


@every_row("awaits", [False, True], ids=["invoke", "ainvoke"])
def test_a_backend_that_has_nothing_but_coroutines_is_read(tmp_path: Path, awaits: bool) -> None:
    (tmp_path / "AGENTS.md").write_text("- tabs\n")
    (tmp_path / "skills/count").mkdir(parents=True)
    (tmp_path / "skills/count/SKILL.md").write_text(skill("count"))
    backend = OnlyAsync(FilesystemBackend(tmp_path, virtual_mode=True))
    model = ScriptedModel(answers=["ok"])
    graph: Any = create_agent(model, middleware=[MemoryMiddleware(backend), SkillsMiddleware(backend)])
    asyncio.run(graph.ainvoke({"messages": "go"})) if awaits else graph.invoke({"messages": "go"})
    system = model.requests[0][0].text
    assert "- tabs" in system and "What count is for." in system
