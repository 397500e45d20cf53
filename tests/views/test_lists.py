"""Footer, skills, history, threads, turns, status, table, notice, and the figures they share."""

import math
from typing import Any

from deepnb.values.agent import Skill
from deepnb.values.budget import Budget, rule_for
from deepnb.values.events import TurnPassage
from deepnb.values.offload import Offload
from deepnb.values.turn import Call, Compacted, ModelEnded, Snapshot, ThreadInfo, Turn, Usage
from deepnb.values.xray import Layer, Stack
from deepnb.views.agent import stack_view
from deepnb.views.search_marks import found_view
from deepnb.views.skills import EMPTY as NO_SKILLS
from deepnb.views.skills import skill_view, skills_view
from deepnb.views.status import RunningView, StatusInfo, setting_words, status_view
from deepnb.views.text import clean, cost, counted, elapsed, middle_cut, percent, seconds, short, width
from deepnb.views.threads import flags, lane, thread_card, threads_view, tree, turns_view
from deepnb.views.turn import footer_view
from deepnb.views.view import notice_view, table_text, table_view
from tests.support.tables import every_row

BUDGET = Budget({"user": 5_204}, rule_for(8_000), 14)
ENDED = ModelEnded(Call(1, "answer", (), BUDGET))


def _turn(number=3, **more):
    empty = Snapshot("main")
    values: dict[str, Any] = {
        "prompt": "look at df", "text": "I **did**.", "events": (ENDED,), "usage": Usage(1_234, 56),
    }  # fmt: skip
    return Turn(
        number, "main", before=empty, after=empty, budget=BUDGET, model="offline", seconds=0.123, **(values | more)
    )


def test_the_footer_is_one_line_and_a_line_for_each_thing_to_know():
    view = footer_view(_turn(usage=Usage(1_234, 56, 0, 0.0012)), filled=["df"], notes=["a restart forgets"])
    assert view.text() == (
        "turn 3 · main · offline (no LLM) · 1 call · 1,234 in / 0 cached / 56 out · $0.0012 · 0.12 s\n"
        "filled in: {df}\n"
        "a restart forgets"
    )


@every_row(("values", "line"), [
    ({"interrupted": "before tools"}, "interrupted: before tools"),
    ({"error": "RateLimitError: slow down"}, "error: RateLimitError: slow down"),
    ({"error": "E", "interrupted": "x"}, "error: E"),
])  # fmt: skip
def test_the_footer_says_what_went_wrong(values, line):
    view = footer_view(_turn(events=(), **values))
    assert view.text() == f"turn 3 · main · offline (no LLM) · 0 calls · 1,234 in / 0 cached / 56 out · 0.12 s\n{line}"
    assert line in view.html()


def test_skills_with_what_they_cost_and_what_is_wrong():
    good = Skill("pandas-report", "Make a report", "/skills/pandas-report/SKILL.md")
    bad = Skill("Bad", "x", "/skills/Bad/SKILL.md", "line 2: name must be lower case")
    assert skills_view([good, bad], lambda text: len(text.split()), "turn 3").text() == (
        "skills · 1 skill · 8 tokens in every request · 1 can't be used   (turn 3)\n"
        "  pandas-report       8 tokens  Make a report\n"
        "                                /skills/pandas-report/SKILL.md\n"
        "  Bad            can't be used  x\n"
        "                                /skills/Bad/SKILL.md\n"
        "                                problem: line 2: name must be lower case"
    )
    assert skills_view([], len).text() == f"skills\n{NO_SKILLS}"
    assert skill_view(bad, "---\nname: Bad\n---\n").text().endswith("  │ ---\n  │ name: Bad\n  │ ---")


def test_threads_stand_below_what_they_were_forked_from():
    threads = [
        ThreadInfo("a", 3, 3, parent="b@2"),
        ThreadInfo("b", 5, 22, True, compacted=(4,), rewound=((7, 3),)),
        ThreadInfo("c", 1, 1, parent="a@1"),
    ]
    assert [(depth, t.name) for depth, t in tree(threads)] == [(0, "b"), (1, "a"), (2, "c")]
    assert threads_view(threads).text() == (
        "threads\n"
        "thread             ● turn ○ forked ↓ compacted ↶ rewound to  turns  messages  forked from\n"
        "──────  ─────────  ────────────────────────────────────────  ─────  ────────  ───────────\n"
        "b       ← current  ●─●─●↶─↓●─●                                   5        22\n"
        "└ a                ○─○─●                                         3         3  b@2\n"
        "└── c              ○                                             1         1  a@1"
    )


def test_hits_in_turns_are_marked_and_a_long_thread_shows_its_last_turns():
    view = found_view([TurnPassage(3, "prompt", "which <b> pump?\n" + 90 * "-" + " a pump")], "pump")
    assert "which <b> »pump«?" in view.text() and view.html().count("<mark") == 1 and "»" not in view.html()
    assert "&lt;b&gt;" in view.html() and "nothing holds pump" in found_view([], "pump").html()
    assert lane(ThreadInfo("a", 45, 90, compacted=(3, 44, 44))) == "…25─" + "─".join(["●"] * 18) + "─↓↓●─●"
    assert lane(ThreadInfo("a", 0, 0, rewound=((2, 0),))) == "↶"
    card = thread_card(1, ThreadInfo("a", 3, 8, parent="b@2"))
    assert card.text() == "a · ○─○─● · 3 turns · 8 messages · forked from b@2"
    odd = [ThreadInfo("a", 0, 0, parent="b@1"), ThreadInfo("b", 0, 0, parent="a@1"), ThreadInfo("c", 0, 0, parent="gone@1"),
           ThreadInfo("d", 0, 0, parent="d@1"), ThreadInfo("d", 0, 0, parent="")]  # fmt: skip
    assert sorted(t.name for _, t in tree(odd)) == ["a", "b", "c", "d", "d"]


def test_turns_with_what_was_out_of_the_ordinary():
    compacted = Compacted(Offload(None, "s", 3))
    turns = [_turn(1), _turn(2, events=(compacted,), interrupted="x"), _turn(3, error="E", text="")]
    assert [flags(turn) for turn in turns] == [(), ("interrupted", "compacted"), ("error",)]
    assert turns_view(turns).text() == (
        "turns\n"
        "turn  prompt      answer        in / out    time\n"
        "────  ──────────  ──────────  ──────────  ──────  ──────────────────────\n"
        "   1  look at df  I **did**.  1,234 / 56  0.12 s\n"
        "   2  look at df  I **did**.  1,234 / 56  0.12 s  interrupted, compacted\n"
        "   3  look at df              1,234 / 56  0.12 s  error"
    )
    assert turns_view([]).text() == "turns\nno turns yet: type %agent PROMPT"


def test_the_status_panel():
    info = StatusInfo("offline", 8_000, ThreadInfo("main", 3, 14), BUDGET, (("/AGENTS.md", 46),), 2, 5, "delta",
                      "interrupted before tools: %agent resume", ("no LLM",), "turn 3")  # fmt: skip
    assert status_view(info).text() == (
        "deepnb   (turn 3)\n"
        "  model    offline (no LLM) · window 8,000 tokens\n"
        "  thread   main · 3 turns · 14 messages\n"
        "  context  [████████████████████······|····] 65 %\n"
        "           5,204 of 8,000 tokens · 1,596 tokens left until the trigger\n"
        "  memory   /AGENTS.md (46 tokens) · refresh delta\n"
        "  skills   2\n"
        "  files    5\n"
        "  pending  interrupted before tools: %agent resume\n"
        "no LLM"
    )
    before = status_view(StatusInfo("m", None, ThreadInfo("main", 0, 0), None, (), 0, 0, "delta")).text()
    assert "no model calls yet in this thread" in before and "pending" not in before


def test_a_table_counts_columns_fits_the_page_and_takes_any_rows():
    assert table_text(("名", "n"), [("日本", "1"), ("ab", "22")], right=(1,)) == (
        "名     n\n"
        "────  ──\n"
        "日本   1\n"
        "ab    22"
    )  # fmt: skip
    text = table_text(("a", "b", "c"), [("x" * 300, "y" * 300, "z")])
    assert {width(line) <= 100 for line in text.split("\n")} == {True}
    assert table_view(("a", "b"), [(1,), (1, 2, 3)]).text() == "a  b\n─  ─\n1\n1  2"
    assert table_view((), []).text() == "nothing to show"


def test_figures_signs_and_shortened_texts():
    assert notice_view("left as\n typed").text() == "note: left as typed"
    assert notice_view("remembered", "ok").text() == "remembered"
    assert "error: " in notice_view("no", "error").html()
    assert [seconds(0.0049), seconds(1_234.5), seconds(math.nan)] == ["0.00 s", "1,234.50 s", "0.00 s"]
    assert [cost(0.0012), cost(2.5)] == ["$0.0012", "$2.50"]
    assert [counted(1, "call"), counted(1_000, "call")] == ["1 call", "1,000 calls"]
    assert [percent(65, 100), percent(4, 100), percent(1, 10**6), percent(0, 5), percent(1, 0)] == [
        "65 %", "4.0 %", "<0.1 %", "0 %", "–",
    ]  # fmt: skip
    assert clean("a\x1b[31m\x00\u202eb\ud800\x7f\r\n\tc") == "a␛[31m␀[U+202E]b\ufffd␡\n\tc"
    assert short("日本語のテキスト", 7) == "日本語…" and short("a  b\nc", 10) == "a b c"
    assert middle_cut("a" * 100 + "b" * 100, 10, 10) == "a" * 10 + "\n… 180 characters left out …\n" + "b" * 10
    assert middle_cut("a" * 70, 10, 10) == "a" * 70


@every_row(
    ("seconds", "words"),
    [(0.9, "0 s"), (59.9, "59 s"), (60, "1 min 00 s"), (312.4, "5 min 12 s"), (3_725, "1 h 02 min")],
)
def test_a_time_that_goes_on(seconds: float, words: str) -> None:
    assert elapsed(seconds) == words


def test_time_what_is_waited_for_and_the_context() -> None:
    view = RunningView(65, "run_python", Budget({"system": 4_000}, rule_for(8_000), 0), "interrupt it to stop it")
    assert view.text() == "1 min 05 s · run_python · context 4,000 of 8,000 tokens (50 %) · interrupt it to stop it"
    assert "run_python" in view.html()
    after = RunningView(12, "waiting for the <model>", at="10:02:33")
    assert after.text() == "as of 10:02:33: 12 s · waiting for the <model>" and "<model>" not in after.html()


@every_row(("name", "value", "words"), [
    ("window", 6_500, "window is 6,500: compacts at 85 % of the window (5,525 of 6,500 tokens), keeps the last 10 %"),
    ("max_steps", 5, "max_steps is 5 from the next turn on"), ("embedder", "use", "embedder is use"),
    ("max_cost", None, "max_cost is the default from the next turn on"),
    ("rerun", "replace", "rerun is replace"), ("stop_at_approval", False, "stop_at_approval is False"),
    ("approve", {"write_file": "ask"}, "approve is write_file: ask from the next turn on"),
    ("clock", "", "clock is empty"),
])  # fmt: skip
def test_a_setting_says_its_effect(name: str, value: object, words: str) -> None:
    assert setting_words(name, value, rule_for(6_500)) == words


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
