"""The gauge: bar, trigger, rule and what is left, for every kind of rule."""

from dataclasses import replace
from xml.etree.ElementTree import fromstring

from hypothesis import given
from hypothesis import strategies as st

from deepnb.values.budget import PARTS, Budget, Rule, rule_for
from deepnb.values.messages import GrowingList
from deepnb.values.request import Request, Sent
from deepnb.views.bar import plot_html, sparkline
from deepnb.views.budget import NO_CALL, WIDE, BudgetView, gauge_line, rule_words
from tests.support.tables import every_row

PARTS_OF = {"system": 512, "memory": 310, "tools": 2_065, "user": 2_317}
BUDGET = Budget(PARTS_OF, rule_for(8_000), 14, reported=5_310, growth=(200, 500, 620))
ESTIMATED = Budget({"user": 1_234}, rule_for(8_000), 1, exact=False, reported=1_100)


def test_the_gauge_as_text():
    assert BudgetView(BUDGET, "turn 3", [1_200, 5_204]).text() == (
        "context · 5,204 of 8,000 tokens · 65 %   (turn 3)\n"
        "\n"
        "                                     6,800 compacts ▼\n"
        "[SSSSMMTTTTTTTTTTTTTTTUUUUUUUUUUUUUUUUU······················]\n"
        "\n"
        "     part    tokens  share\n"
        "  ─  ──────  ──────  ─────\n"
        "  S  system     512  9.8 %\n"
        "  M  memory     310  6.0 %\n"
        "  T  tools    2,065   40 %\n"
        "  U  user     2,317   45 %\n"
        "     total    5,204  100 %\n"
        "\n"
        "compacts at 85 % of the window (6,800 of 8,000 tokens), keeps the last 10 %\n"
        "1,596 tokens left until the trigger: about 3 more turns at this rate\n"
        "counted 5,204, the model reported 5,310\n"
        "per call ▂█\n"
        "         1,200 → 5,204 tokens over 2 calls, trigger 6,800"
    )


@every_row(
    ("window", "trigger", "keep", "words"),
    [
        (8_000, None, None, "compacts at 85 % of the window (6,800 of 8,000 tokens), keeps the last 10 %"),
        (None, None, None, "compacts at 170,000 tokens, keeps the last 6 messages"),
        (None, ("messages", 50), ("tokens", 2_000), "compacts at 50 messages, keeps the last 2,000 tokens"),
        (None, ("fraction", 0.5), None, "never compacts automatically: the trigger is 50 % of the window, which is unknown, keeps the last 6 messages"),
    ],
)  # fmt: skip
def test_the_rule_in_words(window, trigger, keep, words):
    rule = Rule(trigger, ("messages", 6), None) if trigger == ("fraction", 0.5) else rule_for(window, trigger, keep)
    assert rule_words(rule) == words


@every_row(
    ("view", "words"),
    [
        (BudgetView(Budget({"user": 5}, rule_for(None, ("messages", 50)), 14)), "14 messages, 36 more until the trigger"),
        (BudgetView(ESTIMATED), "context · ~1,234 of 8,000"),
        (BudgetView(ESTIMATED), "estimated ~1,234, the model reported 1,100"),
        (BudgetView(NO_CALL), "context\nno model calls yet in this thread"),
        (BudgetView(Budget({"user": 6_700}, rule_for(8_000), 1, growth=(300,))), "100 tokens left until the trigger: less than one more turn at this rate"),
        (BudgetView(BUDGET, cost=0.0123), "cost so far $0.0123"),
    ],
)  # fmt: skip
def test_what_the_text_says(view, words):
    assert words in view.text()


def test_in_short_and_over_the_window():
    assert gauge_line(BUDGET) == "[████████████████████······|····] 65 %"
    assert BudgetView(Budget({"odd": 5}, rule_for(10), 1)).parts[0].letter == "?"
    assert BudgetView(Budget({"user": 5}, rule_for(None, ("messages", 50)), 14)).mark is None
    assert "cost" not in BudgetView(BUDGET).text() and "no model calls yet in this thread" in BudgetView(NO_CALL).html()
    assert (sparkline([0, 50, 100]), sparkline([])) == ("▁▄█", "")
    view = BudgetView(Budget({"system": 512, "user": 11_488}, rule_for(8_000), 1))
    assert sum(part.cells for part in view.parts) == WIDE and view.mark == 34
    text = view.text()
    assert "150 %" in text and "past the trigger: the next call compacts the context first, if it can" in text
    assert "4,000 tokens over the window" in text


@given(st.dictionaries(st.sampled_from([*PARTS, "odd"]), st.integers(-5, 10**9)), st.one_of(st.none(), st.integers(0, 10**6)),
       st.lists(st.integers(0, 10**9), max_size=5))  # fmt: skip
def test_any_budget_keeps_the_bar_in_its_frame(parts, window, history):
    budget = Budget(parts, rule_for(window), 0)
    view = BudgetView(budget, history=history)
    assert sum(part.cells for part in view.parts) <= WIDE and all(part.cells >= 1 for part in view.parts)
    assert view.mark is not None and 0 <= view.mark <= WIDE
    bar = next(line for line in view.text().split("\n") if line.startswith("["))
    assert len(bar) == WIDE + 2 and view.html() and gauge_line(budget)


def test_compactions_are_marked_in_the_sparkline():
    view = BudgetView(BUDGET, history=[100, 200, 50, 100], compactions=[2])
    assert "per call ▄█↓▂▄\n         100 → 100 tokens over 4 calls, 1 compaction (↓), trigger 6,800" in view.text()
    assert view.html().count("compacted") == 1 and "↓" in view.html()
    long = BudgetView(BUDGET, history=[*range(100), 7], compactions=[3, 100])
    assert long.text().count("↓") == 2  # the one that is in sight, and the legend


class Plot:
    """What a browser would draw of the plot: the heights of its bars, its uprights and its line, in percent."""

    def __init__(self, html: str) -> None:
        self.bars: list[float] = []
        self.uprights: list[int] = []
        self.line: float | None = None
        root = fromstring(f"<div style=''>{html}</div>")
        self.words = "".join(root.itertext())
        for one in root.iter():
            style = dict(item.split(":", 1) for item in one.attrib["style"].split(";") if item)
            if style.get("height", "").endswith("%"):
                self.bars.append(float(style["height"][:-1]))
            elif "border-left" in style:
                self.uprights.append(len(self.bars))
            elif style.get("margin", "").startswith("-"):
                assert style["margin"].startswith(f"-{style['height']} ")
                self.line = 100 * (float(style["height"].removesuffix("px")) - 3) / 72  # without its own width


def test_the_plot_draws_the_trigger_where_the_bars_reach_it_and_says_one_far_above():
    plot = Plot(plot_html([3_400, 6_800, 1_700], {2}, 6_800))
    assert plot.bars[1] == 84 and plot.line is not None and abs(plot.line - 84) < 1
    assert plot.bars[0] == 42 and plot.bars[2] == 21 and plot.uprights == [2]
    assert plot.words == "▄█↓▂", "a sparkline where the styles are gone"
    plot = Plot(plot_html([100, 200], (), 850_000))
    assert plot.line is None and plot.bars == [42, 84] and Plot(plot_html([100, 200])).line is None
    view = BudgetView(Budget({"user": 200}, rule_for(1_000_000), 1), history=[100, 200])
    assert "trigger 850,000" in view.text() and "2 calls, trigger 850,000" in view.html()
    assert "red line" not in view.html()
    assert "(red line: trigger)" in BudgetView(BUDGET, history=[5_000]).html()
    by_messages = BudgetView(Budget({"user": 200}, Rule(("messages", 20), ("messages", 6), None), 1), history=[200])
    assert "trigger" not in by_messages.text().rpartition("per call")[2]
    assert len(plot_html([10**6] * 30, set(range(0, 30, 3)), 10**6)) < 6_600


@given(st.lists(st.integers(-5, 10**9), max_size=70), st.sets(st.integers(0, 70)), st.none() | st.integers(0, 10**7))
def test_the_plot_stays_in_its_frame(figures, marks, line):
    plot = Plot(plot_html(figures, marks, line))
    assert len(plot.bars) == len(figures) and all(2 <= height <= 84 for height in plot.bars)
    assert plot.line is None or 0 <= plot.line <= 84
    assert len(plot.uprights) == len([at for at in marks if at < len(figures)])


HEAD = (
    Sent("tools", "grep", "{}", 1_500), Sent("tools", "mine", "{}", 565), Sent("system", "system prompt", "You", 512),
    Sent("memory", "memory", "<", 5), Sent("memory", "/AGENTS.md", "- tea", 205),
    Sent("memory", "guidelines", "g", 100),
)  # fmt: skip
BODY = GrowingList[tuple[Sent, ...]]().replace_from(0, [(Sent("user", "user", "why <b>so</b>?", 2_317),)])
ITEMS = replace(
    BUDGET,
    request=Request(HEAD, BODY),
    own_tools=("mine",),
)
UNFOLDED = [
    "     item                  tokens  to take it out", "  ─  ────────────────────  ──────  ────────────────────────",
    "  T  grep                   1,500  %agent tools off grep",
    "  T  mine                     565  %agent tools remove mine",
    '  S  system prompt            512  system_prompt=""', "  M  /AGENTS.md               205  %memory rm /AGENTS.md",
    "  M  guidelines               105  enable_memory=False", "  U  user: why <b>so</b>?   2,317  %agent compact",
]  # fmt: skip


def test_the_items_in_short_unfolded_and_as_a_fold():
    view = BudgetView(ITEMS)
    largest = "largest: user 2,317, grep 1,500, mine 565, system prompt 512; %agent budget --items lists all 6"
    assert view.text().splitlines()[-1] == largest
    text = replace(view, unfolded=True).text()
    assert text.splitlines()[-11:-3] == UNFOLDED
    assert max(map(len, text.splitlines())) <= 100 and "largest:" not in text
    view = BudgetView(ITEMS)
    assert "<details" in view.html() and "open" not in view.html().partition("<details")[2].partition(">")[0]
    assert "~1,500  %agent tools off grep" in replace(BudgetView(replace(ITEMS, exact=False)), unfolded=True).text()
    html = replace(view, unfolded=True).html()
    assert "open" in html.partition("<details")[2].partition(">")[0]
    assert "why &lt;b&gt;so&lt;/b&gt;?" in html and "6 items, and what takes each out" in html
    assert len(html) - len(BudgetView(BUDGET).html()) < 350 * len(ITEMS.items) + 1_000
