"""Panels with buttons: a click acts, a mistake is one line, rows follow what there is."""

from functools import partial

from deepnb.values.errors import DeepnbError
from deepnb.views.view import notice_view
from deepnb.widgets.actions import ActionPanel, Row, Switches, Tabs


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
    tabs = Tabs({name: lambda: ActionPanel(rows, notice_view("none")) for name in ("One", "Two")})

    tab = tabs.widget.children[-1]
    assert [len(place.children) for place in tab.children] == [1, 0], "a panel is made when it is turned to"
    tab.selected_index, tab.selected_index = 1, 0
    items.append("new")
    tabs.refresh()
    lists = [place.children[0].children[1] for place in tab.children]
    assert [hasattr(one.children[0], "children") for one in lists] == [True, False]
    assert tabs.open("Two") and not tabs.open("Two") and not tabs.open("Three")
    assert [hasattr(one.children[0], "children") for one in lists] == [True, True]


def test_a_row_that_stays_keeps_its_buttons() -> None:
    items = {"a": 2, "b": 1}

    def drop(name: str) -> None:
        items[name] -= 1

    def row(name: str) -> Row:
        acts = [(f"drop {n}", partial(drop, name)) for n in range(items[name])]
        return Row(name, notice_view(f"{name} {items[name]}"), acts)

    panel = ActionPanel(lambda: [row(name) for name in items if items[name]], notice_view("none"))
    kept = buttons(panel)[0]
    buttons(panel)[1].click()
    assert buttons(panel)[0] is kept and "a 1" in panel.widget.children[1].children[0].children[0].value
    buttons(panel)[0].click()
    assert [one.tooltip for one in buttons(panel)] == ["drop 0 b"]


def test_a_box_switches_what_it_names_and_shows_what_is() -> None:
    states = {"ls": True, "grep": False}

    def turn(name: str, on: bool) -> None:
        if name == "ls":
            raise DeepnbError("not now", "wait")
        states[name] = on

    panel = Switches(lambda: {name: (f"{name} · 9", on) for name, on in states.items()}, turn)
    said, boxes = panel.widget.children
    ls, grep = boxes.children
    grep.value = True
    ls.value = False
    assert states == {"ls": True, "grep": True} and "not now: wait" in said.value
    assert (ls.value, grep.value, grep.description) == (True, True, "grep · 9"), "a refused switch goes back"
    del states["ls"]
    panel.refresh()
    assert boxes.children == (grep,) and ls.comm is None


def test_a_row_changes_in_its_place_and_goes_with_what_it_is_of() -> None:
    state = ["one"]
    panel = ActionPanel(lambda: [Row("a", notice_view(state[0]), [("go", lambda: None)])], notice_view(""))
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
