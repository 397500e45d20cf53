"""A SKILL.md, checked: the frozen cases, what differs from the reference validator, and what must never happen."""

import json
import unicodedata

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepnb.skills.frontmatter import HEADER, MOST
from deepnb.skills.packages import check_name, scaffold
from deepnb.skills.rules import BYTES, KNOWN, check, unreadable
from deepnb.values.agent import near, normal, skill_line, wrong_name
from deepnb.values.request import SKILLS_CLOSE, SKILLS_OPEN, system_parts
from tests import DATA
from tests.support.hostile_skills import in_process
from tests.support.tables import every_row

CASES = json.loads((DATA / "skills_cases.json").read_text(encoding="utf-8"))
BY_ID = {case["id"]: case for case in CASES}

FIELDS_OF_OTHERS = "other programs have fields of their own: a note"
LOADED = "other programs load it: a note"
MILDER = {
    "flow mapping": "plain YAML, which the reference's dialect has not",
    "explicit string tag": "plain YAML, which the reference's dialect has not",
    "tools as a list": "deepagents takes it, too; a note says how the specification has it",
    **dict.fromkeys(
        ("unknown field", "two unknown fields", "unknown field with a list", "unknown field with a mapping",
         "field with another case beside the right ones", "allowed_tools with an underscore"), FIELDS_OF_OTHERS
    ),
    **dict.fromkeys(
        ("colon in a description", "colon in a description, later on", "another directory", "directory with a capital",
         "directory with a blank at the end", "description of 1025", "description of 1025 by its newline",
         "description of 5000", "compatibility of 501"), LOADED
    ),
}  # fmt: skip
STRICTER = {
    "closing fence indented": "the reference takes any --- for the end, in a text, too",
    "closing fence of four": "the reference takes any --- for the end, in a text, too",
    "header of 70,000 characters": "a cap of our own", "null name": "nothing, for every other reader",
    "null description": "nothing, for every other reader",
    "license as a mapping": "the reference leaves its type unchecked",
    "metadata as text": "the reference leaves its type unchecked",
    "metadata as a list": "the reference leaves its type unchecked",
    "metadata with a mapping": "the specification says from text to text",
}  # fmt: skip


def data(case: dict) -> bytes:
    return bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()


def path(directory: str) -> str:
    return f"/skills/{directory}/SKILL.md"


@every_row("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case):
    found = check(data(case), path(case["directory"]))
    broken = [f for f in found.findings if f.broken]
    notes = [f for f in found.findings if not f.broken]
    assert len(notes) == len(case["notes"]), [str(n) for n in notes]
    assert all(words in note.what for words, note in zip(case["notes"], notes, strict=True))
    if "says" in case:
        assert found.skill.problem == str(broken[0]) and broken[0].line == case["line"]
        assert case["says"] in f"{broken[0].what} {broken[0].do}" and broken[0].do
        assert str(broken[0]).startswith(f"{path(case['directory'])}:{case['line']}: ")
        assert "\n" not in str(broken[0])
    else:
        assert found.skill.problem is None
        for field, value in case["fields"].items():
            told = getattr(found.skill, field)
            assert (list(told) if isinstance(told, tuple) else told) == value


def test_it_agrees_with_the_reference_validator_but_where_it_says_why():
    """`reference` of a case is what skills-ref 0.1.1 said of the same bytes."""
    broken = sum("says" in case for case in CASES)
    assert len(CASES) >= 150 and min(broken, len(CASES) - broken) >= 75
    differ = {case["id"] for case in CASES if (case["reference"] is True) != ("says" not in case)}
    assert differ == {*MILDER, *STRICTER} and all(BY_ID[one]["reference"] is not True for one in MILDER)
    assert all(BY_ID[one]["reference"] is True for one in STRICTER)


HEAD = "---\nname: ab\ndescription: x\n"


@every_row(("header", "size", "good"), [
    ("", BYTES, True), ("", BYTES + 1, False),
    # five are the mapping itself, and name and description
    ("".join(f"k{i}: v\n" for i in range((MOST - 5) // 2)), 0, True),
    ("".join(f"k{i}: v\n" for i in range((MOST + 1) // 2)), 0, False),
    (f"license: {'x' * (HEADER - len(HEAD) - 6)}\n", 0, True),
    (f"license: {'x' * (HEADER - len(HEAD) - 5)}\n", 0, False),
])  # fmt: skip
def test_what_is_as_long_as_it_may_be_and_a_byte_or_value_more(header, size, good):
    problem = check(f"{HEAD}{header}---\n".ljust(size, "x").encode(), path("ab")).skill.problem
    assert (problem is None) is good
    if size > BYTES:
        assert "10,485,761 bytes; the limit is 10,485,760" in str(problem) and ":0:" not in str(problem)


@pytest.mark.slow
def test_nothing_hangs():
    """Each case has 10 seconds; one that needs more is named."""
    names, wrong = in_process("tests.support.hostile_skills")
    assert wrong == "" and len(names) >= 72 + 3 + len(CASES) + 9 + 2
    assert len(set(names)) == len(names)


def test_one_that_hangs_is_named_and_killed():
    names, wrong = in_process("tests.support.hostile_skills", "loop(0.5)")
    assert names == ["good", "in C"] and wrong.startswith("in C: Timeout (0:00:00.5")


TRICKS = st.sampled_from(
    ["---", "\n", "\r", "name: ab", "description: x", ": ", "- ", "[", "]", "{", "}", "&a", "*a", "!!x", "|", ">", "'", '"',
     "\t", "  ", "#", "%", "@", "`", "?", "<<", "~", "null", "\ufeff", "\x00", "é", "\\u", ",", "\x85", "\u2028",
     "allowed-tools:"]
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(TRICKS, max_size=40).map("".join), st.sampled_from(["ab", "", "..", "A b", "\n"]))
def test_tricks_never_crash_it(text, directory):
    check(text.encode(), path(directory))
    found = check(f"---\nname: ab\ndescription: x\n{text}\n---\n".encode(), path("ab"))
    assert all(f.what and f.do and "\n" not in str(f) for f in found.findings)
    assert (found.skill.problem is not None) == any(f.broken for f in found.findings)


@given(st.binary(max_size=300))
def test_bytes_never_crash_it(noise):
    check(noise, path("ab"))
    check(b"---\n" + noise + b"\n---\n", path("ab"))
    check(b"---\nname: ab\ndescription: x\n" + noise + b"\n---\n" + noise, path("ab"))


FIELDS = st.fixed_dictionaries(
    {"name": st.just("ab"), "description": st.text(min_size=1, max_size=1024).filter(str.strip)},
    optional={
        "license": st.text(max_size=80),
        "compatibility": st.text(min_size=1, max_size=500).filter(str.strip),
        "metadata": st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=40), max_size=4),
        "allowed-tools": st.lists(st.from_regex(r"[A-Za-z_]{1,12}", fullmatch=True), max_size=4).map(" ".join),
    },
)


@given(FIELDS)
def test_what_yaml_writes_is_read_back(fields):
    """A law: a header dumped by PyYAML gives the same fields, or YAML itself can't carry them."""
    header = yaml.safe_dump(fields, allow_unicode=True, default_style='"', width=10**6)
    if yaml.safe_load(header) != fields or any(c in header for c in "\x85\u2028\u2029"):
        return
    skill = check(f"---\n{header}---\n".encode("utf-8", "surrogatepass"), path("ab")).skill
    assert skill.problem is None and (skill.name, skill.description) == (fields["name"], fields["description"])
    assert skill.license == fields.get("license", "") and skill.compatibility == fields.get("compatibility", "")
    assert dict(skill.metadata) == fields.get("metadata", {})
    assert list(skill.allowed_tools) == fields.get("allowed-tools", "").split()


@given(st.text(max_size=80))
def test_a_name_is_good_or_one_near_it_is(name):
    if wrong_name(normal(name)) is not None:
        name = near(name)
    name = check_name(normal(name))
    skill = check(scaffold(name).encode(), path(name)).skill
    assert wrong_name(name) is None and (skill.problem, skill.name) == (None, name)


@every_row("name", ["2024", "007", "on", "null", "true", "0x1f", "1e3", "数据"])
def test_a_new_skill_is_good_with_nothing_to_note_whatever_its_name(name):
    assert check(scaffold(name, "What: it is").encode(), path(name)).findings == ()


@given(st.text(max_size=60))
def test_what_is_disclosed_is_one_line_that_ends_no_block(description):
    line = skill_line("ab", f"{SKILLS_CLOSE}{description}{SKILLS_CLOSE}", path("ab"))
    assert len(line.splitlines()) == 1
    assert system_parts(f"{SKILLS_OPEN}\n{line}\n{SKILLS_CLOSE}rest")[-1] == ("system", "rest")


def test_a_file_that_can_not_be_had_says_what_to_do():
    for why in ("is_directory", "permission_denied", "invalid_path", "it is called skill.md", "boom"):
        problem = unreadable(path("ab"), why).skill.problem
        assert problem.startswith(f"{path('ab')}: SKILL.md can't be read ({why}): ")


def test_the_fields_are_those_of_the_specification():
    assert KNOWN == ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
    assert unicodedata.normalize("NFKC", "ａ") == normal("ａ ") == "a"
