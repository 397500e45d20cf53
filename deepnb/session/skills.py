"""What the user does with the agent's skills: list, show, make, add, check, switch off, remove, pin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from deepnb.session.part import Part, refused
from deepnb.skills.catalog import DISABLED, disabled
from deepnb.skills.frontmatter import body_of
from deepnb.skills.packages import bundled, check_name, packages, scaffold
from deepnb.skills.rules import FILE_NAME, check, preapproved
from deepnb.values.agent import Finding, Skill, SkillRead, skill_line, skills_listed
from deepnb.values.errors import DeepnbError, InvalidError, NotFoundError, RefusedError
from deepnb.values.files import ALL_FILES, disk_path, utf8
from deepnb.values.text import as_word

if TYPE_CHECKING:
    import pandas as pd


class AddedSkills(tuple[str, ...]):
    """The names of skills that were added."""

    left_out: tuple[str, ...]
    """Why others were not, a line each."""

    def __new__(cls, names: Iterable[str], left_out: Iterable[str] = ()) -> Self:
        made = super().__new__(cls, names)
        made.left_out = tuple(left_out)
        return made


class SessionSkills(Part):
    """The skills of a session's sources, as the files have them now."""

    def list_skills(self) -> tuple[Skill, ...]:
        """The skills as values; those that can't be used last, with what is wrong."""
        return self._workspace.catalogs.found().skills

    def list(self) -> pd.DataFrame:
        """One row per skill: name, state (on, off, broken), costs, what it is for, where it is, what was read of it.

        `tokens` are those of its line in every request, `body` those that reading its file adds. `read_in`
        are the turns of this thread in which the agent was shown its file, `read_whole` whether it saw all
        of it as it is now.
        """
        import pandas as pd

        skills, texts = self.list_skills(), self.texts()
        reads, count = self.reads(), self._workspace.built.meter.count
        rows, listed = [], self.listed()
        for s in skills:
            read, state = reads.get(s.path), "broken" if s.problem else "on" if s.enabled else "off"
            tokens = count(skill_line(s.name, s.description, s.path)) if s.path in listed else 0
            body = count(texts[s.path]) if s.path in texts else None
            facts = (s.name or s.directory, state, tokens, body, s.description, s.path, s.problem or "", s.source)
            seen = (read.turns if read else (), bool(read and read.whole and not read.changed))
            rows.append((*facts, ", ".join(s.overrides), *seen))
        # the long ones in the middle, where pandas leaves out what a terminal has no room for
        names = ["name", "state", "tokens", "body", "description", "path", "problem", "source", "overrides"]
        return pd.DataFrame(rows, columns=[*names, "read_in", "read_whole"]).astype({"body": "Int64"})

    def listed(self) -> frozenset[str]:
        """Paths of the skills that each request has a line of: those that the budget has room for."""
        from deepnb.skills.middleware import skills_budget  # which loads the engine

        built, usable = self._workspace.built, [s for s in self.list_skills() if s.usable]
        facts = [(s.name, s.description, s.path) for s in usable]
        lines = skills_listed(facts, skills_budget(built.rule.window), built.meter.count)
        return frozenset(s.path for s, line in zip(usable, lines, strict=False) if line.startswith("- "))

    def show(self, name: str) -> tuple[Skill, str]:
        """A skill, one that can't be used too, and the text of its SKILL.md."""
        skill = self._one(name)
        content = self._workspace.backend.download_files([skill.path])[0].content
        return skill, (content or b"").decode("utf-8", "replace")

    def reads(self) -> dict[str, SkillRead]:
        """Path -> which turns of this thread read a skill's file, and whether all of it."""
        from deepnb.skills.middleware import reads

        return reads(self._workspace.turns, self.texts())

    def preapproved(self) -> dict[str, tuple[str, ...]]:
        """Tool -> the skills in use in this thread that ask to have it approved; of the tools there are.

        In use is a skill that was read or pinned here and is the same file still. One that the agent wrote last
        asks for nothing: it could write itself the leave. Nothing is granted by this.
        """
        wrote = {e.path: e.origin for e in self._workspace.backend.journal()}
        ours = {path for path, read in self.reads().items() if not read.changed}
        users = {path for path in ours if wrote.get(path, "user") in ("user", "external")}
        used = [s for s in self.list_skills() if s.usable and s.path in users]
        there = {name for name, _ in self._workspace.built.tools}
        return {tool: names for tool, names in preapproved(used).items() if tool in there}

    def texts(self) -> dict[str, str]:
        """Path -> text of the SKILL.md of each skill that can be used or enabled, in one batch."""
        return self._workspace.catalogs.texts(self.list_skills())

    def new(self, name: str, description: str = "") -> str:
        """Create a skill from a template, ready to use and to edit; returns the path of its SKILL.md."""
        if (path := self.path(name)) in self._files:
            do = f"%skills show {name}, or %%skills {name} to rewrite it"
            raise RefusedError(f"a skill {name!r} already exists", do)
        self._files[path] = scaffold(check_name(name), description)
        return path

    def write(self, name: str, text: str) -> str:
        """Write a skill's SKILL.md whole, also one that can't be used; gives its path."""
        path = self.path(name)
        self._files[path] = text
        return path

    def path(self, name: str) -> str:
        """Where a skill of this name is written: in the last source."""
        return f"{self._source}{check_name(name)}/{FILE_NAME}"

    def bundled(self) -> tuple[Skill, ...]:
        """The skills that come with deepnb; they cost no tokens until you `add` them."""
        return tuple(package.checked.skill for package in bundled().values())

    def add(self, what: str | Path, *, replace: bool = False) -> AddedSkills:
        """Copy skills with all their files into the last source; gives their names.

        `what` is the name of a bundled one, a SKILL.md, a directory of one skill or of several, or a zip of
        those. Those that can't be used are left out, and named in `left_out` of what is returned; where none is left,
        that is an error. `replace` takes the place of skills of the same name.
        """
        own, left_out = bundled(), list[str]()
        found = [own[what]] if isinstance(what, str) and what in own else packages(disk_path(what), left_out)
        names = list[str]()
        taken: DeepnbError | None = None
        for package in found:
            skill = package.checked.skill
            there = skill.name in names or self._below(f"{self._source}{skill.name}/")
            if skill.problem is not None:
                left_out.append(skill.problem)
            elif there and not (replace and skill.name not in names):
                do = f"%skills add --yes {as_word(str(what))} replaces it"
                taken = RefusedError(f"a skill {skill.name!r} already exists", do)
                left_out.append(f"{package.where}: {taken.what}")
            else:
                written: dict[str, bytes | None] = {}
                try:
                    base = f"{self._source}{skill.name}/"
                    gone = set(self._below(base)) - {base + inside for inside in package.files}
                    for path in [*(base + inside for inside in package.files), *gone]:
                        written[path] = self._content(path)
                    for inside, data in package.files.items():
                        self._write(base + inside, data)
                    for path in gone:
                        self._workspace.backend.delete(path)
                    names.append(skill.name)
                except BaseException as error:
                    for path, before in written.items():
                        if before is not None:
                            self._write(path, before)
                        elif self._content(path) is not None:
                            self._workspace.backend.delete(path)
                    if not isinstance(error, DeepnbError) or len(found) == 1:
                        raise
                    left_out.append(f"{package.where}: {error.typed}")
        if not names and taken is not None and len(left_out) == 1:
            raise taken
        if not names:
            more = f" (and {len(left_out) - 1} more)" if len(left_out) > 1 else ""
            raise InvalidError(f"not added: {left_out[0]}{more}", "fix it, then add it again")
        return AddedSkills(names, left_out)

    def enable(self, name: str) -> None:
        """Let the agent see a skill again, from its next turn on."""
        skill = self._one(name)
        for source in self._workspace.catalogs.sources:
            path = source + DISABLED
            if (content := self._content(path)) is None:
                continue
            lines = content.decode().splitlines()
            kept = [line for line in lines if skill.name not in disabled([line.encode()])]
            if len(kept) != len(lines):
                if kept:
                    self._files[path] = "".join(f"{line}\n" for line in kept)
                else:
                    del self._files[path]

    def disable(self, name: str) -> None:
        """Keep a skill but hide it from the agent from its next turn on: then it costs no tokens.

        The name is put in the file `.disabled` of the last source, so it holds for all threads, and on a disk.
        """
        skill = self._one(name)
        if skill.problem is not None:
            raise InvalidError(f"{skill.directory} can't be used: {skill.problem}", "%skills validate says what to fix")
        if skill.enabled:
            path = self._source + DISABLED
            before = (self._content(path) or b"").decode()
            self._files[path] = f"{before}{skill.name}\n"

    def remove(self, name: str) -> Skill:
        """Delete a skill's directory, in the source that is used; returns the removed skill.

        `%memory revert` brings single files back.
        """
        skill = self._one(name)
        for path in self._below(skill.path.removesuffix(FILE_NAME)):
            if error := self._workspace.backend.delete(path).error:
                raise refused(path, error)
        return skill

    def validate_findings(self, path: str | Path | None = None) -> tuple[Finding, ...]:
        """What to fix: in all skills; in one, by its name; or in a file, a directory or a zip of the disk."""
        found = self._workspace.catalogs.found().findings
        if path is None:
            return found
        named = [s for s in self.list_skills() if str(path) in (s.name, s.directory, s.path)]
        if named:
            return tuple(f for f in found if f.path in {s.path for s in named})
        if str(path).startswith("/") and (content := self._content(str(path))) is not None:
            return check(content, str(path)).findings
        return tuple(f for package in packages(disk_path(path)) for f in package.checked.findings)

    def validate(self, path: str | Path | None = None) -> pd.DataFrame:
        """What to fix, one row each: file, line (0: the whole file), broken or note, what, do."""
        import pandas as pd

        rows = [(f.path, f.line, "broken" if f.broken else "note", f.what, f.do) for f in self.validate_findings(path)]
        return pd.DataFrame(rows, columns=["file", "line", "grade", "what", "do"])

    @property
    def pinned(self) -> tuple[str, ...]:
        """The skills whose bodies are added to the next prompt of this thread."""
        return tuple(self._pins())

    def pin(self, name: str) -> int:
        """Add a skill's body to the next prompt of this thread, once; returns its tokens."""
        skill, text = self.show(name)
        if not skill.usable:
            why = skill.problem or "it is disabled"
            do = f"%skills enable {name}" if skill.enabled is False else "fix it"
            raise RefusedError(f"{name} can't be pinned: {why}", do)
        work = self._workspace
        work.thread.pins = {skill.name: str(uuid4()), **self._pins()}
        work.current.tell()
        return work.built.meter.count(body_of(text))

    def unpin(self, name: str) -> None:
        """Unpin a skill that was not sent yet."""
        pins = dict(self._pins())
        if pins.pop(name, None) is None:
            raise NotFoundError(f"{name} is not pinned", "%skills pin lists the pinned ones")
        self._workspace.thread.pins = pins
        self._workspace.current.tell()

    def _pins(self) -> Mapping[str, str]:
        return self._workspace.catalogs.pinned(self._workspace.thread)

    @property
    def _source(self) -> str:
        return self._workspace.catalogs.sources[-1]

    def _one(self, name: str) -> Skill:
        skills = self.list_skills()
        named = [s for s in skills if s.name == name] or [s for s in skills if s.directory == name]
        if not named:
            there = ", ".join(s.name or s.directory for s in skills) or "none yet"
            raise NotFoundError(f"no skill {name!r} (skills: {there})", f"%skills new {name} creates it")
        return named[-1]

    def _write(self, path: str, data: bytes) -> None:
        if (text := utf8(data)) is not None:
            self._files[path] = text
        elif error := self._workspace.backend.upload_files([(path, data)])[0].error:
            raise refused(path, error)

    def _below(self, directory: str) -> tuple[str, ...]:
        found = self._workspace.backend.glob(ALL_FILES, directory).matches or ()
        paths = {f["path"] for f in found if not f.get("is_dir")}
        return tuple(sorted(p for p in paths if p.startswith(directory)))

    def _content(self, path: str) -> bytes | None:
        content: bytes | None = self._workspace.backend.download_files([path])[0].content
        return content
