"""What the user does with the agent's subagents: list, show, add, remove, see what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from deepnb.session.part import Part, refused
from deepnb.session.tools import name_of
from deepnb.skills.catalog import Catalog
from deepnb.subagents.files import BYTES, check, check_name, scaffold
from deepnb.values.agent import FOLDER, GENERAL_PURPOSE, TASK, Finding, Listed, Skill, Spent, Subagent, normal
from deepnb.values.errors import DeepnbError, InvalidError, NotFoundError, RefusedError
from deepnb.values.files import disk_path
from deepnb.values.turn import ToolStarted

if TYPE_CHECKING:
    import pandas as pd


class SessionSubagents(Part):
    """The subagents of a session: the built-in one, those given in Python, those of `/agents/NAME.md` as they are now."""

    def list_subagents(self) -> tuple[Listed, ...]:
        """All of them; those that can't be used last, with what is wrong, and what to fix."""
        options = self._workspace.options
        given = [Listed(agent, "Python") for agent in options.subagents]
        files = self._workspace.catalogs.agents()
        named = {one.agent.name for one in (*given, *files) if one.problem is None}
        built_in = options.general_purpose and GENERAL_PURPOSE.name not in named
        all_ = [*([Listed(GENERAL_PURPOSE, "built in")] if built_in else ()), *given, *files]
        found = tuple(sorted(all_, key=lambda one: one.problem is not None))
        if not any(one.agent.skills for one in found):
            return found
        below = cache(lambda source: Catalog([source]).read(self._workspace.backend).skills)
        there, out = self._workspace.catalogs.found().skills, []
        for one in found:
            skills = [*there, *(s for name in one.agent.skills if name.startswith("/") for s in below(name))]
            out.append(replace(one, notes=(*one.notes, *_missing_skills(one, skills, below))))
        return tuple(out)

    def names(self) -> tuple[str, ...]:
        """Their names, broken ones included; nothing is checked and no file is read."""
        options, files = self._workspace.options, self._workspace.snapshot.files
        written = (
            p.removeprefix(FOLDER).removesuffix(".md") for p in files if p.startswith(FOLDER) and p.endswith(".md")
        )
        built_in = (GENERAL_PURPOSE.name,) if options.general_purpose else ()
        return tuple(dict.fromkeys((*built_in, *(agent.name for agent in options.subagents), *written)))

    @property
    def limit(self) -> int:
        """How deep they can be nested; 0 if they are disabled."""
        options = self._workspace.options
        return options.max_subagent_depth if options.enable_subagents else 0

    def list(self) -> pd.DataFrame:
        """One row per subagent: name, description, source, tools, model, skills, what it was used for in this thread.

        `problem` is why it can't be used, `notes` what to fix.
        """
        import pandas as pd

        spent = self.spent()
        rows = []
        for one in self.list_subagents():
            agent, used = one.agent, spent.get(one.agent.name, Spent())
            facts = (agent.name, agent.description, one.path or one.source, self.tools_of(agent), self.model_of(agent))
            figures = (used.runs, used.calls, used.input, used.output)
            rows.append((*facts, ", ".join(agent.skills), *figures, one.problem or "", one.notes))
        names = ["name", "description", "source", "tools", "model", "skills", "runs", "calls", "input", "output"]
        return pd.DataFrame(rows, columns=[*names, "problem", "notes"])

    def show(self, name: str) -> tuple[Listed, Spent]:
        """A subagent, one that can't be used too, and what it was used for in this thread."""
        one = self._one(name)
        return one, self.spent().get(one.agent.name, Spent())

    def text(self, one: Listed) -> str:
        """The text of a subagent's file; of any other its system prompt."""
        if not one.path:
            return one.agent.system_prompt
        return (self._workspace.backend.download_files([one.path])[0].content or b"").decode("utf-8", "replace")

    def tools_of(self, agent: Subagent) -> str:
        """Its tools, in words."""
        if agent.tools is None:
            return "all"
        names = [tool if isinstance(tool, str) else name_of(tool) for tool in agent.tools]
        return ", ".join(names if agent.named_tools else [*names, "file tools", "task"])

    def model_of(self, agent: Subagent) -> str:
        """The name of its model."""
        if "runnable" in agent.more:
            return "its own graph"
        if agent.model is None or isinstance(agent.model, str):
            given = agent.model or self._workspace.options.model
            return given if isinstance(given, str) else self._workspace.built.model
        from deepnb.models.resolve import label_of

        return label_of(agent.model)

    def spent(self) -> dict[str, Spent]:
        """Name -> what it was used for in the turns of this thread."""
        from deepnb.session.tables import spent_by

        turns = self._workspace.turns
        tasks = (e for turn in turns for e in turn.events if isinstance(e, ToolStarted) and e.name == TASK)
        runs = Counter(str(task.args.get("subagent_type")) for task in tasks)
        return spent_by((call for turn in turns for call in turn.calls if call.agent), runs)

    def new(self, name: str, description: str = "", *, replace: bool = False) -> str:
        """Create a subagent from a template, ready to use and to edit; returns the path of its file."""
        path = f"{FOLDER}{check_name(name)}.md"
        self._free(path, name, replace)
        self._files[path] = scaffold(check_name(name), description)
        return path

    def add(self, where: str | Path, *, replace: bool = False) -> tuple[str, ...]:
        """Copy `NAME.md` of the disk, or all such files of a directory, into `/agents/`; gives their names.

        All of them are good, or none is added. `replace` takes the place of those of the same name.
        """
        place, texts = disk_path(where), dict[str, str]()
        if not place.is_dir() and not place.is_file():
            do = "%agent subagents add NAME creates one, or name a .md file or a directory"
            raise NotFoundError(f"there is no {place}", do)
        if place.is_file() and place.suffix != ".md":
            raise InvalidError(f"{place.name} is not a Markdown file", "a subagent is a file NAME.md")
        files = [p for p in place.glob("*.md") if p.is_file() and not p.is_symlink()] if place.is_dir() else [place]
        if not files:
            raise NotFoundError(f"{place} has no NAME.md", "each subagent is one file")
        for file in sorted(files):
            path = f"{FOLDER}{file.name}"
            try:
                with file.open("rb") as opened:
                    data = opened.read(BYTES + 1)
            except OSError as error:
                why = f"{file} can't be read ({error.strerror})"
                raise InvalidError(why, "check its name and permissions") from None
            given = [agent.name for agent in self._workspace.options.subagents]
            if problem := check(data, str(file), self._workspace.catalogs.tools(), given).problem:
                raise InvalidError(f"not added: {problem}", "fix it, then add it again")
            self._free(path, file.stem, replace)
            texts[path] = data.decode("utf-8")
        before = {path: self._files.get(path) for path in texts}
        try:
            for path, text in texts.items():
                self._files[path] = text
        except DeepnbError:
            for path, old in before.items():
                if old is not None:
                    self._files[path] = old
                elif path in self._files:
                    del self._files[path]
            raise
        return tuple(path.removeprefix(FOLDER).removesuffix(".md") for path in texts)

    def remove(self, name: str) -> str:
        """Delete a subagent's file; gives its path. `%memory revert` restores it."""
        one = self._one(name)
        if not one.path:
            python = one.source == "Python"
            do = "remove it from subagents=[...]" if python else "Session(general_purpose=False)"
            raise RefusedError(f"{name} is {'defined in Python' if python else 'built in'}, not in a file", do)
        if error := self._workspace.backend.delete(one.path).error:
            raise refused(one.path, error)
        return one.path

    def _one(self, name: str) -> Listed:
        found = self.list_subagents()
        for one in found:
            if name in (one.agent.name, one.path, one.path.rpartition("/")[2]):
                return one
        there = ", ".join(one.agent.name for one in found) or "none"
        raise NotFoundError(f"no subagent {name!r} (subagents: {there})", f"%agent subagents add {name} creates one")

    def _free(self, path: str, name: str, replace: bool) -> None:
        if any(agent.name == name for agent in self._workspace.options.subagents):
            raise RefusedError(f"a subagent {name!r} is already defined in Python", "choose another name")
        if path in self._files and not replace:
            do = f"%agent subagents {name} shows it, %agent subagents add --yes {name} replaces it"
            raise RefusedError(f"a subagent {name!r} already exists", do)


def _missing_skills(one: Listed, skills: Sequence[Skill], below: Callable[[str], Sequence[Skill]]) -> Iterator[str]:
    """Yield a note for each skill or directory of skills that a subagent names in vain: it can be used without."""
    usable = sorted(s.name for s in skills if s.usable)
    use = f"or use one of {', '.join(usable[:5])}" if usable else "or create one: %skills new NAME"
    for name in one.agent.skills:
        if below(name) if name.startswith("/") else normal(name) in usable:
            continue
        what = f"no skill below {name[:80]!r}" if name.startswith("/") else f"no skill {name[:80]!r} that can be used"
        do = f"remove it, {use}"
        if one.source == "file":
            yield str(Finding(one.path, one.lines.get("skills", 0), what, do, broken=False))
        else:
            yield f"{what}: {do} (in subagents=[...])"
