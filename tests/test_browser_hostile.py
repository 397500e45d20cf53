"""Texts that try to run something, in a real Chromium: live, reopened (untrusted and trusted) and exported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zlib import crc32

import nbformat
import pytest
from browsers import TOKEN, Notebook, chromium, jupyter_lab, open_chromium
from hostile_views import makers

from deepnb.views import html as h
from deepnb.views.segments import Answer

sys.path.insert(0, str(Path(__file__).parent / "data"))
import hostile

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="no chromium, chromium-browser or google-chrome here"),
]
pytest.importorskip("jupyterlab")
pytest.importorskip("playwright")

EACH = 45
"""Texts on one page."""
SOME = 1
"""Views that a text is exported in, another for each, besides the answer and the turn."""

# What a reader may do by accident: unfold everything, hover, focus, press, and follow what is no plain link.
TOUCH = """
() => {
  for (const d of document.querySelectorAll('details')) d.open = true
  const roots = document.querySelectorAll(%r)
  let seen = 0
  for (const root of roots) for (const n of root.querySelectorAll('*')) {
    seen++
    if (!['DIV', 'P', 'TD', 'SPAN', 'PRE'].includes(n.tagName) || [...n.attributes].some(a => /^on/i.test(a.name))) for (const kind of ['mouseover', 'mouseenter', 'pointerover', 'focus', 'focusin', 'blur', 'wheel', 'scroll', 'cut'])
      n.dispatchEvent(new Event(kind, {bubbles: false}))
    const href = n.getAttribute && (n.getAttribute('href') || n.getAttribute('xlink:href')) || ''
    if (!/^(https?:|mailto:)/i.test(href) && !n.closest('summary')) n.dispatchEvent(new Event('click', {bubbles: false}))
    if (href && !/^(https?:|mailto:)/i.test(href)) n.click?.()
  }
  return seen
}
"""
# Elements, attributes and addresses that no view of ours makes, as the browser's own parser sees them.
ODD = """
() => {
  const odd = new Set()
  const bad = /^(script|style|iframe|object|embed|img|video|audio|source|svg|math|form|input|textarea|select|link|meta|base|template)$/i
  for (const root of document.querySelectorAll(%r)) for (const n of root.querySelectorAll('*')) {
    if (bad.test(n.tagName) && !n.closest('mjx-container')) odd.add('<' + n.tagName + '>')
    for (const a of n.attributes) {
      if (/^on/i.test(a.name)) odd.add(a.name)
      if (/^(href|src|action|formaction|ping|srcset|background|data|poster)$/i.test(a.name) && !/^(https?:|mailto:)/i.test(a.value))
        odd.add(a.name + '=' + a.value.slice(0, 60))
    }
    if (/url\\(|fixed/i.test(n.getAttribute('style') || '')) odd.add('style=' + n.getAttribute('style').slice(0, 80))
  }
  return [...odd]
}
"""


class Watched:
    """A page, and all that should not happen on it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.dialogs: list[str] = []
        self.abroad: list[str] = []
        self.opened: list[str] = []
        page.set_default_timeout(120_000)
        page.on("dialog", self._dialog)
        page.on("request", self._request)
        page.on("popup", lambda other: self.opened.append(other.url))

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        host = urlsplit(request.url).hostname
        if host not in (None, "127.0.0.1", "localhost"):
            self.abroad.append(request.url[:120])

    def touch(self, root: str) -> int:
        """Do to all below `root` what a reader may; gives how many elements that were."""
        seen = self.page.evaluate(TOUCH.replace("%r", repr(root)))
        self.page.wait_for_timeout(300)
        return int(seen)

    def hits(self) -> bool:
        """Whether anything ran."""
        return bool(self.page.evaluate("window.__hit")) or bool(self.dialogs)

    def clean(self, root: str) -> None:
        assert self.touch(root) > 500, "there is something to see"
        assert not self.hits(), "it ran"
        assert self.abroad == [] and self.opened == []
        assert self.page.evaluate(ODD.replace("%r", repr(root))) == []


@pytest.fixture(scope="module")
def context() -> Iterator[Any]:
    with open_chromium() as context:
        yield context


def drawn(text: str, some: int | None = None) -> str:
    """Every view with `text` in all its fields, as one piece of HTML; or the answer, the turn and `some` more."""
    shown = [make for _, make in makers(text)]
    if some is not None:
        begin = crc32(text.encode(errors="replace")) % len(shown)
        shown = [shown[-1], *(shown * 2)[begin : begin + some]]
    return Answer(1, [text]).html() + "".join(dict.fromkeys(make().html() for make in shown))


def page_of(texts: list[str]) -> str:
    return "<!doctype html><meta charset=utf-8><main>" + "".join(map(drawn, texts)) + "</main>"


def groups() -> list[list[str]]:
    return [hostile.SHORT[at : at + EACH] for at in range(0, len(hostile.SHORT), EACH)]


def notebook(texts: list[str], some: int | None = None) -> Any:
    """A notebook with what was shown of the texts, five in a cell."""
    cells = []
    for at in range(0, len(texts), 5):
        shown = "".join(drawn(text, some) for text in texts[at : at + 5])
        data = {"text/html": shown, "text/plain": "shown"}
        output = nbformat.v4.new_output("display_data", data=data)
        cells.append(nbformat.v4.new_code_cell("%agent go on", outputs=[output], execution_count=1))
    made = nbformat.v4.new_notebook(cells=cells)
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    return made


@pytest.mark.parametrize("at", range(len(groups())))
def test_nothing_runs_where_all_is_trusted(context: Any, at: int) -> None:
    """As in a live output: the markup stands in the page as it is, no sanitizer of the front end before it."""
    watched = Watched(context.new_page())
    watched.page.set_content(page_of(groups()[at]), wait_until="load")
    watched.clean("main")
    watched.page.close()


def test_a_planted_hole_is_found(context: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same texts through a path that escapes nothing: many run, and many ask for the host that is none."""
    from playwright.sync_api import Error

    monkeypatch.setattr(h, "esc", lambda text: h.Html(text))
    ran, asked, odd = 0, 0, 0
    watched = Watched(context.new_page())
    for text in [t for t in hostile.SCRIPT + hostile.HANDLER + hostile.SVG if "refresh" not in t]:
        markup = h.box(text).encode(errors="replace").decode()
        watched.page.goto("about:blank")
        watched.abroad.clear()
        watched.page.set_content(f"<!doctype html><main>{markup}</main>", wait_until="commit")
        try:
            odd += bool(watched.page.evaluate(ODD.replace("%r", "'main'")))
            watched.page.evaluate(TOUCH.replace("%r", "'main'"))
            watched.page.wait_for_timeout(30)
            ran += watched.hits()
        except Error:  # the text has sent the page elsewhere
            ran += 1
        asked += bool(watched.abroad)
        watched.dialogs.clear()
    assert ran >= 40, f"only {ran} ran"
    assert asked >= 5, f"only {asked} asked"
    assert odd >= 70, f"only {odd} were seen"


def test_nothing_runs_in_exported_html(context: Any, tmp_path: Path) -> None:
    """Every text in the answer, the turn and one view more, all in one file: nbconvert takes its time."""
    nbconvert = pytest.importorskip("nbconvert")
    exporter = nbconvert.HTMLExporter(mathjax_url="", require_js_url="", jquery_url="", mermaid_js_url="")
    body, _ = exporter.from_notebook_node(notebook(hostile.SHORT, some=SOME))
    place = tmp_path / "exported.html"
    place.write_text(body, encoding="utf-8")
    watched = Watched(context.new_page())
    watched.page.goto(place.as_uri(), wait_until="load")
    watched.clean(".jp-RenderedHTMLCommon")
    watched.page.close()


@pytest.mark.parametrize("trusted", [False, True], ids=["untrusted", "trusted"])
def test_nothing_runs_in_a_reopened_notebook(context: Any, trusted: bool, tmp_path: Path) -> None:
    """In JupyterLab, which typesets formulas, too; untrusted HTML goes through its own sanitizer before."""
    made = notebook(hostile.SHORT, some=1)
    place = tmp_path / "notebooks"
    place.mkdir()
    nbformat.write(made, place / "hostile.ipynb")
    if trusted:
        from nbformat.sign import NotebookNotary

        (tmp_path / "home" / "data").mkdir(parents=True)
        notary = NotebookNotary(data_dir=str(tmp_path / "home" / "data"))
        notary.sign(nbformat.read(place / "hostile.ipynb", as_version=4))
        notary.store.close()
    with jupyter_lab(place, tmp_path / "home") as address:
        page = context.new_page()
        watched = Watched(page)
        page.goto(f"{address}/lab/tree/hostile.ipynb?token={TOKEN}&reset")
        page.wait_for_selector(".jp-Notebook .jp-CodeCell")
        page.wait_for_function(f"document.querySelectorAll('.jp-OutputArea-output').length >= {len(made.cells)}")
        page.wait_for_timeout(2_000)
        watched.clean(".jp-RenderedHTMLCommon > div")
        assert page.locator(".jp-RenderedHTMLCommon > div").count() >= len(hostile.SHORT)
        page.close()


LIVE = """
import sys
sys.path[:0] = {places!r}
import hostile
from scripted import Scripted, call
def hostile_tool(text: str) -> str:
    "<img src=x onerror=window.__hit=1>"
    return "\\n".join(hostile.SHORT)
words = [call("ls", id=text[:40], path=text) for text in hostile.SHORT[:20]]
bad = Scripted(answers=[*words, "\\n\\n".join(hostile.MARKDOWN + hostile.LINK), "\\n".join(hostile.SHORT)])
%load_ext deepnb
%config DeepNB.max_steps = 200
"""
SHOWN = (
    "%agent --model bad <script>window.__hit=1</script>",
    "%agent --model bad go on",
    "for text in hostile.SHORT[::4]:\n    get_ipython().run_line_magic('memory', 'add ' + ' '.join(clean(text).split())[:300])",
    "%memory",
    "%memory panel",
    "%agent panel",
    "%agent xray",
    "%agent turns",
    "%agent history",
    "%memory show",
)


def test_nothing_runs_in_a_live_notebook(context: Any, tmp_path: Path) -> None:
    """A model, tools and memory that are hostile, in a kernel that runs: outputs, panels and their widgets."""
    here = Path(__file__).parent
    setup = LIVE.format(places=[str(here), str(here / "data")]) + "\nfrom deepnb.views.plain import clean"
    cells = [nbformat.v4.new_code_cell(source) for source in (setup, *SHOWN)]
    made = nbformat.v4.new_notebook(cells=cells)
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    place = tmp_path / "notebooks"
    place.mkdir()
    nbformat.write(made, place / "live.ipynb")
    with jupyter_lab(place, tmp_path / "home") as address:
        lab = Notebook(context, address, "live.ipynb")
        watched = Watched(lab.page)
        lab.run_all()
        lab.page.get_by_role("spinbutton", name="turn").first.wait_for()
        for tab in lab.page.locator(".jupyter-widgets .lm-TabBar-tab").all():
            tab.click()
        assert (
            lab.page.evaluate("document.querySelectorAll('.widget-html-content, .jp-RenderedHTMLCommon').length") > 10
        )
        watched.clean(".widget-html-content, .jp-RenderedHTMLCommon > div")
        lab.page.close()
