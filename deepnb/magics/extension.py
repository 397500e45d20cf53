"""What `%load_ext deepnb` puts into a shell, and `%unload_ext deepnb` takes out again."""

from __future__ import annotations

import importlib
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from contextvars import Context
from copy import deepcopy
from functools import cached_property
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal
from weakref import WeakKeyDictionary

from deepnb.magics import complete, last_error, shell, transform
from deepnb.magics.config import DeepNB
from deepnb.magics.last_error import LastError
from deepnb.magics.usage import LEFT_OUT, MAGICS, TOOL_WORDS, subcommand, usage_text
from deepnb.values import wings
from deepnb.values.errors import DeepnbError

if TYPE_CHECKING:
    from deepnb.magics.ask import ErrorHelp
    from deepnb.magics.kernel import ShellKernel
    from deepnb.magics.options import AgentRun, Command
    from deepnb.magics.scene import Scene, Sessions
    from deepnb.session.session import Session
    from deepnb.widgets.screen import Screen


class Extension:
    """The magics of one shell, around one session. Loading imports only what a shell needs to know their names."""

    def __init__(self, ip: Any) -> None:
        self.ip = ip
        self._given = deepcopy(ip.config.get(DeepNB.__name__))
        """The settings that the extension was loaded with."""
        from IPython.core.error import UsageError
        from traitlets import TraitError

        try:
            self.config = DeepNB(lambda changes: self.sessions.own.configure(**changes), parent=ip)
        except TraitError as error:
            raise UsageError(f"{error}: fix c.DeepNB in the IPython profile") from None
        self._profile = {k: v for k, v in self.config.options().items() if v is not None}
        if ip.config.get(DeepNB.__name__):  # what the session would refuse when it is made is said now
            from deepnb.wiring.options import Options, changed

            try:
                changed(Options(), self._profile)
            except DeepnbError as error:
                raise UsageError(f"{error.typed}; fix c.DeepNB in the IPython profile") from None
        self._cell: str | None = None
        self._typed = ""
        self._cells: set[str] = set()
        self._in_cell = True  # the one that loads the extension
        self._last_error = LastError(ip)
        self._answers: list[Any] = []
        self._help: ErrorHelp | None = None
        self._offered: set[type] = set()
        """The kinds of errors that were seen: below the first of each, a notebook offers help."""
        self._scenes: WeakKeyDictionary[Session, Scene] = WeakKeyDictionary()
        self._preload = Preload() if hasattr(ip, "kernel") else None

    @cached_property
    def sessions(self) -> Sessions:
        """The sessions of the shell; the own one is made when something first asks for it, with the settings of the profile."""
        from deepnb.magics.scene import Sessions
        from deepnb.session.session import Session

        own = Session(clock=self.config.time, namespace=_Variables(self.ip, self._cells), **self._profile)
        own.workspace.current.watch(lambda: self.config.follow(own.options, own.model))
        return Sessions(own, self._join)

    @property
    def session(self) -> Session:
        return self.sessions.current

    def _join(self, session: Session) -> None:
        current, loop = session.workspace.current, getattr(getattr(self.ip, "kernel", None), "io_loop", None)
        current.shell = self.kernel
        if loop is not None:  # what a background job has left is taken over as soon as no cell is running
            current.wake = lambda: loop.add_callback(Context().run, current.catch_up)

    @cached_property
    def kernel(self) -> ShellKernel:
        from deepnb.magics.kernel import ShellKernel

        return ShellKernel(self.ip, lambda: self._in_cell, lambda: self._cell)

    @cached_property
    def screen(self) -> Screen:
        from deepnb.widgets.screen import Notebook, Terminal

        return Notebook() if hasattr(self.ip, "kernel") else Terminal()

    @property
    def scene(self) -> Scene:
        """What the commands have to hand in the session in use."""
        if (session := self.session) not in self._scenes:
            from deepnb.magics.scene import Scene
            from deepnb.widgets.panels import Live

            self._scenes[session] = Scene(
                session=session,
                screen=self.screen,
                config=self.config,
                namespace=self.ip.user_ns,
                next_cell=self.kernel.put_cell,
                cell=lambda: self._cell,
                live=Live(session.workspace.current.watch),
                last_error=self._last_error,
                sessions=self.sessions,
                in_cell=lambda: self._in_cell,
                typed=lambda: self._typed,
                answers=self._answers,
            )
        return self._scenes[session]

    def load(self) -> None:
        """Register everything; prints nothing."""
        ip = self.ip
        for magic in MAGICS:
            ip.register_magic_function(self._magic(magic), "line_cell", magic)
        ip.configurables.append(self.config)
        self.config.follow_user(self._say_effect)
        ip.events.register("pre_run_cell", self._before_cell)
        ip.events.register("post_run_cell", self._after_cell)
        transform.install(ip)
        complete.install(ip, self._names)
        shell.install(ip)
        last_error.stop_at_cards(ip)

    def unload(self) -> None:
        """Take out all that `load` put in; one line says what of the session is gone with it, if anything is."""
        ip = self.ip
        if "sessions" in self.__dict__ and not self.session.workspace.current.is_idle:
            from IPython.core.error import UsageError

            raise UsageError("a turn is running: interrupt it, or wait until it ends")
        for magic in MAGICS:
            for kind in ("line", "cell"):
                ip.magics_manager.magics[kind].pop(magic, None)
        if anew := "%reset" in self._typed:  # a cell that begins a notebook anew
            ip.config.pop(DeepNB.__name__, None)
            ip.config.update({DeepNB.__name__: self._given} if self._given else {})
        else:
            self.config.settle(ip.config)
        if self.config in ip.configurables:
            ip.configurables.remove(self.config)
        ip.events.unregister("pre_run_cell", self._before_cell)
        ip.events.unregister("post_run_cell", self._after_cell)
        transform.uninstall(ip)
        complete.uninstall(ip)
        shell.uninstall(ip)
        if ip.custom_exceptions == (last_error.ApprovalNeeded,):
            ip.set_custom_exc((), None)
        if self._preload:
            self._preload.stop()
        if "sessions" in self.__dict__:
            if stopped := sum(session.jobs.stop() for session in self.sessions if "jobs" in vars(session)):
                from deepnb.views.text import counted

                self._say(f"{counted(stopped, 'background job')} stopped")
            self.sessions.own.tools.close()
            for line in () if anew else filter(None, map(shell.forgotten, self.sessions)):
                self._say(line)

    def _say(self, line: str, kind: Literal["note", "ok", "hint"] = "note") -> None:
        from deepnb.views.view import notice_view

        self.screen.show(notice_view(line, kind))

    def _say_effect(self, name: str, value: Any) -> None:
        from deepnb.values.budget import rule_for
        from deepnb.views.status import setting_words

        options = self.config.options()
        if "sessions" in self.__dict__:
            rule = self.sessions.own.rule
        else:
            rule = rule_for(self.config.window, options["trigger"], options["keep"], as_asked=True)
        self._say(setting_words(name, value, rule), "ok")

    def run(self, magic: str, line: str, body: str | None) -> Any:
        """Parse, call, show; a user's mistake is one line."""
        from IPython.core.error import UsageError

        self._answers.clear()
        try:
            value = self._run(magic, line, body)
        except DeepnbError as error:
            raise UsageError(error.typed) from None
        except KeyboardInterrupt:
            raise UsageError("interrupted: run the cell again") from None
        if not self._answers:
            return value
        if body is None and re.search(rf"=\s*%{magic}\s+{re.escape(line)}", self._typed):
            return self._answers[-1]
        self.ip.displayhook.update_user_ns(self._answers[-1])  # `_` and Out hold it, and it is shown once
        return None

    def _run(self, magic: str, line: str, body: str | None) -> Any:
        from deepnb.magics.options import AgentRun, parse_agent, parse_memory, parse_skills

        parsers: dict[str, Callable[..., AgentRun | Command]]
        parsers = {"agent": parse_agent, "memory": parse_memory, "skills": parse_skills}
        parsed = parsers[magic](line, body)
        if "sessions" in self.__dict__:
            self.session.workspace.current.catch_up()
        if isinstance(parsed, AgentRun):
            from deepnb.magics.ask import ask

            if problem := self.sessions.read_only:
                raise problem
            option = next((name for name in wings.names("--") if name[2:] in parsed.more), None)
            run = wings.part(option) if option else ask
            return run(self.scene, parsed, cell=body is not None)
        shown = self._call(magic, parsed)
        if shown is None or not (hasattr(shown, "text") and hasattr(shown, "html")):
            return shown
        self.screen.show(shown)
        return None

    def _call(self, magic: str, command: Command) -> Any:
        if command.name == "help":  # for which nothing of a session is needed
            from deepnb.views.view import TextView

            words, reference = str(command.args["words"] or "").strip("\"' "), "%agent help WORD"
            if not words:
                return TextView("", usage_text(magic))
            if (typed := f"%{magic} {words}") in LEFT_OUT:
                wings.part(typed)
            if wings.home(reference) is None and (sub := subcommand(magic, words)) is not None:
                return TextView(f"%{magic} {sub.usage}", sub.help)
            return wings.part(reference)(magic, words)
        from deepnb.magics import ask, commands, memory_commands, skills_commands
        from deepnb.values.agent import needed

        if (instead := self.sessions.instead(magic, command.name)) is not None:
            return instead(self.scene, command.args)
        if magic == "agent" and command.name == "resume":
            return ask.resume(self.scene, command.args["choice"])  # type: ignore[arg-type]
        if magic == "agent" and command.name in ("explain", "fix"):
            return ask.explain(self.scene) if command.name == "explain" else ask.fix(self.scene)
        if magic == "agent" and command.name in ("approve", "reject", "edit"):
            return ask.decide(self.scene, ask.decisions(self.scene, command.name, command.args))
        self.session.workspace.need(needed(f"%{magic} {command.name}"))
        if wings.home(f"%{magic} {command.name}"):
            return wings.part(f"%{magic} {command.name}")(self.scene, command.args)
        table = {"agent": commands.AGENT, "memory": memory_commands.MEMORY, "skills": skills_commands.SKILLS}[magic]
        return table[command.name](self.scene, command.args)

    def _magic(self, magic: str) -> Callable[..., Any]:
        from IPython.core.magic import no_var_expand

        @no_var_expand
        def run(line: str, cell: str | None = None) -> Any:
            return self.run(magic, line, cell)

        run.__name__ = magic
        run.__doc__ = usage_text(magic)
        made: Callable[..., Any] = run
        return made

    def _names(self, kind: str) -> Iterable[str]:
        sessions, variables = self.sessions, _Variables(self.ip, self._cells)
        own = sessions.live.workspace.threads.names if sessions.read_only else ()
        return complete_names(kind, self.session, variables, (*own, *sessions.opened))

    def _offer_help(self) -> None:
        if self.screen.notebook:
            from deepnb.magics.ask import ErrorHelp

            self._help = ErrorHelp(self.screen, lambda: self.scene)
        else:
            from deepnb.magics.code_cells import OFFER

            self._say(OFFER, "hint")

    def _before_cell(self, info: Any) -> None:
        if self._help:
            self._help.end()
            self._help = None
        self._cell, self._in_cell = getattr(info, "cell_id", None), True
        self._typed = str(getattr(info, "raw_cell", "") or "")
        self._cells |= {self._cell} if self._cell else set()
        if "kernel" in self.__dict__:
            self.kernel.begin_cell()
        if self._preload:
            self._preload.stop()

    def _after_cell(self, result: Any) -> None:
        self._in_cell = False
        self.config.settle(self.ip.config)
        if self._last_error.note(result):
            kind, offer = type(self._last_error.error), self.config.offer_explain
            new = kind not in self._offered and self.screen.notebook
            self._offered.add(kind)
            if offer or (offer is None and new):
                self._offer_help()
        if "sessions" in self.__dict__ and not self._typed.startswith("%") and self.scene.live.shown:
            storage = self.session.workspace.home.storage
            if storage.kept or storage.mounts or storage.given.root:  # the code may have written a file that is shown
                self.session.workspace.current.tell()
        if self._preload:
            self._preload.begin()


def complete_names(
    kind: str, session: Session, variables: Mapping[str, Any], threads: Iterable[str] = ()
) -> Iterable[str]:
    """Return what can be completed in a session where a word of this kind stands; asks nothing that would start the engine."""
    from deepnb.models.keys import EXAMPLES, PROVIDERS
    from deepnb.running.sources import paths
    from deepnb.values.turn import Snapshot
    from deepnb.workshop.describe import is_table
    from deepnb.workshop.tables import Table

    memory, skills = session.memory, session.skills
    snapshot = Snapshot("") if session.workspace.current.read_only else session.snapshot
    # By their types, so that none of their code runs: chat models and compiled graphs, functions and LangChain's tools.
    types = {name: type(value) for name, value in variables.items()}
    turns = [str(turn) for turn in range(len(session.turns), 0, -1)]
    match kind:
        case "model":
            usable = (n for n, one in types.items() if hasattr(one, "_llm_type") or hasattr(one, "get_state_history"))
            return (*EXAMPLES, *usable)
        case "provider":
            return (name for name, one in PROVIDERS.items() if one.typed)
        case "thread":
            return (*session.workspace.threads.names, *threads)
        case "job":
            return (str(job.number) for job in vars(session).get("jobs", ()))
        case "turn":
            return turns
        case "call":
            return (*turns, *(f"{turn}.{call}" for turn, call in reversed(session.requests())))
        case "path" | "place" | "file":
            return dict.fromkeys((*memory.sources, *(path for path in snapshot.files if path.endswith(".md"))))
        case "source":
            return ("user", "project", *paths(memory.joined))
        case "change":
            return (entry.id for entry in reversed(memory.log_entries()))
        case "pending":
            return (held.id for held in memory.pending())
        case "messages":
            return (*(str(n) for n in range(len(session.history()), 0, -1)), "none")
        case "skill":
            written = (path.split("/")[-2] for path in snapshot.files if path.endswith("/SKILL.md"))
            return dict.fromkeys((*(skill.name for skill in snapshot.skills if skill.name), *written))
        case "bundled":
            return (skill.name for skill in skills.bundled())
        case "subagent":
            return session.subagents.names()
        case "subagents":
            return ("add", "remove", *session.subagents.names())
        case "tool":
            return session.approvals.known
        case "own tool":  # the user's, and the MCP servers: what can be removed
            return (*session.tools.names, *(server.name for server in session.tools.servers))
        case "function":
            return (n for n, one in types.items() if issubclass(one, FunctionType) or hasattr(one, "args_schema"))
        case "column":  # as a prompt names it, `{table[column]}`
            tables = ((name, Table(value)) for name, value in variables.items() if is_table(value))
            return (f"{{{name}[{column}]}}" for name, table in tables for column in table.names[:200])
    return {"tools": TOOL_WORDS, "recording": ("stop",)}.get(kind, ())


class _Variables(Mapping[str, Any]):
    def __init__(self, ip: Any, cell_ids: AbstractSet[str]) -> None:
        self._ip = ip
        self.cell_ids = cell_ids
        """Of the cells that ran since the extension was loaded: they tell which notebook is open."""

    def __getitem__(self, name: str) -> Any:
        if name in self._hidden():
            raise KeyError(name)
        return self._ip.user_ns[name]

    def __iter__(self) -> Any:
        hidden = self._hidden()
        return (n for n in tuple(self._ip.user_ns) if n not in hidden)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _hidden(self) -> set[str]:
        ns, hidden = self._ip.user_ns, self._ip.user_ns_hidden
        return {n for n in hidden if n in ns and ns[n] is hidden[n]}


# -- importing the engine while the kernel has nothing to do, so that the first turn need not wait for it


IDLE = 3.0
"""Seconds without a running cell before the import begins: an import beside the user's own slows both."""


class Preload:
    """A timer that is put off by every cell, and never runs twice."""

    def __init__(self, module: str = "deepnb.wiring.build", idle: float = IDLE) -> None:
        self._module = module
        self._idle = idle
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        """Held while the import goes on."""
        self._done = False

    def begin(self) -> None:
        """Wait for idleness from now on."""
        self.stop()
        if not self._done:
            self._timer = threading.Timer(self._idle, self._load)
            self._timer.daemon = True
            self._timer.start()

    def stop(self) -> None:
        """Do not begin; wait for an import that has begun.

        Two threads that import the same packages at once can each get one that is made by half: Python
        lets them, to prevent a deadlock, and then a name "cannot be imported".
        """
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        with self._lock:
            pass

    def _load(self) -> None:
        with self._lock:
            if threading.current_thread() is not self._timer:  # stopped on its way here
                return
            self._done = True
            with suppress(Exception):  # what is missing is said by the first turn, where it can be fixed
                importlib.import_module(self._module)
