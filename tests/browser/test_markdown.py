"""Answers in JupyterLab and Notebook 7, live and reopened without trust: math, money, code, tasks, images, whole blocks."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from deepnb.views.html import box
from deepnb.views.markdown import markdown_html
from tests import IMPORT_TESTS
from tests.data.math_and_money import MATH, TEXT
from tests.support.browsers import DARK, LIGHT, TOKEN, Notebook, jupyter_lab, marks, open_chromium, setting, written
from tests.support.dashboards import FRONTS
from tests.support.images import png

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

LONG = "One sentence of the paragraph that is long. " * 30
CODE = (
    '''@cached
def area(radius: float = 1.5) -> float:  # the area of a circle
    """It costs $5 and $7, with \\\\(x\\\\) and $y$,
    on two lines."""
    return sum([math.pi * radius ** 2, True, len("a very long line that goes on and on")], '''
    + "0 + " * 60
    + """1)

class Circle(Shape):
    sides = None
"""
)
ANSWER = f"""# Circles with $r > 0$

The area is $\\pi r^2$, i.e. \\(a*b*c\\) with a price of $5 and $7 each, and $HOME is no math.

{LONG}

$$
\\begin{{pmatrix}} 1 & 2 \\\\ 3 & 4 \\end{{pmatrix}}

= \\{{1,2\\}}
$$

```python
{CODE * 4}```

- [x] done
- [ ] to do

| what | costs |
|---|---|
| $n$ | $5 |
| more | $10 |

\\[ E = mc^2 \\]

A dot: ![two dots](data:image/png;base64,{b64encode(png(6, 4)).decode()})
"""
FORMULAS = 6
CELL = f"""{IMPORT_TESTS}
%load_ext deepnb
from deepnb.testing import ScriptedModel
from tests.browser.test_markdown import ANSWER
model = ScriptedModel(answers=[ANSWER], delay=0.002)
%agent --model model go on"""

SEEN = """
() => {
  const all = selector => [...document.querySelectorAll(`.jp-OutputArea-output ${selector}`)]
  const rgba = text => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n }
  const light = c => c.slice(0, 3).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0)
  const contrast = node => {
    const ground = light(rgba(getComputedStyle(node.closest('pre')).backgroundColor)), own = light(rgba(getComputedStyle(node).color))
    return (Math.max(ground, own) + .05) / (Math.min(ground, own) + .05)
  }
  const pres = all('pre').filter(n => n.querySelector('code'))
  return {
    formulas: all('mjx-container').length,
    errors: all('mjx-merror').length,
    codes: pres.map(n => n.innerText),
    scrolls: pres.map(n => n.scrollWidth > n.clientWidth && getComputedStyle(n).overflowX === 'auto'),
    wraps: pres.flatMap(n => [n, n.querySelector('code')]).map(n => getComputedStyle(n).whiteSpace),
    seams: pres.map(n => n.querySelector('code')).map(n => [getComputedStyle(n).backgroundColor, getComputedStyle(n).padding]),
    opaque: pres.map(n => rgba(getComputedStyle(n).backgroundColor)[3]),
    colours: new Set(pres.flatMap(n => [...n.querySelectorAll('span')]).map(n => getComputedStyle(n).color)).size,
    contrast: Math.min(...pres.flatMap(n => [n.querySelector('code'), ...n.querySelectorAll('span')]).map(contrast)),
    paragraphs: all('p').map(n => n.innerText),
    tables: all('table').map(n => n.innerText),
    tasks: all('li').map(n => n.innerText),
    images: all('img').map(n => [n.naturalWidth, n.alt]),
  }
}
"""
COUNTS = """
() => [...document.querySelectorAll('.jp-CodeCell')].map(cell => [
  cell.querySelectorAll('.jp-OutputArea-output mjx-container').length,
  cell.querySelectorAll('mjx-merror').length,
  [...cell.querySelectorAll('.jp-OutputArea-output')].map(n => n.innerText).join(''),
])
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("markdown")


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[tuple[str, Any]]:
    samples = [text for text, _ in MATH] + TEXT
    cells = [
        nbformat.v4.new_code_cell(
            f"# {i}",
            outputs=[
                nbformat.v4.new_output("display_data", {"text/html": box(markdown_html(text)), "text/plain": "shown"})
            ],
            execution_count=1,
        )
        for i, text in enumerate(samples)
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), place / "samples.ipynb")
    with jupyter_lab(place, place / "home") as address, open_chromium(1000, 1400) as context:
        print(f"screenshots in {place}")
        yield address, context


def saved(notebook: Notebook, file: Path) -> None:
    """Save until the outputs are in the file: in Notebook 7 nothing in the page says so."""
    until = time.monotonic() + 30
    while "the area of a circle" not in file.read_text():
        assert time.monotonic() < until, "it is not saved"
        notebook.save()
        notebook.page.wait_for_timeout(500)


def looked_at(page: Any) -> dict[str, Any]:
    page.wait_for_function(f"document.querySelectorAll('.jp-OutputArea-output mjx-container').length >= {FORMULAS}")
    return dict(page.evaluate(SEEN))


def right(seen: dict[str, Any]) -> None:
    """What a page shows of the answer is what was meant."""
    assert (seen["formulas"], seen["errors"]) == (FORMULAS, 0)
    assert [code.strip() for code in seen["codes"]] == [(CODE * 4).strip()], "one block, in one piece"
    assert seen["scrolls"] == [True] and set(seen["wraps"]) == {"pre"}
    assert seen["seams"] == [["rgba(0, 0, 0, 0)", "0px"]]
    assert seen["opaque"] == [1] and seen["colours"] >= 5 and seen["contrast"] >= 4.5
    said = [" ".join(words.split()) for words in seen["paragraphs"]]
    assert LONG.strip() in said, "a paragraph in one piece"
    assert any("with a price of $5 and $7 each, and $HOME is no math." in words for words in said)
    assert [table.split() for table in seen["tables"]] == [
        ["what", "costs", *seen["tables"][0].split()[2:3], "$5", "more", "$10"]
    ]
    assert [task for task in seen["tasks"] if task[0] in "☐☑"] == ["☑ done", "☐ to do"]
    assert [alt for width, alt in seen["images"] if width > 0] == ["two dots"]


def untrusted(page: Any) -> None:
    """The page has had its sanitizer on what it shows, and says so."""
    page.wait_for_selector("[data-icon$=not-trusted], :text-is('Not Trusted')", state="attached")


@pytest.mark.parametrize("front", FRONTS)
def test_an_answer_is_drawn_as_it_was_meant_live_and_reopened(place: Path, server: tuple[str, Any], front: str) -> None:
    address, context = server
    name = front[:3]
    setting(place / "home", "apputils-extension/themes", {"theme": LIGHT})
    written(place / f"{name}.ipynb", [CELL])
    notebook = Notebook(context, address, f"{name}.ipynb", front)
    notebook.run_all()
    right(looked_at(notebook.page))
    notebook.page.screenshot(path=place / f"{name}_live.png", full_page=True)
    saved(notebook, place / f"{name}.ipynb")
    notebook.page.close()
    reopened = nbformat.read(place / f"{name}.ipynb", as_version=4)
    reopened.metadata["title"] = "what was signed is another"
    nbformat.write(reopened, place / f"{name}_copy.ipynb")
    for theme in (LIGHT, DARK):
        setting(place / "home", "apputils-extension/themes", {"theme": theme})
        page = context.new_page()
        page.goto(f"{address}/{front}/{name}_copy.ipynb?token={TOKEN}&reset")
        page.wait_for_selector(f"body[data-jp-theme-name='{theme}']", state="attached")
        right(looked_at(page))
        untrusted(page)
        page.locator(".jp-CodeCell").first.evaluate("node => node.scrollIntoView()")
        page.screenshot(path=place / f"{name}_{theme.split()[-1]}.png", full_page=True)
        page.close()


@pytest.mark.parametrize("front", FRONTS)
def test_each_form_of_math_is_typeset_and_nothing_else(place: Path, server: tuple[str, Any], front: str) -> None:
    address, context = server
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{address}/{front}/samples.ipynb?token={TOKEN}&reset")
    expected = [len(formulas) for _, formulas in MATH] + [0] * len(TEXT)
    page.wait_for_function(f"document.querySelectorAll('mjx-container').length >= {sum(expected)}")
    untrusted(page)
    page.wait_for_timeout(500)  # whatever is one too many
    found = page.evaluate(COUNTS)
    wrong = [
        (text, counts)
        for text, count, counts in zip([*(text for text, _ in MATH), *TEXT], expected, found, strict=True)
        if counts[:2] != [count, 0]
    ]
    assert wrong == []
    shown = dict(zip(TEXT, (counts[2] for counts in found[len(MATH) :]), strict=True))
    for text in ("a price of $5 and $7 each", "C:\\(temp\\", "kill $$; echo $$", "US$ 5 or CA$ 7", "$HOME:$PATH"):
        assert text.replace("\\(", "(") == shown[text].strip()
    page.close()
