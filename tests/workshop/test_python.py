"""Code of the agent run in a namespace: what it puts out, how it ends, what it did to the names."""

import builtins
import sys
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from deepnb.values.turn import CodeOutput
from deepnb.workshop.kernel import Display, PlainKernel, Take
from deepnb.workshop.python import HEAD, RICH, TAIL, CodeResult, Room, run_code
from tests.data import rows
from tests.support.images import png
from tests.support.tables import every_row

TOKEN = "ghp_" + "a1B2" * 9


class Displaying(PlainKernel):
    @contextmanager
    def displaying(self, take: Take) -> Iterator[None]:
        self.namespace["display"] = lambda **data: take(Display(data))
        try:
            yield
        finally:
            self.namespace["display"] = None


def ran(code: str, room: Room | None = None, **names: Any) -> tuple[CodeResult, list[CodeOutput], dict[str, Any]]:
    outputs: list[CodeOutput] = []
    names["display"] = None
    kernel = Displaying(names)
    return run_code(code, kernel, outputs.append, "c", room), outputs, names


def test_print_value_and_names_stderr_and_order_and_code_awaits_at_its_top() -> None:
    result, outputs, names = ran("print('hello')\ny = x + 1\nx = 5\ny", x=1)
    assert result.text == "hello\n2\n[variables: new: y; changed: x]"
    said = [("stdout", "hello\n"), ("rich", "2"), ("end", ""), ("variables", "new: y; changed: x")]
    assert [(o.kind, o.text) for o in outputs] == said and names["y"] == 2 and not result.failed
    assert [o.kind for o in ran("1 + 1;")[1]] == ["end"]
    assert "slept" in ran("import asyncio\nawait asyncio.sleep(0.01)\n'slept'")[0].text
    code = "import sys\nprint('a')\nprint('b', file=sys.stderr)\ndisplay(**{'text/plain': 'c'})\nprint('d')"
    result, outputs, _ = ran(code)
    said = [("stdout", "a\n"), ("stderr", "b\n"), ("rich", "c"), ("stdout", "d\n")]
    assert [(o.kind, o.text) for o in outputs][:4] == said and result.text.startswith("a\nd\nstderr:\nb\nc")
    result, _, _ = ran("print('\\r 1 %', end='')\nprint('\\r 100 %')\nprint('\\x1b[31mred\\x1b[0m')")
    assert result.text.startswith(" 100 %\nred")


@every_row(("code", "told"), rows("cells")["errors"])
def test_an_error_is_a_short_text(code: str, told: str) -> None:
    result, outputs, _ = ran(code)
    assert result.failed and told in result.text and len(result.text) < 1_200
    assert [o.kind for o in outputs if o.kind != "variables"][-1] == "end"


def test_an_interrupt_is_given_back_with_what_was_printed_and_everything_is_put_back() -> None:
    result, outputs, _ = ran("print('so far')\nraise KeyboardInterrupt")
    assert result.stopped is not None and "so far" in outputs[0].text
    before = sys.stdout, sys.stderr, sys.stdin, builtins.input
    ran("print(1)\n1 / 0")
    assert before == (sys.stdout, sys.stderr, sys.stdin, builtins.input)


def test_credentials_are_masked_in_all_that_is_put_out_and_the_metadata_of_a_picture_is_taken_out() -> None:
    result, outputs, _ = ran(f"print('{TOKEN}')\nprint('key = {TOKEN}')\n'{TOKEN}'")
    assert TOKEN not in result.text and all(TOKEN not in o.text for o in outputs)
    assert TOKEN not in ran(f"raise ValueError('{TOKEN}')")[0].text
    bare = b64encode(png(3, 2)).decode()
    said = b64encode(png(3, 2, more=TOKEN.encode())).decode()
    result, outputs, _ = ran(f"display(**{{'image/png': {said!r}, 'text/plain': 'a picture'}})")
    assert result.pictures == (("image/png", bare),) and outputs[0].data["image/png"] == bare


def test_of_much_text_the_ends_are_kept_and_rich_outputs_are_limited_also_by_the_room_of_a_turn() -> None:
    result, outputs, _ = ran("for i in range(200_000): print('line', i)")
    shown = "".join(o.text for o in outputs)
    assert "line 0\n" in shown and "line 199999" in shown and "characters left out" in shown
    assert len(shown) < HEAD + TAIL + 100 and len(result.text) < 5_000 and "line 199999" in result.text
    assert len(outputs) < 100
    result, outputs, _ = ran("for i in range(1000): display(**{'image/png': 'x' * 1000})")
    assert sum(o.kind == "rich" for o in outputs) == RICH
    assert f"{1000 - 2 * RICH} more outputs were not shown" in result.text and len(result.text) < 3_000
    result, outputs, _ = ran("display(**{'text/html': 'x' * 3_000_000, 'text/plain': 'big'})")
    assert [o.kind for o in outputs] == ["end"] and "not shown to the user" in result.text
    room = Room()
    for _ in range(3):
        _, outputs, _ = ran("[display(**{'image/png': 'x'}) for i in range(4)];", room)
    assert [o.kind for o in outputs] == ["end"]


def test_a_thread_that_prints_later_prints_where_it_did_before(capsys: pytest.CaptureFixture[str]) -> None:
    result, outputs, names = ran(
        "import threading, sys\nout = sys.stdout\ngo = threading.Event()\n"
        "def work():\n    go.wait(10)\n    out.write('overdue')\nt = threading.Thread(target=work)\nt.start()\nprint('now')"
    )
    number = len(outputs)
    names["go"].set()
    names["t"].join(10)
    assert "overdue" not in result.text and len(outputs) == number and capsys.readouterr().out == "overdue"


def test_a_growing_text_comes_in_pieces() -> None:
    seen: list[float] = []
    began = time.monotonic()
    code = "import time\nfor i in range(8):\n    print(i)\n    time.sleep(0.1)"
    run_code(code, PlainKernel({}), lambda output: seen.append(time.monotonic() - began))
    assert len(seen) > 2 and seen[0] < seen[-1], "it is shown while it runs"
