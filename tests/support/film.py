"""`python -m tests.support.film [FILE.webp]` takes the film of README in JupyterLab, of what it really shows."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

from tests import ROOT
from tests.support.browsers import Notebook
from tests.support.screenshots import stage

WIDTH, HEIGHT, SCALE = 880, 690, 1.25

# A caption over JupyterLab's menu, a pointer where the mouse is, and no buttons in the cells.
DRESS = """caption => {
  const add = (id, style) => document.body.appendChild(Object.assign(document.createElement('div'), {id, style}))
  add('caption', `position:fixed; inset:0 0 auto 0; height:58px; z-index:20000; background:#1f2937; color:#fff;
    padding-left:58px; font:600 20px/58px system-ui, sans-serif; pointer-events:none`).textContent = caption
  const at = add('pointer', `position:fixed; left:0; top:0; width:22px; height:22px; margin:-11px; border-radius:50%;
    z-index:20001; background:#f59e0b99; border:2px solid #b45309; pointer-events:none; display:none`)
  document.addEventListener('mousemove', e => { at.style.transform = `translate(${e.clientX}px, ${e.clientY}px)` }, true)
  add('style').outerHTML = '<style>.jp-cell-toolbar, .jp-cell-menu, .jp-Notebook-footer {display: none !important}</style>'
}"""
POINTER = "shown => { document.getElementById('pointer').style.display = shown ? 'block' : 'none' }"


class Film:
    def __init__(self, context: Any, address: str) -> None:
        self._context, self._address = context, address
        self.frames, self.times = list[bytes](), list[int]()

    def open(self, name: str, caption: str) -> None:
        self.lab = Notebook(self._context, self._address, f"{name}.ipynb")
        self.page = self.lab.page
        self.page.keyboard.press("Control+b")
        self.lab.run_all()
        self.page.evaluate(DRESS, caption)

    def hold(self, milliseconds: int) -> None:
        """Take a frame; one that is as the last one makes that longer."""
        self.page.wait_for_timeout(300)
        box = self.page.locator(".jp-NotebookPanel").bounding_box()
        clip = {"x": box["x"], "y": 0, "width": box["width"], "height": box["y"] + box["height"]}
        frame = self.page.screenshot(clip=clip, caret="initial")
        if self.frames and self.frames[-1] == frame:
            self.times[-1] += milliseconds
        else:
            self.frames.append(frame)
            self.times.append(milliseconds)

    def show(self, cell: Any, milliseconds: int, block: str = "start") -> None:
        cell.evaluate("(node, block) => node.scrollIntoView({block})", block)
        self.hold(milliseconds)

    def click(self, target: Any) -> None:
        box = target.bounding_box()
        at = {"x": min(box["width"] / 2, 60), "y": min(box["height"] / 2, 10)}
        target.hover(position=at)
        self.page.evaluate(POINTER, True)
        self.hold(800)
        target.click(position=at)
        self.page.evaluate(POINTER, False)
        self.page.mouse.move(WIDTH - 5, HEIGHT - 5)

    def type(self, words: str) -> Any:
        """Type a cell below the last one, run it and return it."""
        cell = self.lab.add()
        for at in range(0, len(words), 4):
            self.page.keyboard.insert_text(words[at : at + 4])
            self.hold(120)
        self.hold(400)
        self.page.keyboard.press("Control+Enter")
        self.lab.finished(slice(-1, None))
        return cell

    def write(self, target: Path) -> None:
        first, *others = (Image.open(io.BytesIO(frame)).convert("RGB") for frame in self.frames)
        options: Any = {"lossless": True, "quality": 90, "method": 5, "minimize_size": True, "loop": 0}
        first.save(target, save_all=True, append_images=others, duration=self.times, **options)


def compare(film: Film) -> None:
    film.open("compare", "1 · Compare policies or models, side by side")
    film.show(film.lab.cell("%load_ext"), 3000)
    film.show(film.type("%agent --compare memory_refresh=thread,call when is the release?"), 6000)


def prompt(film: Film) -> None:
    film.open("prompt", "2 · See what changed in the prompt since the last request")
    film.show(film.lab.cell("%agent when is"), 2500, "end")
    cell = film.type("%agent dashboard")
    film.show(cell, 2000)
    film.click(cell.locator(".lm-TabBar-tabLabel:text-is('Prompt')"))
    film.hold(1500)
    film.click(cell.locator("summary", has_text="changed: /AGENTS.md").first)
    film.hold(5000)


def restart(film: Film) -> None:
    film.open("restart", "3 · Restart the kernel while a call waits: its card is back")
    kept = film.lab.cell("%agent persist")
    film.show(kept, 3500)
    film.click(film.page.get_by_role("button", name="Restart the kernel").first)
    film.click(film.page.get_by_role("button", name="Confirm Kernel Restart"))
    film.lab.ready()
    film.hold(1000)
    film.click(film.lab.cell("%load_ext").locator(".cm-content"))
    for _ in range(2):
        film.page.keyboard.press("Shift+Enter")
        film.hold(500)
    approve = kept.get_by_role("button", name="Approve", exact=True)
    approve.wait_for()
    film.show(kept, 3500)
    film.click(approve)
    kept.get_by_text("I wrote 1 line").wait_for()
    film.hold(4000)


def journal(film: Film) -> None:
    film.open("journal", "4 · The journal of memory: revert one change, keep the others")
    film.hold(2500)
    for words, milliseconds in (("%memory log", 3000), ("%memory revert 1", 3500), ("%memory log", 5000)):
        film.show(film.type(words), milliseconds, "end")


LOAD, ASK = "%load_ext deepnb\n", "%agent when is the release?"
FRIDAY, MONDAY = "%memory add The release is on Friday.", "%%memory /AGENTS.md\n- The release is on Monday."
SCENES: dict[Callable[[Film], None], tuple[str, ...]] = {
    compare: (LOAD + FRIDAY, ASK, MONDAY),
    prompt: (f'{LOAD}%config DeepNB.memory_refresh = "call"\n{FRIDAY}', ASK, MONDAY, ASK),
    restart: (f"{LOAD}%agent mount /data disk:data", "%agent persist kept.db", "%agent write a file /data/release.md with: Monday"),
    journal: (LOAD, "%agent Remember that I prefer metric units", "%agent Remember that I live in Lisbon"),
}  # fmt: skip


def main(target: Path) -> None:
    cells = {scene.__name__: sources for scene, sources in SCENES.items()}
    with stage(cells, WIDTH, HEIGHT, SCALE) as (context, address):
        film = Film(context, address)
        for scene in SCENES:
            scene(film)
    film.write(target)
    print(f"{target.name}: {target.stat().st_size:,} bytes, {len(film.frames)} frames, {sum(film.times) / 1000:.0f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "notebooks" / "images" / "film.webp")
