"""A chat model with all by which its context is measured: window, rule, counter."""

from dataclasses import dataclass, replace
from typing import Any

from deepnb.context.counting import BY_SCRIPT, Counter, Meter
from deepnb.context.encodings import encoding_of
from deepnb.core import tokenizer
from deepnb.core.budget import Rule, rule_for
from deepnb.engine.retries import taken_over
from deepnb.models.resolve import is_teaching, resolve
from deepnb.wiring.options import Options, window_of


@dataclass(frozen=True)
class Measured:
    """A model, the name it is shown under, when its context is compacted, how its tokens are counted."""

    model: Any
    label: str
    rule: Rule
    meter: Meter
    retries: int = 0
    """How often a request of it that failed is sent again; its SDK sends none again then."""
    remote: bool = False
    """Whether requests go to somebody who may fail to answer."""


def main_model(options: Options) -> Measured:
    """The main agent's; the window given in the options is its."""
    resolved = resolve(options.model, base_url=options.base_url, namespace=options.namespace)
    return _measured(_with_window(resolved.model, options.max_input_tokens), resolved.label, options)


def own_model(options: Options, model: Any) -> Measured:
    """A subagent's own: its window is what its profile says; a fraction of one that is not known is no rule for it."""
    resolved = resolve(model, namespace=options.namespace)
    sizes = [size for size in (options.trigger, options.keep) if size is not None]
    if window_of(resolved.model) is None and any(kind == "fraction" for kind, _ in sizes):
        options = replace(options, trigger=None, keep=None)
    return _measured(resolved.model, resolved.label, options)


def _measured(model: Any, label: str, options: Options) -> Measured:
    rule = rule_for(window_of(model), options.trigger, options.keep)
    if is_teaching(model):
        return Measured(model, label, rule, _meter(model, rule))
    model, retries = taken_over(model)
    return Measured(model, label, rule, _meter(model, rule), retries, remote=True)


def _meter(model: Any, rule: Rule) -> Meter:
    """Exact for the teaching model; for others by script, until the encoding of an OpenAI model is there."""
    if is_teaching(model):
        return Meter(Counter(tokenizer.count, exact=True, name="teaching"), rule)
    encoding = encoding_of(model)

    def better() -> Counter | None:
        count = encoding()
        return None if count is None else Counter(count, exact=True, name="tiktoken")

    return Meter(BY_SCRIPT, rule, better)


def _with_window(model: Any, window: int | None) -> Any:
    """The model, declaring another context window than its profile does."""
    if window is None:
        return model
    profile = dict(getattr(model, "profile", None) or {})
    return model.model_copy(update={"profile": {**profile, "max_input_tokens": window}})
