"""Answers in JupyterLab, live, and in Notebook 7, too, reopened without trust: math, money, code, tasks, images, blocks."""

from base64 import b64encode
from typing import Any

import nbformat
import pytest

from deepnb.views.html import box
from deepnb.views.markdown import markdown_html
from tests import IMPORT_TESTS
from tests.data.math_and_money import MATH, TEXT
from tests.support.browsers import DARK, LIGHT, Workspace, marks, script
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


def looked_at(page: Any) -> dict[str, Any]:
    page.wait_for_function(f"document.querySelectorAll('.jp-OutputArea-output mjx-container').length >= {FORMULAS}")
    return dict(page.evaluate(script("answer")))


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


def test_an_answer_is_drawn_as_it_was_meant_live_and_reopened(workspace: Workspace) -> None:
    notebook = workspace.run("answer.ipynb", [CELL], size=(1000, 1400))
    right(looked_at(notebook.page))
    for front, theme in ((FRONTS[0], DARK), (FRONTS[1], LIGHT)):
        notebook.front = front
        there = workspace.reopen(notebook, theme)
        right(looked_at(there.page))
        there.page.screenshot(path=workspace.place / f"{front[:3]}.png")
        there.close()
    notebook.close()


def test_each_form_of_math_is_typeset_and_nothing_else(workspace: Workspace) -> None:
    samples = [text for text, _ in MATH] + TEXT
    shown = [{"text/html": box(markdown_html(text)), "text/plain": "shown"} for text in samples]
    cells = [
        nbformat.v4.new_code_cell(f"# {i}", outputs=[nbformat.v4.new_output("display_data", data)], execution_count=1)
        for i, data in enumerate(shown)
    ]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), workspace.place / "samples.ipynb")
    notebook = workspace.open("samples.ipynb")
    page = notebook.page
    page.wait_for_selector("[data-icon$=not-trusted], :text-is('Not Trusted')", state="attached")
    expected = [len(formulas) for _, formulas in MATH] + [0] * len(TEXT)
    page.wait_for_function(f"document.querySelectorAll('mjx-container').length >= {sum(expected)}")
    page.evaluate(script("typeset"))  # whatever is one too many is typeset by then
    found = page.evaluate(script("counts"))
    wrong = [
        (text, counts) for text, count, counts in zip(samples, expected, found, strict=True) if counts[:2] != [count, 0]
    ]
    assert wrong == []
    said = dict(zip(TEXT, (counts[2] for counts in found[len(MATH) :]), strict=True))
    for text in ("a price of $5 and $7 each", "C:\\(temp\\", "kill $$; echo $$", "US$ 5 or CA$ 7", "$HOME:$PATH"):
        assert text.replace("\\(", "(") == said[text].strip()
    notebook.close()
