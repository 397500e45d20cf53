"""Entries of the files that deepnb writes and reads, from the docstrings of what writes and reads them."""

from deepnb.reference import source
from deepnb.reference.entry import Entry

FILES = (
    ("journal", ".deepnb/journal.jsonl", "deepnb.backends.journal", "Entry"),
    ("transcript", ".deepnb/transcripts/THREAD.jsonl", "deepnb.context.transcript", ""),
    ("tape", "%agent record FILE.jsonl", "deepnb.models.tapes.tape", "Exchange"),
    ("history", "/conversation_history/THREAD.md", "deepnb.context.history", ""),
    ("note", "/memory/YYYY-MM-DD.md", "deepnb.memory.daily", ""),
    ("skill", "/skills/NAME/SKILL.md", "deepnb.skills.rules", ""),
    ("subagent", "/agents/NAME.md", "deepnb.wiring.subagent_files", ""),
    ("export", "%agent export FILE.ipynb|FILE.html|FILE.jsonl", "deepnb.session.disk", ""),
)
"""Name, where it is or what writes it, the module that describes it, and the class whose fields a line has."""


def file_entries() -> list[Entry]:
    """One entry for each kind of file."""
    return [Entry(name, place, _text(module, of), "file", has_heading=True) for name, place, module, of in FILES]


def _text(module: str, of: str) -> str:
    text = source.module_doc(module)
    if not of:
        return text
    kept = (f"- `{one.signature}`" + (f": {one.doc}" if one.doc else "") for one in source.fields(module, of))
    return "\n".join(
        [f"{text}\n\nFields of a change:\n" if of == "Entry" else f"{text}\n\nFields of an exchange:\n", *kept]
    )
