"""The memory panel: how each file stands to the prompt."""

from dataclasses import replace

from deepnb.backends.journal import Entry
from deepnb.values.turn import Snapshot
from deepnb.views.memory import BRIEF, EMPTY, entry_view, journal_view, memory_view
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


def test_what_is_no_source_any_more_no_text_or_listed_already():
    view = memory_view(Snapshot("m", memory={"/old.md": "- x"}), [PATH], _words)
    assert [(f.path, f.state) for f in view.files] == [("/old.md", "gone")] and view.missing == (PATH,)
    assert _view(binary={PATH: 9}).files[0].state == "binary"
    assert "not UTF-8" in _view(binary={PATH: 9}).text()
    view = memory_view(Snapshot("m", {"/memory/a.md": "x"}), ["/memory/a.md"], _words)
    assert view.others == ()


def test_files_of_the_disk_that_are_not_joined_in_are_named():
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
