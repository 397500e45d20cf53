"""A name, or a chat model, -> a chat model; what is missing is one line that says what to type."""

import difflib
import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from deepnb.gate import redact
from deepnb.models.keys import EXAMPLES, OFFLINE, PROVIDERS, guard_keys, has_key, is_teaching, kept_key
from deepnb.values.errors import InvalidError, NotFoundError, NotInstalledError
from deepnb.values.failures import has_credential


@dataclass(frozen=True)
class Resolved:
    """A chat model and the name it is shown under."""

    model: BaseChatModel
    label: str


def resolve(
    model: Any,
    *,
    base_url: str | None = None,
    settings: Mapping[str, float] | None = None,
    namespace: Mapping[str, Any] | None = None,
) -> Resolved:
    """Return the chat model for a name, a variable of the namespace that holds one, or one itself.

    `base_url` is that of an OpenAI-compatible server, `settings` are those of a model by name.
    """
    found = _found(model, base_url, settings or {}, namespace or {})
    guard_keys(found.model)
    return found


def _found(model: Any, base_url: str | None, settings: Mapping[str, float], namespace: Mapping[str, Any]) -> Resolved:
    held = namespace.get(model) if isinstance(model, str) and model != OFFLINE else model
    if settings and (model == OFFLINE or isinstance(held, BaseChatModel)):
        what = f"{next(iter(settings))} can't be set for {model if isinstance(model, str) else label_of(model)}"
        raise InvalidError(what, "set it where the chat model is made, or give the name of a model")
    if isinstance(model, BaseChatModel):
        return Resolved(model, label_of(model))
    if not isinstance(model, str):
        raise InvalidError(f"a {type(model).__name__} is not a chat model", "give a model's name or a chat model")
    if model == OFFLINE:
        from deepnb.models.teaching import TeachingModel

        return Resolved(TeachingModel(), OFFLINE)
    if isinstance(held, BaseChatModel):
        return Resolved(held, f"{model} (no LLM)" if is_teaching(held) else model)
    if held is not None and ":" not in model:
        raise InvalidError(f"the variable {model} holds a {type(held).__name__}, not a chat model", "see %agent use?")
    return Resolved(_by_name(model, base_url, settings), model)


def is_tape(model: BaseChatModel) -> bool:
    return model._llm_type == "deepnb-tape"


def counts_as_teaching(model: Any) -> bool:
    """Return whether tokens are counted with the tokenizer of the teaching model: for that itself, and for a tape of it."""
    return is_teaching(model) or bool(is_tape(model) and model.taped.counts == "teaching")


def label_of(model: BaseChatModel) -> str:
    """Return the name a chat model goes by."""
    if is_teaching(model):
        return OFFLINE
    for field in ("model_name", "model"):
        if isinstance(name := getattr(model, field, None), str) and name:
            return name
    return type(model).__name__


def _by_name(name: str, base_url: str | None, settings: Mapping[str, float]) -> BaseChatModel:
    provider, _, rest = name.partition(":")
    if base_url is not None and provider not in PROVIDERS:  # `qwen3:8b` is all name
        provider, rest, name = "openai", name, f"openai:{name}"
    if rest and provider in PROVIDERS and (do := missing(provider, keyless=base_url is not None)):
        one = PROVIDERS[provider]  # said before the provider's own code does
        what = f"the package {one.package}" if not is_installed(provider) else f"a key in {one.key}"
        raise NotInstalledError(f"{provider} models need {what}", do)
    try:
        model: BaseChatModel = init_chat_model(name, **_settings(provider if rest else "", base_url, settings))
        return model
    except ImportError as error:
        package = PROVIDERS[provider].package if provider in PROVIDERS else f"langchain-{provider}"
        raise NotInstalledError(f"{name} needs the package {package}", f"%pip install {package}") from error
    except ValueError as error:
        near = difflib.get_close_matches(name, EXAMPLES, n=1, cutoff=0.5)
        hint = f"%agent use {near[0]}" if near else "%agent use PROVIDER:MODEL, such as %agent use openai:gpt-5.2"
        raise NotFoundError(f"no model {name!r}", hint) from error
    except Exception as error:
        asks = (other for other, one in PROVIDERS.items() if one.key is not None and one.key in str(error))
        if not rest and (other := next(asks, None)) is not None:  # a bare name: its provider asks for its key
            return _by_name(f"{other}:{name}", base_url, settings)
        why = (redact(str(error)).strip().splitlines() or [type(error).__name__])[0][:200]
        cause = None if has_credential(error) else error
        raise InvalidError(f"{name} can't be set up ({why})", "fix that and type it again") from cause


def _settings(provider: str, base_url: str | None, given: Mapping[str, float]) -> dict[str, Any]:
    """Return what a provider's class is given beside the name: the address, settings, and a key that was typed in."""
    settings: dict[str, Any] = dict(given) if base_url is None else {**given, "base_url": base_url}
    if provider == "ollama":  # which has other names for these
        if "max_tokens" in settings:
            settings["num_predict"] = settings.pop("max_tokens")
        if "timeout" in settings:
            settings["client_kwargs"] = {"timeout": settings.pop("timeout")}
    if base_url is not None and provider == "openai":
        settings["stream_usage"] = True  # LangChain asks for it at OpenAI's own address alone
    if (key := kept_key(provider)) is not None:
        settings["api_key"] = key.reveal()
    elif base_url is not None and provider == "openai" and not os.environ.get("OPENAI_API_KEY"):
        settings["api_key"] = "none"
    return settings


def is_installed(provider: str) -> bool:
    """Return whether a provider's package is there; nothing is imported to ask."""
    return importlib.util.find_spec(PROVIDERS[provider].module) is not None


def missing(provider: str, *, keyless: bool = False) -> str:
    """Return what to type, in one line, before a model of a provider can be used; empty where nothing is missing."""
    one = PROVIDERS[provider]
    steps = [] if is_installed(provider) else [f"%pip install {one.package}"]
    if not keyless and not has_key(provider):
        variable = f"set {one.key} in the environment that starts Jupyter"
        ask = f"%agent key {provider}"
        steps.append(variable if not one.typed else ask if steps else f"{ask} asks for it, or {variable}")
    return ", then ".join(steps)
