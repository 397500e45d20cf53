"""A conversation as a notebook: each prompt a `%%agent` cell, and below it the output that the cell showed.

Running it sends the prompts to the model that is in use then. A prompt is sent as it was, so that braces in it are
not filled in again.
"""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from deepnb.core.values import Asked, Decided, ToolEnded, ToolStarted, Turn
from deepnb.views.turn import OutcomeView

_STOPS = {"tags": ["raises-exception"]}
"""Of a cell that may end with an error: Run All goes on after it."""


def conversation_notebook(title: str, turns: Sequence[Turn], code: Mapping[str, str] = MappingProxyType({})) -> str:
    """The JSON of a notebook of version 4.5, valid by nbformat.

    `code` names the tools that run code in the user's namespace, each with the argument that holds it: what such a
    call ran becomes a cell below its prompt.
    """
    import nbformat
    from nbformat import v4

    cells = [
        v4.new_markdown_cell(f"# {title}", id="title"),
        v4.new_code_cell("%load_ext deepnb", id="load"),
    ]
    stopped = False
    for turn in turns:
        stopped = stopped or _may_stop(turn)
        cells.append(_prompt_cell(turn, stopped))
        for number, text in enumerate(_code_run(turn, code), 1):
            cells.append(v4.new_code_cell(text, id=f"turn-{turn.number}-code-{number}"))
    metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    made = v4.new_notebook(cells=cells, metadata=metadata)
    nbformat.validate(made)
    return f"{nbformat.writes(made)}\n"


def _prompt_cell(turn: Turn, stopped: bool) -> Any:
    from nbformat import v4

    view = OutcomeView(turn)
    output = v4.new_output("display_data", data={"text/html": view.html(), "text/plain": view.text()})
    magic = "%%agent --raw" if "{" in turn.prompt else "%%agent"
    metadata = _STOPS if stopped else {}
    return v4.new_code_cell(f"{magic}\n{turn.prompt}", id=f"turn-{turn.number}", outputs=[output], metadata=metadata)


def _may_stop(turn: Turn) -> bool:
    """Whether running the prompt again may leave the thread waiting for the user."""
    waited = any(isinstance(event, Asked | Decided) for event in turn.events)
    return bool(turn.asked or turn.error or turn.interrupted or waited)


def _code_run(turn: Turn, code: Mapping[str, str]) -> Iterator[str]:
    """The code of the main agent's calls that ended well, in order."""
    started = {event.id: event for event in turn.events if isinstance(event, ToolStarted) and not event.path}
    for event in turn.events:
        if isinstance(event, ToolEnded) and event.id in started and event.status == "ok" and event.name in code:
            text = started[event.id].args.get(code[event.name])
            if isinstance(text, str):
                yield text
