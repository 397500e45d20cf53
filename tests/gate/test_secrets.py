"""The rules of credentials against samples that were frozen before the rules were written."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepnb.gate import credentials, redact, redact_value, refusal
from deepnb.gate.shapes import by_chance, password_like
from tests.data.clean_lines import lines
from tests.data.credentials import samples
from tests.support.tables import every_row

SAMPLES, CLEAN = samples(), lines()
DIGEST = "7431edc7792e538a926a3dc87e8f066edb285b4d2c9551e7875e24383f5540ef"


def test_the_samples_are_the_frozen_ones():
    assert len(SAMPLES) >= 260 and len({sample.kind for sample in SAMPLES}) >= 32 and len(CLEAN) >= 700
    assert hashlib.sha256(repr((SAMPLES, CLEAN)).encode()).hexdigest() == DIGEST


def covered(sample) -> bool:
    found = [range(f.start, f.end) for f in credentials(sample.text)]
    starts = [(sample.text.index(value), len(value)) for value in sample.values]
    return all(any(at in span and at + size - 1 in span for span in found) for at, size in starts)


def test_none_of_the_frozen_credentials_is_missed():
    assert [s for s in SAMPLES if not covered(s)] == []
    left = [s for s in SAMPLES if any(value in redact(s.text) for value in s.values)]
    assert left == []


def test_no_clean_line_is_flagged():
    """Under one in a hundred would do; there are none, so each new one is to be named here."""
    assert [line for line in CLEAN if credentials(line)] == []
    assert credentials("\n".join(CLEAN)) == ()


def test_a_clean_text_comes_back_as_the_same_object():
    text = "\n".join(CLEAN)
    value = {"files": [text, 1, None], "more": (text, {"n": 2.5})}
    assert redact(text) is text
    assert redact_value(value) is value


def test_what_is_redacted_says_its_kind_and_keeps_the_rest():
    key = "gh" + "p_" + "a1B2c3D4e5F6" * 3
    assert redact(f"- token: `{key}`, rotate it") == "- token: `[redacted: GitHub token]`, rotate it"
    assert redact("password = hunter2\nrows = 8") == "password = [redacted: password]\nrows = 8"
    assert redact(redact("password = hunter2")) == redact("password = hunter2")


@every_row("kind", sorted({sample.kind for sample in SAMPLES}))
def test_redacting_twice_is_redacting_once(kind):
    for sample in (s for s in SAMPLES if s.kind == kind):
        once = redact(sample.text)
        assert once != sample.text and credentials(once) == () and redact(once) is once


def test_findings_tell_the_line_and_not_the_value():
    for sample in SAMPLES:
        text = f"first\n\n{sample.text}"
        findings = credentials(text)
        said = refusal(findings, "/AGENTS.md") + repr(findings)
        assert "\n" not in said and not any(value in said for value in sample.values)
        assert all(f.line == text.count("\n", 0, f.start) + 1 for f in findings)
    found = credentials("a\npassword: hunter2\n")
    assert refusal(found, "/AGENTS.md").startswith(
        "not written to /AGENTS.md: it holds a value named password (line 2);"
    )


def test_a_value_under_a_telling_key_is_found_in_nested_values():
    call: dict[str, Any] = {"name": "connect", "args": {"user": "ann", "password": "hunter2", "tables": ["a", "b"]}}
    clean: Any = redact_value(call)
    assert clean["args"] == {"user": "ann", "password": "[redacted: password]", "tables": ["a", "b"]}
    assert clean["args"]["tables"] is call["args"]["tables"]
    assert redact_value([("password = hunter2",)]) == [("password = [redacted: password]",)]


PARTS = st.sampled_from(
    [
        "password",
        "=",
        ": ",
        " ",
        "\n",
        '"',
        "'",
        "\\n",
        "token",
        "api_key",
        "\u5bc6\u7801",
        "\uff1a",
        "hunter2",
        "a1B2c3D4e5F6g7H8",
        "[redacted: password]",
        "[redacted: ",
        "]",
        "://",
        "ann",
        "@",
        "gh" + "p_",
        "sk" + "-",
        "eyJ",
        ".",
        "-----BEGIN ",
        ";",
        "&",
        "İ",
        "PRIVATE KEY-----",
        "-----END ",
        "AKIA",
        "ABCDEFGH12345678",
        "Bearer ",
        "basic ",
        "login ",
        "*",
        "(",
        "--",
        "-u ",
        "x" * 40,
    ]
)
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


@given(st.sampled_from(SAMPLES), st.text(max_size=20), st.text(max_size=20))
def test_a_credential_is_found_between_other_lines(sample, before, after):
    text = f"{before}\n{sample.text}\n{after}"
    assert not any(value in redact(text) for value in sample.values)


SEEDS = [
    "a",
    "=",
    "M",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "password",
    "password=",
    "api_key=",
    "eyJ",
    "://a:b",
    "sk-",
    "\u5bc6\u7801\uff1a",
]


@pytest.mark.slow
def test_endless_lines_do_not_hang():
    """In a process of its own, so that a hang is a failure; a quadratic rule would need minutes for these."""
    seeds = [*SEEDS, "[redacted: password]", "İtoken=", "pass='a "]
    code = "import sys; from deepnb.gate import credentials as c; [c(s * (50_000 // len(s))) for s in sys.argv[1:]]"
    subprocess.run([sys.executable, "-c", code, *seeds], check=True, timeout=60)


@every_row(
    "line",
    [
        "The root pw is Tr0ub4dor",
        "密码设置为 abc12345",
        "账号 root 密码 Passw0rd99",
        "the api key for weather is " + "Cxi1aF3fIMcx" * 2,
        "WEATHER_KEY=" + "q8Zk2LmN0pXv" * 3,
        "password -> abc123XYZ",
        "redis-cli -a S3cr3tPw9 ping",
        "password=correcthorsebattery",
    ],
)
def test_found_by_a_second_look(line):
    """Made after the rules, when the first version missed them."""
    assert credentials(line)


@every_row(
    "line",
    [
        "test pass: 12/14",
        "passing: test_a1",
        "token_sha256: " + "0a1b2c3d" * 8,
        "ps -u ann:staff2",
        "def workspace_secrets(self) -> AsyncWorkspaceSecretsResource",
        'CHALLENGE_PASSWORD: "challengePassword"',
        'PRIVATE_KEY_USAGE_PERIOD: "privateKeyUsagePeriod"',
        '"passphrase": "string?"',
        "PWD=/home/ann/work2",
        "PRIMARY_KEY=" + "0a1b2c3d" * 4,
    ],
)
def test_false_alarms_of_the_first_version(line):
    assert credentials(line) == ()


def test_four_digits_make_a_token_one_that_chance_made() -> None:
    """Below four a lower-case body may be words with a number; from four on it is a credential, alone or by its name."""
    for digits, found in ((2, False), (3, False), (4, True), (5, True), (6, True)):
        body = "kqzvmwtxhbrydgnpcfjl"
        token = "".join(f"{body[n]}{n + 3}" if n < digits else body[n] for n in range(len(body)))
        assert by_chance(token) is found, token
        assert bool(credentials(f"we use sk-proj-{token} there")) >= found, token
    for value, found in (("!82.1", False), ("!821", False), ("!821.", False), ("!8214", True), ("!82145", True)):
        assert password_like(value) is found, value
