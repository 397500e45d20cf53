"""`%%agent --compare OPTION=A,B`: a prompt with several options, shown side by side as its columns come."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Never

from deepnb.magics import ask
from deepnb.magics.options import AgentRun
from deepnb.magics.scene import Scene
from deepnb.magics.slips import nearest
from deepnb.magics.usage import OPTIONS
from deepnb.values.errors import DeepnbError, InvalidError, NotFoundError
from deepnb.values.files import uninterrupted
from deepnb.views.turn import filled_lines
from deepnb.widgets.screen import Output
from deepnb.wings.compare.comparison import Choice, Comparison, comparisons
from deepnb.wings.compare.view import comparison_view
from deepnb.wiring.options import Options

_TAKEN = next(flag.choices for flag in OPTIONS if flag.name == "--compare")
COMPARED = {name: tuple(filter(None, words.split(","))) for name, _, words in (one.partition("=") for one in _TAKEN)}
"""What `--compare` takes: option -> the words that are its values; empty if these are not words of ours."""
_SIZES = ("trigger", "keep")
_PATHS = ("memory", "skills")
_SWITCH = ("on", "off")
_ALIASES = {"window": "max_input_tokens"}


def ask_to_compare(scene: Scene, run: AgentRun, *, cell: bool) -> None:
    """Run a prompt with each combination of options and show the columns; an interrupt ends it in order."""
    if "bg" in run.more or run.format not in ("markdown", "text"):
        other = "--bg" if "bg" in run.more else f"--format {run.format}"
        raise InvalidError(f"--compare does not go with {other}", "leave one of them out")
    made = ask.request(scene, run, cell=cell)
    choices: dict[str, list[Any]] = {}
    for text in run.more["compare"]:
        name, _, values = text.partition("=")
        if (option := _ALIASES.get(name, name)) not in COMPARED:
            near = nearest(name, tuple(COMPARED))
            what = "can't be compared" if option in Options.__dataclass_fields__ else "is no option"
            raise InvalidError(f"{name} {what}", f"type {f'{near}, or ' if near else ''}one of {', '.join(COMPARED)}")
        if option in choices:
            raise InvalidError(f"--compare {name} was given twice", f"type all its values in one: {name}=A,B,C")
        choices[option] = [_value(scene, option, word) for word in values.split(",")]
    base = {name: value for name in ("model", "max_steps") if (value := getattr(run, name)) is not None}
    work, images, keep = scene.session.workspace, made.filled.images, "keep" in run.more
    steps = comparisons(work, made.text, choices, base=base, thread=run.thread, images=images, keep=keep)
    notes = (*filled_lines(made.filled.filled), *made.filled.notes, *made.notes)
    found = _shown(scene, steps, notes, live=scene.screen.notebook and not run.quiet)
    if run.as_name:
        scene.namespace[run.as_name] = found
    if found.interrupted:
        done = sum(column.state == "done" for column in found.columns)
        raise DeepnbError(f"interrupted: {done} of {len(found.columns)} columns are done", "run the cell again for all")


def refuse_to_keep(scene: Scene, run: AgentRun, *, cell: bool) -> Never:
    raise InvalidError("--keep goes with --compare", "type --compare OPTION=A,B --keep")


def _shown(scene: Scene, steps: Iterator[Comparison], notes: tuple[str, ...], *, live: bool) -> Comparison:
    output: Output | None = None
    found: Comparison | None = None

    def show(now: Comparison) -> None:
        nonlocal output
        view = comparison_view(now.columns, now.thread)
        view = replace(view, lines=(*view.lines, *notes))
        if output is None:
            output = scene.screen.show(view)
        else:
            output.update(view)

    try:
        for found in steps:
            if live:
                with uninterrupted():
                    show(found)
    except KeyboardInterrupt:  # it came while a column was shown
        if found is None:
            raise
        found = found.stopped
    assert found is not None
    show(found)
    return found


def _value(scene: Scene, option: str, word: str) -> Any:
    do = "type whole numbers, or none"
    if option == "model":
        return Path(word) if word.endswith(".jsonl") else word
    if option == "system_prompt":
        text = {"default": Options.system_prompt, "none": ""}.get(word, scene.namespace.get(word))
        if not isinstance(text, str):
            raise NotFoundError(f"no variable {word} that holds a text", "assign the system prompt to one first")
        return Choice(text, word)
    if words := COMPARED[option]:
        if word not in words:
            raise InvalidError(f"{option} can't be {word!r}", f"type one of {', '.join(words)}")
        return word == "on" if words == _SWITCH else word
    if option in _PATHS:
        return tuple(word.split("+"))
    if word == "none":
        return None
    if option in _SIZES:
        number = word.removesuffix("messages")
        if number.isdecimal():
            return ("tokens" if number == word else "messages", int(number))
        with suppress(ValueError):
            return ("fraction", float(word))
        do = "type a part of the window such as 0.5, tokens such as 8000, or 20messages"
    elif word.isdecimal():
        return int(word)
    raise InvalidError(f"{option} can't be {word!r}", do)
