"""What a word finds in the reference, how it is shown, and what a shell says of it."""

import pytest

from deepnb.magics.usage import subcommand
from deepnb.wings.course.help import MOST, help_view, look_up
from deepnb.wings.course.reference import entries
from tests.support.shells import Shell
from tests.support.tables import every_row, wing

ANSWERS = (
    ("topic", "Tools", "A line that\ngoes on.\n\n- one\n- two\n\n```\n%agent tools\n```\n\nThe end."),
    ("%agent", "%agent tools [NAME]", "list the tools"),
    ("Python", "session.tools.add(*tools)", "```\nx\n```\n\nAdd `tools`."),
)


def test_answers_are_shown_with_their_text_or_in_a_line_and_one_asked_for_by_name_without_a_heading() -> None:
    text = "A line that\n    goes on.\n\n    - one\n    - two\n\n    ```\n    %agent tools\n    ```\n\n    The end."
    also = "  %agent tools [NAME]\n      list the tools\n  Python: session.tools.add(*tools)\n      Add `tools`."
    end = "notebooks/REFERENCE.md has the whole reference"
    said = f"help: my tools · 3 answers\n\nTools\n    {text}\n\nsee also\n{also}\n\n{end}"
    assert help_view(" my  tools ", ANSWERS, 1).text().rstrip() == said
    html = help_view("tools", ANSWERS, 2).html()
    assert "<ul" in html and "<b>help: tools</b> · 3 answers" in html
    assert html.count("see also") == 1 and "session.tools.add(*tools)" in html
    view = help_view("", ANSWERS[1:2], 1)
    assert view.text().splitlines()[0] == "%agent tools [NAME]" and "see also" not in view.text()
    assert view.html().startswith("<div") and "answer" not in view.html()


def found(words: str, magic: str = "agent") -> list[tuple[str, str]]:
    return [(one.kind, one.name) for one in look_up(words, entries(), magic)]


@every_row(("words", "first"), [
    ("compaction", ("topic", "compaction")), ("diff", ("%memory", "diff")), ("server", ("topic", "server")),
    ("fork", ("%agent", "fork")), ("%memory diff", ("%memory", "diff")), ("memory log", ("%memory", "log")),
    ("window", ("setting", "window")), ("max_input_tokens", ("option", "max_input_tokens")),
    ("Session", ("Python", "Session")), ("session.fork", ("Python", "session.fork")),
    ("NotFoundError", ("error", "NotFoundError")), ("journal", ("file", "journal")),
    pytest.param("--compare", ("%agent", "--compare"), marks=wing("compare")),
    ("approvals", ("topic", "approvals")),
])  # fmt: skip
def test_the_first_answer(words: str, first: tuple[str, str]) -> None:
    assert found(words)[0] == first


def test_the_magic_that_asks_comes_first_and_an_unknown_word_finds_nothing() -> None:
    assert [found("show", magic)[0] for magic in ("memory", "skills")] == [("%memory", "show"), ("%skills", "show")]
    assert [found("panel", magic)[0] for magic in ("agent", "memory")] == [("%agent", "panel"), ("%memory", "panel")]
    assert [found(words) for words in ("nothinglikethis", "xyzzy", "...")] == [[], [], []]
    assert len(look_up("the agent", entries())) == MOST


@every_row(("words", "among"), [
    ("compaction", ("%agent", "compact")), ("forking", ("%agent", "fork")), ("certificates", ("file", "note")),
    ("mcp", ("topic", "tools")), ("postgres", ("topic", "persistence")), ("embeddings", ("option", "embeddings")),
    ("undo", ("%agent", "undo")), ("rate limits", ("topic", "models")), ("key facts", ("topic", "compaction")),
    ("redirects", ("topic", "tools")),
])  # fmt: skip
def test_it_is_among_the_answers(words: str, among: tuple[str, str]) -> None:
    assert among in found(words)


def test_a_topic_comes_with_its_text_and_a_subcommand_with_its_usage(shell: Shell) -> None:
    out = shell.ok("%agent help compaction")
    begin = "help: compaction · 8 answers\n\nCompaction: when the window is full\n    A request is counted"
    assert out.startswith(begin) and "see also\n" in out and "%agent compact" in out
    assert out.rstrip().endswith("notebooks/REFERENCE.md has the whole reference") and "![" not in out
    assert shell.session.last is None
    out = shell.ok("%agent help fork")
    sub = subcommand("agent", "fork")
    assert sub is not None and out.splitlines()[0] == f"%agent {sub.usage}"
    assert "session.fork(name=None, at=None) -> str" in out
    assert out == shell.ok("%agent fork?") == shell.ok("%agent fork -h")


@every_row(("magic", "shows"), [("memory", "%memory show [PATH]"), ("skills", "%skills show NAME")])
def test_each_magic_has_it(shell: Shell, magic: str, shows: str) -> None:
    assert shell.ok(f"%{magic} help show").startswith(shows)


@every_row(("line", "says"), [
    ("help xyzzy", "the reference has nothing on 'xyzzy': %agent help lists the subcommands"),
    ("help lanzarote", "the reference has nothing on 'lanzarote': %agent help lists the subcommands"),
    ("help compction", "the reference has nothing on 'compction': type %agent help compaction"),
    ("help rewnid", "the reference has nothing on 'rewnid': type %agent help rewind"),
])  # fmt: skip
def test_an_unknown_word_names_the_nearest(shell: Shell, line: str, says: str) -> None:
    said = shell.fails(f"%agent {line}")
    assert says in said and said.rstrip().endswith(f", or %agent -- {line} to ask the agent")
