"""What %load_ext deepnb puts into a shell, and %unload_ext takes out: hooks, and which lines reach the magics."""

import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import no_var_expand
from traitlets.config import Config

import deepnb
from deepnb.magics import transform
from deepnb.magics.extension import Preload, complete_names
from deepnb.magics.shell import NAMES
from deepnb.magics.usage import subcommands
from tests.data import rows
from tests.support.scripted import enter
from tests.support.shells import Shell
from tests.support.tables import every_row, refused


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


@every_row(("cell", "got"), rows("cells")["one line"])
def test_one_line_reaches_the_magic_as_typed(recorder, cell, got):
    assert [list(one) for one in recorder.run(cell)] == got


@every_row(("cell", "got"), rows("cells")["help"])
def test_help_stays_help(recorder, cell, got):
    assert [list(one) for one in recorder.run(cell)] == got


@every_row(("cell", "got"), rows("cells")["a line of its own"])
def test_only_a_line_of_its_own_is_ours(recorder, cell, got):
    assert [list(one) for one in recorder.run(cell)] == got


@every_row("cell", ["x = %agent what's up?", "x = %agent what's up?\n", "x = \\\n%agent what's up?"])
def test_an_assignment_keeps_the_question_mark(recorder, cell):
    assert recorder.run(cell) == [("agent", "what's up?")]
    assert recorder.shell.user_ns["x"] == "answer to what's up?"


def test_a_line_that_asks_is_complete_in_a_terminal(recorder):
    assert recorder.shell.check_complete("%agent isn't it?")[0] == "complete"
    assert recorder.shell.check_complete("%%agent\nisn't it?")[0] == "incomplete"


def test_installing_twice_leaves_one_transformer(recorder):
    transformers = recorder.shell.input_transformer_manager.token_transformers
    count = len(transformers)
    transform.install(recorder.shell)
    assert len(transformers) == count


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


def hooks(ip: Any) -> dict[str, list[Any]]:
    manager = ip.input_transformer_manager
    kinds = [ip.display_formatter.formatters[kind] for kind in ("text/html", "text/plain")]
    shown = [(c.__module__, c.__name__) for kind in kinds for c in kind.type_printers]
    shown += [name for kind in kinds for name in kind.deferred_printers]
    return {
        "pictures": sorted(name for name in map(".".join, shown) if "deepnb" in name),
        "line magics": sorted(ip.magics_manager.magics["line"]),
        "cell magics": sorted(ip.magics_manager.magics["cell"]), "configurables": list(ip.configurables),
        "pre": list(ip.events.callbacks["pre_run_cell"]), "post": list(ip.events.callbacks["post_run_cell"]),
        "others": [(name, len(found)) for name, found in sorted(ip.events.callbacks.items())],
        "cleanup": list(manager.cleanup_transforms), "lines": list(manager.line_transforms),
        "tokens": list(manager.token_transformers), "cells": list(ip.input_transformers_post),
        "ast": list(ip.ast_transformers), "matchers": list(ip.Completer.custom_matchers),
        "hooks": sorted(ip.strdispatchers), "exceptions": [ip.custom_exceptions],
        "loader": [name for name in vars(ip.extension_manager) if "load" in name],
        "namespace": sorted(n for n in ip.user_ns if not n.startswith("_")),
        "attributes": [ip._deepnb] if getattr(ip, "_deepnb", None) else [],
    }  # fmt: skip


def test_loading_prints_nothing_and_unloading_undoes_every_hook(bare_shell: Shell) -> None:
    bare_shell.run("%unload_ext nothing")  # IPython itself makes its own magics when they are first used
    before = hooks(bare_shell.ip)
    assert bare_shell.ok("%load_ext deepnb") == ""
    loaded = hooks(bare_shell.ip)
    assert set(loaded["line magics"]) - set(before["line magics"]) == {"agent", "memory", "skills"}
    assert loaded["pictures"] == sorted(NAMES * 2)
    for what in ("configurables", "pre", "post", "tokens", "matchers", "loader", "attributes"):
        assert len(loaded[what]) == len(before[what]) + 1, what
    enter(bare_shell, "%agent what can you do?", "%unload_ext deepnb")
    assert hooks(bare_shell.ip) == before and "magic" in bare_shell.fails("%agent what can you do")
    refused("%load_ext deepnb", deepnb.current)


def test_loading_twice_adds_nothing_says_nothing_and_keeps_the_session(shell: Shell) -> None:
    shell.ok("%agent thanks")
    session, once = shell.session, hooks(shell.ip)
    deepnb.load_ipython_extension(shell.ip)
    for _ in range(2):
        assert shell.ok("%load_ext deepnb") == ""
    assert hooks(shell.ip) == once and shell.session is session and len(session.turns) == 1


def test_another_extension_loaded_twice_says_so_as_ever(shell: Shell) -> None:
    shell.ok("%load_ext autoreload")
    assert "already loaded" in shell.ok("%load_ext autoreload")
    enter(shell, "%unload_ext deepnb", "%load_ext deepnb")
    assert shell.ok("%load_ext deepnb") == ""


def test_reloading_leaves_one_of_each_hook_and_says_nothing_where_nothing_is_lost(shell: Shell) -> None:
    once = {what: len(found) for what, found in hooks(shell.ip).items()}
    assert shell.session.threads and shell.ok("%reload_ext deepnb") == ""
    assert {what: len(found) for what, found in hooks(shell.ip).items()} == once
    assert "turn 1" in shell.ok("%agent what can you do?")


def test_reloading_says_in_one_line_what_it_forgets(shell: Shell, tmp_path: Path) -> None:
    shell.ok("%memory add I like tea")
    assert shell.ok("%reload_ext deepnb") == (
        "note: deepnb forgets 1 file of memory, notes and skills; type %memory keep DIR before you reload to keep memory\n"
    )
    shell.ok(f"%agent mount /memory disk:{tmp_path}\n%memory add --to /memory/team.md Ana owns the data")
    assert shell.ok("%reload_ext deepnb") == "", "what is mounted is not forgotten"
    shell.ok(f"%memory add I like tea\n%memory keep {tmp_path / 'kept'}\n%agent thanks")
    assert shell.ok("%reload_ext deepnb") == "note: deepnb forgets 1 turn\n", "nor what is kept"
    shell.ok("%memory add I like tea\n%agent thanks\n%agent new second\n%agent thanks\n%agent thanks")
    said = shell.ok("%reload_ext deepnb")
    assert "deepnb forgets 3 turns in 2 threads and 1 file of memory, notes and skills" in said
    assert shell.session.turns == ()


def test_tab_offers_threads_skills_memory_and_variables_that_hold_a_model(shell: Shell) -> None:
    from deepnb.models.teaching import TeachingModel

    shell.ip.user_ns["mine"] = TeachingModel()
    shell.ok("%agent new second")
    assert "wrote /skills/tidy/SKILL.md; the next cell has its text" in shell.ok("%skills new tidy")
    shell.ok("%memory add --to /memory/team.md Ana owns the data")

    def offered(line: str) -> list[str]:
        return list(shell.ip.Completer.complete(line_buffer=line, cursor_pos=len(line), text=None)[1])

    assert "second" in offered("%agent switch ") and {"offline", "mine"} <= set(offered("%agent use "))
    assert "tidy" in offered("%skills show ")
    assert {"/AGENTS.md", "/memory/team.md"} <= set(offered("%memory show "))
    assert next(iter(complete_names("model", shell.session, {}))) == "offline"
    ids = [entry.id for entry in shell.session.memory.log_entries()]
    assert offered("%memory revert ") == ids[::-1]
    assert {skill.name for skill in shell.session.skills.bundled()} <= set(offered("%skills add "))


def test_a_preload_waits_runs_once_and_hides_what_fails() -> None:
    ran = Preload("deepnb.no_such_module", idle=0.0)
    ran.begin()
    assert ran._timer is not None
    ran._timer.join(30)
    assert ran._done
    ran.begin()
    assert ran._timer is None
    waiting = Preload(idle=3600)
    waiting.begin()
    waiting.stop()
    assert waiting._timer is None and not waiting._done


def test_a_cell_waits_for_an_import_that_has_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Both at once left packages made by half: "cannot import name ... (most likely due to a circular import)".
    (tmp_path / "slow_engine.py").write_text("import time\nbegun = True\ntime.sleep(0.3)\nwhole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    ran = Preload("slow_engine", idle=0.0)
    ran.begin()
    until = time.monotonic() + 30
    while "slow_engine" not in sys.modules and time.monotonic() < until:
        time.sleep(0.01)
    ran.stop()
    assert sys.modules["slow_engine"].whole


def test_nothing_is_preloaded_while_the_cell_that_loads_the_extension_runs(bare_shell: Shell) -> None:
    bare_shell.ip.kernel = None
    bare_shell.ok("%load_ext deepnb\nwaits = get_ipython()._deepnb._preload._timer")
    try:
        assert bare_shell.ip.user_ns["waits"] is None
        assert bare_shell.ip._deepnb._preload._timer is not None, "from the end of the cell on"
    finally:
        bare_shell.ip._deepnb._preload.stop()
