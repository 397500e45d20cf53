"""Panels with buttons: a click acts, a mistake is one line, rows follow what there is."""

from functools import partial

from deepnb.values.errors import DeepnbError
from deepnb.views.view import notice_view
from deepnb.widgets.actions import ActionPanel, Row, Tabs


def buttons(panel: ActionPanel) -> list:
    return [
        b for row in panel.widget.children[1].children if hasattr(row, "children") for b in row.children[1].children
    ]


def test_a_click_acts_and_the_rows_are_those_there_are():
    items = ["a", "b"]
    panel = ActionPanel(
        lambda: [Row(i, notice_view(i), [("drop", partial(items.remove, i))]) for i in items], notice_view("none")
    )
    assert [b.description for b in buttons(panel)] == ["Drop", "Drop"]
    buttons(panel)[0].click()
    assert items == ["b"]
    assert len(buttons(panel)) == 1
    buttons(panel)[0].click()
    assert "none" in panel.widget.children[1].children[0].value


def test_a_mistake_is_one_line_above_the_rows():
    def fails() -> None:
        raise DeepnbError("it is <gone>", "type something else")

    panel = ActionPanel(lambda: [Row("a", notice_view("a"), [("go", fails)])], notice_view("none"))
    buttons(panel)[0].click()
    assert "it is &lt;gone&gt;: type something else" in panel.widget.children[0].value


def test_of_tabs_the_one_that_is_seen_follows_and_the_others_when_turned_to():
    items: list[str] = []
    rows = lambda: [Row(i, notice_view(i), []) for i in items]  # noqa: E731
    tabs = Tabs([("One", ActionPanel(rows, notice_view("none"))), ("Two", ActionPanel(rows, notice_view("none")))])

    items.append("new")
    tabs.refresh()
    tab = tabs.widget.children[-1]
    assert [hasattr(t.children[1].children[0], "children") for t in tab.children] == [True, False]
    tab.selected_index = 1
    assert [hasattr(t.children[1].children[0], "children") for t in tab.children] == [True, True]


def test_rows_are_made_anew_when_their_state_changes_alone() -> None:
    state = ["one"]
    panel = ActionPanel(lambda: [Row("a", notice_view(state[0]), [("go", lambda: None)], state[0])], notice_view(""))
    state[0] = "two"
    panel.refresh()
    (row,) = panel.widget.children[1].children
    assert "two" in row.children[0].value and buttons(panel)[0].tooltip == "go a"
    names = ["a", "b"]
    panel = ActionPanel(lambda: [Row(name, notice_view(name), []) for name in names], notice_view("none"))
    first, second = panel.widget.children[1].children
    names[:] = ["c", "a"]
    panel.refresh()
    new, stayed = panel.widget.children[1].children
    assert stayed is first and stayed.comm is not None and "c" in new.children[0].value
    assert second.comm is None, "what goes is closed"
