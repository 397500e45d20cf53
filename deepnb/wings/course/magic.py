"""All entries of the reference, and `%agent help WORD`: what they say of a word."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from deepnb.magics.config import DeepNB
from deepnb.magics.slips import is_near
from deepnb.magics.usage import ABOUT, MAGICS, OPTIONS, subcommand, subcommands, usage_text
from deepnb.values.errors import NotFoundError
from deepnb.wings.course.entry import Entry

if TYPE_CHECKING:
    from deepnb.views.view import View


@cache
def entries() -> tuple[Entry, ...]:
    """Return every entry, in the order of the reference."""
    from deepnb.wings.course.files import file_entries
    from deepnb.wings.course.python import MODULES, error_entries, module_entries, option_entries, part_entries
    from deepnb.wings.course.topic import topic_entries

    modules = (one for module in MODULES for one in module_entries(module))
    magics = (one for magic in MAGICS for one in magic_entries(magic))
    return (
        *topic_entries(),
        *magics,
        *setting_entries(),
        *option_entries(),
        *modules,
        *part_entries(),
        *file_entries(),
        *error_entries(),
    )


def magic_entries(magic: str) -> list[Entry]:
    """Return the forms of a magic, the options of a prompt, and its subcommands."""
    kind = f"%{magic}"
    _, forms, _ = ABOUT[magic]
    options = OPTIONS if magic == "agent" else ()
    return [
        *(Entry(form.split()[0], form, text, kind) for form, text in forms),
        *(Entry(one.name, f"%agent [{one}] PROMPT", one.help, kind) for one in options),
        *(Entry(sub.name, f"%{magic} {sub.usage}", sub.help, kind) for sub in subcommands(magic)),
    ]


def setting_entries() -> list[Entry]:
    """Return the settings of `%config DeepNB`, with their defaults."""
    traits = DeepNB.class_traits(config=True)
    own = list(DeepNB.class_own_traits(config=True))
    return [
        Entry(name, f"%config DeepNB.{name} = {traits[name].default()!r}", traits[name].help, "setting") for name in own
    ]


_WHOLE = 3
"""Answers that are shown with their text, where the words name no subcommand."""


def show_help(magic: str, words: str | None) -> View:
    """Return the help of a magic, or of its subcommand of that name, or what the reference says of some words."""
    asked = (words or "").strip("\"' ")
    if not asked:
        from deepnb.views.view import text_view

        return text_view("", usage_text(magic))
    from deepnb.wings.course.help import help_view
    from deepnb.wings.course.lookup import look_up

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
