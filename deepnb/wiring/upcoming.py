"""The next request of a thread, before its prompt: what the figures between two turns are figures of."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deepagents.middleware.summarization import SummarizationMiddleware
from langchain_core.messages import RemoveMessage, SystemMessage

from deepnb.engine import keys
from deepnb.engine.images import taken
from deepnb.engine.request import tool_name
from deepnb.engine.tools import LeanToolsMiddleware
from deepnb.memory.guarding import WRITES
from deepnb.memory.middleware import MemoryMiddleware
from deepnb.skills.middleware import SkillsMiddleware
from deepnb.values.budget import Budget
from deepnb.values.request import Request, system_parts
from deepnb.wiring.build import Built


def upcoming(built: Built, values: Mapping[str, Any], before: Sequence[Any], last: Request, *, own: bool) -> Budget:
    """What the next request holds so far: of the thread's state `values`, and with what stands `before` the prompt.

    `last` is the last request. Of a graph of somebody else's, which is not `own`, its tools and system prompt are taken
    as they were then, as is what middleware of the user's own puts below them.
    """
    memory = _of(built, MemoryMiddleware) if own else None
    skills = _of(built, SkillsMiddleware) if own else None
    update = memory.upcoming(values) if memory else {}
    changes = update.get(keys.MESSAGES) or ()
    gone = {m.id for m in changes if isinstance(m, RemoveMessage)}
    held = [m for m in values.get(keys.MESSAGES) or () if m.id not in gone]
    effective = SummarizationMiddleware._apply_event_to_messages(held, values.get(keys.OFFLOAD))
    effective += [*before, *(m for m in changes if not isinstance(m, RemoveMessage))]
    system = "".join(piece.text for piece in last.head if piece.part != "tools")
    if own:
        writes = any(tool_name(tool) == WRITES for tool in built.bound)
        contents = {**values, **update}.get(keys.MEMORY) or {}
        blocks = (
            built.prompt,
            skills.block() if skills else "",
            memory.block(contents, writes=writes) if memory else "",
        )
        system = "\n\n".join(filter(None, (*blocks, _rest(system, built.prompt))))
    message = [SystemMessage(system)] if system else []
    lean = _of(built, LeanToolsMiddleware)
    tools = lean.bound(built.bound, held) if own and lean else built.bound if own else ()
    budget, request = built.meter.measured([*message, *taken(effective, sees=built.sees)], tools, last)
    if not own:
        kept = tuple(piece for piece in last.head if piece.part == "tools")
        parts = {**budget.parts, "tools": sum(piece.tokens for piece in kept)}
        budget, request = replace(budget, parts=parts), Request((*kept, *request.head), request.body)
    return replace(budget, request=request)


def memory_shares(built: Built, values: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """path -> (tokens in the next prompt, tokens of the file), of the memory files that are not injected whole."""
    if (memory := _of(built, MemoryMiddleware)) is None:
        return {}
    found: dict[str, tuple[int, int]] = memory.shares({**values, **memory.upcoming(values)}.get(keys.MEMORY) or {})
    return found


def _of(built: Built, kind: type[Any]) -> Any:
    return next((one for one in built.stack if isinstance(one, kind)), None)


def _rest(system: str, prompt: str) -> str:
    """What stands below memory and skills, or below the instructions where there is neither."""
    parts = system_parts(system)
    own = [text for part, text in parts if part == "system"]
    if len(own) == len(parts):
        return system.removeprefix(prompt).strip("\n") if system.startswith(prompt) else ""
    return own[-1].strip("\n") if parts and parts[-1][0] == "system" else ""
