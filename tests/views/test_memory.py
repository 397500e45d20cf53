"""The memory panel and its journal; diffs, whose rows give back both sides; and compactions with their history."""

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from deepnb.backends.journal import Entry
from deepnb.values.files import FileDiff, file_diffs
from deepnb.values.offload import Anchor, BroughtBack, Flush, HistoryMessage, HistorySection, Offload
from deepnb.values.turn import Snapshot
from deepnb.views.compaction import compaction_view, line
from deepnb.views.diff import diff_view, rows, split_lines, word_diff
from deepnb.views.history import BRING, history_view
from deepnb.views.memory import BRIEF, EMPTY, entry_view, journal_view, memory_view
from deepnb.views.search_marks import search_terms
from tests.support.harmless import harmless
from tests.support.histories import FLUSH, ITEMS, LATER, OFFLOAD, SECTION
from tests.support.tables import every_row

PATH = "/AGENTS.md"


def _words(text: str) -> int:
    return len(text.split())


def _view(file=None, prompt=None, **more):
    files = {} if file is None else {PATH: file}
    memory = {} if prompt is None else {PATH: prompt}
    return memory_view(
        Snapshot("main", {**files, **more.pop("files", {})}, memory=memory, **more), [PATH], _words, "turn 3"
    )


@every_row(("file", "prompt", "state"), [
    ("- a\n", "- a\n", "same"), ("- a\n- b\n", "- a\n", "newer"), ("- a\n", None, "new"), ("- a\n", "", "new"),
    (None, "- a\n", "gone"), ("", None, "empty"), ("", "- a\n", "newer"),
])  # fmt: skip
def test_how_a_file_stands_to_the_prompt(file, prompt, state):
    (shown,) = _view(file, prompt).files
    assert shown.state == state


def test_a_long_file_is_cut_in_the_middle_and_says_where_all_of_it_is():
    view = _view("first\n" + "x" * 20_000 + "\nlast\n")
    for shown in (view.text(), view.html()):
        assert "first" in shown and "last" in shown and "left out" in shown and len(shown) < 12_000
        assert f"%memory show {PATH} shows all of it" in shown
    assert "left out" not in _view("x" * 9_000).text()


def test_the_text_shows_each_file_and_what_the_prompt_lacks():
    view = _view(
        "- Ada\n- SI units\n", "- Ada\n", files={"/memory/2026-01-02.md": "tried it\n"}, binary={"/memory/x": 5}
    )
    assert view.text() == (
        "memory · 1 file · 5 tokens   (turn 3)\n"
        "\n"
        "/AGENTS.md  (5 tokens, 2 lines)  changed in the file: the prompt still has the old text\n"
        "  │ - Ada\n"
        "  │ - SI units\n"
        "  not in the prompt yet:\n"
        "    --- a/AGENTS.md\n"
        "    +++ b/AGENTS.md\n"
        "    @@ -1 +1,2 @@\n"
        "     - Ada\n"
        "    +- SI units\n"
        "\n"
        "other files below /memory\n"
        "  /memory/2026-01-02.md  (2 tokens, 1 line)\n"
        "  /memory/x  (5 bytes)"
    )


@every_row("file", [None, "", " \n"])
def test_nothing_remembered_says_what_to_type(file):
    assert _view(file).text() == f"memory   (turn 3)\n{EMPTY}" and "%memory add TEXT" in _view(file).html()


def test_files_that_are_no_source_or_not_joined_in_are_named():
    view = memory_view(Snapshot("m", memory={"/old.md": "- x"}), [PATH], _words)
    assert [(f.path, f.state) for f in view.files] == [("/old.md", "gone")] and view.missing == (PATH,)
    assert _view(binary={PATH: 9}).files[0].state == "binary"
    assert "not UTF-8" in _view(binary={PATH: 9}).text()
    view = memory_view(Snapshot("m", {"/memory/a.md": "x"}), ["/memory/a.md"], _words)
    assert view.others == ()
    at_hand = [("user", "~/.deepagents/agent/AGENTS.md"), ("project", "/work/<b>/AGENTS.md")]
    for snapshot in (Snapshot("t"), Snapshot("t", files={"/AGENTS.md": "- tea\n"})):
        view = memory_view(snapshot, ["/AGENTS.md"], len, at_hand=iter(at_hand))
        text = view.text()
        assert "~/.deepagents/agent/AGENTS.md exists but is not a source: %memory sources add user" in text
        assert "/work/<b>/AGENTS.md exists but is not a source: %memory sources add project" in text
        assert "/work/&lt;b&gt;/AGENTS.md exists" in view.html()


def test_a_brief_picture_shows_less_of_a_long_file_and_the_parts_say_what_the_whole_says():
    view = _view("first\n" + "x" * 20_000 + "\nlast\n", "- a\n")
    brief = replace(view, room=BRIEF)
    for shown in (brief.text(), brief.html()):
        assert "first" in shown and "last" in shown and len(shown) < 6_000
        assert f"%memory show {PATH} shows all of it" in shown
    stamp, file = view.elements
    assert "turn 3" in stamp and "turn 3" not in file and file.partition(">")[2].removesuffix("</div>") in view.html()


def change(n: int, line: str = "+- a fact") -> Entry:
    return Entry(str(n), "2026-01-02T03:04:05+00:00", "/AGENTS.md", "user", f"@@ -0,0 +1 @@\n{line}\n", turn=n)


def test_the_newest_changes_are_listed_and_a_long_diff_shows_its_ends():
    view = journal_view([change(n) for n in range(1, 31)], most=8)
    assert [line.split(" ")[2] for line in view.text().splitlines()[1:9]] == [str(n) for n in range(30, 22, -1)]
    assert "22 older changes: %memory log lists all" in view.text() and "journal · 30 changes" in view.text()
    assert view.html().count("<details") == 8
    html = entry_view(change(1, "+first " + "x" * 50_000 + " last")).html()
    assert "+first" in html and " last" in html and "characters left out" in html
    assert len(html) < 8_000


BEFORE = "# Memory\n\n- The name is Ada.\n- Reports go to /reports.\n"
AFTER = "# Memory\n\n- The name is Ada Lovelace.\n- Reports go to /reports.\n- SI units.\n"

TEXTS = st.text(alphabet="ab \n\t.é日", max_size=60)


def test_the_text_is_a_unified_diff_under_its_title_and_the_words_that_changed_are_marked():
    view = diff_view(file_diffs({"/AGENTS.md": BEFORE}, {"/AGENTS.md": AFTER}), "memory: turn 3", "thread main, turn 3")
    assert view.text() == (
        "memory: turn 3   (thread main, turn 3)\n"
        "--- a/AGENTS.md\n"
        "+++ b/AGENTS.md\n"
        "@@ -1,4 +1,5 @@\n"
        " # Memory\n"
        "\n"
        "-- The name is Ada.\n"
        "+- The name is Ada Lovelace.\n"
        " - Reports go to /reports.\n"
        "+- SI units."
    )
    shown = diff_view([FileDiff("/a", BEFORE, AFTER)], "t").html()
    assert re.findall(r"<ins[^>]*>(.*?)</ins>", shown) == ["Lovelace"] and "<del" not in shown


@every_row(("before", "after", "signs"), [
    (None, "a\nb\n", "@++"), ("a\nb\n", None, "@--"), ("a", "a\n", "@-\\+"), ("a\n", "", "@-"), (None, "", ""),
    ("", None, ""),
])  # fmt: skip
def test_files_that_come_and_go(before, after, signs):
    diff = FileDiff("/a", before, after)
    assert "".join(row.sign for row in rows(diff)) == signs
    assert "/a" in diff_view([diff], "t").text().replace("a/a", "/a").replace("b/a", "/a")
    assert "/a" in diff_view([diff], "t").html()


def test_a_long_diff_is_grouped_folded_and_not_looked_into():
    assert diff_view([], "memory").text() == "memory\nno changes"
    assert "no changes" in diff_view([], "memory").html()
    lines = [f"line {i}\n" for i in range(40)]
    changed = ["first\n", *lines[1:-1], "last\n"]
    assert "".join(r.sign for r in rows(FileDiff("/a", "".join(lines), "".join(changed)))) == "@-+   @   -+"
    assert "601 more lines" in diff_view([FileDiff("/a", None, "x\n" * 1_000)], "t").html()
    left, right = word_diff("a " * 5_000, "a " * 5_000 + "b")
    assert [p.changed for p in left + right] == [False, False]


@given(TEXTS, TEXTS)
def test_the_pieces_of_each_side_joined_are_that_side(before, after):
    left, right = word_diff(before, after)
    assert "".join(p.text for p in left) == before and "".join(p.text for p in right) == after
    equal = [re.sub(r"\s", "", "".join(p.text for p in side if not p.changed)) for side in (left, right)]
    if any(p.changed for p in left + right):
        assert equal[0] == equal[1]
    lines = ["".join(p.text for p in line) for line in split_lines(right)]
    assert lines == ([] if not after else after.removesuffix("\n").split("\n"))


@given(TEXTS, TEXTS)
def test_the_rows_with_all_their_context_are_both_files(before, after):
    diff = FileDiff("/a", before, after)
    all_rows = rows(diff, context=10_000)
    if not diff.hunks:
        assert all_rows == []
        return
    for text, sign in ((before, "-"), (after, "+")):
        assert "\n".join(r.line for r in all_rows if r.sign in f" {sign}") == text.removesuffix("\n")


@every_row(("changes", "words"), [
    ({}, "(at the trigger): 12 messages → summary, 6,812 → 3,104 tokens; 2 facts to /memory/2026-11-22.md; 1 key fact kept"),
    ({"cause": "by hand"}, "(on request): "), ({"cause": "overflow"}, "(the request was too long for the model): "),
    ({"flush": Flush("/memory/x.md"), "anchors": ()}, "12 messages → summary, 6,812 → 3,104 tokens"),
    ({"flush": replace(FLUSH, how="rules")}, "2 facts to /memory/2026-11-22.md (chosen by rules)"),
    ({"flush": None, "messages": 1, "before": 0, "after": 0}, "1 message → summary; 1 key fact kept"),
    ({"before": 2_739, "after": 2_758}, "2,739 → 2,758 tokens; 2 facts to /memory/2026-11-22.md; 1 key fact kept; the context is no smaller"),
    ({"path": None}, "; the history file could not be written"),
])  # fmt: skip
def test_a_compaction_in_one_line(changes: dict, words: str):
    assert words in line(replace(OFFLOAD, **changes))
    if "flush" in changes and changes["flush"] is None:
        assert "/memory" not in line(replace(OFFLOAD, **changes))
    assert line(Offload("/h.md", "", 3)) == "context compacted (at the trigger): 3 messages → summary"


def test_the_record_of_a_compaction_and_where_there_is_none():
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


def test_a_hit_says_what_adds_it_to_the_next_prompt_and_the_terms_what_was_asked():
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
    assert search_terms('a "b  c" “d e” a').terms == ("a", "b c", "d e")
    assert not search_terms(None) and not search_terms('  "" ')
    assert search_terms("b a.b").text("xabx a.b ab") == "xa»b«x »a.b« a»b«"
    assert search_terms('"b c"').all_in("B\n C")
