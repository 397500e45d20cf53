"""A prompt from a cell to its answer: fill in, run, show as it happens, decide on its calls, keep the answer."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from deepnb import widgets as w
from deepnb.gate.own_words import add_words
from deepnb.magics import code_cells
from deepnb.magics.interpolate import FilledPrompt, fill, known_names
from deepnb.magics.last_error import ERR, approval_needed
from deepnb.magics.options import AgentRun
from deepnb.magics.scene import Args, Deliver, Scene
from deepnb.magics.usage import SCHEMA
from deepnb.running.runner import TurnStream
from deepnb.session.session import Session
from deepnb.values.approvals import Decision, PendingCall
from deepnb.values.errors import DeepnbError, InvalidError, NotFoundError
from deepnb.values.files import uninterrupted
from deepnb.values.turn import ToolStarted, Turn
from deepnb.views.diff import diff_view
from deepnb.views.turn import footer_view
from deepnb.views.turn_segments import Answer
from deepnb.views.view import TextView, View, notice_view
from deepnb.widgets.actions import button, close, leave
from deepnb.widgets.approval import arguments
from deepnb.widgets.screen import Counted, NoScreen, Notebook, Reserved, Screen
from deepnb.widgets.turn import QuietTurn, interrupt, turn_display

FORGETS = "threads and memory are kept in this kernel only: a restart loses them"

_ASKS = {"json": "Answer with one JSON value and nothing around it.", "code": "Answer with one fenced block of code."}
"""What `--format` adds to the prompt, as a paragraph of its own."""


@dataclass(frozen=True)
class Request:
    """A prompt as it is sent, and what is said and done of its turn."""

    text: str
    filled: FilledPrompt
    notes: Sequence[str]
    deliver: Deliver
    options: Mapping[str, Any]
    """Of the turn: what a session's `stream` and its jobs both take."""


def ask(scene: Scene, run: AgentRun, *, cell: bool) -> None:
    made = request(scene, run, cell=cell)
    events = scene.session.stream(made.text, rerun=scene.config.rerun, **made.options)
    quiet = run.quiet or run.format != "markdown"
    watch(scene, events, quiet=quiet, filled=made.filled, notes=made.notes, deliver=made.deliver)


def request(scene: Scene, run: AgentRun, *, cell: bool) -> Request:
    """Return the prompt with the kernel's values in it, and what its options ask for."""
    filled = FilledPrompt(run.prompt) if run.raw else _filled(scene, run.prompt, cell)
    asks = _ASKS.get(run.format)
    notes = [*_first_notes(scene), *([f"added to the prompt: {asks}"] if asks else [])]
    text = add_words(filled.text, f"\n\n{asks}") if asks else filled.text
    options = {"model": run.model, "thread": run.thread, "max_steps": run.max_steps, "images": filled.images}
    options["cell"] = scene.cell() if cell else None
    if run.format.startswith(SCHEMA):
        if (name := run.format.removeprefix(SCHEMA)) not in scene.namespace:
            raise NotFoundError(f"there is no variable {name}", f"make a class or a JSON schema, {name} = ..., first")
        options["response_format"] = scene.namespace[name]
    return Request(text, filled, notes, partial(_deliver, scene, run), options)


class ErrorHelp:
    """Below an error, the line that says what explains and corrects it, with buttons until the next cell begins; the
    answer to a click takes their place."""

    def __init__(self, screen: Screen, scene: Callable[[], Scene]) -> None:
        self._scene, self._line = scene, notice_view(code_cells.OFFER, "hint")
        acts = {"Explain": explain, "Fix": fix}
        buttons = [button(word, f"{word.lower()} the error", partial(self._click, act)) for word, act in acts.items()]
        self._box: Any = w.HBox([*buttons, w.HTML(self._line.html())], layout=w.Layout(flex_flow="row wrap"))
        self._output = screen.widget(self._box, self._line.text())

    def end(self, *, clicked: bool = False) -> None:
        """Leave the line alone."""
        if self._box.comm is not None:
            if clicked:
                leave(self._output)
            self._output.update(self._line)
            close(self._box)

    def _click(self, act: Callable[[Scene, Screen], None]) -> None:
        self.end(clicked=True)
        room = Reserved(NoScreen(), free=[self._output])
        try:
            act(self._scene(), room)
        except DeepnbError as error:
            room.show(notice_view(error.typed, "error"))


def explain(scene: Scene, screen: Screen | None = None) -> None:
    prompt = code_cells.explain_prompt(scene.last_error.text())
    notes = [*_first_notes(scene), code_cells.NOTE]
    watch(scene, scene.session.stream(prompt), notes=notes, screen=screen)


def fix(scene: Scene, screen: Screen | None = None) -> None:
    """Have the cell of the last error corrected: the new one goes below, shown as a diff, and is not run."""
    cells = scene.last_error.cells()
    prompt = code_cells.fix_prompt(scene.last_error.text(), cells)
    deliver = partial(code_cells.corrected, scene, cells)
    notes = [*_first_notes(scene), code_cells.NOTE]
    watch(scene, scene.session.stream(prompt), notes=notes, deliver=deliver, screen=screen)


def resume(scene: Scene, decision: str | None) -> None:
    """Go on with the interrupted turn, or with an answer to what it asks, and show what comes."""
    if decision in (None, "again", "skip"):
        watch(scene, scene.session.resume(decision), deliver=scene.deliveries.get(scene.session.thread))
    else:
        decide(scene, answers(scene, str(decision)))


def decide(scene: Scene, words: Sequence[Decision], screen: Screen | None = None) -> None:
    """Apply the user's decisions on pending calls; with the last one the turn continues, on `screen` where one is given."""
    thread = words[0].call.thread
    if scene.session.approvals.decide(words):
        try:
            watch(scene, scene.session.resume(thread=thread), deliver=scene.deliveries.get(thread), screen=screen)
        except DeepnbError as error:
            if screen is None:
                raise
            screen.show(notice_view(error.typed, "error"))
    elif screen is None and scene.session.pending:
        scene.show(notice_view(scene.session.pending))


def show_asked(scene: Scene, used: int = 0) -> None:
    """Show the card of the calls that wait in the current thread, of which another kernel has shown one before.

    `used` is the number of outputs that the cell has.
    """
    asked, waiting = scene.session.asked, scene.session.approvals.asked()
    if not any(call.thread == scene.session.thread for call in waiting):
        return
    turn = replace(scene.session.turns[-1], asked=asked)
    scene.cards.show(turn, scene.screen, used, partial(decide, scene), footer_view(turn))
    scene.cards.follow()  # some of them may be decided


def watch(
    scene: Scene,
    events: TurnStream,
    *,
    quiet: bool = False,
    filled: FilledPrompt | None = None,
    notes: Sequence[str] = (),
    deliver: Deliver | None = None,
    screen: Screen | None = None,
) -> Turn:
    """Show a turn while it happens; an interrupt ends it in order and then stops Run All.

    `deliver` is given a turn that ended well and says what to show of it above the footer. A turn whose calls
    need approval ends with their card. `screen` is where to show it, the cell's if not given.
    """
    place = screen or Counted(scene.screen)
    stop = interrupt if isinstance(scene.screen, Notebook) and scene.in_cell() else None
    display = QuietTurn(place) if quiet else turn_display(place, hz=scene.config.stream_hz, stop=stop)
    current = scene.session.workspace.current
    current.live = display.add
    try:
        problem, stopped = show_events(display, events)
    finally:
        current.live = lambda event: None
    if (turn := events.turn) is None:
        raise problem or DeepnbError("interrupted before the turn started", "run the cell again")
    try:
        with uninterrupted():
            views, problem = _end(scene, turn, problem, deliver)
            filled = filled or FilledPrompt("")
            has_code = code_cells.code_blocks(turn.text) or code_cells.called_code(turn)
            if has_code and not (scene.in_cell() or turn.asked):
                notes = [*notes, code_cells.AFTER_A_BUTTON]
            footer = footer_view(turn, filled=filled.filled, notes=[*filled.notes, *notes])
            if problem is not None:  # it ends the cell as its error: not twice
                footer = replace(footer, problem=None)
            asks = bool(turn.asked) and problem is None
            below = display.finish(*views, *([] if asks else [footer]))
            if asks:
                scene.cards.show(turn, below, getattr(place, "shown", 0), partial(decide, scene), footer)
    except KeyboardInterrupt:
        stopped = True
    if stopped and problem is None:
        kept = _goes_on(scene.session, turn) if turn.asked else "its answer is kept; you can run the cells below"
        problem = DeepnbError("interrupted after the turn had ended", kept)
    if problem is not None:
        raise problem
    if turn.asked and screen is None and scene.config.stop_at_approval:
        error = approval_needed(turn.asked, buttons=scene.screen.notebook)
        error.shown = scene.screen.notebook and scene.cards.say_stop(notice_view(str(error)), scene.screen)
        raise error
    return turn


def _first_notes(scene: Scene) -> list[str]:
    session = scene.session
    kept = session.workspace.persistence is not None or session.options.checkpointer is not None
    return [*([FORGETS] if session.last is None and not kept else []), *scene.cards.notes()]


def _filled(scene: Scene, prompt: str, cell: bool) -> FilledPrompt:
    """Return a prompt with the kernel's values; on a line, which is taken as typed, `{err}` alone is filled in."""
    placeholder = f"{{{ERR}}}"
    if not cell and placeholder not in prompt:
        left = known_names(prompt, scene.namespace)
        return FilledPrompt(
            prompt, notes=tuple(f"{one} is left as typed: only a %%agent cell is filled in" for one in left)
        )
    names = scene.last_error.names(prompt, scene.namespace)
    if not cell:
        names = {ERR: names[ERR]} if ERR in names else {}
    filled = fill(prompt, names)
    notes = [note for note in filled.notes if cell or note.startswith(placeholder)]
    if ERR in filled.filled:
        notes.append(f"{placeholder} is {'your variable err' if ERR in scene.namespace else 'the last error'}")
    return replace(filled, notes=tuple(notes))


def show_events(display: Any, events: TurnStream) -> tuple[DeepnbError | None, bool]:
    """Show what happens until it ends; gives what went wrong, and whether it was interrupted."""
    try:
        for event in events:
            with uninterrupted():
                display.add(event)
    except KeyboardInterrupt:
        return None, True
    except DeepnbError as error:
        return error, False
    finally:
        display.ended()
        events.close()
    return None, False


def _end(
    scene: Scene, turn: Turn, problem: DeepnbError | None, deliver: Deliver | None
) -> tuple[Sequence[View], DeepnbError | None]:
    scene.deliveries.pop(turn.thread, None)  # not before: a refused `resume` leaves it for the decision
    if turn.interrupted is not None:
        return (), DeepnbError(turn.interrupted, _goes_on(scene.session, turn))
    if turn.asked:
        scene.deliveries[turn.thread] = deliver
        return (), problem
    if problem is not None:
        diff = getattr(problem, "diff", None)  # of a request that is not on the tape
        return ([diff_view([diff], "from the nearest request on the tape")] if diff is not None else ()), problem
    scene.answers.append(turn.text if turn.structured is None else turn.structured)
    try:
        return deliver(turn) if deliver else (), None
    except DeepnbError as error:
        return [TextView("", turn.text)], error


def _goes_on(session: Session, turn: Turn) -> str:
    if turn.thread != session.thread:
        return f"%agent switch {turn.thread}, then %agent resume"
    pending = session.pending
    return pending.partition(": ")[2] if pending else "%agent PROMPT continues from here"


def _deliver(scene: Scene, run: AgentRun, turn: Turn) -> list[View]:
    """Put the answer into a variable in the form that was asked for; gives what is still to be shown of it."""
    value: Any = turn.text if turn.structured is None else turn.structured
    views: list[View] = []
    if run.format == "json":
        for candidate in (turn.text, *code_cells.code_blocks(turn.text)):  # the whole of it, or a block that is one
            with suppress(ValueError):
                value = json.loads(candidate)
                break
        else:
            raise InvalidError("the answer is not JSON", "ask again for JSON only")
        views = [TextView("", json.dumps(value, ensure_ascii=False, indent=2))]
    elif run.format == "code":
        if not (blocks := code_cells.code_blocks(turn.text)):
            raise InvalidError("the answer has no code block", "ask for code, or leave out --format code")
        value = blocks[0]
        put = scene.put_code(value, "the code is in the next cell")
        views = [put] if put else []
    elif run.format == "text" or run.format.startswith(SCHEMA):
        views = [TextView("", turn.text)]
    elif run.quiet:
        views = [Answer(0, [turn.text])]
    if run.format == "markdown" and value is turn.text:
        calls = [event for event in turn.events if isinstance(event, ToolStarted) and not event.path]
        if calls and calls[-1].name == "query_table":
            from deepnb.workshop.namespace import table_shown

            table = table_shown(scene.namespace, calls[-1].args, turn.text)
            value = value if table is None else table
    scene.answers.append(value)
    if run.as_name:
        scene.namespace[run.as_name] = value
    return [] if run.quiet and run.as_name else views


# -- decisions by command: which calls they are on, and what they say


MODES = {
    "outside": "asks before calls that can't be undone",
    "writes": "asks before calls that change anything",
    "read-only": "denies calls that change anything",
    "allow": "asks before calls of the tools with a rule",
}


def decisions(scene: Scene, name: str, args: Args) -> list[Decision]:
    """Return the decisions that `approve`, `reject` and `edit` with their arguments mean."""
    asked = scene.session.asked
    if not asked and (elsewhere := scene.session.approvals.asked()):
        do = f"thread {elsewhere[0].thread} has one: %agent switch {elsewhere[0].thread}, then %agent {name}"
        raise NotFoundError("no call needs approval in this thread", do)
    if not asked and not scene.session.turns and scene.screen.notebook:
        what = "no call needs approval in this kernel"
        do = "run the cell of the card again, or, where the session was kept, %agent persist FILE"
        raise NotFoundError(what, do)
    if not asked:
        raise NotFoundError("no call needs approval in this thread", f"%agent -- {name} ... sends this as a prompt")
    if name == "approve":
        offer = scene.session.approvals.offer(scene.session.thread) if args["skill"] else {}
        if args["skill"] and not offer:
            what = "no skill in use asks for the tools of these calls"
            raise NotFoundError(what, "%agent approve, or approve --thread")
        chosen = _chosen(asked, args["which"], "approve")
        return [call.approve(remember=bool(args["thread"]), also=offer) for call in chosen]
    rest, which = str(args["what"] or ""), None
    found = re.fullmatch(r"(all|\d{1,3})(?:\s+(.*))?", rest, re.DOTALL)
    # The number in `2 too risky` is that of a call only where several wait.
    if found and (found[1] == "all" or len(asked) > 1 or (found[1] == "1" and (found[2] or "").startswith("{"))):
        which, rest = found[1], found[2] or ""
    chosen = _chosen(asked, which, name)
    if name == "reject":
        return [call.reject(rest) for call in chosen]
    return [call.edit(arguments(rest)) for call in chosen]


def answers(scene: Scene, text: str) -> list[Decision]:
    """Return the answer to a question of the graph, after its number where there are several."""
    if not (asked := scene.session.asked):
        what = "no question waits for an answer in this thread"
        raise NotFoundError(what, "%agent resume continues an interrupted turn")
    found = re.fullmatch(r"(\d{1,3})\s+(\S.*)", text, re.DOTALL)
    number, given = (found[1], found[2]) if found else (None, text)
    do = 'write a JSON value, such as true or "text"'
    return [call.answer(arguments(given, do)) for call in _chosen(asked, number, "resume")]


def _chosen(asked: Sequence[PendingCall], which: Any, name: str) -> Sequence[PendingCall]:
    if which == "all" or (which is None and len(asked) == 1):
        return asked
    if which is None:
        need, also = "calls need approval", f", or %agent {name} all"
        if name == "resume":
            need, also = "questions need an answer", " JSON"
        raise InvalidError(f"{len(asked)} {need}", f"%agent {name} N (1 to {len(asked)}){also}")
    if not 1 <= int(which) <= len(asked):
        raise NotFoundError(f"there is no call {which}", f"%agent {name} takes a number from 1 to {len(asked)}, or all")
    return [asked[int(which) - 1]]
