"""Values of foreign JSON, whatever they turn out to be: text, numbers, moments, the text of content blocks.

And of the arguments of a tool call: which memory files it changes, and what it puts there.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from deepnb.values.text import whole

_MOST = 10**12
"""A larger number is not taken for a count of tokens."""
_MEDIA = ("image", "document", "input_image", "image_url", "file", "audio", "input_audio", "input_file")


def text(value: object) -> str:
    """Return the value if it is a text, without halves of surrogate pairs, which no page can show."""
    return whole(value) if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def array(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def count(value: object) -> int:
    if type(value) is int:
        return value if 0 <= value < _MOST else 0
    return int(dollars(value) or 0)


def dollars(value: object) -> float | None:
    """Return the value if it is a price, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        return None
    return float(value)


def size(value: object) -> int:
    """Return about how many characters a value has as JSON."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, dict):
        return sum([size(key) + size(one) + 3 for key, one in value.items()])
    return sum(map(size, value)) + 2 if isinstance(value, list) else 4


def iso(value: object) -> str:
    """Return a moment as an ISO timestamp: given as one, or in milliseconds since 1970; or "" if it is neither."""
    if isinstance(value, str):
        return value if len(value) <= 40 and value[:4].isdigit() else ""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10**14:
        return ""
    seconds = value / 1000 if value > 10**11 else value
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def blocks(content: object) -> Iterator[Mapping[str, Any]]:
    """Yield the blocks of a message's content; a plain text is one block."""
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    for block in array(content):
        if isinstance(block, dict):
            yield block
        elif isinstance(block, str):
            yield {"type": "text", "text": block}


def content_text(content: object) -> str:
    """Return the text of a message's content, its media named in brackets: `[image: image/png]`."""
    said = []
    for block in blocks(content):
        kind, source = text(block.get("type")), mapping(block.get("source")) or block
        if isinstance(block.get("text"), str):
            said.append(text(block["text"]))
        elif kind in _MEDIA:
            named = text(source.get("media_type") or source.get("mimeType") or source.get("mime_type"))[:100]
            said.append(f"[{kind.removeprefix('input_').removesuffix('_url')}{': ' * bool(named)}{named}]")
        elif kind == "tool_reference":
            said.append(text(block.get("tool_name")))
    return "\n\n".join(filter(None, said))


NAMES = frozenset(("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "MEMORY.md", "SOUL.md", "USER.md", "GEMINI.md"))
"""Files that agents read as their memory, wherever they are."""

_TOOLS = frozenset(("edit", "write", "multiedit", "edit_file", "write_file", "append_file", "create_file", "create"))
_TOOLS |= {"str_replace", "str_replace_editor", "str_replace_based_edit_tool", "apply_patch"}
_SHELLS = frozenset(("shell", "exec_command", "shell_command", "local_shell_call", "local_shell", "container.exec"))
Change = tuple[str, str | None, tuple[tuple[str, str], ...]]
"""(path, the whole text after or None, what was replaced by what) of a file that a call changes."""


def is_memory_file(path: str) -> bool:
    """Return whether a path is one of memory: a file of `NAMES`, Markdown below `memory/`, or a rule of Claude Code.

    Plans, agents, commands, scripts and settings below `.claude/` are none.
    """
    *folders, name = path.replace("\\", "/").split("/")
    rule = ".claude" in folders and (name == "rules.md" or folders[folders.index(".claude") + 1 :][:1] == ["rules"])
    return name in NAMES or (name.endswith(".md") and (rule or "memory" in folders))


def memory_changes(tool: str, args: Mapping[str, Any]) -> Iterator[Change]:
    """Yield what a call changes of files of memory."""
    if (name := tool.lower()) in _SHELLS:
        command = args.get("command") or args.get("cmd") or mapping(args.get("action")).get("command")
        yield from _patched("\n".join(map(text, command)) if isinstance(command, list) else text(command))
        return
    if name not in _TOOLS:
        return
    if name == "apply_patch":
        yield from _patched(next((text(args[k]) for k in ("input", "patch", "patchText") if args.get(k)), ""))
        return
    path = next((text(args[key]) for key in ("file_path", "filePath", "path") if args.get(key)), "")
    if not is_memory_file(path) or text(args.get("command")) == "view":
        return
    edits = [args, *map(mapping, array(args.get("edits")))]
    sides = (("old_string", "new_string"), ("oldString", "newString"), ("oldText", "newText"), ("old_str", "new_str"))
    hunks = [(edit.get(old), edit.get(new)) for edit in edits for old, new in sides]
    if hunks := [(text(old), text(new)) for old, new in hunks if isinstance(old, str) or isinstance(new, str)]:
        yield path, None, tuple(hunks)
    else:
        whole = next((args[key] for key in ("content", "file_text") if isinstance(args.get(key), str)), None)
        yield path, None if whole is None else text(whole), ()


def _patched(patch: str) -> Iterator[Change]:
    """Yield the files of a patch in the form `*** Begin Patch`."""
    if (start := patch.find("*** Begin Patch")) < 0:
        return
    path, kind, lines = "", "", list[str]()
    for line in [*patch[start:].split("\n")[1:], "*** End Patch"]:
        if not line.startswith("*** ") or line.startswith("*** End of File"):
            lines.append(line)
            continue
        head, _, rest = line.partition(": ")
        if head == "*** Move to":
            continue
        if is_memory_file(path):
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
