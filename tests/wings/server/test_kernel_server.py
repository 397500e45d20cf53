"""An agent on a server in a real kernel: the address, the header that is typed where nobody sees it, threads, a fault."""

import json

import pytest

from tests.support.kernels import Kernel, asked
from tests.support.loopback_server import LoopbackServer

pytestmark = pytest.mark.kernel
VALUE = "Bearer correct-horse-battery-staple"


def test_an_address_with_a_header(kernel: Kernel, server: LoopbackServer) -> None:
    prompts, published, reply = asked(kernel, f"%agent use {server.url} --header X-Api-Key", VALUE)
    assert reply["status"] == "ok", reply
    where = server.url.removeprefix("http://")
    prompt = f"value of the header X-Api-Key for {where} (hidden, kept in this process only): "
    assert prompts == [{"prompt": prompt, "password": True}]
    assert all(one["x-api-key"] == VALUE for one in server.headers)
    cells = ("%agent hello", "%agent threads", "%agent", "%agent use", "%history", "%agent transcript")
    ran = [kernel.ok(cell) for cell in cells]
    assert "You said hello." in ran[0].text and "idle" in ran[1].text
    assert f"echo at {where}" in ran[3].text or f"{server.url}/echo" in ran[3].text
    server.faults["runs/stream"] = (401, f"{VALUE} is not known")
    fault = kernel.run("%agent again")
    assert fault.reply["evalue"].startswith(
        f"{server.url}: the header X-Api-Key was not accepted (401: [hidden] is not known)"
    )
    server.faults.clear()
    kernel.ok("%agent once more")
    kernel.ok(f"%agent use {server.url}/echo")
    texts = json.dumps([published, [(r.messages, r.reply) for r in (*ran, fault)]], default=str)
    assert VALUE not in texts and "correct-horse" not in texts
    assert "in the place" not in kernel.ok("%agent use offline").text
    assert kernel.ok("%agent hello").text and len(server.runs[next(iter(server.threads))]) == 2


def test_a_front_end_that_can_not_ask_gets_one_line(kernel: Kernel, server: LoopbackServer) -> None:
    ran = kernel.run(f"%agent use {server.url}/echo --header X-Api-Key")
    assert ran.reply["evalue"] == (
        "this front end can't ask for the value of a header: set DEEPNB_HEADER_X_API_KEY in the environment that starts"
        " Jupyter"
    )
