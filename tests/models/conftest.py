"""No key, no proxy and no other address of a provider is in the environment, and no key is known."""

from importlib import import_module

import pytest

from deepnb.models import keys


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "OPENAI_API_BASE", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL")
    for name in (*addresses, *(one.key for one in keys.PROVIDERS.values() if one.key)):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setattr(keys, "_KEPT", {})
    monkeypatch.setattr(import_module("deepnb.gate.credentials"), "OWN", set())
