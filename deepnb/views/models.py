"""The models there are: those that can be used here, and what is missing for the others."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.core.model_info import ModelInfo
from deepnb.views import html as h
from deepnb.views.table import table_html, table_text
from deepnb.views.text import clean, page, title_line

_HEAD = ("model", "window", "images", "cache", "")
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class ModelsView:
    """Two lists: `%agent use` takes a name of the first; a line of the second is typed before."""

    usable: tuple[ModelInfo, ...]
    others: tuple[ModelInfo, ...]
    stamp: str = ""

    def text(self) -> str:
        """A table, and a line for each that can't be used yet."""
        lines = [clean(title_line("models", self.stamp)), table_text(_HEAD, self._rows(), right=(1,))]
        if self.others:
            width = max(len(one.name) for one in self.others)
            lines += ["", "to use others", *(clean(f"  {one.name:<{width}}  {one.do}") for one in self.others)]
        return page(lines)

    def html(self) -> str:
        """The models as two tables."""
        others = table_html(("", "to use others"), [(one.name, one.do) for one in self.others]) if self.others else None
        return h.box(h.heading("models", stamp=self.stamp), table_html(_HEAD, self._rows(), right=(1,)), others)

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (one.name, f"{one.window:,}" if one.window else _UNKNOWN, _known(one.sees), _known(one.caches), one.note)
            for one in self.usable
        ]


def models_view(models: Sequence[ModelInfo], stamp: str = "") -> ModelsView:
    """Models and providers, in their order."""
    usable = tuple(one for one in models if one.usable)
    return ModelsView(usable, tuple(one for one in models if not one.usable), stamp)


def _known(fact: bool | None) -> str:
    return _UNKNOWN if fact is None else "yes" if fact else "no"
