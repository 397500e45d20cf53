"""The skills of a backend's sources, parsed as the engine parses them."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Sequence
from typing import Any

from deepagents.middleware.skills import _list_skills_with_errors

from deepnb.core.values import Skill

_PATH = re.compile(r"/\S*/SKILL\.md")


def catalog(backend: Any, sources: Sequence[str]) -> tuple[Skill, ...]:
    """One Skill for each SKILL.md; a later source overrides an earlier one's skill of the same name."""
    good: dict[str, Skill] = {}
    bad: list[Skill] = []
    with _warnings() as told:
        for source in sources:
            found, error = _list_skills_with_errors(backend, source)
            good.update((s["name"], Skill(s["name"], s["description"], s["path"])) for s in found)
            if error is not None and "not_found" not in error:
                bad.append(Skill("", "", source, problem=error))
    return (*good.values(), *bad, *(Skill("", "", path, problem=line) for path, line in _first(told).items()))


def _first(lines: Sequence[str]) -> dict[str, str]:
    """path -> what was said of it first: upstream says why, and then again that it skips the file."""
    first: dict[str, str] = {}
    for line in lines:
        found = _PATH.search(line)
        first.setdefault(found[0] if found else line, line)
    return first


@contextlib.contextmanager
def _warnings() -> Any:
    """The lines that upstream only logs about broken skills."""
    lines: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: lines.append(" ".join(record.getMessage().split()))  # type: ignore[method-assign]
    log = logging.getLogger("deepagents.middleware.skills")
    propagate, log.propagate = log.propagate, False
    log.addHandler(handler)
    try:
        yield lines
    finally:
        log.removeHandler(handler)
        log.propagate = propagate
