"""A name, or a chat model, -> a chat model; what is missing is one line that says what to type."""

import difflib
import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from deepnb.core.errors import InvalidError, NotFoundError, NotInstalledError
from deepnb.models.names import EXAMPLES, OFFLINE, PROVIDERS


@dataclass(frozen=True)
class Resolved:
    """A chat model and the name it is shown under."""

    model: BaseChatModel
    label: str


def resolve(model: Any, *, base_url: str | None = None, namespace: Mapping[str, Any] | None = None) -> Resolved:
    """The chat model for a name, a variable of the namespace that holds one, or one itself.

    `base_url` is that of an OpenAI-compatible server.
    """
    if isinstance(model, BaseChatModel):
        return Resolved(model, label_of(model))
    if not isinstance(model, str):
        raise InvalidError(
            f"a {type(model).__name__} is not a chat model", "give a model's name or a LangChain chat model"
        )
    if model == OFFLINE:
        from deepnb.models.teaching import TeachingModel

        return Resolved(TeachingModel(), OFFLINE)
    held = (namespace or {}).get(model)
    if isinstance(held, BaseChatModel):
        return Resolved(held, f"{model} (no LLM)" if is_teaching(held) else model)
    if held is not None and ":" not in model:
        raise InvalidError(f"the variable {model} holds a {type(held).__name__}, not a chat model", "see %agent use?")
    return Resolved(_by_name(model, base_url), model)


def is_teaching(model: BaseChatModel) -> bool:
    """Whether this is the rule-based teaching model, whatever it is called."""
    return model._llm_type == "deepnb-teaching"


def label_of(model: BaseChatModel) -> str:
    """The name a chat model goes by."""
    if is_teaching(model):
        return OFFLINE
    for field in ("model_name", "model"):
        if isinstance(name := getattr(model, field, None), str) and name:
            return name
    return type(model).__name__


def _by_name(name: str, base_url: str | None) -> BaseChatModel:
    provider, _, rest = name.partition(":")
    if base_url is not None and provider not in PROVIDERS:  # `qwen3:8b` is all name
        provider, rest, name = "openai", name, f"openai:{name}"
    if rest:
        _check_provider(provider, base_url)
    settings: dict[str, Any] = {}
    if base_url is not None:
        settings["base_url"] = base_url
        if provider == "openai" and not os.environ.get("OPENAI_API_KEY"):
            settings["api_key"] = "none"
    try:
        model: BaseChatModel = init_chat_model(name, **settings)
        return model
    except ImportError as error:
        package = PROVIDERS.get(provider, (f"langchain-{provider}", None))[0]
        raise NotInstalledError(f"{name} needs the package {package}", f"%pip install {package}") from error
    except ValueError as error:
        near = difflib.get_close_matches(name, EXAMPLES, n=1, cutoff=0.5)
        hint = f"%agent use {near[0]}" if near else "%agent use PROVIDER:MODEL, such as %agent use openai:gpt-5.2"
        raise NotFoundError(f"no model {name!r}", hint) from error
    except Exception as error:
        for other, (_, key) in PROVIDERS.items():  # a bare name: its provider asks for its key
            if key is not None and key in str(error):
                _check_provider(other, base_url)
        why = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise InvalidError(f"{name} can't be set up ({why})", "fix that and type it again") from error


def _check_provider(provider: str, base_url: str | None) -> None:
    """A missing package or key, said before the provider's own code does."""
    if provider not in PROVIDERS:
        return
    package, key = PROVIDERS[provider]
    if importlib.util.find_spec(package.replace("-", "_")) is None:
        raise NotInstalledError(f"{provider} models need the package {package}", f"%pip install {package}")
    if key is not None and base_url is None and not os.environ.get(key):
        raise NotInstalledError(
            f"{provider} models need a key in {key}",
            f"set {key} in the environment that starts Jupyter, or %agent use {OFFLINE}",
        )
