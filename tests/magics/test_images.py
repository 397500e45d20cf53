"""`{fig}` in a cell's prompt: what is sent as an image, what stays text, and what is not read."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from IPython.display import Image

from deepnb.magics.interpolate import fill
from deepnb.values.image import LARGEST
from tests.support.images import jpeg, png
from tests.support.shells import Shell
from tests.support.tables import every_row

PNG = png(4, 3)


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    there = tmp_path / "project"
    there.mkdir()
    monkeypatch.chdir(there)
    return there


def filled(value: Any, name: str = "fig") -> Any:
    return fill(f"see {{{name}}}", {"fig": value})


@every_row(
    ("value", "name", "marker"),
    [
        (PNG, "fig", "[image: fig, 4x3 png]"),
        (bytearray(jpeg(8, 9)), "fig", "[image: fig, 8x9 jpeg]"),
        (Image(data=PNG), "fig", "[image: fig, 4x3 png]"),
        ([PNG], "fig[0]", "[image: fig[0], 4x3 png]"),
        ({"a": PNG}, "fig[a]", "[image: fig[a], 4x3 png]"),
    ],
)
def test_a_value_that_is_an_image_goes_with_the_prompt(value, name, marker):
    made = filled(value, name)
    assert (made.text, [one.marker for one in made.images], made.filled) == (f"see {marker}", [marker], (name,))


def test_named_twice_it_is_sent_once_and_in_code_not_at_all():
    made = fill("{fig} and {fig}, `{other}`", {"fig": PNG, "other": PNG})
    assert made.text == "[image: fig, 4x3 png] and [image: fig, 4x3 png], `{other}`" and len(made.images) == 1


def test_a_path_in_the_working_directory_is_read_and_one_outside_is_not(project: Path):
    for file in (project / "in.png", project.parent / "out.png"):
        file.write_bytes(PNG)
    (project / "link.png").symlink_to("../out.png")
    assert filled(Path("in.png")).images[0].data == PNG
    for path in (Path("../out.png"), project.parent / "out.png", Path("link.png")):
        made = filled(path)
        assert made.images == () and made.text == "see {fig}"
        assert made.notes == (
            "{fig} is left as typed: fig is outside the working directory, and was not read:"
            " put IPython.display.Image(filename=...) of it into a variable to send it",
        )
    assert filled(Image(filename=str(project.parent / "out.png"))).images[0].data == PNG


class Bytes(bytes):
    def startswith(self, *args: Any) -> bool:
        raise AssertionError


class Shown(Image):
    def _repr_png_(self) -> Any:
        raise AssertionError


@pytest.mark.parametrize("value", ["in.png", b"text", Bytes(PNG), Path("none.png"), Path("in.txt"), Shown(data=PNG)])
def test_what_is_no_image_stays_text(project: Path, value):
    for name in ("in.png", "in.txt"):
        (project / name).write_bytes(PNG)
    made = filled(value)
    assert made.images == () and made.notes == () and made.text != "see {fig}"


def test_a_large_one_is_a_line():
    made = filled(PNG + bytes(LARGEST))
    assert made.images == () and made.notes == (
        "{fig} is left as typed: fig has 5.0 MB: make it smaller: images of up to 5 MB are sent",
    )


def test_in_a_cell_the_teaching_model_gets_words_and_the_footer_a_line(shell: Shell):
    shell.ok("from tests.support.images import png\npic = png(4, 3)")
    out = shell.ok("%%agent\nwhat is in {pic}?")
    assert "offline does not see images, by its profile: pic was described in words" in out
    assert shell.session.last.prompt.strip() == "what is in [image: pic, 4x3 png]?"


FIGURE = """
import matplotlib
matplotlib.use("agg")
from matplotlib.figure import Figure
fig = Figure(figsize=(2, 1), dpi=100)
axes = fig.subplots()
axes.plot([1, 3, 2])
axes.set_title("Sales")
"""


def test_a_figure_or_its_axes_are_drawn_and_described():
    pytest.importorskip("matplotlib")
    values: dict[str, Any] = {}
    exec(FIGURE, values)
    for name in ("fig", "axes"):
        made = fill(f"{{{name}}}", values)
        (image,) = made.images
        assert made.text == f"[image: {name}, 200x100 png]" and image.data.startswith(b"\x89PNG")
        assert "Sales" in image.description and "1 line" in image.description

    def fail(self: Any, *args: Any, **kwargs: Any) -> None:
        raise AssertionError

    own = type("Own", (values["Figure"],), {"savefig": fail})
    assert fill("{fig}", {"fig": own()}).images == ()


def test_a_picture_of_pillow_is_saved_as_png():
    pillow = pytest.importorskip("PIL.Image")
    for mode in ("RGB", "CMYK", "F"):
        assert filled(pillow.new(mode, (5, 6))).text == "see [image: fig, 5x6 png]"


def test_a_model_that_sees_is_sent_the_figure(shell: Shell):
    pytest.importorskip("matplotlib")
    shell.ok(FIGURE)
    shell.ok(
        "from tests.support.scripted import Scripted\n"
        'model = Scripted(answers=["a line"], profile={"image_inputs": True})\n%agent use model'
    )
    shown = shell.ok("%%agent\nwhat does {fig} show?")
    assert "a line" in shown and "see images" not in shown
    text, image = shell.ip.user_ns["model"].requests[-1][-1].content
    assert base64.b64decode(image["base64"]).startswith(b"\x89PNG")
    assert text["text"].strip() == "what does [image: fig, 200x100 png] show?"
