"""The legs of a search: each asks the database for postings and gives units with scores.

A question asks "where did he go?", and the note says "went". Between two commas stand the forms of one word;
a form that is of two words ("left", "ground") has the forms of both.
"""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from deepnb.search import scoring
from deepnb.search.database import Database
from deepnb.search.days import Span, day_of, nearness
from deepnb.search.keys import HEAD, LAST, Keys, Scores, among, chunk_range, chunks_of, file_range, unique, values_at
from deepnb.search.passages import SCALES, UNIT, Chunks, Row, windows
from deepnb.search.scoring import Concept, Embeddings, Leg, Postings, Scored, Size, Spread, Vectors
from deepnb.search.words import CJK, LONGEST, MARK, Query, Vocabulary, pairs, terms

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
    """Return the other forms of a word in lower case, none for a regular one; "taking" has those of "take" and that, too."""
    if word in _FORMS:
        return _FORMS[word]
    for ending, back in _ENDINGS:
        bare = word.removesuffix(ending) + back
        for base in (bare, bare[:-1] if bare[-1:] == bare[-2:-1] else bare):
            if word.endswith(ending) and base in _FORMS:
                return (base, *_FORMS[base])
    return ()


ALIKE = 0.25
"""Words with a lower cosine of their n-grams are not taken for each other."""
STEPS = (0.7, 0.4, ALIKE)
"""Words that are about equally close are asked for together."""
EXPANSIONS = 12
"""How many words of the vocabulary a word of the query stands for at most."""
PLENTY = 1000
"""Units a word may be in, and still be asked for with those that look like it, however small the index is."""
LABEL = 1.0
"""A word in the label of a line, as a part of one in its text; it counts besides that one."""
NEAREST = 200
"""Chunks the vector leg brings along."""


class Reader:
    """Reads an index; what it keeps in memory is as old as `generation`."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.vocabulary = Vocabulary()
        self._words_read = -1
        self._generation = self._embedded = -1
        self._size = Size(0, 0)
        self.paths: dict[int, str] = {}
        self.documents: frozenset[int] = frozenset()
        """The files that are documents, by number."""
        self._documents: Keys = np.empty(0, np.int64)
        self._chunks: Chunks | None = None
        self._vectors: dict[str, Embeddings] = {}
        self._samples: dict[str, tuple[Vectors, int]] = {}
        self._postings = KeptPostings(db)
        self._close: dict[str, list[tuple[str, float]]] = {}

    def refresh(self) -> None:
        """Bring what is in memory up to date, at the beginning of a transaction."""
        embedded = self.db.value("SELECT value FROM meta WHERE name = 'embedded'")
        if embedded != self._embedded:
            self._vectors.clear()
            self._samples.clear()
            self._embedded = embedded
        generation = self.db.value("SELECT value FROM meta WHERE name = 'generation'")
        if generation == self._generation:
            return
        rows = self.db.rows("SELECT id, path, document, changed FROM files ORDER BY id")
        self._size = Size(*self.db.rows("SELECT total(units), total(chunks) FROM files")[0])
        before = self.paths
        self.paths = {number: path for number, path, *_ in rows}
        self.documents = frozenset(number for number, _, document, _ in rows if document)
        self._documents = np.array(sorted(self.documents), np.int64)
        files = {number for number, *_, changed in rows if changed > self._generation}
        files |= before.keys() - self.paths.keys()
        self._postings.touch(files)
        if len(files) > FEW:
            self._chunks = None
        if (chunks := self._chunks) is not None:
            for file in files:
                chunks = chunks.instead(file, self._read_chunks(*chunk_range(file)))
            self._chunks = chunks
        self._vectors.clear()
        self._samples.clear()
        self._generation = generation

    def words(self, query: Query) -> Scored:
        found = [Concept(((self._postings.of(word, *other_forms(word)), 1.0),)) for word in query.words]
        return scoring.scored([*found, *self._labels(query)], self._size, self._documents)

    def grams(self, query: Query, *, known: bool) -> Scored:
        """Return what has words like those of the query; `known`: some of these are in the index themselves."""
        self._read_vocabulary()
        like = [self._soft(word, ALIKE if known else STEPS[1]) for word in query.soft]
        return scoring.scored([*like, *self._labels(query)], self._size, self._documents)

    def windows(self, query: Query, words: Scored) -> tuple[Keys, Scores]:
        """Return the units of documents that are in the best windows, with the scores of these and, of `words`, their own."""
        if not self.documents:
            return np.empty(0, np.int64), np.empty(0)
        self._read_vocabulary()
        found = windows(list(map(self._soft, query.words)), query.counts, self._chunks_of_documents())
        score_of = dict(zip(*(part.tolist() for part in found), strict=True))
        rows = scoring.units_of(self.db, list(score_of), "chunks")
        keys = np.array([unit for _, unit in rows], np.int64)
        return keys, np.array([score_of[chunk] for chunk, _ in rows]) + UNIT * values_at(keys, words.keys, words.fine)

    def leg(self, keys: Keys, scores: Scores, weight: float) -> Leg:
        """Return units with this weight in documents, and 1 elsewhere."""
        return Leg(keys, scores, np.where(among(keys >> 43, self._documents), weight, 1.0))

    def around(self, keys: Keys, scores: Scores, documents: tuple[Keys, Scores], weight: float) -> Leg:
        """Return the coarse score of a leg; in documents it is that of the windows, which is a sum of several."""
        other = ~among(keys >> 43, self._documents)
        every = np.concatenate([keys[other], documents[0]])
        order = np.argsort(every)
        both = np.concatenate([scores[other] * SCALES, documents[1]])
        return self.leg(every[order], both[order], weight)

    def exact(self, query: Query) -> Leg:
        """Return units with an identifier of the query, each by how rare it is.

        Beside other words, one that is in many files is a word, too, whatever it looks like: the leg counts less then.
        """
        sql = "SELECT name, unit FROM names WHERE name IN (SELECT value FROM json_each(?))"
        units: dict[str, list[int]] = {}
        for name, unit in self.db.rows(sql, (json.dumps(query.names),)):
            units.setdefault(name, []).append(unit)
        for run in query.runs:
            keys, *others = (self._postings.of(pair).units for pair in pairs(run))
            for other in others:  # a unit with the run has all of its pairs
                keys = keys[among(keys, other)]
            if len(keys):
                units[run] = keys.tolist()
        alone = {word for name in units for word in terms(name)}.issuperset(query.words)
        gains: dict[int, float] = {}
        rarest = 0.0
        for found in units.values():
            rare = 1.0 if alone else scoring.rarity(len({unit >> 43 for unit in found}))
            rarest = max(rarest, rare)
            for unit in found:
                gains[unit] = gains.get(unit, 0.0) + scoring.idf(len(found), self._size.units) * rare
        keys = np.array(sorted(gains), np.int64)
        weight = scoring.EXACT * rarest * scoring.focus(len(query.words))
        return Leg(keys, np.array([gains[key] for key in keys.tolist()]), weight)

    def vector(
        self, model: str, vector: Vectors, query: Query, others: Keys, spans: tuple[Span, ...], *, alone: bool
    ) -> Leg:
        """Return the units of what is nearest to the query, of one with unknown words alone only what is near or in `others`.

        spans: the days that the query names, which explain it; where something near is of one, only that is given: a
        vector tells no day from another. alone: whether no other leg was asked; all that is nearest is then given.
        """
        if not self.db.vectors and model not in self._vectors:
            self._vectors[model] = scoring.embeddings(self.db, model)
        if model not in self._samples:
            _, sample = scoring.embeddings(self.db, model, scoring.SAMPLE)
            self._samples[model] = sample, self.db.value("SELECT count(*) FROM spans")
        found = dict(scoring.nearest(self.db, model, vector, NEAREST, self._vectors.get(model)))
        units = scoring.units_of(self.db, list(found), "spans")
        rows = [(unit, found[span]) for span, unit in units if found[span] > 0]
        leg = Leg(np.array([key for key, _ in rows], np.int64), np.array([score for _, score in rows], np.float64))
        sample, texts = self._samples[model]
        if alone or not rows or sample.shape[1] != len(vector):
            return leg
        words = {word: self._postings.of(word, *other_forms(word)) for word in query.words}
        known = query.common or any(len(found.keys) for found in words.values())
        cosines = sample @ vector
        spread = Spread(float(cosines.mean()), float(cosines.std()), texts)
        weight = 1.0 if spans else spread.weight(float(leg.scores.max()), scoring.coverage(words, self._size.units))
        kept = known | (leg.scores >= spread.floor) | among(leg.keys, others)
        if spans and (of_these := nearness(spans, self.days(leg.keys)) == 1).any():
            kept &= of_these
        return replace(leg, weight=weight).where(kept)

    def days(self, keys: Keys) -> Scores:
        """Return the day of each unit as an ordinal, NaN for those without one."""
        sql = "SELECT id, day FROM units WHERE id IN (SELECT value FROM json_each(?)) AND day IS NOT NULL"
        known = dict(self.db.rows(sql, (json.dumps(keys.tolist()),)))
        return np.array([known.get(key, np.nan) for key in keys.tolist()], np.float64)

    def of_days(self, spans: tuple[Span, ...], allowed: Callable[[int], bool]) -> Leg:
        """Return the units of these days in the files that are allowed, the newest first.

        Of a file that is itself of one of them these are all: a line of it may begin with another date.
        """
        ends = min(span.first for span in spans).toordinal(), max(span.last for span in spans).toordinal()
        if any(span.yearly for span in spans):
            ends = 0, LAST
        rows = self.db.rows("SELECT id, day FROM units WHERE day BETWEEN ? AND ? ORDER BY id", ends)
        every = np.array(rows, np.int64).reshape(-1, 2)
        found = within(Leg(every[:, 0], every[:, 1].astype(np.float64)), allowed)
        found = found.where(nearness(spans, found.scores) == 1)
        day_of_unit = dict(zip(found.keys.tolist(), found.scores.tolist(), strict=True))
        for file in {key >> 43 for key in day_of_unit}:
            day = day_of(self.paths[file])
            if day and nearness(spans, np.array([day.toordinal()], np.float64))[0] == 1:
                units = self.db.rows("SELECT id FROM units WHERE id BETWEEN ? AND ?", file_range(file))
                day_of_unit.update((unit, day.toordinal()) for (unit,) in units)
        keys = np.array(sorted(day_of_unit), np.int64)
        days = np.array([day_of_unit[key] for key in keys.tolist()], np.float64)
        return Leg(keys, 1 / (1 + days.max(initial=0) - days))

    def near(self, low: int, high: int) -> list[Row]:
        found = self.db.rows("SELECT id, line, a, b FROM units WHERE id BETWEEN ? AND ? ORDER BY id", (low, high))
        return list(map(Row._make, found))

    def heading(self, key: int) -> str:
        return str(self.db.value("SELECT heading FROM chunks WHERE id = ?", (_chunk(key),)) or "")

    def text(self, first: Row, last: Row) -> str:
        """Return what stands from the beginning of a unit to the end of a later one of its file."""
        sql = "SELECT a, text FROM chunks WHERE id BETWEEN ? AND ? ORDER BY id"
        rows = self.db.rows(sql, (_chunk(first.key), _chunk(last.key)))
        begin = rows[0][0]
        return "".join(text for _, text in rows)[first.a - begin : last.b - begin]

    def _chunks_of_documents(self) -> Chunks:
        if self._chunks is None:
            self._chunks = self._read_chunks()
        return self._chunks

    def _read_chunks(self, first: int = 0, last: int = LAST) -> Chunks:
        sql = "SELECT id, length(text) FROM chunks WHERE id BETWEEN ? AND ? ORDER BY id"
        rows = np.array(self.db.rows(sql, (first, last)), np.int64).reshape(-1, 2)
        rows = rows[among(rows[:, 0] >> 18, self._documents)]
        return Chunks(rows[:, 0], rows[:, 1].astype(np.float64))

    def _labels(self, query: Query) -> list[Concept]:
        """Return the lines that a word of the query is the label of, as those of a speaker: they are about it all along."""
        marked = [MARK + word for word in query.words]
        if not marked or not len(self._postings.of(*marked).keys):  # one look for all: most texts have no such labels
            return []
        found = map(self._postings.of, marked)
        return [Concept(((postings, LABEL),)) for postings in found if len(postings.keys)]

    def _soft(self, word: str, least: float = ALIKE) -> Concept:
        """Return a word and those that look like it, each posting as sure as the word it is of is close. A word that
        stands everywhere, in a large index, is not worth those that look like it."""
        own = self._postings.of(word, *other_forms(word))
        sets = [(own, 1.0)]
        if len(word) > 2 and not CJK.search(word) and len(own.units) <= max(PLENTY, self._size.units // 20):
            if len(self._close) > 5000:
                self._close.clear()
            if (asked := word[:LONGEST]) not in self._close:
                self._close[asked] = self.vocabulary.similar(asked, ALIKE, EXPANSIONS)
            close = [(other, cosine) for other, cosine in self._close[asked] if other != asked]
            high = 2.0
            for step in STEPS:
                group = [(other, cosine) for other, cosine in close if max(step, least) <= cosine < high]
                high = step
                if group:
                    sets.append((self._postings.of(*sorted(other for other, _ in group)), group[0][1]))
        return Concept(tuple(sets))

    def _read_vocabulary(self) -> None:
        if self._words_read == self._generation:
            return
        rows = self.db.rows("SELECT word FROM vocabulary WHERE added >= ?", (self._words_read,))
        self._words_read = self._generation
        if rows:
            self._close.clear()
            self.vocabulary.extend([word for (word,) in rows])


def within(leg: Leg, allowed: Callable[[int], bool]) -> Leg:
    """Return the leg without the files that are not allowed, of which only those it found are asked for."""
    files = leg.keys >> 43
    return leg.where(among(files, np.array([file for file in unique(files).tolist() if allowed(file)], np.int64)))


def _chunk(key: int) -> int:
    return int(chunks_of(np.array([key], np.int64))[0])


# -- postings in memory


MOST = 8_000_000
"""Postings kept at most, of eight bytes."""
FEW = 20
"""Files that are read again one by one; where more have changed, everything is forgotten."""


class KeptPostings:
    """The units and headings with a word, kept until files change; of a few files alone they are then read again."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self._kept: dict[tuple[str, ...], tuple[Postings, frozenset[int]]] = {}
        """With the files that have changed or gone since they were read."""
        self._size = 0

    def touch(self, files: set[int]) -> None:
        """Say which files have changed or gone since the last time."""
        kept = {words: (postings, stale | files) for words, (postings, stale) in self._kept.items()}
        self._kept = {words: one for words, one in kept.items() if len(one[1]) <= FEW}
        self._size = sum(len(postings.keys) + 50 for postings, _ in self._kept.values())

    def of(self, *words: str) -> Postings:
        """Return units and headings with one of the words."""
        old, stale = self._kept.get(words, (None, frozenset[int]()))
        if old is not None and not stale:
            return old
        asked = " OR ".join('"' + word.replace('"', '""') + '"' for word in words)
        postings = Postings(self._read(asked, "")) if old is None else self._read_again(asked, old, sorted(stale))
        self._size += len(postings.keys) + 50
        if self._size > MOST:
            self._kept.clear()
            self._size = 0
        self._kept[words] = postings, frozenset()
        return postings

    def _read_again(self, asked: str, old: Postings, files: list[int]) -> Postings:
        """Return postings whose keys of these files are what is there now."""
        numbers = np.array(files, np.int64)
        parts = [old.units[~among(old.units >> 43, numbers)], old.heads[~among(old.heads >> 18, numbers)] + HEAD]
        for file in files:
            first, last = chunk_range(file)
            for low, high in (file_range(file), (HEAD + first, HEAD + last)):
                parts.append(self._read(asked, f" AND rowid BETWEEN {low} AND {high}"))
        return Postings(np.sort(np.concatenate(parts)))

    def _read(self, asked: str, where: str) -> Keys:
        found = self.db.value(f"SELECT group_concat(rowid) FROM words WHERE words MATCH ?{where}", (asked,))
        return np.fromstring(found, np.int64, sep=",") if found else np.empty(0, np.int64)
