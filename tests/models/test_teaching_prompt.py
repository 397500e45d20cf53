"""What the teaching model reads out of a system prompt and of updates in the thread."""

from __future__ import annotations

from langchain_core.messages import HumanMessage, SystemMessage

from deepnb.models.teaching.conversation import MemoryFile, conversation, updated
from deepnb.models.teaching.model import INTENTS
from deepnb.models.teaching.talk import plan
from deepnb.values.agent import Skill
from deepnb.values.files import FileDiff

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
    assert prompt.skills == (SKILL,)
    assert prompt.memory_path == "/AGENTS.md"


def test_an_empty_memory_names_the_path_to_write() -> None:
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


def test_an_update_may_speak_of_two_files() -> None:
    diffs = FileDiff("/a.md", "- one\n- two\n", "- one\n").unified() + FileDiff("/b.md", None, "- three\n").unified()
    after = updated((MemoryFile("/a.md", ("- one", "- two")),), diffs)
    assert after == (MemoryFile("/a.md", ("- one",)), MemoryFile("/b.md", ("- three",)))
