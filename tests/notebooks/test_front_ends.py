"""What a notebook that was run leaves for front ends with other rules: VS Code, Colab, GitHub.

Every picture and panel is in it. What VS Code and Colab take is a set of mime types and the core widgets; GitHub shows
HTML with a list of tags and without styles.
"""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import nbformat
import nh3
import pytest
from nbclient import NotebookClient

from deepnb.widgets.actions import TAB_STYLE
from tests.data import rows
from tests.support.browsers import written
from tests.support.notebooks import PATIENT

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

CELLS = rows("cells")["front ends"]
WIDGET = "application/vnd.jupyter.widget-view+json"
STATE = "application/vnd.jupyter.widget-state+json"
CORE = ("@jupyter-widgets/base", "@jupyter-widgets/controls")

# The elements that GitHub leaves in HTML of others, as its Markup library documents them; of attributes those we make.
GITHUB = set(
    re.findall(
        r"\w+",
        "h1 h2 h3 h4 h5 h6 br b i strong em a pre code img tt div ins del sup sub p picture ol ul table thead tbody"
        " tfoot blockquote dl dt dd kbd q samp var hr ruby rt rp li tr td th s strike summary details caption figure"
        " figcaption abbr bdo cite dfn mark small source span time wbr",
    )
)
ATTRIBUTES = {"a": {"href"}, "details": {"open"}, "ol": {"start"}, "*": {"title"}}
BLOCKS = set(re.findall(r"\w+", "div p tr td th li ul ol pre table details summary h1 h2 h3 h4 h5 h6 blockquote br hr"))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    place = tmp_path_factory.mktemp("front_ends")
    notebook = nbformat.read(written(place / "all.ipynb", CELLS), as_version=4)
    resources = {"metadata": {"path": str(place)}}
    NotebookClient(notebook, kernel_name="python3", **PATIENT, resources=resources).execute()
    nbformat.validate(notebook)
    nbformat.write(notebook, place / "all.ipynb")
    return notebook


def outputs(notebook: Any) -> list[tuple[str, dict[str, Any]]]:
    return [
        (cell.source, dict(output.data))
        for cell in notebook.cells
        for output in cell.outputs
        if output.output_type in ("display_data", "execute_result")
    ]


def html_of(notebook: Any) -> list[tuple[str, str, str]]:
    """(source, HTML, text) of every static output of ours; a DataFrame's HTML is pandas'."""
    found = [(s, d["text/html"], d["text/plain"]) for s, d in outputs(notebook) if "text/html" in d]
    return [(source, html, text) for source, html, text in found if 'class="dataframe"' not in html]


def read(html: str) -> str:
    """What is read of HTML without styles, a line for each block; scripts and styles are not read."""
    blocks = re.sub(rf"(?s)<(script|style)\b.*?</\1>|</?(?:{'|'.join(BLOCKS)})\b[^>]*>", "\n", html)
    return unescape(re.sub("<[^>]*>", "", blocks))


def words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text))


# What only the text says: the head of a diff, how to go on by typing, and words for which the HTML has a column.
TEXT_ONLY = re.compile(r"^ *(?:---|\+\+\+|@@).*$|^%agent history --bring.*$|\w*…\w*", re.MULTILINE)
COLUMNS = {"more", "layer", "in", "this", "needs", "call"}


def test_every_output_is_html_and_text_or_a_widget_and_text(ran: Any) -> None:
    seen = {frozenset(data) for _, data in outputs(ran)}
    empty = frozenset[str]()  # the place of what has come to an end, or is to come
    assert seen == {frozenset({"text/html", "text/plain"}), frozenset({WIDGET, "text/plain"}), empty}
    for source, data in outputs(ran):
        buttons = WIDGET in data and "needs your approval" in "".join(
            d.get("text/plain", "") for s, d in outputs(ran) if s == source
        )
        assert not data or data["text/plain"].strip() or buttons, source
        assert WIDGET not in data or set(data[WIDGET]) == {"version_major", "version_minor", "model_id"}, source
    streams = [o.text for cell in ran.cells for o in cell.outputs if o.output_type == "stream"]
    assert streams == [], "nothing is printed"


def test_widgets_are_those_of_the_core_and_beside_each_stands_its_static_twin(ran: Any) -> None:
    with_widgets = {source for source, data in outputs(ran) if WIDGET in data}
    assert {"%agent dashboard", "%memory panel", "%memory edit", "%skills panel", "%agent panel"} <= with_widgets
    static = {source for source, _, _ in html_of(ran)}
    assert with_widgets <= static
    state = ran.metadata.widgets[STATE]["state"]
    assert len(state) > 100 and {model["model_module"] for model in state.values()} <= set(CORE)
    assert {one["state"]["_view_module"] for one in state.values() if one["state"].get("_view_module")} <= set(CORE)
    harm = r"<(?:script|style|iframe|object|embed|link|svg|img)\b|requirejs|(?:src|url)\s*[=(]\s*['\"\\]*http"
    assert not re.findall(harm, json.dumps([one for one in state.values() if one["state"].get("value") != TAB_STYLE]))


def test_with_styles_and_classes_gone_it_says_what_the_text_says(ran: Any) -> None:
    for source, html, text in html_of(ran):
        shown = nh3.clean(html, tags=GITHUB, attributes=ATTRIBUTES, link_rel=None)
        assert "style=" not in shown and "class=" not in shown
        assert re.findall(r"<(\w+)", shown) == re.findall(r"<(\w+)", html), f"{source}: an element is lost"
        if source != "%agent xray":  # its text shows the ends of what the HTML folds
            assert words(TEXT_ONLY.sub("", text)) <= words(read(shown)) | COLUMNS, source


def test_a_saved_notebook_is_small(ran: Any, tmp_path: Path) -> None:
    place = tmp_path / "small.ipynb"
    without = nbformat.from_dict({**ran, "metadata": {k: v for k, v in ran.metadata.items() if k != "widgets"}})
    nbformat.write(without, place)
    print(f"{place.stat().st_size / 1000:,.0f} kB without the state of widgets")
    assert place.stat().st_size < 500_000
