"""A graph of somebody else's: what it has, and what it lacks with what would give it."""

from dataclasses import dataclass

from deepnb.core.features import Features
from deepnb.views import html as h
from deepnb.views.table import table_html
from deepnb.views.text import clean, page, title_line


@dataclass(frozen=True)
class FeaturesView:
    """Two lists."""

    features: Features
    stamp: str = ""

    @property
    def has(self) -> tuple[tuple[str, str], ...]:
        """(feature, what there is of it)."""
        return tuple((one.name, one.what) for one in self.features if one.has)

    @property
    def lacks(self) -> tuple[tuple[str, str, str], ...]:
        """(feature, why it is missing, what would give it)."""
        return tuple((one.name, one.what, one.do) for one in self.features.lacks if not one.ours)

    @property
    def ours(self) -> str:
        """What only deepnb's agent has, in one line."""
        names = ", ".join(one.name for one in self.features.lacks if one.ours)
        return f"only deepnb's own agent has {names} (%agent use MODEL goes back to it)" if names else ""

    def text(self) -> str:
        """A line for each; nothing is shortened."""
        width = max((len(one.name) for one in self.features if not one.ours), default=0)
        has = [clean(f"  {name:<{width}}  {what}") for name, what in self.has]
        lacks = [clean(f"  {name:<{width}}  {why}; {do}") for name, why, do in self.lacks]
        lines = [clean(title_line(self.features.agent, self.stamp)), *has]
        return page([*lines, *(["what it lacks, and what would give it", *lacks] if lacks else []), self.ours])

    def html(self) -> str:
        """Two tables, the second one folded."""
        names, ours = ", ".join(name for name, *_ in self.lacks), h.el("div", h.muted(self.ours))
        table = table_html(("it lacks", "why", "what would give it"), self.lacks)
        folded = h.fold(h.muted(f"it lacks {names}"), table, ours) if names else ours
        return h.box(h.heading(self.features.agent, stamp=self.stamp), table_html(("", ""), self.has), folded)


def features_view(features: Features, stamp: str = "") -> FeaturesView:
    """What a graph has and lacks."""
    return FeaturesView(features, stamp)
