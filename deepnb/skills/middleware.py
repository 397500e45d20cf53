"""Discloses skills by name, description and path, and tells from a thread's turns which of them the agent has read.

The catalog is read again at every turn.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deepagents.middleware.skills import SkillsMiddleware as Upstream
from langchain.agents.middleware.types import AgentMiddleware, ModelRequest
from langchain_core.runnables import RunnableConfig

from deepnb.engine import keys
from deepnb.engine.coroutines import in_thread
from deepnb.engine.listen import tell_notice
from deepnb.engine.probe import PINNED, is_pinned, metadata
from deepnb.skills.catalog import Catalog, Found
from deepnb.values.agent import SkillRead, skills_listed
from deepnb.values.request import SKILLS_CLOSE, SKILLS_OPEN
from deepnb.values.turn import ToolEnded, ToolStarted, Turn

PROMPT = f"""{SKILLS_OPEN}
Skills are instructions for kinds of work. When a request is of such a kind, read the skill's file whole
with read_file before you begin, and follow it; relative paths in it start from its directory.

{{skills_list}}
{SKILLS_CLOSE}"""


CAP, SHARE = 8_000, 0.15
"""The budget of the lines of all skills in tokens: the smaller of CAP and SHARE of the window."""


def skills_budget(window: int | None) -> int:
    """Return the tokens that the lines of all skills may take in a request."""
    return CAP if window is None else min(CAP, int(window * SHARE))


class SkillsMiddleware(Upstream):
    """Upstream's middleware with our catalog, read at each turn, a short prompt, and no words where there are no skills.

    Of a skill that can't be used, or is disabled, the model sees nothing. Skills are pinned by the session,
    before the prompt, so that upstream's hook before each model call, a checkpoint each, is not needed.
    """

    before_model = AgentMiddleware.before_model  # type: ignore[assignment]
    abefore_model = AgentMiddleware.abefore_model  # type: ignore[assignment]

    def __init__(
        self, backend: Any, sources: tuple[str, ...], budget: int | None = None, count: Callable[[str], int] = len
    ) -> None:
        """`budget` is that of the lines of all skills together, in tokens as `count` has them."""
        self._fitted = lambda skills: skills_listed(
            [(s["name"], s["description"], s["path"]) for s in skills], budget, count
        )
        slots = "{skills_locations}{skills_load_warnings}"
        super().__init__(backend=backend, sources=list(sources), system_prompt=PROMPT + slots)
        self._catalog = Catalog(sources)
        self._listed: tuple[list[Any], str] = ([], "")

    name = "SkillsMiddleware"  # type: ignore[assignment]

    def _format_skills_locations(self, *_: Any) -> str:
        return ""

    _format_skills_load_warnings = _format_skills_locations  # type: ignore[assignment]

    def _format_skills_list(self, skills: list[Any]) -> str:
        known, text = self._listed
        if skills != known:
            lines = self._fitted(skills)
            if len(lines) < len(skills) and not lines[-1].startswith("- "):
                shown = f"{len(lines) - 1:,} of {len(skills):,} skills are listed in requests"
                tell_notice(f"{shown}, the others have to be searched for: %skills disable NAME makes room")
            text = "\n".join(lines)
            self._listed = (skills, text)
        return text

    def block(self) -> str:
        """Return what is told of the skills as their files are now; empty where there are none."""
        usable = [metadata(s) for s in self._catalog.read(self._backend).skills if s.usable]
        return PROMPT.format(skills_list="\n".join(self._fitted(usable))) if usable else ""

    def modify_request(self, request: ModelRequest) -> ModelRequest:
        return super().modify_request(request) if request.state.get(keys.SKILLS) else request

    def before_agent(self, state: Any, runtime: Any, config: RunnableConfig) -> Any:  # type: ignore[override]
        return self._changed(state, self._catalog.read(self._backend))

    async def abefore_agent(self, state: Any, runtime: Any, config: RunnableConfig) -> Any:  # type: ignore[override]
        return await in_thread(self.before_agent, state, runtime, config)

    def _changed(self, state: Any, found: Found) -> dict[str, Any] | None:
        update: dict[str, Any] = {
            keys.SKILLS: [metadata(s) for s in found.skills if s.usable],
            keys.SKILL_ERRORS: [s.problem for s in found.skills if s.problem],
        }
        return None if all(state.get(k) == v for k, v in update.items()) else update


# -- What of the skills the agent was shown in a thread, out of the turns' records

_SHOWN = re.compile(r"@@ lines (\d+)-(\d+) of (\d+)")  # the first line of what `read_file` gives


@dataclass
class _Seen:
    then: str  # the file as it was when it was last shown
    turns: dict[int, None] = field(default_factory=dict)
    lines: set[int] = field(default_factory=set)
    total: int = 0
    pinned: bool = False


def reads(turns: Sequence[Turn], now: Mapping[str, str]) -> dict[str, SkillRead]:
    """Return path -> how the main agent came to know it, of the files in `now` (path -> text) that it was shown.

    By read_file, or because a skill was pinned; what it saw in another way (grep, a subagent) is not counted.
    """
    pinned: dict[int, list[str]] = {}  # turn -> paths of the skills that were put before its prompt
    for i, message in enumerate(turns[-1].after.messages if turns else ()):
        if message.source == PINNED:
            number = next((t.number for t in turns if i < len(t.after.messages)), turns[-1].number)
            pinned.setdefault(number, []).extend(p for p in now if is_pinned(PINNED, message.text, p))
    seen: dict[str, _Seen] = {}
    for turn in turns:
        shown: list[tuple[str, str | None]] = [(path, None) for path in pinned.get(turn.number, ())]
        asked: dict[str, str] = {}
        for event in turn.events:
            if isinstance(event, ToolStarted) and event.name == "read_file" and not event.path:
                asked[event.id] = str(event.args.get("file_path"))
            elif isinstance(event, ToolEnded) and event.status == "ok" and asked.get(event.id) in now:
                shown.append((asked[event.id], event.result))
        for path, result in shown:
            was = turn.after.files.get(path, now[path])
            one = seen.setdefault(path, _Seen(was))
            if was != one.then:
                one.then, one.lines, one.total, one.pinned = was, set(), 0, False
            one.turns[turn.number] = None
            one.pinned |= result is None
            if header := _SHOWN.match(result or ""):
                first, last, one.total = map(int, header.groups())
                one.lines |= set(range(first, last + 1))
    sizes = {path: (len(one.lines), one.total or len(one.then.splitlines())) for path, one in seen.items()}
    return {p: SkillRead(tuple(one.turns), *sizes[p], one.then != now[p], one.pinned) for p, one in seen.items()}
