"""How the teaching model decides: a table of intents, each a script that is played again from its start.

A script is a generator: it yields a `Use`, is sent the `Step` that came of it, and returns its answer.
Nothing is kept between two calls of the model: the results already in the conversation are played
to the script, and where they end is the next move.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepnb.models.teaching.conversation import Conversation, Step
from deepnb.models.teaching.words import short

MAX_CALLS = 6
"""Tool calls in one turn."""


@dataclass(frozen=True)
class Say:
    """The turn's answer."""

    text: str


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


def plan(conversation: Conversation, intents: Sequence[Intent]) -> Say | Use:
    """The next move: that of the first intent which recognises the request. The last one must."""
    for intent in intents:
        if (found := intent.recognise(conversation)) is not None:
            script = intent.script(conversation, found)
            return Say(script) if isinstance(script, str) else _next_move(script, conversation)
    raise LookupError("no intent recognises the request")


def _next_move(script: Script, c: Conversation) -> Say | Use:
    """Play the turn's results to the script. Steps it did not ask for are passed over."""
    steps = iter(c.turn)
    try:
        use = next(script)
        while step := next((s for s in steps if s.tool == use.tool), None):
            if step.failed and not use.may_fail:
                return Say(failure(c, step))
            use = script.send(step)
    except StopIteration as end:
        return Say(end.value)
    return _allowed(use, c)


def _allowed(use: Use, c: Conversation) -> Say | Use:
    if use.tool not in c.tools:
        return Say(
            c.tell(
                f"I would call the tool `{use.tool}` here, but it is not bound to me, so I stop.",
                f"这里我本要调用工具 `{use.tool}`，但它没有绑定给我，所以到此为止。",
            )
        )
    if len(c.turn) >= MAX_CALLS:
        return Say(
            c.tell(
                f"I stop here: I make at most {MAX_CALLS} tool calls in one turn.",
                f"到此为止：我一轮最多调用 {MAX_CALLS} 次工具。",
            )
        )
    return use


def failure(c: Conversation, step: Step) -> str:
    """An honest sentence on a tool that did not do what was asked."""
    if "waits for the user" in step.result:
        if "like an instruction" in step.result:
            return c.tell(
                f"I did not write that to {step.path}: the change needs your approval, because it reads like an instruction "
                "and is not in your words. %memory pending shows it.",
                f"我没有写入 {step.path}：这一改动读起来像指令，又不是你说的话，要等你确认。%memory pending 可以查看。",
            )
        return c.tell(
            f"I did not write that to {step.path}: the change needs your approval. %memory pending shows it.",
            f"我没有写入 {step.path}：改动要等你确认。%memory pending 可以查看。",
        )
    if "did not allow this call" in step.result:
        why = step.result.partition("said why: ")[2].partition(". It was not run")[0]
        because = f" ({short(why, 120)})" if why else ""
        return c.tell(
            f"You did not allow `{step.tool}`{because}, so I did not run it.",
            f"你没有允许 `{step.tool}`{because}，所以我不做了。",
        )
    what = short(step.result, 200) or "(nothing)"
    return c.tell(f"The tool `{step.tool}` failed. It said: {what}", f"工具 `{step.tool}` 没有成功。它说：{what}")
