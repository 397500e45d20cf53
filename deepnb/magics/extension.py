"""What `%load_ext deepnb` puts into a shell, and `%unload_ext deepnb` takes out again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deepnb.core.errors import DeepnbError
from deepnb.magics import complete, transform
from deepnb.magics.config import DeepNB
from deepnb.magics.options import AgentRun, Command, parse_agent, parse_memory, parse_skills
from deepnb.magics.preload import Preload
from deepnb.magics.scene import Scene
from deepnb.magics.usage import MAGICS, usage_text
from deepnb.session.session import Session
from deepnb.views.notice import notice_view
from deepnb.widgets.app_screen import AppScreen, in_voila
from deepnb.widgets.panels import Live
from deepnb.widgets.screen import Notebook, Screen, Terminal


class Extension:
    """The magics of one shell, around one session."""

    def __init__(self, ip: Any) -> None:
        self.ip = ip
        self.config = _settings(self._configure, ip)
        changes = {k: v for k, v in self.config.options().items() if v is not None}
        self.session = Session(clock=self._time, namespace=_Variables(ip), **changes)
        kernel = hasattr(ip, "kernel")
        screen: Screen = Terminal() if not kernel else AppScreen() if in_voila() else Notebook()
        self._cell: str | None = None
        self.scene = Scene(
            self.session,
            screen,
            self.config,
            ip.user_ns,
            ip.set_next_input,
            lambda: self._cell,
            Live(self.session.subscribe),
        )
        self.session.subscribe(lambda: self.config.follow(self.session.options, self.session.model))
        self._preload = Preload() if kernel else None

    def load(self) -> None:
        """Register everything; prints nothing."""
        ip = self.ip
        for magic in MAGICS:
            ip.register_magic_function(self._magic(magic), "line_cell", magic)
        ip.configurables.append(self.config)
        ip.events.register("pre_run_cell", self._before_cell)
        ip.events.register("post_run_cell", self._after_cell)
        transform.install(ip)
        complete.install(ip, self._names)

    def unload(self) -> None:
        """Take out all that `load` put in."""
        ip = self.ip
        for magic in MAGICS:
            for kind in ("line", "cell"):
                ip.magics_manager.magics[kind].pop(magic, None)
        self.config.settle(ip.config)
        if self.config in ip.configurables:
            ip.configurables.remove(self.config)
        ip.events.unregister("pre_run_cell", self._before_cell)
        ip.events.unregister("post_run_cell", self._after_cell)
        transform.uninstall(ip)
        complete.uninstall(ip)
        if self._preload:
            self._preload.stop()

    def run(self, magic: str, line: str, body: str | None) -> Any:
        """Parse, call, show; a user's mistake is one line."""
        from IPython.core.error import UsageError

        try:
            return self._run(magic, line, body)
        except DeepnbError as error:
            if in_voila():  # it strips what a cell that fails has printed
                self.scene.show(notice_view(str(error), "error"))
            raise UsageError(str(error)) from None
        except KeyboardInterrupt:
            raise UsageError("interrupted: run the cell again") from None

    def _run(self, magic: str, line: str, body: str | None) -> Any:
        from deepnb.magics import ask, commands, memory_commands, skills_commands

        parse: Callable[..., AgentRun | Command] = {
            "agent": parse_agent,
            "memory": parse_memory,
            "skills": parse_skills,
        }[magic]
        parsed = parse(line, body)
        if isinstance(parsed, AgentRun):
            return ask.ask(self.scene, parsed, cell=body is not None)
        if magic == "agent" and parsed.name == "resume":
            return ask.resume(self.scene, parsed.args["choice"])  # type: ignore[arg-type]
        if magic == "agent" and parsed.name in ("approve", "reject", "edit"):
            from deepnb.magics.approval_commands import decisions

            return ask.decide(self.scene, decisions(self.scene, parsed.name, parsed.args))
        table = {"agent": commands.AGENT, "memory": memory_commands.MEMORY, "skills": skills_commands.SKILLS}[magic]
        shown = table[parsed.name](self.scene, parsed.args)
        if shown is None or not (hasattr(shown, "text") and hasattr(shown, "html")):
            return shown
        self.scene.show(shown)  # type: ignore[arg-type]
        return None

    def _magic(self, magic: str) -> Callable[..., Any]:
        from IPython.core.magic import no_var_expand

        @no_var_expand
        def run(line: str, cell: str | None = None) -> Any:
            return self.run(magic, line, cell)

        run.__name__ = magic
        run.__doc__ = usage_text(magic)
        made: Callable[..., Any] = run
        return made

    def _configure(self, changes: Mapping[str, Any]) -> None:
        self.session.configure(**changes)

    def _time(self) -> Any:
        from datetime import datetime

        return self.config.time() or datetime.now().astimezone()

    def _names(self) -> complete.Names:
        return complete_names(self.session, _Variables(self.ip))

    def _before_cell(self, info: Any) -> None:
        self._cell = getattr(info, "cell_id", None)
        if self._preload:
            self._preload.stop()

    def _after_cell(self, result: Any) -> None:
        self.config.settle(self.ip.config)
        if self._preload:
            self._preload.begin()


def _settings(changed: Callable[[dict[str, Any]], None], ip: Any) -> DeepNB:
    """The settings as the shell's profile has them; a bad one there is one line."""
    from IPython.core.error import UsageError
    from traitlets import TraitError

    try:
        return DeepNB(changed, parent=ip)
    except TraitError as error:
        raise UsageError(f"{error}: mend c.DeepNB in the IPython profile") from None


def complete_names(session: Session, variables: Mapping[str, Any]) -> complete.Names:
    """What can be completed in a session just now; asks nothing that would start the engine."""
    from deepnb.models.names import EXAMPLES

    snapshot = session.snapshot
    written = (p.split("/")[-2] for p in snapshot.files if p.endswith("/SKILL.md"))
    return complete.Names(
        models=(*EXAMPLES, *(n for n, value in variables.items() if hasattr(type(value), "_llm_type"))),
        threads=session.thread_names,
        memory=tuple(dict.fromkeys((*session.memory.sources, *(p for p in snapshot.files if p.endswith(".md"))))),
        tools=session.approvals.known,
        skills=tuple(dict.fromkeys((*(s.name for s in snapshot.skills if s.name), *written))),
        subagents=session.subagents.names(),
    )


class _Variables(Mapping[str, Any]):
    """The user's variables, without what IPython itself put into the namespace."""

    def __init__(self, ip: Any) -> None:
        self._ip = ip

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
