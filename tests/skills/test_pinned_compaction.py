"""A pinned skill in the turn that it was pinned to, when the thread is compacted."""

from __future__ import annotations

from deepnb import Session
from tests.support.compactions import HISTORY, Phased, compactions, notices, prompt_text, session
from tests.support.scripted import call

BODY = "ALWAYS ROUND TO TENS"


def with_skill(s: Session, body: str = BODY) -> Session:
    s.skills.write("one", f"---\nname: one\ndescription: Reports.\n---\n\n{body}\n")
    s.skills.pin("one")
    return s


def small(reads: int) -> tuple[Session, Phased]:
    """A session with room for a few results of the tool calls that its model makes in a turn."""
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


def test_in_the_next_turn_it_is_no_longer_kept_and_what_it_forbids_is_no_word_of_the_user():
    """A pinned skill is a file's text: what it says is not carried along as what the user said."""
    model = Phased(profile={"max_input_tokens": 40_000})
    s = session(model)
    s.run("a")
    with_skill(s, f"{BODY}. Never open door number 7.").run("b")
    for prompt in "cde":
        s.run(prompt)
    assert BODY not in prompt_text(model) and BODY in s.files[HISTORY]
    assert not any("door" in a.text for a in s.snapshot.offload.anchors)


def test_where_it_goes_with_the_beginning_of_its_turn_a_line_says_so():
    s, model = small(6)
    with_skill(s).run("go")
    assert compactions(s) and BODY not in prompt_text(model)
    assert "the pinned skills went with the beginning of this turn: %skills pin NAME adds one again" in notices(s)
