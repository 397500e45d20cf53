"""The parts of a session, tied together once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from deepnb.running.current import Current
from deepnb.running.graphs import Graphs
from deepnb.running.home import Home
from deepnb.running.state import State
from deepnb.running.thread import Thread
from deepnb.running.threads import Threads
from deepnb.running.transcripts import Transcripts
from deepnb.skills.catalog import Catalog, Found
from deepnb.subagents.files import read_files, tool_names
from deepnb.values.agent import Listed, Skill
from deepnb.values.approvals import Policy, policy_of
from deepnb.values.budget import rule_for
from deepnb.values.code import CODE_TOOLS, PROPOSAL_TOOLS
from deepnb.values.errors import DeepnbError
from deepnb.values.fingerprint import fingerprint
from deepnb.values.lazy import Memo
from deepnb.values.turn import Snapshot, Turns, fills
from deepnb.wiring.options import Options, changed, check_sizes, model_of, sizes_in

if TYPE_CHECKING:
    from deepnb.backends.guarded import GuardedBackend
    from deepnb.persistence.database import Database
    from deepnb.running.persistence import Persistence
    from deepnb.wiring.build import Built


class Workspace:
    """What all parts of a session are handed; none of them knows the session."""

    def __init__(self, options: Options, clock: Callable[[], datetime] | None = None, first: str = "main") -> None:
        self.current = Current(options, Thread(first, snapshot=Snapshot(first)), clock)
        self.home = Home(self.current)
        self.graphs = Graphs(self.current, self.home)
        self.state = State(self.current, self.home, self.graphs)
        self.threads = Threads(self.state, self.current)
        self.catalogs = Catalogs(self.current, self.home)
        self._lent = False
        self._windows = {model_of(options): options.max_input_tokens}
        """Model -> the window that was set for it."""
        # The one knot: a graph is made over the backend, which outside a run goes through the graph's checkpoints.
        self.home.thread_files = ThreadFiles(self)

    @cached_property
    def transcripts(self) -> Transcripts:
        """All that happened, by thread, as it is written down."""
        return Transcripts(self.current, self.home, self.threads)

    @property
    def options(self) -> Options:
        return self.current.options

    @property
    def built(self) -> Built:
        """The graph for them and what belongs to it; importing the engine takes some seconds the first time."""
        return self.graphs.built

    def need(self, feature: str) -> None:
        """Raise an error in one line where the graph is somebody else's and has no such feature."""
        if self.options.graph is not None:
            self.options.graph.features.need(feature)

    @property
    def backend(self) -> GuardedBackend:
        """The files of the thread that is meant, behind the guard."""
        return self.home.backend

    @property
    def thread(self) -> Thread:
        return self.threads.current

    @property
    def turns(self) -> Turns:
        return Turns(self.thread.turns)

    def fills(self) -> tuple[list[int], list[int], list[tuple[int, int]]]:
        """Return what `values.turn.fills` does, by our own count."""
        return fills(self.turns, lambda call: call.budget.total)

    @property
    def snapshot(self) -> Snapshot:
        """The state of the current thread now, pending writes included."""
        return self.state.snapshot(self.thread)

    def close(self) -> None:
        self.current.close()
        self.home.close()
        if self.persistence is not None and not self._lent:
            self.persistence.close()

    @property
    def persistence(self) -> Persistence | None:
        """Where the session is kept; None for this process."""
        return self.state.persistence

    def keep_in(self, database: Database, *, begun: bool) -> Persistence:
        """Keep all of it in a database from now on; unless this has `begun`, what is there is read when it is looked at."""
        from deepnb.persistence.records import TranscriptLines
        from deepnb.running.persistence import Persistence

        self.home.keep_in_database(database)
        kept = Persistence(database, self.current)
        self.current.options = replace(self.current.options, checkpointer=database.saver)
        self.graphs.keep_in(database.saver, kept.sign)
        self.state.persistence = kept
        if not begun:
            self.threads.reread()
        self.transcripts.database = partial(TranscriptLines, database)
        self.current.save = lambda: kept.save(self.threads, self.threads.kept_names)
        return kept

    def keep_with(self, other: Workspace) -> None:
        """Keep the turns of one of its threads where another workspace keeps the others, which closes it."""
        self.graphs.keep_in(other.graphs.checkpointer, other.graphs.sign)
        self.state.persistence = other.persistence
        self._lent = True

    def configure(self, changes: Mapping[str, Any]) -> Built:
        """Change options from the next turn on; a bad one changes nothing."""
        self.current.idle()
        options = self.changed(changes)
        if "tools" in changes and "approve" not in changes:
            # without the rules that allow functions which these tools have no more, or not as they were
            from deepnb.engine.request import tool_name

            policy, now = policy_of(self.options.approve), {tool_name(tool): tool for tool in options.tools}
            was = {tool_name(tool): tool for tool in self.options.tools if not hasattr(tool, "offer")}
            ended = {n for n in was if n not in now or fingerprint([now[n]]) != fingerprint([was[n]])}
            rules = {name: rule for name, rule in policy.rules.items() if rule != "allow" or name not in ended}
            if rules != policy.rules:
                options = replace(options, approve=Policy(policy.mode, rules).option)
        built = self.graphs.of(options)
        if options.keep is not None and sizes_in(changes):
            check_sizes(rule_for(built.rule.window, options.trigger, options.keep, as_asked=True).conflict)
        self.current.options = options
        self._windows[model_of(options)] = options.max_input_tokens
        self.current.tell()
        return built

    def changed(self, changes: Mapping[str, Any]) -> Options:
        """Return the options in force with changes; a model comes with the window that was set for it."""
        options = changed(self.options, changes)
        window = None if "max_input_tokens" in changes else self._windows.get(model_of(options))
        return options if window is None else replace(options, max_input_tokens=window)


class ThreadFiles:
    """The files of the thread that is meant, while no run is going on."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def read(self) -> Mapping[str, Any]:
        """Its files, writes that wait included: path -> FileData."""
        return self._workspace.state.read(self._thread)

    def write(self, update: Mapping[str, Any]) -> None:
        """Merge path -> FileData into its files; None deletes. While a turn is unfinished the write waits, and is read back."""
        self._workspace.state.write(self._thread, update)
        self._workspace.current.tell()

    def whole(self, files: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._workspace.graphs.restorer.files(files)

    def refresh(self) -> bool:
        """See what another session on the same checkpointer wrote since; False where there can be none, or a turn runs."""
        work = self._workspace
        if work.options.checkpointer is None or not work.current.is_idle:
            return False
        if (thread := self._thread).root is not None and not thread.unfinished:
            work.state.ensure_checkpoint(thread)
        return not thread.unfinished

    @property
    def _thread(self) -> Thread:
        threads, meant = self._workspace.threads, self._workspace.current.files_thread
        return threads[meant.name] if meant.name else meant  # one of no name has nothing but its memory


class Catalogs:
    """The skills and the subagents that the files define, as they stand now."""

    def __init__(self, current: Current, home: Home) -> None:
        self._current = current
        self._home = home
        self._catalog = Memo(Catalog)

    @property
    def sources(self) -> tuple[str, ...]:
        """The directories of skills; a later one overrides an earlier one's skill of the same name."""
        return self._catalog(self._current.options.skills).sources

    def found(self) -> Found:
        """Return the skills, and all there is to fix in their files."""
        return self._catalog(self._current.options.skills).read(self._home.backend)

    def texts(self, skills: Sequence[Skill]) -> dict[str, str]:
        """Return path -> text of the SKILL.md of each of these that can be used or enabled, in one batch."""
        paths = [s.path for s in skills if s.problem is None]
        found = self._home.backend.download_files(paths)
        return {p: (r.content or b"").decode("utf-8", "replace") for p, r in zip(paths, found, strict=True)}

    def pinned(self, thread: Thread) -> Mapping[str, str]:
        """Return the skills that were pinned in a thread and are in no turn yet: name -> id of the message."""
        sent = {m.id for m in thread.snapshot.messages if m.source} if thread.pins else set()
        return {name: id_ for name, id_ in thread.pins.items() if id_ not in sent}

    def before_prompt(self, pins: Mapping[str, str]) -> Sequence[Any]:
        """Return the messages that hold pinned skills, as the files are now; what is gone is left out."""
        if not pins:
            return []
        from deepnb.engine.probe import pinned_message
        from deepnb.skills.frontmatter import body_of

        there = {s.name: s for s in self.found().skills if s.usable}
        texts = self.texts(list(there.values()))
        return [pinned_message(there[n], body_of(texts[there[n].path]), i) for n, i in pins.items() if n in there]

    def tools(self) -> tuple[str, ...]:
        """Return the names that `tools` of a subagent may hold."""
        from deepnb.workshop.namespace import namespace_tools

        options = self._current.options
        own = (*CODE_TOOLS, *PROPOSAL_TOOLS) if self._current.kernel else ()
        return (*tool_names((*namespace_tools(options.namespace), *options.tools), options.enable_filesystem), *own)

    def agents(self) -> list[Listed]:
        """Return the subagents of the files, broken ones included."""
        if self._current.options.graph is not None:  # its files are none of deepnb's
            return []

        def wrong_model(model: str) -> str:
            from deepnb.models.resolve import resolve

            try:
                resolve(model, namespace=self._current.options.namespace)
            except DeepnbError as error:
                return error.typed
            return ""

        given = [agent.name for agent in self._current.options.subagents]
        return read_files(self._home.backend, self.tools, given, wrong_model)
