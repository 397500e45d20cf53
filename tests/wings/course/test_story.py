"""The picture of a thread that the first notebook ends its first cell with."""

import re

import pandas as pd

from deepnb import Session
from deepnb.magics.pictures import picture
from deepnb.views.values import html_text
from deepnb.wings.course.story import StoryStep, StoryView, story_of
from tests.support.notebooks import HERE
from tests.support.shells import Shell

KEY = "Who keeps the spare key?"


def test_it_remembers_fills_up_is_compacted_and_gets_the_line_back() -> None:
    penguins = pd.read_csv(HERE / "data" / "penguins.csv")
    session = Session(max_input_tokens=4_320, namespace={"penguins": penguins})
    for prompt in (
        "Remember that weights are in grams",
        "The field hut on Dream island was painted green in spring, its door has been repaired since, and Ines keeps the spare key.",
        "What is the average body mass by species and sex?",
        "What is the average flipper length on each island?",
        KEY,
    ):
        session.run(prompt)
    session.bring_back(1, [5])
    session.run(KEY)
    story = story_of(session)
    assert repr(story) == "<StoryView of main: turns=6>"
    words = [[word for word, _ in step.marks] for step in story.steps]
    assert words == [["remembers"], [], [], ["compacts"], [], ["brings back"]]
    assert story.trigger is not None and story.steps[3].tokens > story.trigger, "the request that was too full"
    assert all(step.tokens <= story.trigger for step in story.steps if step.turn != 4)
    assert len(story.compactions) == 1
    assert "Ines" not in story.steps[4].answer and "Ines keeps the spare key" in story.steps[5].answer
    (_, what) = story.steps[5].marks[0]
    assert re.fullmatch(r"message 5 of section 1 \(\d+ tokens\), out of the offloaded history", what)
    for text in (story.text(), html_text(story.html())):
        for sight in (
            "weights are in grams",
            "messages → summary, saved verbatim in /conversation_history/main.md",
            "Ines keeps the spare key",
        ):
            assert sight in " ".join(text.split()), sight
    assert picture(story) is story, "short enough for the value of a cell"
    assert max(map(len, story.text().split("\n"))) <= 100


def test_a_long_thread_shows_its_last_turns_and_an_empty_one_none() -> None:
    session = Session()
    assert story_of(session).steps == () and "0 turns" in story_of(session).text()
    for _ in range(10):
        session.run("hello")
    assert [step.turn for step in story_of(session).steps] == list(range(3, 11))


def test_many_words_are_cut_to_the_last_turns() -> None:
    steps = [StoryStep(n, "word " * 90, "word " * 90, 10, (("remembers", "word " * 90),)) for n in range(1, 9)]
    assert "turn 1 " not in picture(StoryView("main", tuple(steps))).text()


def test_it_is_asked_for_again_and_again(shell: Shell) -> None:
    shell.ok("import deepnb")
    for n in range(3):
        shell.ok("%agent hello")
        assert len(shell.run("deepnb.course.story()").value.steps) == n + 1
