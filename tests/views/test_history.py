"""The record of a compaction, and the history: what they say, and how something is found in them."""

from dataclasses import replace

from deepnb.values.offload import Anchor, BroughtBack, Flush, HistoryMessage, HistorySection, Offload
from deepnb.views.compaction import compaction_view, line
from deepnb.views.history import BRING, history_view
from deepnb.views.search_marks import search_terms
from tests.support.harmless import harmless
from tests.support.histories import FLUSH, ITEMS, LATER, OFFLOAD, SECTION
from tests.support.tables import every_row


@every_row(
    ("changes", "words"),
    [
        (
            {},
            "(at the trigger): 12 messages → summary, 6,812 → 3,104 tokens; 2 facts to /memory/2026-11-22.md; 1 key fact kept",
        ),
        ({"cause": "by hand"}, "(on request): "),
        ({"cause": "overflow"}, "(the request was too long for the model): "),
        ({"flush": Flush("/memory/x.md"), "anchors": ()}, "12 messages → summary, 6,812 → 3,104 tokens"),
        (
            {"flush": replace(FLUSH, how="rules")},
            "2 facts to /memory/2026-11-22.md (chosen by rules)",
        ),
        ({"flush": None, "messages": 1, "before": 0, "after": 0}, "1 message → summary; 1 key fact kept"),
        (
            {"before": 2_739, "after": 2_758},
            "2,739 → 2,758 tokens; 2 facts to /memory/2026-11-22.md; 1 key fact kept; the context is no smaller",
        ),
        ({"path": None}, "; the history file could not be written"),
    ],
)
def test_a_compaction_in_one_line(changes: dict, words: str):
    assert words in line(replace(OFFLOAD, **changes))
    if "flush" in changes and changes["flush"] is None:
        assert "/memory" not in line(replace(OFFLOAD, **changes))
    assert line(Offload("/h.md", "", 3)) == "context compacted (at the trigger): 3 messages → summary"


def test_the_record_of_a_compaction():
    anchors = (
        Anchor("prohibition", "Never open it."), Anchor("path", "/a/b.py"), Anchor("number", "37 ms", "timeout 37 ms"),
    )  # fmt: skip
    offload = replace(OFFLOAD, anchors=anchors, hidden=(Anchor("date", "2026"),), cause="by hand")
    view = compaction_view(offload, ["the disk is slow"], "thread main, turn 3")
    assert view.text() == (
        "context compacted   (thread main, turn 3)\n"
        "  cause       on request\n"
        "  removed     12 messages, saved verbatim in /conversation_history/main.md (%agent history)\n"
        "  tokens      6,812 → 3,104 tokens\n"
        "  daily note  2 facts to /memory/2026-11-22.md\n"
        "              - one\n"
        "              - two\n"
        "  key facts   3 added to the summary; 1 more in the file\n"
        "              the user said: Never open it.\n"
        "              paths: /a/b.py\n"
        "              numbers: timeout 37 ms\n"
        "  summary\n"
        "  │ Ada asked.\n"
        "note: the disk is slow"
    )
    words = harmless(view.html())
    for fact in ("on request", "12 messages", "6,812 → 3,104", "2 facts to", "3 added", "37 ms", "Ada asked.", "disk"):
        assert fact in words, fact


def test_where_there_is_nothing_it_is_said():
    nothing = compaction_view(replace(OFFLOAD, flush=Flush("/memory/x.md"), anchors=()))
    assert "daily note  nothing worth keeping\n" in nothing.text()
    assert "key facts   none missing from the summary" in nothing.text()
    assert "daily note  no daily note was written" in compaction_view(replace(OFFLOAD, flush=None)).text()
    assert "%agent budget" in history_view([]).text() and "%agent compact" in harmless(history_view([]).html())


def test_history_by_time_with_what_each_came_to():
    view = history_view([LATER, SECTION], "now")
    assert view.text() == (
        "offloaded history · 2 sections · 4 messages   (now)\n"
        "\n"
        "1. 2026-11-22 09:00:00 · at the trigger · 3 messages → summary · 6,812 → 3,104 tokens\n"
        "  daily note  2 facts to /memory/2026-11-22.md\n"
        "              - one\n"
        "              - two\n"
        "  key facts   1 added to the summary\n"
        "              paths: /a/b.py\n"
        "  summary\n"
        "  │ Ada asked.\n"
        "  saved verbatim in /h.md:\n"
        "     1  user       Which planet has the most moons? Say it in one line.\n"
        "     2  tool look  Saturn 146 Jupiter 95\n"
        "     3  assistant  Saturn has the most MOONS.\n"
        "\n"
        "2. 2026-11-22 10:00:00 · 1 message\n"
        "  saved verbatim in /h.md:\n"
        "     1  user  thanks\n"
        "\n"
        f"{BRING}"
    )
    assert view.html().count("<details") == 2 + 3 + 4, "sections; summary, anchors, note; messages"
    assert " open" not in view.html()
    words = harmless(view.html())
    assert "1 user · Which planet" in words and "Say it in one line." in words


def test_a_section_without_messages_is_text_and_many_messages_are_counted():
    long = history_view([HistorySection("", "/h.md", "line\n" * 100, 9)]).text()
    assert "76 lines left out" in long and long.count("\n") < 40
    items = tuple(HistoryMessage(n, "user", f"message {n} " + "words " * 500) for n in range(1, 1_001))
    view = history_view([HistorySection("t", "/h.md", "", 1_000, items)])
    assert "976 messages left out" in view.text() and view.text().count("\n") < 40
    assert len(view.html()) < 300_000 and "700 more in the file" in view.html()


def test_what_is_looked_for_is_found_whatever_its_case_and_marked():
    view = history_view([LATER, SECTION], search="moons")
    assert view.text().splitlines()[:3] == [
        "offloaded history · 2 sections · 4 messages", "search for moons: 2 messages in 1 section", "",
    ]  # fmt: skip
    assert (
        "     1  user       %agent history --bring 1:1\n        Which planet has the most »moons«?\n     3  assistant  %agent"
        in view.text()
    )
    assert "Saturn has the most »MOONS«." in view.text()
    assert "Saturn 146" not in view.text() and "thanks" not in view.text()
    html = view.html()
    assert html.count(">moons</mark>") == 1 and html.count(">MOONS</mark>") == 1
    assert "<details open" in html or " open>" in html or "open=" in html


@every_row(("search", "numbers"), [
    ("most moons", [1, 3]), ('"most moons"', [1, 3]), ('"planet moons"', []), ("planet moons", [1]),
    ("SATURN 146", [2]), ('"line." "the most"', [1]), ("tool", [2]), ("(", []), ("", [1, 2, 3]),
])  # fmt: skip
def test_every_term_must_be_in_the_message(search: str, numbers: list[int]):
    assert [i.number for one in history_view([SECTION], search=search).matches for i in one.items] == numbers


def test_a_section_is_found_by_its_summary_anchors_and_notes():
    for word in ("Ada", "/a/b.py", "two"):
        view = history_view([LATER, SECTION], search=word)
        assert [one.number for one in view.matches] == [1], word
        assert f"»{word}«" in view.text()
    assert history_view([SECTION], search="nowhere").text().endswith("search for nowhere: no matches")


def test_a_hit_says_what_adds_it_to_the_next_prompt_and_what_waits_is_said():
    view = history_view([SECTION, LATER], search="thanks")
    (match,) = view.matches
    assert match.number == 2, "sections keep their numbers"
    typed = f"%agent history --bring 2:{match.items[0].number}"
    assert typed in view.text() and typed in harmless(view.html())
    assert "--bring 2:" not in history_view([SECTION, LATER]).text()
    brought = BroughtBack("x", ((1, ITEMS[0]), (1, ITEMS[2]), (2, LATER.items[0])), 412)
    line = "added to the next prompt: messages 1, 3 of section 1, message 1 of section 2 (412 tokens); --bring none removes it"
    assert line in history_view([SECTION], brought=brought).text()
    assert line in harmless(history_view([SECTION], brought=brought).html())
    assert "~412" in replace(brought, exact=False).line


def test_terms():
    assert search_terms('a "b  c" “d e” a').terms == ("a", "b c", "d e")
    assert not search_terms(None) and not search_terms('  "" ')
    assert search_terms("b a.b").text("xabx a.b ab") == "xa»b«x »a.b« a»b«"
    assert search_terms('"b c"').all_in("B\n C")
