"""The models there are: those that can be used here, and what is missing for the others.

A graph of somebody else's: what it has, and what it lacks with what would give it.

An application as it is written: each file, and what is left out, with the reason.

The stack of an agent: its layers in order, what each does, where it comes from, and the tokens it adds."""

from collections.abc import Sequence
from dataclasses import dataclass

from deepnb.core.features import Features
from deepnb.core.model_info import ModelInfo
from deepnb.core.package import Package
from deepnb.core.stack import Layer, Stack
from deepnb.views import html as h
from deepnb.views.text import COLUMNS, clean, counted, indent, page, percent, short, title_line
from deepnb.views.view import table_html, table_text

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


_FILES = ("file", "bytes", "what")
_LEFT_OUT = ("left out", "why")


@dataclass(frozen=True)
class PackageView:
    """Two tables under a title."""

    title: str
    files: tuple[tuple[str, str, str], ...]
    left_out: tuple[tuple[str, str], ...]
    """(names, why), those with the same reason together."""
    stamp: str = ""

    def text(self) -> str:
        """All of it."""
        parts = [clean(title_line(self.title, self.stamp)), table_text(_FILES, self.files, (1,))]
        if self.left_out:
            rows = (f"  {clean(name)}: {clean(why)}" for name, why in self.left_out)
            parts += ["", "left out", *rows]
        return "\n".join(parts)

    def html(self) -> str:
        """The package's files and what is left out, as HTML."""
        gone = table_html(_LEFT_OUT, self.left_out) if self.left_out else None
        return h.box(h.heading(self.title, stamp=self.stamp), table_html(_FILES, self.files, (1,)), gone)


def package_view(package: Package, stamp: str = "") -> PackageView:
    """What an application has and has not."""
    count = counted(len(package.files), "file")
    title = f"{'written to' if package.written else 'package for'} {package.typed or package.directory} · {count}"
    rows = tuple(
        (one.path, f"{len(one.content):,}", "; ".join(filter(None, (one.note, _REPLACES * one.replaces))))
        for one in package.files
    )
    gone = dict[str, list[str]]()
    for one in package.left_out:
        gone.setdefault(one.why, []).append(one.name)
    return PackageView(title, rows, tuple((", ".join(names), why) for why, names in gone.items()), stamp)


_REPLACES = "replaces the file there"


_WIDE = 24
"""Cells of the bar in text."""
_BAR = (
    "display:inline-block;height:8px;width:{}%;min-width:{}px;background:rgba(90,130,200,0.65);border-radius:2px;"
    "overflow:hidden;font-size:1px;line-height:8px;color:transparent;border:1px solid;box-sizing:border-box"
)


@dataclass(frozen=True)
class StackView:
    """The stack, outermost layer first: a request goes down through it to the model."""

    stack: Stack
    stamp: str = ""

    @property
    def title(self) -> str:
        return f"graph · {counted(len(self.stack.layers), 'layer')}, then the model {self.stack.model}"

    @property
    def fact(self) -> str:
        """Which request the tokens are of."""
        if not self.stack.call:
            return "tokens are counted from the first call on: type %agent PROMPT"
        return f"tokens that each layer added to {self.stack.call}: {self._tokens(self.stack.tokens)} in total"

    def text(self) -> str:
        """A table, a layer a line, with a bar of its share."""
        rows = [
            (f"{i}", layer.name, layer.origin, self.added(layer), "█" * round(self._share(layer) * _WIDE))
            for i, layer in enumerate(self.stack.layers, 1)
        ]
        lines = [title_line(self.title, self.stamp), short(self.fact, COLUMNS), ""]
        table = table_text(("", "layer", "from", "tokens", ""), rows, right=(0, 3)).splitlines()
        lines += [indent(line) for line in table[:2]]
        for line, layer in zip(table[2:], self.stack.layers, strict=True):
            lines += [indent(line), indent(short(layer.does, COLUMNS - 8), " " * 7)]
            if layer.tools:
                lines.append(indent(short(f"tools: {', '.join(layer.tools)}", COLUMNS - 8), " " * 7))
        return page([*lines, indent(f"↓ {self.stack.model}")])

    def html(self) -> str:
        """The layers as boxes one below the other, an arrow to the model at the end."""
        title, *facts = self.title.split(" · ")
        body: list[h.Child] = [h.heading(title, *facts, stamp=self.stamp), h.el("div", h.muted(self.fact))]
        body += [self._box(i, layer) for i, layer in enumerate(self.stack.layers, 1)]
        body.append(h.el("div", "↓ ", h.el("b", self.stack.model), style="text-align:center"))
        return h.box(*body)

    def _box(self, number: int, layer: Layer) -> h.Html:
        share = self._share(layer)
        signs = "█" * round(share * _WIDE)
        look = _BAR.format(round(share * 100), 2)
        bar = h.el("span", signs, style=look, title=percent(share, 1)) if share else None
        name = h.el("span", f"{number}. ", h.el("b", layer.name), style="flex:1 1 18em")
        origin = h.muted(layer.origin if layer.origin == "yours" else f"from {layer.origin}") if layer.origin else None
        line = h.el(
            "div",
            name,
            h.el("span", " ", origin, style="flex:0 1 9em"),
            h.el("span", " ", self.added(layer), style="flex:0 0 9em;text-align:right"),
            h.el("span", " ", bar, style="flex:0 0 8em;margin:0 0 0 10px"),
            style="display:flex;flex-wrap:wrap;align-items:center",
        )
        tools = h.el("div", h.muted("tools: ", ", ".join(layer.tools))) if layer.tools else None
        return h.frame(line, h.el("div", layer.does), tools)

    def _share(self, layer: Layer) -> float:
        return (layer.tokens or 0) / max(self.stack.tokens, 1)

    def added(self, layer: Layer) -> str:
        """`1,234 tokens`; empty where that is not known."""
        return "" if layer.tokens is None else self._tokens(layer.tokens)

    def _tokens(self, tokens: int) -> str:
        return counted(tokens, "token", self.stack.exact)


def stack_view(stack: Stack, stamp: str = "") -> StackView:
    """The picture of an agent's stack."""
    return StackView(stack, stamp)
