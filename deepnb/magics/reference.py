"""All entries of the reference: those of the magics and the settings, then those that are read from source."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from deepnb.magics.config import DeepNB
from deepnb.magics.usage import ABOUT, MAGICS, OPTIONS, subcommands
from deepnb.reference.entry import Entry

if TYPE_CHECKING:
    from traitlets import TraitType


@cache
def entries() -> tuple[Entry, ...]:
    """Every entry, in the order of the reference."""
    from deepnb.reference.files import file_entries
    from deepnb.reference.python import MODULES, error_entries, module_entries, option_entries, part_entries
    from deepnb.reference.topic import topic_entries

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
    """The forms of a magic, the options of a prompt, and its subcommands."""
    kind = f"%{magic}"
    _, forms, _ = ABOUT[magic]
    options = OPTIONS if magic == "agent" else ()
    return [
        *(Entry(form.split()[0], form, text, kind) for form, text in forms),
        *(Entry(one.name, f"%agent [{one}] PROMPT", one.help, kind) for one in options),
        *(Entry(sub.name, f"%{magic} {sub.usage}", sub.help, kind) for sub in subcommands(magic)),
    ]


def setting_entries() -> list[Entry]:
    """The settings of `%config DeepNB`, with their defaults."""
    traits = DeepNB.class_traits(config=True)
    own = list(DeepNB.class_own_traits(config=True))
    return [
        Entry(name, f"%config DeepNB.{name} = {_default(traits[name])!r}", traits[name].help, "setting") for name in own
    ]


def _default(trait: TraitType) -> object:
    return trait.default()
