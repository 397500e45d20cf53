"""What an agent is made of: the models there are, its layers, what a graph has and lacks."""

from collections.abc import Sequence
from operator import itemgetter

from deepnb.values.agent import Features, ModelInfo
from deepnb.values.xray import Layer, Stack
from deepnb.views import html as h
from deepnb.views.text import COLUMNS, clean, counted, indent, percent, short
from deepnb.views.view import Picture, table_html, table_text


def models_view(models: Sequence[ModelInfo], stamp: str = "") -> Picture:
    """Return the models that `%agent use` takes, then what is missing for the others, a line each."""

    def known(fact: bool | None) -> str:
        return "unknown" if fact is None else "yes" if fact else "no"

    head = ("model", "window", "images", "cache", "")
    rows = [
        (one.name, f"{one.window:,}" if one.window else "unknown", known(one.sees), known(one.caches), one.note)
        for one in models
        if one.usable
    ]
    lines, body = [table_text(head, rows, right=(1,))], [table_html(head, rows, right=(1,))]
    if others := [one for one in models if not one.usable]:
        wide = max(len(one.name) for one in others)
        lines += ["", "to use others", *(clean(f"  {one.name:<{wide}}  {one.do}") for one in others)]
        body.append(table_html(("", "to use others"), [(one.name, one.do) for one in others]))
    return Picture(("models",), lines, body, stamp)


def features_view(features: Features, stamp: str = "") -> Picture:
    """Return what a graph of somebody else's has, and what it lacks with what would give it; nothing is shortened."""
    has = [(one.name, one.what) for one in features if one.has]
    lacks = [(one.name, one.what, one.do) for one in features.lacks if not one.ours]
    names = ", ".join(one.name for one in features.lacks if one.ours)
    ours = f"only deepnb's own agent has {names} (%agent use MODEL goes back to it)" if names else ""
    wide = max((len(one.name) for one in features if not one.ours), default=0)
    lines = [clean(f"  {name:<{wide}}  {what}") for name, what in has]
    body = [table_html(("", ""), has)] if has else []
    if lacks:
        lines.append("what it lacks, and what would give it")
        lines += [clean(f"  {name:<{wide}}  {why}; {do}") for name, why, do in lacks]
        summary = h.muted(f"it lacks {', '.join(name for name, *_ in lacks)}")
        table = table_html(("it lacks", "why", "what would give it"), lacks)
        body.append(h.fold(summary, table, h.el("div", h.muted(ours))))
    else:
        body.append(h.el("div", h.muted(ours)))
    return Picture((features.agent,), [*lines, ours], body, stamp)


_WIDE = 24
_BAR = (
    "display:inline-block;height:8px;width:{}%;min-width:2px;background:rgba(90,130,200,0.65);border-radius:2px;"
    "overflow:hidden;font-size:1px;line-height:8px;color:transparent;border:1px solid;box-sizing:border-box"
)


def stack_view(stack: Stack, stamp: str = "") -> Picture:
    """Return the layers, outermost first, as boxes one below the other: a request goes down through them to the model."""
    fact = "tokens are counted from the first call on: type %agent PROMPT" if stack.layers else ""
    if stack.call:
        total = counted(stack.tokens, "token", stack.exact)
        fact = f"tokens that each layer added to {stack.call}: {total} in total"
    shares = [(layer.tokens or 0) / max(stack.tokens, 1) for layer in stack.layers]
    added = ["" if one.tokens is None else counted(one.tokens, "token", stack.exact) for one in stack.layers]
    rows = [
        (f"{i}", layer.name, layer.origin, added[i - 1], "█" * round(share * _WIDE))
        for i, (layer, share) in enumerate(zip(stack.layers, shares, strict=True), 1)
    ]
    top, rule, *table = table_text(("", "layer", "from", "tokens", ""), rows, right=(0, 3)).splitlines()
    lines = [short(fact, COLUMNS), "", indent(top), indent(rule)] if rows else []
    for line, layer in zip(table, stack.layers, strict=True):
        lines += [indent(line), indent(short(layer.does, COLUMNS - 8), " " * 7)]
        if layer.tools:
            lines.append(indent(short(f"tools: {', '.join(layer.tools)}", COLUMNS - 8), " " * 7))
    boxes = [_box(*one) for one in zip(stack.layers, shares, rows, strict=True)]
    body: list[h.Html] = []
    if rows:
        lines.append(indent(f"↓ {stack.model}"))
        model = h.el("div", "↓ ", h.el("b", stack.model), style="text-align:center")
        body = [h.el("div", h.muted(fact)), *boxes, model]
    of_graph: list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]] = []
    if stack.nodes:
        nodes: list[tuple[str, ...]] = [(n.name, "  ".join(n.leads), _NEXT if n.runs else "") for n in stack.nodes]
        of_graph.append(("nodes: → leads to, ⇢ on a condition", ("node", "leads to", ""), nodes))
    if stack.channels:  # each in the order of its turns
        changes: list[tuple[str, ...]] = [(name, f"{turn}", value) for name, turn, value in stack.channels]
        named = ("channel", "turn", "value after it")
        of_graph.append(("channels beside the messages", named, sorted(changes, key=itemgetter(0))))
    for name, head, table_rows in of_graph:
        lines += [*([""] if lines else []), name, indent(table_text(head, table_rows))]
        lit = [[h.swatch(cell, h.ORANGE.format(0.25)) if cell == _NEXT else cell for cell in row] for row in table_rows]
        body += [h.label(name), table_html(head, lit)]
    layers = f"{counted(len(stack.layers), 'layer')}, then the model {stack.model}"
    title = layers if stack.layers else counted(len(stack.nodes), "node")
    return Picture(("graph", title), lines, body, stamp)


_NEXT = "runs next"


def _box(layer: Layer, share: float, row: tuple[str, ...]) -> h.Html:
    number, _, _, added, signs = row
    bar = h.el("span", signs, style=_BAR.format(round(share * 100)), title=percent(share, 1)) if share else None
    origin = h.muted(layer.origin if layer.origin == "yours" else f"from {layer.origin}") if layer.origin else None
    line = h.el(
        "div",
        h.el("span", f"{number}. ", h.el("b", layer.name), style="flex:1 1 18em"),
        h.el("span", " ", origin, style="flex:0 1 9em"),
        h.el("span", " ", added, style="flex:0 0 9em;text-align:right"),
        h.el("span", " ", bar, style="flex:0 0 8em;margin:0 0 0 10px"),
        style="display:flex;flex-wrap:wrap;align-items:center",
    )
    tools = h.el("div", h.muted("tools: ", ", ".join(layer.tools))) if layer.tools else None
    return h.frame(line, h.el("div", layer.does), tools)
