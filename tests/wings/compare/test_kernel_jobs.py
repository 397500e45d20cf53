"""Background turns in a real kernel: beside a cell that runs, through an interrupt of it, with their cards."""

import time
from queue import Empty
from typing import Any

import pytest

from tests import IMPORT_TESTS
from tests.support.kernels import HANG, WIDGET, Kernel

pytestmark = pytest.mark.kernel

SETUP = """
import threading
from tests.support.scripted import Scripted, call
opened = threading.Event()
def gate() -> str:
    "Wait."
    until = time.monotonic() + 60
    while not opened.wait(0.02):
        assert time.monotonic() < until
    return "through"
import time
def gated(*after):
    return Scripted(answers=[call("gate"), *after])
one, two = gated("one is done"), gated("two is done")
code = gated(call("run_python", code="where = threading.current_thread().name; where", id="r"), "three is done")
%agent tools add gate
%agent tools allow gate
"""


class Heard:
    def __init__(self, kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kernel, self.messages = kernel, list[dict[str, Any]]()
        get = kernel.client.get_iopub_msg

        def kept(*args: Any, **options: Any) -> dict[str, Any]:
            message: dict[str, Any] = get(*args, **options)
            self.messages.append(message)
            return message

        monkeypatch.setattr(kernel.client, "get_iopub_msg", kept)
        kernel.ok(IMPORT_TESTS + SETUP)

    def start(self, model: str) -> str:
        request = self.kernel.send(f"%%agent --bg --model {model}\nlook at {model}")
        assert self.kernel.wait(request).status == "ok"
        return request

    def texts(self, request: str) -> list[str]:
        shown: dict[str, dict[str, Any]] = {}
        for message in self.messages:
            of = message["parent_header"].get("msg_id") == request
            if of and message["msg_type"] in ("display_data", "update_display_data"):
                shown[message["content"]["transient"]["display_id"]] = message["content"]["data"]
        return ["[button]" if WIDGET in data else data.get("text/plain", "") for data in shown.values()]

    def until(self, request: str, *words: str) -> list[str]:
        end = time.monotonic() + HANG
        while missing := [one for one in words if one not in "\n".join(self.texts(request))]:
            try:
                self.kernel.client.get_iopub_msg(timeout=1)
            except Empty:
                assert time.monotonic() < end, f"{missing} not in {self.texts(request)}"
        return self.texts(request)


@pytest.fixture
def heard(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> Heard:
    return Heard(kernel, monkeypatch)


def test_three_beside_a_cell_that_is_interrupted_and_the_card_of_one(heard: Heard) -> None:
    kernel = heard.kernel
    one, two, code = map(heard.start, ("one", "two", "code"))
    head, *_ = heard.texts(one)
    assert head.startswith("job 1 in thread job-1, a fork of main · started ")
    assert head.endswith("it runs in this kernel only: a restart ends it, and what is shown below is as far as it got")

    for request in (one, two, code):
        heard.until(request, "gate()")

    def interrupt(kernel: Kernel, message: dict[str, Any]) -> None:
        if message["msg_type"] == "stream":
            kernel.interrupt()

    busy = kernel.wait(
        kernel.send("import time\nprint('busy', flush=True)\nwhile not opened.is_set(): time.sleep(0.01)"), interrupt
    )
    assert busy.status == "error" and busy.reply["ename"] == "KeyboardInterrupt"
    assert kernel.ok("%agent jobs").text.count("running: gate") == 3, "an interrupt is for the cell alone"
    kernel.ok("opened.set()")
    heard.until(one, "job 1 done after", "one is done")
    heard.until(two, "job 2 done after", "two is done")
    heard.until(code, "use the buttons below", "[button]", "where = threading.current_thread().name")
    assert kernel.value("'where' in globals()") == "False"
    kernel.ok("%agent jobs join 3")
    kernel.ok("%agent approve")
    assert kernel.value("where") == "'MainThread'", "code runs in a cell's thread"


def test_what_is_saved_of_one_does_not_claim_that_it_runs(heard: Heard) -> None:
    one = heard.start("one")
    saved = heard.until(one, "as of ", " gate")
    assert "runs in this kernel only: a restart ends it" in saved[0]
    assert any(text.startswith("as of ") and "gate" in text for text in saved), "what it did then, and when that was"
    heard.kernel.ok("%unload_ext deepnb")
    heard.until(one, "job 1 stopped after")
    heard.kernel.ok("%load_ext deepnb")
    assert "no background jobs yet" in heard.kernel.ok("%agent jobs").text
