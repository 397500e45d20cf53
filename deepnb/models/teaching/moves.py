"""How the teaching model decides: a table of intents, each a script that is played again from its start.

A script is a generator: it yields a `Use`, is sent the `Step` that came of it, and returns its answer.
Nothing is kept between two calls of the model: the results already in the conversation are played
to the script, and where they end is the next move.
"""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepnb.models.teaching.conversation import Conversation, Step
from deepnb.models.teaching.talk import says
from deepnb.models.teaching.words import first_match, short

MAX_CALLS = 6
"""Tool calls in one turn."""


@dataclass(frozen=True)
class Use:
    """A tool call. Where `may_fail`, the script itself deals with an error."""

    tool: str
    args: Mapping[str, Any]
    may_fail: bool = False


Script = Generator[Use, Step, str]


@dataclass(frozen=True)
class Intent:
    """One thing the model can do: what it recognises it by, and how it goes about it."""

    name: str
    recognise: Callable[[Conversation], Any]
    """What the request speaks of, handed to the script; None where it is another intent's."""
    script: Callable[[Conversation, Any], Script | str]


def asks(*patterns: str, tool: str = "") -> Callable[[Conversation], str | None]:
    """Recognise a request by patterns, where the tool it takes is bound: gives what is found as `x`, else the request."""

    def recognise(c: Conversation) -> str | None:
        found = first_match(c.request, *patterns) if not tool or tool in c.tools else None
        if found is None:
            return None
        asked = (found["x"] if "x" in found.re.groupindex else c.request).strip().rstrip("。.!！?？ \n")
        quoted = re.fullmatch(r"[\"'“](.+)[\"'”]", asked, re.DOTALL)
        return (quoted[1] if quoted else asked) or None

    return recognise


def plan(conversation: Conversation, intents: Sequence[Intent]) -> str | Use:
    """The next move, or the answer: that of the first intent which recognises the request. The last one must."""
    for intent in intents:
        if (found := intent.recognise(conversation)) is not None:
            script = intent.script(conversation, found)
            return script if isinstance(script, str) else _next_move(script, conversation)
    raise LookupError("no intent recognises the request")


def _next_move(script: Script, c: Conversation) -> str | Use:
    """Play the turn's results to the script. Steps it did not ask for are passed over."""
    steps = iter(c.turn)
    try:
        use = next(script)
        while step := next((s for s in steps if s.tool == use.tool), None):
            if step.failed and not use.may_fail:
                return failure(c, step)
            use = script.send(step)
    except StopIteration as end:
        return str(end.value)
    if use.tool not in c.tools:
        return says(c, "not bound", v=use.tool)
    return use if len(c.turn) < MAX_CALLS else says(c, "too many", n=MAX_CALLS)


def failure(c: Conversation, step: Step) -> str:
    """An honest sentence on a tool that did not do what was asked."""
    if "waits for the user" in step.result:
        return says(c, "held instruction" if "like an instruction" in step.result else "held", v=step.path)
    if "did not allow this call" in step.result:
        why = step.result.partition("said why: ")[2].partition(". It was not run")[0]
        return says(c, "rejected", v=step.tool, k=f" ({short(why, 120)})" if why else "")
    return says(c, "failed", v=step.tool, k=short(step.result, 200) or "(nothing)")
