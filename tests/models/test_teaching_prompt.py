"""What the teaching model reads out of a system prompt and of updates in the thread."""

from deepagents.middleware.summarization import DEEPAGENTS_DEFAULT_SUMMARY_PROMPT
from langchain.agents.middleware.summarization import DEFAULT_SUMMARY_PROMPT
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, get_buffer_string

from deepnb.models.teaching import TeachingModel
from deepnb.models.teaching.conversation import MemoryFile, conversation, updated
from deepnb.models.teaching.model import INTENTS
from deepnb.models.teaching.talk import Use, plan
from deepnb.values.agent import Skill
from deepnb.values.files import FileDiff
from deepnb.values.tokenizer import count
from tests.support.tables import every_row

PATH = "/AGENTS.md"
SKILL = Skill("csv-report", "Summarize a CSV in a short report.", "/skills/csv-report/SKILL.md")

SYSTEM = """\
Be helpful.
<agent_memory>
/AGENTS.md

- The user prefers tabs
see </agent_memory> in a line

/memory/2026-01-01.md

- Talked about planets
</agent_memory>
<memory_guidelines>
Add facts to /AGENTS.md with write_file or edit_file.
</memory_guidelines>
<agent_skills>
Read them first.
- **csv-report**: Summarize a CSV in a short report. -> read_file `/skills/csv-report/SKILL.md`
</agent_skills>"""


def test_the_system_prompt_is_taken_apart() -> None:
    prompt = conversation([SystemMessage(SYSTEM)])
    assert [f.path for f in prompt.memory] == ["/AGENTS.md", "/memory/2026-01-01.md"]
    assert prompt.memory[0].facts == ("The user prefers tabs", "see </agent_memory> in a line")
    assert prompt.skills == (SKILL,) and prompt.memory_path == "/AGENTS.md"
    text = (
        "<agent_memory>\n(nothing yet; write_file /notes/ME.md starts it)\n</agent_memory>\n"
        "<memory_guidelines>\nBe brief.\n</memory_guidelines>"
    )
    prompt = conversation([SystemMessage(text)])
    assert (prompt.memory, prompt.memory_path) == ((), "/notes/ME.md")


def test_an_update_in_the_thread_changes_what_is_known() -> None:
    diff = FileDiff(PATH, "- a\n- -b\n", "- a\n- c\n").unified()
    assert updated((MemoryFile(PATH, ("- a", "- -b")),), diff) == (MemoryFile(PATH, ("- a", "- c")),)
    note = HumanMessage(
        FileDiff(PATH, None, "- The user uses vim\n").unified(), additional_kwargs={"lc_source": "memory_update"}
    )
    seen = conversation([SystemMessage("x"), HumanMessage("what do you remember?"), note])
    assert seen.request == "what do you remember?"
    assert '"The user uses vim" (/AGENTS.md)' in str(plan(seen, INTENTS))
    diffs = FileDiff("/a.md", "- one\n- two\n", "- one\n").unified() + FileDiff("/b.md", None, "- three\n").unified()
    after = updated((MemoryFile("/a.md", ("- one", "- two")),), diffs)
    assert after == (MemoryFile("/a.md", ("- one",)), MemoryFile("/b.md", ("- three",)))


def summed(request: str) -> str:
    done = plan(conversation([HumanMessage(request)]), INTENTS)
    assert isinstance(done, str), done
    return done


def summary_of(messages: list[BaseMessage], prompt: str = DEFAULT_SUMMARY_PROMPT) -> str:
    return summed(prompt.format(messages=get_buffer_string(messages, format="xml")).rstrip())


TALK = [
    HumanMessage("Remember that I prefer tabs over spaces & <b>"),
    AIMessage("", tool_calls=[{"name": "write_file", "args": {"file_path": PATH, "content": "x"}, "id": "c1"}]),
    ToolMessage("Updated file /AGENTS.md", tool_call_id="c1"), AIMessage("Done."),
    HumanMessage("Never delete /data.csv"),
    AIMessage("", tool_calls=[{"name": "read_file", "args": {"file_path": "/data.csv"}, "id": "c2"}]),
    ToolMessage("1,2", tool_call_id="c2"),
]  # fmt: skip


@every_row("prompt", [DEFAULT_SUMMARY_PROMPT, DEEPAGENTS_DEFAULT_SUMMARY_PROMPT])
def test_the_engines_summary_prompt_is_recognised(prompt: str) -> None:
    assert summary_of(TALK, prompt) == (
        "Requests so far: 2\n"
        "Request in progress: Never delete /data.csv\n"
        "Asked to remember, and rules:\n- I prefer tabs over spaces & <b>\n- Never delete /data.csv\n"
        "Last requests:\n* Remember that I prefer tabs over spaces & <b>\n* Never delete /data.csv\n"
        "Files written: /AGENTS.md\nFiles read: /data.csv"
    )


def test_a_summary_is_short_loses_no_count_holds_no_credential_and_the_request_goes_on() -> None:
    first = summary_of(TALK)
    again = [HumanMessage(f"Here is a summary:\n\n{first}"), AIMessage("ok"), HumanMessage("hello")]
    second = summary_of(again)
    assert "Requests so far: 3" in second and "I prefer tabs over spaces & <b>" in second
    assert "Files read: /data.csv" in second
    talk: list[BaseMessage] = [HumanMessage(f"Remember that number {i} is {'very ' * 40}important") for i in range(200)]
    text = summary_of(talk)
    assert count(text) < 250 and "Requests so far: 200" in text
    talk = [HumanMessage(f"记住第{i}条：" + "很长的一句话" * 40) for i in range(50)]
    assert count(summary_of(talk)) <= 250
    talk = [HumanMessage("my password is hunter2")]
    assert "hunter2" not in summary_of(talk)
    note = HumanMessage(
        "<summary>\nRequests so far: 1\nRequest in progress: list files\n</summary>",
        additional_kwargs={"lc_source": "summarization"},
    )
    assert plan(conversation([note], ["ls"]), INTENTS) == Use("ls", {"path": "/"})


EARLIER = "From earlier in this conversation, word for word:\n\n<earlier>\n{}\n</earlier>"
SUMMARY = "Requests so far: 2\n\n<anchors>\nWord for word from the part that was summarized:\n{}\n</anchors>"


def recalled(request: str, source: str, text: str) -> str:
    before = HumanMessage(text, additional_kwargs={"lc_source": source})
    return str(TeachingModel().invoke([before, AIMessage("ok"), HumanMessage(request)]).content)


def test_what_was_brought_back_is_nobodys_request_and_is_answered_from():
    before = HumanMessage(
        EARLIER.format("### user\n\nRemember the milk"), additional_kwargs={"lc_source": "brought_back"}
    )
    assert conversation([HumanMessage("hello"), AIMessage("hi"), before]).request == "hello"
    text = EARLIER.format(
        "### user\n\nWhat is the deadline of heron?\n\n### assistant\n\nThe heron deadline is 2026-12-15.\nNo more."
    )
    answer = recalled("When was the deadline of heron?", "brought_back", text)
    assert answer == 'The messages added from the history say:\n- "The heron deadline is 2026-12-15." (assistant)'
    assert "Nothing in my prompt" in recalled("What is the capital of Peru?", "brought_back", text)
    text = SUMMARY.format(
        "The user said: Never use inches.\nNumbers: timeout 37 ms | disk 9 GB\nPaths: /data/heron.csv"
    )
    answer = recalled("What is the timeout?", "summarization", text)
    assert answer == 'Beside the summary of the earlier messages it says:\n- "Numbers: timeout 37 ms"'
    assert "Never use inches." in recalled("Should I use inches?", "summarization", text)
