"""Models and providers by name, known without importing any of them, and the keys that were typed in for them."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from deepnb.gate import add_own, credentials
from deepnb.values.errors import InvalidError, NotFoundError

OFFLINE = "offline"
OFFLINE_WINDOW = 8_000  # the window of the teaching model, in tokens


@dataclass(frozen=True)
class Provider:
    """A provider of `init_chat_model`: the package to install, and the variable its key is read from."""

    package: str
    key: str | None
    example: str = ""  # a model of it, to complete and to show as an example
    caches: bool | None = None  # whether it caches prompts; None where that is not known
    typed: bool = True  # whether its models take a key that was typed in

    @property
    def module(self) -> str:
        """What is imported of the package."""
        return self.package.replace("-", "_")


PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider("langchain-anthropic", "ANTHROPIC_API_KEY", "claude-sonnet-4-5", True),
    "openai": Provider("langchain-openai", "OPENAI_API_KEY", "gpt-5.2", True),
    "google_genai": Provider("langchain-google-genai", "GOOGLE_API_KEY", "gemini-2.5-flash", True),
    "mistralai": Provider("langchain-mistralai", "MISTRAL_API_KEY"),
    "groq": Provider("langchain-groq", "GROQ_API_KEY"),
    "deepseek": Provider("langchain-deepseek", "DEEPSEEK_API_KEY", "deepseek-chat", True),
    "xai": Provider("langchain-xai", "XAI_API_KEY"),
    "openrouter": Provider("langchain-openrouter", "OPENROUTER_API_KEY"),
    "ollama": Provider("langchain-ollama", None, "qwen3", typed=False),
    "huggingface": Provider("langchain-huggingface", "HF_TOKEN", typed=False),
}

EXAMPLES = (OFFLINE, *(f"{name}:{one.example}" for name, one in PROVIDERS.items() if one.example))
"""Names to complete and to show as examples."""


def is_teaching(model: Any) -> bool:
    return getattr(model, "_llm_type", "") == "deepnb-teaching"


def window_of(model: Any) -> int | None:
    """Return the context window that a chat model's profile declares."""
    profile = getattr(model, "profile", None)
    window = profile.get("max_input_tokens") if isinstance(profile, dict) else None
    return window if isinstance(window, int) and not isinstance(window, bool) else None


# -- The keys of providers that were typed in: held in this process, and nowhere else
# No variable of the environment is set, which every program that is started would be given.

_SECRET_NAMES = ("authorization", "key", "token", "secret", "cookie")
"""What the name of a header has in it whose value is a credential."""


class Key:
    """A key that does not show itself, and can't be copied out of the process."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def __repr__(self) -> str:
        return "Key(hidden)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key stays in its process")

    def reveal(self) -> str:
        """Return the key itself, for the provider's client alone."""
        return self._value


_KEPT: dict[str, Key] = {}


def keep_key(provider: str, value: str) -> None:
    """Hold a provider's key from now on, in the place of one that was held."""
    if not (value := value.strip()):
        raise InvalidError("no key was entered", f"%agent key {provider} asks again")
    if not value.isprintable() or len(value.split()) > 1:
        raise InvalidError("what was entered is not a key", f"%agent key {provider} asks again")
    add_own(value)
    _KEPT[provider] = Key(value)


def kept_key(provider: str) -> Key | None:
    """Return the key of a provider that was typed in."""
    return _KEPT.get(provider)


def kept_keys() -> tuple[Key, ...]:
    """Return all that are held: a model that was made with others is made anew."""
    return tuple(_KEPT.values())


def has_key(provider: str) -> bool:
    """Return whether a key was typed in or is in the environment, or none is needed."""
    variable = PROVIDERS[provider].key
    return variable is None or kept_key(provider) is not None or bool(os.environ.get(variable))


def check_takes_key(provider: str) -> None:
    """Raise an error for what is no provider, or has no key to be typed in."""
    if provider not in PROVIDERS:
        names = ", ".join(name for name, one in PROVIDERS.items() if one.typed)
        raise NotFoundError(f"no provider {provider!r}", f"%agent key PROVIDER with one of {names}")
    if (variable := PROVIDERS[provider].key) is None:
        raise InvalidError(f"{provider} needs no key", f"%agent use {provider}:MODEL")
    if not PROVIDERS[provider].typed:
        do = f"set {variable} in the environment that starts Jupyter"
        raise InvalidError(f"{provider} reads its key only from {variable}", do)


def guard_environment() -> None:
    """Have the keys of the environment be found in all that is written: those of providers, and whose name and value tell."""
    named = {one.key for one in PROVIDERS.values()}
    for name, value in os.environ.items():
        if name in named or any(found.start > len(name) for found in credentials(f"{name}={value}")):
            add_own(value)


def guard_keys(model: Any = None) -> None:
    """Have the keys of the environment, and those a model holds, be found in all that is written."""
    for provider in PROVIDERS.values():
        if provider.key:
            add_own(os.environ.get(provider.key, ""))
    for name in getattr(type(model), "model_fields", ()):
        value: Any = getattr(model, name, None)
        if hasattr(value, "get_secret_value"):
            add_own(str(value.get_secret_value()))
        elif name.endswith("headers") and isinstance(value, Mapping):
            for header, text in value.items():
                if isinstance(text, str) and any(word in str(header).lower() for word in _SECRET_NAMES):
                    add_own(text.rpartition(" ")[2])
