"""The stack of an agent: its layers in order, what each does, where it comes from, and the tokens it adds."""

from dataclasses import dataclass

from deepnb.core.stack import Layer, Stack
from deepnb.views import html as h
from deepnb.views.numbers import counted, percent
from deepnb.views.table import table_text
from deepnb.views.text import COLUMNS, indent, page, short, title_line

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
