"""A real kernel, a cell at a time: every message it published, and its reply."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

from tests import ROOT
from tests.support import forks

WIDGET = "application/vnd.jupyter.widget-view+json"
When = Callable[["Kernel", dict[str, Any]], None]
HANG = 240.0  # seconds after which a cell is taken to hang


@dataclass
class Ran:
    reply: dict[str, Any]
    messages: list[dict[str, Any]] = field(default_factory=list)

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        return [m["content"] for m in self.messages if m["msg_type"] in kinds]

    @property
    def status(self) -> str:
        return str(self.reply["status"])

    @property
    def asks(self) -> bool:
        return self.reply.get("ename") == "ApprovalNeeded"

    @property
    def outputs(self) -> dict[str, dict[str, Any]]:
        shown = {}
        for content in self.of("display_data", "update_display_data"):
            if id_ := content.get("transient", {}).get("display_id"):
                shown[id_] = content["data"]
        return shown

    @property
    def text(self) -> str:
        data = [d.get("text/plain", "") for d in self.outputs.values()]
        printed = "".join(s["text"] for s in self.of("stream"))  # one line may come in several pieces
        return "\n".join([*data, *filter(None, (printed,))])

    @property
    def printed(self) -> str:
        return "".join(s["text"] for s in self.of("stream") if s["name"] == "stderr")


class Kernel:
    def __init__(self, cwd: str, env: dict[str, str], python: Sequence[str] = ()) -> None:
        self.manager = KernelManager(kernel_name="python3")
        self.manager.kernel_spec.argv = [*(python or forks.python()), *forks.KERNEL]
        self.manager.start_kernel(cwd=cwd, env=env)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=HANG)

    def send(self, cell: str, cell_id: str | None = None) -> str:
        content = {"code": cell, "silent": False, "store_history": True, "user_expressions": {}}
        content |= {"allow_stdin": False, "stop_on_error": True}
        message = self.client.session.msg("execute_request", content, metadata={"cellId": cell_id} if cell_id else {})
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def published(self, request: str, when: When = lambda kernel, message: None) -> list[dict[str, Any]]:
        """Wait until the kernel is idle after a request; gives its messages, each of which `when` is told as it comes."""
        until, messages = time.monotonic() + HANG, list[dict[str, Any]]()
        while not messages or messages[-1]["content"].get("execution_state") != "idle":
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except Empty:
                assert time.monotonic() < until, "the cell, or the click, hangs"
                continue
            if message["parent_header"].get("msg_id") == request:
                messages.append(message)
                when(self, message)
        return messages

    def wait(self, request: str, when: When = lambda kernel, message: None) -> Ran:
        messages = self.published(request, when)
        while True:
            reply = self.client.get_shell_msg(timeout=HANG)
            if reply["parent_header"].get("msg_id") == request:
                return Ran(reply["content"], messages)

    def run(self, cell: str, cell_id: str | None = None) -> Ran:
        return self.wait(self.send(cell, cell_id))

    def ok(self, cell: str, cell_id: str | None = None) -> Ran:
        ran = self.run(cell, cell_id)
        assert (ran.status == "ok" or ran.asks) and not ran.printed, f"{cell!r}: {ran.reply} {ran.printed}"
        return ran

    def value(self, expression: str) -> str:
        return str(self.ok(expression).of("execute_result")[0]["data"]["text/plain"])

    def interrupt(self) -> None:
        client = self.manager.provisioner.pid  # type: ignore[union-attr]
        os.killpg(os.getpgid(forks.process(client)), signal.SIGINT)  # no client, which would pass it on later

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


class Cell:
    def __init__(self, kernel: Kernel, source: str) -> None:
        self.kernel = kernel
        self.ran = kernel.ok(source)
        self.made = [one["transient"]["display_id"] for one in self.ran.of("display_data")]

    def click(self, word: str, which: int = -1) -> Ran:
        opened = [m["content"] for m in self.ran.messages if m["msg_type"] == "comm_open"]
        ids = [c["comm_id"] for c in opened if c["data"]["state"].get("description") == word]
        assert ids, f"no button {word!r}"
        client = self.kernel.client
        data = {"method": "custom", "content": {"event": "click"}, "buffers": []}
        message = client.session.msg("comm_msg", {"comm_id": ids[which], "data": data})
        client.shell_channel.send(message)
        messages = self.kernel.published(message["header"]["msg_id"])
        seen = [m for m in messages if m["msg_type"] in ("display_data", "error", "stream")]
        assert not seen, "none of these is seen"
        self.ran = Ran(self.ran.reply, [*self.ran.messages, *messages])
        return Ran({}, messages)

    @property
    def texts(self) -> list[str]:
        shown = self.ran.outputs
        return ["[buttons]" if WIDGET in shown[id_] else shown[id_].get("text/plain", "") for id_ in self.made]


def asked(kernel: Kernel, cell: str, typed: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, Any]]:
    prompts, published = list[dict[str, Any]](), list[dict[str, Any]]()

    def answer(message: dict[str, Any]) -> None:
        prompts.append(message["content"])
        kernel.client.input(typed)

    reply = kernel.client.execute_interactive(
        cell, allow_stdin=True, stdin_hook=answer, output_hook=published.append, timeout=HANG
    )
    return prompts, published, reply["content"]


_RESTORE = "__import__('builtins').__dict__['restore_kernel']"
"""Where the function is kept that cleans a kernel: a reset of the namespace leaves it alone."""


class Pool:
    """The one kernel of this process that all files share; what one file leaves in it is gone before the next."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._files = 0
        self._kernel: Kernel | None = None

    def clean(self) -> Kernel:
        """Return the kernel, as it was when it had just started, in a new working directory."""
        self._files += 1
        folder = self._place / f"files-{self._files}"
        folder.mkdir()
        if self._kernel is not None and not self._is_cleaned(self._kernel, folder):
            self.close()
        if self._kernel is None:
            self._kernel = self._started(folder)
        return self._kernel

    @staticmethod
    def _is_cleaned(kernel: Kernel, folder: Path) -> bool:
        if not kernel.manager.is_alive():
            return False
        try:
            return kernel.run(f"{_RESTORE}({str(folder)!r})").status == "ok"
        except AssertionError:  # it hangs
            return False

    def close(self) -> None:
        if self._kernel is not None:
            self._kernel.close()
            self._kernel = None

    def _started(self, folder: Path) -> Kernel:
        dirs = {"IPYTHONDIR": str(self._place / "ipython"), "JUPYTER_RUNTIME_DIR": str(self._place / "runtime")}
        kernel = Kernel(str(folder), {**os.environ, **dirs})
        kernel.ok(
            f"import builtins, sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom tests.support.kernel_state import keep\n"
            f"sys.path.pop(0)\nbuiltins.restore_kernel = keep(get_ipython())\n"
        )
        kernel.ok(f"{_RESTORE}({str(folder)!r})")
        return kernel


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    pool = Pool(tmp_path_factory.mktemp("kernels"))
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def one_kernel(kernels: Pool) -> Kernel:
    return kernels.clean()


@pytest.fixture
def kernel(one_kernel: Kernel) -> Kernel:
    one_kernel.run("%unload_ext deepnb\n%reset -f")
    assert one_kernel.ok("%load_ext deepnb").text == ""
    return one_kernel
