"""Names of models and providers, known without importing any of them."""

from collections.abc import Mapping

OFFLINE = "offline"
OFFLINE_WINDOW = 8_000
"""The window of the teaching model, in tokens."""

PROVIDERS: Mapping[str, tuple[str, str | None]] = {
    "anthropic": ("langchain-anthropic", "ANTHROPIC_API_KEY"),
    "openai": ("langchain-openai", "OPENAI_API_KEY"),
    "google_genai": ("langchain-google-genai", "GOOGLE_API_KEY"),
    "mistralai": ("langchain-mistralai", "MISTRAL_API_KEY"),
    "groq": ("langchain-groq", "GROQ_API_KEY"),
    "deepseek": ("langchain-deepseek", "DEEPSEEK_API_KEY"),
    "xai": ("langchain-xai", "XAI_API_KEY"),
    "openrouter": ("langchain-openrouter", "OPENROUTER_API_KEY"),
    "ollama": ("langchain-ollama", None),
    "huggingface": ("langchain-huggingface", "HF_TOKEN"),
}
"""Provider of `init_chat_model` -> (package to install, variable its key is read from)."""

EXAMPLES = (OFFLINE, "anthropic:claude-sonnet-4-5", "openai:gpt-5.2", "google_genai:gemini-2.5-flash", "ollama:qwen3")
"""Names to complete and to show as examples."""
