"""A conversation as a file: a page for a browser, or a notebook with a `%%agent` cell for each prompt and the code that ran.

The page has no script and asks no other host for anything, which its own policy also forbids. Running the notebook sends
the prompts to the model that is in use then, each as it was, so that braces in it are not filled in again.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deepnb.values.turn import Asked, CodeOutput, Decided, ToolEnded, ToolStarted, Turn
from deepnb.views import html as h
from deepnb.views.turn import TurnView
from deepnb.views.turn_segments import harmless

_STOPS = {"tags": ["raises-exception"]}
"""Of a cell that may end with an error: Run All goes on after it."""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{background:Canvas;color:CanvasText;font-family:system-ui,sans-serif;max-width:62em;margin:2em auto;padding:0 1em}"
    "main>section{margin:0 0 2em 0}"
)


def conversation_notebook(title: str, turns: Sequence[Turn], code: Mapping[str, str]) -> str:
    """Return the JSON of a notebook of version 4.5, valid by nbformat.

    `code` names the tools that run code in the user's namespace, each with the argument that holds it: what such a
    call ran becomes a cell below its prompt.
    """
    import nbformat
    from nbformat import v4

    cells = [v4.new_markdown_cell(f"# {title}", id="title"), v4.new_code_cell("%load_ext deepnb", id="load")]
    stopped = False
    for turn in turns:
        waited = any(isinstance(event, Asked | Decided) for event in turn.events)
        # Whether running the prompt again may leave the thread waiting for the user.
        stopped = stopped or bool(turn.asked or turn.error or turn.interrupted or waited)
        ran = list(_code_run(turn, code))
        apart = {id(event) for _, events in ran for event in events}
        rest = replace(turn, events=tuple(event for event in turn.events if id(event) not in apart))
        view, magic = TurnView(rest, asked=False), "%%agent --raw" if "{" in turn.prompt else "%%agent"
        output = v4.new_output("display_data", data={"text/html": view.html(), "text/plain": view.text()})
        asked = {"id": f"turn-{turn.number}", "outputs": [output], "metadata": _STOPS if stopped else {}}
        cells.append(v4.new_code_cell(f"{magic}\n{turn.prompt}", **asked))
        for number, (text, events) in enumerate(ran, 1):
            cells.append(v4.new_code_cell(text, id=f"turn-{turn.number}-code-{number}", outputs=list(_outputs(events))))
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made = v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})
    nbformat.validate(made)
    return f"{nbformat.writes(made)}\n"


def _outputs(events: Sequence[CodeOutput]) -> Iterator[Any]:
    """Yield what the code of a call put out, as a notebook keeps it; nothing in it runs."""
    from nbformat import v4

    pieces: dict[str, list[str]] = {}
    for event in events:
        if event.kind in ("stdout", "stderr"):
            pieces.setdefault(event.kind, []).append(event.text)
    yield from (v4.new_output("stream", name=name, text="".join(parts)) for name, parts in pieces.items())
    yield from (v4.new_output("display_data", data=harmless(event)) for event in events if event.kind == "rich")


def _code_run(turn: Turn, code: Mapping[str, str]) -> Iterator[tuple[str, list[CodeOutput]]]:
    """Yield (code, what it put out) of the main agent's calls that ended well, in order."""
    open_: dict[str, tuple[ToolStarted, list[CodeOutput]]] = {}
    for event in turn.events:
        if isinstance(event, ToolStarted) and not event.path:
            open_[event.id] = event, []
        elif isinstance(event, CodeOutput) and event.id in open_:
            open_[event.id][1].append(event)
        elif isinstance(event, ToolEnded) and event.id in open_ and event.status == "ok" and event.name in code:
            started, outputs = open_[event.id]
            text = started.args.get(code[event.name])
            if isinstance(text, str):
                yield text, outputs


def conversation_page(title: str, turns: Sequence[Turn]) -> str:
    head = h.el(
        "head",
        h.Html('<meta charset="utf-8">'),
        h.Html(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        h.Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        h.Html('<meta name="color-scheme" content="light dark">'),
        h.el("title", title),
        h.el("style", h.Html(_STYLE)),
    )
    shown = [h.el("section", h.Html(TurnView(turn).html())) for turn in turns]
    body = h.el("body", h.el("main", h.el("h1", title, style="font-size:1.4em"), *shown))
    return f"<!DOCTYPE html>\n{h.el('html', head, body, lang='en')}\n"
