"""What a streamed answer costs on the wire, in bytes of message content.

The clock is a made one that moves as the characters come, so that 20,000 characters take no minute: the messages are
those a notebook would be sent.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any
from unittest.mock import patch

from tests import IMPORT_TESTS
from tests.bench.row import Row, held

QUICK = True
MOST, GROWTH = 8.0, 1.2
ASKED = ("prose", "one code block", "one table")
PACE = 330  # characters a second
CHUNK = 6  # characters in one piece from the model

_SENTENCE = "The {} of the series says **little** about the `mean`, and more about what was measured in year {}. "
_ROW = "| {:>4} | measured at station {} | {:.2f} | ok |\n"
_LINE = "    value_{0} = read(path, column={0})  # <- the {0}th & last\n"


def texts() -> dict[str, Any]:
    def cut(parts: Iterator[str], length: int, head: str = "") -> str:
        out = head
        while len(out) < length:
            out += next(parts)
        return out[:length]

    words = ["spread", "slope", "end", "middle", "start"]
    said = [_SENTENCE.format(words[i % 5], 1900 + i) for i in range(2000)]
    return {
        "prose": lambda n: cut(("".join(said[i : i + 4]) + "\n\n" for i in range(0, 2000, 4)), n),
        "one paragraph": lambda n: cut(iter(said), n),
        "one code block": lambda n: cut((_LINE.format(i) for i in range(5000)), n, "```python\n"),
        "one table": lambda n: cut((_ROW.format(i, "ABCDE"[i % 5], i / 7) for i in range(5000)),
                                   n, "| no | where | value | state |\n|---:|---|---:|---|\n"),
        "one list": lambda n: cut((f"- {sentence}\n" for sentence in said), n),
        "one numbered list": lambda n: cut((f"{i}. {sentence}\n" for i, sentence in enumerate(said, 1)), n),
        "code in a list": lambda n: cut((f"   x = {i}\n" for i in range(5000)), n, "1. See:\n\n   ```python\n"),
        "one quote": lambda n: cut((f"> {sentence}\n" for sentence in said), n),
        "no space": lambda n: "a" * n,
    }  # fmt: skip


@dataclass
class Wire:
    sent: list[tuple[float, str, int]] = field(default_factory=list)
    last: dict[str, int] = field(default_factory=dict)
    data: dict[str, dict[str, str]] = field(default_factory=dict)

    def take(self, at: float, content: dict[str, Any]) -> None:
        size = len(json.dumps(content, ensure_ascii=False).encode())
        id_ = content["transient"]["display_id"]
        self.sent.append((at, id_, size))
        self.last[id_] = size
        self.data[id_] = content["data"]

    @property
    def outputs(self) -> int:
        return len(self.last)

    @property
    def final(self) -> int:
        return sum(self.last.values())

    @property
    def sent_bytes(self) -> int:
        return sum(size for _, _, size in self.sent)

    @property
    def ratio(self) -> float:
        return self.sent_bytes / self.final

    @property
    def rate(self) -> float:
        """Visible updates a second: moments at which something was sent, the messages of one moment together."""
        moments = [at for at, _, _ in self.sent]
        apart = 1 + sum(b - a > 0.02 for a, b in pairwise(moments))
        return apart / max(moments[-1] - moments[0], 1e-9)

    @property
    def silence(self) -> float:
        moments = [at for at, _, _ in self.sent]
        return max((b - a for a, b in pairwise(moments)), default=0.0)


def rooms() -> tuple[int, int]:
    """How many outputs are kept below a card, that of its buttons included: as a rule, and where the turn until then
    took all it may."""
    from deepnb.magics.scene import FREE_OUTPUTS
    from deepnb.widgets.turn import MAX_OUTPUTS

    return FREE_OUTPUTS + 1, MAX_OUTPUTS // 2 - 1


def simulated(answer: str, hz: float = 15.0, pace: float = PACE, room: int = 0) -> Wire:
    """An answer shown by a made clock; `room` is how many outputs are kept for it below a card, 0 for one in a cell."""
    from deepnb.values.turn import TextDelta
    from deepnb.views.view import notice_view
    from deepnb.widgets.screen import Notebook, Reserved
    from deepnb.widgets.turn import MAX_OUTPUTS, NotebookTurn

    wire, now = Wire(), [0.0]

    def publish(data: Any, metadata: Any = None, transient: Any = None, update: bool = False) -> None:
        wire.take(now[0], {"data": data, "metadata": metadata or {}, "transient": transient})

    with patch("IPython.display.publish_display_data", publish):
        screen = Reserved(Notebook(), room) if room else Notebook()
        turn = NotebookTurn(screen, hz, lambda: now[0], most=room or MAX_OUTPUTS)
        for at in range(0, len(answer), CHUNK):
            now[0] = at / pace
            turn.add(TextDelta(answer[at : at + CHUNK], 1))
        turn.finish(notice_view("the footer", "ok"))
    return wire


_CELL = """
from tests.support.scripted import Scripted
from tests.bench.stream import CHUNK, PACE, texts
import time
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk

class Paced(Scripted):
    def _stream(self, messages, stop=None, run_manager=None, **_):
        text, begin = self._next(messages).content, time.monotonic()
        for at in range(0, len(text), CHUNK):
            time.sleep(max(0.0, begin + at / PACE - time.monotonic()))
            chunk = ChatGenerationChunk(message=AIMessageChunk(text[at : at + CHUNK]))
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

paced = Paced(answers=[texts()[{kind!r}]({length})])
"""


def in_kernel(kind: str, length: int) -> Wire:
    from datetime import datetime

    from tests.support.kernels import Kernel

    wire = Wire()
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "IPYTHONDIR": f"{home}/ipython", "JUPYTER_RUNTIME_DIR": f"{home}/runtime"}
        kernel = Kernel(home, env)
        try:
            kernel.ok("%load_ext deepnb")
            kernel.ok(IMPORT_TESTS + _CELL.format(kind=kind, length=length))
            ran = kernel.run("%agent --model paced go on")
            assert ran.status == "ok", ran.reply
        finally:
            kernel.close()
    for message in ran.messages:
        if message["msg_type"] in ("display_data", "update_display_data"):
            at = message["header"]["date"]
            at = at if isinstance(at, datetime) else datetime.fromisoformat(at)
            wire.take(at.timestamp(), message["content"])
    return wire


def rows() -> Iterator[Row]:
    for kind in ASKED:
        short, long = (simulated(texts()[kind](length)) for length in (20_000, 40_000))
        yield held(f"{kind} of 20,000 characters, sent", short.sent_bytes / 1000, short.final / 1000, "kB", MOST)
        yield held(f"{kind}, sent for each byte at 40,000, beside 20,000", long.ratio, short.ratio, "", GROWTH)


def row(name: str, wire: Wire) -> str:
    return f"{name:26} {wire.ratio:5.2f} x {wire.final:9,} B  {wire.outputs:3} outputs  {wire.rate:4.1f} updates/s"
