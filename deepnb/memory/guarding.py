"""What guards memory: the guidelines for the agent, who writes, no credential in a call, and what a scope keeps back."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from deepagents.backends import protocol
from deepagents.middleware.filesystem import NUM_CHARS_PER_TOKEN
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.types import Command

from deepnb.backends.guarded import GuardedBackend
from deepnb.backends.memory_store import MemoryStoreBackend
from deepnb.backends.wrapper import WrapperBackend
from deepnb.backends.writer import Writer, is_withheld, writer, writing
from deepnb.engine import keys
from deepnb.engine.answer import with_messages
from deepnb.engine.listen import tell_notice
from deepnb.engine.request import message_text, tool_name
from deepnb.gate import redact_value
from deepnb.gate.own_words import own_words
from deepnb.memory.budget import Fitted
from deepnb.memory.layers import NOTES, Scope, note_day
from deepnb.values.files import ALL_FILES, FileDiff
from deepnb.values.lazy import Memo
from deepnb.values.request import GUIDELINES_CLOSE, GUIDELINES_OPEN, MEMORY_CLOSE, MEMORY_OPEN

WRITES = "write_file"
"""The tool by which it is known whether the agent can follow the guidelines."""

Form = Literal["lean", "short", "full"]

_WORDS = Path(__file__).with_name("guidelines.md").read_text(encoding="utf-8").removeprefix("# ").rstrip("\n")
_FORMS = dict(form.split("\n\n", 1) for form in _WORDS.split("\n\n# "))
"""What the agent is told of its memory files: in full, for a small window, for the smallest, and without file tools."""

_TAG = re.compile(rf"<(?={'|'.join(t[1:] for t in (MEMORY_OPEN, MEMORY_CLOSE, GUIDELINES_OPEN, GUIDELINES_CLOSE))})")
"""What in a memory file would begin or end the block: `</agent_memory>`."""


def memory_block(files: Sequence[Fitted], home: str, *, writes: bool = True, form: Form = "full") -> str:
    """Return the text that is injected: the files under their paths, in order, then the guidelines.

    `writes` says whether the agent has the file tools that the guidelines name; `form` is how much they say.
    """
    shown = [f"{file.path}\n\n{_TAG.sub('&lt;', file.shown)}" for file in files]
    body = "\n\n".join(shown) or (f"(nothing yet; write_file {home} starts it)" if writes else "(nothing yet)")
    guidelines = _FORMS[form if writes else "read-only"].format(path=home)
    return f"{MEMORY_OPEN}\n{body}\n{MEMORY_CLOSE}\n{GUIDELINES_OPEN}\n{guidelines}\n{GUIDELINES_CLOSE}"


def update_text(diffs: Sequence[FileDiff]) -> str:
    """Return the message that tells of a change in memory: one unified diff a file."""
    changed = "".join(diff.unified() for diff in diffs)
    return f"Memory has changed since it was last shown to you. What changed, as a unified diff:\n\n{changed}"


# -- Tells the guard who writes, and takes credentials out of calls before they are checkpointed

_WRITES = ("write_file", "edit_file")
_NESTED = "task"

Facts = tuple[Sequence[str], Sequence[str]]
"""(texts of others, what the user says)"""


class GuardedPaths:
    """In the place of a `GuardedBackend`, for a program that holds nothing else back."""

    runs = None

    def __init__(self, paths: Sequence[str]) -> None:
        self._files = frozenset(map(str.casefold, paths))
        self._folders = tuple(path for path in self._files if path.endswith("/"))

    def is_guarded(self, path: str) -> bool:
        """Return whether a file is memory, a note or a skill, however a disk may let its path be spelled."""
        plain = f"/{path.lstrip('/')}".casefold()
        return plain in self._files or plain.startswith(self._folders)

    def drain(self) -> list[str]:
        return []


class GuardMiddleware(AgentMiddleware):
    """Every agent has it, nested ones too; it adds no step, no tool and no token."""

    name = "GuardMiddleware"

    def __init__(
        self,
        guard: GuardedBackend | GuardedPaths,
        evicted_above: int | None = None,
        whole: Callable[[Any], Any] = lambda state: state,
    ) -> None:
        """A tool's result of more tokens than `evicted_above` goes to a file, and its ends stay in the thread. `whole`
        gives a state with the messages that compactions took out of it: they were heard, too."""
        super().__init__()
        self.whole = whole
        self._guard = guard
        self._longest = evicted_above and evicted_above * NUM_CHARS_PER_TOKEN
        self._originals: dict[tuple[str, ...], list[tuple[Any, Mapping[str, Any]]]] = {}
        """Agent, and id of a call -> its arguments as they are checkpointed and as the model gave them, until it is made.

        An id may be that of several calls of a message, or of other agents' that run beside it.
        """
        self._described: dict[str, str] = {}
        """Name of a tool -> what it says of itself, which nobody else may have said."""
        self._foreign = Memo(_described)

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        told: list[str] = []
        with writing(**self._facts(request), tell=told.append):
            result = handler(self._whole(request))
        return self._ended(request, result, told)

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        told: list[str] = []
        with writing(**self._facts(request), tell=told.append):
            result = await handler(self._whole(request))
        return self._ended(request, result, told)

    def _ended(self, request: Any, result: Any, told: Sequence[str]) -> Any:
        """Return the result of a call, with the conflicts that its writes came to. Files of its update that are not a
        tool's to write are left out; those of memory go home."""
        made, key = request.tool_call, _key(request.tool_call)
        self._originals[key] = [one for one in self._originals.pop(key, ()) if one[0] != made["args"]]
        for line in self._guard.drain():
            tell_notice(line)
        update = result.update if isinstance(result, Command) and isinstance(result.update, dict) else {}
        if isinstance(files := update.get(keys.FILES), dict):
            with writing(**self._facts(request)):  # by the writer it is known what is withheld
                kept = {p: data for p, data in files.items() if not is_withheld(p)}
                if isinstance(self._guard, GuardedBackend):
                    kept = self._guard.take_files(kept)
            if len(kept) != len(files):
                result = replace(result, update={**update, keys.FILES: kept})
        # What goes to a file is masked before it is cut: the ends of a key that was cut are not recognized.
        if self._longest and isinstance(result, ToolMessage) and len(message_text(result)) >= self._longest:
            result = result.model_copy(update={"content": redact_value(result.content)})
        if not told or not isinstance(result, ToolMessage):
            return result
        lines = "\n".join((*told, "Edit the file again only if you know which text is right; else ask the user."))
        held = result.content
        text = f"{held}\n\n{lines}" if isinstance(held, str) else [*held, {"type": "text", "text": lines}]
        return result.model_copy(update={"content": text})

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        self._described |= self._foreign(tuple(request.tools or ()))
        return with_messages(handler(request), self._message)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        self._described |= self._foreign(tuple(request.tools or ()))
        return with_messages(await handler(request), self._message)

    def heard(self, state: Any, outer: Writer | None = None) -> Facts:
        """Return the texts that were heard, with the descriptions of tools among those of others."""
        others, own = heard(self.whole(state), outer)
        return [*others, *self._described.values()], own

    def _message(self, message: BaseMessage) -> BaseMessage:
        """Return the message; where a call would take a credential to a tool, with all credentials taken out.

        What is bound for memory is refused as it then stands, and a nested agent is told no more than
        that, since what it is told is written down. Any other tool gets what the model said: it is kept
        aside, so that the user can be asked about a file as it was meant.
        """
        if not isinstance(message, AIMessage):
            return message
        calls = [*message.tool_calls, *message.invalid_tool_calls]
        for call in calls:
            self._originals.pop(_key(call), None)
        telling = [c for c in calls if redact_value(c["args"]) is not c["args"]]
        if not telling:
            return message
        for call in telling:
            name, args = call["name"], call["args"]
            if not isinstance(args, dict) or name == _NESTED:
                continue
            if name not in _WRITES or not self._guard.is_guarded(str(args.get("file_path", ""))):
                self._originals.setdefault(_key(call), []).append((redact_value(args), args))
        fields = ("content", "tool_calls", "invalid_tool_calls", "additional_kwargs")  # their ids stay as they are
        return message.model_copy(update={f: redact_value(getattr(message, f)) for f in fields})

    def _whole(self, request: Any) -> Any:
        call = request.tool_call
        args = next((whole for clean, whole in self._originals.get(_key(call), ()) if clean == call["args"]), None)
        return request if args is None else request.override(tool_call={**call, "args": dict(args)})

    def _facts(self, request: Any) -> dict[str, Any]:
        """Return what the guard is to know of a tool call: what a nested agent is asked is not the user's word."""
        outer, call = writer(), request.tool_call
        nested = outer.origin == "agent"
        agent = (*outer.agent, call["id"] or "") if call["name"] == _NESTED else outer.agent
        run = outer.run if nested else self._guard.runs
        said = partial(self.heard, request.state, outer)
        return {"origin": "agent", "heard": said, "agent": agent, "tool": call["name"] != _NESTED, "run": run}


def _key(call: Mapping[str, Any]) -> tuple[str, ...]:
    return (*writer().agent, call["id"] or "")


def _described(tools: Sequence[Any]) -> dict[str, str]:
    """Return name -> description of the tools that are neither ours nor the engine's."""
    found = {}
    for tool in tools:
        function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
        if not getattr(function, "__module__", "").startswith(("deepnb.", "deepagents.")):
            found[tool_name(tool)] = getattr(tool, "description", "")
    return found


def heard(state: Any, outer: Writer | None = None) -> Facts:
    """Return (texts of others, what the user says in their own words) in the messages of a state.

    All of a prompt counts as a text of others, too: values may be filled in, and it may quote. Where an agent is nested
    in a call of `outer`, its prompts are that one's, and the user said what they said there.
    """
    outer = outer or writer()
    held: Mapping[str, Any] = state if isinstance(state, Mapping) else {}
    others, own = list[str](), list[str]()
    for m in held.get(keys.MESSAGES) or ():  # each write asks for all of them: of most nothing is called
        facts = m.additional_kwargs
        asks = m.type == "human" and "lc_source" not in facts
        if asks or m.type == "tool" or keys.ORIGIN in facts:
            text = m.content if isinstance(m.content, str) else message_text(m)
            others.append(text)
            typed = "" if keys.ORIGIN in facts else facts.get(keys.TYPED, text)
            if asks and (words := own_words(typed)):
                own.append(words)
    others += [skill["description"] for skill in held.get(keys.SKILLS) or ()]
    if outer.origin == "agent":
        above, said = outer.heard()
        return [*above, *others], list(said)
    return others, own


# -- The files as an agent's tools may see them: what its scope keeps from it is not there, and daily notes only grow


class ScopedBackend(WrapperBackend):
    """Shows `inner` without the files that the scope of the moment keeps back."""

    inner: GuardedBackend | MemoryStoreBackend

    def __init__(self, inner: GuardedBackend | MemoryStoreBackend, scope: Callable[[], Scope]) -> None:
        super().__init__(inner)
        self._scope = scope
        self.mark_read, self.memory = inner.mark_read, inner.memory
        self._shown: tuple[Any, Scope, Mapping[str, Any]] = None, Scope(), {}
        """The guard's versions, and those of them that a scope lets be read."""

    def shown(self, found: Sequence[Any]) -> list[Any]:
        scope = self._scope()
        return [one for one in found if scope.may_read(one["path"])]

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        return self.inner.download_files(paths) if self._scope().whole else super().download_files(paths)

    def write_refusal(self, path: str) -> str | None:
        if (refusal := self.read_refusal(path)) or note_day(path) is None:
            return refusal
        return f"Error: not written: daily notes below {NOTES} are only ever added to; the tool note adds to today's"

    def delete(self, file_path: str) -> protocol.DeleteResult:
        gone = [file_path, *(m["path"] for m in self.inner.glob(ALL_FILES, file_path).matches or ())]
        problem = next(filter(None, map(self.write_refusal, gone)), None)
        return protocol.DeleteResult(error=problem) if problem else self.inner.delete(file_path)

    def file_versions(self, directory: str) -> Mapping[str, Any] | None:
        """Return the guard's versions of the files that the scope of the moment lets be read."""
        found, scope = super().file_versions(directory), self._scope()
        if found is None or scope.whole:
            return found
        if self._shown[0] is not found or self._shown[1] != scope:
            may = {path: version for path, version in found.items() if scope.may_read(path)}
            self._shown = found, scope, may
        return self._shown[2]

    def append(self, path: str, line: str, *, typed: str = "") -> str | None:
        """Add a line to the end of a file, as the guard does; gives the error, if any."""
        return self.read_refusal(path) or self.inner.append(path, line, typed=typed)

    def may_read(self, path: str) -> bool:
        """Return whether the scope of the moment lets a file be read."""
        return self._scope().may_read(path)

    def read_refusal(self, path: str) -> str | None:
        scope = self._scope()
        if scope.may_read(path):
            return None
        who = "a subagent" if scope.nested else "a thread that others can read"
        return f"Error: {path} is kept from {who}. Do not try it again; go on without it."
