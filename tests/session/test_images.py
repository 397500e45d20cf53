"""Images with a prompt: what a model that sees is sent, and what one gets that does not."""

import asyncio
import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain_core.language_models import ModelProfile

from deepnb import Session
from deepnb.context.counting import Counter, Meter
from deepnb.engine.images import prompt_message
from deepnb.testing import ScriptedModel, call
from deepnb.values.budget import rule_for
from deepnb.values.image import LARGEST, PromptImage
from deepnb.values.turn import Notice, Turn
from deepnb.workshop.kernel import Display, PlainKernel, Take
from tests.support.images import jpeg, png
from tests.support.scripted import Scripted
from tests.support.tables import every_row, refused

PNG = png(640, 480)
MARKER = "[image: image 1, 640x480 png]"
SEES: Any = {"max_input_tokens": 100_000, "image_inputs": True}


def sees(*answers: Any) -> Scripted:
    return Scripted(answers=list(answers) or ["a plot"], profile=SEES)


def notices(turn: Turn) -> list[str]:
    return [e.text for e in turn.events if isinstance(e, Notice)]


def sent(model: Scripted) -> Any:
    return model.requests[-1][-1].content


@every_row("how", ["run", "arun"])
def test_a_model_that_sees_gets_the_text_and_a_standard_block(how: str):
    model = sees()
    s = Session(model=model)
    turn = s.run("what is it?", images=[PNG]) if how == "run" else asyncio.run(s.arun("what is it?", images=[PNG]))
    text, block = sent(model)
    assert text == {"type": "text", "text": f"what is it?\n\n{MARKER}"}
    assert (block["type"], block["mime_type"], base64.b64decode(block["base64"])) == ("image", "image/png", PNG)
    assert turn.prompt == turn.after.messages[0].text == f"what is it?\n\n{MARKER}" and notices(turn) == []


@every_row("profile", [None, {"image_inputs": False}])
def test_a_model_that_does_not_gets_words_and_the_user_a_line(profile):
    model = Scripted(answers=["ok"], profile=profile)
    turn = Session(model=model).run("what is it?", images=[PNG, jpeg(3, 2)])
    assert sent(model) == f"what is it?\n\n{MARKER}\n\n[image: image 2, 3x2 jpeg]"
    (line,) = notices(turn)
    assert line.endswith("does not see images, by its profile: image 1, image 2 were described in words")


def test_a_thread_keeps_its_images_for_a_later_model_that_sees():
    blind, seeing = Scripted(answers=["no", "no"]), sees("yes")
    s = Session(model=blind)
    s.run("what is it?", images=[PNG])
    assert isinstance(blind.requests[-1][-1].content, str)
    s.run("and now?", model=seeing)
    assert [type(m.content) for m in seeing.requests[-1][-3:]] == [list, str, str]
    s.run("and now?")
    assert [type(m.content) for m in blind.requests[-1] if m.type == "human"] == [str] * 3


def test_neither_turn_transcript_nor_export_holds_the_data(tmp_path: Path):
    s = Session(model=sees("ok", "ok"))
    s.run("what is it?", images=[PNG])
    s.run("and again?")
    data = base64.b64encode(PNG).decode()[40:120]
    for name in ("a.ipynb", "a.html", "a.jsonl"):
        s.export(tmp_path / name)
        text = (tmp_path / name).read_text()
        assert data not in text and "640x480 png" in text, name
    assert data not in repr(s.turns[0]) and data not in json.dumps([m.text for m in s.snapshot.messages])


def test_images_are_counted_about_and_so_the_count_is_not_exact():
    s = Session(model=sees("ok", "ok"))
    one, two = s.run("look").budget, s.run("look", images=[PNG]).budget
    assert one is not None and two is not None and 410 <= two.parts["user"] - one.parts["user"] <= 410 + 40
    meter = Meter(Counter(len, exact=True, name="letters"), rule_for(None))
    image = PromptImage("fig", PNG, "image/png", (640, 480))
    plain, seen = (meter.budget([prompt_message("look", images)], ()) for images in ((), (image,)))
    assert (seen.total - plain.total, plain.exact, seen.exact) == (410, True, False)


class Trap:
    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


@every_row(("images", "line"), [
    ([Trap()], "image 1 can't be a Trap: pass a matplotlib figure"), ([b"no image"], "image 1 can't be a bytes"),
    ([Path("gone.png")], "image 1 can't be a PosixPath"),
    ([png(1, 1, bytes(LARGEST))], "image 1 has 5.0 MB: make it smaller"),
    (Path("a.png"), "images can't be a PosixPath: pass a list: images=[fig]"),
])  # fmt: skip
def test_what_is_no_image_is_one_line_and_no_turn(images, line):
    s = Session(model=sees())
    assert line in str(refused("", s.run, "x", images=images)) and not s.turns


PLOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="


class Plotting(PlainKernel):
    @contextmanager
    def displaying(self, take: Take) -> Iterator[None]:
        self.namespace["plot"] = lambda: take(Display({"image/png": PLOT, "text/plain": "<Figure>"}))
        yield


@every_row("sees", [True, False])
def test_a_plot_of_code_is_given_to_a_model_that_sees_once_and_in_words_to_others(sees: bool) -> None:
    profile = ModelProfile(max_input_tokens=50_000, image_inputs=sees)
    model = ScriptedModel(answers=[call("run_python", "c", code="plot()"), "seen", "again"], profile=profile)
    s = Session(model=model, namespace={})
    s.workspace.current.shell = Plotting({})
    s.run("plot it")
    list(s.resume([one.approve() for one in s.asked]))
    s.run("and now?")
    for request in model.requests[1:]:
        (result,) = [m for m in request if m.type == "tool"]
        assert "[image/png, shown to the user]" in result.text and "image" not in str(result.content_blocks[1:])
        images = [b for m in request for b in m.content_blocks if b["type"] == "image"]
        assert [b["base64"] for b in images] == ([PLOT] if sees else [])
    after = [m.type for m in model.requests[1]]
    assert after[-2:] == (["tool", "human"] if sees else ["ai", "tool"])
    other = ScriptedModel(answers=["blind"], profile=ModelProfile(max_input_tokens=50_000))
    s.run("and you?", model=other)
    assert PLOT not in str(other.requests)
