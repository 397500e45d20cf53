"""Topics: Markdown files that explain one subject each, `topics/NAME.md`, their title on the first line."""

from pathlib import Path

from deepnb.reference.entry import Entry

FOLDER = Path(__file__).parent / "topics"


def topic_names() -> list[str]:
    """What `%agent help` takes as the name of a topic."""
    return sorted(file.stem for file in FOLDER.glob("*.md"))


def topic_entries() -> list[Entry]:
    """All topics, in the order of their names."""
    return [_entry(FOLDER / f"{name}.md") for name in topic_names()]


def _entry(file: Path) -> Entry:
    title, _, text = file.read_text(encoding="utf-8").partition("\n")
    return Entry(file.stem, title.removeprefix("# "), text.strip(), "topic", has_heading=True)
