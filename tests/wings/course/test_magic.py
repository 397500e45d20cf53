"""`%agent help WORD` in a shell: what the reference says of a word."""

from __future__ import annotations

from deepnb.magics.usage import subcommand
from tests.support.shells import Shell
from tests.support.tables import every_row


def test_a_topic_comes_with_its_text_and_others_in_a_line(shell: Shell) -> None:
    out = shell.ok("%agent help compaction")
    begin = "help: compaction · 8 answers\n\nCompaction: when the window is full\n    A request is counted"
    assert out.startswith(begin)
    assert "see also\n" in out and "%agent compact" in out
    assert out.rstrip().endswith("notebooks/REFERENCE.md has the whole reference")
    indented = (line for line in out.splitlines() if line.startswith(" "))
    prose = [line for line in indented if "parts = [" not in line and " | " not in line]
    assert max(map(len, prose)) <= 100  # code and the rows of a table stay as they are
    assert "![" not in out and "```" not in out
    assert shell.session.last is None


def test_a_subcommand_comes_first_with_its_usage(shell: Shell) -> None:
    out = shell.ok("%agent help fork")
    sub = subcommand("agent", "fork")
    assert sub is not None and out.splitlines()[0] == f"%agent {sub.usage}"
    assert "session.fork(name=None, at=None) -> str" in out
    assert out == shell.ok("%agent fork?") == shell.ok("%agent fork -h")


@every_row(("magic", "shows"), [("memory", "%memory show [PATH]"), ("skills", "%skills show NAME")])
def test_each_magic_has_it(shell: Shell, magic: str, shows: str) -> None:
    assert shell.ok(f"%{magic} help show").startswith(shows)


@every_row(
    ("line", "says"),
    [
        ("help xyzzy", "the reference has nothing on 'xyzzy': %agent help lists the subcommands"),
        ("help lanzarote", "the reference has nothing on 'lanzarote': %agent help lists the subcommands"),
        ("help compction", "the reference has nothing on 'compction': type %agent help compaction"),
        ("help rewnid", "the reference has nothing on 'rewnid': type %agent help rewind"),
    ],
)
def test_an_unknown_word_names_the_nearest(shell: Shell, line: str, says: str) -> None:
    said = shell.fails(f"%agent {line}")
    assert says in said and said.rstrip().endswith(f", or %agent -- {line} to ask the agent")
