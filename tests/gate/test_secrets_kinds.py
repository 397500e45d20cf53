"""Credentials by name and chance, in parts, in commands and in sentences; and what people who work with data write down."""

import io
import keyword
import random
import re
import sysconfig
import tokenize
from itertools import permutations
from pathlib import Path

import pytest

from deepnb.gate import credentials, redact, secrecy
from tests.bench.credentials import clean_texts
from tests.data import credentials_kinds as kinds
from tests.data import texts
from tests.data.credentials import Sample
from tests.data.notes_of_data_workers import ARGUMENTS, VERBS, notes
from tests.support.tables import every_row

CHANCE = "vJ7qZk3wXp9RtB2mLd5H"
HASH = "4f9a8c1e7b2d6053a1c4e8f7b9d20365"
DOOR = "qu13t" + "-R1ver!88"


def is_found(sample: Sample) -> bool:
    left = redact(sample.text)
    return not any(value in left for value in sample.values)


def missed(seed: int) -> tuple[list[Sample], list[Sample]]:
    """(of the samples, of the vendors' prefixes)."""
    return (
        [one for one in kinds.samples(seed) if not is_found(one)],
        [one for one in kinds.vendors(seed) if not is_found(one)],
    )


def test_of_two_hundred_forms_nearly_all_are_found() -> None:
    """Some by chance look like a word: these are not all of them, whatever the seed."""
    samples, vendors = missed(35)
    assert len(samples) <= 0.02 * len(kinds.samples()) and not vendors, (samples, vendors)


@pytest.mark.nightly
def test_whatever_the_values() -> None:
    count, few, vendors = 0, list[Sample](), list[Sample]()
    for seed in range(100, 140):
        more = missed(seed)
        count, few, vendors = count + len(kinds.samples(seed)), few + more[0], vendors + more[1]
    assert len(few) <= 0.02 * count, (len(few) / count, few)
    assert len(vendors) <= 0.02 * 40 * len(kinds.VENDORS), vendors


@every_row(
    "name",
    ["zotero_key", "zoteroKey", "ZOTERO_KEY", "Zotero-Key", "gitlab_pat", "gitlabPat", "app.salt", "fred_key_prod"],
)
@every_row("value", [CHANCE, HASH])
def test_after_a_name_of_secrecy_in_any_case_of_letters_what_chance_drew_is_one(name: str, value: str) -> None:
    assert redact(f'{name} = "{value}"') == f'{name} = "[redacted: API key]"'
    (found,) = credentials(f"{name}: {value}")
    assert found.reason == f"a value named {name}"


def test_a_value_in_two_parts_is_one_mark() -> None:
    half, rest = "ghp" + "_a1B2c3D4e5", "F6" + "a1B2c3D4e5F6" * 2
    text = f'x = 1\nclient = Client("{half}"  # first\n                "{rest}")\ny = 2'
    assert redact(text) == 'x = 1\nclient = Client("[redacted: GitHub token]")\ny = 2'
    (found,) = credentials(text)
    assert (found.line, text[found.start : found.end].startswith(half)) == (2, True)
    for clean in (
        'x = ("We read the file "\n     "and write it.")', 'x = ["name1", "name2"]', "'a' 'b'", '"""doc"""\n"""doc2"""',
    ):  # fmt: skip
        assert credentials(clean) == ()


WORDS = "heron.Lagoon" + ".6083"
MADE = "tK8w" + "Qz3nVb6r"
LOWER = "wqzxkvb" + "ntr48"
SPOKEN = "Rolagu" + "navo279"
SIGNS = "T%D@*0I?t" + "K|z^X("
GROUPS = "pdqh oyxm" + " krqb zvpf"
VALUES = {
    "WORDS": WORDS, "words": WORDS.lower(), "MADE": MADE, "LOWER": LOWER, "SPOKEN": SPOKEN, "SIGNS": SIGNS,
    "GROUPS": GROUPS, "GROUPS-": GROUPS.replace(" ", "-"), "GROUPS.": GROUPS.replace(" ", ""),
    "CHANCE": CHANCE, "CHANCE<": CHANCE[:9], "CHANCE>": CHANCE[9:], "HASH": HASH, "HASH<": HASH[:24],
}  # fmt: skip


def place(line: str) -> tuple[str, str]:
    """Return a text, and what of it stands before the credential: before the first `¦`; others keep it from being one."""
    filled = re.sub("§(.+?)§", lambda name: VALUES[name[1]], line)
    return filled.replace("¦", ""), filled.partition("¦")[0]


@every_row(("text", "kept"), [place(line) for lines in texts("credentials_places").values() for line in lines])
def test_kinds_of_places_that_another_author_thought_of(text: str, kept: str) -> None:
    left = redact(text)
    assert left.startswith(f"{kept}[redacted: "), left
    assert not any(
        value in left
        for value in (WORDS, WORDS.lower(), MADE, LOWER, CHANCE[9:], HASH, "willow", SPOKEN, SIGNS, "krqb")
    )


@every_row("text", [place(line)[0] for line in texts("credentials_none")["in such places"]])
def test_what_stands_in_such_places_and_is_none_is_kept(text: str) -> None:
    assert credentials(text) == ()


def test_what_was_found_is_masked_where_it_stands_bare() -> None:
    """As a whole word, and not if it may be an ordinary word or number."""
    text = f"GET /{MADE}/rows\npassword = '{MADE}'\nOut[4]: '{MADE}'\n\"a\\n{MADE}\" {MADE}s"
    mark = "[redacted: password]"
    assert redact(text) == f"GET /{mark}/rows\npassword = '{mark}'\nOut[4]: '{mark}'\n\"a\\n{mark}\" {MADE}s"
    assert [(found.line, found.reason) for found in credentials(text)] == [
        (line, "a value named password") for line in (1, 2, 3, 4)
    ]
    for plain in ("warehouse", "data-warehouse", "83920174", "python3.11", "table_42"):
        assert redact(f"password = '{plain}'\nthe {plain}") == f"password = '{mark}'\nthe {plain}"


def test_notes_of_people_who_work_with_data_are_kept() -> None:
    written = notes()
    assert len(written) >= 200 and [one for one in written if credentials(one)] == []
    assert credentials("\n".join(written)) == ()


@pytest.mark.nightly
def test_any_argument_may_be_passed() -> None:
    made = [verb.format(*pair) for verb in VERBS for pair in permutations(ARGUMENTS, 2)]
    assert [one for one in made if credentials(one)] == []


@pytest.mark.parametrize("count", [3_000, pytest.param(50_000, marks=pytest.mark.nightly)])
def test_no_identifier_of_python_is_taken_for_a_token(count: int) -> None:
    files = sorted(Path(sysconfig.get_path("purelib")).rglob("*.py"))
    random.Random(35).shuffle(files)
    found: set[str] = set()
    for file in files:
        if len(found) >= 1.2 * count:
            break
        found |= names_in(file.read_text("utf-8", "replace"))
    names = random.Random(35).sample(sorted(found), count)
    assert [name for name in names if credentials(name)] == []
    assert credentials("\n".join(f"we call `{name}` here" for name in names)) == ()


def names_in(source: str) -> set[str]:
    out = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
                out.add(token.string)
    except (tokenize.TokenError, SyntaxError):  # a test's file that is no Python
        pass
    return out


@pytest.mark.nightly
def test_clean_lines_of_installed_packages_are_hardly_ever_flagged() -> None:
    texts = list(clean_texts())
    lines = sum(text.count("\n") + 1 for text in texts)
    flagged = [(n, found) for n, text in enumerate(texts) for found in credentials(text)]
    assert lines >= 100_000 and len({(n, found.line) for n, found in flagged}) <= 0.00005 * lines, flagged


@every_row(("name", "value", "held"), [
    ("SECRET_DOOR", DOOR, True), ("secretDoor", "otter lamp river stone", True), ("PASSPHRASE_HOME", "violet", True),
    ("door", DOOR, True), ("place", CHANCE, True), ("place", HASH, True), ("SECRET_DOOR", "", False),
    ("SECRET_DOOR", "changeme", False), ("PASSWORD_COLUMN", "pw_hash", False), ("KEY_COLUMN", "customer_id", False),
    ("commit", HASH, False), ("model", "Qwen2.5-7B-Instruct", False), ("greeting", "Good morning, 2024!", False),
])  # fmt: skip
def test_a_value_is_not_given_away_by_name_or_by_chance(name: str, value: str, held: bool) -> None:
    assert bool(secrecy(name, value)) is held
