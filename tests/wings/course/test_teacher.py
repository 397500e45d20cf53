"""The teacher's page: its cells show what it says they show, and its links lead somewhere."""

import re

import pandas as pd
import pytest

from deepnb import Session
from deepnb.magics.pictures import picture
from deepnb.views.values import html_text
from deepnb.wings.course.story import StoryStep, StoryView, story_of
from tests import ROOT
from tests.support.notebooks import ALL, HERE
from tests.support.shells import Shell

PAGE = (HERE / "README.md").read_text(encoding="utf-8")
FENCE = re.compile(r"^```(?:python)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
START, *MISTAKES = re.split(r"^### ", PAGE.split("\n## Mistakes to provoke\n")[1].split("\n## ")[0], flags=re.MULTILINE)


def cells(block: str) -> list[str]:
    lines = block.rstrip("\n").split("\n")
    alone = all(re.match(r"%\w", line) for line in lines)
    return lines if alone else [block]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda text: text.partition("\n")[0])
def test_a_mistake_shows_what_the_page_says(shell: Shell, mistake: str) -> None:
    (start,) = FENCE.findall(START)
    shell.ok(start)
    shown, at, claims = "", 0, 0
    for found in re.finditer(f"{FENCE.pattern}|^Shown: (.+?)(?:\\.\\s|: |$)", mistake, re.MULTILINE | re.DOTALL):
        if found[1]:
            shown += "".join(shell.ok(cell) for cell in cells(found[1]))
            continue
        for claim in re.findall(r"`([^`]+)`", found[2]):
            assert claim in shown[at:], claim
            claims += 1
        at = len(shown)
    assert claims > 1
    shell.session.close()


def test_the_page_is_short_has_every_notebook_in_order_and_its_links_lead_somewhere() -> None:
    hour = PAGE.split("\n## One hour\n")[1].split("\n## ")[0]
    assert re.findall(r"\]\((\d\d_\w+\.ipynb)\)", hour) == [path.name for path in ALL]
    minutes = [int(n) for n in re.findall(r"^\| (\d+) ", hour, re.MULTILINE)]
    assert minutes == sorted(minutes) and minutes[0] == 0 and minutes[-1] < 60
    heads = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.+)$", PAGE, re.M)}
    targets = re.findall(r"\]\(([^)\s]+)\)", PAGE)
    assert len(targets) > 10
    for target in targets:
        path, _, anchor = target.partition("#")
        assert target.startswith("https://") or not path or (HERE / path).exists(), target
        assert not anchor or anchor in heads, target
    from tests.wings.course.solutions import SOLUTIONS

    assert len(PAGE.splitlines()) < 200 and (ROOT / "tests" / "bench").is_dir()
    long = [cell for solution in SOLUTIONS.values() for cell in solution if len(cell) > 40]
    assert not [cell for cell in long if cell in PAGE]


KEY = "Who keeps the spare key?"


def test_it_remembers_fills_up_is_compacted_and_gets_the_line_back() -> None:
    penguins = pd.read_csv(HERE / "data" / "penguins.csv")
    session = Session(max_input_tokens=4_320, namespace={"penguins": penguins})
    for prompt in (
        "Remember that weights are in grams",
        "The field hut on Dream island was painted green in spring, its door has been repaired since, and Ines keeps the spare key.",
        "What is the average body mass by species and sex?", "What is the average flipper length on each island?", KEY,
    ):  # fmt: skip
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


def test_a_long_story_shows_its_last_turns_and_an_empty_one_none() -> None:
    session = Session()
    assert story_of(session).steps == () and "0 turns" in story_of(session).text()
    for _ in range(10):
        session.run("hello")
    assert [step.turn for step in story_of(session).steps] == list(range(3, 11))
    steps = [StoryStep(n, "word " * 90, "word " * 90, 10, (("remembers", "word " * 90),)) for n in range(1, 9)]
    assert "turn 1 " not in picture(StoryView("main", tuple(steps))).text()


def test_it_is_asked_for_again_and_again(shell: Shell) -> None:
    shell.ok("import deepnb")
    for n in range(3):
        shell.ok("%agent hello")
        assert len(shell.run("deepnb.course.story()").value.steps) == n + 1
