"""The models there are: what can be used here just now, and what is missing for the others; and asking for a key."""

import getpass
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from deepnb.engine.images import takes_images
from deepnb.gate import redact
from deepnb.models.keys import OFFLINE, OFFLINE_WINDOW, PROVIDERS, is_teaching, kept_key, window_of
from deepnb.models.resolve import missing, resolve
from deepnb.models.windows import ollama_models, served_models, window_for
from deepnb.values.agent import ModelInfo, ModelInfos
from deepnb.values.errors import DeepnbError, InvalidError, NotFoundError
from deepnb.wiring.options import Options


def model_infos(options: Options) -> ModelInfos:
    """The models, those that can be used first: the teaching model, the one in use, those of variables, providers and Ollama."""
    at = options.base_url
    rows = [ModelInfo(OFFLINE, True, OFFLINE_WINDOW, False, False, "rule-based, no LLM")]
    if not isinstance(options.model, str):
        rows.append(_in_use(options, _info(resolve(options.model).label, options.model)))
    for name in tuple(options.namespace):
        value = options.namespace[name]
        if hasattr(type(value), "_llm_type") and not name.startswith("_"):
            rows.append(replace(_info(name, value), note=f"a variable, {type(value).__name__}"))
    rows += _served(at) or () if at else ()
    rows += (row for name in PROVIDERS if name != "ollama" for row in _of(name))
    rows += _ollama()
    used = options.model if isinstance(options.model, str) else None
    by_name = {row.name: row for row in reversed(rows)}
    if used is not None and used not in by_name:
        try:
            by_name[used] = _info(used, resolve(used, base_url=at, namespace=options.namespace).model)
            if at:
                by_name[used] = replace(by_name[used], caches=None, note=f"at {redact(at)}")
        except DeepnbError as error:
            by_name[used] = ModelInfo(used, False, do=error.do)
    if used is not None:
        by_name[used] = _in_use(options, by_name[used])
    order = list(dict.fromkeys((OFFLINE, *(row.name for row in rows), *by_name)))
    return ModelInfos(sorted((by_name[name] for name in order), key=lambda row: not row.usable))


def server_infos(base_url: str) -> ModelInfos:
    """The models that an OpenAI-compatible server has."""
    if (found := _served(base_url)) is None:
        raise NotFoundError(f"no server answers at {redact(base_url)}", "start it, then type that again")
    if not found:
        do = f"%agent use NAME --base-url {redact(base_url)}"
        raise NotFoundError(f"the server at {redact(base_url)} does not list its models", do)
    return ModelInfos(found)


def _served(base_url: str) -> list[ModelInfo] | None:
    found = served_models(resolve("any", base_url=base_url).model)
    note = f"at {redact(base_url)}"
    return None if found is None else [ModelInfo(name, True, window, note=note) for name, window in found.items()]


def _in_use(options: Options, info: ModelInfo) -> ModelInfo:
    note = ", ".join(filter(None, ("in use", info.note)))
    if not info.usable:
        return replace(info, note=note)
    model = resolve(options.model, base_url=options.base_url, namespace=options.namespace).model
    window = window_for(model, options.max_input_tokens)
    return replace(info, window=window.tokens if window and window.known else None, note=note)


def _of(provider: str) -> Iterator[ModelInfo]:
    if do := missing(provider):
        yield ModelInfo(provider, False, do=do)
        return
    one = PROVIDERS[provider]
    source = "key entered here" if kept_key(provider) else f"key in {one.key}"
    name = f"{provider}:{one.example or 'MODEL'}"
    if not one.example:
        yield ModelInfo(name, True, caches=one.caches, note=source)
        return
    try:
        yield replace(_info(name, resolve(name).model), note=source)
    except DeepnbError as error:
        yield ModelInfo(provider, False, do=error.typed)


def _ollama() -> Iterator[ModelInfo]:
    models, do = ollama_models(), missing("ollama")
    for one in models or ():
        why = do or ("it can't call tools: ollama pull another model" if one.tools is False else "")
        yield ModelInfo(f"ollama:{one.name}", not why, one.window, one.sees, note="on this machine", do=why)
    if not models:
        start = "start Ollama on this machine (ollama serve)" if models is None else "ollama pull qwen3"
        yield ModelInfo("ollama", False, do=f"{start}{f', then {do}' if do else ''}")


def _info(name: str, model: Any) -> ModelInfo:
    if is_teaching(model):
        return ModelInfo(name, True, OFFLINE_WINDOW, False, False, "rule-based, no LLM")
    packages = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    caches = next((one.caches for one in PROVIDERS.values() if one.module in packages), None)
    sees = takes_images(model) if getattr(model, "profile", None) else None
    return ModelInfo(name, True, window_of(model), sees, caches)


# -- asking for what nobody may see: neither the page nor the notebook nor a log


def ask_hidden(prompt: str, what: str, do: str) -> str:
    """What is typed where it can't be seen; an error of one line from a front end that can't ask for `what`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)  # it would be seen as it is typed
            return getpass.getpass(f"{prompt} (hidden, kept in this process only): ")
    except (NotImplementedError, EOFError, OSError, getpass.GetPassWarning):
        raise InvalidError(f"this front end can't ask for {what}", do) from None
