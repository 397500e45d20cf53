"""Made credentials in the places they turn up, and nothing a scanner of this repository would find.

Each value is put together at run time from parts and a seeded chance; none was ever issued.
Frozen before the rules were written: `DIGEST` in tests/gate/test_secrets.py holds them still.
"""

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.data import sections, unescaped

ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
B64 = ALNUM + "+/"
URLSAFE = ALNUM + "-_"
HEX = "0123456789abcdef"


@dataclass(frozen=True)
class Sample:
    """A text and the parts of it that must not survive."""

    kind: str
    text: str
    values: tuple[str, ...]


def _body(rng: random.Random, alphabet: str, count: int) -> str:
    """`count` characters, at least one digit and one letter, no punctuation at the ends."""
    while True:
        made = "".join(rng.choices(alphabet, k=count))
        if made[0].isalnum() and made[-1].isalnum() and any(c.isdigit() for c in made) and not made.isdigit():
            return made


def _b64(rng: random.Random, count: int) -> str:
    return base64.b64encode(rng.randbytes(count)).decode()


def _uuid(rng: random.Random) -> str:
    return "-".join(_body(rng, HEX, n) for n in (8, 4, 4, 4, 12))


def _jwt(rng: random.Random) -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": _body(rng, LOWER, 10), "iat": rng.randrange(10**9)})
    coded = [base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts]
    return ".".join([*coded, _body(rng, URLSAFE, 43)])


def _discord(rng: random.Random) -> str:
    head = base64.b64encode(str(rng.randrange(10**17, 10**18)).encode()).decode().rstrip("=")
    return f"{head}.{_body(rng, ALNUM, 6)}.{_body(rng, URLSAFE, 38)}"


Make = Callable[[random.Random], str]


def _made(prefix: str, alphabet: str, count: int, tail: str = "") -> Make:
    return lambda rng: prefix + _body(rng, alphabet, count) + tail


# Those that show what they are by themselves: kind -> ways to make one.
BARE: dict[str, tuple[Make, ...]] = {
    "aws access key": (_made("AK" + "IA", UPPER, 16), _made("AS" + "IA", UPPER, 16)),
    "google api key": (_made("AI" + "za", URLSAFE, 35),),
    "anthropic": (_made("sk-" + "ant-api03-", URLSAFE, 93, "AA"), _made("sk-" + "ant-oat01-", URLSAFE, 86)),
    "openai": (_made("sk" + "-", ALNUM, 48), _made("sk-" + "proj-", URLSAFE, 120),
               _made("sk-" + "svcacct-", URLSAFE, 74)),
    "openrouter": (_made("sk-" + "or-v1-", HEX, 64),),
    "huggingface": (_made("h" + "f_", string.ascii_letters + "0123", 34),),
    "github classic": tuple(_made(f"gh{c}" + "_", ALNUM, 36) for c in "pousr"),
    "github fine": (lambda r: "github" + "_pat_" + _body(r, ALNUM, 22) + "_" + _body(r, ALNUM, 59),),
    "gitlab": (_made("gl" + "pat-", URLSAFE, 20),),
    "slack token": (
        lambda r: "xo" + "xb-" + f"{r.randrange(10**11, 10**12)}-{r.randrange(10**12, 10**13)}-" + _body(r, ALNUM, 24),
        lambda r: "xo" + "xp-" + f"{r.randrange(10**11, 10**12)}-{r.randrange(10**11, 10**12)}-" + _body(r, HEX, 32),
        lambda r: "xo" + "xa-2-" + f"{r.randrange(10**11, 10**12)}-" + _body(r, HEX, 32),
        lambda r: "xo" + "xr-" + f"{r.randrange(10**11, 10**12)}-" + _body(r, ALNUM, 40),
        lambda r: "xo" + "xs-" + f"{r.randrange(10**11, 10**12)}-" + _body(r, HEX, 40),
        lambda r: "xa" + "pp-1-A" + _body(r, UPPER, 10) + f"-{r.randrange(10**12, 10**13)}-" + _body(r, HEX, 64),
    ),
    "slack webhook": (
        lambda r: (
            "https://hooks.sl" + f"ack.com/services/T{_body(r, UPPER, 8)}/B{_body(r, UPPER, 10)}/{_body(r, ALNUM, 24)}"
        ),
    ),
    "stripe": (_made("sk_" + "live_", ALNUM, 24), _made("rk_" + "live_", ALNUM, 99),
               _made("sk_" + "live_51", ALNUM, 97)),
    "twilio key": (_made("S" + "K", HEX, 32),),
    "sendgrid": (lambda r: "S" + "G." + _body(r, URLSAFE, 22) + "." + _body(r, URLSAFE, 43),),
    "mailgun": (_made("ke" + "y-", HEX, 32),), "npm": (_made("np" + "m_", ALNUM, 36),),
    "pypi": (_made("py" + "pi-AgEIcHlwaS5vcmc", URLSAFE, 150),),
    "digitalocean": (_made("dop" + "_v1_", HEX, 64),),
    "databricks": (_made("da" + "pi", HEX, 32), _made("da" + "pi", HEX, 32, "-2")),
    "telegram": (lambda r: f"{r.randrange(10**8, 10**10)}:" + "AA" + _body(r, URLSAFE, 33),),
    "discord": (_discord,), "jwt": (_jwt,),
    "langsmith": (lambda r: "lsv2" + "_pt_" + _body(r, HEX, 32) + "_" + _body(r, HEX, 10),),
}  # fmt: skip

PLACES = {kind: [unescaped(one) for one in lines] for kind, lines in sections("credentials").items()}
"""Where a value of a kind stands; `anywhere` is for those that show what they are by themselves."""


def _password(rng: random.Random, style: int, signs: str = "!#$%^*+_-") -> str:
    match style % 5:
        case 0:
            return _body(rng, ALNUM, 14)
        case 1:
            return rng.choice(("Winter", "Harbour", "Maple", "Copper")) + str(rng.randrange(1000, 9999)) + signs[0]
        case 2:
            return _body(rng, ALNUM, 6) + rng.choice(signs) + _body(rng, ALNUM, 5) + rng.choice(signs)
        case 3:
            return (
                f"{rng.choice(('otter', 'falcon', 'badger'))}-{rng.choice(('lamp', 'river'))}-{rng.randrange(10, 99)}"
            )
        case _:
            return rng.choice(("hunter", "dragon", "sommer", "letmein")) + str(rng.randrange(2, 9999))


# Those known by what stands around them: kind -> (places, how to make the value for the nth).
def _basic(rng: random.Random, i: int) -> str:
    return base64.b64encode(f"deploy:{_password(rng, i)}".encode()).decode()


def _plain(alphabet: str, count: int) -> Callable[[random.Random, int], str]:
    return lambda rng, _: _body(rng, alphabet, count)


MAKERS: dict[str, Callable[[random.Random, int], str]] = {
    "aws secret key": _plain(B64, 40),
    "aws session token": lambda rng, _: "IQoJb3JpZ2luX2Vj" + _body(rng, B64, 300) + "==",
    "azure storage": lambda rng, _: _b64(rng, 64),
    "azure sas": lambda rng, _: _b64(rng, 32).replace("+", "%2B").replace("/", "%2F").replace("=", "%3D"),
    "twilio auth token": _plain(HEX, 32), "heroku": lambda rng, _: _uuid(rng),
    "password in a url": lambda rng, i: _password(rng, i, "!$*_-"),
    "connection string": lambda rng, i: _password(rng, i, "!#$*_-"),
    "password": lambda rng, i: _password(rng, i),
    "password in chinese": lambda rng, i: _password(rng, i, "!#$*_-") if i % 4 else str(rng.randrange(10**7, 10**8)),
    "secret assignment": lambda rng, i: _body(rng, (ALNUM, HEX, LOWER)[i % 3], (24, 40, 32)[i % 3]),
    "bearer": _plain(ALNUM, 40), "basic header": _basic, "netrc": lambda rng, i: _password(rng, i),
    "pgpass": lambda rng, i: _password(rng, i, "!#$*_-"), "curl": lambda rng, i: _password(rng, i, "!#*_-"),
}  # fmt: skip

PEM_PLACES: tuple[str, ...] = ("{}", "Put this into ~/.ssh:\n\n```\n{}\n```\nthanks", "  {}", "+{}", "> {}")


def _pem(rng: random.Random) -> Iterator[Sample]:
    for i, name in enumerate(("RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED ", "DSA ", "PGP ")):
        tail = " BLOCK" if name == "PGP " else ""
        head, foot = "-----BEG" + f"IN {name}PRIVATE KEY{tail}-----", f"-----END {name}PRIVATE KEY{tail}-----"
        rows = [_body(rng, B64, 64) for _ in range(6)] + [_body(rng, B64, 30) + "="]
        extra = ["Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC,0123", ""] if name == "RSA " else []
        extra = ["Version: GnuPG v2", ""] if name == "PGP " else extra
        for place in (PEM_PLACES[i % 5], PEM_PLACES[(i + 2) % 5]):
            lead, _, rest = place.rpartition("{}")
            mark = lead if lead in ("  ", "+", "> ") else ""
            block = ("\n" + mark).join([head, *extra, *rows, foot])
            yield Sample(f"pem {name or 'PKCS8 '}".strip(), lead + block + rest, tuple(rows))
        one = json.dumps(
            {"type": "service_account", "private_key_id": "4", "private_key": "\n".join([head, *rows, foot, ""])}
        )
        yield Sample("gcp service account" if not name else f"pem in json {name}".strip(), one, tuple(rows))
        cut = "\n".join(["here is the start of it:", head, *rows[:3]])
        yield Sample(f"pem cut short {name}".strip(), cut, tuple(rows[:3]))


def samples() -> tuple[Sample, ...]:
    """All of them, the same in every run."""
    rng = random.Random(20260214)
    made: list[Sample] = []
    for at, (kind, ways) in enumerate(BARE.items()):
        for n in range(max(7, len(ways) + 1)):
            value = ways[n % len(ways)](rng)
            place = PLACES["anywhere"][(at * 3 + n * 5) % len(PLACES["anywhere"])]
            made.append(Sample(kind, place.format(value), (value,)))
    for kind, make in MAKERS.items():
        places = PLACES[kind]
        for n, place in enumerate(places):
            value = make(rng, n)
            made.append(Sample(kind, place.format(value), (value,)))
        value = make(rng, len(places))
        made.append(Sample(kind, f"Notes\n\nfirst line\n{places[0].format(value)}\nlast line\n", (value,)))
    key, secret = BARE["aws access key"][0](rng), _body(rng, B64, 40)
    made.append(
        Sample("aws pair", f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n", (key, secret))
    )
    made.extend(_pem(rng))
    return tuple(made)
