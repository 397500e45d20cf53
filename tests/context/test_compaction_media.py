"""Images and other media in what a compaction removes: saved as files, and named where they stood."""

import base64
from typing import Any

from langchain_core.messages import HumanMessage, ToolMessage

from deepnb import Session, reads
from deepnb.backends.guarded import GuardedBackend
from deepnb.engine.probe import to_message
from deepnb.testing import ScriptedModel, call
from tests.support.compactions import AT_LENGTH
from tests.support.functions import gives
from tests.support.refusals import refused
from tests.support.tables import every_row
from tests.support.walks import walked

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
DATA = base64.b64encode(PNG).decode()
URL = "https://example.com/plot.png"


PICTURES: dict[str, Any] = {
    "standard": {"type": "image", "base64": DATA, "mime_type": "image/png"},
    "data url": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
    "url": {"type": "image", "url": URL}, "openai url": {"type": "image_url", "image_url": {"url": URL}},
}  # fmt: skip
"""An image in each of the forms that messages have it in."""


def compacted(*blocks: Any) -> Session:
    draw = reads(gives("draw", [{"type": "text", "text": "the plot of June"}, *blocks]))
    s = Session(model=ScriptedModel(answers=[call("draw"), AT_LENGTH, "later", "a summary"]), tools=[draw])
    walked(s, "run draw it", "run and now?", "compact")
    return s


@every_row("kind", PICTURES)
def test_an_image_in_a_message_is_saved_or_keeps_its_address_and_is_named_in_the_history(kind):
    s = compacted(PICTURES[kind])
    (section,), saved = s.history(), [path for path in s.snapshot.binary if "/media/" in path]
    assert f"the plot of June\n\n[image: {saved[0] if saved else URL}]" in section.text
    assert [one.content for one in s.backend.download_files(saved)] == ([] if kind in ("url", "openai url") else [PNG])
    assert DATA not in section.text


def test_every_message_with_media_shows_that_it_has_some():
    blocks = [{"type": "text", "text": "see"}, PICTURES["standard"], {"type": "file", "file_id": "file-7"}]
    assert to_message(HumanMessage(blocks)).text == "see\n\n[image: image/png]\n\n[file: file-7]"
    assert to_message(ToolMessage([PICTURES["url"]], tool_call_id="1")).text == f"[image: {URL}]"
    assert to_message(HumanMessage([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])).text == "ab"


def test_without_a_place_for_the_image_nothing_is_removed(monkeypatch):
    def refuse(self: Any, files: Any) -> Any:
        raise OSError("disk full")

    monkeypatch.setattr(GuardedBackend, "upload_files", refuse)
    refused("nothing was removed: 1 image or other media can't be written", compacted, PICTURES["standard"])
