"""%memory daily, flush, search and promote in a real shell, and what a search shows."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from deepnb.magics import memory_commands
from deepnb.search import Hit
from deepnb.views.search_marks import hits_view
from deepnb.widgets.progress import Progress
from deepnb.widgets.screen import Screen
from tests.support.tables import every_row

AT = '%config DeepNB.clock = "2026-03-02T09:05:00+09:00"'


def test_daily(shell: Any) -> None:
    shell.ok(AT)
    assert shell.ok("%memory daily") == "/memory/2026-03-02.md does not exist yet: type %memory daily TEXT\n"
    told = shell.ok("%memory daily the gateway's host is box-17")
    assert told.startswith("noted in /memory/2026-03-02.md") and "+- the gateway's host is box-17" in told
    assert shell.ok("%memory daily").splitlines()[1:] == ["## 09:05", "- the gateway's host is box-17"]
    shell.ok('%config DeepNB.clock = "2026-03-03T00:01:00+09:00"')
    shell.ok("%memory daily a new day")
    assert list(shell.session.files) == ["/memory/2026-03-02.md", "/memory/2026-03-03.md"]


def test_search(shell: Any) -> None:
    shell.ok(AT)
    shell.ok("%memory daily the gateway's host is box-17")
    for line in ("%memory search gateway host", "%memory search -k 1 gateway host", "%memory search gateway host -k 1"):
        told = shell.ok(line)
        assert told.startswith("search: gateway host · 1 passage") and "/memory/2026-03-02.md:1-2  (" in told
        assert "│ - the »gateway«'s »host« is box-17" in told
    assert "no matches" in shell.ok("%memory search zebra")
    shell.ok("%agent my zebra is called Ida")
    assert "no matches" in shell.ok("%memory search zebra")
    assert "transcript of main:" in shell.ok("%memory search zebra --transcripts")
    assert "usage: %memory search" in shell.fails("%memory search")


def test_promote(shell: Any) -> None:
    shell.ok(AT)
    assert "nothing to promote" in shell.ok("%memory promote")
    shell.ok("%memory daily the gateway's host is box-17")
    shell.ok("%memory daily the printer hums")
    assert shell.fails("%memory promote x") == "'x' is not a number: %memory promote [N...] [--yes]"
    told = shell.ok("%memory promote")
    assert "1  the gateway's host is box-17  memory/2026-03-02.md:2  never searched for" in told
    assert "nothing is written yet: %memory promote N... --yes" in told and "/MEMORY.md" not in shell.session.files
    assert "%memory promote 2 --yes adds these" in shell.ok("%memory promote 2")
    assert shell.ok("%memory promote 2 --yes").startswith("added to /MEMORY.md")
    assert shell.session.files["/MEMORY.md"].startswith(
        "- the printer hums <!-- from memory/2026-03-02.md:3, 2026-03-02 -->"
    )
    assert "\n2 " not in shell.ok("%memory promote") and "gateway" in shell.ok("%memory promote")


def test_flush(shell: Any) -> None:
    shell.ok(AT)
    assert "nothing to flush" in shell.fails("%memory flush")
    shell.ok("%agent We decided to ship on Friday.")
    told = shell.ok("%memory flush")
    assert told.startswith("added to /memory/2026-03-02.md") and "ship on Friday" in told
    assert shell.ok("%memory flush") == "nothing new worth keeping\n"


def test_the_picture_and_the_sources_show_layers_that_are_there(shell: Any) -> None:
    shell.ok(AT)
    shell.ok("%memory daily the gateway's host is box-17")
    shell.ok("%memory add --to /USER.md likes tea")
    shell.ok("%memory add --to /memory/2026-01-01.md long ago")
    told = shell.ok("%memory")
    assert "/USER.md" in told and "no file yet: /AGENTS.md" in told and "/SOUL.md" not in told
    assert (
        told.index("/memory/2026-03-02.md")
        < told.index("other files below /memory")
        < told.index("/memory/2026-01-01.md")
    )
    assert [line.split()[1] for line in shell.ok("%memory sources").splitlines()[3:]] == [
        "/AGENTS.md", "/USER.md", "/memory/2026-03-02.md",
    ]  # fmt: skip
    shell.ok("%agent new open --shared")
    shell.ok("%memory add --to /MEMORY.md a secret")
    assert "a secret" not in shell.ok("%memory")


@every_row("text", ["<b>bold</b> & »marks«", "漢字 gateway 漢字"])
def test_hits_are_escaped_and_marked(text: str) -> None:
    view = hits_view("gateway <b>", [Hit("/memory/<i>.md", 3, 4, text, 1.0, "words")], ["gateway"])
    assert "/memory/<i>.md:3-4  (words)" in view.text()
    html = view.html()
    assert "<b>bold" not in html and "<i>" not in html
    assert ("<mark" in html) == ("gateway" in text)
    assert hits_view("x", [], []).text() == "search: x · 0 passages\nno matches"


def test_a_search_that_takes_long_says_what_is_being_done(shell: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    class Impatient(Progress):
        def __init__(self, screen: Screen, line: str, failed: str) -> None:
            super().__init__(screen, line, after=0, failed=failed)

        def _begin(self) -> None:
            super()._begin()
            begun.set()

    monkeypatch.setattr(memory_commands, "Progress", Impatient)
    hits = shell.session.memory.search_hits

    def slow(*args: Any, **options: Any) -> Any:
        assert begun.wait(30)
        return hits(*args, **options)

    monkeypatch.setattr(shell.session.memory, "search_hits", slow)
    told = shell.ok("%memory search gateway")
    assert told.startswith("note: updating the index ...\nsearch: gateway")
