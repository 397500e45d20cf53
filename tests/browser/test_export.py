"""An exported page in a browser that is refused every request: the text of the views, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deepnb import Session
from deepnb.views.turn import TurnView
from tests.support.browsers import marks
from tests.support.scripted import Scripted, call, unasked

pytestmark = marks()

ANSWER = "| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nx = 1\n```\n\n![far](https://localhost:9/a.png) <script>document.title='x'</script>"
UNFOLD = "document.querySelectorAll('details').forEach(fold => fold.open = true)"
GROUND = "(({backgroundColor, color}) => [backgroundColor, color])(getComputedStyle(document.body))"


def weigh(what: str) -> str:
    "Weigh something."
    return f"{what} weighs 3 kg"


@pytest.mark.slow
def test_a_page_shows_the_text_of_the_views_and_asks_for_nothing(context: Any, tmp_path: Path) -> None:
    s = Session(model=Scripted(answers=[call("weigh", what="<b>lead</b>"), ANSWER]), **unasked(weigh))
    s.run("how heavy is <i>lead</i>?")
    page = s.export(tmp_path / "a.html").as_uri()
    asked: list[str] = []

    def refuse(route: Any) -> None:
        if route.request.url == page:
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    tab = context.new_page()
    tab.route("**", refuse)
    tab.goto(page)
    tab.evaluate(UNFOLD)
    colours = {}
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        colours[scheme] = tab.evaluate(GROUND)
    seen, title = tab.inner_text("main"), tab.title()
    tab.goto("about:blank")
    tab.set_content("".join(TurnView(turn).html() for turn in s.turns))
    tab.evaluate(UNFOLD)
    drawn = tab.inner_text("body").split()
    tab.close()
    assert seen.split() == ["Thread", "main", *drawn]
    assert "<b>lead</b> weighs 3 kg" in seen
    assert (title, asked) == ("Thread main", [])
    assert [ground for ground, _ in colours.values()] == ["rgb(255, 255, 255)", "rgb(18, 18, 18)"]
    assert all(ground != text for ground, text in colours.values())
