"""`%agent help WORD`: the entries of the reference that answer some words, best first, and the picture of them."""

import re
from collections.abc import Sequence
from functools import lru_cache

from deepnb.magics.slips import is_near
from deepnb.magics.usage import subcommand
from deepnb.search import Index
from deepnb.values.errors import NotFoundError
from deepnb.views import html as h
from deepnb.views.markdown import markdown_html
from deepnb.views.text import COLUMNS, counted, indent, short
from deepnb.views.view import Picture
from deepnb.wings.course.reference import Entry, entries

MOST = 8
"""Entries that are found."""
_BLOCKS = ("|", "- ", "    ", "#", "!", ">")
"""What a line begins with that is not joined with the next one."""


def show_help(magic: str, words: str) -> Picture:
    """Return what the reference says of some words: of a subcommand of that name alone, if there is one."""
    asked = words.strip("\"' ")
    if not (found := look_up(asked, entries(), magic)):
        close = next((one.name for one in entries() if is_near(asked.casefold(), one.name)), None)
        do = f"type %{magic} help {close}" if close else f"%{magic} help lists the subcommands"
        do = f"{do}, or %agent -- help {asked} to ask the agent"
        raise NotFoundError(f"the reference has nothing on {asked!r}", do)
    is_sub = subcommand(magic, asked) is not None
    whole = sum(one.name == asked for one in found[:2]) if is_sub else 1
    answers = [(one.kind, one.usage, _PICTURE.sub("", one.text)) for one in found]
    return help_view("" if is_sub else asked, answers, whole)


# -- entries that answer some words: those of that name, then what a search finds


_PICTURE = re.compile(r"^!\[.*\]\(.*\)\n+", re.MULTILINE)  # ![a turn](turn.png), which is shown in the document alone
_KINDS = ("topic", "%agent", "%memory", "%skills", "setting", "option", "error", "file", "Python")
"""Which goes first, of entries with the same name."""


def look_up(words: str, entries: Sequence[Entry], magic: str = "agent") -> list[Entry]:
    """Return the best entries; those of `magic` before those of the other magics, if a name is the same."""
    asked = " ".join(words.replace("%", " ").split())
    name = asked.casefold()
    hits = [int(hit.path) for hit in _indexed(tuple(entries)).search(asked, 4 * MOST, legs=("exact", "words"))]
    ranks = {n: rank for rank, n in reversed(list(enumerate(hits)))}

    def order(n: int) -> tuple[int, bool, int, int]:
        one, rank = entries[n], ranks.get(n, 4 * MOST)
        if name in _names(one):
            whole = name in (one.name.casefold(), f"{one.kind} {one.name}".lstrip("%").casefold())
            return not whole, one.kind != f"%{magic}", _KINDS.index(one.kind), rank
        return 2, False, 0, rank + MOST * (n in ranks and one.kind == "Python")  # of these there are most

    named = {n for n, one in enumerate(entries) if name in _names(one)}
    return [entries[n] for n in sorted({*named, *ranks}, key=order)[:MOST]]


@lru_cache(maxsize=1)
def _indexed(entries: tuple[Entry, ...]) -> Index:
    """Return the index of them, made once: the second question costs no more than the search."""
    index = Index()
    index.update({f"{n}": f"# {one.usage} {one.name}\n\n{one.text}" for n, one in enumerate(entries)})
    return index


def _names(one: Entry) -> set[str]:
    """Return what an entry is called: `fork` is the name of `session.fork`, and `tool` that of `tools`, too."""
    names = {one.name, one.name.removesuffix("s"), one.name.rpartition(".")[2], f"{one.kind} {one.name}".lstrip("%")}
    return {name.casefold() for name in names}


def help_view(words: str, answers: Sequence[tuple[str, str, str]], whole: int) -> Picture:
    """Return the answers to some words, best first: (kind, usage, text in Markdown) of each, `whole` of them with text.

    Without words the first answer is all that was asked for.
    """
    lines, body = [""] * bool(words.strip()), list[h.Child]()
    for _, usage, text in answers[:whole]:
        lines += [usage, indent(text.rstrip(), "    "), ""]
        body.append(h.frame(h.el("div", h.el("b", h.code(usage))), markdown_html(text)))
    if others := answers[whole:]:
        lines.append("see also")
        items = []
        for kind, usage, text in others:
            paragraphs = (p for p in text.split("\n\n") if p.strip() and not p.startswith(("```", *_BLOCKS)))
            name, plain = usage if usage.startswith("%") else f"{kind}: {usage}", next(paragraphs, text)
            lines += [f"  {short(name, COLUMNS - 2)}", f"      {short(plain, COLUMNS - 6)}"]
            items.append(h.el("li", h.code(name), ": ", short(plain.replace("`", ""), COLUMNS)))
        body += [h.label("see also"), h.el("ul", *items, style="margin:0;padding-left:2em")]
    title = (f"help: {' '.join(words.split())}", counted(len(answers), "answer")) if words.strip() else ()
    all_ = "notebooks/REFERENCE.md has the whole reference"
    return Picture(title, [*lines, *([""] if lines[-1] else []), all_], [*body, h.label(all_)])
