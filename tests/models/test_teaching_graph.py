"""The teaching model drives a real deepagents graph through real tool calls."""

from __future__ import annotations

from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import StateBackend
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from deepnb.models.teaching import TeachingModel
from tests.support.tables import every_row

CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}
GUIDELINES = "<memory_guidelines>\nThe memory file is /AGENTS.md: write_file, edit_file.\n</memory_guidelines>"
EMPTY = f"Be brief.\n<agent_memory>\n(nothing yet; write_file /AGENTS.md starts it)\n</agent_memory>\n{GUIDELINES}"
SKILLS = """
<agent_skills>
Read a skill first.
- **csv-report**: Summarize a CSV in a short report. -> read_file `/skills/csv-report/SKILL.md`
</agent_skills>"""


@tool
def list_variables() -> str:
    """List the variables."""
    return "planets: DataFrame, 2 rows x 2 columns"


@tool
def inspect_variable(name: str) -> str:
    """Look at one variable."""
    if name != "planets":
        return f"Error: there is no variable {name!r}"
    return (
        "planets: DataFrame, 2 rows x 2 columns\ncolumn | type | non-null | summary\n"
        "name | str | 2 | 2 distinct: Earth, Jupiter\n"
        "gravity_m_s2 | float64 | 2 | min 9.8 (Earth), mean 16.4, max 23.1 (Jupiter)\n"
        "first rows:\nname,gravity_m_s2\nEarth,9.8"
    )


class Agent:
    """A graph, asked in one thread."""

    def __init__(self, prompt: str = EMPTY, window: int = 100_000, files: dict[str, str] | None = None) -> None:
        self.graph: Any = create_deep_agent(
            model=TeachingModel(window=window),
            backend=StateBackend(),
            system_prompt=prompt,
            tools=[list_variables, inspect_variable],
            checkpointer=InMemorySaver(),
        )
        if files:
            data = {
                p: {"content": t, "encoding": "utf-8", "created_at": "", "modified_at": ""} for p, t in files.items()
            }
            self.graph.update_state(CONFIG, {"files": data})

    def ask(self, text: str) -> tuple[list[str], str]:
        """(tools called, the answer)."""
        before = len(self.messages)
        self.graph.invoke({"messages": [("user", text)]}, CONFIG)
        new = [m for m in self.messages[before:] if isinstance(m, AIMessage)]
        return [c["name"] for m in new for c in m.tool_calls], str(new[-1].content)

    @property
    def messages(self) -> list[Any]:
        return list(self.graph.get_state(CONFIG).values.get("messages", []))

    def file(self, path: str) -> str | None:
        found = self.graph.get_state(CONFIG).values.get("files", {}).get(path)
        return found["content"] if found else None


def memory(text: str) -> str:
    return f"Be brief.\n<agent_memory>\n/AGENTS.md\n\n{text}\n</agent_memory>\n{GUIDELINES}"


def test_remember_then_the_file_holds_it() -> None:
    agent = Agent()
    calls, answer = agent.ask("Remember that I prefer tabs over spaces")
    assert calls == ["write_file"]
    assert "/AGENTS.md" in answer
    assert agent.file("/AGENTS.md") == "- The user prefers tabs over spaces\n"


def test_a_second_fact_is_added_though_the_prompt_is_out_of_date() -> None:
    agent = Agent()
    agent.ask("Remember that I prefer tabs over spaces")
    calls, _ = agent.ask("请记住：截止日期是周五")
    assert calls == ["read_file", "edit_file"]
    assert agent.file("/AGENTS.md") == "- The user prefers tabs over spaces\n- 截止日期是周五\n"
    calls, answer = agent.ask("Remember that I prefer tabs over spaces.")
    assert calls == ["read_file"]
    assert "already" in answer


def test_a_file_that_appeared_unseen_is_not_overwritten() -> None:
    agent = Agent(files={"/AGENTS.md": "- old fact\n"})
    agent.ask("hello")
    agent.ask("Remember that I use vim")
    assert agent.file("/AGENTS.md") == "- old fact\n- The user uses vim\n"


def test_recall_comes_from_the_prompt() -> None:
    agent = Agent(memory("- The user prefers tabs over spaces"))
    calls, answer = agent.ask("What do you know about my preferences?")
    assert calls == []
    assert '"The user prefers tabs over spaces" (/AGENTS.md)' in answer
    assert "tabs over spaces" in agent.ask("我的偏好是什么？")[1]


def test_forget_takes_the_line_out_of_the_file() -> None:
    text = "# Notes\n- The user prefers tabs over spaces\n- b\n"
    agent = Agent(memory(text), files={"/AGENTS.md": text})
    calls, answer = agent.ask("Forget that I prefer tabs")
    assert calls == ["read_file", "edit_file"]
    assert agent.file("/AGENTS.md") == "# Notes\n- b\n"
    assert "tabs over spaces" in answer
    assert "Nothing" in agent.ask("forget that I prefer tabs")[1]


def test_a_memory_file_that_is_too_long_is_left_as_it_is() -> None:
    text = "".join(f"- fact number {i}\n" for i in range(2500))
    agent = Agent(memory("- fact number 0"), files={"/AGENTS.md": text})
    assert "has more than 1000 lines" in agent.ask("Remember that I use vim")[1]
    assert agent.file("/AGENTS.md") == text


def test_files() -> None:
    agent = Agent()
    agent.ask("write a file /notes/x.md with: hello world")
    assert agent.file("/notes/x.md") == "hello world\n"
    assert "> hello world" in agent.ask("read /notes/x.md")[1]
    assert "- /notes/" in agent.ask("列出文件")[1]
    assert "not found" in agent.ask("read /nope.md")[1]


def test_a_skill_is_read_before_it_is_followed() -> None:
    skill = "---\nname: csv-report\ndescription: x\n---\n# Report\n1. Look\n2. Write\n"
    agent = Agent(EMPTY + SKILLS, files={"/skills/csv-report/SKILL.md": skill})
    calls, answer = agent.ask("use the csv-report skill on `planets`")
    assert calls == ["read_file", "inspect_variable"]
    assert "1. Look" in answer
    assert "2 rows" in answer


def test_a_question_about_a_dataframe_is_answered_from_real_tools() -> None:
    agent = Agent()
    calls, answer = agent.ask("Which planet has the strongest gravity?")
    assert calls == ["list_variables", "inspect_variable"]
    assert answer == "I would call the tool `query_table` here, but it is not bound to me, so I stop."
    assert agent.ask("`planets` 有哪些列？")[0] == ["inspect_variable"]
    assert agent.ask("What is in the DataFrame planets?")[1].startswith("planets is a DataFrame of 2 rows")


def test_a_subagent_does_the_work() -> None:
    agent = Agent(files={"/a.md": "a"})
    calls, answer = agent.ask("ask a subagent to list files")
    assert calls == ["task"]
    assert "/a.md" in answer


def test_a_thread_is_compacted_on_the_way_and_ids_stay_apart() -> None:
    agent = Agent(window=6000)
    agent.ask("Remember that I prefer tabs over spaces")
    for i in range(25):
        agent.ask(f"write a file /n{i % 3}.md with: {'lorem ipsum ' * 20}")
    event = agent.graph.get_state(CONFIG).values["_summarization_event"]
    assert "Requests so far: " in event["summary_message"].content
    assert "tabs over spaces" in agent.ask("do I prefer tabs?")[1]
    ids = [c["id"] for m in agent.messages if isinstance(m, AIMessage) for c in m.tool_calls]
    assert len(ids) == len(set(ids)) >= 26


@every_row("text", ["Remember that I use vim", "列出文件", "Which planet has the strongest gravity?"])
def test_the_same_run_twice_is_the_same(text: str) -> None:
    def run() -> list[Any]:
        agent = Agent()
        agent.ask(text)
        return [m.model_dump(exclude={"id"}) for m in agent.messages]

    assert run() == run()
