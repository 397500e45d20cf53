"""The panels of threads and requests, the stack of an agent, and the dashboard that has all of them."""

import re
from typing import Any
from unittest.mock import patch

from deepnb.values.xray import Layer, Stack
from deepnb.views.agent import stack_view
from deepnb.views.threads import turn_words
from deepnb.widgets.panels import LISTED, Chooser
from tests.support.screen import Cell
from tests.support.shells import Shell


def test_each_layer_of_the_graph_says_what_it_adds(shell: Shell) -> None:
    before = shell.ok("%agent graph")
    assert "tokens are counted from the first call on" in before and "execute" not in before
    shell.ok("%agent Remember that I prefer tabs")
    stack = shell.session.stack()
    named = {layer.name: layer for layer in stack.layers}
    assert named["FilesystemMiddleware"].origin == "deepagents" and "ls" in named["FilesystemMiddleware"].tools
    assert named["DeltaMemoryMiddleware"].tokens and named["GuardMiddleware"].tokens == 0
    assert stack.tokens == shell.session.turns[-1].budget.total, "all that was sent is some layer's"
    assert [layer.name for layer in stack.layers].index("DeltaMemoryMiddleware") < [
        layer.name for layer in stack.layers
    ].index("SummarizationMiddleware"), "memory stands outside the trigger"
    out = shell.ok("%agent graph")
    assert f"{stack.tokens:,} tokens in total" in out and "from" in out and "↓ offline" in out


def test_the_stack_as_text_and_html() -> None:
    layers = (
        Layer("One<b>", "does this", "deepnb", tools=("ls",), tokens=300),
        Layer("Two", "does that", "yours", tokens=100),
    )
    view = stack_view(Stack(layers, "m", "turn 1, call 2", exact=False), "turn 1")
    assert view.text().splitlines()[:2] == [
        "graph · 2 layers, then the model m   (turn 1)",
        "tokens that each layer added to turn 1, call 2: ~400 tokens in total",
    ]
    assert "~300 tokens" in view.text() and "One&lt;b&gt;" in view.html() and "tools: ls" in view.html()


class Story:
    def __init__(self) -> None:
        self.turns = 3
        self.calls = 2
        self.followed = 0
        self.chooser = Chooser(
            lambda: self.turns,
            lambda n: turn_words(n, f"prompt {n}"),
            lambda n: [(f"{c} · answer", c) for c in range(1, self.calls + 1)],
        )
        self.chooser.follow = self.follow

    def follow(self) -> None:
        self.followed += 1


def test_the_newest_call_is_chosen_until_another_is_and_again_where_that_one_is_gone() -> None:
    story = Story()
    chooser = story.chooser
    turn, call = chooser.widget.children
    assert (turn.label, chooser.place, chooser.newest) == ("3 · prompt 3", (3, 2), True)
    turn.value = 1
    assert (chooser.place, chooser.newest, story.followed) == ((1, 2), False, 1)
    call.value = 1
    story.turns = 5
    chooser.refresh()
    assert (chooser.place, len(turn.options), story.followed) == ((1, 1), 5, 2), "it stays, and nobody is told again"
    chooser.choose(5, 1)
    story.turns = 6
    chooser.refresh()
    assert chooser.place == (5, 1)
    turn.value = 6
    story.turns, story.calls = 7, 3
    chooser.refresh()
    assert (chooser.place, chooser.newest) == ((7, 3), True), "who goes to the newest follows it again"
    chooser.choose(6, 3)
    story.turns, story.calls = 2, 0
    chooser.refresh()
    assert (chooser.place, call.disabled) == ((2, 0), True)
    story.turns = 0
    chooser.refresh()
    assert chooser.place is None and turn.disabled


def test_of_many_turns_those_around_the_chosen_one_and_the_newest_are_offered() -> None:
    story = Story()
    story.turns = 100
    story.chooser.refresh()
    turn, _ = story.chooser.widget.children
    assert [number for _, number in turn.options] == [*range(100 - LISTED, 101)]
    turn.value = 100 - LISTED
    assert [number for _, number in turn.options] == [*range(100 - 2 * LISTED, 101)]
    turn.value = 61
    turn.value = 41
    assert [number for _, number in turn.options] == [*range(41 - LISTED, 42 + LISTED), 100]


def test_what_is_chosen_is_what_each_tab_shows_and_a_bar_leads_to_its_request(shell: Shell) -> None:
    """One choice for memory, prompt, gauge, history and threads; a click on a bar takes it, and turns to the prompt."""
    scene, session = shell.ip._deepnb.scene, shell.session
    shell.ok("%config DeepNB.window = 4600")
    for prompt in ("Remember that I prefer tabs", "what can you do?", "thanks"):
        shell.ok(f"%agent {prompt}")
    shell.ok("%agent compact")
    with patch.object(scene, "screen", Cell()):
        shell.ok("%agent dashboard")
        dashboard = scene.screen.widgets[0]

    def seen(tab: str) -> str:
        tabs = dashboard.children[-1]
        tabs.selected_index = tabs.titles.index(tab)
        return " ".join(html(tabs.children[tabs.selected_index]))

    def buttons(tooltip: str) -> list[Any]:
        return [w for w in below(dashboard) if str(w.trait_values().get("tooltip")).startswith(tooltip)]

    turn, call = dashboard.children[1].children
    assert "1 section" not in seen("History") and "saved verbatim" in seen("History")
    turn.value = 1
    assert "saved verbatim" not in seen("History"), "nothing was offloaded by then"
    first = session.turn(1)
    assert f"{first.budget.total:,}" in seen("Budget") and "memory in turn 1" in seen("Memory")
    assert "+- The user prefers tabs" in re.sub(r"<[^>]+>", "", seen("Memory")).replace("+ ", "+")
    assert "request</b>" not in seen("Threads") and "I prefer tabs" in seen("Threads")
    call.value = 1
    assert "request of turn 1, call 1" in seen("Prompt")
    seen("Budget")
    (bar,) = buttons("turn 2, call 1: ")
    assert bar.tooltip == f"turn 2, call 1: {session.turn(2).budget.total:,} tokens"
    bar.click()
    assert (turn.value, call.value) == (2, 1) and dashboard.children[-1].titles[
        dashboard.children[-1].selected_index
    ] == "Prompt"
    assert "request of turn 2, call 1" in " ".join(html(dashboard))
    seen("Threads")
    (back,) = buttons("rewind to here")
    back.click()
    assert len(session.turns) == 2 and session.threads[0].turns == 2
    buttons("undo turn")[0].click()
    assert len(session.turns) == 3


def test_a_line_of_memory_is_changed_where_it_is_shown_and_the_change_undone(shell: Shell) -> None:
    """What is typed stays while others write and where it is refused; an empty line goes; each change names its undo."""
    scene, memory = shell.ip._deepnb.scene, shell.session.memory
    shell.ok("%memory add one")
    shell.ok("%memory add two")
    with patch.object(scene, "screen", Cell()):
        shell.ok("%memory panel")
        panel = scene.screen.widgets[0]
    named = {one.description: one for one in below(panel) if getattr(one, "description", "")}
    line, area, save, undo = (named[word] for word in ("Line", "becomes", "Save line", "Undo"))
    assert (line.label, area.value) == ("- two · /AGENTS.md 2", "- two")
    line.index, area.value = 0, "- uno"
    shell.ok("%memory add three")
    assert (line.index, area.value) == (0, "- uno")
    save.click()
    assert memory.text() == "/AGENTS.md\n\n- uno\n- two\n- three\n"
    last = memory.log_entries()[-1]
    assert last.origin == "user" and f"saved /AGENTS.md: %memory revert {last.id} undoes that" in " ".join(html(panel))
    area.value = "- my key is sk-proj-4f8Gh2Kq9LmZx7Wv3Nb6Tc1Yd5Re0Up8Aq2Sw4Df6Gh8Jk"
    save.click()
    assert "sk-proj" in area.value and memory.log_entries()[-1] == last, "a refusal leaves what was typed"
    area.value = ""
    save.click()
    assert memory.text() == "/AGENTS.md\n\n- two\n- three\n"
    undo.click()
    undo.click()
    undo.click()
    assert memory.text() == "/AGENTS.md\n\n- uno\n- two\n- three\n", "an undo is a change, too"
    assert "reverted change" in shell.ok("%memory revert 3") and "undoes that" in shell.ok("%memory revert 2")


def below(widget: Any) -> list[Any]:
    return [widget, *(one for child in getattr(widget, "children", ()) for one in below(child))]


def html(widget: Any) -> list[str]:
    return [one.value for one in below(widget) if type(one).__name__ == "HTML"]


def test_the_dashboard_as_text_has_every_panel_and_one_is_shown_by_its_name(shell: Shell) -> None:
    out = shell.ok("%agent dashboard")
    for words in ("nothing remembered yet", "no model calls yet: type %agent PROMPT", "nothing offloaded yet",
                  "no skills yet: type %skills new NAME", "main"):  # fmt: skip
        assert words in out, words
    shell.ok("%agent hello")
    shell.ok("%agent fork idea")
    assert "○" in shell.ok("%agent panel threads") and "context" not in shell.ok("%agent panel threads")
    assert "request of turn 1, call 1" in shell.ok("%agent panel prompt")
    shell.ok("%memory add the pump is called Berta")
    budget, row = shell.session.budget(), shell.ok("%agent dashboard").partition("\n\n")[0]
    free = budget.rule.window - budget.total
    for words in (f"{budget.total:,} of {budget.rule.window:,} tokens", f"{free:,} free", "(85 %)", "idea · 1 turn",
                  f"trigger {budget.rule.trigger_tokens:,}", "user · /AGENTS.md · + the pump is called Berta",
                  "nothing needs your approval", "offline (no LLM)"):  # fmt: skip
        assert words in row, words
