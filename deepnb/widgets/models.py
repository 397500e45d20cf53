"""A model to choose, and a field for a provider's key, which goes to this process and stays in no widget."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from deepnb.values.agent import ModelInfo
from deepnb.values.errors import DeepnbError
from deepnb.views.view import View, notice_view
from deepnb.widgets.actions import button, choose_from, on_change, shown


class ModelPanel:
    """The models that can be used here, and a field for the key of a provider whose models can't be.

    A page sends a key when Enter is pressed or the field is left, not letter by letter; the field is emptied at once.
    """

    def __init__(
        self,
        models: Callable[[], Sequence[ModelInfo]],
        use: Callable[[str], View],
        providers: Sequence[str],
        keep: Callable[[str, str], View],
    ) -> None:
        """`use` takes a model's name, `keep` a provider and its key; each gives what to say of it."""
        import ipywidgets as w

        self._models, self._keep = models, keep
        wide = w.Layout(width="24em")
        self._choice = w.Dropdown(description="Model", tooltip="models that can be used here", layout=wide)
        act = partial(shown, self._choice, lambda name: self._say(partial(use, name)))
        chosen = button("Use", "use this model from the next turn on", act, "primary")
        self._provider = w.Dropdown(
            options=providers, description="Provider", tooltip="the key's provider", layout=wide
        )
        about = "the provider's key: Enter keeps it in this process, and it is saved nowhere"
        look = {"placeholder": "Enter keeps it in this process", "layout": wide}
        self._key = w.Password(description="Key", tooltip=about, continuous_update=False, **look)
        on_change(self._key, self._typed)
        self._said = w.HTML()
        flow = w.Layout(flex_flow="row wrap", align_items="center")
        rows = [w.HBox([self._choice, chosen], layout=flow), w.HBox([self._provider, self._key], layout=flow)]
        self.widget: Any = w.VBox([*rows, self._said])
        self.refresh()

    def refresh(self) -> None:
        """Offer the models that can be used now."""
        usable = [one for one in self._models() if one.usable]
        choose_from(self._choice, [(" · ".join(filter(None, (one.name, one.note))), one.name) for one in usable])

    def _typed(self) -> None:
        if key := self._key.value:
            self._key.value = ""
            self._say(lambda: self._keep(self._provider.value, key))
            self.refresh()

    def _say(self, act: Callable[[], View]) -> None:
        try:
            said = act()
        except DeepnbError as error:
            said = notice_view(error.typed, "error")
        self._said.value = said.html()
