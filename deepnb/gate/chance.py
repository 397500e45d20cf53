"""How much a run of letters and digits looks drawn by chance, and how little like words."""

from itertools import pairwise

# After each first letter the letters that often follow it in the words of source code: 220 pairs of 676. They are
# 90 % of the pairs in words and 33 % of those drawn by chance: the logarithms of these odds are the points.
_PAIRS = """
abcdgilmnprstuy baeilorsu cacehiklortu daeiosu eabcdefgilmnprstvwx faefiloru gaehinors haeiot iabcdefglmnoprstvz
kei ladeilostuy mabeimopsu nacdefginostuv oabcdfgiklmnoprstuvw paeiloprsty qu racdegiklmnorstuy sacehilopstu
tacehilorstuy uabceilmnprst vaei waei xpt yp ze
"""
_COMMON = frozenset(row[0] + letter for row in _PAIRS.split() for letter in row[1:])
_WORD, _CHANCE, _TURN = -1.0, 1.9, 1.2
_SHARE = 0.15
"""Points per character: one random value in a thousand has fewer, one identifier in five hundred has more."""
_HEX = frozenset("0123456789abcdef")


def score(text: str) -> float:
    """Points for chance (above 0) or for words (below), over all neighbours: about 0.9 each, or -0.7."""
    points = 0.0
    for pair in pairwise(text.lower()):
        if pair[0].isalpha() and pair[1].isalpha():
            points += _WORD if pair[0] + pair[1] in _COMMON else _CHANCE
        elif pair[0].isalnum() and pair[1].isalnum() and pair[0].isdigit() != pair[1].isdigit():
            points += _TURN
    return points


def is_random(text: str) -> bool:
    """Whether a text of some twenty characters or more looks drawn by chance."""
    return score(text) >= _SHARE * len(text)


def is_hexadecimal(text: str) -> bool:
    """Whether all of it could be the digits of a hash or an id."""
    return _HEX.issuperset(text if text.islower() or text.isdigit() else text.lower() if text.isupper() else text)
