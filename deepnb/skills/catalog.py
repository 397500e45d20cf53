"""The skills of several sources: listed, had in one batch, checked; a later one overrides an earlier one of its name.

A source whose backend says that nothing in it changed is not read at all. What is read and checked is remembered
by path and content, so that of a set that changed only what is new is parsed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

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
        sources: dict[str, str] = {}  # path of a SKILL.md -> its source
        bad: list[tuple[str, Checked]] = []
        for source in self.sources:
            bars = skipped_entries(backend, source, FILE_NAME, BYTES)  # no listing shows links
            bad += [(source, unreadable(f"{source}{name}/{FILE_NAME}", *what)) for name, what in bars.items()]
            listing = backend.ls(source)
            if (error := str(listing.error or "")) and "not_found" not in error:
                what = f"this source can't be listed ({' '.join(error.split())[:200]})"
                wrong = Finding(source, 0, what, "fix it, or remove it from skills=")
                bad.append((source, Checked(Skill("", "", source, problem=str(wrong)), (wrong,))))
            for entry in listing.entries or ():
                name = entry["path"].rstrip("/").removeprefix(source)
                if entry.get("is_dir") and name not in ("", ".", "..", *bars) and "/" not in name:
                    sources[f"{source}{name}/{FILE_NAME}"] = source
        paths = [*sources, *(source + DISABLED for source in self.sources)]
        answers = dict(zip(paths, backend.download_files(paths), strict=True))
        checked: list[tuple[str, Checked]] = []
        before, self._checked = self._checked, {}
        for path, source in sources.items():
            content, error = answers[path].content, str(answers[path].error)
            if content is not None:
                key = path, blake2b(content, digest_size=16).digest()
                self._checked[key] = before.get(key) or check(content, path)
                checked.append((source, self._checked[key]))
            elif error != "file_not_found":
                checked.append((source, unreadable(path, error)))
        missing = [path for path in sources if answers[path].error == "file_not_found"][:_LOOKED_INTO]
        odd = ((path, _strange(backend.ls(path.rpartition("/")[0]))) for path in missing)
        checked += [(sources[path], unreadable(path, kind)) for path, kind in odd if kind]
        checked += bad
        off = disabled(answers[source + DISABLED].content for source in self.sources)
        good, unusable = dict[str, Skill](), list[Skill]()
        for source, one in checked:
            skill = replace(one.skill, source=source.strip("/") or "/")
            if skill.problem is not None:
                unusable.append(skill)
                continue
            other = good.get(skill.name)
            over = (*other.overrides, other.path) if other else ()
            good[skill.name] = replace(skill, overrides=over, enabled=skill.name not in off)
        found = Found((*good.values(), *unusable), tuple(f for _, c in checked for f in c.findings))
        told = all(v is not None and None not in v.values() for v in versions)
        self._versions = (versions if told else [], found)
        return found


def disabled(contents: Iterable[bytes | None]) -> frozenset[str]:
    """Return the names in some `.disabled` files."""
    lines = (line for c in contents if c for line in c.decode("utf-8", "replace").splitlines())
    return frozenset(normal(line) for line in lines if line.strip() and not line.startswith("#"))


def _strange(listing: Any) -> str | None:
    """Return what is wrong with what is in the place of a SKILL.md; None where nothing does."""
    for entry in listing.entries or ():
        if (name := entry["path"].rstrip("/").rpartition("/")[2]) == FILE_NAME and entry.get("is_dir"):
            return "is_directory"
        if name != FILE_NAME and name.casefold() == FILE_NAME.casefold():
            return f"it is called {name}"
    return None
