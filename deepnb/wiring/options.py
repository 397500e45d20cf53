"""What an agent is made of: one frozen value."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

from deepnb.core.approvals import policy_of
from deepnb.core.budget import Kind, Size
from deepnb.core.errors import DeepnbError
from deepnb.core.paths import check_path
from deepnb.core.prices import Price
from deepnb.core.prompt import SYSTEM_PROMPT
from deepnb.core.subagents import Subagent
from deepnb.wiring.subagent_specs import subagents

Refresh = Literal["thread", "call", "delta"]


@dataclass(frozen=True)
class Options:
    """The agent's parts. A part that is switched off adds no middleware and no tokens."""

    model: Any = "offline"
    """A name (`offline`, or any of `init_chat_model`), or a LangChain chat model."""
    base_url: str | None = None
    """Of an OpenAI-compatible server."""
    system_prompt: str = SYSTEM_PROMPT
    tools: tuple[Any, ...] = ()
    middleware: tuple[Any, ...] = ()
    subagents: tuple[Subagent, ...] = ()
    """Given as deepagents' dicts or as `deepnb.Subagent`."""
    general_purpose: bool = True
    """Whether there is a subagent for any task."""
    max_subagent_depth: int = 3
    """How deep subagents may be nested: 1 lets the main agent alone hand tasks on."""
    backend: Any = None
    """A deepagents backend; None for the state held in the kernel."""
    checkpointer: Any = None
    store: Any = None
    assistant_id: str | None = None
    """Keeps this assistant's files in a store apart from those of others."""
    max_input_tokens: int | None = None
    """The context window in tokens; None for what the model's profile says."""
    trigger: Size | None = None
    keep: Size | None = None
    eviction_threshold: int | None = 20_000
    """A tool result of more tokens is put in a file, its beginning left in the thread."""
    memory: tuple[str, ...] = ("/AGENTS.md",)
    """Paths of the memory files, in order; the first is where the agent writes."""
    memory_refresh: Refresh = "delta"
    memory_budget: int | None = None
    """Tokens that the injected memory files may take; None for the smaller of 4,000 and 15 % of the window."""
    embeddings: Any = None
    """A LangChain `Embeddings`, by which memory is searched beside words and n-grams."""
    skills: tuple[str, ...] = ("/skills/",)
    """Directories of skills; a later one overrides an earlier one's skill of the same name."""
    enable_memory: bool = True
    enable_skills: bool = True
    enable_filesystem: bool = True
    enable_subagents: bool = True
    approve: Any = "outside"
    """Which calls need the user's word: `outside` (what can't be taken back), `writes`, `read-only` (none may change
    anything), or a mapping of tools to `ask`, `allow`, `deny`, where `*` stands for one of those three."""
    max_steps: int | None = 50
    """Model calls of the main agent in one turn."""
    max_tokens: int | None = None
    """Tokens of all model calls in one turn."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """Model -> US dollars for a million tokens of (input, cached input, output)."""
    namespace: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The user's variables."""


_MANY = ("tools", "middleware", "subagents", "memory", "skills")
_COUNTS = ("max_input_tokens", "eviction_threshold", "memory_budget", "max_steps", "max_tokens")


def changed(options: Options, changes: Mapping[str, Any]) -> Options:
    """The options with changes; a lone path stands for a sequence of one. A mistake is one line."""
    given: dict[str, Any] = {
        k: (v,) if k in ("memory", "skills") and isinstance(v, str) else v for k, v in changes.items()
    }
    if unknown := given.keys() - {f.name for f in fields(Options)}:
        raise DeepnbError(f"Session has no option {min(unknown)!r}", "help(deepnb.Session) lists them")
    for name in _MANY:
        if name in given and not isinstance(given[name], list | tuple):
            raise DeepnbError(f"{name} is a list, not a {type(given[name]).__name__}", f"{name}=[...]")
    given.update({name: tuple(given[name]) for name in _MANY if name in given})
    if "subagents" in given:
        given["subagents"] = subagents(given["subagents"])
    made = replace(options, **given)
    _check(made)
    return made


def _check(o: Options) -> None:
    policy_of(o.approve)
    for name in ("trigger", "keep"):
        if (size := getattr(o, name)) is not None and not _is_size(size):
            raise DeepnbError(
                f"{name} can't be {size!r}", f'{name}=("fraction", 0.85), or "tokens" or "messages" and a number'
            )
    for name in _COUNTS:
        count = getattr(o, name)
        if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
            raise DeepnbError(f"{name} can't be {count!r}", "give a whole number above 0, or None")
    depth = o.max_subagent_depth
    if not isinstance(depth, int) or isinstance(depth, bool) or depth < 1:
        raise DeepnbError(
            f"max_subagent_depth can't be {depth!r}", "give a whole number above 0; enable_subagents=False for none"
        )
    if not isinstance(o.prices, Mapping) or not all(map(_is_price, o.prices.values())):
        raise DeepnbError(
            "prices gives dollars for a million tokens of input, cached input and output",
            'prices={"MODEL": (2.0, 0.5, 8.0)}, with what your provider charges',
        )
    if o.memory_refresh not in (policies := get_args(Refresh)):
        raise DeepnbError(f"memory_refresh is one of {', '.join(policies)}", f"memory_refresh={policies[0]!r}")
    for name, off in (("memory", "enable_memory"), ("skills", "enable_skills")):
        if not getattr(o, name):
            raise DeepnbError(f"{name} needs a path", f"{off}=False switches it off")
    for path in (*o.memory, *(source.rstrip("/") for source in o.skills)):
        check_path(path)


def _is_size(size: Any) -> bool:
    if not (isinstance(size, list | tuple) and len(size) == 2):
        return False
    kind, value = size
    number = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return number and kind in get_args(Kind) and (kind != "fraction" or value <= 1)


def _is_price(price: Any) -> bool:
    if not (isinstance(price, list | tuple) and len(price) == 3):
        return False
    return all(isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v < float("inf") for v in price)


def same(a: Options, b: Options) -> bool:
    """Whether two options make the same agent: objects count as the same only where they are one.

    What the user is asked about is looked up at each call.
    """

    def one(x: Any, y: Any) -> bool:
        if isinstance(x, tuple) and isinstance(y, tuple):
            return len(x) == len(y) and all(map(one, x, y))
        return x is y or (isinstance(x, str | int | float) and type(x) is type(y) and bool(x == y))

    return all(one(getattr(a, f.name), getattr(b, f.name)) for f in fields(Options) if f.name != "approve")
