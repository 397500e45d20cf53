"""What the teaching model reads out of a prompt, and its next move in a conversation that is a value."""

import json
from dataclasses import replace

import pandas as pd
from deepagents.middleware.summarization import DEEPAGENTS_DEFAULT_SUMMARY_PROMPT
from langchain.agents.middleware.summarization import DEFAULT_SUMMARY_PROMPT
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, get_buffer_string

from deepnb import Session
from deepnb.models.teaching import TeachingModel
from deepnb.models.teaching.conversation import MemoryFile, Step, conversation, updated, words
from deepnb.models.teaching.model import INTENTS
from deepnb.models.teaching.talk import MAX_CALLS, TRIES, TRIES_ZH, Use, plan
from deepnb.values.agent import Skill
from deepnb.values.files import FileDiff
from deepnb.values.tokenizer import count
from tests.data import table
from tests.support.tables import every_row
from tests.support.teaching import TOOLS, asked, move

PATH = "/AGENTS.md"
TABS = MemoryFile(PATH, ("- The user prefers tabs over spaces",))
SKILL = Skill("csv-report", "Summarize a CSV in a short report.", "/skills/csv-report/SKILL.md")
AGENTS = ("general-purpose", "critic", "data-2")
NOTES = TOOLS | {"note", "memory_search", "memory_get"}
PLANETS = """\
planets: DataFrame, 8 rows x 10 columns
column | type | non-null | summary
name | str | 8 | 8 distinct: Mercury, Venus, Earth, ...
gravity_m_s2 | float64 | 8 | min 3.7 (Mercury), mean 9.79, max 23.1 (Jupiter)
mass_1e24_kg | float64 | 8 | min 0.33 (Mercury), mean 333, max 1898 (Jupiter)
mean_temperature_c | int64 | 8 | min -225 (Neptune), mean -50, max 464 (Venus)
first rows:
name,gravity_m_s2,mass_1e24_kg
Mercury,3.7,0.33"""


def said(request: str, *turn: Step, **fields: object) -> str:
    done = move(request, *turn, **fields)
    assert isinstance(done, str), done
    return done


def read(text: str, path: str = PATH) -> Step:
    n = len(text.splitlines())
    return Step("read_file", {"file_path": path}, f"@@ lines 1-{n} of {n} @@\n{text}")


@every_row(("request_", "line"), table("teaching")["facts"])
def test_a_fact_is_written_in_the_users_own_words(request_: str, line: str) -> None:
    assert move(request_) == Use("write_file", {"file_path": PATH, "content": line + "\n"})


@every_row("request_", ["Remember what I told you?", "Do you remember my name?", "你记得什么？", "note to self"])
def test_a_question_is_not_a_fact(request_: str) -> None:
    assert not isinstance(move(request_), Use)


WROTE = "Updated file /AGENTS.md"
GONE = Step("read_file", {"file_path": PATH}, "Error: File '/AGENTS.md' not found", failed=True)
VIM = "Remember that I use vim"


def task(agent: str, description: str) -> Use:
    return Use("task", {"description": description, "subagent_type": agent})


def edits(old: str, new: str) -> Use:
    return Use("edit_file", {"file_path": PATH, "old_string": old, "new_string": new}, True)


@every_row(("request_", "turn", "memory", "then"), [
    (VIM, read("# Notes\n- a\n- b\n"), (TABS,), edits("- b", "- b\n- The user uses vim")),
    (VIM, read("- a\n- b\n- a"), (TABS,), edits("- b\n- a", "- b\n- a\n- The user uses vim")),
    (VIM, GONE, (TABS,), Use("write_file", {"file_path": PATH, "content": "- The user uses vim\n"})),
    ("忘记我喜欢制表符", read("- 用户喜欢用制表符"), (), edits("- 用户喜欢用制表符", "")),
    ("Forget that I prefer tabs", read("- a\n- The user prefers tabs over spaces\n- b"), (TABS,),
     edits("- a\n- The user prefers tabs over spaces", "- a")),
])  # fmt: skip
def test_the_file_is_read_and_then_edited_or_written(request_: str, turn: Step, memory: tuple, then: Use) -> None:
    first = move(request_, memory=memory or (TABS,))
    assert isinstance(first, Use) and (first.tool, first.args["file_path"]) == ("read_file", PATH)
    assert move(request_, turn, memory=memory) == then


@every_row(("request_", "turn", "memory", "says", "never"), [
    ("Remember that I prefer tabs over spaces", read("- The user prefers tabs over spaces"), TABS, "already", "fail"),
    (VIM, Step("read_file", {"file_path": PATH}, "@@ lines 1-2 of 2500 | next offset 2 @@\n- a\n- b"), TABS,
     "has more than 1000 lines", "will remember"),
    (VIM, Step("write_file", {"file_path": PATH, "content": "- The user uses vim\n"}, WROTE),
     MemoryFile(PATH, ("- The user uses vim",)), "I will remember", "already"),
    (VIM, Step("write_file", {"file_path": PATH, "content": "- uses emacs\n"}, WROTE), TABS, "uses emacs", "vim"),
    ("forget that I own a boat", read("- The user prefers tabs over spaces"), TABS, "tabs over spaces", "removed"),
])  # fmt: skip
def test_what_came_of_it_is_told_as_it_was(request_, turn, memory, says, never):
    text = said(request_, turn, memory=(memory,))
    assert says in text and never not in text


def test_a_prompt_that_may_be_out_of_date_is_not_believed() -> None:
    earlier = conversation([HumanMessage("hello"), AIMessage("hi"), HumanMessage(VIM)], {name: {} for name in TOOLS})
    assert plan(earlier, INTENTS) == Use("ls", {"path": "/"})
    there = replace(earlier, turn=(Step("ls", {"path": "/"}, "['/AGENTS.md']"),))
    assert plan(there, INTENTS).tool == "read_file"
    nothing = replace(earlier, turn=(Step("ls", {"path": "/"}, "No files found"),))
    assert plan(nothing, INTENTS).tool == "write_file"


@every_row("request_", [
    "Remember my API key: sk-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY", "remember that the password is hunter2",
    "remember db is postgres://ann:Winter-R1ver!7@db.acme.org/main", "记住我的密码是 hunter2",
    "Remember ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3gI5",
])  # fmt: skip
def test_credentials_are_refused_and_not_repeated(request_: str) -> None:
    text = said(request_)
    assert request_.split()[-1] not in text
    assert "credential" in text or "密码" in text


def test_forget_and_recall_look_where_it_is_said() -> None:
    files = (MemoryFile("/USER.md", ("- name: Ann",)), TABS)
    first = move("forget about tabs", memory=files, memory_path="/USER.md")
    assert isinstance(first, Use) and first.args["file_path"] == PATH
    memory = (MemoryFile(PATH, ("- The user prefers tabs", "- The user's dog is called Rex")),)
    text = said("What is my dog called?", memory=memory)
    assert "Rex" in text and "tabs" not in text
    talk = [HumanMessage("Remember that I use vim"), AIMessage("ok"), HumanMessage("what do you remember?")]
    assert '"I use vim"' in str(plan(conversation(talk), INTENTS))
    talk[2:2] = [HumanMessage("forget that I use vim"), AIMessage("ok")]
    assert "vim" not in str(plan(conversation(talk), INTENTS))


@every_row("request_", [
    "What do you know about my preferences?", "what do you remember", "do I prefer tabs?",
    "Which do I prefer, tabs or spaces?", "Tabs or spaces?", "你记得什么？", "我的偏好是什么？",
])  # fmt: skip
def test_recall_quotes_the_line_and_its_path(request_: str) -> None:
    assert '"The user prefers tabs over spaces" (/AGENTS.md)' in said(request_, memory=(TABS,))


@every_row("request_", ["What do you remember?", "do I prefer tabs?", "你记得什么？"])
def test_recall_says_honestly_that_there_is_nothing(request_: str) -> None:
    text = said(request_)
    assert "nothing" in text or "什么都不记得" in text


@every_row(("request_", "tool", "args"), table("teaching")["first calls"])
def test_the_first_call(request_: str, tool: str, args: str) -> None:
    expected = Use(tool, json.loads(args), tool == "inspect_variable")
    assert move(request_, skills=(SKILL,), agents=AGENTS, tools=NOTES) == expected


def test_a_file_is_quoted_shortly_skills_are_listed_and_no_tool_is_called_that_is_not_bound() -> None:
    text = said("read /x.md", read("\n".join(f"line {i}" for i in range(50)), "/x.md"))
    assert "> line 0" in text and "line 20" not in text
    assert SKILL.description in said("what skills do you have?", skills=(SKILL,))
    assert "no skills" in said("what skills do you have?")
    then = move(f"Which planet in {PLANETS}\n has the strongest gravity?", tools=TOOLS | {"query_table"})
    assert isinstance(then, Use) and then.tool == "query_table"
    for request in ("list files", "Remember that I use vim", "ask a subagent to sing"):
        assert "not bound" in said(request, tools=frozenset())
    turn = tuple(Step("grep", {}, "nothing") for _ in range(MAX_CALLS))
    assert "6" in said("list files", *turn) and isinstance(move("list files", *turn[1:]), Use)
    assert words("he prefers") == words("my preferences") and "制表" in words("用户喜欢用制表符")


@every_row("request_", ["who are you?", "你是谁？", "What is 2 + 2?", "", "hello", "谢谢", "tell me a joke"])
def test_it_never_pretends(request_: str) -> None:
    text = said(request_, Step("list_variables", {}, "No variables."))
    assert text and len(text) < 600
    if request_ not in ("谢谢",):
        assert "rule-based" in text or "规则" in text


@every_row("request_", [
    "Read /style.md and remember what it says", "Please read style.md, then note it", "Remember what /style.md says",
    "请读取 /style.md 并记住里面的内容",
])  # fmt: skip
def test_a_file_is_read_and_what_it_says_is_kept(request_: str) -> None:
    assert move(request_) == Use("read_file", {"file_path": "/style.md"})
    style = read("# Style\n\n- reports are due on Fridays\nUse tabs\n", "/style.md")
    there = move(request_, style, read("- likes tea"))
    assert isinstance(there, Use) and there.tool == "edit_file"
    assert there.args["new_string"] == "- likes tea\n- reports are due on Fridays\n- Use tabs"
    missing = Step("read_file", {"file_path": PATH}, "Error: File '/AGENTS.md' not found", failed=True)
    begun = move(request_, style, missing)
    assert begun == Use("write_file", {"file_path": PATH, "content": "- reports are due on Fridays\n- Use tabs\n"})
    wrote = Step("write_file", begun.args, "Updated file /AGENTS.md")
    assert "- Use tabs" in said(request_, style, missing, wrote)


def test_what_was_not_written_is_told_as_that() -> None:
    request = "Read /style.md and remember what it says"
    gone = Step("read_file", {"file_path": "/style.md"}, "Error: File '/style.md' not found", failed=True)
    assert "failed. It said" in said(request, gone)
    assert "has nothing that I could remember" in said(request, read("# Style\n", "/style.md"))
    assert "already" in said(request, read("- a", "/style.md"), read("- a"))
    held = Step("write_file", {"file_path": PATH, "content": "- a\n"}, "Error: this change of /AGENTS.md waits for the user to confirm it (1 line that reads like an instruction, not in your words).", failed=True)  # fmt: skip
    gone = Step("read_file", {"file_path": PATH}, "Error: File '/AGENTS.md' not found", failed=True)
    text = said("Read /style.md and remember what it says", read("- a", "/style.md"), gone, held)
    assert "needs your approval" in text and "%memory pending" in text and PATH in text


def handed(request: str, *turn: Step, agents=AGENTS) -> str | Use:
    return plan(asked(request, *turn, agents=agents), INTENTS)


def test_a_subagent_is_called_as_it_is_there_and_its_report_quoted():
    expected = "There is no subagent nobody: the tool `task` lists general-purpose, critic, data-2."
    assert handed("ask the nobody subagent to sing") == expected
    assert "data-2" in str(handed("让 nobody 子代理唱歌"))
    done = plan(asked("ask the critic subagent to sing", tools=TOOLS - {"task"}), INTENTS)
    assert done == "I would call the tool `task` here, but it is not bound to me, so I stop."
    assert handed("ask a subagent to sing", agents=("critic",)).args["subagent_type"] == "critic"
    done = handed("ask the critic subagent to sing", Step("task", {}, "la la"))
    assert done == "The subagent critic reported:\n> la la"
    done = handed("ask the critic subagent to sing", Step("task", {}, "Error: no subagent was started.", failed=True))
    assert done.startswith("The tool `task` failed. It said: Error: no subagent")


@every_row("request_", ["ask bob to call me", "use pandas to plot it", "tell me to stop", "let it be for now"])
def test_words_that_name_no_subagent_are_not_for_one(request_):
    done = handed(request_)
    assert not (isinstance(done, Use) and done.tool == "task") and "no subagent" not in getattr(done, "text", "")


@every_row("request_", ["Note that the password is hunter2pass", "记一下：密码是 hunter2pass"])
def test_no_credential_is_noted(request_: str):
    assert isinstance(move(request_, tools=NOTES), str)


@every_row(("request_", "tries"), [("sing for me", TRIES), ("唱首歌", TRIES_ZH)])
def test_a_request_without_a_rule_is_answered_with_two_prompts_that_have_one(request_: str, tries: tuple[str, ...]):
    session = Session()
    said = session.run(request_).text
    assert len(said.splitlines()) == 1
    for prompt in tries:
        assert prompt in said
        answer = session.run(prompt).text
        assert "rule-based" not in answer and "基于规则" not in answer and "没有正好" not in answer, answer


def test_what_no_prompt_says_is_not_known_and_prompts_are_about_the_table_spoken_of() -> None:
    session = Session()
    session.memory.add("the gateway was restarted")
    assert session.run("Which box is the gateway host?").text.startswith("My memory says nothing about exactly that.")
    assert Session().run("Who has the key?").text.startswith("Nothing in my prompt says that.")
    assert Session().run("谁有钥匙？").text.startswith("我的提示词里没有提到这个。")
    table = {"t": pd.DataFrame({"depot": ["a", "b"], "weight": [4, 10]})}
    session = Session(namespace=table)
    session.run("what is in t?")
    assert 'Try "mean weight by depot in t"' in session.run("sing for me").text


def test_a_tool_of_the_users_is_called_by_name() -> None:
    def sales(region: str, year: int = 2026) -> str:
        """Units sold in a region."""
        return f"{region} {year}: 42"

    session = Session()
    session.tools.add(sales)
    session.run("call sales with region North and year 2025")
    while session.asked:
        list(session.resume(session.asked[0].approve()))
    assert session.last and session.last.text == "`sales` gave: North 2025: 42"
    assert "I can't place" in session.run("call sales with colour red").text


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


def test_a_prompt_that_was_taken_apart_is_known_and_what_an_update_changed() -> None:
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
    assert plan(conversation([note], {"ls": {}}), INTENTS) == Use("ls", {"path": "/"})


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
