"""Topics: Markdown files that explain one subject each, `topics/NAME.md`, their title on the first line."""

from pathlib import Path

from deepnb.wings.course.entry import Entry

FOLDER = Path(__file__).parent / "topics"
TOPICS = (
    *("prompts", "python", "models", "threads", "memory", "layers", "compaction", "skills", "subagents", "approvals"),
    *(
        "code",
        "tools",
        "background",
        "compare",
        "tapes",
        "persistence",
        "sessions",
        "own-graph",
        "server",
        "middleware",
    ),
    *("package", "search", "front-ends"),
)
"""The names that `%agent help` takes, in the order in which a newcomer reads them."""


def topic_entries() -> list[Entry]:
    """All topics."""
    return [_entry(FOLDER / f"{name}.md") for name in TOPICS]


def _entry(file: Path) -> Entry:
    title, _, text = file.read_text(encoding="utf-8").partition("\n")
    return Entry(file.stem, title.removeprefix("# "), text.strip(), "topic", has_heading=True)
