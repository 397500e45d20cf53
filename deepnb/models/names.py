"""Names of models and providers, known without importing any of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OFFLINE = "offline"
OFFLINE_WINDOW = 8_000
"""The window of the teaching model, in tokens."""


@dataclass(frozen=True)
class Provider:
    """A provider of `init_chat_model`: the package to install, and the variable its key is read from."""

    package: str
    key: str | None
    example: str = ""
    """A model of it, to complete and to show as an example."""
    caches: bool | None = None
    """Whether it caches prompts; None where that is not known."""
    typed: bool = True
    """Whether its models take a key that was typed in."""

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


def window_of(model: Any) -> int | None:
    """The context window that a chat model's profile declares."""
    profile = getattr(model, "profile", None)
    window = profile.get("max_input_tokens") if isinstance(profile, dict) else None
    return window if isinstance(window, int) and not isinstance(window, bool) else None
