"""A conversation as a value -> the teaching model's next move."""

from __future__ import annotations

from dataclasses import replace

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from deepnb.models.teaching.conversation import MemoryFile, Step, conversation, words
from deepnb.models.teaching.memory import bullet
from deepnb.models.teaching.model import INTENTS
from deepnb.models.teaching.tables import parse_frame
from deepnb.models.teaching.talk import MAX_CALLS, Use, plan
from deepnb.values.agent import Skill
from tests.support.tables import every_row
from tests.support.teaching import TOOLS, move

PATH = "/AGENTS.md"
TABS = MemoryFile(PATH, ("- The user prefers tabs over spaces",))
SKILL = Skill("csv-report", "Summarize a CSV in a short report.", "/skills/csv-report/SKILL.md")
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


@every_row(
    ("request_", "line"),
    [
        ("Remember that I prefer tabs over spaces.", "- The user prefers tabs over spaces"),
        ("please remember: my editor is vim", "- The user's editor is vim"),
        ("Hi! Please remember that I like that my code is short", "- I like that my code is short"),
        ("Note that the deadline is Friday", "- the deadline is Friday"),
        ("From now on, answer in French!", "- answer in French"),
        ("Could you remember that we use uv?", "- we use uv"),
        ("Don't forget that I'm left-handed", "- The user is left-handed"),
        ("记住我喜欢用制表符。", "- 用户喜欢用制表符"),
        ("请记住：截止日期是周五", "- 截止日期是周五"),
    ],
)
def test_a_fact_is_written_in_the_users_own_words(request_: str, line: str) -> None:
    assert move(request_) == Use("write_file", {"file_path": PATH, "content": line + "\n"})


@every_row("request_", ["Remember what I told you?", "Do you remember my name?", "你记得什么？", "note to self"])
def test_a_question_is_not_a_fact(request_: str) -> None:
    assert not isinstance(move(request_), Use)


def test_remember_reads_the_file_first_where_memory_is_not_empty_and_adds_at_its_end() -> None:
    request = "Remember that I use vim"
    first = move(request, memory=(TABS,))
    assert isinstance(first, Use)
    assert (first.tool, first.args["file_path"]) == ("read_file", PATH)
    then = move(request, read("# Notes\n- a\n- b\n"), memory=(TABS,))
    assert then == Use(
        "edit_file", {"file_path": PATH, "old_string": "- b", "new_string": "- b\n- The user uses vim"}, True
    )


def test_an_edit_takes_more_lines_where_the_last_one_is_not_unique() -> None:
    then = move("Remember that I use vim", read("- a\n- b\n- a"), memory=(TABS,))
    assert isinstance(then, Use)
    assert then.args["old_string"] == "- b\n- a"


def test_remember_writes_the_file_where_it_turns_out_to_be_missing() -> None:
    missing = Step("read_file", {"file_path": PATH}, "Error: File '/AGENTS.md' not found", failed=True)
    then = move("Remember that I use vim", missing, memory=(TABS,))
    assert then == Use("write_file", {"file_path": PATH, "content": "- The user uses vim\n"})


def test_a_fact_that_is_there_is_not_written_again() -> None:
    text = said("Remember that I prefer tabs over spaces", read("- The user prefers tabs over spaces"), memory=(TABS,))
    assert "already" in text


def test_a_prompt_that_may_be_out_of_date_is_not_believed() -> None:
    earlier = conversation([HumanMessage("hello"), AIMessage("hi"), HumanMessage("Remember that I use vim")], TOOLS)
    assert plan(earlier, INTENTS) == Use("ls", {"path": "/"})
    there = replace(earlier, turn=(Step("ls", {"path": "/"}, "['/AGENTS.md']"),))
    assert plan(there, INTENTS).tool == "read_file"
    nothing = replace(earlier, turn=(Step("ls", {"path": "/"}, "No files found"),))
    assert plan(nothing, INTENTS).tool == "write_file"


def test_a_fact_written_in_this_turn_is_confirmed_though_the_prompt_already_shows_it() -> None:
    wrote = Step("write_file", {"file_path": PATH, "content": "- The user uses vim\n"}, "Updated file /AGENTS.md")
    text = said("Remember that I use vim", wrote, memory=(MemoryFile(PATH, ("- The user uses vim",)),))
    assert "I will remember" in text
    assert PATH in text


def test_a_call_that_was_changed_before_it_ran_is_told_as_it_was() -> None:
    wrote = Step("write_file", {"file_path": PATH, "content": "- uses emacs\n"}, "Updated file /AGENTS.md")
    text = said("Remember that I use vim", wrote)
    assert "uses emacs" in text
    assert "vim" not in text


@every_row(
    "request_",
    [
        "Remember my API key: sk-" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY",
        "remember that the password is hunter2",
        "remember db is postgres://ann:Winter-R1ver!7@db.acme.org/main",
        "记住我的密码是 hunter2",
        "Remember ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3gI5",
    ],
)
def test_credentials_are_refused_and_not_repeated(request_: str) -> None:
    text = said(request_)
    assert request_.split()[-1] not in text
    assert "credential" in text or "密码" in text


@every_row("fact", ["the token budget is 8000", "I dislike password managers", "pins are on the map"])
def test_plain_facts_are_no_credentials(fact: str) -> None:
    assert isinstance(move(f"Remember that {fact}"), Use)


def test_the_first_person_is_turned_only_where_the_rest_has_none() -> None:
    assert bullet("I prefer tabs") == "- The user prefers tabs"
    assert bullet("I prefer that you call me Ann") == "- I prefer that you call me Ann"


def test_forget_takes_the_line_out_with_its_line_feed() -> None:
    then = move("Forget that I prefer tabs", read("- a\n- The user prefers tabs over spaces\n- b"), memory=(TABS,))
    assert isinstance(then, Use)
    before = "- a\n- The user prefers tabs over spaces\n- b\n"
    assert before.replace(then.args["old_string"], then.args["new_string"]) == "- a\n- b\n"


def test_forget_in_chinese() -> None:
    then = move("忘记我喜欢制表符", read("- 用户喜欢用制表符"))
    assert then == Use("edit_file", {"file_path": PATH, "old_string": "- 用户喜欢用制表符", "new_string": ""}, True)


def test_forget_says_what_is_there_where_nothing_matches() -> None:
    text = said("forget that I own a boat", read("- The user prefers tabs over spaces"), memory=(TABS,))
    assert "Nothing" in text
    assert "tabs over spaces" in text


def test_forget_looks_in_the_file_that_says_it() -> None:
    files = (MemoryFile("/USER.md", ("- name: Ann",)), TABS)
    first = move("forget about tabs", memory=files, memory_path="/USER.md")
    assert isinstance(first, Use)
    assert first.args["file_path"] == PATH


@every_row(
    "request_",
    [
        "What do you know about my preferences?",
        "what do you remember",
        "do I prefer tabs?",
        "Which do I prefer, tabs or spaces?",
        "Tabs or spaces?",
        "你记得什么？",
        "我的偏好是什么？",
    ],
)
def test_recall_quotes_the_line_and_its_path(request_: str) -> None:
    text = said(request_, memory=(TABS,))
    assert '"The user prefers tabs over spaces" (/AGENTS.md)' in text


@every_row("request_", ["What do you remember?", "do I prefer tabs?", "你记得什么？"])
def test_recall_says_honestly_that_there_is_nothing(request_: str) -> None:
    text = said(request_)
    assert "nothing" in text or "什么都不记得" in text


def test_recall_answers_from_what_was_said_in_the_conversation_and_not_from_what_was_forgotten() -> None:
    talk = [HumanMessage("Remember that I use vim"), AIMessage("ok"), HumanMessage("what do you remember?")]
    assert '"I use vim"' in str(plan(conversation(talk), INTENTS))
    talk[2:2] = [HumanMessage("forget that I use vim"), AIMessage("ok")]
    assert "vim" not in str(plan(conversation(talk), INTENTS))


def test_recall_takes_only_the_lines_that_are_asked_about() -> None:
    memory = (MemoryFile(PATH, ("- The user prefers tabs", "- The user's dog is called Rex")),)
    text = said("What is my dog called?", memory=memory)
    assert "Rex" in text
    assert "tabs" not in text


@every_row(
    ("request_", "expected"),
    [
        ("list files", Use("ls", {"path": "/"})),
        ("What files are there in /notes?", Use("ls", {"path": "/notes"})),
        ("列出文件", Use("ls", {"path": "/"})),
        ("read /notes/x.md", Use("read_file", {"file_path": "/notes/x.md"})),
        ("show me the file notes.md, please", Use("read_file", {"file_path": "/notes.md"})),
        ("读取 /x.md", Use("read_file", {"file_path": "/x.md"})),
        ("write a file /x.md with: one\ntwo", Use("write_file", {"file_path": "/x.md", "content": "one\ntwo\n"})),
        ("save 'hi' to /x.md", Use("write_file", {"file_path": "/x.md", "content": "hi\n"})),
        ('write the line "hi" to /x.md', Use("write_file", {"file_path": "/x.md", "content": "hi\n"})),
        ("把“你好”保存到 /x.md", Use("write_file", {"file_path": "/x.md", "content": "你好\n"})),
        (
            "ask a subagent to list files",
            Use("task", {"description": "list files", "subagent_type": "general-purpose"}),
        ),
        ("use the csv-report skill", Use("read_file", {"file_path": SKILL.path})),
        ("Write me a report that summarizes my numbers", Use("read_file", {"file_path": SKILL.path})),
        ("Which planet has the strongest gravity?", Use("list_variables", {})),
        ("what is in `planets`?", Use("inspect_variable", {"name": "planets"}, True)),
        ("describe planets", Use("list_variables", {})),
        ("What columns does the data have?", Use("list_variables", {})),
    ],
)
def test_the_first_call(request_: str, expected: Use) -> None:
    assert move(request_, skills=(SKILL,)) == expected


def test_a_file_is_quoted_shortly() -> None:
    text = said("read /x.md", read("\n".join(f"line {i}" for i in range(50)), "/x.md"))
    assert "> line 0" in text
    assert "line 20" not in text


def test_a_skill_is_read_and_its_steps_are_told_beside_the_data() -> None:
    skill = read("---\nname: csv-report\n---\n# Report\n1. Look at the columns\n2. Write three lines", SKILL.path)
    request = "use the csv-report skill on `planets`"
    then = move(request, skill, skills=(SKILL,))
    assert then == Use("inspect_variable", {"name": "planets"}, True)
    text = said(request, skill, Step("inspect_variable", {"name": "planets"}, PLANETS), skills=(SKILL,))
    assert "1. Look at the columns" in text
    assert "8 rows" in text


def test_skills_are_listed_out_of_the_prompt() -> None:
    assert SKILL.description in said("what skills do you have?", skills=(SKILL,))
    assert "no skills" in said("what skills do you have?")


LISTED = Step("list_variables", {}, "planets: DataFrame, 8 rows x 10 columns\nx: int, 3")
INSPECTED = Step("inspect_variable", {"name": "planets"}, PLANETS)


WITH_QUERY = TOOLS | {"query_table"}


def test_a_question_on_data_asks_query_table() -> None:
    then = move("Which planet has the strongest gravity?", LISTED, INSPECTED, tools=WITH_QUERY)
    assert isinstance(then, Use) and then.tool == "query_table"
    assert then.args["sort"] == "-gravity_m_s2" and then.args["columns"] == ["name", "gravity_m_s2"]
    rows = Step("query_table", then.args, "planets: 2 rows\nname,gravity_m_s2\nJupiter,23.1\nEarth,9.8")
    text = said("Which planet has the strongest gravity?", LISTED, INSPECTED, rows, tools=WITH_QUERY)
    assert text == "Jupiter has the highest gravity_m_s2 in planets: 23.1."
    assert (
        said("How many rows does planets have?", LISTED, INSPECTED)
        == "planets is a DataFrame of 8 rows and 10 columns."
    )


def test_a_description_in_the_request_needs_no_look() -> None:
    then = move(f"Which planet in {PLANETS}\n has the strongest gravity?", tools=WITH_QUERY)
    assert isinstance(then, Use) and then.tool == "query_table"


def test_a_word_that_is_unknown_is_named() -> None:
    text = said("Which planet is the most beautiful?", LISTED, INSPECTED)
    assert text.startswith('I can\'t place "beautiful" in that. Try "')
    assert len(text.splitlines()) == 1


def test_columns_are_parsed() -> None:
    frame, rest = parse_frame("See " + PLANETS) or pytest.fail("not found")
    assert [c.name for c in frame.columns] == ["name", "gravity_m_s2", "mass_1e24_kg", "mean_temperature_c"]
    assert rest.strip() == "See"


def test_an_error_of_a_tool_ends_the_turn_with_what_it_said() -> None:
    text = said("read /x.md", Step("read_file", {"file_path": "/x.md"}, "Error: File '/x.md' not found", failed=True))
    assert "not found" in text


def test_a_tool_that_is_not_bound_is_never_called() -> None:
    for request in ("list files", "Remember that I use vim", "ask a subagent to sing"):
        assert "not bound" in said(request, tools=frozenset())


def test_no_more_than_six_calls_in_a_turn() -> None:
    turn = tuple(Step("grep", {}, "nothing") for _ in range(MAX_CALLS))
    assert "6" in said("list files", *turn)
    assert isinstance(move("list files", *turn[1:]), Use)


@every_row("request_", ["who are you?", "你是谁？", "What is 2 + 2?", "", "hello", "谢谢", "tell me a joke"])
def test_it_never_pretends(request_: str) -> None:
    text = said(request_, Step("list_variables", {}, "No variables."))
    assert text
    assert len(text) < 600
    if request_ not in ("谢谢",):
        assert "rule-based" in text or "规则" in text


def test_words_of_two_forms_are_one() -> None:
    assert words("he prefers") == words("my preferences")
    assert "制表" in words("用户喜欢用制表符")


@every_row(
    "request_",
    [
        "Read /style.md and remember what it says",
        "Please read style.md, then note it",
        "Remember what /style.md says",
        "请读取 /style.md 并记住里面的内容",
    ],
)
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


def test_a_file_that_is_not_there_or_says_nothing_is_told() -> None:
    request = "Read /style.md and remember what it says"
    gone = Step("read_file", {"file_path": "/style.md"}, "Error: File '/style.md' not found", failed=True)
    assert "failed. It said" in said(request, gone)
    assert "has nothing that I could remember" in said(request, read("# Style\n", "/style.md"))
    assert "already" in said(request, read("- a", "/style.md"), read("- a"))


def test_reading_a_file_alone_keeps_nothing() -> None:
    assert "says" in said("Read /style.md", read("- a", "/style.md"))


def test_a_change_that_waits_for_the_user_is_told_as_that() -> None:
    held = Step("write_file", {"file_path": PATH, "content": "- a\n"}, "Error: this change of /AGENTS.md waits for the user to confirm it (1 line that reads like an instruction, not in your words).", failed=True)  # fmt: skip
    gone = Step("read_file", {"file_path": PATH}, "Error: File '/AGENTS.md' not found", failed=True)
    text = said("Read /style.md and remember what it says", read("- a", "/style.md"), gone, held)
    assert "needs your approval" in text and "%memory pending" in text and PATH in text
