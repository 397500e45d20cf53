"""The teacher's page: its cells show what it says they show, and its links lead somewhere."""

import re

import pytest

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


def test_every_notebook_is_in_the_hour_and_in_order() -> None:
    hour = PAGE.split("\n## One hour\n")[1].split("\n## ")[0]
    assert re.findall(r"\]\((\d\d_\w+\.ipynb)\)", hour) == [path.name for path in ALL]
    minutes = [int(n) for n in re.findall(r"^\| (\d+) ", hour, re.MULTILINE)]
    assert minutes == sorted(minutes) and minutes[0] == 0 and minutes[-1] < 60


def test_every_link_leads_somewhere() -> None:
    heads = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in re.findall(r"^#+ (.+)$", PAGE, re.M)}
    targets = re.findall(r"\]\(([^)\s]+)\)", PAGE)
    assert len(targets) > 10
    for target in targets:
        path, _, anchor = target.partition("#")
        assert target.startswith("https://") or not path or (HERE / path).exists(), target
        assert not anchor or anchor in heads, target


def test_it_is_short_and_has_no_solution() -> None:
    from tests.wings.course.solutions import SOLUTIONS

    assert len(PAGE.splitlines()) < 200 and (ROOT / "tests" / "bench").is_dir()
    long = [cell for solution in SOLUTIONS.values() for cell in solution if len(cell) > 40]
    assert not [cell for cell in long if cell in PAGE]
