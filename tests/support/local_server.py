"""Servers of models on one's own machine, by what each publishes of its interface: rows of one scripted server."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.chat_server import Fail, OpenAIServer, Say

NAME = "qwen2.5-coder"


@dataclass(frozen=True)
class Kind:
    name: str
    pages: Callable[[int], Mapping[str, Any]]
    refuses: Callable[[int, int], Fail]  # (tokens of the request, tokens of the window) -> the answer


def _listed(**more: Any) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": NAME, "object": "model", "owned_by": "me", "created": 0, **more}]}


def _llama(tokens: int, window: int) -> Fail:
    words = f"request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it"
    more = {"code": 400, "n_prompt_tokens": tokens, "n_ctx": window}
    return Fail(400, words, kind="exceed_context_size_error", more=more)


def _vllm(tokens: int, window: int) -> Fail:
    asked = f"However, you requested {tokens} tokens ({tokens} in the messages, 0 in the completion)."
    return Fail(400, f"This model's maximum context length is {window} tokens. {asked}", kind="BadRequestError")


def _lm_studio(tokens: int, window: int) -> Fail:
    loaded = f"However, the model is loaded with context length of only {window} tokens, which is not enough."
    return Fail(400, f"Trying to keep the first {tokens} tokens when context the overflows. {loaded}")


_OTHER = {"id": "other", "object": "model", "state": "loaded", "loaded_context_length": 512}

KINDS = (
    Kind("llama.cpp", lambda n: {"/v1/models": _listed(meta={"n_ctx": n, "n_ctx_train": 32_768})}, _llama),
    Kind("llama.cpp, before n_ctx was listed",
         lambda n: {"/v1/models": _listed(id="/models/qwen.gguf", meta={"n_ctx_train": 32_768}),
                    "/props": {"default_generation_settings": {"n_ctx": n, "params": {}}, "total_slots": 1}},
         _llama),
    Kind("vLLM", lambda n: {"/v1/models": _listed(root=NAME, max_model_len=n)}, _vllm),
    Kind("LM Studio",
         lambda n: {"/v1/models": {"data": [{"id": "other"}, {"id": NAME}], "object": "list"},
                    "/api/v0/models": {"data": [_OTHER,
                                                {"id": NAME, "state": "loaded", "max_context_length": 131_072,
                                                 "loaded_context_length": n}]}},
         _lm_studio),
    Kind("Ollama by its OpenAI interface",
         lambda n: {"/v1/models": _listed(owned_by="library"),
                    "/api/ps": {"models": [{"name": NAME, "model": NAME, "context_length": n, "size_vram": 1}]}},
         _vllm),
    Kind("OpenRouter",
         lambda n: {"/v1/models": _listed(context_length=131_072, top_provider={"context_length": n})},
         _vllm),
)  # fmt: skip
SILENT = Kind("a gateway that tells nothing", lambda n: {"/v1/models": _listed()}, _vllm)
WORDLESS = Kind(
    "a gateway whose refusals tell nothing, either",
    lambda n: {},
    lambda tokens, window: Fail(400, "Input is too large: context_length_exceeded", kind="context_length_exceeded"),
)


def local_server(kind: Kind, window: int, *, told: bool = True, says: str = "Noted.") -> OpenAIServer:
    """A server of this kind, whose model has this window; unless it is `told`, no page says so."""

    def answer(request: dict[str, Any]) -> Any:
        tokens = len(json.dumps([request["messages"], request.get("tools")])) // 4  # deepnb's estimate errs high
        return kind.refuses(tokens, window) if tokens > window else Say(says)

    return OpenAIServer([answer], pages=dict(kind.pages(window)) if told else {})
