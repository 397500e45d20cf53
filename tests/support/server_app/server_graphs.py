"""Two graphs as somebody serves them; their model goes by the prompt, so that it answers the same wherever it runs."""

import asyncio
from typing import Any

from deepagents import create_deep_agent
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from deepnb.testing import ScriptedModel, call


class Ruled(ScriptedModel):
    """Does what the first word of the last prompt says."""

    answers: list[Any] = []  # noqa: RUF012

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        at = max(n for n, message in enumerate(messages) if message.type == "human")
        results = [message for message in messages[at:] if message.type == "tool"]
        word, _, rest = messages[at].text.partition(" ")
        made = _call(word, rest, len(results), f"{word}-{at}-{len(results)}")
        if made is not None:
            return made
        if word == "fail":
            raise RuntimeError("the model is down")
        return AIMessage(f"After {len(results)} results, {word} {rest or 'nothing'} is done.")


def _call(word: str, rest: str, done: int, id_: str) -> AIMessage | None:
    if word == "nap" and done < int(rest):
        return call("nap", id_, number=done)
    if done:
        return None
    match word:
        case "look":
            return call("lookup", id_, key=rest)
        case "pay":
            return call("pay", id_, amount=int(rest))
        case "write":
            path, _, text = rest.partition(" ")
            return call("write_file", id_, file_path=path, content=text)
        case "learn":
            old, _, new = rest.partition(">")
            return call("edit_file", id_, file_path="/AGENTS.md", old_string=old, new_string=new)
        case "task":
            return call("task", id_, subagent_type="general-purpose", description=rest)
    return None


def lookup(key: str) -> str:
    """Look something up."""
    return f"{key} is 42"


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


async def nap(number: int) -> str:
    """Sleep for a second."""
    await asyncio.sleep(1)
    return "slept"


agent = create_deep_agent(
    model=Ruled(), tools=[lookup, pay, nap], memory=["/AGENTS.md"], interrupt_on={"pay": True}, name="agent"
)


def _ask(state: MessagesState) -> dict[str, Any]:
    answer = interrupt({"question": "Which hall?"})
    return {"messages": [AIMessage(f"The hall is {answer['hall']}.")]}


hall = StateGraph(MessagesState).add_node("ask", _ask).add_edge(START, "ask").add_edge("ask", END).compile()
