"""Whether a tool is still the one it was."""

import functools
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool

from deepnb.values.fingerprint import fingerprint
from tests.support.tables import every_row

SEND = "def send(to, n=1):\n    'Send.'\n    return helper(to, n)\n"
HELPER = "def helper(to, n):\n    return [to] * n\n"


def made(code: str, name: str = "send", **known: Any) -> Any:
    space = dict(known)
    exec(code, space)
    return space[name]


def closing(code: str, **held: Any) -> Any:
    lines = "".join(f"    {line}\n" for line in code.splitlines())
    return made(f"def make({', '.join(held)}):\n{lines}    return send\n", "make")(**held)


class Web(BaseTool):
    name: str = "send"
    description: str = "Send."
    url: str = "https://a.example"

    def _run(self, to: str) -> str:
        return f"{self.url}/{to}"


class Client:
    def send(self, to: str) -> str:
        "Send."
        return to


USES = "def send(to):\n    'Send.'\n    return where + to\n"
COUNTS = "n = 0\ndef send(to):\n    'Send.'\n    nonlocal n\n    n += 1\n    seen.append(to)\n    return n\n"
SEEN: list[str] = []


def counted() -> Any:
    send = closing(COUNTS, seen=SEEN)
    return send, send("x")


@every_row("one, other", [
    (made(HELPER + SEND), made(HELPER + SEND)),
    (made(HELPER + SEND), made("\n\n# moved\n" + HELPER + "x = 1\n" + SEND)),
    (closing(USES, where="a"), closing(USES, where="a")), (counted()[0], counted()[0]),
    (StructuredTool.from_function(made(HELPER + SEND)), StructuredTool.from_function(made(HELPER + SEND))),
    (Web(), Web()),
    (functools.partial(made(SEND), to="a"), functools.partial(made(SEND), to="a")),
])  # fmt: skip
def test_the_same_code_made_again_is_the_same_tool(one, other):
    assert fingerprint([one]) == fingerprint([one]) == fingerprint([other])


@every_row("one, other", [
    (made(HELPER + SEND), made(HELPER + SEND.replace("helper(to, n)", "helper(n, to)"))),
    (made(HELPER + SEND), made(HELPER.replace("[to] * n", "[n] * to") + SEND)),
    (made(HELPER + SEND), made(HELPER + SEND.replace("n=1", "n=2"))),
    (made(SEND.replace("helper(to, n)", "'a'")), made(SEND.replace("helper(to, n)", "'b'"))),
    (made(SEND.replace("to, n=1", "to, *, n=1")), made(SEND.replace("to, n=1", "to, *, n=2"))),
    (made(SEND.replace("helper", "(lambda a, b: a)")), made(SEND.replace("helper", "(lambda a, b: b)"))),
    (closing(USES, where="a"), closing(USES, where="b")),
    (closing(USES, where=Client()), closing(USES, where=Client())),
    (closing(USES, where=("a", "b")), closing(USES, where=("b", "a"))),
    (StructuredTool.from_function(made(SEND)), StructuredTool.from_function(made(SEND.replace("(to, n)", "(n)")))),
    (Web(), Web(url="https://b.example")), (Client().send, Client().send),
    (functools.partial(made(SEND), to="a"), functools.partial(made(SEND), to="b")),
    (functools.partial(made(SEND), to="a"), made(SEND)),
])  # fmt: skip
def test_other_code_is_another_tool(one, other):
    assert fingerprint([one]) != fingerprint([other])


def test_a_function_that_calls_itself_has_one():
    loop = made("def send(n):\n    'Send.'\n    return n and send(n - 1)\n")
    assert fingerprint([loop]) == fingerprint([loop])
    assert fingerprint([functools.lru_cache(loop)])


@every_row("same", [True, False])
def test_of_several_tools_of_one_name_each_counts(same):
    tools = [made(SEND), made(HELPER, "helper")]
    assert (fingerprint(tools) == fingerprint(tools[::-1] if same else tools[:1])) == same
