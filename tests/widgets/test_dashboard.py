"""The panels of threads and requests, the stack of an agent, and the dashboard that has all of them."""

from functools import partial
from typing import Any

from deepnb.values.errors import DeepnbError
from deepnb.values.turn import ThreadInfo
from deepnb.values.xray import Layer, Stack
from deepnb.views.agent import stack_view
from deepnb.views.threads import thread_card, turn_words
from deepnb.views.view import notice_view
from deepnb.widgets.actions import Row
from deepnb.widgets.threads import LISTED, PromptPanel, ThreadsPanel, Turns
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
        self.did: list[str | int] = []
        self.threads = [ThreadInfo("main", 3, 6, True), ThreadInfo("idea", 1, 2, parent="main@1")]

    def panel(self) -> ThreadsPanel:
        def rows() -> list[Row]:
            cards = {t.name: thread_card(0, t) for t in self.threads}
            return [Row(name, c, [("switch", partial(self.did.append, name))], c.text()) for name, c in cards.items()]

        turns = Turns(
            lambda: [(n, turn_words(n, f"prompt {n}")) for n in range(1, self.turns + 1)],
            lambda n: notice_view(f"turn {n} as it was"),
            lambda n: self.did.append(f"fork {n}"),
            self.rewind,
        )
        return ThreadsPanel(rows, turns, lambda: self.did.append("undo"))

    def rewind(self, turn: int) -> None:
        if turn == 2:
            raise DeepnbError("not now", "wait")
        self.did.append(turn)


def parts(panel: ThreadsPanel) -> tuple[Any, Any, Any, Any]:
    _, turn, below, said, picture = panel.widget.children
    return turn, below.children, said, picture


def test_a_thread_is_switched_to_rewound_and_undone() -> None:
    story = Story()
    panel = story.panel()
    turn, (fork, rewind, undo), said, picture = parts(panel)
    assert turn.label == "3 · prompt 3" and "turn 3 as it was" in picture.value
    turn.value = 1
    assert "turn 1 as it was" in picture.value
    rewind.click()
    undo.click()
    turn.value = 2
    fork.click()
    rewind.click()
    assert story.did == [1, "undo", "fork 2"] and "not now: wait" in said.value


def test_the_turn_to_go_back_to_follows_the_newest_unless_one_was_chosen() -> None:
    story = Story()
    panel = story.panel()
    turn, (_, rewind, _), *_ = parts(panel)
    story.turns = 5
    panel.refresh()
    assert turn.value == 5
    turn.value = 2
    story.turns = 6
    panel.refresh()
    assert turn.value == 2 and len(turn.options) == 6
    story.turns = 0
    panel.refresh()
    assert rewind.disabled and turn.disabled


def test_the_newest_request_is_shown_until_another_is_chosen() -> None:
    calls: list[tuple[str, tuple[int, int]]] = []
    drawn: list[Any] = []

    def at(place: Any) -> Any:
        drawn.append(place)
        return notice_view(f"sent {place}")

    panel = PromptPanel(lambda: calls, at)
    choice, picture = panel.widget.children[0].children[0], panel.widget.children[1]
    assert choice.disabled and "sent None" in picture.value
    calls.append(("one", (1, 1)))
    panel.refresh()
    calls.append(("two", (1, 2)))
    panel.refresh()
    assert choice.value == (1, 2) and "sent (1, 2)" in picture.value
    choice.value = (1, 1)
    assert "sent (1, 1)" in picture.value
    calls.append(("three", (2, 1)))
    panel.refresh()
    assert choice.value == (1, 1)
    calls[:] = calls[1:]
    panel.refresh()
    assert choice.value == (2, 1), "where the chosen one is gone the newest is shown"
    before = len(drawn)
    panel.refresh()
    assert len(drawn) == before, "what is shown already is not drawn again"


def test_of_many_requests_the_newest_can_be_chosen_and_the_chosen_one_stays() -> None:
    calls = [(f"turn {n}", (n, 1)) for n in range(1, LISTED + 1)]
    panel = PromptPanel(lambda: calls, lambda place: notice_view(f"sent {place}"))
    (choice, older), picture = panel.widget.children[0].children, panel.widget.children[1]
    assert len(choice.options) == LISTED and older.value == ""
    choice.value = (1, 1)
    calls += [(f"turn {n}", (n, 1)) for n in range(LISTED + 1, LISTED + 11)]
    panel.refresh()
    assert choice.value == (1, 1) and "sent (1, 1)" in picture.value
    assert len(choice.options) == LISTED + 1 and "9 earlier calls: %agent xray TURN.CALL" in older.value
    choice.value = (LISTED + 10, 1)
    panel.refresh()
    assert len(choice.options) == LISTED and choice.options[0] == ("turn 11", (11, 1))


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
