"""The middleware of an agent as layers, with what each added to the last request."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deepagents.middleware.summarization import SummarizationMiddleware
from langchain_core.messages import RemoveMessage, SystemMessage

from deepnb.engine import keys
from deepnb.engine.images import fit_images
from deepnb.engine.request import tool_name
from deepnb.engine.tools import LeanToolsMiddleware
from deepnb.memory.guarding import WRITES
from deepnb.memory.middleware import MemoryMiddleware
from deepnb.skills.middleware import SkillsMiddleware
from deepnb.values.budget import Budget
from deepnb.values.request import Request, system_parts
from deepnb.values.xray import Layer, Stack, Xray
from deepnb.wiring.build import Built

_LAYERS = (
    # (beginning of the module, class, what it does, who made it, the part of a request that is its)
    ("deepagents", "SubAgentMiddleware", "delegates tasks to subagents", "deepagents"),
    ("deepagents", "_DeepAgentsSummarizationMiddleware", "writes old messages to a file, and summarizes them", "deepagents", "summary"),
    ("deepnb.middleware", "MemoryMiddleware", "keeps the memory block unchanged and adds changes as diffs", "deepnb", "memory"),
    ("deepnb.middleware", "CompactionMiddleware", "writes old messages to a file, and summarizes them, with the key facts kept", "deepnb", "summary"),
    ("deepagents", "MemoryMiddleware", "adds memory to the system prompt, read once per thread", "deepagents", "memory"),
    ("deepnb", "MemoryMiddleware", "adds memory to the system prompt, read once per thread", "deepnb", "memory"),
    ("deepnb", "FreshMemoryMiddleware", "reads memory again before every model call", "deepnb", "memory"),
    ("deepnb", "DeltaMemoryMiddleware", "keeps the memory block unchanged and adds changes as diffs", "deepnb", "memory"),
    ("deepnb", "MemoryToolsMiddleware", "adds daily notes, and search over all notes", "deepnb"),
    ("deepagents", "SkillsMiddleware", "lists name, description and path of each skill", "deepagents", "skills"),
    ("deepagents", "FilesystemMiddleware", "reads, writes, edits and finds files; puts long results into files", "deepagents"),
    ("deepnb", "DelegationMiddleware", "delegates tasks to subagents, down to a maximum depth", "deepagents"),
    ("deepnb", "SummarizationMiddleware", "flushes to the daily note, writes old messages to a file, and summarizes them", "deepagents", "summary"),
    ("langchain", "SummarizationMiddleware", "summarizes old messages, and keeps them nowhere", "LangChain", "summary"),
    ("langchain", "HumanInTheLoopMiddleware", "asks for your approval before calls of the tools that it names", "LangChain"),
    ("deepagents", "PatchToolCallsMiddleware", "adds a result to an interrupted tool call", "deepagents"),
    ("deepnb", "GuardMiddleware", "keeps credentials out of files, and what tools say out of memory until you accept it", "deepnb"),
    ("deepnb", "ToolErrorsMiddleware", "makes the exception of a tool its result", "deepnb"),
    ("deepnb", "ImagesMiddleware", "describes images in words to a model that does not see them", "deepnb"),
    ("deepnb", "PromptCacheMiddleware", "marks the prompt for the provider's cache", "deepnb"),
    ("deepnb", "RetryMiddleware", "sends a request again that the provider could not take", "deepnb"),
    ("deepnb", "ApprovalMiddleware", "asks for your approval before a call that can't be undone", "deepnb"),
)  # fmt: skip
"""Classes of middleware, by the beginning of their module and their name."""
_MAKERS = {"deepagents": "deepagents", "langchain": "LangChain", "deepnb": "deepnb"}


def stack(middleware: Sequence[Any], tools: Sequence[str], model: str, sent: Xray | None, *, own: bool = True) -> Stack:
    """Return the layers of an agent that binds `tools`, with the tokens of each in the request `sent`."""
    layers = [_layer(one, tools) for one in middleware]
    if own or (sent and any(piece.part == "system" for piece in sent.request)):
        maker = "deepnb" if own else "yours"
        layers.insert(0, Layer("system prompt", "describes the agent and how it works", maker, ("system",)))
    bound = {name for layer in layers for name in layer.tools}
    if rest := tuple(name for name in tools if name not in bound):
        what = (
            "functions that inspect the notebook, and your own" if own else "tools that none of its middleware brings"
        )
        layers.append(Layer("tools", what, "deepnb" if own else "yours", (), rest))
    if layers or sent:
        said = ("user", "assistant", "tool results")
        layers.append(Layer("conversation", "prompts, answers and tool results", "", said))
    if sent is None:
        return Stack(tuple(layers), model)
    parts = Counter[str]()
    schemas = Counter[str]()
    for piece in sent.request:
        if piece.part == "tools":
            schemas[piece.label] += piece.tokens
        else:
            parts[piece.part] += piece.tokens
    counted = [
        replace(layer, tokens=sum(parts[p] for p in layer.parts) + sum(schemas[t] for t in layer.tools))
        for layer in layers
    ]
    return Stack(tuple(counted), model, f"turn {sent.turn}, call {sent.call.number}", sent.call.budget.exact)


def _layer(middleware: Any, bound: Sequence[str]) -> Layer:
    names = (str(getattr(tool, "name", tool)) for tool in getattr(middleware, "tools", ()))
    tools = tuple(name for name in names if name in bound)
    for kind in type(middleware).__mro__:
        for module, name, what, maker, *parts in _LAYERS:
            if kind.__name__ == name and f"{kind.__module__}.".startswith(f"{module}."):
                return Layer(name.removeprefix("_DeepAgents"), what, maker, tuple(parts), tools)
    words = next(iter((type(middleware).__doc__ or "").strip().splitlines()), "")
    module = type(middleware).__module__
    maker = next((name for begin, name in _MAKERS.items() if module.startswith(begin)), "yours")
    name = str(getattr(middleware, "name", type(middleware).__name__))
    return Layer(name, f"internal to {maker}" if name.startswith("_") else words, maker, (), tools)


# -- the next request of a thread, before its prompt: what the figures between two turns are figures of


def upcoming(built: Built, values: Mapping[str, Any], before: Sequence[Any], last: Request, *, own: bool) -> Budget:
    """Return what the next request holds so far, of the thread's `values` and with what stands `before` the prompt.

    Of a graph that is not `own` the head is that of the `last` request.
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
        block = memory.block(contents, writes=writes) if memory else ""
        blocks = (built.prompt, skills.block() if skills else "", block)
        # and what stands below memory and skills, or below the instructions where there is neither
        split = system_parts(system)
        texts = [text for part, text in split if part == "system"]
        rest = texts[-1].strip("\n") if split and split[-1][0] == "system" else ""
        if len(texts) == len(split):
            rest = system.removeprefix(built.prompt).strip("\n") if system.startswith(built.prompt) else ""
        system = "\n\n".join(filter(None, (*blocks, rest)))
    message = [SystemMessage(system)] if system else []
    lean = _of(built, LeanToolsMiddleware)
    tools = lean.bound(built.bound, held) if own and lean else built.bound if own else ()
    budget, request = built.meter.measured([*message, *fit_images(effective, sees=built.sees)], tools, last)
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
