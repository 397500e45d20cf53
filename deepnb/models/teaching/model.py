"""The teaching model as a LangChain chat model: the next move, streamed token by token."""

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.base import LangSmithParams
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.language_models.model_profile import ModelProfile
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from deepnb.engine.request import message_text, pieces
from deepnb.models.names import OFFLINE_WINDOW
from deepnb.models.teaching import answers, code, errors, files, memory, recall, skills, summary, talk
from deepnb.models.teaching.conversation import conversation
from deepnb.models.teaching.moves import Intent, Use, asks, plan
from deepnb.values.subagents import TASK
from deepnb.values.tokenizer import count, tokens

NAME = "offline"

INTENTS = (
    Intent("compact", summary.wants_compaction, lambda _, said: summary.summary(summary.digest(said))),
    Intent("flush", summary.wants_flush, summary.put_down),
    Intent("explain an error", lambda c: errors.read_failure(c.request), errors.explain),
    Intent("delegate", skills.wants_delegation, skills.delegate),
    Intent("remember a file", asks(*memory.REMEMBER_FILE), memory.remember_file),
    Intent("note", asks(*memory.NOTE, tool="note"), memory.note),
    Intent("search memory", asks(*recall.SEARCH), recall.search),
    Intent("remember", memory.wants_remember, memory.remember),
    Intent("forget", asks(*memory.FORGET), memory.forget),
    Intent("write a file", files.wants_write, files.write_file),
    Intent("read a file", asks(*files.READ), files.read_file),
    Intent("list files", asks(*files.LIST), files.list_files),
    Intent("list skills", asks(*skills.LIST), skills.list_skills),
    Intent("recall", asks(*recall.RECALL), recall.recall),
    Intent("who", asks(*talk.WHO), talk.who),
    Intent("call a tool", skills.wants_call, skills.call),
    Intent("use a skill", skills.wants_skill, skills.follow_skill),
    Intent("compute", code.wants_code, code.compute),
    Intent("ask of a table", answers.wants_table, code.ask),
    Intent("recall about the user", asks(*recall.OF_THE_USER), recall.recall),
    Intent("recall by words", recall.wants_matching, recall.recall_matching),
    Intent("thanks", asks(talk.THANKS), lambda c, _: talk.says(c, "thanks")),
    Intent("hello", asks(talk.GREETING), lambda c, _: talk.says(c, "hello")),
    Intent("ask of any table", answers.wants_any_table, code.ask),
    Intent("knowledge", asks(*talk.QUESTION), lambda c, _: talk.says(c, "nothing")),
    Intent("confess", lambda c: c.request, talk.confess),
)
"""All that the teaching model can do, in the order in which it is tried: one row each."""


class TeachingModel(BaseChatModel):
    """A rule-based chat model: no LLM, no network, the same answer to the same messages.

    Usage is exact by its own tokenizer (`deepnb.values.tokenizer`).
    """

    window: int = OFFLINE_WINDOW
    """The context window it declares, in tokens."""
    delay: float = 0.0
    """Seconds between two tokens, for demonstrations."""

    @property
    def _llm_type(self) -> str:
        return "deepnb-teaching"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": NAME, "window": self.window}

    def _resolve_model_profile(self) -> ModelProfile:
        return ModelProfile(max_input_tokens=self.window, tool_calling=True, text_inputs=True, text_outputs=True)

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """The model with tools it may call. `tool_choice` is not followed: rules decide."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Runnable[LanguageModelInput, Any]:
        """Raise NotImplementedError: rules fill no schema."""
        raise NotImplementedError("the teaching model follows rules and can't fill a schema: use a model of a provider")

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return LangSmithParams(ls_provider="deepnb", ls_model_name=NAME, ls_model_type="chat")

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        tools = kwargs.get("tools") or ()
        agents, parameters = _offered(tools)
        move = plan(conversation(messages, parameters, agents, parameters), INTENTS)
        written = 0
        for chunk, text in _chunks(move, messages):
            written += text
            if self.delay:
                time.sleep(self.delay)
            yield ChatGenerationChunk(message=chunk)
        read = sum(count(piece.text) + piece.extra for piece in pieces(messages, tools))
        usage = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                content="", usage_metadata=usage, response_metadata={"model_name": NAME}, chunk_position="last"
            )
        )


def _chunks(move: str | Use, messages: Sequence[BaseMessage]) -> Iterator[tuple[AIMessageChunk, int]]:
    """(chunk, tokens in it) of a move. The name and arguments of a call are counted as one text."""
    if isinstance(move, str):
        for token in tokens(move):
            yield AIMessageChunk(content=token), 1
        return
    args = json.dumps(dict(move.args), ensure_ascii=False)
    head = tool_call_chunk(name=move.tool, args="", id=call_id(messages), index=0)
    yield AIMessageChunk(content="", tool_call_chunks=[head]), count(move.tool + args) - count(args)
    for token in tokens(args):
        yield AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(args=token, index=0)]), 1


def call_id(messages: Sequence[BaseMessage]) -> str:
    """The id of the next tool call: a hash of all that came before.

    It holds the ids of the calls before it, and a summary the count of requests, so that asking the
    same again, also after a compaction, gives another id.
    """
    seen = sha256()
    for message in messages:
        calls = [c["id"] for c in message.tool_calls] if isinstance(message, AIMessage) else []
        seen.update(repr((message.type, message_text(message), calls)).encode("utf-8", "surrogatepass"))
    return f"call_{seen.hexdigest()[:12]}"


def _offered(tools: Sequence[dict[str, Any]]) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """(the subagents that the tool `task` lists, a line each; each tool with its parameters)"""
    schemas = {str(schema.get("name", "")): schema for schema in (tool.get("function", tool) for tool in tools)}
    listed = str(schemas.get(TASK, {}).get("description", "")).partition("Available agent types")[2]
    parameters = {name: dict((s.get("parameters") or {}).get("properties") or {}) for name, s in schemas.items()}
    return re.findall(r"^- ([\w-]+): ", listed, re.MULTILINE), parameters
