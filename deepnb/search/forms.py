"""Forms of English words that no stemmer joins: irregular verbs and plurals, numerals, short names of things.

A question asks "where did he go?", and the note says "went". Between two commas stand the forms of one word;
a form that is of two words ("left", "ground") has the forms of both.
"""

_VERBS = """
arise arose arisen, awake awoke awoken, bear bore borne, beat beaten, become became, begin began begun, bend bent,
bind bound, bite bit bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring brought, build built,
burn burnt, buy bought, catch caught, choose chose chosen, cling clung, come came, creep crept, deal dealt, dig dug,
dive dove, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen,
feed fed, feel felt, fight fought, find found, flee fled, fly flew flown, forbid forbade forbidden,
forget forgot forgotten, forgive forgave forgiven, freeze froze frozen, get got gotten, give gave given,
go goes went gone, grind ground, grow grew grown, hang hung, hear heard, hide hid hidden, hold held, keep kept,
kneel knelt, know knew known, lay laid, lead led, leap leapt, learn learnt, leave left, lend lent, lie lay lain lying,
light lit, lose lost, make made, mean meant, meet met, mistake mistook mistaken, overcome overcame, pay paid,
prove proven, ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen, seek sought,
sell sold, send sent, sew sewn, shake shook shaken, shine shone, shoot shot, show shown, shrink shrank shrunk,
sing sang sung, sink sank sunk, sit sat, sleep slept, slide slid, smell smelt, speak spoke spoken, speed sped,
spell spelt, spend spent, spin spun, spoil spoilt, spring sprang sprung, stand stood, steal stole stolen, stick stuck,
sting stung, strike struck, swear swore sworn, sweep swept, swell swollen, swim swam swum, swing swung,
take took taken, teach taught, tear tore torn, tell told, think thought, throw threw thrown, understand understood,
undertake undertook undertaken, wake woke woken, wear wore worn, weave wove woven, weep wept, win won, wind wound,
withdraw withdrew withdrawn, write wrote written
"""
_NOUNS = """
child children, foot feet, goose geese, half halves, knife knives, leaf leaves, life lives, loaf loaves, man men,
mouse mice, person people, shelf shelves, thief thieves, tooth teeth, wife wives, wolf wolves, woman women,
good better best, bad worse worst
"""
_NUMERALS = """
one 1, two 2, three 3, four 4, five 5, six 6, seven 7, eight 8, nine 9, ten 10, eleven 11, twelve 12, fifteen 15,
twenty 20, thirty 30, forty 40, fifty 50, sixty 60, seventy 70, eighty 80, ninety 90, hundred 100, thousand 1000
"""
_SHORT = """
bicycle bike, child kid kids children, father dad, fridge refrigerator, grandfather grandpa grandad,
grandmother grandma granny, laboratory lab, mother mom mum mommy mummy, photo photograph picture, phone telephone,
television tv telly, veterinarian vet
"""


def _families() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for family in ",".join((_VERBS, _NOUNS, _NUMERALS, _SHORT)).split(","):
        forms = family.split()
        for word in forms:
            found.setdefault(word, {}).update(dict.fromkeys(forms))
    return {word: tuple(other for other in forms if other != word) for word, forms in found.items()}


_FORMS = _families()
_ENDINGS = (("ing", ""), ("ing", "e"), ("s", ""))


def other_forms(word: str) -> tuple[str, ...]:
    """The other forms of a word in lower case, none for a regular one; "taking" has those of "take" and that, too."""
    if word in _FORMS:
        return _FORMS[word]
    for ending, back in _ENDINGS:
        bare = word.removesuffix(ending) + back
        for base in (bare, bare[:-1] if bare[-1:] == bare[-2:-1] else bare):
            if word.endswith(ending) and base in _FORMS:
                return (base, *_FORMS[base])
    return ()
