"""The turns of an opened session as `Turn`s, so that what shows a session's own shows these."""

from collections.abc import Mapping, Sequence
from functools import partial

from deepnb.values.lazy import LazyMapping
from deepnb.values.messages import Messages
from deepnb.values.turn import Snapshot, Turn
from deepnb.wings.open.content import seconds_between
from deepnb.wings.open.opening import SessionFile
from deepnb.wings.open.values import FileEdit


def turns_of(session: SessionFile, thread: str) -> list[Turn]:
    """Return the turns, under the name of a thread."""
    contents = [session.content(figures.number) for figures in session.index.turns]
    edits = [edit for content in contents for edit in content.edits]
    files: Mapping[str, str] = LazyMapping(partial(memory_after, edits, 0))
    made, before = list[Turn](), Snapshot(thread, files, memory=files, messages=Messages())
    for figures, content in zip(session.index.turns, contents, strict=True):
        files = LazyMapping(partial(memory_after, edits, figures.number))
        messages = before.messages.replace_from(len(before.messages), content.messages)
        offload = content.compactions[-1] if content.compactions else before.offload
        after = Snapshot(thread, files, memory=files, messages=messages, offload=offload)
        own = [call for call in figures.calls if not call.path and call.purpose == "answer"]
        made.append(
            Turn(
                figures.number, thread, content.prompt, content.text, content.events, before, after, figures.usage,
                own[-1].budget if own else None, figures.models[-1] if figures.models else "",
                seconds_between(figures.started, figures.ended), figures.started, interrupted=content.interrupted,
            )
        )  # fmt: skip
        before = after
    return made


def memory_after(edits: Sequence[FileEdit], number: int) -> Mapping[str, str]:
    """Return the memory files after so many turns, as far as the session's edits tell them.

    Of a file that is changed only later, it is what it was before that change; of one that is never told whole,
    the passages that were changed.
    """
    files: dict[str, str] = {}
    created: set[str] = set()
    for edit in edits:
        if edit.path not in files and edit.path not in created:
            if edit.before is not None or edit.hunks:
                passages = "\n".join(old for old, _ in edit.hunks if old)
                files[edit.path] = passages if edit.before is None else edit.before
            else:
                created.add(edit.path)
        if edit.turn <= number:
            text = files.get(edit.path, "") if edit.before is None else edit.before
            for old, new in edit.hunks:
                if old and old in text:
                    text = text.replace(old, new)  # there once, unless the call said that all are meant
                elif new not in text:
                    text = f"{text.rstrip()}\n{new}" if text.strip() else new
            files[edit.path] = text if edit.after is None else edit.after
    return files
