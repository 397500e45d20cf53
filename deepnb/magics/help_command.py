"""`%agent help WORD`: what the reference says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepnb.core.errors import NotFoundError
from deepnb.magics.spelling import is_near
from deepnb.magics.usage import subcommand, usage_text

if TYPE_CHECKING:
    from deepnb.views.view import View


_WHOLE = 3
"""Answers that are shown with their text, where the words name no subcommand."""


def show_help(magic: str, words: str | None) -> View:
    """The help of a magic, of its subcommand of that name, or the entries of the reference that answer some words."""
    asked = (words or "").strip("\"' ")
    if not asked:
        from deepnb.views.text_file import text_view

        return text_view("", usage_text(magic))
    from deepnb.magics.reference import entries
    from deepnb.reference.lookup import look_up
    from deepnb.views.help import help_view

    found = look_up(asked, entries(), magic)
    if not found:
        close = next((one.name for one in entries() if is_near(asked.casefold(), one.name)), None)
        type_ = f"type %{magic} help {close}" if close else f"%{magic} help lists the subcommands"
        raise NotFoundError(
            f"the reference has nothing on {asked!r}", f"{type_}, or %agent -- help {asked} to ask the agent"
        )
    is_sub = subcommand(magic, asked) is not None
    whole = sum(one.entry.name == asked for one in found[:2]) if is_sub else _WHOLE
    texts = [one.passage if place < whole else one.entry.text for place, one in enumerate(found)]
    answers = [(one.entry.kind, one.entry.usage, text) for one, text in zip(found, texts, strict=True)]
    return help_view("" if is_sub else asked, answers, whole)
