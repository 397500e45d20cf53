"""What a real kernel publishes: outputs that are updated in place, by later cells too, each also as text."""

import re
from itertools import pairwise
from typing import Any

import pytest

from tests.support.kernels import Kernel, Ran

pytestmark = pytest.mark.kernel

WIDGET = "application/vnd.jupyter.widget-view+json"
SLOW = """
from deepnb.models.teaching import TeachingModel
slow = TeachingModel(delay=0.02)
"""


def shown(ran: Ran) -> list[dict[str, Any]]:
    return ran.of("display_data", "update_display_data")


@pytest.mark.slow
def test_streamed_text_grows_in_place(kernel: Kernel) -> None:
    kernel.ok(f"{SLOW}\n%config DeepNB.stream_hz = 60")
    ran = kernel.ok("%agent --model slow what can you do?")
    made, updates = ran.of("display_data"), ran.of("update_display_data")
    assert len(made) == 2, "the answer and the footer"
    answer = made[0]["transient"]["display_id"]
    mine = [u["data"]["text/plain"] for u in updates if u["transient"]["display_id"] == answer]
    assert len(mine) >= 5 and len(updates) == len(mine)
    growing = [made[0], *updates]
    shown = [re.sub("<[^>]+>", "", content["data"]["text/html"]).strip() for content in growing]
    assert all(later.startswith(earlier) for earlier, later in pairwise(shown))
    assert "delegate a task to a subagent; summarize." in mine[-1], "its text is there in the end"


def test_a_panel_and_its_twin_are_updated_by_a_later_cell(kernel: Kernel) -> None:
    panel = kernel.ok("%memory panel")
    assert sum(WIDGET in content["data"] for content in shown(panel)) == 1
    (twin,) = [id_ for id_, data in panel.outputs.items() if WIDGET not in data]
    assert "nothing remembered yet" in panel.outputs[twin]["text/plain"]
    later = kernel.ok("%%agent\nRemember that I prefer tabs over spaces")
    assert "tabs over spaces" in later.outputs[twin]["text/plain"]
    assert "in turn 1" in later.outputs[twin]["text/plain"]
    values = [m["content"]["data"].get("state", {}) for m in later.messages if m["msg_type"] == "comm_msg"]
    assert any("tabs over spaces" in str(state.get("value")) for state in values), "the widget did not follow"
    assert "cake" in kernel.ok("%memory add I like cake").outputs[twin]["text/plain"]


def test_a_record_never_changes_later(kernel: Kernel) -> None:
    record = kernel.ok("%memory")
    (id_,) = record.outputs
    assert id_ not in kernel.ok("%memory add I like cake").outputs


def test_only_the_first_turn_has_the_note_and_the_cell_id_of_the_front_end_is_known(kernel: Kernel) -> None:
    line = "a restart loses them"
    assert line in kernel.ok("%%agent\nthanks", cell_id="one").text
    again = kernel.ok("%%agent\nthanks", cell_id="one").text
    assert line not in again and "this cell was turn 1" in again
    assert "this cell was" not in kernel.ok("%%agent\nthanks", cell_id="two").text


def test_a_mistake_is_one_line_and_an_error_reply_and_so_is_a_refused_setting(kernel: Kernel) -> None:
    ran = kernel.run("%agent rewnd")
    assert ran.status == "error"
    assert ran.printed.strip().splitlines() == [
        "UsageError: no subcommand 'rewnd': type %agent rewind, or %agent -- rewnd to send it as a prompt"
    ]
    assert not ran.of("error")
    ran = kernel.run("%config DeepNB.model = 'nosuch'")
    lines = [line for s in ran.of("stream") for line in s["text"].splitlines()]
    assert len(lines) == 1 and "no model 'nosuch'" in lines[0]
    assert kernel.value("%config DeepNB.model") == "'offline'"
