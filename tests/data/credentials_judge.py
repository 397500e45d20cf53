"""Made credentials to judge the rules by: prefixes bare in a sentence, and names with secrets in many forms.

Written before the rules of this form and never tuned on: what `python -m tests.bench credentials` finds of them is the
figure that counts. Nothing here is drawn as in `credentials.py` or `credentials_practice.py`. Each value is drawn at
run time by a seeded chance; none was ever issued, and no line of this file looks like one.
"""

import random
import string
import uuid

from tests.data import sections, unescaped
from tests.data.credentials import Sample

DIGITS, LOWER, UPPER = string.digits, string.ascii_lowercase, string.ascii_uppercase
BODIES = {
    "alnum": DIGITS + LOWER + UPPER, "url": DIGITS + LOWER + UPPER + "-_", "hex": DIGITS + "abcdef",
    "base36": DIGITS + LOWER, "base32": UPPER + "234567",
    "base58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
}  # fmt: skip

FORMS = sections("credentials_judge")
"""Form -> its lines: name style | text."""
VENDORS = FORMS.pop("vendors")
"""Prefix, then pieces `kind:length`, joined by what stands between them. As vendors document their keys."""
PLACES = FORMS.pop("places")

NAMES = {
    "upper": "DB_PASSWORD STRIPE_SECRET GITHUB_TOKEN JWT_SECRET CLIENT_SECRET SMTP_PASSWORD ADMIN_PASSWORD API_KEY "
    "ENCRYPTION_KEY AUTH_TOKEN REFRESH_TOKEN WEBHOOK_SECRET MYSQL_ROOT_PASSWORD SENTRY_AUTH_TOKEN LDAP_BIND_PASSWORD",
    "snake": "db_password api_key client_secret access_token admin_password signing_secret auth_token secret_key",
    "camel": "dbPassword apiKey clientSecret accessToken adminPassword signingSecret authToken secretKey userPassword",
    "pascal": "Password ApiKey ClientSecret AccessToken DbPassword SecretKey AuthToken SmtpPassword",
    "kebab": "db-password api-key client-secret access-token auth-token admin-password",
    "dotted": "spring.datasource.password mail.smtp.password app.api.key security.jwt.secret aws.secretKey",
    "human": "Password;API key;Access token;Admin password;Client secret;Database password;Wifi password",
    "words": "password;API key;access token;admin password;client secret;database password;auth token",
}


def samples() -> tuple[Sample, ...]:
    """All of them, the same in every run; `kind` is the form."""
    rng = random.Random("a jury of its own")
    made = [_placed(rng, "vendor prefix", _vendor(rng, shape)) for shape in VENDORS]
    made += [_placed(rng, "made-up prefix", _made_up(rng)) for _ in range(70)]
    for form, rows in FORMS.items():
        for row in rows:
            made += [_named(rng, form, row) for _ in range(3)]
    return tuple(made)


def _vendor(rng: random.Random, shape: str) -> str:
    prefix, *pieces = shape.split("|")
    return prefix + "".join(_piece(rng, piece) for piece in pieces)


def _piece(rng: random.Random, piece: str) -> str:
    if piece == "uuid":
        return str(uuid.UUID(int=rng.getrandbits(128), version=4))
    kind, colon, length = piece.partition(":")
    return _body(rng, kind, int(length)) if colon else piece


def _body(rng: random.Random, kind: str, length: int) -> str:
    return "".join(rng.choice(BODIES[kind]) for _ in range(length))


def _made_up(rng: random.Random) -> str:
    """A vendor nobody has heard of: syllables or initials, perhaps what the key is for, then its body."""
    syllables = [rng.choice("bcdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.randint(1, 3))]
    vendor = rng.choice(["".join(syllables), "".join(rng.choices(LOWER, k=rng.randint(2, 4)))])
    vendor += rng.choice(["", "", "api", "key", "sk"])
    mark = rng.choice("__-")
    use = rng.choice(["", "", "live", "prod", "pat", "sk", "v1", "secret", "token", "user"])
    prefix = f"{vendor}{mark}{use}{mark if use else ''}"
    kind = rng.choice(["alnum", "alnum", "url", "hex", "base36", "base58"])
    length = rng.choice([32, 40, 48, 64]) if kind == "hex" else rng.randint(24, 64)
    return (prefix.upper() if rng.random() < 0.1 else prefix) + _body(rng, kind, length)


def _placed(rng: random.Random, form: str, value: str) -> Sample:
    return Sample(form, rng.choice(PLACES).replace("VALUE", value), (value,))


def _named(rng: random.Random, form: str, row: str) -> Sample:
    style, _, text = row.partition("|")
    text = unescaped(text)
    known = NAMES.get(style, "")
    name = rng.choice(known.split(";") if ";" in known else known.split()) if known else ""
    value = _password(rng) if "pass" in name.lower() else _body(rng, rng.choice(["alnum", "hex", "url"]), 32)
    value = _body(rng, "alnum", rng.randint(24, 40)) if "TOKEN" in text and not known else value
    text = text.replace("TOKEN", "VALUE") if not known else text
    return Sample(form, text.replace("NAME", name).replace("VALUE", value), (value,))


def _password(rng: random.Random) -> str:
    """As people and their tools make them."""
    word = rng.choice(["Sunset", "tiger", "Kestrel", "oak", "Monday", "quartz", "Berlin", "pepper"])
    match rng.randrange(5):
        case 0:
            return word + str(rng.randint(10, 99999)) + rng.choice(["", "!", "?"])
        case 1:
            return _body(rng, "alnum", rng.randint(10, 20)) + rng.choice(DIGITS)
        case 2:
            return word[:2] + rng.choice("@$!%*") + _body(rng, "base36", 6) + rng.choice(UPPER) + rng.choice(DIGITS)
        case 3:
            return f"{word}-{rng.choice(['moss', 'Copper', 'delta'])}-{rng.randint(1, 99)}"
        case _:
            return f"{word}_{rng.choice(DIGITS)}{_body(rng, 'base58', 5)}#{rng.randint(1, 9)}"
