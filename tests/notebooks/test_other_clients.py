"""Every notebook in a front end that lacks something: comms, payloads, updates of outputs, cell ids, each and all.

This stands for VS Code, Colab, consoles and whatever runs a notebook: what such a client would show is put together
here from the kernel's messages.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.support.kernels import Kernel, Ran
from tests.support.notebooks import ALL, copied, masked, read

LACKS = ("comms", "payloads", "updates", "ids")
EVERY = frozenset(LACKS)
WIDGET = "application/vnd.jupyter.widget-view+json"
LOAD = "load_ext deepnb"  # or reload_ext
FEW = ("06_approvals_and_data.ipynb",)
TWICE = re.compile(r"\w.{24,}\w")
"""A line that is long enough not to come twice by chance."""


class Seen:
    def __init__(self, source: str, ran: Ran, lacks: frozenset[str]) -> None:
        """`pages` are the words of its HTML, folds included, and of its updates where there are some."""
        self.source, self.ran = source, ran
        self.texts = [masked(text) for text in _texts(ran, lacks)]
        made = (
            m["data"].get("text/html", "")
            for m in ran.of("display_data", *([] if "updates" in lacks else ["update_display_data"]))
        )
        self.pages = [masked(unescape(re.sub("<[^>]*>", "", re.sub("<br>|</div>", "\n", page)))) for page in made]
        cells = [p["text"] for p in ran.reply.get("payload", ()) if p.get("source") == "set_next_input"]
        self.next = cells if "payloads" not in lacks else []

    @property
    def lines(self) -> Counter[str]:
        return Counter(line.strip() for text in self.texts for line in text.splitlines() if TWICE.search(line))

    @property
    def words(self) -> set[str]:
        return set(re.findall(r"[^\W\d_]{3,}", "\n".join(self.texts)))


def _texts(ran: Ran, lacks: frozenset[str]) -> Iterator[str]:
    now = {} if "updates" in lacks else ran.outputs
    made = [now.get(m.get("transient", {}).get("display_id"), m["data"]) for m in ran.of("display_data")]
    for data in [*made, *(m["data"] for m in ran.of("execute_result"))]:
        if WIDGET not in data or "comms" in lacks:
            yield data.get("text/plain", "")
    yield from (m["text"] for m in ran.of("stream"))
    if ran.status == "error" and not ran.printed:
        yield str(ran.reply["evalue"])


@cache
def played(path: Path, lacks: frozenset[str], *settings: str) -> tuple[list[Seen], str]:
    """The cells of a notebook in a fresh kernel, and in the end the calls that cannot be decided by typing."""
    with TemporaryDirectory() as home, copied(path) as folder:
        kernel = Kernel(folder, {**os.environ, "HOME": home, "IPYTHONDIR": f"{home}/ipython"})
        try:
            cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
            seen = [_run(kernel, cell, lacks) for cell in _with(cells, settings)]
            for _ in range(8):
                if kernel.value("len(__import__('deepnb').current().approvals.asked())") == "0":
                    break
                kernel.ok("%agent reject all")
            left = kernel.value("[c.name for c in __import__('deepnb').current().approvals.asked()]")
        finally:
            kernel.close()
    return seen, left


def _with(cells: list[Any], settings: tuple[str, ...]) -> Iterator[Any]:
    for cell in cells:
        yield cell
        if LOAD in cell.source:
            yield from ({"source": setting, "id": "", "metadata": {}} for setting in settings)


def _run(kernel: Kernel, cell: Any, lacks: frozenset[str]) -> Seen:
    ran = kernel.run(cell["source"], None if "ids" in lacks else cell["id"] or None)
    meant = "raises-exception" in cell["metadata"].get("tags", ())
    assert ran.status == "ok" or ran.asks or meant, f"{cell['source']!r}: {ran.reply}"
    return Seen(cell["source"], ran, lacks)


@pytest.mark.slow
@pytest.mark.kernel
def test_a_front_end_that_lacks_everything_plays_a_notebook_to_its_end() -> None:
    failed = [fault for path in ALL if path.name in FEW for fault in faults(path, EVERY)]
    assert not failed


@pytest.mark.nightly
@pytest.mark.kernel
def test_a_front_end_that_lacks_something_plays_every_notebook_to_its_end() -> None:
    lacks = [*(frozenset({one}) for one in LACKS), EVERY]
    failed = [(sorted(some), fault) for path in ALL for some in lacks for fault in faults(path, some)]
    assert not failed


def faults(path: Path, lacks: frozenset[str]) -> Iterator[tuple[str, str, object]]:
    """(notebook, source of the cell, what is wrong) of all that such a front end shows otherwise than it should."""
    whole, _ = played(path, frozenset())
    seen, left = played(path, lacks)
    if left != "[]":
        yield path.name, left, "calls that nobody can decide"
    so_far = ""
    for full, one in zip(whole, seen, strict=True):
        if more := {line: n for line, n in one.lines.items() if n > max(full.lines[line], 1)}:
            yield path.name, one.source, ("said twice", more)
        for text in one.texts:
            typed = "%agent approve" in text or "%memory accept" in text
            if "needs your approval ·" in text and not typed:
                yield path.name, one.source, "a card without a way to decide"
        so_far += "\n".join([*one.texts, *one.pages])
        if "payloads" in lacks and "updates" not in lacks and (nowhere := _nowhere(full, so_far)):
            yield path.name, one.source, nowhere


def _nowhere(full: Seen, so_far: str) -> list[str]:
    """The lines of the next cell that a front end without payloads has not shown, nor said how to see."""
    so_far = so_far.replace('\\"', '"')  # arguments of a call are shown as JSON
    lines = [line.strip() for text in full.next for line in masked(text).splitlines()]
    return [] if "where no cell appears" in so_far else [line for line in lines if line not in so_far]


def test_what_this_looks_at_can_be_seen_twice() -> None:
    ran = Ran({"status": "ok"}, [_shown("the same long line in the cell"), _shown("the same long line in the cell")])
    assert Seen("", ran, EVERY).lines == {"the same long line in the cell": 2}


def _shown(text: str) -> dict[str, Any]:
    return {"msg_type": "display_data", "content": {"data": {"text/plain": text}, "transient": {"display_id": text}}}
