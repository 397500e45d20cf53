"""So much of a LangGraph server's protocol as a session needs, with faults on demand; keeps the headers it was sent.

Its one assistant answers `You said PROMPT.`; each run is a turn of one message and one answer.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from tests.support.chat_server import Quiet, serving

CUT = "cut"  # a fault in the place of a status: the connection breaks off, a stream in the middle


@dataclass
class LoopbackServer:
    faults: dict[str, tuple[int | str, str]] = field(default_factory=dict)
    """A part of METHOD PATH -> (status or CUT, what is said; of a redirect, where to)."""
    headers: list[Mapping[str, str]] = field(default_factory=list)
    threads: dict[str, dict[str, Any]] = field(default_factory=dict)
    states: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    runs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    modes: list[str] = field(default_factory=lambda: ["values"])
    url: str = ""

    def answer(self, method: str, path: str, body: Any) -> Any:
        match [part for part in path.strip("/").split("/") if part], method:
            case ["assistants", "search"], _:
                return [{"assistant_id": "a1", "graph_id": "echo", "name": "echo", "metadata": {}}]
            case ["assistants", _, "graph"], _:
                nodes = [{"id": name} for name in ("__start__", "model", "__end__")]
                edges = [{"source": "__start__", "target": "model"}, {"source": "model", "target": "__end__"}]
                return {"nodes": nodes, "edges": edges}
            case ["assistants", _, "schemas"], _:
                return {"state_schema": {"properties": {"messages": {}, "files": {}}}}
            case ["threads"], "POST":
                return self._made(body)
            case ["threads", "search"], _:
                return [
                    t for t in self.threads.values() if (body.get("metadata") or {}).items() <= t["metadata"].items()
                ]
            case ["threads", id_, *_], _ if id_ not in self.threads:
                return 404, f"Thread with ID {id_} not found"
            case ["threads", id_, "state", *_], "GET":
                return self.states[id_][-1] if self.states[id_] else _state({}, None, None)
            case ["threads", id_, "state", *_], _:
                return self._written(id_, body)
            case ["threads", id_, "history"], _:
                return [
                    s for s in self.states[id_][::-1] if (body.get("metadata") or {}).items() <= s["metadata"].items()
                ]
            case ["threads", id_, "runs", "stream"], _:
                return self._run(id_, body)
            case ["threads", id_, "runs"], _:
                return self.runs[id_]
            case ["threads", id_, "runs", run], _:
                return next((one for one in self.runs[id_] if one["run_id"] == run), (404, "no such run"))
            case ["threads", id_, "runs", run, _], _:
                self._end(id_, run)
                return {}
            case ["threads", id_], "DELETE":
                del self.threads[id_]
                return {}
        return 404, "not found"

    def _made(self, body: Any) -> Any:
        id_ = body["thread_id"]
        if id_ not in self.threads:
            facts = {**body.get("metadata", {}), "graph_id": "echo"}
            self.threads[id_] = {"thread_id": id_, "metadata": facts, "status": "idle", "updated_at": "2026"}
            self.states[id_], self.runs[id_] = [], []
        return self.threads[id_]

    def _written(self, id_: str, body: Any) -> Any:
        now = self.states[id_][-1]["values"] if self.states[id_] else {}
        if body.get("checkpoint_id"):
            now = next(s["values"] for s in self.states[id_] if _id(s) == body["checkpoint_id"])
        new = body.get("values") or {}
        files = {**now.get("files", {}), **new.get("files", {})}
        self._add(id_, {**now, "files": {k: v for k, v in files.items() if v is not None}}, "update")
        return {"checkpoint": {}}

    def _run(self, id_: str, body: Any) -> Iterator[tuple[str, Any]]:
        run: dict[str, Any] = {"run_id": str(uuid4()), "status": "running", "kwargs": {"stream_mode": self.modes}}
        self.runs[id_].append(run)
        yield "metadata", run
        now = self.states[id_][-1]["values"]
        (asked,) = body["input"]["messages"]
        self._add(id_, now, "input", {"messages": [asked]})
        said = {"type": "ai", "id": str(uuid4()), "content": f"You said {asked['content']}."}
        before = {**now, "messages": [*now.get("messages", ()), asked]}
        yield "values", before
        self._add(id_, {**before, "messages": [*before["messages"], said]}, "loop")
        yield "values", self.states[id_][-1]["values"]
        self._end(id_, run["run_id"])

    def _end(self, id_: str, run: str) -> None:
        for one in self.runs[id_]:
            one["status"] = "success" if one["run_id"] == run else one["status"]

    def _add(self, id_: str, values: Any, source: str, given: Any = None) -> None:
        last = _id(self.states[id_][-1]) if self.states[id_] else None
        self.states[id_].append(_state(values, f"{len(self.states[id_]):04}", last, source, given))


def _state(values: Any, id_: str | None, parent: str | None, source: str = "", given: Any = None) -> dict[str, Any]:
    tasks = [{"id": "t", "name": "__start__", "result": given, "interrupts": []}] if given else []
    ids = {"checkpoint": id_, "parent_checkpoint": parent}
    points = {name: {"checkpoint_id": one} if one else None for name, one in ids.items()}
    at = "2026-11-23T00:00:00+00:00"
    return {"values": values, "next": [], "tasks": tasks, "metadata": {"source": source}, "created_at": at, **points}


def _id(state: Mapping[str, Any]) -> str:
    return str(state["checkpoint"]["checkpoint_id"])


@contextmanager
def loopback_server() -> Iterator[LoopbackServer]:
    server = LoopbackServer()

    class Handler(Quiet):
        def _serve(self) -> None:
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            text = self.rfile.read(int(self.headers.get("content-length") or 0))
            asked = f"{self.command} {self.path}"
            fault = next((f for part, f in server.faults.items() if re.search(part, asked)), None)
            answer = server.answer(self.command, self.path.partition("?")[0], json.loads(text or b"{}"))
            if fault is not None and fault[0] != CUT:
                answer = fault
            elif fault is not None and isinstance(answer, (dict, list)):
                self.connection.close()
                return
            if isinstance(answer, tuple):
                said = str(answer[1])
                self._end(int(answer[0]), json.dumps({"detail": said}), said)
            elif isinstance(answer, (dict, list)):
                self._end(200, json.dumps(answer))
            else:
                self._stream(answer, fault is not None)

        def _stream(self, parts: Iterator[tuple[str, Any]], cut: bool) -> None:
            for at, (event, data) in enumerate(parts):
                if at == 0:
                    self.send_response(200)
                    self.send_header("content-type", "text/event-stream")
                    self.send_header("content-location", f"{self.path.removesuffix('/stream')}/{data['run_id']}")
                    self.send_header("transfer-encoding", "chunked")
                    self.end_headers()
                self.chunk(f"event: {event}\ndata: {json.dumps(data)}\n\n".encode())
                if cut and at == 1:
                    self.connection.close()
                    return
            self.wfile.write(b"0\r\n\r\n")

        def _end(self, status: int, text: str, place: str = "") -> None:
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text.encode())))
            if 300 <= status < 400:
                self.send_header("location", place)
            self.end_headers()
            self.wfile.write(text.encode())

        do_GET = do_POST = do_DELETE = do_PATCH = _serve  # noqa: N815

    with serving(Handler) as server.url:
        yield server
