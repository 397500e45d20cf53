"""The chooser of a model: what is usable is offered, and a key goes through it without staying in it."""

import json

from ipywidgets import Widget

from deepnb.values.agent import ModelInfo
from deepnb.values.errors import InvalidError
from deepnb.views.view import View, notice_view
from deepnb.widgets.models import ModelPanel

KEY = "sk-page-0123456789-abcdefghijk"


def test_a_key_goes_through_the_field_and_stays_in_no_widget() -> None:
    kept, used = list[tuple[str, str]](), list[str]()

    def keep(provider: str, key: str) -> View:
        if provider == "xai":
            raise InvalidError("what was entered is not a key", "%agent key xai asks again")
        kept.append((provider, key))
        return notice_view(f"key for {provider} kept")

    def use(name: str) -> View:
        used.append(name)
        return notice_view(f"{name} from the next turn on")

    def models() -> list[ModelInfo]:
        return [ModelInfo("offline", True, note="in use"), *(ModelInfo(f"{name}:one", True) for name, _ in kept)]

    panel = ModelPanel(models, use, ["openai", "xai"], keep)
    (choice, button), (provider, field) = (row.children for row in panel.widget.children[:2])
    said = panel.widget.children[2]
    assert [*choice.options] == [("offline · in use", "offline")] and not field.continuous_update
    field.value = KEY
    assert kept == [("openai", KEY)] and "key for openai kept" in said.value
    assert choice.value == "openai:one", "what has become usable is the next to choose"
    button.click()
    assert used == ["openai:one"] and "from the next turn on" in said.value
    provider.value = "xai"
    field.value = KEY
    assert "not a key: %agent key xai asks again" in said.value and len(kept) == 1
    assert field.value == "" and KEY not in json.dumps(Widget.get_manager_state())
