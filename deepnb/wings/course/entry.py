"""One thing that the reference describes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A subcommand, a setting, an option, a Python name, a file, an error or a topic."""

    name: str
    """What it is called: `fork`, `window`, `Session.fork`, `compaction`."""
    usage: str
    """What is typed for it, with the magic before it; of a topic its title."""
    text: str
    """What it does, in Markdown."""
    kind: str
    """`%agent`, `%memory`, `%skills`, `setting`, `option`, `Python`, `error`, `file` or `topic`."""
    has_heading: bool = False
    """Whether it has a heading of its own in the document, above those that belong to it."""
