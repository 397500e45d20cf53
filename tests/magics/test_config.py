"""`%config DeepNB`: each setting takes effect, and a refused one keeps its value."""

from typing import Any

import pytest
from traitlets import TraitError

from tests.data import rows
from tests.support.scripted import enter, walked
from tests.support.shells import Shell
from tests.support.tables import every_row

SETTINGS = {
    "model": "'offline'", "window": "5000", "trigger": "0.5", "keep": "('messages', 4)", "memory_refresh": "'thread'",
    "rerun": "'replace'", "approve": "'read-only'", "stop_at_approval": "False", "stream_hz": "4.0", "max_steps": "3",
    "max_cost": "0.25", "max_subagent_depth": "2", "prices": "{'gpt-5.2': (2.0, 0.5, 8.0)}", "tools": "'full'",
    "embedder": "'my_embedder'", "offer_explain": "True", "clock": "'2026-01-31T09:00:00+00:00'",
}  # fmt: skip


def trait(shell: Shell, name: str) -> Any:
    return getattr(shell.ip._deepnb.config, name)


def test_every_setting_is_listed_with_its_help_and_is_an_option_of_the_session(shell: Shell) -> None:
    out = shell.ok("%config DeepNB")
    for name in shell.ip._deepnb.config.traits(config=True):
        assert name in SETTINGS and f"DeepNB.{name}=" in out
    assert out.count("Current: ") == len(SETTINGS)
    for name in ("window", "memory_refresh", "max_steps", "max_cost", "max_subagent_depth", "prices"):
        shell.ok(f"%config DeepNB.{name} = {SETTINGS[name]}")
        option = "max_input_tokens" if name == "window" else name
        assert getattr(shell.session.options, option) == eval(SETTINGS[name]), name


def test_a_bad_value_is_one_line_and_changes_nothing(shell: Shell, caplog: pytest.LogCaptureFixture) -> None:
    wrong = []
    for typed, name, told in rows("typed_lines")["settings refused"]:
        shell.ok(f"%config DeepNB.{name} = {SETTINGS[name]}")
        before, options = trait(shell, name), shell.session.options
        caplog.clear()
        ran = shell.run(f"%config DeepNB.{name} = {typed}")
        lines = [line for record in caplog.records for line in record.getMessage().splitlines()]
        if ran.error or len(lines) != 1 or told not in lines[0]:
            wrong.append((name, typed, lines))
        assert (trait(shell, name), shell.session.options) == (before, options), name
        caplog.clear()
        shell.ok(f"%config DeepNB.{'max_steps' if name != 'max_steps' else 'stream_hz'} = 5")
        assert not caplog.records, "the bad value came back with the next setting"
    assert not wrong
    with pytest.raises(TraitError, match="no model 'nosuch'"):
        shell.ip._deepnb.config.model = "nosuch"
    assert trait(shell, "model") == "offline"


def test_a_trigger_that_does_not_go_with_keep_is_one_line(shell: Shell, caplog: pytest.LogCaptureFixture) -> None:
    shell.session.configure(keep=("fraction", 0.4))
    assert shell.run("%config DeepNB.trigger = 0.4").error is None
    (line,) = caplog.messages
    assert "keep=('fraction', 0.4) is not less than trigger=('fraction', 0.4): give a smaller keep" in line
    assert trait(shell, "trigger") == 0.85
    shell.session.configure(keep=("tokens", 6_000))
    shell.ok("%config DeepNB.window = 7000")
    assert trait(shell, "window") == 7_000 and shell.session.rule.keep == ("fraction", 0.1)


@every_row(("typed", "told"), [
    ("4000", "compacts at 4,000 tokens, keeps the last 2 messages"),
    ("('messages', 12)", "compacts at 12 messages, keeps the last 2 messages"),
    ("('tokens', 4000)", "compacts at 4,000 tokens, keeps the last 2 messages"),
    ("('fraction', 0.5)", "compacts at 50 % of the window (4,000 of 8,000 tokens), keeps the last 2 messages"),
])  # fmt: skip
def test_trigger_and_keep_are_set_in_tokens_messages_or_fractions(shell: Shell, typed: str, told: str) -> None:
    enter(shell, "%config DeepNB.keep = ('messages', 2)", f"%config DeepNB.trigger = {typed}", "%agent thanks")
    assert told in shell.ok("%agent budget")
    shell.session.configure(trigger=("tokens", 5_000), keep=None)
    assert (trait(shell, "trigger"), trait(shell, "keep")) == (5_000, None)


def test_the_setting_follows_what_use_changed_and_can_be_set_back(shell: Shell) -> None:
    shell.ok("from tests.support.scripted import Scripted\nmine = Scripted(answers=['from mine'])")
    shell.ok("%agent use mine")
    assert trait(shell, "model") == "mine"
    shell.ok("%config DeepNB.model = 'offline'")
    assert "You are welcome" in shell.ok("%agent thanks")
    shell.ok("%config DeepNB.model = 'mine'")
    assert "from mine" in shell.ok("%agent hello there")


def test_a_clock_is_the_time_of_every_turn(shell: Shell) -> None:
    enter(shell, "%config DeepNB.clock = '2026-01-31T09:00:00+02:00'", "%agent thanks")
    assert shell.session.last.started.startswith("2026-01-31T09:00:00+02:00")
    enter(shell, "%config DeepNB.clock = '2026-01-31'", "%agent thanks")
    assert shell.session.last.started == "2026-01-31T00:00:00+00:00"


def test_settings_survive_a_reload_but_refused_ones_do_not(shell: Shell) -> None:
    shell.ok("%config DeepNB.window = 5000")
    walked(shell, "run %config DeepNB.window = 'big'", "run %config DeepNB.model = 'nosuch'")
    shell.ok("%reload_ext deepnb")
    assert (trait(shell, "window"), trait(shell, "model")) == (5000, "offline")
    assert "You are welcome" in shell.ok("%agent thanks")


def test_settings_of_a_profile_hold_from_the_start_and_a_bad_one_is_one_line(bare_shell: Shell) -> None:
    bare_shell.ip.config.DeepNB.approve = "nonsense"
    assert "approve can't be 'nonsense'" in bare_shell.fails("%load_ext deepnb"), "a session refuses it"
    bare_shell.ip.config.DeepNB.approve = "writes"
    bare_shell.ip.config.DeepNB.window = "big"
    assert "'window' trait" in bare_shell.fails("%load_ext deepnb")
    bare_shell.ip.config.DeepNB.window = 5000
    bare_shell.ok("%load_ext deepnb")
    assert (bare_shell.session.options.max_input_tokens, bare_shell.session.approvals.policy.mode) == (5000, "writes")


def test_a_setting_says_its_effect_and_what_others_change_does_not(shell: Shell) -> None:
    shell.ok("%load_ext deepnb")
    assert "compacts at 85 % of the window (5,525 of 6,500 tokens)" in shell.ok("%config DeepNB.window = 6500")
    shell.ok("%agent thanks")
    assert "3,250 of 6,500 tokens" in shell.ok("%config DeepNB.trigger = 0.5")
    assert "compacts at 50 % of the window (3,250 of 6,500 tokens)" in shell.ok("%agent budget"), "at once"
    assert shell.ok("import deepnb; deepnb.current().configure(max_input_tokens=8000); None").strip() == ""


def test_memory_says_which_embedder_takes_part_and_what_it_cost(shell: Shell, caplog: pytest.LogCaptureFixture) -> None:
    shell.run("%config DeepNB.embedder = 'nobody'")
    (line,) = caplog.messages
    assert "embedder can't be 'nobody': give 'use', or a variable that holds LangChain Embeddings" in line
    assert trait(shell, "embedder") == "" and "search by words" not in shell.ok("%memory")
    enter(shell, "from tests.data.paraphrases import Kept\nmine = Kept()", "%config DeepNB.embedder = 'mine'")
    shell.ok("%memory add The spare key hangs behind the boiler.")
    assert "search by words and by Kept: at the first search" in shell.ok("%memory")
    shell.session.memory.search("How do I get in when I am locked out?")
    assert "search by words and by Kept: " in (said := shell.ok("%memory")) and " passages have a vector (" in said
    shell.ok("del mine")
    assert "search by words" not in shell.ok("%memory")


def test_a_cell_that_resets_the_kernel_begins_anew(shell: Shell) -> None:
    begin = "%reset -sf\n%reload_ext deepnb\n%config DeepNB.window = 5000\n%memory add I like tea"
    first = shell.ok(begin)
    assert "compacts at 85 %" in first
    shell.ok("%agent thanks")
    assert shell.ok(begin) == first
