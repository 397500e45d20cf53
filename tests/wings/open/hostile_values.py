"""Values that were made to run something where they are decoded, and a watch over what is run while they are."""

import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langchain_core.messages import AIMessage, HumanMessage

from deepnb import list_sessions, open_session
from deepnb.values.errors import DeepnbError
from deepnb.wings.open.view import opened_view

SECRET = "sk-hostile-0123456789abcdef"
SAID = "what the session says"
HELLO = [HumanMessage(SAID, id="1"), AIMessage("yes", id="2")]

EVIL = """
from pathlib import Path
Path(__file__).with_name("ran").touch()
class Bomb:
    def __init__(self, *args, **kwargs): Path(__file__).with_name("ran").touch()
    def __setstate__(self, state): Path(__file__).with_name("ran").touch()
    go = fromisoformat = construct = model_construct = model_validate_json = classmethod(__init__)
"""  # a module that leaves a file behind when it is imported, and when anything of it is called

NAMES: list[tuple[str, str, Any]] = [
    ("evil", "Bomb", [1]), ("evil", "Bomb", {"content": SAID, "type": "human"}), ("evil.inner", "Missing", {}),
    ("os", "system", ["touch {ran}"]), ("builtins", "eval", "open('{ran}', 'w')"), ("runpy", "run_path", "{evil}"),
    ("pickle", "loads", b"cevil\nBomb\n."), ("langchain_core.utils.utils", "from_env", "OPENAI_API_KEY"),
    # On the list of what LangGraph's own decoder makes again, with arguments that do not fit.
    ("langchain_core.messages.human", "HumanMessage", {"content": {"a": 1}, "id": ["x"], "type": 3}),
    ("langchain_core.messages.ai", "AIMessage", {"content": 5, "tool_calls": [5], "usage_metadata": "x"}),
    ("langchain_core.messages.tool", "ToolMessage", {"content": [[1]], "tool_call_id": 1, "artifact": {"x": 1}}),
    ("langgraph.types", "Overwrite", {"value": 5}), ("langgraph.types", "Overwrite", 5),
    ("re", "compile", ["(a+)+$" * 50, 0]), ("collections", "deque", [[1], -1]),
]  # fmt: skip
METHODS = ("go", "__init__", "fromisoformat", "model_construct", "model_validate_json")
CODES = (*range(10), 42, 127)


def filled(value: Any, folder: Path) -> Any:
    if isinstance(value, str):
        return value.replace("{ran}", str(folder / "ran")).replace("{evil}", str(folder / "evil.py"))
    if isinstance(value, list):
        return [filled(one, folder) for one in value]
    return {k: filled(v, folder) for k, v in value.items()} if isinstance(value, dict) else value


def packed(value: Any) -> bytes:
    return ormsgpack.packb(value, option=ormsgpack.OPT_NON_STR_KEYS)


_ODD: list[Any] = [None, 5, "evil", [], ["evil"], ["evil", "Bomb"], {}]


def extensions(folder: Path) -> Iterator[Any]:
    """Values with an extension of each code around each kind of bytes that a decoder might expect there."""
    for module, name, argument in filled([list(one) for one in NAMES], folder):
        for code in CODES:
            yield ormsgpack.Ext(code, packed((module, name, argument)))
        for method in METHODS:
            yield ormsgpack.Ext(3, packed((module, name, argument, method)))
    bomb = ormsgpack.Ext(0, packed(("evil", "Bomb", 1)))
    for code in CODES:
        yield from (ormsgpack.Ext(code, packed(one)) for one in _ODD)
        inner: list[Any] = [(["evil"], {"Bomb": 1}, None), ("evil", "Bomb", bomb), (bomb, bomb, bomb), bomb]
        yield from (ormsgpack.Ext(code, packed(one)) for one in inner)
    for dtype, shape in (("O", [1]), ("V9999999999", [1]), ("<i8", [10**9, 10**9]), ("<i8", [-1]), (bomb, bomb)):
        yield ormsgpack.Ext(6, packed((dtype, shape, "C", b"12345678")))


def damaged() -> Iterator[Any]:
    """Extensions whose bytes are no value."""
    for code in CODES:
        yield ormsgpack.Ext(code, b"")
        yield ormsgpack.Ext(code, b"\xc1\xc1")


def constructors(folder: Path) -> Iterator[Any]:
    """Values as LangChain's JSON writes objects, secrets and what it can't write."""
    for module, name, argument in filled([list(one) for one in NAMES], folder):
        argument = argument.decode() if isinstance(argument, bytes) else argument
        about = {"kwargs": argument} if isinstance(argument, dict) else {"args": [argument]}
        for version in (1, 2):
            named = {"lc": version, "type": "constructor", "id": [*module.split("."), name], **about}
            yield named
            yield {**named, "method": ["go", "construct"]}
            yield {**named, "kwargs": {"content": dict(named)}}
    versions: list[Any] = [0, 1, 2, "1", None]
    for version in versions:
        made: dict[str, Any] = {"lc": version, "type": "constructor"}
        secret = {"lc": version, "type": "secret", "id": ["OPENAI_API_KEY"]}
        openai = ["langchain", "chat_models", "openai", "ChatOpenAI"]
        yield from (secret, {**made, "type": "not_implemented", "id": ["evil", "Bomb"], "repr": "Bomb()"})
        yield from ({**made, "id": openai, "kwargs": {"openai_api_key": secret}}, {**made, "id": 5, "kwargs": 5})
        yield {**made, "id": ["HumanMessage"], "kwargs": {"content": SAID}}


class Pickled:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return open, (str(self.target), "w")


def others(folder: Path) -> Iterator[tuple[str | None, bytes]]:
    """Values of a kind that is not read, or of bytes that are none of their kind."""
    made = pickle.dumps(Pickled(folder / "ran"))
    for kind in ("pickle", "cloudpickle", "dill", "yaml", "python", "evil", "msgpack+aes", "json+aes", "", None):
        yield kind, made
        yield kind, b""
    for kind in ("bytes", "bytearray", "null", "empty", "msgpack", "json", "MSGPACK"):
        yield kind, made
        yield kind, b"\xff" * 9
        yield kind, b"[" * 100_000
        yield kind, b"\x91" * 100_000


Stored = tuple[str | None, bytes]


def checkpoint(messages: Any, other: Any = None) -> dict[str, Any]:
    values = {"messages": messages} | ({} if other is None else {"_summarization_event": other, "other": [other]})
    begun = {"__start__": {"messages": messages}}
    return {"v": 4, "id": "1f0a", "channel_values": values | begun, "channel_versions": {}, "versions_seen": {}}


CHANNELS = ("messages", "_summarization_event", "__error__", "__interrupt__", "other")


EVENTS: list[tuple[str, Any]] | None = None  # what the interpreter reported while it was watched
RUNNING = ("import", "exec", "os.system", "os.exec", "os.fork", "os.posix_spawn", "subprocess.Popen", "pickle.find_class", "socket.connect")  # fmt: skip


def _noted(event: str, args: Any) -> None:
    if EVENTS is not None and (event in RUNNING or (event == "open" and set(str(args[1])) & set("wax+"))):
        EVENTS.append((event, args[0]))


@contextmanager
def watched() -> Iterator[list[tuple[str, Any]]]:
    global EVENTS
    if _noted not in _HOOKED:
        sys.addaudithook(_noted)
        _HOOKED.append(_noted)
    found: list[tuple[str, Any]] = []
    EVENTS = found
    try:
        yield found
    finally:
        EVENTS = None


_HOOKED: list[Any] = []


def evil_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module that must not be imported, where imports look first; and a key in the environment."""
    (folder / "evil.py").write_text(EVIL)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    return folder


def read_all(place: str, thread: str) -> str:
    try:
        session = open_session(place, thread)
        view = opened_view(session.index, "x")
        told = [view.text(), view.html(), repr(session.index)]
        for turn in session.turns:
            told += [turn.prompt, turn.text, repr(turn.events), repr(turn.after.messages)]
        return "\n".join(told)
    except DeepnbError as error:
        assert "\n" not in str(error), str(error)
        return str(error)


def check(place: str, count: int, folder: Path) -> list[str]:
    """Open and list all threads: nothing is run, nothing imported, no key told. Gives what is seen of each."""
    failed: list[str] = []
    told: list[str] = []
    assert SAID in read_all(place, "good") and "no thread none" in read_all(place, "none")
    with watched() as events:
        rows = {row.id: row for row in list_sessions(place)}
    assert len(rows) == min(count + 1, 1_000) and SECRET not in repr(rows)
    own = [(event, what) for event, what in events if "deepnb-" not in str(what)]  # the copy beside which a log is read
    assert not own, own[:5]
    for n in range(count):
        before = set(sys.modules)
        with watched() as events:
            try:
                said = read_all(place, f"t{n}")
            except Exception as error:
                said, events = f"{type(error).__name__}: {error}", [("raised", repr(error))]
        new = set(sys.modules) - before
        told.append(said)
        if events or new or SECRET in said or (folder / "ran").exists():
            failed.append(f"t{n}: {events[:3]} {sorted(new)[:3]} {said[:200]!r}")
            (folder / "ran").unlink(missing_ok=True)
    assert not failed, "\n".join([f"{len(failed)} of {count}", *failed[:20]])
    return told
