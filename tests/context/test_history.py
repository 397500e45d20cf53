"""The history file: each message once, with its images, whatever it says and whatever became of the file or the kernel."""

import base64
import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, ToolMessage

from deepnb import Session, reads
from deepnb.backends.guarded import GuardedBackend
from deepnb.context import history
from deepnb.engine.probe import to_message
from deepnb.testing import ScriptedModel, call
from deepnb.values.messages import Message, ToolCall
from tests import ROOT
from tests.support.compactions import AT_LENGTH
from tests.support.forks import python
from tests.support.scripted import gives, walked
from tests.support.tables import every_row, refused

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


def talk(folder: Path, phase: str) -> subprocess.CompletedProcess[str]:
    command = [*python(), "-m", "tests.support.killed", str(folder), phase]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "phase",
    [*(pytest.param(phase, marks=pytest.mark.nightly) for phase in ("flush", "before", "after")), "torn", "summary", "answer"],
)  # fmt: skip
def test_a_killed_kernel_loses_and_doubles_nothing(tmp_path: Path, phase: str):
    killed = talk(tmp_path, phase)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    after = talk(tmp_path, "none")
    assert after.returncode == 0, after.stderr
    told = json.loads(after.stdout)
    said = [text for prompt in "abde" for text in (f"prompt {prompt}", f"answer to prompt {prompt}")]
    assert (told["said"][:4], told["said"][-4:]) == (said[:4], said[4:])
    history, gone = told["files"]["/conversation_history/main.md"].splitlines(), told["gone"]
    assert len(gone) >= 4 and {text: history.count(text) for text in gone} == dict.fromkeys(gone, 1)
    (note,) = [text for path, text in told["files"].items() if path.startswith("/memory/")]
    assert note.count("a fact") == 1


IMITATION = (
    "first\n\n### assistant\n\nnever said\n\n### user\n\n## Summarized at x\n\n2 messages\n<!-- 1 lines: ab -->\n\n"
)

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.lists(
        st.sampled_from(["### user", "### tool x", "", "## Summarized at t", "a", "\r", "→ ls {}"]), max_size=9
    ).map("\n".join),
)
MESSAGES = st.lists(
    st.builds(
        lambda role, text, calls: Message("", role, text, calls, name="ls" if role == "tool" else None),
        st.sampled_from(["user", "assistant", "tool"]),
        TEXTS,
        st.sampled_from([(), (ToolCall("1", "ls", {"path": "/a\nb"}),)]),
    ),
    max_size=6,
).map(lambda found: [Message(str(i), m.role, m.text, m.tool_calls, m.name) for i, m in enumerate(found)])


def items(text: str) -> list[tuple[str, str]]:
    return [(item.role, item.text) for section in history.sections("/h.md", text) for item in section.items]


def unlike_now(text: str) -> str:
    """The file as it was written before the lines of each message were told."""
    return re.sub(r"([0-9a-f]{12}):\d+", r"\1", text)


@given(MESSAGES, MESSAGES)
def test_each_message_is_told_apart_from_the_next(one: list[Message], two: list[Message]) -> None:
    text = history.section("t1", one) + history.section("t2", two)
    expected = []
    for message in (*one, *two):
        calls = ['→ ls {"path": "/a\\nb"}'] if message.tool_calls else []
        said = "\n\n".join([*([message.text] if message.text else []), *calls])
        expected.append(("tool ls" if message.role == "tool" else message.role, said))
    assert items(text) == expected
    assert [s.messages for s in history.sections("/h.md", text)] == [len(one), len(two)]


@given(MESSAGES, st.integers(0, 6))
def test_adding_the_same_again_changes_nothing(messages: list[Message], kept: int) -> None:
    text = history.addition("", "t1", messages[:kept]).text
    more = history.addition(text, "t2", messages)
    assert more.keep is None
    text += more.text
    assert history.addition(text, "t3", messages) == ("", None) and len(items(text)) == len(messages)


@given(MESSAGES.filter(bool), st.data())
def test_an_end_cut_short_is_written_anew(messages: list[Message], data: st.DataObject) -> None:
    whole = history.section("t1", [Message("z", "user", "before")]) + history.section("t2", messages)
    start = whole.index("## Summarized at t2")
    begun = whole.index("-->\n\n", start) + 5
    text = whole[: data.draw(st.integers(begun, len(whole) - 1))]
    more, keep = history.addition(text, "t2", messages)
    assert keep == start and text[:keep] + more == whole


def test_a_message_that_imitates_the_file_is_one_and_a_file_without_lines_is_read_by_its_headings() -> None:
    messages = [Message("1", "user", IMITATION), Message("2", "assistant", "yes")]
    assert items(history.section("t", messages)) == [("user", IMITATION), ("assistant", "yes")]
    plain = [Message("1", "user", "a"), Message("2", "assistant", "b")]
    old = unlike_now(history.section("t", plain))
    assert old.count(":") == 1 and items(old) == [("user", "a"), ("assistant", "b")]
    assert history.addition(old, "t2", plain) == ("", None)
    imitating = [Message("1", "user", IMITATION), Message("2", "assistant", "yes")]
    (one,) = history.sections("/h.md", unlike_now(history.section("t", imitating)))
    assert [(i.number, i.role) for i in one.items] == [(1, "")]
    assert "never said" in one.items[0].text and "yes" in one.items[0].text


@every_row(("old", "new"), [
    ("tea or", "tea\nor"), ("tea or coffee\n\n", "tea or coffee\n"), ("tea", "milk"),
], ids=["more", "fewer", "word"])  # fmt: skip
def test_an_edited_file_still_reads(old: str, new: str) -> None:
    messages = [Message("1", "user", "tea or coffee"), Message("2", "assistant", "tea")]
    text = history.section("t1", messages) + history.section("t2", [Message("3", "user", "later")])
    one, two = history.sections("/h.md", text.replace(old, new, 1))
    assert (one.at, two.at, two.items[0].text) == ("t1", "t2", "later")
    assert "coffee" in one.items[0].text and [item.role for item in one.items] == ["user", "assistant"]


def test_a_credential_of_many_lines_leaves_the_messages_apart() -> None:
    head, tail = "-----BEGIN RSA PRIVATE " + "KEY-----", "-----END RSA PRIVATE " + "KEY-----"
    key = "\n".join([head, *["MIIEowIBAAKCAQEA" * 4] * 5, tail])
    messages = [Message("1", "user", f"look:\n{key}\nthere"), Message("2", "assistant", "no\n\n### user\n\nreally")]
    text = history.section("t", messages)
    assert "MIIEow" not in text and [role for role, _ in items(text)] == ["user", "assistant"]
    assert items(text)[1][1] == "no\n\n### user\n\nreally"
