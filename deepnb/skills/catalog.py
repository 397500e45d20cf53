"""The skills of several sources: listed, had in one batch, checked; a later one overrides an earlier one of its name.

A source whose backend says that nothing in it changed is not read at all. What is read and checked is remembered
by path and content, so that of a set that changed only what is new is parsed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from deepnb.engine.coroutines import in_thread
from deepnb.engine.file_extras import file_versions, skipped_entries
from deepnb.skills.rules import BYTES, FILE_NAME, Checked, check, unreadable
from deepnb.values.agent import Finding, Skill, normal

DISABLED = ".disabled"  # the file of a source that names, a line each, the skills that are switched off
_LOOKED_INTO = 20  # directories without a SKILL.md in which one of a strange kind is looked for


@dataclass(frozen=True)
class Found:
    """What the sources hold."""

    skills: tuple[Skill, ...] = ()  # good ones in the order of their sources, then those that can't be used
    findings: tuple[Finding, ...] = ()  # all there is to fix, in files that are overridden, too


@dataclass(frozen=True, slots=True)
class _Place:
    source: str
    path: str  # of its SKILL.md


class Catalog:
    """The skills below some directories of a backend."""

    def __init__(self, sources: Sequence[str]) -> None:
        self.sources = tuple(f"{s.rstrip('/')}/" for s in sources)
        self._checked: dict[tuple[str, bytes], Checked] = {}
        self._versions: tuple[list[Any], Found] = ([], Found())
        """Of the sources when they were read last, and what was found; empty where one could not be told."""

    def read(self, backend: Any) -> Found:
        """Return the skills as they are in the files of a backend now."""
        versions = [file_versions(backend, source) for source in self.sources]
        known, last = self._versions
        if versions and versions == known:
            return last
        bars = {  # links, which no listing shows, and files that are too large
            _Place(source, f"{source}{name}/{FILE_NAME}"): what
            for source in self.sources
            for name, what in skipped_entries(backend, source, FILE_NAME, BYTES).items()
        }
        listings = [backend.ls(source) for source in self.sources]
        places = [p for p in _places(self.sources, listings) if p not in bars]
        paths = [*(p.path for p in places), *(source + DISABLED for source in self.sources)]
        answers = dict(zip(paths, backend.download_files(paths), strict=True))
        checked: list[tuple[_Place, Checked]] = []
        before, self._checked = self._checked, {}
        for place in places:
            content, error = answers[place.path].content, str(answers[place.path].error)
            if content is not None:
                key = place.path, blake2b(content, digest_size=16).digest()
                self._checked[key] = before.get(key) or check(content, place.path)
                checked.append((place, self._checked[key]))
            elif error != "file_not_found":
                checked.append((place, unreadable(place.path, error)))
        missing = [p for p in places if answers[p.path].error == "file_not_found"][:_LOOKED_INTO]
        odd = ((p, _strange(backend.ls(p.path.rpartition("/")[0]))) for p in missing)
        checked += [(p, unreadable(p.path, kind)) for p, kind in odd if kind]
        checked += [(p, unreadable(p.path, *what)) for p, what in bars.items()]
        for source, listing in zip(self.sources, listings, strict=True):
            if (error := str(listing.error or "")) and "not_found" not in error:
                what = f"this source can't be listed ({' '.join(error.split())[:200]})"
                wrong = Finding(source, 0, what, "fix it, or remove it from skills=")
                checked.append((_Place(source, source), Checked(Skill("", "", source, problem=str(wrong)), (wrong,))))
        off = disabled(answers[source + DISABLED].content for source in self.sources)
        found = Found(self._ruled(checked, off), tuple(f for _, c in checked for f in c.findings))
        told = all(v is not None and None not in v.values() for v in versions)
        self._versions = (versions if told else [], found)
        return found

    async def aread(self, backend: Any) -> Found:
        """Do what `read` does for a graph that is awaited."""
        return await in_thread(self.read, backend)

    def _ruled(self, checked: Iterable[tuple[_Place, Checked]], off: frozenset[str]) -> tuple[Skill, ...]:
        good: dict[str, Skill] = {}
        bad: list[Skill] = []
        for place, one in checked:
            skill = replace(one.skill, source=place.source.strip("/") or "/")
            if skill.problem is not None:
                bad.append(skill)
                continue
            before = good.get(skill.name)
            over = (*before.overrides, before.path) if before else ()
            good[skill.name] = replace(skill, overrides=over, enabled=skill.name not in off)
        return (*good.values(), *bad)


def disabled(contents: Iterable[bytes | None]) -> frozenset[str]:
    """Return the names in some `.disabled` files."""
    lines = (line for c in contents if c for line in c.decode("utf-8", "replace").splitlines())
    return frozenset(normal(line) for line in lines if line.strip() and not line.startswith("#"))


def _places(sources: Sequence[str], listings: Sequence[Any]) -> list[_Place]:
    found = []
    for source, listing in zip(sources, listings, strict=True):
        for entry in listing.entries or ():
            name = entry["path"].rstrip("/").removeprefix(source)
            if entry.get("is_dir") and name not in ("", ".", "..") and "/" not in name:
                found.append(_Place(source, f"{source}{name}/{FILE_NAME}"))
    return found


def _strange(listing: Any) -> str | None:
    """Return what is wrong with what is in the place of a SKILL.md; None where nothing does."""
    for entry in listing.entries or ():
        name = entry["path"].rstrip("/").rpartition("/")[2]
        if name == FILE_NAME and entry.get("is_dir"):
            return "is_directory"
        if name != FILE_NAME and name.casefold() == FILE_NAME.casefold():
            return f"it is called {name}"
    return None
