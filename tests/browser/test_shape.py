"""Whether every view keeps its shape: through JupyterLab's sanitizer for notebooks not run here, and in forced colours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import nbformat
import pytest

from deepnb.core.budget import Budget, rule_for
from deepnb.core.request import Request, Sent
from deepnb.core.stack import Layer, Stack
from deepnb.views.budget import budget_view
from deepnb.views.history import history_view
from deepnb.views.hits import HitsView
from deepnb.views.search_marks import SearchTerms
from deepnb.views.stack import stack_view
from deepnb.views.text_file import text_view
from deepnb.views.view import View
from tests.support.browsers import DARK, LIGHT, TOKEN, Notebook, jupyter_lab, marks, open_chromium, written
from tests.support.hostile_views import Found
from tests.support.word_views import history, views

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

# Of each element of an output, all unfolded: what it is, what is read in it, and how it is drawn.
SHAPE = """
() => [...document.querySelectorAll('.jp-OutputArea-output .jp-RenderedHTMLCommon, .jp-OutputArea-output.jp-RenderedHTMLCommon')].map(root => {
  root.querySelectorAll('details').forEach(d => d.open = true)
  return [...root.querySelectorAll('*')].map(n => {
    const s = getComputedStyle(n), box = n.getBoundingClientRect()
    return {tag: n.tagName.toLowerCase(), words: n.innerText,
            drawn: Object.fromEntries(%s.map(p => [p, s[p]])),
            size: [Math.round(box.width), Math.round(box.height)],
            attributes: Object.fromEntries([...n.attributes].map(a => [a.name, a.value]))}
  })
})
"""
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
        "gauge": budget_view(budget, "turn 3", [900, 2_000, 6_900, 3_100, 4_500], [3]),
        "stack": stack_view(Stack(layers, "offline", "turn 1")),
    }
    head = tuple(Sent("tools", f"tool_{i}", "{}", 10 * i) for i in range(4))
    more["items"] = replace(budget_view(replace(budget, request=Request(head))), unfolded=True)
    found = HitsView("alpha", (Found("alpha beta"),), SearchTerms(("alpha",)))
    more["a long line"] = text_view("line", "a" * 3_000)
    return {**dict(views()), **more, "hits": found, "history searched": history_view(history(), "turn 3", "word91")}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """JupyterLab on two notebooks that show the same, one of them signed."""
    from nbformat.sign import NotebookNotary

    place = tmp_path_factory.mktemp("shape")
    (place / "notebooks").mkdir()
    (place / "home" / "data").mkdir(parents=True)
    notary = NotebookNotary(data_dir=str(place / "home" / "data"))
    for name in ("untrusted", "trusted"):
        cells = [
            nbformat.v4.new_code_cell(
                f"# {title}",
                outputs=[nbformat.v4.new_output("display_data", {"text/html": view.html(), "text/plain": view.text()})],
                execution_count=1,
            )
            for title, view in shown().items()
        ]
        made = nbformat.v4.new_notebook(cells=cells, metadata={"title": name})
        nbformat.write(made, place / "notebooks" / f"{name}.ipynb")
        if name == "trusted":
            notary.sign(nbformat.read(place / "notebooks" / "trusted.ipynb", as_version=4))
    notary.store.close()
    sources = ("%load_ext deepnb", "%agent Remember that I prefer tabs", "%memory panel", "%agent dashboard")
    written(place / "notebooks" / "live.ipynb", sources)
    with jupyter_lab(place / "notebooks", place / "home") as address:
        yield address


@pytest.fixture(scope="module")
def context() -> Iterator[Any]:
    with open_chromium() as context:
        yield context


def opened(context: Any, address: str, name: str) -> Any:
    """The page with all outputs of a notebook in it."""
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{address}/lab/tree/{name}.ipynb?token={TOKEN}&reset")
    page.wait_for_function(f"document.querySelectorAll('.jp-RenderedHTMLCommon').length >= {len(shown())}")
    return page


@pytest.fixture(scope="module")
def shapes(context: Any, server: str) -> dict[str, list[list[dict[str, Any]]]]:
    """Trusted and untrusted: of each view its elements."""
    found = {}
    for name in ("trusted", "untrusted"):
        page = opened(context, server, name)
        found[name] = page.evaluate(SHAPE % DRAWN)
        page.close()
    return found


@pytest.mark.parametrize("at", range(len(shown())), ids=list(shown()))
def test_the_sanitizer_leaves_every_view_its_shape(shapes: dict[str, Any], at: int) -> None:
    """The same elements, words, attributes, sizes and looks as in a notebook that is trusted."""
    before, after = shapes["trusted"][at], shapes["untrusted"][at]
    assert [one["tag"] for one in before] == [one["tag"] for one in after]
    for old, new in zip(before, after, strict=True):
        assert (old["words"], old["size"], old["drawn"]) == (new["words"], new["size"], new["drawn"]), old
        assert set(old["attributes"]) == set(new["attributes"])
        assert {one for one in declared(old) - declared(new) if one.split(":")[0] not in LOST} <= LOST


def test_the_sanitizer_was_there(shapes: dict[str, Any]) -> None:
    before, after = ([declared(one) for view in shapes[k] for one in view] for k in ("trusted", "untrusted"))
    gone = {one for old, new in zip(before, after, strict=True) for one in old - new}
    assert {one.split(":")[0] for one in gone} == {one.split(":")[0] for one in LOST}


def declared(element: dict[str, Any]) -> set[str]:
    """The declarations of an element's style."""
    return {one.replace(" ", "") for one in element["attributes"].get("style", "").split(";") if one.strip()}


@pytest.fixture(scope="module")
def forced(context: Any, server: str) -> Iterator[Any]:
    """The trusted notebook in forced colours, as Windows' contrast themes have them."""
    page = opened(context, server, "trusted")
    page.emulate_media(forced_colors="active", color_scheme="dark")
    yield page
    page.close()


# Whether an element's border is drawn in a colour that can be told from what is behind it.
SEEN = """
([n, side]) => {
  const s = getComputedStyle(n), ground = getComputedStyle(document.body).backgroundColor
  const colour = s[`border${side}Color`], alpha = (colour.match(/rgba\\(.*, ([\\d.]+)\\)/) || [0, 1])[1]
  return parseFloat(s[`border${side}Width`]) > 0 && s[`border${side}Style`] !== 'none' && alpha > 0.9 && colour !== ground
}
"""


def seen(of: Any, side: str) -> bool:
    return bool(of.evaluate("(n, side) => (" + SEEN + ")([n, side])", side))


def test_in_forced_colours_the_parts_of_the_gauge_and_its_trigger_are_seen(forced: Any) -> None:
    gauge = forced.locator(".jp-CodeCell", has_text="# gauge").locator(".jp-RenderedHTMLCommon")
    parts = gauge.locator("span[title*=' tokens'][style*='flex:'][style*='line-height:18px']")
    assert parts.count() == 4
    assert all(seen(part, "Right") for part in parts.all())
    assert [part.inner_text()[0] for part in parts.all()] == ["S", "T", "U", "A"]
    trigger = gauge.get_by_text("trigger 6,800", exact=True).locator("xpath=..")
    assert seen(trigger, "Right")
    bars = gauge.locator("span[title$=' tokens'][style*='height:'][style*='%']")
    assert bars.count() == 5
    assert all(seen(bar, "Top") for bar in bars.all())
    assert seen(gauge.locator("div[style*='margin:-']"), "Top"), "the trigger across the bars"


def test_in_forced_colours_the_bars_of_the_stack_and_frames_are_seen(forced: Any) -> None:
    stack = forced.locator(".jp-CodeCell", has_text="# stack").last.locator(".jp-RenderedHTMLCommon")
    bars = stack.locator("span[title$='%']")
    assert bars.count() == 3
    assert all(seen(bar, "Top") for bar in bars.all())
    assert seen(stack.locator("div[style*='border-radius:6px']").first, "Left")


@pytest.fixture(scope="module")
def live(context: Any, server: str) -> Iterator[Notebook]:
    """A notebook with panels to touch, run."""
    lab = Notebook(context, server, "live.ipynb")
    lab.run_all()
    yield lab
    lab.page.close()


def forced_colours(page: Any, on: bool) -> None:
    page.emulate_media(forced_colors="active" if on else "none", color_scheme="dark" if on else "light")


def test_in_forced_colours_buttons_and_fields_are_seen(live: Notebook) -> None:
    forced_colours(live.page, True)
    field = live.page.get_by_role("spinbutton", name="turn").first
    buttons = live.cell("%memory panel").locator(".jp-OutputArea-output button.jupyter-button").all()
    assert len(buttons) >= 2
    assert all(seen(button, "Top") for button in buttons)
    assert seen(field, "Top")


# How an element's edges are drawn: an outline that is none has a colour and a width, too, and draws nothing.
EDGES = """
n => {
  const s = getComputedStyle(n)
  return [s.outlineStyle === 'none' ? 'none' : s.outline, s.borderColor]
}
"""


@pytest.mark.parametrize("colours", ["light", "dark", "forced"])
def test_what_has_the_keyboard_is_seen(live: Notebook, colours: str) -> None:
    """Each kind of thing in a panel that takes a key is drawn with another edge while it has the focus."""
    live.theme(DARK if colours == "dark" else LIGHT)
    forced_colours(live.page, colours == "forced")
    panels = live.cell("%agent dashboard").locator(".jp-OutputArea-output")
    panels.locator(".lm-TabBar-tab", has_text="Memory").first.click()
    for kind in ("summary", ".lm-TabBar-tab", "input[type=number]", "button.jupyter-button:enabled"):
        if "button" in kind:  # in the first tab none is enabled: no turn changed memory
            panels.locator(".lm-TabBar-tab", has_text="Threads").first.click()
        one = panels.locator(kind).locator("visible=true").first
        live.page.evaluate("() => document.activeElement.blur()")
        before = one.evaluate(EDGES)
        live.page.keyboard.press("Shift")  # what is focused after a key is focused as by the keyboard
        one.focus()
        assert one.evaluate("n => n === document.activeElement")
        assert one.evaluate(EDGES) != before, kind
