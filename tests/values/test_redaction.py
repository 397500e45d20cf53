"""A turn without credentials, wherever in it they are."""

from __future__ import annotations

from dataclasses import replace

from deepnb.values.events import without_credentials
from deepnb.values.offload import Offload
from deepnb.values.turn import CodeOutput, Compacted, Notice, TextDelta, ThinkingDelta, ToolEnded, ToolStarted, Turn
from tests.support.hostile_views import Maker

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"


def turn(*events: object, text: str = "x") -> Turn:
    return replace(Maker(text).turn(), events=events)  # type: ignore[arg-type]


def test_no_field_that_is_shown_keeps_one():
    clean = without_credentials(
        replace(
            turn(
                ToolStarted("1", "weigh", {"a": [TOKEN], "password": "hunter2hunter2"}),
                ToolEnded("1", "weigh", TOKEN, "error", 0.1, traceback=f"raise {TOKEN}"),
                Notice(TOKEN),
                Compacted(Offload("/h.md", TOKEN, 1)),
            ),
            prompt=TOKEN, text=TOKEN, error=TOKEN, interrupted=TOKEN, model=TOKEN,
        )
    )  # fmt: skip
    assert TOKEN not in "".join(map(repr, (clean.prompt, clean.text, clean.error, clean.interrupted, clean.model)))
    assert TOKEN not in repr(clean.events) and "hunter2hunter2" not in repr(clean.events)


def test_a_drawing_is_text_and_a_picture_is_none():
    out = CodeOutput("1", 1, "rich", "", {"image/svg+xml": f"<svg><desc>{TOKEN}</desc></svg>", "image/png": TOKEN}, {})
    (clean,) = without_credentials(turn(out)).events
    assert TOKEN not in clean.data["image/svg+xml"] and clean.data["image/png"] == TOKEN


def test_one_in_pieces_is_found_and_the_pieces_are_joined_where_the_first_was():
    half, rest = TOKEN[:7], TOKEN[7:]
    clean = without_credentials(
        turn(
            TextDelta(f"a {half}", 1), ThinkingDelta(half, 1), ToolStarted("1", "t", {}), TextDelta(f"{rest} b", 1),
            ThinkingDelta(rest, 1), TextDelta("c", 2), TextDelta("d", 1, path=("1",)),
        )
    ).events  # fmt: skip
    assert [type(event).__name__ for event in clean] == [
        "TextDelta", "ThinkingDelta", "ToolStarted", "TextDelta", "TextDelta",
    ]  # fmt: skip
    assert [e.text for e in clean if isinstance(e, TextDelta)] == ["a [redacted: GitHub token] b", "c", "d"]
    assert rest not in repr(clean)


def test_ids_stay_so_that_a_result_finds_its_call():
    path = (TOKEN,)
    events = (ToolStarted(TOKEN, "t", {}, path=path), ToolEnded(TOKEN, "t", "", "ok", 0.1, path=path))
    assert without_credentials(turn(*events)).events == events
