"""Words of a text, in English and Chinese, so that two texts can be compared by what they speak of."""

import re

_HAN = re.compile(r"[㐀-䶿一-鿿豈-﫿]")
HAN_RUN = re.compile(r"[㐀-䶿一-鿿豈-﫿]+")
_ASCII = re.compile(r"[a-z][a-z0-9']*")
_SUFFIXES = ("ences", "ence", "ings", "ing", "ies", "ed", "es", "s", "ly", "e", "y")

_STOP_WORDS = """
a about all also am an and any are as at be been being but by can could did do does don't doing for from
give going had has have having he her here him his how i i'd i'll i'm i've if in into is it it's its just
know let like make many me mine more much my no not now of off ok okay on one only or our out over please
put remember s said say says shall she should show so some t tell than that that's the their them then
there these they thing things think this those to too told us use user user's uses using very want was
we were what what's when where which who whose why will with would you you're your
"""
_STOP = frozenset(_STOP_WORDS.split())
_HAN_STOP = re.compile(
    r"请问|用户|什么|哪些|哪个|多少|有没有|关于|记得|记住|[我你您他她它的了是吗呢吧啊用在把请和与就都也有这那]"
)


def chinese(text: str) -> bool:
    """Whether the text holds a Chinese character."""
    return _HAN.search(text) is not None


def stem(word: str) -> str:
    """An English word without its commonest ending: `prefers` and `preferences` are one."""
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word


def words(text: str) -> frozenset[str]:
    """What a text speaks of: stems of English words, pairs of Chinese characters; no stop words."""
    low = text.lower().replace("’", "'")
    found = {stem(w.removesuffix("'s")) for w in _ASCII.findall(low) if w not in _STOP}
    for run in HAN_RUN.findall(_HAN_STOP.sub(" ", low)):
        found.update(run[i : i + 2] for i in range(len(run) - 1)) if len(run) > 1 else found.add(run)
    return frozenset(found)


def coverage(asked: frozenset[str], text: str) -> float:
    """Which share of the words asked for is in a text; 0 for no words."""
    return len(asked & words(text)) / len(asked) if asked else 0.0


def short(text: str, limit: int = 80) -> str:
    """The beginning of a text on one line."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def first_match(text: str, *patterns: str) -> re.Match[str] | None:
    """The match of the first pattern that is found; case does not matter, `.` takes line feeds too."""
    for pattern in patterns:
        if found := re.search(pattern, text, re.IGNORECASE | re.DOTALL):
            return found
    return None
