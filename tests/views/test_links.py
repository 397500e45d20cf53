"""Links, pictures and templates that come from data, in every view: what may open, opens apart; nothing else does."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from deepnb.views.growing_markdown import GrowingMarkdown
from deepnb.views.turn_segments import Answer
from tests.support.hostile_views import views
from tests.support.tables import every_row

SAFE = {
    "inline": "[there](https://a.example/x?y=1&z=2)",
    "with a title": '[there](http://a.example "a title")',
    "reference": "[there][1]\n\n[1]: https://a.example",
    "in angles": "<https://a.example>",
    "mail": "<me@a.example>",
    "in a table": "| a |\n|---|\n| [there](https://a.example) |",
    "in a heading": "# [there](https://a.example)",
    "a picture": "![alt](https://a.example/p.png)",
    "a picture in a link": "[![alt](https://a.example/p.png)](https://b.example)",
}
UNSAFE = (
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "java\tscript:alert(1)",
    "java&#115;cript:alert(1)",
    "javascript&colon;alert(1)",
    "data:text/html,<b>x</b>",
    "data:image/svg+xml;base64,PHN2Zz4=",
    "vbscript:msgbox(1)",
    "file:///etc/passwd",
    "blob:https://a.example/1",
    "//a.example/x",
    "/logout",
    "#top",
    "?a=b",
)
WRITTEN = ("[x]({})", "[x](<{}>)", "<{}>", "![x]({})", "[x][1]\n\n[1]: {}", '<a href="{}">x</a>', "<img src='{}'>")
PICTURES = (
    "![alt](https://a.example/p.png)",
    "![alt][p]\n\n[p]: https://a.example/p.png",
    "<img src=https://a.example/p.png>",
    "<img srcset='https://a.example/p.png 2x'>",
    "<picture><source srcset=https://a.example/p.png></picture>",
    "<svg><image href=https://a.example/p.png /></svg>",
    "<p style='background:url(https://a.example/p.png)'>x</p>",
    "<style>@import 'https://a.example/p.css'</style>",
    "<link rel=stylesheet href=https://a.example/p.css>",
    "<input type=image src=https://a.example/p.png>",
    "<table background=https://a.example/p.png></table>",
    "![alt](data:image/svg+xml;base64,PHN2Zz4=)",
    "![alt](data:image/png;base64,PHN2Zz4=)",
    "![alt](data:image/png,iVBORw0KGgo=)",
    "![alt](data:text/html;base64,iVBORw0KGgo=)",
    "![alt](<data:image/png;base64,iVBORw0KGgo= onerror=alert(1)>)",
    "[alt](data:image/png;base64,iVBORw0KGgo=)",
)
TEMPLATES = (
    "{{1234*5678}}",
    "{%set x=1%}",
    "{#note#}",
    "${1234*5678}",
    "<%=1234*5678%>",
    "#{1234*5678}",
    "{1234*5678}",
)
LOADING = {"src", "srcset", "poster", "background", "data", "action", "formaction", "ping", "xlink:href", "cite"}


class Read(HTMLParser):
    """The elements of some markup with their attributes, and its words."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, Any]]] = []
        self.words = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words += data

    @property
    def links(self) -> list[dict[str, Any]]:
        return [attributes for tag, attributes in self.elements if tag == "a"]


def drawn(text: str, at: int = 0, of: int = 1) -> list[tuple[str, Read]]:
    """Every view of a text, or of each `of` of them the one at `at`; each markup once."""
    found = {view.html(): name for name, view in views(text, at, of)}
    return [(name, Read(markup)) for markup, name in found.items()]


@every_row("text", SAFE.values(), ids=SAFE)
def test_every_link_opens_apart_and_tells_nobody_where_it_was(text: str) -> None:
    linked = set()
    for name, read in drawn(text):
        for link in read.links:
            linked.add(name)
            assert link["target"] == "_blank" and link["rel"] == "noopener noreferrer", name
            assert link["href"].startswith(("https://", "http://", "mailto:")), name
            assert set(link) == {"href", "target", "rel"}, name
    assert {"turn", "turn as it runs", "piece of an answer"} <= linked


@pytest.mark.parametrize("of", [pytest.param(3, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.nightly)])
@every_row("address", UNSAFE)
def test_an_address_that_would_run_or_lead_inside_is_no_link(address: str, of: int) -> None:
    for form in WRITTEN:
        text = form.format(address)
        for name, read in drawn(text, UNSAFE.index(address) + WRITTEN.index(form), of):
            assert read.links == [], f"{name}: {text}"
            assert not [a for _, attributes in read.elements for a in attributes if a.startswith("on")], name


@every_row("text", PICTURES)
def test_nothing_is_loaded_from_afar_to_show_a_picture(text: str) -> None:
    for name, read in drawn(text):
        for tag, attributes in read.elements:
            assert tag not in ("img", "picture", "source", "image", "svg", "style", "link", "input", "iframe"), name
            assert not LOADING & set(attributes), name
            assert "url(" not in (attributes.get("style") or ""), name


@every_row(("kind", "data"), [("png", "iVBORw0KGgo="), ("jpeg", "/9j/4AAQ"), ("gif", "R0lGODlh"), ("webp", "UklGRgAA")])
def test_an_image_given_as_data_is_shown_in_an_answer_and_named_in_text(kind: str, data: str) -> None:
    address = f"data:image/{kind};base64,{data}"
    answer = Answer(1, [f"see ![a cat]({address}) and [a link]({address})"])
    images = [attributes for tag, attributes in Read(answer.html()).elements if tag == "img"]
    assert images == [{"src": address, "alt": "a cat", "style": "max-width:100%;max-height:30em"}]
    assert answer.text() == f"see [picture: a cat] and [a link]({address})"


def test_half_of_an_image_is_named_and_not_cut() -> None:
    growing = GrowingMarkdown()
    growing.add("![a cat](data:image/png;base64,")
    for _ in range(40):
        growing.add("iVBORw0KGgo")
        assert growing.cut() is False
    assert "iVBOR" not in growing.end.html() + growing.end.text() and "[picture: a cat]" in growing.end.html()
    growing.add(")")
    assert growing.end.html().count("<img ") == 1


def test_a_picture_can_be_looked_at_by_a_click() -> None:
    shown = dict(drawn("![a cat](https://a.example/p.png)"))["turn"]
    assert "[picture: a cat] https://a.example/p.png" in shown.words


@every_row("text", TEMPLATES)
def test_a_template_in_data_is_a_text_like_any_other(text: str) -> None:
    """Whether of Jinja, of JavaScript or of Python: each view shows it letter by letter, none its value."""
    for name, view in views(text):
        shown = Read(view.html())
        assert text in shown.words or name == "piece of an answer", name
        assert "7006652" not in shown.words + view.text(), name


def test_a_template_in_an_output_is_not_filled_in_by_an_export() -> None:
    nbconvert = pytest.importorskip("nbconvert")
    import nbformat

    shown = "".join(view.html() for text in TEMPLATES for name, view in views(text) if name == "turn")
    output = nbformat.v4.new_output("display_data", data={"text/html": shown, "text/plain": "shown"})
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("{{1234*5678}}", outputs=[output])])
    page = nbconvert.HTMLExporter().from_notebook_node(notebook)[0]
    assert "7006652" not in page
    words = Read(page).words
    assert all(text in words for text in TEMPLATES)
