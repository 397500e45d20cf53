"""A chat model with all by which its context is measured: window, rule, counter."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from deepnb.context.counting import BY_CLASS, Counter, Meter, encoding_of
from deepnb.context.estimate import Reports
from deepnb.engine.request import reserve_of
from deepnb.engine.retries import taken_over
from deepnb.models.keys import is_teaching, window_of
from deepnb.models.resolve import Resolved, counts_as_teaching, is_tape, label_of, resolve
from deepnb.models.tapes.recorder import Recording
from deepnb.models.windows import Key, is_ollama, key_of, learn, window_for
from deepnb.values import tokenizer
from deepnb.values.budget import Rule, limit_of, rule_for
from deepnb.values.xray import LEAST, Caching
from deepnb.wiring.options import Options


@dataclass(frozen=True)
class Measured:
    """A model, the name it is shown under, when its context is compacted, how its tokens are counted."""

    model: Any
    label: str
    rule: Rule
    meter: Meter
    learn: Callable[[int, bool], Rule]
    """Takes how many tokens its server takes, and whether the server said so; return the rule from then on."""
    retries: int = 0
    """How often a request of it that failed is sent again; its SDK sends none again then."""
    remote: bool = False
    """Whether requests go to somebody who may fail to answer."""
    recording: Recording | None = None


def caching_of(model: Any) -> Caching:
    """Return what is known of how a model's provider caches prompts, by the packages of its class: none is imported to ask."""
    packages = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    marks = "langchain_anthropic" in packages
    address = str(getattr(model, "openai_api_base", None) or "https://api.openai.com")
    known = marks or ("langchain_openai" in packages and "://api.openai.com" in address)
    return Caching(marks, LEAST if known else 0)


def main_model(options: Options, recording: Recording | None = None) -> Measured:
    at, settings = options.base_url, options.model_settings
    resolved = resolve(options.model, base_url=at, settings=settings, namespace=options.namespace)
    return _measured(resolved, options, recording, options.max_input_tokens)


def own_model(options: Options, model: Any, main: Measured) -> Measured:
    """Return a subagent's own, with its own window; beside a main model that plays a tape it is the one on the tape."""
    if is_tape(main.model):
        found = main.model.of(model if isinstance(model, str) else label_of(model))
        resolved = Resolved(found, label_of(found))
    else:
        resolved = resolve(model, namespace=options.namespace)
    sizes = [size for size in (options.trigger, options.keep) if size is not None]
    if window_for(resolved.model) is None and any(kind == "fraction" for kind, _ in sizes):
        options = replace(options, trigger=None, keep=None)
    return _measured(resolved, options, main.recording)


def _measured(resolved: Resolved, options: Options, recording: Recording | None, given: int | None = None) -> Measured:
    asked, label = resolved.model, resolved.label
    reserve, fixed = reserve_of(asked)
    guess = options.trigger is None or options.trigger[0] == "fraction"

    def rule_now() -> Rule:
        window = window_for(asked, given, guess=guess)
        tokens = window.tokens if window else None
        rule = rule_for(tokens, options.trigger, options.keep, reserve, limit_of(tokens, reserve, fixed))
        return replace(rule, guessed=window is not None and not window.known)

    def learned(tokens: int, known: bool) -> Rule:
        learn(asked, tokens, known=known)
        meter.rule = rule_now()
        return meter.rule

    rule = rule_now()
    model: Any = asked
    retries, window = 0, rule.window
    own = {"num_ctx": window} if is_ollama(asked) else {}
    if window is not None and (window != window_of(asked) or own):  # and whether that is a guess, for a tape
        guessed = {"window_guessed": True} if rule.guessed else {}
        profile = {**(getattr(asked, "profile", None) or {}), **guessed, "max_input_tokens": window}
        model = asked.model_copy(update={"profile": profile, **own})
    if is_tape(model):
        retries = model.taped.retries  # as often as they were sent again
    elif not is_teaching(model):
        model, retries = taken_over(model)
    if recording is not None:
        model = recording.heard(model, label, "teaching" if counts_as_teaching(model) else "by script", retries)
    meter = meter_of(asked, rule, recorded=recording is not None)
    return Measured(model, label, rule, meter, learned, retries, not counts_as_teaching(asked), recording)


_reports: dict[tuple[Key, str], tuple[Any, Reports]] = {}
"""(model, name of a counter) -> what the model reported, for all sessions of this process; the model keeps its id."""


def meter_of(model: Any, rule: Rule, *, recorded: bool = False) -> Meter:
    """Return a meter that is exact for the teaching model and, once their encodings are there, for OpenAI's.

    What is recorded is counted by class to its end, so that compactions are where they are when the tape is played.
    """
    if model is not None and counts_as_teaching(model):
        return Meter(Counter(tokenizer.count, exact=True, name="teaching"), rule)
    if recorded or model is None or is_tape(model):
        return Meter(BY_CLASS, rule)
    kept = key_of(model)

    def reports(counter: Counter) -> Reports:
        return _reports.setdefault((kept, counter.name), (model, Reports()))[1]

    return Meter(BY_CLASS, rule, encoding_of(model), reports)
