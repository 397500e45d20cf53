"""The rules of credentials: samples frozen before them, and the forms that names and secrets stand in."""

import hashlib
import importlib
import pkgutil
import random
import re
import string
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepnb import gate as secrets
from deepnb.gate import credentials, redact, redact_value, refusal
from deepnb.gate.kinds import Kind
from deepnb.gate.shapes import by_chance, password_like
from tests.bench.credentials import is_found
from tests.data import credentials_judge, credentials_practice, texts
from tests.data.clean_lines import lines
from tests.data.credentials import samples
from tests.support.tables import every_row

SAMPLES, CLEAN = samples(), lines()
DIGEST = "7431edc7792e538a926a3dc87e8f066edb285b4d2c9551e7875e24383f5540ef"


def test_the_samples_are_the_frozen_ones_and_none_is_missed():
    assert len(SAMPLES) >= 260 and len({sample.kind for sample in SAMPLES}) >= 32 and len(CLEAN) >= 700
    assert hashlib.sha256(repr((SAMPLES, CLEAN)).encode()).hexdigest() == DIGEST
    assert [s for s in SAMPLES if not is_found(s)] == []
    assert [s for s in SAMPLES if any(value in redact(s.text) for value in s.values)] == []


def test_no_clean_line_is_flagged_and_what_is_redacted_says_its_kind_and_keeps_the_rest():
    """Under one in a hundred would do; there are none, so each new one is to be named here."""
    assert [line for line in CLEAN if credentials(line)] == [] and credentials("\n".join(CLEAN)) == ()
    text = "\n".join(CLEAN)
    value = {"files": [text, 1, None], "more": (text, {"n": 2.5})}
    assert redact(text) is text and redact_value(value) is value
    key = "gh" + "p_" + "a1B2c3D4e5F6" * 3
    assert redact(f"- token: `{key}`, rotate it") == "- token: `[redacted: GitHub token]`, rotate it"
    assert redact("password = hunter2\nrows = 8") == "password = [redacted: password]\nrows = 8"
    assert redact(redact("password = hunter2")) == redact("password = hunter2")
    assert "hunter2xy" not in redact("Here it is, have a look at the file.\nuser,password\nann,hunter2xy\n")


def test_findings_tell_the_line_and_not_the_value_also_in_nested_values_and_redacting_twice_is_redacting_once():
    for sample in (*SAMPLES, *PRACTICE, *JUDGE):
        text = f"first\n\n{sample.text}"
        findings, once = credentials(text), redact(text)
        assert credentials(once) == () and redact(once) is once
        said = refusal(findings, "/AGENTS.md") + repr(findings)
        assert "\n" not in said and not any(value in said for value in sample.values)
        assert all(f.line == text.count("\n", 0, f.start) + 1 for f in findings)
    call: dict[str, Any] = {"name": "connect", "args": {"user": "ann", "password": "hunter2", "tables": ["a", "b"]}}
    clean: Any = redact_value(call)
    assert clean["args"] == {"user": "ann", "password": "[redacted: password]", "tables": ["a", "b"]}
    assert clean["args"]["tables"] is call["args"]["tables"]
    assert redact_value([("password = hunter2",)]) == [("password = [redacted: password]",)]


PARTS = st.sampled_from(
    [
        "password", "=", ": ", " ", "\n", '"', "'", "\\n", "token", "api_key", "\u5bc6\u7801", "\uff1a", "hunter2", "a1B2c3D4e5F6g7H8",
        "[redacted: password]", "[redacted: ", "]", "://", "ann", "@", "gh" + "p_", "sk" + "-", "eyJ", ".", "-----BEGIN ", ";", "&",
        "İ", "PRIVATE KEY-----", "-----END ", "AKIA", "ABCDEFGH12345678", "Bearer ", "basic ", "login ", "*", "(", "--", "-u ", "x" * 40,
    ]
)  # fmt: skip
MIXED = st.lists(PARTS | st.text(max_size=6), max_size=30).map("".join) | st.sampled_from([s.text for s in SAMPLES])


@example("db.internal:5432:app:ann:eNEKfHFmX1xHN2")
@given(MIXED)
def test_redaction_holds_for_any_text(text):
    findings = credentials(text)
    assert all(0 <= f.start < f.end <= len(text) for f in findings)
    assert all(a.end <= b.start for a, b in pairwise(findings))
    once = redact(text)
    assert credentials(once) == () and redact(once) is once
    assert redact_value({"password": text}) == redact_value(redact_value({"password": text}))


@every_row("line", [
    "The root pw is Tr0ub4dor", "密码设置为 abc12345", "账号 root 密码 Passw0rd99",
    "the api key for weather is " + "Cxi1aF3fIMcx" * 2, "WEATHER_KEY=" + "q8Zk2LmN0pXv" * 3, "password -> abc123XYZ",
    "redis-cli -a S3cr3tPw9 ping", "password=correcthorsebattery", "https://ann:my%20otter%20lamp@git.company.dev/team",
])  # fmt: skip
def test_found_by_a_second_look(line):
    """Made after the rules, when the first version missed them."""
    assert credentials(line)


def test_four_digits_make_a_token_one_that_chance_made() -> None:
    """Below four a lower-case body may be words with a number; from four on it is a credential, alone or by its name."""
    for digits, found in ((2, False), (3, False), (4, True), (5, True), (6, True)):
        body = "kqzvmwtxhbrydgnpcfjl"
        token = "".join(f"{body[n]}{n + 3}" if n < digits else body[n] for n in range(len(body)))
        assert by_chance(token) is found, token
        assert bool(credentials(f"we use sk-proj-{token} there")) >= found, token
    for value, found in (("!82.1", False), ("!821", False), ("!821.", False), ("!8214", True), ("!82145", True)):
        assert password_like(value) is found, value


PRACTICE, JUDGE = credentials_practice.samples(), credentials_judge.samples()
MARK = re.compile(r"\[redacted: [A-Za-z0-9 ()-]{1,48}\]")
CHANCE = random.Random(61)


def body(size: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(CHANCE.choices(alphabet, k=size - 1)) + "7"


def drawn(found: re.Match[str]) -> str:
    """Return so many letters and digits drawn by chance; `x` is for those of a number in base 16."""
    return body(int(found[1].rstrip("x")), *["0123456789abcdef"] * found[1].endswith("x"))


@every_row("form", dict.fromkeys(sample.kind for sample in PRACTICE))
def test_every_form_the_rules_were_written_by_is_found(form):
    assert [s.text for s in PRACTICE if s.kind == form and not is_found(s)] == []


@every_row("form", dict.fromkeys(sample.kind for sample in PRACTICE))
@every_row("between", ["\n", "\n\n"])
def test_of_several_in_a_row_each_is_found(form, between):
    group = [s for s in PRACTICE if s.kind == form]
    left = redact(between.join(s.text for s in group))
    assert [s.text for s in group if any(value in left for value in s.values)] == []


def test_at_least_95_of_100_are_found_of_a_set_the_rules_were_not_written_by():
    found = sum(map(is_found, JUDGE))
    assert len(JUDGE) >= 150 and found >= 0.95 * len(JUDGE), found / len(JUDGE)


KEY = body(32)


@every_row(("text", "reason"), [
    (f"- use zrq_live_{KEY} here", "a long random value after the prefix zrq_"),
    ("DB_PASSWORD=Tr0ub4dor&3", "a value named DB_PASSWORD"), ('"apiKey": "' + KEY + '"', "a value named apiKey"),
    ("密码：hunter2xy", "a value named 密码"),
    ("gh" + "p_" + "a1B2c3D4e5F6" * 3, "what looks like a GitHub token"),
    ("AK" + "IA" + "Q3EGRW7XKT5YB2ZP", "what looks like an AWS access key"),
])  # fmt: skip
def test_a_refusal_names_the_reason(text, reason):
    said = refusal(credentials(f"first\n{text}\n"), "/AGENTS.md")
    assert said.startswith(f"not written to /AGENTS.md: it holds {reason} (line 2); ")


@every_row("text", [re.sub("§(.+?)§", drawn, text) for text in texts("credentials_none")["looks like one"]])
def test_ids_digests_paths_and_code_are_clean(text):
    assert credentials(text) == ()


def test_an_id_of_any_make_stays_as_it_is_and_a_known_key_in_its_place_does_not():
    call: dict[str, Any] = {"id": "zq_" + body(24), "name": "f", "args": {"note": "zrq_live_" + KEY}}
    assert redact_value(call) == {**call, "args": {"note": "[redacted: token]"}}
    assert redact_value({"tool_call_id": call["id"]})["tool_call_id"] == call["id"]
    assert redact_value({"id": "gh" + "p_" + "a1B2c3D4e5F6" * 3}) == {"id": "[redacted: GitHub token]"}


ALL = st.sampled_from(SAMPLES) | st.sampled_from([*PRACTICE, *JUDGE])
TEXT = st.text(max_size=40) | st.sampled_from(
    ["- a note\n", "|a|b|\n|-|-|\n", "x,y\n", "value: 1\n", "```\n", "# token\n"]
)


@given(ALL, TEXT, TEXT)
def test_between_other_lines_a_credential_is_found_and_what_is_none_is_kept_byte_for_byte(sample, before, after):
    text = f"{before}\n{sample.text}\n{after}"
    once = redact(text)
    assert credentials(once) == () and redact(once) is once
    assert sample not in SAMPLES or not any(value in once for value in sample.values)
    pieces, at = MARK.split(once), 0
    assert text.startswith(pieces[0]) and text.endswith(pieces[-1])
    for piece in pieces:
        at = text.find(piece, at)
        assert at >= 0
        at += len(piece)


def test_the_mark_takes_the_place_of_the_value_alone():
    other = []
    for sample in (s for s in PRACTICE if len(s.values) == 1):
        left, right = sample.text.split(sample.values[0])
        if not re.fullmatch(re.escape(left) + MARK.pattern + re.escape(right), redact(sample.text)):
            other.append((sample.text, redact(sample.text)))
    assert other == []


OF_SENTENCES = {"directives", "own_words", "prohibitions", "attribution"}
"""Modules of the gate whose rules are tried on one sentence at a time, which is short."""


def patterns() -> Iterator[re.Pattern[str]]:
    for module in pkgutil.iter_modules(secrets.__path__, f"{secrets.__name__}."):
        if module.name.rpartition(".")[2] in OF_SENTENCES:
            continue
        for value in vars(importlib.import_module(module.name)).values():
            rules = value if isinstance(value, tuple) else (value,)
            for rule in rules:
                made = (
                    [rule.pattern] if isinstance(rule, Kind) else list(vars(rule).values()) if is_row(rule) else [rule]
                )
                yield from (one() for one in made if isinstance(getattr(one, "__wrapped__", None), partial))


def is_row(rule: Any) -> bool:
    return type(rule).__module__.startswith(secrets.__name__) and hasattr(rule, "__dict__")


def most(parsed: Any) -> Iterator[int]:
    for op, argument in parsed:
        if op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            yield int(argument[1])
        for inner in argument if isinstance(argument, (tuple, list)) else [argument]:
            for one in inner if isinstance(inner, list) else [inner]:
                if isinstance(one, _parser.SubPattern):
                    yield from most(one)


def test_every_quantifier_is_bounded_so_that_time_stays_linear():
    found = list(patterns())
    assert len(found) > 100
    assert [p.pattern for p in found if max(most(_parser.parse(p.pattern, p.flags)), default=0) > 65_536] == []


SEEDS = [
    "a", "=", "M", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "password", "password=", "api_key=", "eyJ", "://a:b", "sk-",
    "\u5bc6\u7801\uff1a", "[redacted: password]", "İtoken=", "pass='a ", "a_", "a-b.", "password\n", "password,a\n",
    "|password|\n|--|\n", "secret:\n", "<password>", 'name="password" ', "value: x name: password ", "cookie: a=b; ",
    "x is the password ", "set token ", "login(", "abcd_" + "0k" * 12, "  the password of a line of many words:\n",
    "password,,,,", "<tr><th>password</th>", "password = a.b + ", "key, password = ", "password=a1b2c3d4e5 ",
    "the password is abcd ",
]  # fmt: skip


@pytest.mark.slow
def test_endless_lines_do_not_hang():
    """In a process of its own, so that a hang is a failure; a quadratic rule would need minutes for these."""
    code = "import sys; from deepnb.gate import credentials as c; [c(s * (50_000 // len(s))) for s in sys.argv[1:]]"
    subprocess.run([sys.executable, "-c", code, *SEEDS], check=True, timeout=120)
