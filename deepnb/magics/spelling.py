"""How near one word is to another, and words that are near a subcommand and nevertheless meant as they stand."""

import difflib

_ENGLISH = """
adit amount anew array boards bray bridge burns cools cork cost count counts cue dew diet dork ewe edict ell emit exit
eject few fines fools for fora ford fore form fort fount fray fuse grape gray grey heal heap heel held hell hello helm
hemp hep her hew hoe is kelp knew knob lure mew mint moan mound mouse mouth muse net newer news newt next now oak pane
panes pew pools pork pray presume ray read reds remind ruse sew state states statue stitch sue swish swathe threats tilt
toil tolls tray treads tuna tune uke undid undone us usa used user users uses view vise whelp witch work york
"""
_REPLIES = """
bye done fine for go good great hello hey hi less more next no nope none now ok okay one or same see skip stop sure thank
thanks then two us well what when who why work works wow wrong yeah yep yes you
"""
ENGLISH = frozenset(_ENGLISH.split())
"""Words one letter away from a subcommand: a line that begins with one and goes on is a prompt."""
REPLIES = frozenset(_REPLIES.split())
"""What people answer: a prompt also as the only word of a line."""


def one_edit_apart(a: str, b: str) -> bool:
    """Whether one insertion, deletion, replacement or swap of neighbours (or nothing) makes one word the other."""
    if a == b:
        return True
    short, long = sorted((a, b), key=len)
    same = next((i for i, (x, y) in enumerate(zip(short, long, strict=False)) if x != y), len(short))
    if len(short) != len(long):
        return short[same:] == long[same + 1 :]
    swapped = short[same : same + 2] == long[same : same + 2][::-1]
    return short[same + 1 :] == long[same + 1 :] or (swapped and short[same + 2 :] == long[same + 2 :])


def nearest(word: str, known: tuple[str, ...]) -> str | None:
    """The known word that was most likely meant, or None where none looks like it."""
    close = next((k for k in known if one_edit_apart(word.casefold(), k)), None)
    return close or next(iter(difflib.get_close_matches(word.casefold(), known, 1, 0.5)), None)


def is_near(word: str, known: str) -> bool:
    """Whether a word is another one mistyped: short ones by one letter, longer ones by about a quarter."""
    a, b = word.casefold().replace("-", "").replace("_", ""), known.replace("-", "")
    if len(b) < 3:
        return a == b
    return one_edit_apart(a, b) or (len(b) > 5 and difflib.SequenceMatcher(None, a, b).ratio() >= 0.8)
