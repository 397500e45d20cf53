"""A turn as it happens: the segment an event makes or changes, and an answer cut in pieces, which says what it says whole."""

import html
import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from deepnb.values.turn import (
    Compacted,
    Event,
    Flushed,
    Notice,
    Snapshot,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    Turn,
    Usage,
)
from deepnb.views.growing_markdown import GrowingMarkdown, Piece
from deepnb.views.markdown import markdown_html
from deepnb.views.text import clean
from deepnb.views.turn_segments import Answer, Segments, ToolSegment, turn_segments
from deepnb.views.view import Picture
from tests.support.answers import ANSWERS, SAID, pieces
from tests.support.histories import FLUSH, OFFLOAD
from tests.support.tables import every_row

STARTED = ToolStarted("t1", "write_file", {"file_path": "/AGENTS.md", "content": "- The user prefers metric units"})
ENDED = ToolEnded("t1", "write_file", "Updated file /AGENTS.md", "ok", 0.012)


def _turn(*events):
    empty = Snapshot("main")
    return Turn(1, "main", "p", "", events, empty, empty, Usage(), None)


def test_calls_and_tools_have_a_card_each_that_runs_until_it_has_ended():
    segments = Segments()
    events: list[Event] = [TextDelta("I'll ", 1), TextDelta("note it.", 1), STARTED, ENDED, TextDelta("Done.", 2)]
    assert [segments.add(event) for event in events] == [0, 0, 1, 1, 2]
    assert segments.text() == (
        "I'll note it.\n\n"
        '→ write_file(file_path="/AGENTS.md", content="- The user prefers metric units")  ok 0.01 s\n'
        "  Updated file /AGENTS.md\n\n"
        "Done."
    )
    segments = Segments()
    assert segments.add(TextDelta("", 1)) is None and segments.segments == []
    segments = Segments()
    assert segments.add(TextDelta("again", 1, path=("gone",))) == 0
    (tool,) = segments.segments
    assert isinstance(tool, ToolSegment) and [child.text() for child in tool.children] == ["again"]
    segments = Segments()
    assert segments.add(replace(ENDED, status="error")) == 0
    assert segments.text().startswith("→ write_file()  error 0.01 s")
    segments = Segments()
    segments.add(STARTED)
    (tool,) = segments.segments
    assert isinstance(tool, ToolSegment) and tool.status == "running" and tool.result is None
    assert tool.text().endswith("running …")
    segments.add(ENDED)
    assert (tool.status, tool.seconds) == ("ok", 0.012)
    segments = turn_segments(_turn(STARTED, ToolStarted("in", "ls", {}, path=("t1",))))
    (tool,) = segments.segments
    assert isinstance(tool, ToolSegment) and tool.status == "cut" and "interrupted: no result" in tool.text()
    assert [child.status for child in tool.children] == ["cut"]


def test_notes_and_compactions_stand_where_they_happened():
    segments = turn_segments(
        _turn(
            TextDelta("a", 1),
            Flushed(FLUSH),
            Compacted(OFFLOAD),
            Notice("left as typed: {x}"),
        )
    )
    assert [type(s) for s in segments.segments] == [Answer, Picture, Picture]
    assert segments.text() == (
        "a\n\n"
        "⇣ context compacted (at the trigger): 12 messages → summary, 6,812 → 3,104 tokens;"
        " 2 facts to /memory/2026-11-22.md; 1 key fact kept\n"
        "  Ada asked.\n"
        "note: left as typed: {x}"
    )


def test_a_long_result_shows_its_head_and_its_tail_and_unfolds_the_rest():
    segments = turn_segments(_turn(STARTED, replace(ENDED, result="a" * 5_000 + "z" * 5_000)))
    shown = segments.html()
    head, _, rest = shown.partition("show 6,000 more characters</summary>")
    assert "a" * 3_000 in head and "a" * 3_001 not in head
    assert "a" * 2_000 + "z" * 4_000 + "</pre></details>" in rest and rest.count("z" * 1_000 + "</pre>") == 2
    huge = turn_segments(_turn(STARTED, replace(ENDED, result="a" * 1_000_000))).html()
    assert len(huge) < 40_000 and "characters left out" in huge


def test_thoughts_show_their_end_while_they_grow_and_a_running_subagent_does_not_grow():
    segments = Segments()
    for word in ("First ", "the planets. " * 100, "Then <b>the moons</b>."):
        assert segments.add(ThinkingDelta(word, 1)) == 0
    growing = segments.html()
    assert "<details" in growing and "&lt;b&gt;the moons" in growing and "First" not in growing
    assert len(growing) < 1_000 and segments.add(TextDelta("Jupiter.", 1)) == 1
    ended = segments.html()
    assert "First the planets." in ended and "thinking · 1,328 characters" in ended and " open" not in ended
    assert segments.text().startswith("thinking: First the planets.") and segments.text().endswith("\n\nJupiter.")
    segments = Segments()
    segments.add(ToolStarted("t", "task", {"subagent_type": "critic", "description": "look"}))
    sizes = []
    for i in range(200):
        segments.add(TextDelta("said " * 100, i, path=("t",)))
        segments.add(ToolStarted(f"c{i}", "ls", {}, path=("t",)))
        segments.add(ToolEnded(f"c{i}", "ls", "file " * 100, "ok", 0.1, path=("t",)))
        sizes.append(len(segments.html()) + len(segments.text()))
    assert max(sizes) < 20_000
    segments.add(ToolEnded("t", "task", "done", "ok", 1.0))
    assert segments.html().count(("said " * 100).strip()) == 200, "when it is over, all is there"


def test_long_arguments_are_shortened_on_the_line_and_whole_in_the_card():
    words = "word " * 100
    segments = turn_segments(_turn(ToolStarted("t", "write_file", {"content": words, "a": 1}), ENDED))
    assert max(len(line) for line in segments.text().split("\n")) <= 110 and words in segments.html()


@given(st.lists(st.tuples(st.integers(0, 3), st.text()), max_size=30))
def test_answers_joined_are_what_the_model_said(said):
    """Calls of one agent come one after the other."""
    segments = Segments()
    call, spoken = 0, ""
    for step, text in said:
        call += step
        assert (segments.add(TextDelta(text, call)) is None) == (text == "")
        spoken += text
        segments.add(STARTED)
    assert "".join(s.markdown for s in segments.segments if isinstance(s, Answer)) == spoken


def test_looking_at_an_answer_between_its_pieces_changes_nothing():
    answer = Answer(1)
    for piece in "abc":
        answer.parts.append(piece)
        answer.html()
    assert answer.markdown == "abc"


_HIDDEN = re.compile(r'<thead>\s*<tr style="[^"]*visibility:collapse">.*?</thead>', re.DOTALL)


def shown(markup: str) -> str:
    """The words of `markup`, without white space and without the repeated heads of tables."""
    return "".join(html.unescape(re.sub("<[^>]+>", "", _HIDDEN.sub("", markup))).split())


@every_row("every", [20, 60, 150])
@every_row("name", ANSWERS)
def test_the_pieces_say_what_the_whole_says(name: str, every: int) -> None:
    answer = ANSWERS[name]
    cut = pieces(answer, every)
    assert "".join(piece.markdown for piece in cut) == answer
    assert shown("".join(piece.html() for piece in cut)) == shown(markdown_html(answer))
    whole = cut[0]
    for piece in cut[1:]:
        whole = whole.joined(piece)
    assert whole.html() == Piece(answer).html(), "joined again they are one"


@every_row("name", [n for n in ANSWERS if n != "hard"])
def test_no_end_grows_long(name: str) -> None:
    answer = ANSWERS[name] * (1 if "open" in name or "fence" in name else 2)
    assert max(len(piece.markdown) for piece in pieces(answer, 150, 5)) < 260, "a cut leaves a short end"


PARTS = st.lists(st.sampled_from([*ANSWERS.values(), "\n\n", "\n", "- ", "> ", "1. ", "```\n", "    "]), max_size=4)


@given(PARTS.map(lambda parts: "".join(part[:200] for part in parts)) | st.text(max_size=200), st.integers(1, 30))
def test_any_text_can_be_cut_and_nothing_of_it_is_lost(answer: str, step: int) -> None:
    cut = pieces(answer, 30, step)
    assert "".join(piece.markdown for piece in cut) == clean(answer)
    for piece in cut:
        piece.html().encode()


def test_what_was_cut_goes_on_and_a_link_is_known_to_all_pieces() -> None:
    cut = pieces(ANSWERS["one, one, one"], 100)
    assert len(cut) > 3
    starts = [int(re.search(r'<ol [^>]*start="(\d+)"', piece.html()).group(1)) for piece in cut[1:]]
    items = [piece.html().count("<li>") for piece in cut]
    assert starts == [1 + sum(items[:i]) for i in range(1, len(items))]
    cut = pieces(ANSWERS["table"].removesuffix("\nAfter."), 150)
    assert len(cut) > 3
    widths = {tuple(re.findall(r"<th style=\"[^\"]*width:(\d+)%", piece.html())) for piece in cut}
    assert len(widths) == 1 and len(widths.pop()) == 2
    assert ["visibility:collapse" in piece.html() for piece in cut] == [False, *[True] * (len(cut) - 1)]
    assert all("<th " in piece.html() for piece in cut), "with every style removed the columns still have names"
    cut = pieces(ANSWERS["open fence"], 150)
    styles = [re.search(r'<pre style="([^"]*)"', piece.html()).group(1) for piece in cut]
    assert "margin:8px 0 0 0" in styles[0] and "padding:8px 10px 0 10px" in styles[0]
    assert all("margin:0;border-radius:0;padding:0 10px" in style for style in styles[1:-1])
    assert "margin:0;border-radius:0 0 6px 6px" in styles[-1]
    answer = f"See [the page][p]. {SAID}\n\n{SAID}\n\n[p]: https://example.com\n\n{SAID} Also [the page][p]."
    cut = pieces(answer, 150)
    assert len(cut) > 3 and cut[0].html().count('href="https://example.com"') == 1
    assert cut[-1].html().count('href="https://example.com"') == 1
    growing = GrowingMarkdown()
    for piece in ("a\r", "\nb\r", "c"):
        growing.add(piece)
    assert growing.end.markdown == "a\nb␍c"


@every_row("sign", ["**", "*", "_", "~~", "`"])
def test_a_paragraph_is_never_cut_inside_what_a_sign_opens(sign: str) -> None:
    grown = GrowingMarkdown()
    grown.add(f"It begins here. So {sign}all of this is one. Still the same. And so is this, which has no end yet")
    began = grown.end
    assert grown.cut() and began.markdown in ("It begins here. ", "It begins here. So "), began.markdown
