"""The session: an agent, its threads and its turns. Everything the magics do is a method call on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property, wraps
from inspect import Parameter, signature
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Never, ParamSpec, TypeVar

from deepnb.memory.layers import Scope
from deepnb.models.windows import forget_windows
from deepnb.running.runner import Arrivals, AsyncTurnStream, Runner, TurnStream
from deepnb.running.workspace import Workspace
from deepnb.session.approvals import SessionApprovals
from deepnb.session.context import SessionContext
from deepnb.session.memory import SessionMemory
from deepnb.session.part import Files
from deepnb.session.skills import SessionSkills
from deepnb.session.subagents import SessionSubagents
from deepnb.session.tools import SessionTools
from deepnb.values.agent import Features
from deepnb.values.approvals import Decision, Mode, PendingCall, PendingCalls
from deepnb.values.budget import Rule, Size
from deepnb.values.errors import BusyError, InvalidError
from deepnb.values.server_address import is_address, server_address
from deepnb.values.text import short_repr
from deepnb.values.turn import Snapshot, ThreadInfo, Turn
from deepnb.values.wings import part
from deepnb.wiring.options import UNCHANGED, Options, Refresh, ToolText, changed, known_only

if TYPE_CHECKING:
    import pandas as pd
    from deepagents.backends.protocol import BackendProtocol
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.store.base import BaseStore

    from deepnb.backends.guarded import GuardedBackend
    from deepnb.backends.mounts import Mount
    from deepnb.models.tapes.recorder import Recording
    from deepnb.models.tapes.tape import Tape
    from deepnb.running.persistence import Restored
    from deepnb.values.agent import ModelInfos, Subagent
    from deepnb.values.events import TurnPassage
    from deepnb.values.turn import Price
    from deepnb.values.wing_types import Comparison, Job, Jobs, Package

    Tool = BaseTool | Callable[..., object] | dict[str, Any]
    Approve = Mode | Mapping[str, str]

P = ParamSpec("P")
T = TypeVar("T")
_FIXED = ("backend", "checkpointer", "graph", "messages_key", "clock", "persist")
"""Options that a session can't change."""
Rerun = Literal["continue", "replace"]
"""What running a cell again does: the thread continues, or is first rewound to before the cell's earlier turn."""


def _with_options_of(
    method: Callable[P, object], *without: str, **changes: Any
) -> Callable[[Callable[..., T]], Callable[P, T]]:
    """Return a decorator that gives a method the arguments of another, for callers, help and completion alike.

    It has none of the options `without`, and `changes` of all others (see `inspect.Parameter.replace`).
    """
    given = [one for one in signature(method).parameters.values() if one.name not in without]
    listed = [one if one.name in ("self", "unknown") else one.replace(**changes) for one in given]
    known = signature(method).replace(parameters=listed)

    def spelled(made: Callable[..., T]) -> Callable[P, T]:
        @wraps(made)
        def checked(*args: P.args, **options: P.kwargs) -> T:
            unknown = {key: value for key, value in options.items() if key == "unknown" or key not in known.parameters}
            known_only(f"Session.{made.__name__}", known.parameters, unknown)
            return made(*args, **options)

        its = known.replace(return_annotation=signature(made).return_annotation)
        checked.__signature__ = its  # type: ignore[attr-defined]
        return checked

    return spelled


class Session(SessionContext):
    """An agent, its threads and its turns, held in this process.

    `Session()` works at once, offline and with no key; `session.run("...")` gives a `Turn`. `configure` changes
    options later, from the next turn on. A part that is switched off adds no middleware and no tokens.

    Options:

    - model: a name ("offline" is the teaching model, "openai:gpt-5.2"), or a LangChain chat model
    - base_url: the address of an OpenAI-compatible server
    - model_settings: `max_tokens` of an answer, `temperature`, and `timeout` in seconds, of a model given by its name
    - system_prompt: the agent's instructions
    - tools: functions with a docstring, or LangChain tools
    - middleware: your own LangChain middleware, inside that of deepnb
    - subagents: agents that take tasks, as deepagents' dicts or `deepnb.Subagent`
    - general_purpose: whether there is a subagent for any task
    - max_subagent_depth: how deep subagents may be nested, counted through all levels; 1 lets only the main agent hand on tasks
    - backend: where files are kept: "disk:DIR", or a deepagents backend; None keeps them in the kernel
    - checkpointer: where threads are kept: a LangGraph checkpointer; None keeps them in memory
    - store: a LangGraph store
    - assistant_id: keeps the files of this assistant in the store apart from those of others
    - max_input_tokens: the context window in tokens; None takes what the model's profile says
    - trigger: when the context is compacted: ("fraction", 0.85), or a number of "tokens" or "messages"; None is
      ("fraction", 0.85) of a known window, else ("tokens", 170000)
    - keep: how much of the thread's end a compaction keeps, in the same form; less than the trigger; None is
      ("fraction", 0.10) of a known window, else ("messages", 6)
    - eviction_threshold: a tool result of more tokens goes into a file; None never
    - memory: paths of the memory files, in order; the agent writes to the first
    - memory_refresh: how the prompt learns of a change: "delta" (a diff), "call" (a new block), "thread" (never)
    - memory_budget: tokens for memory in the prompt; None is the smaller of 4,000 and 15 % of the window
    - embeddings: LangChain `Embeddings` that join in the search over notes, a variable that holds them, or "use": the
      offline ones of `pip install "deepnb[embed]"`
    - skills: directories of skills; a later one overrides a skill of the same name
    - enable_memory: whether there is memory
    - enable_skills: whether there are skills
    - enable_filesystem: whether there are file tools
    - enable_subagents: whether there are subagents
    - approve: which calls need approval: "outside" (what can't be undone), "writes", "read-only" (nothing may
      change anything), or a mapping of tools to "ask", "allow", "deny", where "*" takes one of those three modes, or
      "allow" for all tools that it does not name
    - response_format: what an answer is to be: a pydantic model, a dataclass, or the JSON schema of an object;
      `turn.structured` is the object, `turn.text` its JSON. None is text
    - max_steps: model calls of one agent in one turn; None is no limit
    - max_tokens: tokens of all model calls in one turn, counted where none are reported; None is no limit
    - max_cost: US dollars of all model calls in one turn whose price is in `prices`; None is no limit
    - prices: model name to US dollars for a million tokens of (input, cached input, output)
    - tool_text: how tools are described to the model: "full", "short" (in fewer tokens), or "lean" (seven tools, and the
      others when the model asks for one by name); None is lean under a window of 12,000 tokens and short under 32,000
    - tools_off: names of tools that are offered in no request
    - namespace: the variables that the agent may look at; in a dict its code also runs, once it is approved
    - graph: a compiled LangGraph graph of your own in the place of deepnb's agent, or the address of one on a
      LangGraph server, "http://host:port/assistant"; `session.features` lists what it has of what deepnb shows. Its
      model, tools, middleware and prompt are a matter of its own
    - messages_key: the channel of its conversation
    - clock: gives the time as an aware datetime in the user's time zone, which says when a day begins
    - persist: a file, or "postgresql://...", in which threads, turns, files, memory with its journal, calls that need
      approval and the policy outlive the kernel; it takes the place of `checkpointer`
    """

    restored: Restored | None = None
    """What was back when the session was first kept in a file or database; None while it is not."""

    def __init__(
        self,
        model: str | BaseChatModel = Options.model,
        *,
        base_url: str | None = None,
        model_settings: Mapping[str, float] | None = None,
        system_prompt: str = Options.system_prompt,
        tools: Sequence[Tool] = (),
        middleware: Sequence[AgentMiddleware[Any, Any, Any]] = (),
        subagents: Sequence[Subagent | Mapping[str, Any]] = (),
        general_purpose: bool = Options.general_purpose,
        max_subagent_depth: int = Options.max_subagent_depth,
        backend: BackendProtocol | str | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        store: BaseStore | None = None,
        assistant_id: str | None = None,
        max_input_tokens: int | None = None,
        trigger: Size | None = None,
        keep: Size | None = None,
        eviction_threshold: int | None = Options.eviction_threshold,
        memory: str | Sequence[str] = Options.memory,
        memory_refresh: Refresh = Options.memory_refresh,
        memory_budget: int | None = None,
        embeddings: Embeddings | str | None = None,
        skills: str | Sequence[str] = Options.skills,
        enable_memory: bool = True,
        enable_skills: bool = True,
        enable_filesystem: bool = True,
        enable_subagents: bool = True,
        approve: Approve = "outside",
        response_format: Any = None,
        max_steps: int | None = Options.max_steps,
        max_tokens: int | None = None,
        max_cost: float | None = None,
        prices: Mapping[str, Price] | None = None,
        tool_text: ToolText | None = None,
        tools_off: Sequence[str] = (),
        namespace: Mapping[str, Any] | None = None,
        graph: CompiledStateGraph[Any, Any, Any, Any] | str | None = None,
        messages_key: str = Options.messages_key,
        clock: Callable[[], datetime] | None = None,
        persist: str | Path | None = None,
        **unknown: Never,
    ) -> None:
        given = known_only("Session", locals(), unknown)
        if graph is None:
            options = changed(Options(), given)
        elif is_address(graph):
            options = part("Session(graph=URL)")(given)
        else:
            from deepnb.wiring.build import attached_options

            options = attached_options(given)
        self._begin(Workspace(options, clock))
        if persist is not None:
            self.persist(persist)

    def _begin(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._runner = Runner(workspace)
        self.approvals = SessionApprovals(workspace, self._runner)
        """Which calls need approval, and which run unasked."""

    def __repr__(self) -> str:
        model = self.options.model
        if self.options.graph is not None:
            model = self.options.graph.name
        elif not isinstance(model, str):
            from deepnb.models.resolve import label_of

            model = label_of(model)
        return short_repr(self, f"{model}, thread {self.thread}")

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stop a running turn, background jobs and MCP servers, and close what the session has open; no turn can start afterwards.

        What was kept on a disk or in a checkpointer stays there.
        """
        self._runner.close()
        if "jobs" in self.__dict__:
            self.jobs.stop()
        if "tools" in self.__dict__:
            self.tools.close()
        self._workspace.close()
        if (attached := self.options.graph) is not None and attached.is_served:
            attached.graph.close()

    # -- its parts

    @property
    def workspace(self) -> Workspace:
        """What the session is made of, for deepnb's own magics and widgets; it changes from version to version."""
        return self._workspace

    @property
    def options(self) -> Options:
        """The options in force."""
        return self._workspace.options

    @property
    def model(self) -> str:
        """The name of the model in use."""
        if self.options.graph is not None:
            return f"{self.options.graph.name} · {self._workspace.built.model}"
        return self.options.model if isinstance(self.options.model, str) else self._workspace.built.model

    @property
    def graph(self) -> CompiledStateGraph[Any, Any, Any, Any]:
        """The compiled LangGraph graph; importing the engine takes some seconds the first time."""
        graph: CompiledStateGraph[Any, Any, Any, Any] = self._workspace.built.graph.compiled
        return graph

    @property
    def checkpointer(self) -> BaseCheckpointSaver[Any]:
        """Where threads are checkpointed; in memory unless one was given."""
        checkpointer: BaseCheckpointSaver[Any] = self._workspace.graphs.checkpointer
        return checkpointer

    @property
    def features(self) -> Features:
        """What a graph of your own has of what deepnb shows and does; empty for deepnb's agent, which has all of it."""
        attached = self.options.graph
        return Features() if attached is None else attached.features

    @property
    def clock(self) -> Callable[[], datetime]:
        """The clock that was passed in."""
        return self._workspace.current.clock

    @property
    def config(self) -> RunnableConfig:
        """The current thread as LangGraph names it: `session.graph.get_state(session.config)`."""
        config: RunnableConfig = {"configurable": dict(self._workspace.thread.config["configurable"])}
        return config

    @property
    def backend(self) -> GuardedBackend:
        """The agent's files as a deepagents `BackendProtocol` that also works outside a run."""
        return self._workspace.backend

    @property
    def files(self) -> Files:
        """path -> text of the agent's files."""
        return Files(self.backend)

    @cached_property
    def jobs(self) -> Jobs:
        """The turns that were started in the background."""
        jobs: Jobs = part("session.jobs")(self._workspace)
        return jobs

    @cached_property
    def memory(self) -> SessionMemory:
        """Reading and writing what the agent remembers."""
        return SessionMemory(self._workspace)

    @cached_property
    def skills(self) -> SessionSkills:
        """Reading and writing the agent's skills."""
        return SessionSkills(self._workspace)

    @cached_property
    def subagents(self) -> SessionSubagents:
        """Reading and writing the agents that others hand tasks to."""
        return SessionSubagents(self._workspace)

    @cached_property
    def tools(self) -> SessionTools:
        """Giving the agent functions and MCP servers as tools, and taking them away."""
        return SessionTools(self._workspace, self.approvals)

    # -- running

    def stream(
        self,
        prompt: str,
        *,
        model: str | BaseChatModel | None = None,
        thread: str | None = None,
        max_steps: int | None = None,
        cell: str | None = None,
        rerun: Rerun = "continue",
        images: Sequence[Any] = (),
        response_format: Any = None,
        **unknown: Never,
    ) -> TurnStream:
        """Run one turn, yielding its events; the stream's `turn` is its record when it ends.

        A failing run raises one line. A KeyboardInterrupt, or closing the stream, stops it with all kept that was
        reached. Options, for this turn only:

        - model: another model
        - thread: another thread than the current one
        - max_steps: model calls of one agent
        - cell: the id of the notebook cell
        - rerun: where the cell made a turn before, "continue" goes on with the thread, "replace" first takes it
          back to before that turn
        - images: what goes with the prompt: matplotlib figures or axes, Pillow images, IPython's `Image`, bytes, or a
          `Path`. A model whose profile has no `image_inputs` gets a description in words
        - response_format: another form of the answer
        """
        given = {name: value for name, value in locals().items() if name not in ("self", "unknown")}
        known_only("Session.stream", given, unknown)
        return self._runner.stream(**given)

    @_with_options_of(stream)
    def run(self, prompt: str, **options: Any) -> Turn:
        """Run one turn to its end; the options are those of `stream`."""
        stream = self.stream(prompt, **options)
        for _ in stream:
            pass
        assert stream.turn is not None
        return stream.turn

    @_with_options_of(stream)
    async def arun(self, prompt: str, **options: Any) -> Turn:
        """Like `run`, while other tasks of the event loop continue. Cancelling it stops the run and keeps everything."""
        stream = self.astream(prompt, **options)
        async for _ in stream:
            pass
        assert stream.turn is not None
        return stream.turn

    @_with_options_of(stream)
    def astream(self, prompt: str, **options: Any) -> AsyncTurnStream:
        """Like `stream`, for `async for`: `await stream.aclose()` stops it."""
        arrivals = Arrivals()
        return AsyncTurnStream(self._runner.stream(prompt, **options, notify=arrivals.notify), arrivals)

    @_with_options_of(stream, "rerun")
    def start(self, prompt: str, **options: Any) -> Job:
        """Run one turn in the background, in a fork of the thread: `job.wait()`, `job.stop()`, `job.turn`.

        The options are those of `stream`; at most four jobs run at once. The agent's code does not run in the
        background: such a call ends the job until it is decided. What the job writes to memory is merged with the
        session's once it has ended, and `session.switch(job.thread)` continues in its thread.
        """
        return self.jobs.start(prompt, **options)

    def compare(
        self,
        prompt: str,
        *,
        thread: str | None = None,
        images: Sequence[Any] = (),
        keep_threads: bool = False,
        model: Sequence[str | Path | BaseChatModel] = UNCHANGED,
        system_prompt: Sequence[str] = UNCHANGED,
        memory_refresh: Sequence[Refresh] = UNCHANGED,
        memory_budget: Sequence[int | None] = UNCHANGED,
        memory: Sequence[str | Sequence[str]] = UNCHANGED,
        skills: Sequence[str | Sequence[str]] = UNCHANGED,
        max_input_tokens: Sequence[int | None] = UNCHANGED,
        trigger: Sequence[Size | None] = UNCHANGED,
        keep: Sequence[Size | None] = UNCHANGED,
        eviction_threshold: Sequence[int | None] = UNCHANGED,
        tool_text: Sequence[ToolText | None] = UNCHANGED,
        approve: Sequence[Approve] = UNCHANGED,
        max_steps: Sequence[int | None] = UNCHANGED,
        max_tokens: Sequence[int | None] = UNCHANGED,
        general_purpose: Sequence[bool] = UNCHANGED,
        enable_memory: Sequence[bool] = UNCHANGED,
        enable_skills: Sequence[bool] = UNCHANGED,
        enable_filesystem: Sequence[bool] = UNCHANGED,
        enable_subagents: Sequence[bool] = UNCHANGED,
        **unknown: Never,
    ) -> Comparison:
        """Run a prompt with each combination of the values of some options, at most four, one after another.

        Each runs in a fork of the thread with a copy of its memory, which is dropped; with `keep_threads` those that
        ended well become threads. A `Path` among the models is a tape. A call that needs approval or can't be undone is not
        run: it ends its column. The thread, the memory and what is kept of them stay as they are. An interrupt ends
        the comparison, with all columns that are done.
        """
        choices = known_only("Session.compare", locals(), unknown)
        if images:
            from deepnb.workshop.images import prompt_images

            images = prompt_images(images)
        comparisons = part("session.compare")
        *_, last = comparisons(self._workspace, prompt, choices, thread=thread, images=images, keep=keep_threads)
        found: Comparison = last
        return found

    def resume(
        self, decision: str | Decision | Sequence[Decision] | None = None, *, thread: str | None = None
    ) -> TurnStream:
        """Continue a turn that was interrupted, or whose calls need approval, yielding its events.

        Where a tool was cut in the middle, `decision` says whether it is run "again" or "skip"ped. Where calls
        wait (`asked`) it is the decision on some of them; the turn goes on, in its own thread, once there is one on
        each. `thread` is the current one, if not given.
        """
        return self._resumed(decision, thread)

    def aresume(
        self, decision: str | Decision | Sequence[Decision] | None = None, *, thread: str | None = None
    ) -> AsyncTurnStream:
        """Like `resume`, for `async for`."""
        arrivals = Arrivals()
        return AsyncTurnStream(self._resumed(decision, thread, arrivals.notify), arrivals)

    def _resumed(
        self,
        decision: str | Decision | Sequence[Decision] | None,
        thread: str | None,
        notify: Callable[[], None] | None = None,
    ) -> TurnStream:
        if isinstance(decision, str) or not decision:
            return self._runner.resume(decision if isinstance(decision, str) else None, thread, notify)
        decisions = (decision,) if isinstance(decision, Decision) else decision
        whole = self.approvals.decide(decisions)
        return self._runner.resume(None, decisions[0].call.thread, notify) if whole else self._runner.nothing()

    @property
    def pending(self) -> str | None:
        """What the current thread needs to continue, in one line; None if nothing is left to run."""
        return self._workspace.thread.pending

    @property
    def asked(self) -> tuple[PendingCall, ...]:
        """The calls that need approval; each has `approve()`, `reject(why)` and `edit(args)` for `resume`."""
        return PendingCalls(self._workspace.thread.asked)

    @property
    def last(self) -> Turn | None:
        """The turn that ended last, in whichever thread."""
        return self._workspace.current.last

    # -- options

    def use(
        self,
        model: str | BaseChatModel,
        *,
        base_url: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        timeout: float | None = None,
    ) -> str:
        """Use another model from the next turn on, in the same threads; returns its display name.

        The server at `base_url` is asked which window the model has. `max_tokens` is how long an answer may be,
        `timeout` how many seconds one may take.
        """
        if is_address(model):
            server_address(str(model))
            do = f"%agent use {model} makes a session on it"
            raise InvalidError("this is the address of a server, not a model", do)
        forget_windows()
        given = {"max_tokens": max_tokens, "temperature": temperature, "timeout": timeout}
        settings = {name: value for name, value in given.items() if value is not None} or None
        return self._workspace.configure({"model": model, "base_url": base_url, "model_settings": settings}).model

    def attach(
        self,
        graph: CompiledStateGraph[Any, Any, Any, Any] | str,
        *,
        name: str = "",
        messages_key: str = "messages",
        header: str | None = None,
    ) -> Session:
        """A session on a graph of yours, or on one at the address of a server, with this one's clock, limits, prices and variables.

        The value of the `header` that a server wants is that of the variable DEEPNB_HEADER_NAME of the environment, or
        asked for with a hidden prompt; it is kept in this process only.
        """
        if header is not None and is_address(graph):
            part("session.attach(header=NAME)")(server_address(str(graph)), header)
        mine = ("max_steps", "max_tokens", "max_cost", "prices", "namespace", "embeddings")
        given: dict[str, Any] = {option: getattr(self.options, option) for option in mine}
        made = Session(graph=graph, messages_key=messages_key, clock=self.clock, **given)
        if name and (attached := made.options.graph) is not None:
            current = made.workspace.current
            named = replace(attached, name=name, features=replace(attached.features, agent=name))
            current.options = replace(current.options, graph=named)
        return made

    def search(self, words: str) -> pd.DataFrame:
        """What is said in the current thread with all of these words in it: turn, what it is, text; the first 1,000.

        Words in quotes are one phrase.
        """
        import pandas as pd

        return pd.DataFrame(list(self.passages(words)), columns=["turn", "what", "text"])

    def passages(self, words: str, most: int = 1_000) -> tuple[TurnPassage, ...]:
        """The first of them as values."""
        from deepnb.values.events import passages
        from deepnb.views.search_marks import search_terms

        terms = search_terms(words)
        found = (p for turn in self.turns for p in passages(turn) if terms.all_in(p.text))
        return tuple(islice(found, most if terms else 0))

    def key(self, provider: str) -> None:
        """Ask for a provider's key with a hidden prompt, and keep it in this process only, for all sessions."""
        from deepnb.models.keys import PROVIDERS, check_takes_key, keep_key
        from deepnb.session.models import ask_hidden

        self._workspace.current.idle()
        check_takes_key(provider)
        do = f"set {PROVIDERS[provider].key} in the environment that starts Jupyter"
        keep_key(provider, ask_hidden(f"key for {provider}", "a key", do))

    def models(self, base_url: str | None = None) -> ModelInfos:
        """The models that can be used here just now, and what is missing for the others; with `base_url` those of a server."""
        from deepnb.session.models import model_infos, server_infos

        return model_infos(self.options) if base_url is None else server_infos(base_url)

    @_with_options_of(__init__, *_FIXED, kind=Parameter.KEYWORD_ONLY, default=UNCHANGED)
    def configure(self, **options: Any) -> None:
        """Change options of the session from the next turn on; a bad one changes nothing."""
        self._workspace.configure(options)

    def mount(self, path: str, spec: str, *, whole: bool = False) -> Mount:
        """Keep the files below a path on disk (`disk:DIR`), in the store (`store[:NAMESPACE]`) or in the kernel (`state`).

        A directory that does not exist is made with the first file. `disk:/` needs `whole=True`.
        """
        work = self._workspace
        work.current.idle()
        work.need("mounts")
        given = {"store": self.options.store, "assistant_id": self.options.assistant_id}
        mount = work.home.storage.mount(path, spec, base=Path.cwd(), whole=whole, **given)
        work.current.tell()
        return mount

    def persist(self, where: str | Path) -> Restored:
        """Keep this session in a file, or in a `postgresql://` database, from now on; returns what was there.

        What the session has until then goes with it. Where sessions are kept already, this one continues them, if it
        has not begun.
        """
        from deepnb.session.persistence import persist

        self.restored = persist(self._workspace, where)
        return self.restored

    # -- threads

    @property
    def thread(self) -> str:
        """The name of the current thread."""
        return self._workspace.current.thread.name

    @property
    def threads(self) -> tuple[ThreadInfo, ...]:
        """All threads, in the order they were made."""
        return self._workspace.threads.infos()

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns of the current thread."""
        return self._workspace.turns

    def turn(self, number: int) -> Turn:
        """Turn `number` of the current thread, counted from 1."""
        return self._workspace.thread.turn(number)

    @property
    def text(self) -> str:
        """The last answer in the current thread; empty before the first."""
        return self.turns[-1].text if self.turns else ""

    @property
    def snapshot(self) -> Snapshot:
        """The state of the current thread now, pending writes included."""
        return self._workspace.snapshot

    def new(self, name: str | None = None, *, empty: bool = False, shared: bool = False) -> str:
        """Start a new thread and make it current; returns its name.

        Memory, notes and skills are the session's: it has them, and the others see what it learns. An
        `empty` one has none of them, and keeps what it learns to itself and its forks. A `shared` one is
        a thread that others can read: `/MEMORY.md` is kept from its agent.
        """
        work = self._workspace
        work.current.idle()
        if empty or shared:
            work.need("empty and shared threads")
        made = work.threads.new(name, scope=Scope(empty, shared))
        work.current.tell()
        return made.name

    def switch(self, name: str) -> str:
        """Make another thread current."""
        work = self._workspace
        work.current.idle()
        work.threads.switch(name)
        work.current.tell()
        return self.thread

    def fork(self, name: str | None = None, at: int | None = None) -> str:
        """Start a new thread from the state of this one after turn `at` (by default the last)."""
        work = self._workspace
        work.current.idle()
        source = self.thread
        made = work.threads.fork(name, at)
        work.transcripts.forked(source, made.name, made.snapshot.messages, made.parent or source)
        work.current.tell()
        return made.name

    def rewind(self, number: int, *, memory: bool = False) -> None:
        """Rewind the current thread to the state after turn `number`; with `memory`, memory and skills too."""
        work = self._workspace
        work.current.idle()
        with work.current.hold():
            work.threads.rewind(work.thread, number, memory=memory)
            work.backend.restored(f"rewind to turn {number}")
        work.transcripts.moved(self.thread, self.snapshot.messages, "rewind", f"to turn {number}")
        work.current.tell()

    def undo(self) -> str:
        """Undo the last rewind, fork, new or re-run; returns which."""
        work = self._workspace
        work.current.idle()
        with work.current.hold():
            what, thread = work.threads.undo()
            with work.current.on(thread):
                work.backend.restored(f"undo of {what}")
                work.transcripts.moved(thread.name, thread.snapshot.messages, "undo", what)
        work.transcripts.gone(work.threads.names, what)
        work.current.tell()
        return what

    # -- context

    @property
    def rule(self) -> Rule:
        """The compaction rule in force."""
        return self._workspace.built.rule

    def count(self, text: str) -> int:
        """Tokens of a text, by the counter in use."""
        return self._workspace.built.meter.count(text)

    def ledger(self) -> pd.DataFrame:
        """One row per model call of the current thread. Figures are tokens."""
        from deepnb.session.tables import ledger

        return ledger(self.turns)

    def transcript(self, thread: str | None = None) -> pd.DataFrame:
        """One row per line of a thread's transcript (the current one's, if not given), oldest first."""
        from deepnb.session.tables import transcript

        one = self._workspace.transcripts.keep(self._workspace.threads[thread or self.thread].name)
        return transcript(one.read()[0], one.session)

    def record(self, path: str | Path, *, note: str = "", overwrite: bool = False) -> Recording:
        """Record every model call to a tape from the next turn on; `session.recording.stop()` ends it.

        A tape is a file of JSON lines, for this user only. It has no credentials, and neither the ids nor the times of
        requests; `note` is kept in it. A file that exists is overwritten only with `overwrite`.
        """
        from deepnb.models.tapes.recorder import Recording
        from deepnb.session.disk import TAPE, named_file

        current = self._workspace.current
        current.idle()
        self._workspace.need("tapes")
        if (running := current.recording) is not None and running.active:
            raise BusyError(f"already {running.line}", "%agent record stop ends it")
        made = Recording(named_file(path, TAPE), current.now, note, overwrite=overwrite, name=path)
        current.recording = made
        current.tell()
        return made

    @property
    def recording(self) -> Recording | None:
        """The tape that is being recorded (`active`), or was last; None before the first."""
        return self._workspace.current.recording

    def replay(self, path: str | Path) -> Tape:
        """Play a tape from the next turn on: it answers in the place of all models, until `use` names another.

        It needs no key and no provider's package. It answers the requests that were recorded, so begin as the recording
        did: with the same prompts, options, tools and memory. Any other request is an error whose `diff` is from the
        nearest one. Its tool calls need approval as those of any model.
        """
        from deepnb.session.disk import named_tape

        model = named_tape(self._workspace, path)
        window = self.options.max_input_tokens
        self._workspace.configure({"model": model, "base_url": None, "max_input_tokens": window})
        tape: Tape = model.player.tape
        return tape

    def export(self, path: str | Path, thread: str | None = None, *, overwrite: bool = False) -> Path:
        """Write a thread (the current one, if not given) to a file, without credentials; returns the file.

        The end of the name says what is written: `.ipynb` a notebook whose cells are the prompts, `.html` one page
        for a browser, `.jsonl` the transcript. A file that exists is overwritten only with `overwrite`.
        """
        from deepnb.session.disk import export

        return export(self._workspace, path, thread or self.thread, overwrite=overwrite)

    def package(self, directory: str | Path, include: str | Sequence[str] = (), *, write: bool = False) -> Package:
        """What this agent is as a LangGraph application, which `langgraph dev` serves; with `write`, it is written.

        Memory files, skills and subagents go, and the source of your tools. Long-term memory, notes, other files and
        mounts go only where `include` names them: paths, or directories. Credentials are masked; a tool or file that
        can't go is left out, with the reason. Files in the directory are replaced.
        """
        names = (include,) if isinstance(include, str) else tuple(include)
        made: Package = part("session.package")(self._workspace, directory, names, write=write)
        return made
