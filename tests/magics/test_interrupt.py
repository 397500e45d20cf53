"""Ctrl-C at any moment at which a turn is shown: nothing is shown twice, nothing is lost, one line says what to do."""

import os
import re
import signal
from collections import Counter

import pytest

from deepnb.views.view import View
from tests.support.shells import Shell

MOMENTS = 7
"""The publication at which the signal comes: from the first to one that never is."""
CUT = {"interrupted", "cut", "off", "no", "result"}
"""Words of a card whose tool was cut."""


class Notebook:
    """Outputs that can change; Ctrl-C comes in the middle of publication number `at`, counted from 1."""

    notebook = True

    def __init__(self, at: int) -> None:
        self.outputs: list[View] = []
        self.at, self.published = at, 0

    def show(self, view: View) -> "_Output":
        self.outputs.append(view)
        self._publish()
        return _Output(self, len(self.outputs) - 1)

    def _publish(self) -> None:
        self.published += 1
        if self.published == self.at:
            os.kill(os.getpid(), signal.SIGINT)

    @property
    def words(self) -> Counter[str]:
        """Of all outputs but the footer, without figures, which are never the same."""
        return Counter(re.findall(r"[^\W\d]+", " ".join(view.text() for view in self.outputs[:-1])))


class _Output:
    def __init__(self, screen: Notebook, number: int) -> None:
        self.screen, self.number = screen, number

    def update(self, view: View) -> None:
        self.screen.outputs[self.number] = view
        self.screen._publish()


def turn(shell: Shell, at: int) -> tuple[Notebook, str]:
    """One turn, interrupted there; gives its screen, and what was said of the interrupt."""
    screen = Notebook(at)
    scene = shell.ip._deepnb.scene
    before, scene.screen = scene.screen, screen
    ran = shell.run("%%agent\nRemember that I like zebras")
    scene.screen = before
    assert "Traceback" not in ran.err + ran.out
    return screen, ran.err.strip()


@pytest.fixture
def undisturbed(shell: Shell) -> Notebook:
    shell.ok("%agent new --empty")
    screen, said = turn(shell, 0)
    assert not said
    shell.ok("%agent switch main")
    return screen


@pytest.mark.parametrize("at", range(1, MOMENTS + 1))
def test_whatever_is_being_shown(shell: Shell, undisturbed: Notebook, at: int) -> None:
    screen, said = turn(shell, at)
    assert bool(said) == (screen.published >= at)
    (kept,) = shell.session.turns
    footer = screen.outputs[-1].text()
    assert "turn 1 · main" in footer
    new = screen.words - undisturbed.words
    if kept.interrupted is None:
        assert not new and not undisturbed.words - screen.words, "not what an undisturbed turn shows"
        told = ("", "UsageError: interrupted after the turn had ended: its answer is kept; you can run the cells below")
        assert said in told
    else:
        assert set(new) <= CUT, "shown twice"
        assert kept.interrupted not in footer, "said once: it ends the cell"
        what, next_ = said.rsplit(": ", 1)
        assert what == f"UsageError: {kept.interrupted}"
        assert next_ == ("%agent resume" if shell.session.pending else "%agent PROMPT continues from here")
        if shell.session.pending:
            shell.ok("%agent resume again" if "in the tool" in said else "%agent resume")
    assert shell.session.files["/AGENTS.md"].count("zebras") == 1
