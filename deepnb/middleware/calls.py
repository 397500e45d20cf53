"""Approvals and the guard for anybody's agent: what stands round its calls of tools."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from deepagents.backends import StateBackend
from deepagents.backends.composite import CompositeBackend
from deepagents.backends.protocol import BackendProtocol
from deepagents.backends.utils import file_data_to_string, validate_path
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.types import Command

from deepnb.backends.disk import replace_text
from deepnb.backends.writer import OWN, guard_refusal, is_withheld, writer, writing
from deepnb.engine import approvals, keys
from deepnb.engine.coroutines import SynchronousBackend, in_thread
from deepnb.gate import redact_value
from deepnb.memory import guarding
from deepnb.memory.layers import ALWAYS, LONG_TERM
from deepnb.memory.layers import NOTES as NOTES_FOLDER
from deepnb.values.approvals import Effect, Mode, Rule, policy_of
from deepnb.values.errors import InvalidError
from deepnb.workshop.approvals import NOTES, READS, TASK, Effects, marked

_FOREIGN: dict[str, Effect] = dict.fromkeys(
    {TASK, *READS, *NOTES} - {"ls", "read_file", "glob", "grep", "write_todos"}, "outside"
)
"""Names of deepnb's own tools that in another program may be anything's. A subagent's calls are its own middleware's."""


class AnsweredMiddleware(approvals.ApprovalMiddleware):
    """Takes the decisions of LangChain for answers, which nobody signs."""

    def _given(self, value: Mapping[str, Any], answer: Any) -> Mapping[str, Any] | None:
        """Return what a session's decision, or one of LangChain's, says of the call; raise an error for any other."""
        listed = answer.get("decisions") if isinstance(answer, Mapping) else None
        one = listed[0] if isinstance(listed, list | tuple) and len(listed) == 1 else answer
        if approvals.is_bound(one):
            return super()._given(value, answer)
        said = str(one.get("message") or "") if isinstance(one, Mapping) else ""
        match one.get("type") if isinstance(one, Mapping) else None:
            case "approve":
                return {"kind": "approve"}
            case "reject":
                return {"kind": "reject", "reason": said}
            case "respond":
                return {"kind": "answer", "value": said}
            case "edit":
                action = one.get("edited_action")
                if not isinstance(action, Mapping) or action.get("name") != value["name"]:
                    what = f"an edit of {value['name']} has an edited_action with this name"
                    raise InvalidError(what, '{"type": "edit", "edited_action": {"name": ..., "args": {...}}}')
                return {"kind": "edit", "args": approvals.to_call(value, "", "").edit(action.get("args") or {}).args}
        raise InvalidError("the answer is no decision", 'give {"type": "approve"}, or edit, reject, respond')


class ApprovalMiddleware(AnsweredMiddleware):
    """Interrupts before a call that can't be undone; the agent needs a checkpointer.

    Each call that waits is one interrupt with LangChain's `tool_approval` request as its value, credentials masked. It
    is answered with one of LangChain's decisions, by the interrupt's id where several wait:

        agent.invoke(Command(resume={"type": "approve"}), config)
        agent.invoke(Command(resume={interrupt.id: {"type": "reject", "message": "not on Fridays"}}), config)
        agent.invoke(Command(resume={"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 5}}}), config)

        agent.invoke(Command(resume={"type": "respond", "message": "paid already"}), config)

    `respond` gives the tool's result in its place. `{"decisions": [...]}` with one decision in it is good, too. Any other
    answer asks again, and the description of the request says why.

    A call of a tool that does not exist, or whose arguments are not JSON or do not fit, asks nothing: it gets an error
    as its result. Tools that other middleware adds to a request are known where that middleware is outside this one.
    """

    def __init__(
        self, approve: Mode | Mapping[str, Rule | Mode] = "outside", backend: BackendProtocol | None = None
    ) -> None:
        """The approvals of one agent; its subagents have none of their own, so a call of `task` needs one.

        Args:
            approve: `"outside"` asks about all that can't be undone: your own tools, unless `@deepnb.reads` marks them
                as changing nothing, and files that are not in the thread's state. `"writes"` asks about all that
                changes anything, `"read-only"` refuses that. Or rules by tool, `{"task": "allow", "pay": "ask"}`, of
                `"ask"`, `"allow"` and `"deny"`, where `"*"` is one of those three, or `"allow"` for all other tools.
            backend: What the file tools write to; None is `StateBackend()`.
        """
        policy = policy_of(approve)
        given: Any = backend or StateBackend()
        away: tuple[str, ...] = _away(given)
        files: Any = SynchronousBackend(given)

        def undoable(path: str) -> bool:
            if (plain := _plain(path)) is None:
                return True  # the file tools refuse it
            folder = f"{plain.rstrip('/')}/"
            return not any(folder.startswith(prefix) or prefix.startswith(folder) for prefix in away)

        effects = Effects(undoable, _FOREIGN)
        super().__init__(lambda: policy, effects.of, before=partial(effects.state, files))

    def _effect_of(self, request: Any) -> Effect:
        return "reads" if marked(request.tool) == "reads" else super()._effect_of(request)


def _away(backend: BackendProtocol) -> tuple[str, ...]:
    if isinstance(backend, StateBackend):
        return ()
    if not isinstance(backend, CompositeBackend):
        return ("/",)
    routed = tuple(prefix for prefix, one in backend.routes.items() if not isinstance(one, StateBackend))
    return (*_away(backend.default), *routed)


def _plain(path: object) -> str | None:
    try:
        return validate_path(str(path))
    except ValueError:
        return None


# -- the guard: no credential gets into memory, notes or skills, and no instruction that the user did not say


PATHS = (*ALWAYS, LONG_TERM, NOTES_FOLDER, "/memories/", "/skills/")
"""What is guarded by default: memory files, and directories of notes, memory and skills."""

_WRITES = ("write_file", "edit_file")
_CHANGES = (*_WRITES, "delete")


class GuardMiddleware(guarding.GuardMiddleware):
    """Refuses credentials in memory, notes and skills, and there asks for the user's own words on instructions.

    What a compaction and the file tools keep below `/conversation_history/` and `/large_tool_results/` is not written.

    The arguments of a refused call are redacted before they are checkpointed, and so are those of a call of `task`. All
    else stays as it was said. A subagent's files are checked when it hands them back; where `backend` is not the
    thread's state, give your subagents this middleware, too.
    """

    def __init__(self, backend: BackendProtocol | None = None, *, paths: Sequence[str] = PATHS) -> None:
        """The guard of one agent.

        Args:
            backend: What the file tools write to; None is `StateBackend()`.
            paths: What is guarded: files, and directories (ending in `/`).
        """
        super().__init__(guarding.GuardedPaths(paths))
        self._backend = SynchronousBackend(backend or StateBackend())

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        with writing(**self._facts(request)):
            return self._refused(request) or self._handed_back(request, handler(request))

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        with writing(**self._facts(request)):
            refused = await in_thread(self._refused, request)
            return refused or self._handed_back(request, await handler(request))

    def _message(self, message: BaseMessage) -> BaseMessage:
        """The message, without the credentials of calls that will be refused, and of what a subagent is to be told."""
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        args = [redact_value(c["args"]) if self._is_refused(c["name"], c["args"]) else c["args"] for c in calls]
        if all(call["args"] is clean for call, clean in zip(calls, args, strict=True)):
            return message
        said = {field: redact_value(getattr(message, field)) for field in ("content", "additional_kwargs")}
        clean_calls = [{**call, "args": clean} for call, clean in zip(calls, args, strict=True)]
        return message.model_copy(update={**said, "tool_calls": clean_calls})

    def _is_refused(self, tool: str, args: Mapping[str, Any]) -> bool:
        path = _plain(args.get("file_path", "")) if tool in _WRITES else None
        return tool == TASK or (path is not None and self._guard.is_guarded(path))

    def _refused(self, request: Any) -> ToolMessage | None:
        call, args = request.tool_call, {name: str(value) for name, value in request.tool_call["args"].items()}
        problem, path = None, _plain(args.get("file_path", ""))
        if call["name"] in _CHANGES and path is not None and is_withheld(path):
            problem = f"Error: {OWN}"
        elif call["name"] in _WRITES and path is not None and self._guard.is_guarded(path):
            before = (self._backend.download_files([path])[0].content or b"").decode("utf-8", "replace")
            after = args.get("content", "")
            if call["name"] == "edit_file":
                everywhere = bool(call["args"].get("replace_all"))
                edited = replace_text(before, args.get("old_string", ""), args.get("new_string", ""), everywhere)
                after = before if isinstance(edited, str) else edited[0]
            problem = guard_refusal(path, before, after, writer().heard)
        return ToolMessage(problem, name=call["name"], tool_call_id=call["id"], status="error") if problem else None

    def _handed_back(self, request: Any, result: Any) -> Any:
        """What a tool gives; of the files that a subagent hands back in it, those that hold no credential."""
        update = result.update if isinstance(result, Command) and isinstance(result.update, dict) else {}
        if not (files := update.get(keys.FILES)):
            return result
        held, problems = request.state.get(keys.FILES) or {}, dict[str, str]()
        for path, after in files.items():
            before = held.get(path)
            if after is not None and after != before and self._guard.is_guarded(path):
                old = file_data_to_string(before) if before else ""
                if why := guard_refusal(path, old, file_data_to_string(after), writer().heard):
                    problems[path] = why
        if not problems:
            return result
        why, messages = "\n\n".join(problems.values()), update.get(keys.MESSAGES) or ()
        said = [m.model_copy(update={"content": f"{m.content}\n\n{why}"}) for m in messages]
        kept = {path: data for path, data in files.items() if path not in problems}
        return replace(result, update={**update, keys.FILES: kept, keys.MESSAGES: said})
