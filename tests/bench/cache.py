"""The share of a request that a provider reads from its cache, at servers on loopback that cache as the real ones do.

The talk: eight turns of two calls, memory of about 1,500 tokens, edited before turns 4, 6 and 7. Baselines:
deepagents' own graph with memory and skills, to which an edit is never told; and memory_refresh="call", which writes the
block anew.
"""

import warnings
from collections.abc import Iterator
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import StateBackend
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver

from deepnb.engine.answer import usage
from deepnb.values.turn import Usage
from tests.bench.row import Row
from tests.support import caching
from tests.support.caching import NOTES, agent, cached_model, looks_then_answers, ran, serving, share

QUICK = False
LEAST = 80
EDITED = (4, 6, 7)
PROMPT = "Count the depots, {}. " + "And explain each. " * 10


def rows() -> Iterator[Row]:
    warnings.filterwarnings("ignore")
    for provider in caching.PROVIDERS:
        delta, call = (_shares(provider, memory_refresh=how) for how in ("delta", "call"))
        bare = _bare(provider)
        yield _row(f"{provider}, least of turns 3 to 8, beside deepagents", min(delta[2:]), min(bare[2:]))
        edits = [number - 1 for number in EDITED]
        after, anew = min(delta[i] for i in edits), min(call[i] for i in edits)
        yield _row(f'{provider}, the turn after an edit, beside "call"', after, anew)


def _row(what: str, share: float, baseline: float) -> Row:
    return Row(what, 100 * share, "%", 100 * baseline, None, f"{LEAST} %", 100 * share >= LEAST)


def _shares(provider: str, **options: Any) -> list[float]:
    with serving(provider, agent(looks_then_answers), **options) as (s, _):
        s.memory.write("/AGENTS.md", NOTES)
        found = []
        for number in range(1, 9):
            if number in EDITED:
                s.memory.add(f"the depot of turn {number} has moved to the harbour")
            found.append(share(ran(s, PROMPT.format(number)).calls))
        return found


def _bare(provider: str) -> list[float]:
    with cached_model(provider, agent(looks_then_answers)) as (model, _):
        graph: Any = create_deep_agent(
            model, backend=StateBackend(), memory=["/AGENTS.md"], skills=["/skills/"], checkpointer=InMemorySaver()
        )
        config = {"configurable": {"thread_id": "main"}}
        files = {"/AGENTS.md": {"content": NOTES, "encoding": "utf-8"}}
        found, seen = [], 0
        for number in range(1, 9):
            said = {"messages": [{"role": "user", "content": PROMPT.format(number)}], "files": files}
            messages = graph.invoke(said, config)["messages"]
            answers = [usage(m) for m in messages[seen:] if isinstance(m, AIMessage)]
            found.append(caching.share_of([u or Usage() for u in answers]))
            seen = len(messages)
        return found
