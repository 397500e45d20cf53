"""Which tool calls change memory files, and what they put there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deepnb.wings.open.json_values import array, mapping, text

NAMES = frozenset(("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "MEMORY.md", "SOUL.md", "USER.md", "GEMINI.md"))
"""Files that agents read as their memory, wherever they are."""

_TOOLS = frozenset(
    (
        *("edit", "write", "multiedit", "edit_file", "write_file", "str_replace", "create_file", "create"),
        *("str_replace_editor", "str_replace_based_edit_tool", "apply_patch", "append_file"),
    )
)
_SHELLS = frozenset(("shell", "exec_command", "shell_command", "local_shell_call", "local_shell", "container.exec"))
Change = tuple[str, str | None, tuple[tuple[str, str], ...]]
"""(path, the whole text after or None, what was replaced by what) of a file that a call changes."""
_PATHS = ("file_path", "filePath", "path")


def is_memory_file(path: str) -> bool:
    """Whether a path is one of memory: a file of `NAMES`, below `.claude/`, or Markdown below `memory/`."""
    *folders, name = path.replace("\\", "/").split("/")
    return name in NAMES or ".claude" in folders or ("memory" in folders and name.endswith(".md"))


def memory_files(tool: str, args: Mapping[str, Any]) -> tuple[str, ...]:
    """The memory files that a call changes."""
    found = (path for path, _, _ in changes(tool, args))
    return tuple(dict.fromkeys(path for path in found if is_memory_file(path)))


def changes(tool: str, args: Mapping[str, Any]) -> Iterator[Change]:
    """Each file that a call changes."""
    name = tool.lower()
    if name in _SHELLS:
        yield from _patched(_command(args))
        return
    if name not in _TOOLS:
        return
    if name == "apply_patch":
        yield from _patched(next((text(args[k]) for k in ("input", "patch", "patchText") if args.get(k)), ""))
        return
    path = next((text(args[key]) for key in _PATHS if args.get(key)), "")
    if not path or text(args.get("command")) == "view":
        return
    if hunks := tuple(_replacements(args)):
        yield path, None, hunks
    else:
        whole = next((args[key] for key in ("content", "file_text") if isinstance(args.get(key), str)), None)
        yield path, None if whole is None else text(whole), ()


def _replacements(args: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for edit in (args, *map(mapping, array(args.get("edits")))):
        for old, new in (("old_string", "new_string"), ("oldText", "newText"), ("old_str", "new_str")):
            if isinstance(edit.get(old), str) or isinstance(edit.get(new), str):
                yield text(edit.get(old)), text(edit.get(new))


def _command(args: Mapping[str, Any]) -> str:
    command = args.get("command") or args.get("cmd") or mapping(args.get("action")).get("command")
    return "\n".join(map(text, command)) if isinstance(command, list) else text(command)


def _patched(patch: str) -> Iterator[Change]:
    """The files of a patch in the form `*** Begin Patch`."""
    start = patch.find("*** Begin Patch")
    if start < 0:
        return
    path, kind, lines = "", "", list[str]()
    for line in [*patch[start:].split("\n")[1:], "*** End Patch"]:
        if not line.startswith("*** ") or line.startswith("*** End of File"):
            lines.append(line)
            continue
        head, _, rest = line.partition(": ")
        if head == "*** Move to":
            continue
        if path:
            yield _file(path, kind, lines)
        path, kind, lines = rest.strip(), head, []
        if line.startswith("*** End Patch"):
            return


def _file(path: str, kind: str, lines: list[str]) -> Change:
    if kind == "*** Add File":
        return path, "".join(f"{line[1:]}\n" for line in lines if line.startswith("+")), ()
    hunks: list[tuple[list[str], list[str]]] = [([], [])]
    for line in lines:
        if line.startswith("@@"):
            hunks.append(([], []))
        elif line.startswith("-"):
            hunks[-1][0].append(line[1:])
        elif line.startswith("+"):
            hunks[-1][1].append(line[1:])
        else:
            hunks[-1][0].append(line[1:])
            hunks[-1][1].append(line[1:])
    return path, None, tuple(("\n".join(a), "\n".join(b)) for a, b in hunks if a or b)
