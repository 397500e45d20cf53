"""The first notebook in a terminal: its text, and its cells run in a shell of IPython."""

import json
from contextlib import chdir
from time import sleep

from deepnb.wings.course.lab import FIRST, notebooks

END = "## Live panels"
"""The heading at which the tour ends: what comes then is for a page."""


def run_tour(*, pause: float = 0.0) -> None:
    """Print the notebook step by step, each cell with what it shows; `pause` seconds pass after each text."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    print("deepnb, a tour: offline, with the rule-based teaching model (no LLM). The first turn loads the engine.")
    settings = {"HistoryManager": {"enabled": False}, "InteractiveShell": {"colors": "nocolor"}}
    shell = InteractiveShell.instance(config=Config(settings))
    cells = json.loads((notebooks() / FIRST).read_text(encoding="utf-8"))["cells"]
    with chdir(notebooks()):
        for cell in cells:
            source = "".join(cell["source"])
            if source.startswith(END):
                return
            print(f"\n{source}\n", flush=True)
            if cell["cell_type"] == "markdown":
                sleep(pause)
            else:
                shell.run_cell(source, store_history=False).raise_error()
