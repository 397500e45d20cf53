"""Lines of %agent, %memory and %skills in a real shell: what reaches the magic, and what stays help."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand
from traitlets.config import Config

from deepnb.magics import transform
from deepnb.magics.usage import subcommands
from tests.support.tables import every_row


class Recorder:
    def __init__(self) -> None:
        self.shell = InteractiveShell(config=Config({"HistoryManager": {"hist_file": ":memory:"}}))
        self.got: list[tuple] = []
        for name in ("agent", "memory", "skills"):
            self.shell.register_magic_function(self._noting(name), "line_cell", name)
        self.shell.register_magic_function(lambda line: self.got.append(("pinfo", line)), "line", "pinfo")
        self.shell.register_magic_function(lambda line: self.got.append(("pinfo2", line)), "line", "pinfo2")
        transform.install(self.shell)

    def _noting(self, name):
        @no_var_expand
        def magic(line, cell=None):
            self.got.append((name, line) if cell is None else (name, line, cell))
            return f"answer to {line}"

        return magic

    def run(self, cell):
        self.got.clear()
        result = self.shell.run_cell(cell, store_history=False, silent=True)
        result.raise_error()
        return list(self.got)


@pytest.fixture(scope="module")
def recorder():
    yield (made := Recorder())
    transform.uninstall(made.shell)
    made.shell.history_manager.end_session()


@every_row(("cell", "got"), [
    ("%agent what is this?", [("agent", "what is this?")]), ("%agent what is this??", [("agent", "what is this??")]),
    ("%memory add really?", [("memory", "add really?")]),
    ("%skills new x what for?", [("skills", "new x what for?")]),
    ("%agent 'tis the season", [("agent", "'tis the season")]), ('%agent say "hi', [("agent", 'say "hi')]),
    ('%agent say """hi', [("agent", 'say """hi')]), ("%agent (a [b {c", [("agent", "(a [b {c")]),
    ("%agent {x} $x {{y}} !ls `z` \\n \\", [("agent", "{x} $x {{y}} !ls `z` \\n \\")]),
    ("%agent # no comment?", [("agent", "# no comment?")]),
    ("%agent 0777 1__2 0b12 \u20ac?", [("agent", "0777 1__2 0b12 \u20ac?")]),
    ("%agent new york is big?", [("agent", "new york is big?")]), ("%agent ?", [("agent", "?")]),
    ("%agent\u00a0why?", [("agent", "why?")]), ("%agent", [("agent", "")]), ("%agent   ", [("agent", "")]),
    ("  %agent indented?", [("agent", "indented?")]), (">>> %agent pasted?", [("agent", "pasted?")]),
    ("In [3]: %agent pasted?", [("agent", "pasted?")]),
    ("\n\n%agent after blank lines?\n", [("agent", "after blank lines?")]),
    ("%agent windows line end?\r\nx = 1\r\n", [("agent", "windows line end?")]),
])  # fmt: skip
def test_one_line_reaches_the_magic_as_typed(recorder, cell, got):
    assert recorder.run(cell) == got


@every_row(("cell", "got"), [
    ("%agent?", [("agent", "help")]), ("%agent??", [("agent", "help")]), ("%agent new?", [("agent", "help new")]),
    ("%agent new??", [("agent", "help new")]), ("?%agent", [("agent", "help")]), ("??%agent", [("agent", "help")]),
    ("? %agent new", [("agent", "help new")]), ("%memory?", [("memory", "help")]),
    ("%memory add?", [("memory", "help add")]), ("%skills list?", [("skills", "help list")]),
    ("%memory rewind?", [("memory", "rewind?")]), ("%%agent?", [("agent", "help")]),
    ("%%agent?\nit's a prompt\n", [("agent", "help")]), ("x = 1\n%agent?\n", [("agent", "help")]),
    ("%agents?", [("pinfo", "%agents")]), ("%timeit?", [("pinfo", "%timeit")]), ("agent?", [("pinfo", "agent")]),
])  # fmt: skip
def test_help_stays_help(recorder, cell, got):
    assert recorder.run(cell) == got


@every_row(("cell", "got"), [
    ("x = 1\n%agent what's x?\ny = 'it?'\n%memory add y?\n", [("agent", "what's x?"), ("memory", "add y?")]),
    ("for i in range(2):\n    %agent again?\n", [("agent", "again?")] * 2),
    ("if True:\n\tif True:\n\t\t%agent deep?\n\tz = 1\n", [("agent", "deep?")]),
    ("%agent ends in \\\nx = 1", [("agent", "ends in \\")]),
    ('%agent """ a\n%agent b """ ?\n', [("agent", '""" a'), ("agent", 'b """ ?')]),
    ("%agent (\n%agent )?\n", [("agent", "("), ("agent", ")?")]),
    ("%pinfo it's so\n%agent after?\n", [("pinfo", "it's so"), ("agent", "after?")]),
    ("# a comment, isn't it?\n%agent after?\n", [("agent", "after?")]), ("s = '''\n%agent in a string?\n'''\n", []),
    ("agent = b = 7\na = 9\nx = (a\n%agent)\n", []), ("agent = 7\na = 9\nx = a \\\n%agent\n", []),
    ("%%agent\n%agent really??\nwhat's {x}??\n", [("agent", "", "%agent really??\nwhat's {x}??\n")]),
    ("%%agent --raw\nwhy?\n", [("agent", "--raw", "why?\n")]),
    ("%%memory /A.md\n%memory add?\n", [("memory", "/A.md", "%memory add?\n")]),
    ("%%capture\n%agent inner?\n", [("agent", "inner?")]),
])  # fmt: skip
def test_only_a_line_of_its_own_is_ours(recorder, cell, got):
    assert recorder.run(cell) == got


@every_row("cell", ["x = %agent what's up?", "x = %agent what's up?\n", "x = \\\n%agent what's up?"])
def test_an_assignment_keeps_the_question_mark(recorder, cell):
    assert recorder.run(cell) == [("agent", "what's up?")]
    assert recorder.shell.user_ns["x"] == "answer to what's up?"


def test_a_line_that_asks_is_complete_in_a_terminal(recorder):
    assert recorder.shell.check_complete("%agent isn't it?")[0] == "complete"
    assert recorder.shell.check_complete("%%agent\nisn't it?")[0] == "incomplete"


def test_install_twice_and_uninstall_leave_the_shell_as_it_was(recorder):
    transformers = recorder.shell.input_transformer_manager.token_transformers
    count = len(transformers)
    transform.install(recorder.shell)
    assert len(transformers) == count
    transform.uninstall(recorder.shell)
    transform.uninstall(recorder.shell)
    assert len(transformers) == count - 1
    assert recorder.shell.transform_cell("%agent what is this?") != recorder.shell.transform_cell("%agent x")
    assert "pinfo" in recorder.shell.transform_cell("%agent what is this?")
    transform.install(recorder.shell)


# What a kernel can be sent: no lone surrogate, which JSON cannot carry, and no NUL, which Python refuses.
CHARACTERS = st.characters(exclude_characters="\r\x00", exclude_categories=["Cs"])


@pytest.mark.filterwarnings("ignore:`make_tokens_by_line`")
@given(st.sampled_from(["agent", "memory", "skills"]), st.text(CHARACTERS.filter(lambda c: c != "\n")))
@example("agent", "what\x0cis\u2028this?")
@example("agent", "\\")
@example("memory", "'''")
def test_any_prompt_on_one_line_reaches_the_magic_unchanged(recorder, magic, prompt):
    asked = prompt.strip().rstrip("?")
    if asked == prompt.strip() or asked not in [sub.name for sub in subcommands(magic)]:  # else it is help
        assert recorder.run(f"%{magic} {prompt}") == [(magic, prompt.strip())]


@given(st.text(CHARACTERS, min_size=1))
def test_any_cell_body_reaches_the_magic_unchanged(recorder, body):
    ours = recorder.run(f"%%agent\n{body}")
    transform.uninstall(recorder.shell)
    theirs = recorder.run(f"%%agent\n{body}")
    transform.install(recorder.shell)
    assert ours == theirs


@given(
    st.lists(st.sampled_from(["x = 1", "if x:", "    y = (", "'''", ")", "%time", "!ls", "x?", 's = "a', "%%t", ""]))
)
def test_a_cell_without_our_magics_is_left_as_it_is(recorder, lines):
    cell = "\n".join(lines)

    def shell_says():
        try:
            return recorder.shell.transform_cell(cell)
        except SyntaxError as error:
            return str(error)

    ours = shell_says()
    transform.uninstall(recorder.shell)
    theirs = shell_says()
    transform.install(recorder.shell)
    assert ours == theirs
