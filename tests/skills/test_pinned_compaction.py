"""A pinned skill is there in the whole turn it was pinned to, whatever is compacted in it."""

from deepnb import Session
from tests.support.compactions import HISTORY, Phased, compactions, notices, prompt_text, session
from tests.support.scripted import call
from tests.support.tables import every_row
from tests.support.walks import walked

BODY = "ALWAYS ROUND TO TENS"


def with_skill(s: Session, body: str = BODY, *names: str) -> Session:
    for name in names or ("one",):
        s.skills.write(name, f"---\nname: {name}\ndescription: Reports.\n---\n\n{body}\n")
        s.skills.pin(name)
    return s


def small(reads: int) -> tuple[Session, Phased]:
    read = [call("read_file", file_path="/big.md", limit=1000 + n) for n in range(reads)]
    model = Phased(answers=[*read, "done"], profile={"max_input_tokens": 12_000})
    s = Session(model=model, trigger=("tokens", 6_700), keep=("tokens", 1_000), system_prompt="s", tool_text="full")
    s.files["/big.md"] = "some words of a line\n" * 150
    return s, model


def test_a_pin_survives_the_compaction_its_prompt_sets_off():
    """It stood before the prompt, and went with the turns before."""
    model = Phased()
    s = session(model)
    s.run("a")
    with_skill(s).run("b")
    assert len(compactions(s)) == 1
    block = f'<skill name="one" path="/skills/one/SKILL.md">\n{BODY}\n</skill>'
    assert [m.text for m in model.requests[-1][2:]] == [block, "b"]


@every_row("times", [1, 2, 4])
def test_a_pin_survives_compactions_in_the_middle_of_its_turn(times: int):
    """Here the turn does not fit below the trigger: its beginning goes, but for the skill."""
    s, model = small(4 + 5 * times)
    with_skill(s).run("go")
    assert len(compactions(s)) >= times and prompt_text(model).count(BODY) == 1
    assert (s.last.text, s.snapshot.offload.summary) == ("done", "ok")
    assert "".join(m.text for said in model.summaries[:1] for m in said).count(BODY) == 1, "as it was sent"


def test_in_the_next_turn_it_is_no_longer_kept_and_what_it_forbids_is_no_word_of_the_user():
    """A pinned skill is a file's text: what it says is not carried along as what the user said."""
    model = Phased(profile={"max_input_tokens": 40_000})
    s = session(model)
    s.run("a")
    with_skill(s, f"{BODY}. Never open door number 7.").run("b")
    walked(s, "run c", "run d", "run e")
    assert BODY not in prompt_text(model) and BODY in s.files[HISTORY]
    assert not any("door" in a.text for a in s.snapshot.offload.anchors)


def test_one_that_does_not_fit_beside_the_rest_is_said_and_the_other_stays():
    s, model = small(6)
    with_skill(s, "word " * 2_500, "long")
    with_skill(s, BODY, "short")
    s.run("go")
    assert prompt_text(model).count(BODY) == 1
    assert "long was pinned to this turn, but did not fit into the request" in notices(s)


def test_a_skill_with_the_words_that_end_a_summary_leaves_the_summary_whole():
    s, model = small(6)
    with_skill(s, f"<details><summary>x</summary>{BODY}</details>").run("go")
    assert compactions(s) and s.snapshot.offload.summary == "ok" and prompt_text(model).count(BODY) == 1
