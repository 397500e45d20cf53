"""Session files of other programs, written by hand: one function a line, as the programs write them."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

Value = dict[str, Any]


def jsonl(path: Path, *values: Value | bytes, bom: bool = False, tail: bytes = b"") -> Path:
    """A file of these lines; bytes are put there as they are."""
    lines = [v if isinstance(v, bytes) else json.dumps(v, ensure_ascii=False).encode() for v in values]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((b"\xef\xbb\xbf" if bom else b"") + b"".join(line + b"\n" for line in lines) + tail)
    return path


def at(second: int) -> str:
    """A moment so many seconds after the session began."""
    return f"2026-01-01T{10 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"


class Claude:
    """Lines of Claude Code; each hangs under the one before it, unless `under` names another."""

    def __init__(self, session: str = "s", **more: Any) -> None:
        self.lines: list[Value] = []
        self.last: str | None = None
        self._more = {"sessionId": session, "cwd": "/w", "version": "2.1.40", "isSidechain": False, **more}
        self._seconds = count()

    def put(self, id_: str, kind: str, under: str | None = "", **more: Any) -> str:
        """A line of the tree; gives its id."""
        parent = self.last if under == "" else under
        value = {"parentUuid": parent, **self._more, "type": kind, "uuid": id_, "timestamp": at(next(self._seconds))}
        self.lines.append({**value, **more})
        self.last = id_
        return id_

    def user(self, id_: str, content: Any, **more: Any) -> str:
        return self.put(id_, "user", **{"message": {"role": "user", "content": content}, **more})

    def result(self, id_: str, call: str, content: Any = "ok", *, error: bool = False, **more: Any) -> str:
        block = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": error}
        return self.user(id_, [block], **more)

    def reply(
        self, id_: str, message: str, *blocks: Value, out: int = 10, given: Value | None = None, **more: Any
    ) -> str:
        """One line of a reply; `given` are its prompt figures, 100 tokens by default."""
        usage: Value = {
            "input_tokens": 4,
            "cache_read_input_tokens": 90,
            "cache_creation_input_tokens": 6,
            **(given or {}),
        }
        about: Value = {"id": message, "role": "assistant", "model": "claude-x", "content": list(blocks)}
        return self.put(id_, "assistant", **{"message": {**about, "usage": {**usage, "output_tokens": out}}, **more})

    def boundary(self, id_: str, logical: str | None, **about: Any) -> str:
        more = {"compactMetadata": {"trigger": "auto", "preTokens": 155_000, **about}, "logicalParentUuid": logical}
        return self.put(id_, "system", None, subtype="compact_boundary", content="Conversation compacted", **more)

    def summary(self, id_: str, text: str = "All so far.") -> str:
        return self.user(id_, text, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def write(self, path: Path, **how: Any) -> Path:
        return jsonl(path, *self.lines, **how)


def says(text: str) -> Value:
    return {"type": "text", "text": text}


def calls(id_: str, name: str = "Read", **args: Any) -> Value:
    return {"type": "tool_use", "id": id_, "name": name, "input": args}


class Codex:
    """Lines of a rollout."""

    def __init__(self, **meta: Any) -> None:
        self._seconds = count()
        self._total = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens"), 0)
        self.lines: list[Value] = []
        about = {"id": "u", "cwd": "/w", "cli_version": "0.120.0", "source": "cli", "model_provider": "openai"}
        self.put("session_meta", **about, **meta)

    def put(self, kind: str, /, **payload: Any) -> None:
        self.lines.append({"timestamp": at(next(self._seconds)), "type": kind, "payload": payload})

    def item(self, type: str, **more: Any) -> None:  # noqa: A002
        self.put("response_item", type=type, **more)

    def event(self, type: str, /, **more: Any) -> None:  # noqa: A002
        self.put("event_msg", type=type, **more)

    def prompt(self, text: str) -> None:
        """What was typed: told twice."""
        self.item("message", role="user", content=[{"type": "input_text", "text": text}])
        self.event("user_message", message=text)

    def says(self, text: str) -> None:
        """An answer: told twice."""
        self.event("agent_message", message=text)
        self.item("message", role="assistant", content=[{"type": "output_text", "text": text}])

    def call(self, id_: str, name: str = "exec_command", **args: Any) -> None:
        self.item("function_call", name=name, arguments=json.dumps(args), call_id=id_)

    def output(self, id_: str, output: Any = "ok") -> None:
        self.item("function_call_output", call_id=id_, output=output)

    def tokens(self, given: int, out: int = 10, cached: int = 0, *, times: int = 1) -> None:
        """Tokens of one call, told so many times."""
        last = {"input_tokens": given, "cached_input_tokens": cached, "output_tokens": out, "total_tokens": given + out}
        self._total = {key: self._total[key] + last[key] for key in last}
        info = {"total_token_usage": self._total, "last_token_usage": last, "model_context_window": 258_400}
        for _ in range(times):
            self.event("token_count", info=info, rate_limits=None)


class Pi:
    """Entries of pi, version 3 by default; each hangs under the one before it."""

    def __init__(self, version: int | None = 3) -> None:
        self._seconds = count()
        self._tree = version is not None and version > 1
        self.last: str | None = None
        head: Value = {"type": "session", "id": "p", "timestamp": at(0), "cwd": "/w"}
        self.lines: list[Value] = [head if version is None else {**head, "version": version}]

    def put(self, id_: str, kind: str, under: str | None = "", **more: Any) -> str:
        place = {"id": id_, "parentId": self.last if under == "" else under} if self._tree else {}
        self.lines.append({"type": kind, **place, "timestamp": at(next(self._seconds)), **more})
        self.last = id_
        return id_

    def message(self, id_: str, role: str, content: Any, *, under: str | None = "", **more: Any) -> str:
        return self.put(id_, "message", under, message={"role": role, "content": content, **more})

    def answer(
        self, id_: str, *content: Value, given: int = 100, out: int = 10, stop: str = "stop", under: str | None = ""
    ) -> str:
        usage = {"input": 3, "cacheRead": given - 13, "cacheWrite": 10, "output": out, "cost": {"total": 0.01}}
        more = {"provider": "anthropic", "model": "m", "usage": usage, "stopReason": stop}
        return self.message(id_, "assistant", list(content), under=under, **more)
