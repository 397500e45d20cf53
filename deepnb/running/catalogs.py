"""The skills and the subagents that the files define, as they stand now."""

from collections.abc import Mapping, Sequence
from typing import Any

from deepnb.core.code import CODE_TOOLS, PROPOSAL_TOOLS
from deepnb.core.errors import DeepnbError
from deepnb.core.memo import Memo
from deepnb.core.skills import Skill
from deepnb.core.subagents import Listed, Subagent
from deepnb.running.current import Current
from deepnb.running.home import Home
from deepnb.running.thread import Thread
from deepnb.skills.catalog import Catalog, Found
from deepnb.wiring.subagent_files import Files, tool_names


class Catalogs:
    """Reads what is new of both; what has not changed costs a look at the directory."""

    def __init__(self, current: Current, home: Home) -> None:
        self._current = current
        self._home = home
        self._catalog = Memo(Catalog)
        self._agents = Files()

    # -- skills

    @property
    def sources(self) -> tuple[str, ...]:
        """The directories of skills; a later one overrides an earlier one's skill of the same name."""
        return self._catalog(self._current.options.skills).sources

    def found(self) -> Found:
        """The skills, and all there is to fix in their files."""
        return self._catalog(self._current.options.skills).read(self._home.backend)

    def texts(self, skills: Sequence[Skill]) -> dict[str, str]:
        """Path -> text of the SKILL.md of each of these that can be used or enabled, in one batch."""
        paths = [s.path for s in skills if s.problem is None]
        found = self._home.backend.download_files(paths)
        return {p: (r.content or b"").decode("utf-8", "replace") for p, r in zip(paths, found, strict=True)}

    def pinned(self, thread: Thread) -> Mapping[str, str]:
        """The skills that were pinned in a thread and are in no turn yet: name -> id of the message."""
        sent = {m.id for m in thread.snapshot.messages if m.source} if thread.pins else set()
        return {name: id_ for name, id_ in thread.pins.items() if id_ not in sent}

    def before_prompt(self, pins: Mapping[str, str]) -> Sequence[Any]:
        """The messages that hold pinned skills, as the files are now; what is gone is left out."""
        if not pins:
            return []
        from deepnb.engine.pinned_skills import pinned_message
        from deepnb.skills.frontmatter import body_of

        there = {s.name: s for s in self.found().skills if s.usable}
        texts = self.texts(list(there.values()))
        return [pinned_message(there[n], body_of(texts[there[n].path]), i) for n, i in pins.items() if n in there]

    # -- subagents

    @property
    def tools(self) -> tuple[str, ...]:
        """The names that `tools` of a subagent may hold."""
        from deepnb.workshop.namespace import namespace_tools

        options = self._current.options
        own = (*CODE_TOOLS, *PROPOSAL_TOOLS) if self._current.kernel else ()
        return (*tool_names((*namespace_tools(options.namespace), *options.tools), options.enable_filesystem), *own)

    def agents(self) -> list[Listed]:
        """The subagents of the files, broken ones included."""
        if self._current.options.graph is not None:  # its files are none of deepnb's
            return []
        given = [agent.name for agent in self._current.options.subagents]
        return self._agents.read(self._home.backend, self.tools, given, self._wrong_model)

    def usable_agents(self) -> tuple[Subagent, ...]:
        """The subagents that can be used; nothing is read where the part is off."""
        if not self._current.options.enable_subagents:
            return ()
        return tuple(one.agent for one in self.agents() if one.problem is None)

    def _wrong_model(self, model: str) -> str:
        """What is wrong with a model's name, in one line; nothing where it can be used."""
        from deepnb.models.resolve import resolve

        try:
            resolve(model, namespace=self._current.options.namespace)
        except DeepnbError as error:
            return error.typed
        return ""
