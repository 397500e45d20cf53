"""Whether every view keeps its shape: through JupyterLab's sanitizer for notebooks not run here, and in forced colours."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import nbformat
import pytest

from deepnb.search.hits import Hit
from deepnb.values.budget import Budget, rule_for
from deepnb.values.request import Request, Sent
from deepnb.values.xray import Layer, Stack
from deepnb.views.agent import stack_view
from deepnb.views.budget import BudgetView
from deepnb.views.history import history_view
from deepnb.views.search_marks import hits_view
from deepnb.views.view import TextView, View
from tests.support.browsers import CONTRAST, DARK, Workspace, marks, script, sign
from tests.support.dashboards import edge, forced_colours
from tests.support.word_views import history, views

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

LOST = {"font-variant-numeric", "color:inherit"}
"""Declarations that the sanitizer takes away: figures of the same width, and what an element has without it, too."""
DRAWN = [
    *("display", "color", "backgroundColor", "backgroundImage", "fontFamily", "fontSize", "fontWeight", "textAlign"),
    *("whiteSpace", "overflowX", "overflowY", "flexGrow", "flexWrap", "alignItems", "verticalAlign", "cursor"),
    *("borderTop", "borderRight", "borderBottom", "borderLeft", "borderRadius", "margin", "padding", "lineHeight"),
    *("textDecorationLine", "textIndent", "maxWidth", "maxHeight"),
]


def shown() -> dict[str, View]:
    """Every view; the gauge below its trigger and the stack with some layers, too."""
    budget = Budget({"system": 900, "tools": 2_600, "user": 700, "assistant": 300}, rule_for(8_000), 9)
    layers = tuple(Layer(f"layer {i}", "does something", "deepnb", tokens=1_000 * i) for i in range(4))
    more: dict[str, View] = {
        "gauge": BudgetView(budget, "turn 3", [900, 2_000, 6_900, 3_100, 4_500], [3]),
        "stack": stack_view(Stack(layers, "offline", "turn 1")),
    }
    head = tuple(Sent("tools", f"tool_{i}", "{}", 10 * i) for i in range(4))
    more["items"] = replace(BudgetView(replace(budget, request=Request(head))), unfolded=True)
    found = hits_view("alpha", [Hit("alpha", 1, 2, "alpha beta", 0.5, "alpha")], ["alpha"])
    more["a long line"] = TextView("line", "a" * 3_000)
    return {**dict(views()), **more, "hits": found, "history searched": history_view(history(), "turn 3", "word91")}


@pytest.fixture(scope="module")
def pages(workspace: Workspace) -> Iterator[dict[str, Any]]:
    """The pages of two notebooks that show the same, by their names; one of them is signed."""
    found = {}
    cells = [
        nbformat.v4.new_code_cell(
            f"# {title}",
            outputs=[nbformat.v4.new_output("display_data", {"text/html": view.html(), "text/plain": view.text()})],
            execution_count=1,
        )
        for title, view in shown().items()
    ]
    for name in ("untrusted", "trusted"):
        place = workspace.place / f"{name}.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"title": name}), place)
        if name == "trusted":
            sign(workspace.server, place)
        found[name] = workspace.open(place.name)
        drawn = f"document.querySelectorAll('.jp-RenderedHTMLCommon').length >= {len(cells)}"
        found[name].page.wait_for_function(drawn)
    yield {name: notebook.page for name, notebook in found.items()}
    for notebook in found.values():
        notebook.close()


def declared(element: dict[str, Any]) -> set[str]:
    return {one.replace(" ", "") for one in element["attributes"].get("style", "").split(";") if one.strip()}


def compared(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What of an element differs behind the sanitizer: words, size, looks, attributes, or more than is known to be lost."""
    wrong = [key for key in ("words", "size", "drawn") if old[key] != new[key]]
    wrong += ["attributes"] * (set(old["attributes"]) != set(new["attributes"]))
    lost = {one for one in declared(old) - declared(new) if one.split(":")[0] not in LOST} - LOST
    return [*wrong, *sorted(lost)]


def test_the_sanitizer_leaves_every_view_its_shape(pages: dict[str, Any]) -> None:
    """The same elements, words, attributes, sizes and looks as in a notebook that is trusted."""
    shapes = {}
    for name in ("trusted", "untrusted"):
        pages[name].bring_to_front()
        shapes[name] = pages[name].evaluate(script("shape") % DRAWN)
    failed: list[Any] = []
    for title, before, after in zip(shown(), shapes["trusted"], shapes["untrusted"], strict=True):
        if [one["tag"] for one in before] != [one["tag"] for one in after]:
            failed.append((title, "other elements"))
            continue
        failed += [(title, wrong, old) for old, new in zip(before, after, strict=True) if (wrong := compared(old, new))]
    assert failed == []
    before, after = ([declared(one) for view in shapes[name] for one in view] for name in ("trusted", "untrusted"))
    gone = {one for old, new in zip(before, after, strict=True) for one in old - new}
    assert {one.split(":")[0] for one in gone} == {one.split(":")[0] for one in LOST}, "the sanitizer was there"


def test_the_views_are_easy_to_read_in_the_light_and_in_the_dark(pages: dict[str, Any], workspace: Workspace) -> None:
    assert pages["trusted"].evaluate(CONTRAST) == []
    dark = workspace.open("trusted.ipynb", theme=DARK)
    dark.page.wait_for_function(f"document.querySelectorAll('.jp-RenderedHTMLCommon').length >= {len(shown())}")
    assert dark.page.evaluate(CONTRAST) == []
    dark.close()


def test_in_forced_colours_gauge_trigger_bars_and_frames_are_seen(pages: dict[str, Any]) -> None:
    """In the trusted notebook, as Windows' contrast themes show it."""
    page = pages["trusted"]
    forced_colours(page, True)
    try:
        gauge = page.locator(".jp-CodeCell", has_text="# gauge").locator(".jp-RenderedHTMLCommon")
        parts = gauge.locator("span[title*=' tokens'][style*='flex:'][style*='line-height:18px']")
        assert parts.count() == 4
        assert all(edge(part, "Right") for part in parts.all())
        assert [part.inner_text()[0] for part in parts.all()] == ["S", "T", "U", "A"]
        trigger = gauge.get_by_text("trigger 6,800", exact=True).locator("xpath=..")
        assert edge(trigger, "Right")
        bars = gauge.locator("span[title$=' tokens'][style*='height:'][style*='%']")
        assert bars.count() == 5
        assert all(edge(bar, "Top") for bar in bars.all())
        assert edge(gauge.locator("div[style*='margin:-']"), "Top"), "the trigger across the bars"
        stack = page.locator(".jp-CodeCell", has_text="# stack").last.locator(".jp-RenderedHTMLCommon")
        bars = stack.locator("span[title$='%']")
        assert bars.count() == 3
        assert all(edge(bar, "Top") for bar in bars.all())
        assert edge(stack.locator("div[style*='border-radius:6px']").first, "Left")
    finally:
        forced_colours(page, False)
