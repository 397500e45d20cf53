"""How a turn grows on a screen: few outputs, few updates, and in the end everything."""

import io
import re
import time
from dataclasses import replace
from typing import Any

import pytest

from deepnb.values.approvals import PendingCall
from deepnb.values.budget import Budget, rule_for
from deepnb.values.offload import Offload
from deepnb.values.turn import (
    Asked,
    Call,
    CodeOutput,
    Compacted,
    Event,
    ModelStarted,
    Notice,
    Retry,
    TextDelta,
    ToolEnded,
    ToolStarted,
)
from deepnb.views.markdown import markdown_html
from deepnb.views.view import notice_view
from deepnb.widgets import progress
from deepnb.widgets.screen import Reserved, Terminal
from deepnb.widgets.terminal_turn import TerminalTurn
from deepnb.widgets.turn import MAX_OUTPUTS, NotebookTurn, QuietTurn, turn_display
from tests.support.answers import ANSWERS, SAID
from tests.support.screen import Cell, until
from tests.support.tables import every_row

MADE_TO_JOIN = "margin:0;border-radius:0"
"""In the style of a block of code that goes on from one output to the next."""


ASKED = ModelStarted(Call(1, "answer", (), Budget({}, rule_for(10), 0)))
END = notice_view("the end", "ok")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def tool(i: int, name: str = "look") -> list[Event]:
    return [ToolStarted(f"c{i}", name, {"at": i}), ToolEnded(f"c{i}", name, f"seen {i}", "ok", 0.0)]


def said(i: int, text: str) -> TextDelta:
    return TextDelta(text, i)


def answers(count: int) -> list[Event]:
    return [event for i in range(count) for event in (said(i, f"Answer {i}."), *tool(i))]


def told(count: int) -> list[str]:
    return [words for i in range(count) for words in (f"Answer {i}.", f"seen {i}")]


def in_order(shown: str, words: list[str]) -> bool:
    places = [shown.find(one) for one in words]
    return -1 not in places and places == sorted(places)


def add(turn: NotebookTurn | TerminalTurn | QuietTurn, events: list[Event]) -> None:
    for event in events:
        turn.add(event)


def on_a_screen(hz: float = 15.0, **how: Any) -> tuple[Cell, Clock, NotebookTurn]:
    cell, clock = Cell(), Clock()
    return cell, clock, NotebookTurn(cell, hz, clock, **how)


def play(cell: Cell, events: list[Event]) -> None:
    turn = NotebookTurn(cell, 15.0, Clock())
    add(turn, events)
    turn.finish(END)


def terminal(out: io.StringIO, **how: Any) -> TerminalTurn:
    return TerminalTurn(Terminal(lambda text: out.write(f"{text}\n")), out, **how)


def test_calls_between_two_answers_are_one_output_and_what_did_not_change_is_not_shown_again() -> None:
    cell = Cell()
    play(cell, [*tool(1), *tool(2), said(1, "Half."), *tool(3), Notice("by the way"), *tool(4), said(2, "Done.")])
    assert len(cell.outputs) == 5
    first, half, second, done, end = cell.last
    assert "seen 1" in first and "seen 2" in first and half == "Half."
    assert "seen 3" in second and "by the way" in second and "seen 4" in second
    assert (done, end) == ("Done.", "the end")
    cell = Cell()
    play(cell, [*tool(1), said(1, "One."), said(1, " More.")])
    assert len(cell.outputs[0]) == 2, "running, then ended"


def test_text_is_shown_at_most_hz_times_a_second_and_a_tool_at_once() -> None:
    cell, clock, turn = on_a_screen(10.0)
    for i in range(1000):
        clock.now = i / 100
        turn.add(said(1, "word "))
    sent = sum(map(len, cell.outputs))
    assert 40 <= sent <= 110, "ten seconds: at least four a second, at most ten, and what is cut is sent once more"
    turn.finish()
    assert " ".join(" ".join(cell.last).split()) == ("word " * 1000).rstrip()
    cell, clock, turn = on_a_screen()
    for i in range(300):
        clock.now = i * 0.07
        turn.add(said(1, "some words more some words more "))
    assert sum(map(len, cell.outputs)) > 8 * clock.now
    cell, clock, turn = on_a_screen(0.5)
    turn.add(said(1, "Let me "))
    turn.add(said(1, "look."))
    assert "Let me" in cell.drawn[0][-1] and "look." not in cell.drawn[0][-1]
    turn.add(ToolStarted("c1", "look", {}))
    assert cell.last[0] == "Let me look." and "look()" in cell.last[1]
    turn.add(ToolEnded("c1", "look", "a tree", "ok", 0.0))
    assert "a tree" in cell.last[1]


def test_a_turn_fills_outputs_that_were_reserved_and_keeps_to_half_of_them_while_it_waits() -> None:
    cell = Cell()
    reserved = Reserved(cell, 5)
    assert cell.drawn == [[""]] * 5
    turn = NotebookTurn(reserved, 15.0, Clock(), most=reserved.free)
    add(turn, answers(30))
    turn.finish(END, notice_view("and more", "ok"), notice_view("and more still", "ok"))
    assert len(cell.outputs) == 5, "none is made"
    shown = "\n".join(cell.last)
    assert in_order(shown, told(30)) and shown.endswith("the end\nand more\nand more still")
    cell, _, turn = on_a_screen()
    add(turn, answers(30))
    before = len(cell.outputs)
    turn.add(Asked(PendingCall("w1", "write_file", {}, digest="", key="")))
    below = turn.finish()
    assert len(cell.outputs) == before and isinstance(below, Reserved) and below.free == before - MAX_OUTPUTS // 2
    shown = "\n".join(cell.last[: MAX_OUTPUTS // 2])
    assert all(f"Answer {i}." in shown and f"seen {i}" in shown for i in range(30))
    assert {states[-1] for states in cell.drawn[MAX_OUTPUTS // 2 :]} == {""}


@every_row("count", [*range(1, 30), 60, 200])
def test_a_turn_makes_few_outputs_none_of_them_empty_and_loses_nothing(count: int) -> None:
    cell = Cell()
    play(cell, [*answers(count), said(count, "Over.")])
    assert len(cell.outputs) <= 20 and "" not in [states[-1] for states in cell.drawn]
    shown = "\n".join(cell.last)
    assert in_order(shown, told(count)) and shown.endswith("Over.\nthe end")


@pytest.mark.slow
@every_row("most", [20, 9])
@every_row("name", [*ANSWERS, "mixed"])
def test_no_block_is_left_in_two_outputs(name: str, most: int) -> None:
    answer = f"{SAID}\n\n" + (ANSWERS.get(name) or "\n\n".join(ANSWERS.values())) * 3
    cell, clock, turn = on_a_screen(most=most)
    for at in range(0, len(answer), 7):
        clock.now += 0.02
        turn.add(said(1, answer[at : at + 7]))
    most_drawn = max(map(len, cell.drawn))
    turn.finish(END)
    assert most_drawn > 5, "it was shown while it grew"
    shown = re.sub("<[^>]+>", "", "".join(states[-1] for states in cell.drawn)).split()
    assert shown == [*re.sub("<[^>]+>", "", markdown_html(answer)).split(), "the", "end"]
    marks = re.compile(f"{re.escape(MADE_TO_JOIN)}|visibility:collapse|start=")
    assert [states[-1] for states in cell.drawn if marks.search(states[-1])] == []


def test_a_paragraph_is_whole_again_as_soon_as_it_has_ended() -> None:
    cell, clock, turn = on_a_screen()
    paragraph = "A sentence of a few words. " * 60
    for word in [*paragraph.split(" "), "\n\n", *["The", "next", "paragraph.", ""], *["and on"] * 100]:
        clock.now += 0.1
        turn.add(said(1, f"{word} "))
    assert max(text.count("A sentence") for text in cell.outputs[1]) > 5, "it was cut while it grew"
    turn._flush()
    assert cell.last[0].count("A sentence") == 60


def test_a_model_that_keeps_silent_is_said_to_be_waited_for_and_so_is_the_next_try() -> None:
    cell, _, turn = on_a_screen(patience=0.01)
    turn.add(ASKED)
    until(cell, "waiting for the model")
    turn.add(said(1, "Here I am."))
    turn.finish()
    assert cell.last == ["Here I am."], "the answer stands in its place"
    cell, _, turn = on_a_screen(patience=0.01)
    turn.add(ASKED)
    until(cell, "waiting for the model")
    turn.add(WAIT)
    assert "rate limited: trying again in 8 s (2 of 5)" in cell.last[0]
    turn.add(ASKED)
    turn.add(said(1, "Here I am."))
    turn.finish()
    assert cell.last == ["Here I am."]


def test_in_a_terminal_each_wait_is_a_line_said_once() -> None:
    out = io.StringIO()
    turn = terminal(out, patience=0.01)
    for number in (1, 2):
        turn.add(ModelStarted(replace(ASKED.call, number=number)))
        until(out, "waiting for the model")
        time.sleep(0.05)
        turn.add(said(number, "Here I am."))
    turn.finish()
    text = out.getvalue()
    assert text.startswith("note: waiting for the model ...\nHere I am.") and text.count("waiting") == 1
    assert text.count("Here I am.") == 2
    out = io.StringIO()
    turn = terminal(out)
    add(turn, [WAIT, replace(WAIT, number=3), said(1, "Here I am.")])
    turn.finish()
    assert out.getvalue().splitlines()[:2] == [f"note: rate limited: trying again in 8 s ({n} of 5)" for n in (2, 3)]


WAIT = Retry("rate limited", 8.0, 2, 5)


def test_a_terminal_prints_as_it_comes_and_a_quiet_turn_shows_the_end_alone() -> None:
    out = io.StringIO()
    turn = terminal(out)
    turn.add(said(1, "Let me"))
    assert out.getvalue() == "Let me"
    compacted = Compacted(Offload("/history.md", "They spoke.", 4, "2026-01-31T09:00:00"))
    add(turn, [said(1, " look."), *tool(1), compacted, Notice("by the way"), said(2, "A tree.")])
    turn.finish(END)
    lines = out.getvalue().splitlines()
    assert lines[0] == "Let me look."
    assert lines[1].startswith("→ look(at=1)  ok") and lines[2] == "  seen 1"
    assert lines[3].startswith("⇣ context compacted") and "They spoke." in lines[4]
    assert lines[5:] == ["note: by the way", "", "A tree.", "", "the end"]
    cell = Cell()
    quiet = QuietTurn(cell)
    add(quiet, tool(1))
    quiet.finish(END)
    assert cell.last == ["the end"]
    assert isinstance(turn_display(Cell(), hz=15), NotebookTurn)
    assert isinstance(turn_display(Terminal(), hz=15), TerminalTurn)


def test_five_minutes_are_said_as_they_pass_and_the_gauge_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [progress.pause(seconds, 1.0) for seconds in (1, 40, 60, 300)] == [1.0, 2.0, 3.0, 5.0]
    monkeypatch.setattr("deepnb.widgets.turn.pause", lambda seconds, least: least)
    cell, clock, turn = on_a_screen(patience=0.01)
    for minute, total in enumerate((100, 200, 400, 700, 820), 1):
        turn.add(ModelStarted(Call(minute, "answer", (), Budget({"system": total}, rule_for(1_000), 0))))
        clock.now = minute * 60 + 5
        until(cell, f"{minute} min 05 s · waiting for the model · context {total} of 1,000 tokens")
        turn.add(ToolStarted(f"c{minute}", "run_python", {}))
        until(cell, f"{minute} min 05 s · run_python")
        turn.add(ToolEnded(f"c{minute}", "run_python", "seen", "ok", 1.0))
    assert "interrupt the kernel to stop it" in cell.last[-1]
    turn.finish(END)
    assert cell.last[-1].endswith("the end") and "min" not in "".join(cell.last), "the line is gone"
    assert len(cell.outputs) <= MAX_OUTPUTS


BUTTON = "a turn is running in this cell: interrupt the kernel to stop it"


def test_the_stop_button_stays_while_one_tool_follows_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepnb.widgets.turn.has_page_thread", lambda: True)
    cell, _, turn = on_a_screen(patience=0.01, stop=lambda: None)
    # No beat after the one that shows the button: what moves it then is the tools.
    monkeypatch.setattr("deepnb.widgets.turn.pause", lambda seconds, least: 600.0 if turn._waiting else least)
    turn.add(ASKED)
    until(cell, BUTTON)
    for i in range(60):
        for event in tool(i):
            turn.add(event)
            assert [text for text in cell.last if text][-1] == BUTTON, "there is a button at the end at any time"
    moved = sum(states.count(BUTTON) for states in cell.outputs)
    assert moved < 60 / 2, "it stays where it is while cards are added above it"
    turn.add(said(1, "Done."))
    turn.finish(END)
    shown = "\n".join(cell.last)
    assert in_order(shown, [f"seen {i}" for i in range(60)]) and BUTTON not in shown
    assert len(cell.outputs) <= MAX_OUTPUTS


def test_an_answer_that_pauses_goes_on_above_nothing() -> None:
    cell, _, turn = on_a_screen(patience=0.01)
    turn.add(ASKED)
    turn.add(said(1, "Half an answer"))
    until(cell, "the model answers")
    turn.add(said(1, " and the other half."))
    turn.finish(END)
    assert [text for text in cell.last if text] == ["Half an answer and the other half.", "the end"]


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_says_how_a_picture_is_seen() -> None:
    out = io.StringIO()
    turn = TerminalTurn(Terminal(lambda text: out.write(f"{text}\n")), out)
    turn.add(CodeOutput("c", 1, "rich", "<Figure with 1 Axes>", {"image/png": "iVBO", "text/plain": "<Figure>"}))
    turn.add(CodeOutput("c", 2, "rich", "a table", {"text/html": "<table>"}))
    turn.finish()
    line = "note: a terminal shows no picture: savefig writes a figure to a file"
    assert out.getvalue().split("\n")[:3] == ["<Figure with 1 Axes>", line, "a table"]


def test_a_wait_is_told_after_the_thread_that_tells_has_ended_and_an_output_was_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(progress, "_PULSES", progress._Pulses())
    monkeypatch.setattr(progress, "_IDLE", 0)
    closed = io.StringIO()
    lost = terminal(closed, patience=0.01)
    lost.add(ASKED)
    closed.close()
    for _ in range(2):
        out = io.StringIO()
        turn = terminal(out, patience=0.01)
        turn.add(ASKED)
        until(out, "waiting for the model")
        turn.finish()
        deadline = time.monotonic() + 10
        while progress._PULSES._wakes is not None and time.monotonic() < deadline:
            time.sleep(0.01)
        assert progress._PULSES._wakes is None, "no thread is left where nothing is waited for"


def test_a_terminal_has_one_line_that_is_written_over() -> None:
    out, clock = Tty(), Clock()
    turn = terminal(out, patience=0.01, clock=clock)
    turn.add(ToolStarted("c", "run_python", {}))
    clock.now = 7
    until(out, "7 s · run_python · Ctrl-C stops it")
    clock.now = 65
    until(out, "1 min 05 s · run_python")
    turn.add(ToolEnded("c", "run_python", "seen", "ok", 65.0))
    turn.finish(END)
    assert "\n" not in out.getvalue().partition("→ run_python")[0], "it never took a line of its own"
    seen = [line.rpartition("\r\x1b[K")[2] for line in out.getvalue().split("\n") if line]
    assert seen[0].startswith("→ run_python()  ok") and seen[-1] == "the end" and "Ctrl-C" not in "".join(seen)
