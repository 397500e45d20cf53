"""Updates of files that threads have in common: path -> FileData, where None deletes."""

from collections.abc import Callable, Mapping
from typing import Any

from deepnb.core.merge import Conflict, merge


def overlay(shared: Mapping[str, Any], files: Mapping[str, Any], is_shared: Callable[[str], bool]) -> dict[str, Any]:
    """What a thread with these files must be told to have the session's shared files: None deletes."""
    update = {p: data for p, data in shared.items() if files.get(p) != data}
    update.update((p, None) for p in files if is_shared(p) and p not in shared)
    return update


def rebased(
    changed: Mapping[str, Any],
    base: Mapping[str, Any],
    now: Mapping[str, Any],
    newest: Callable[[str, str | None], str | None],
) -> tuple[dict[str, Any], dict[str, tuple[Conflict, ...]]]:
    """Changes made to `base` as changes of `now`, and the conflicts by path.

    A text that was changed there, too, is merged with it, unless one of the two was made of the other already:
    `newest` knows of the writes of this run.
    """
    out = dict(changed)
    conflicts: dict[str, tuple[Conflict, ...]] = {}
    for path, data in changed.items():
        there, before = now.get(path), base.get(path)
        if there is None or there in (before, data):
            continue
        old, ours, mine = (_text(f) for f in (before, there, data))
        if ours is None or (data is not None and mine is None):
            continue  # no texts
        if (last := newest(path, mine)) == newest(path, ours):
            out[path] = None if last is None else {**(data or there), "content": last}
            continue
        found = merge(old or "", ours, mine or "")
        if found.conflicts:
            conflicts[path] = found.conflicts
        out[path] = {**data, "content": found.text} if data else there  # removed here, changed there: that is kept
    return out, conflicts


def _text(data: Mapping[str, Any] | None) -> str | None:
    """The text of a file; None if it does not exist."""
    content = data["content"] if data and data.get("encoding", "utf-8") == "utf-8" else None
    return content if isinstance(content, str) else None


def merged(files: Mapping[str, Any], update: Mapping[str, Any]) -> dict[str, Any]:
    """Files with an update applied; None deletes."""
    if not update:
        return dict(files)
    out = {**files, **update}
    return {p: data for p, data in out.items() if data is not None}
