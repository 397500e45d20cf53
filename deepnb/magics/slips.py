"""Whether a short line after %agent is a subcommand mistyped, and what to type instead: a slip costs no model call.

A line of at most three words is one where its first word is a subcommand, or one letter away from one, and the rest
nearly fits its usage: each word looks like something that subcommands take. Everything else is a prompt.
"""

import difflib
import re
from collections.abc import Callable, Iterator

from deepnb.gate.spans import word_set
from deepnb.magics.usage import MAGICS, PANELS, QUOTED, TOOL_WORDS, Sub, subcommand, subcommands

ENGLISH = word_set("""
adit amount anew array boards bray bridge burns cools cork cost count counts cue dew diet dork ewe edict ell emit exit
eject few fines fools for fora ford fore form fort fount fray fuse grape gray grey heal heap heel held hell hello helm
hemp hep her hew hoe is kelp knew knob lure mew mint moan mound mouse mouth muse net newer news newt next now oak pane
panes pew pools pork pray presume ray read reds remind ruse sew state states statue stitch sue swish swathe threats tilt
toil tolls tray treads tuna tune uke undid undone us usa used user users uses view vise whelp witch work york
""")
"""Words one letter away from a subcommand: a line that begins with one and goes on is a prompt."""
REPLIES = word_set("""
bye done fine for go good great hello hey hi less more next no nope none now ok okay one or same see skip stop sure thank
thanks then two us well what when who why work works wow wrong yeah yep yes you
""")
"""What people answer: a prompt also as the only word of a line."""
Fit = Callable[[Sub, str], object]
"""The arguments in what follows a subcommand, or None where it does not fit."""

MOST = 3
"""Words of a line that may be a slip."""
_OPEN = ("name", "thread", "model", "tools", "search", "path", "place", "file", "word", "url", "subagents")
"""Kinds of arguments that are words of the user's own."""
_NUMBERS = ("number", "turn", "call", "which", "messages", "json")
_NUMBER = re.compile(r"[#+-]?[0-9][0-9.,:;/-]*(?:st|nd|rd|th)?")
_VERBS = ("explain", "fix", "code")
"""Subcommands that people also ask with: what follows one is a prompt unless it is an argument of it."""
# What stands in the place of an argument where a subcommand takes none of that name.
_PLACES = word_set("""
all none first last latest newest oldest previous prev current now here start beginning end list show add remove delete on
off yes back zero one two three four five six seven eight nine ten main tokens messages files cost csv json html md
""")
_BETWEEN = word_set("to at in of turn turns call calls step thread tool number nr no")
_ENDS = {"database": "db sqlite sqlite3", "export": "ipynb html jsonl", "session": "jsonl json db sqlite sqlite3 ipynb"}
"""What the name of a file ends with, where it is the last word of several: `persist my file.db`."""
_TALK = word_set("""
a all an and as at each every for from how in into it me of on or please that the these this to what with
""")
_PATH = re.compile(r"[\"']|(?!\w+://).*[/\\~]|.*\.[A-Za-z]\w{0,8}$")  # ./a | a\b | "a b | a.db


def one_edit_apart(a: str, b: str) -> bool:
    """Return whether at most one insertion, deletion, replacement or swap of neighbours makes one word the other."""
    if a == b:
        return True
    short, long = sorted((a, b), key=len)
    same = next((i for i, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    if len(short) != len(long):
        return short[same:] == long[same + 1 :]
    swapped = short[same : same + 2] == long[same : same + 2][::-1]
    return short[same + 1 :] == long[same + 1 :] or (swapped and short[same + 2 :] == long[same + 2 :])


def nearest(word: str, known: tuple[str, ...]) -> str | None:
    """Return the known word that was most likely meant, or None where none looks like it."""
    close = next((k for k in known if one_edit_apart(word.casefold(), k)), None)
    return close or next(iter(difflib.get_close_matches(word.casefold(), known, 1, 0.5)), None)


def is_near(word: str, known: str) -> bool:
    """Return whether a word is another one mistyped: short ones by one letter, longer ones by about a quarter."""
    a, b = word.casefold().replace("-", "").replace("_", ""), known.replace("-", "")
    if len(b) < 3:
        return a == b
    return one_edit_apart(a, b) or (len(b) > 5 and difflib.SequenceMatcher(None, a, b).ratio() >= 0.8)


def slip(line: str, fit: Fit) -> str | None:
    """Return what to type instead of a line that was most likely meant as a subcommand; None for a prompt."""
    words = line.split()
    if words[1:] and words[0].casefold() in _VERBS:
        return None
    if not 1 <= len(words) <= MOST or words[-1][-1] in "?!":
        return None
    if words[0] in MAGICS:  # a magic named after %agent: `%agent memory log` is `%memory log`
        magic, *rest = words
        other = subcommand(magic, rest[0]) if rest else None
        takes_text = other is not None and any(arg.kind in ("text", "file", "source") for arg in other.args)
        if not rest and magic != "agent":
            return f"type %{magic}"
        if other and not (takes_text and rest[1:]) and fit(other, " ".join(rest[1:])) is not None:
            return f"type %{' '.join(words)}"
    for sub, rest in _meant(words):
        if not rest and (len(words) == 1 or sub.name == "".join(words).casefold()):
            return f"type %agent {sub.name}"
        first = words[0].casefold()
        misspelled = words[0].islower() and first not in (sub.name, f"{sub.name}s", sub.name.removesuffix("s"))
        if _nearly_fits(sub, rest) or (misspelled and fit(sub, " ".join(rest)) is not None):
            return f"usage: %agent {sub.usage}"
    return None


def path_slip(line: str) -> str | None:
    """Return what to type instead of a subcommand whose path has blanks and no quotes; None where there is no such path.

    The second word looks like a path, or the last one does, and there is no talk among them.
    """
    first, *rest = line.split()
    sub = subcommand("agent", first)
    kind = next((arg.kind for arg in sub.args if arg.kind in (*QUOTED, "place")), None) if sub else None
    named = {flag.name for flag in sub.flags if flag.label} if sub else set()
    words = [word for before, word in zip(["", *rest], rest, strict=False) if word[:2] != "--" and before not in named]
    if sub is None or kind is None or len(words) < 2 or _TALK & {word.casefold() for word in words}:
        return None
    if not _PATH.match(words[0]) and words[-1].rpartition(".")[2] not in _ENDS.get(kind, "jsonl").split():
        return None
    if kind == "place":
        return f"usage: %agent {sub.usage}"
    path = re.sub(r"\\(?= )|[\"']", "", " ".join(words))  # my\ notes | "my notes
    return f'a path with blanks needs quotes: %agent {" ".join([first, *(w for w in rest if w not in words)])} "{path}"'


def _meant(words: list[str]) -> Iterator[tuple[Sub, list[str]]]:
    first, rest = words[0].casefold().lstrip("/%!-"), words[1:]
    first = first if rest else first.rstrip(".,;:")
    may_be = re.fullmatch(r"[a-z][a-z-]+", first) is not None and first not in (ENGLISH if rest else REPLIES)
    for sub in subcommands("agent"):
        if first == sub.name or (may_be and one_edit_apart(first, sub.name)):
            yield sub, rest
    for sub in subcommands("agent"):
        if len(words) > 1 and "".join(words[:2]).casefold() == sub.name:  # dash board
            yield sub, words[2:]
        glued = first.removeprefix(sub.name)
        if glued != first and (_NUMBER.fullmatch(glued) or glued in _choices(sub)):  # rewind3
            yield sub, [glued, *rest]


def _nearly_fits(sub: Sub, rest: list[str]) -> bool:
    """Return whether each word looks like an argument, and one like one that can't be a word of the user's own."""
    if not rest:
        return True
    if "".join(rest).casefold() in {choice.replace("-", "") for choice in _choices(sub)}:  # tools read only
        return True
    taken = any(arg.kind in _NUMBERS for arg in sub.args) or any(f.kind in ("number", "turn") for f in sub.flags)
    numbered = taken or not sub.args
    closed = [(numbered and _NUMBER.fullmatch(word) is not None) or _is_mark(sub, word) for word in rest]
    names = {*PANELS, *(sub.name for magic in MAGICS for sub in subcommands(magic))}
    lower = [word.casefold() for word in rest]
    near = {w for w in lower if w not in ENGLISH and any(len(n) > 4 and one_edit_apart(w, n) for n in names)}
    loose = [word in _PLACES | _BETWEEN | names | near for word in lower]
    if all(a or b for a, b in zip(closed, loose, strict=True)):
        return any(closed) or not all(word.casefold() in _BETWEEN for word in rest)
    takes_words = any(arg.kind in _OPEN for arg in sub.args)
    return takes_words and any(_is_mark(sub, word) for word in rest)


def _is_mark(sub: Sub, word: str) -> bool:
    """Return whether a word is nearly one of the subcommand's choices, or one of its options with or without dashes."""
    bare = word.lstrip("-\u2010\u2011\u2012\u2013\u2014\u2212")
    flags = [flag.name.lstrip("-") for flag in sub.flags]
    if word.startswith("/"):
        return any(arg.kind == "place" for arg in sub.args)
    if bare != word:
        return bool(flags) or not sub.args
    is_flag = any(word == flag or (len(flag) > 3 and is_near(word, flag)) for flag in flags)
    return is_flag or any(is_near(re.split(r"[:=]", word)[0], choice) for choice in _choices(sub))


def _choices(sub: Sub) -> tuple[str, ...]:
    found = [choice for arg in sub.args for choice in arg.choices]
    kinds = {arg.kind for arg in sub.args}
    found += [other.name for other in subcommands(sub.magic)] if "help" in kinds else []
    found += ["add", "remove", "delete", "list", "show"] if "subagents" in kinds else []
    found += TOOL_WORDS if "tools" in kinds else []
    found += ["disk", "store", "state"] if "backend" in kinds else []
    found += ["all"] if "which" in kinds else []
    return tuple(found)
