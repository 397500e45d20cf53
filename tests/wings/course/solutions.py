"""Solutions of the exercises: cells that one could type below a notebook, in order. They are in solutions.txt and nowhere else."""

from pathlib import Path

from tests.data import sections

CELLS = {
    part: tuple("\n".join(lines).split("\n--\n"))
    for part, lines in sections("solutions", Path(__file__).parent).items()
}
BEFORE = {part.removeprefix("before "): cells for part, cells in CELLS.items() if part.startswith("before")}
"""What of a notebook its exercise builds on."""
SOLUTIONS = {part: cells for part, cells in CELLS.items() if not part.startswith("before")}
