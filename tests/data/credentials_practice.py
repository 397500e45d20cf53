"""Made credentials to write the rules by: templates filled from bytes drawn by a seeded chance, none ever issued."""

import base64
import random
from collections.abc import Callable, Iterator

from tests.data.credentials import Sample

Chance = random.Random


def _b62(chance: Chance, size: int) -> str:
    out = ""
    while len(out) < size:
        out += base64.b64encode(chance.randbytes(48)).decode().translate({43: None, 47: None, 61: None})
    return out[:size]


def _url(chance: Chance, size: int) -> str:
    return base64.urlsafe_b64encode(chance.randbytes(size)).decode()[:size]


def _std(chance: Chance, size: int) -> str:
    return base64.b64encode(chance.randbytes(size)).decode()[:size]


def _hex(chance: Chance, size: int) -> str:
    return chance.randbytes(size).hex()[:size]


def _b32(chance: Chance, size: int) -> str:
    return base64.b32encode(chance.randbytes(size)).decode()[:size]


Draw = Callable[[Chance, int], str]
# prefix, how its body is drawn, of how many characters
PREFIXES: tuple[tuple[str, Draw, int], ...] = (
    ("lsk_", _b62, 32), ("cio-", _url, 40), ("acme_live_", _b62, 24), ("zmb_pat_", _hex, 40), ("kx-prod-", _b62, 48),
    ("qdrant_", _url, 44), ("ops_ey", _b62, 120), ("hvb-", _b62, 36), ("mlflowtok-", _hex, 64), ("NRII-", _url, 32),
    ("LTKN_", _b32, 40), ("sumo-su", _b62, 26), ("dsk.", _b62, 40), ("mb~", _url, 36), ("gr_api_v2_", _std, 60),
    ("vx_sk_", _url, 28), ("tok-", _hex, 48), ("wrk_secret_", _hex, 32),
    ("pat-eu1-", lambda c, n: "-".join(_hex(c, k) for k in (8, 4, 4, 4, 12)), 36),
    ("rbk_", lambda c, n: f"{_b62(c, 10)}_{_b62(c, 24)}", 35), ("flyv1-", _std, 90),
    ("ap2_", lambda c, n: _b62(c, n).lower(), 40),
)  # fmt: skip
SENTENCES = (
    "It is {} for now.", "- staging: {}", "ran `./deploy {}` and it worked", "请用 {} 测试", 'connect("eu", "{}")',
    "https://h.dev/x?t={}&n=1",
)  # fmt: skip
WORDS = ("DB_PASSWORD", "ADMIN_PWD", "Password", "rootPassword", "smtp_passwd")
TOKENS = ("API_KEY", "apiKey", "client_secret", "ACCESS_TOKEN", "SigningSecret")
# `N` is the name, `V` its value.
FORMS = {
    "type": ('var N string = "V"', 'const N: &str = "V";', 'char N[] = "V";', 'N := String::from("V")', 'let N: String = "V".into();'),
    "call": ('os.Setenv("N", "V")', 'settings.put("N", "V");', "env.set('N','V')", 'h.Add("X-N", "V")', 'pairs = [("N", "V")]'),
    "setter": ('cfg.setN("V")', 'x.withN("V").build()', "  N 'V'"),
    "operator": ("N ?= V", "N := V", "N ::= V", "$N .= 'V';", 'N ||= "V"', 'N <- "V"', "${N:-V}"),
    "xml": ("<N>\n  V\n</N>", "<N>\n<![CDATA[V]]>\n</N>", '<N kind="x">\n\tV\n</N>', "<key>N</key>\n<string>V</string>"),
    "pair": ("- name: N\n  value: V", "- name: N\n  value: 'V'", '{"name":"N","value":"V"}', '{"value": "V", "name": "N"}', '"key": "N",\n"value": "V",', 'variable "N" {\n  default = "V"\n}'),
    "attribute": ('<add key="N" value="V"/>', "<prop name='N' value='V' />", '<item name="N">V</item>', '<add value="V" key="N"/>'),
    "table": ("| id | N |\n|----|---|\n| 1 | V |", "| N | host |\n|:-:|---|\n| `V` | a |\n", "| N | V |", "id,N\n1,V\n", "N\thost\nV\tdb"),
    "next line": ("N:\n    V\n", "## N\n\n`V`\n", "N:\n```\nV\n```", "N: |\n  V\n", 'N = (\n  "V"\n)', '"N":\n  "V"'),
    "command": ("ENV N V", "setenv N V", 'setx N "V"', "gcloud config set app/N V", "tool --N V", 'gh secret set N -b "V"'),
    "sentence": ("Use V as the N.", "V is the N of the shop.", "the N was changed to V", "set N to V", "N - V", "with N V"),
}  # fmt: skip
COOKIES = (
    "Cookie: a=b; sid=V", "Set-Cookie: session=V; Secure", "curl -b 'id=V' -H 'cookie: s=V2'", '"cookie": "auth=V"',
)  # fmt: skip


def samples() -> tuple[Sample, ...]:
    """All of them, the same in every run; `kind` is the form."""
    return tuple(_samples(Chance(1616)))


def _samples(chance: Chance) -> Iterator[Sample]:
    for at, (prefix, draw, size) in enumerate(PREFIXES):
        for n in range(3):
            value = prefix + draw(chance, size)
            yield Sample("prefix", SENTENCES[(at + 2 * n) % len(SENTENCES)].format(value), (value,))
    for form, templates in FORMS.items():
        for at, template in enumerate(templates):
            for name, value in (
                (WORDS[at % len(WORDS)], _password(chance, at)),
                (TOKENS[at % len(TOKENS)], (_b62, _hex)[at % 2](chance, 32)),
            ):
                # first the name: a value may hold an N
                text = template.replace("ENV", "\1").replace("V", "\0").replace("N", name, 1).replace("\1", "ENV")
                yield Sample(form, text.replace("</N>", f"</{name}>").replace("\0", value, 1), (value,))
    for template in COOKIES:
        value, other = _b62(chance, 28), _b62(chance, 24)
        text = template.replace("V2", other).replace("V", value)
        yield Sample("cookie", text, (value, other) if "V2" in template else (value,))


def _password(chance: Chance, at: int) -> str:
    word = chance.choice(("Rowan", "violet", "Lagoon", "ember"))
    return (
        f"{word}{chance.randrange(100, 9999)}",
        f"{_b62(chance, 6)}!{_b62(chance, 6)}7",
        f"{word}-{chance.choice(('stone', 'Mill'))}-{chance.randrange(10, 99)}",
        _b62(chance, 15) + "4",
    )[at % 4]
