"""A model to choose, and a field for a provider's key, which goes to this process and stays in no widget."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from deepnb import widgets as w
from deepnb.values.agent import ModelInfo
from deepnb.views.view import View
from deepnb.widgets.actions import attempt, button, offer, on_change, shown

Act = Callable[..., View]


class ModelPanel:
    """The models that can be used here, and a field for the key of a provider whose models can't be.

    A page sends a key when Enter is pressed or the field is left, not letter by letter; the field is emptied at once.
    """

    def __init__(
        self, models: Callable[[], Sequence[ModelInfo]], use: Act, providers: Sequence[str], keep: Act
    ) -> None:
        """`use` takes a model's name, `keep` a provider and its key; each returns what to say of it."""
        self._models, self._keep, self._said = models, keep, w.HTML()
        wide = w.Layout(width="24em")
        self._choice = w.Dropdown(description="Model", tooltip="models that can be used here")
        self._choice.layout = w.Layout(width="34em", max_width="calc(100% - 4px)")
        act = partial(shown, self._choice, lambda name: attempt(partial(use, name), self._said))
        chosen = button("Use", "use this model from the next turn on", act, "primary")
        self._provider = w.Dropdown(
            options=providers, description="Provider", tooltip="the key's provider", layout=wide
        )
        about = "the provider's key: Enter keeps it in this process, and it is saved nowhere"
        look = {"placeholder": "Enter keeps it in this process", "layout": wide}
        self._key = w.Password(description="Key", tooltip=about, continuous_update=False, **look)
        on_change(self._key, self._typed)
        flow = w.Layout(flex_flow="row wrap", align_items="center")
        rows = [w.HBox([self._choice, chosen], layout=flow), w.HBox([self._provider, self._key], layout=flow)]
        self.widget: Any = w.VBox([*rows, self._said])
        self.refresh()

    def refresh(self) -> None:
        """Offer the models that can be used now."""
        usable = [one for one in self._models() if one.usable]
        options = [(" · ".join(filter(None, (one.name, one.note))), one.name) for one in usable]
        chosen, newest = self._choice.value, self._choice.index in (None, len(self._choice.options) - 1)
        stays = not newest and chosen in (one.name for one in usable)
        offer(self._choice, options, chosen if stays else options[-1][1] if options else None)

    def _typed(self) -> None:
        if key := self._key.value:
            self._key.value = ""
            attempt(partial(self._keep, self._provider.value, key), self._said)
            self.refresh()
