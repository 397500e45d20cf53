"""Prompts in the background: shown in the cell that started them, listed, stopped and joined by `%agent jobs`."""

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from functools import partial
from typing import Any

from deepnb.magics import ask
from deepnb.magics.options import AgentRun
from deepnb.magics.scene import Args, Result, Scene, notice
from deepnb.running.thread import asks_only, todo
from deepnb.values.errors import BusyError, DeepnbError, InvalidError
from deepnb.values.turn import Turn
from deepnb.views.approval import ApprovalView, CallCard
from deepnb.views.diff import diff_view
from deepnb.views.text import elapsed, short, tokens
from deepnb.views.turn import FooterView, TurnView, footer_view
from deepnb.views.view import View, notice_view, table_view
from deepnb.widgets.actions import close
from deepnb.widgets.screen import Counted, Output, Screen
from deepnb.widgets.turn import QuietTurn, stop_button, turn_display
from deepnb.wings.compare.jobs import Job, JobStream, Reader

_LATER, _NOW = "buttons follow below when no cell is running; or ", "use the buttons below, or "
_WORDS = 44
"""Columns of a prompt in the list of jobs."""


def ask_in_background(scene: Scene, run: AgentRun, *, cell: bool) -> None:
    if run.format == "code":
        raise InvalidError("--bg can't put code into the next cell", "%agent jobs join N, then %agent code")
    request = ask.request(scene, run, cell=cell)
    watcher = JobCell(scene, request, quiet=run.quiet or run.format != "markdown" or not scene.screen.notebook)
    watcher.begin(scene.session.jobs.start(request.text, reader=watcher, **request.options))


class JobCell(Reader):
    """A job in the outputs of the cell that started it."""

    def __init__(self, scene: Scene, request: ask.Request, *, quiet: bool) -> None:
        self._scene, self._request, self._quiet = scene, request, quiet
        self._place = Counted(scene.screen)
        self._context = copy_context()
        self._begun = threading.Event()
        self._button: Any = None
        self._state: Output | None = None
        self._below: Screen | None = None
        self._unwatch: Callable[[], None] = lambda: None

    def begin(self, job: Job) -> None:
        """Say what was started, with a button that stops it; then what happens is shown below."""
        try:
            if not self._scene.screen.notebook:
                line = f"job {job.number} was started in thread {job.thread}: %agent jobs lists it, %agent jobs stop"
                self._scene.show(notice(f"{line} {job.number} stops it"))
                return
            head = f"job {job.number} in thread {job.thread}, a fork of {job.source} · started {job.started[11:19]}"
            outlives = self._scene.session.workspace.persistence is not None
            goes_on = "after it %agent persist says how to go on"
            goes_on = goes_on if outlives else "what is shown below is as far as it got"
            kept = f"it runs in this kernel only: a restart ends it, and {goes_on}"
            self._place.show(notice(f"{head} · {kept}"))
            self._button = stop_button(f"stop job {job.number}", job.interrupt)
            self._state = self._place.widget(self._button, f"%agent jobs stop {job.number} stops it")
        finally:
            self._begun.set()

    def read(self, job: Job, stream: JobStream) -> None:
        self._begun.wait()
        scene = self._scene
        clock, hz = scene.session.clock, scene.config.stream_hz
        display: Any = QuietTurn(self._place)
        if not self._quiet:
            display = turn_display(self._place, hz=hz, hint="", now=lambda: f"{clock():%H:%M:%S}")
        problem, _ = ask.show_events(display, stream)
        job.problem, turn = problem, stream.turn
        if not scene.screen.notebook:
            self._delivered(turn, problem)
            self._place.show(notice(_ended(job, turn, problem)))
            return
        if turn is None:
            display.finish(notice_view(problem.typed if problem else "stopped before the turn started", "error"))
        else:
            views = self._delivered(turn, problem)
            self._below = display.finish(*views, *([] if turn.asked else [self._footer(turn)]))
        if self._state is not None:
            self._state.update(notice_view(_ended(job, turn, problem, buttons=_LATER), "ok"))

    def returned(self, job: Job) -> None:
        self._context.run(self._show_card, job)

    def _show_card(self, job: Job) -> None:
        if self._button is not None:
            close(self._button)
        scene, turn, below = self._scene, job.turn, self._below
        if turn is None or not turn.asked:
            return
        scene.deliveries[turn.thread] = self._request.deliver
        if below is None:
            return
        scene.cards.show(turn, below, self._place.shown, partial(ask.decide, scene), self._footer(turn))
        if self._state is not None:
            self._state.update(notice_view(_ended(job, turn, None, buttons=_NOW), "ok"))
        self._unwatch = scene.session.workspace.current.watch(partial(self._follow, job))

    def _follow(self, job: Job) -> None:
        if job.state != "needs approval" and self._state is not None:
            self._unwatch()
            self._state.update(notice_view(_ended(job, job.turn, None), "ok"))

    def _delivered(self, turn: Turn | None, problem: DeepnbError | None) -> Sequence[View]:
        if turn is None or turn.asked or turn.interrupted is not None or problem is not None:
            return ()
        try:
            return self._request.deliver(turn)
        except DeepnbError as error:
            return [notice_view(error.typed, "error")]

    def _footer(self, turn: Turn) -> FooterView:
        filled = self._request.filled
        return footer_view(turn, filled=filled.filled, notes=[*filled.notes, *self._request.notes])


def agent_jobs(scene: Scene, args: Args) -> Result:
    jobs, what = scene.session.jobs, args["what"]
    if what is None:
        rows = []
        for job in jobs:
            state = f"{job.state}: {job.activity.line}" if job.state == "running" else job.state
            spent = job.turn.usage if job.turn is not None else job.activity.usage
            used = tokens(spent.input + spent.output, spent.exact)
            rows.append((job.number, short(job.prompt, _WORDS), state, elapsed(job.seconds), used, job.thread))
        head = ("job", "prompt", "state", "time", "tokens", "thread")
        empty = "no background jobs yet: %%agent --bg starts one"
        return table_view(head, rows, "jobs", (0, 3, 4), empty, scene.stamp)
    if args["number"] is None:
        raise InvalidError(f"jobs {what} needs N", f"usage: %agent jobs {what} N; %agent jobs lists them")
    job = jobs.job(args["number"])
    if what == "join":
        return _join(scene, job)
    if (turn := job.stop()) is None and job.state == "running":
        return notice(f"job {job.number} is being stopped; what it waits for does not end yet")
    return notice(_ended(job, turn, job.problem))


def _join(scene: Scene, job: Job) -> Result:
    if job.state == "running":
        raise BusyError(f"job {job.number} is running", f"wait until it ends, or %agent jobs stop {job.number}")
    scene.session.switch(job.thread)
    turn = job.turn
    needs = f"; it needs your {_decision(turn)[0]}: {todo(turn.asked)}" if turn and turn.asked else ""
    scene.show(notice(f"thread {job.thread}, at turn {len(scene.session.turns)}, forked from {job.source}{needs}"))
    if turn is None:
        return None
    if not scene.screen.notebook:
        scene.show(TurnView(turn, asked=False))
        if turn.asked:
            changes = map(scene.session.approvals.change, turn.asked)
            cards = [CallCard(n, c, d) for n, (c, d) in enumerate(zip(turn.asked, changes, strict=True), 1)]
            scene.show(ApprovalView(cards, f"thread {turn.thread}, turn {turn.number}"))
    if not (diffs := scene.session.memory.diff(turn.number - 1, turn.number)):
        return notice_view("the job changed nothing in memory", "hint")
    scene.show(diff_view(diffs, f"memory changed by job {job.number}", scene.stamp))
    return notice_view("memory belongs to all threads of the session, so these changes are there already", "hint")


def _ended(job: Job, turn: Turn | None, problem: DeepnbError | None, buttons: str = "") -> str:
    took = f" after {elapsed(turn.seconds)}" if turn is not None else ""
    join = f"%agent jobs join {job.number}"
    if turn is None:
        return f"job {job.number} {f'failed: {problem.typed}' if problem else 'stopped before its turn started'}"
    if turn.error is not None:
        return f"job {job.number} failed{took}: {turn.error}"
    if turn.asked:
        what, typed = _decision(turn)
        return f"job {job.number} needs your {what}: {buttons}{join}, then {typed}"
    if turn.interrupted is not None:
        what = f"job {job.number} stopped{took}, {turn.interrupted}"
        return f"{what}: {join}, then %agent resume" if turn.after.next else f"{what}: {join} continues in its thread"
    return f"job {job.number} done{took}: {join} continues in its thread"


def _decision(turn: Turn) -> tuple[str, str]:
    return ("answer", "%agent resume JSON") if asks_only(turn.asked) else ("approval", "%agent panel approvals")
