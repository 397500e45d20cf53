"""Made credentials by names in any case, split values, commands and prose; vendors' prefixes; and notes without any.

Values are drawn by a seeded chance at run time and none was ever issued, so that no line of this file looks like one.
"""

import base64
import json
import random
import re
import string
from collections.abc import Callable, Iterator

from tests.data import sections
from tests.data.credentials import Sample

Chance = random.Random
DIGITS, LOWER, UPPER = string.digits, string.ascii_lowercase, string.ascii_uppercase
BODIES = {
    "b62": DIGITS + LOWER + UPPER, "url": DIGITS + LOWER + UPPER + "-_", "std": DIGITS + LOWER + UPPER + "+/",
    "hex": DIGITS + "abcdef", "b36": DIGITS + LOWER, "b32": UPPER + "234567", "dec": DIGITS,
}  # fmt: skip


def body(chance: Chance, kind: str, size: int) -> str:
    """A body of letters and digits, both, with neither sign at its ends."""
    if kind == "uuid":
        return "-".join(body(chance, "hex", n) for n in (8, 4, 4, 4, 12))
    while True:
        made = "".join(chance.choices(BODIES[kind], k=size))
        if made[0].isalnum() and made[-1].isalnum() and (kind == "dec" or any(c.isdigit() for c in made)):
            return made


# -- by name and chance, in any case of letters

_NAMES_TEXT = """
zotero_key fred_key tiingo_key eodhd_key dune_key ncbi_key infuraKey alchemyKey moralisKey etherscanKey quandlKey
here_key mapsKey polygonKey newsKey gitlab_pat azdo_pat github_pat_ro GITEA_PAT jiraPat sonarPat sentry_auth plaid_sk
bunny_tok harbor_cred vaultCred webhook_hmac lake_sas PEPPER cookie_salt totp_seed signingSeed license_key mqttAuth
kaiko_key Nansen-Key graph-key OPENCAGE_KEY voyagekey
"""
NAMES = _NAMES_TEXT.split()
NAMED = (
    "N = 'V'", 'N: "V"', '"N": "V",', "N=V", "N: V", "export N=V", 'os.environ["N"] = "V"', 'os.environ.setdefault("N", "V")',
    "<N>V</N>", "| N | V |", "ENV N V", "--N V", "?N=V&page=2", "N => 'V',", 'const N = `V`;', "self.N = 'V'  # old",
    'client = Client(N="V")', "- N=V", "N := \"V\"", "fetch(url, {N: 'V'})", "N <- \"V\"", "set N V", "my N is V", "`N`: `V`",
)  # fmt: skip

# -- split over operators and lines: A and B are the halves

SPLIT = (
    'NAME = "A" + "B"', 'NAME = "A" "B"', "NAME = ('A'\n        'B')", 'NAME = "A" \\\n    "B"', 'NAME = "A" +\n  "B";',
    'NAME = "A"\n  + "B"', "NAME = 'A' . 'B';", 'NAME = "A" .. "B"', 'NAME = "A" & "B"', 'NAME = "A"\nNAME += "B"',
    "NAME := 'A' || 'B';", 'NAME = "".join(["A", "B"])', 'NAME = paste0("A", "B")', "{'NAME': 'A' + 'B'}", 'f(NAME="A" f"B")',
    'NAME = "A" <> "B"', 'let NAME = concat!("A", "B");',
)  # fmt: skip
SPLIT_BARE = ('x = "A" + "B"', "use('A' 'B')", 'Client("A"\n       "B")', 'x = ["A" "B"]')

# -- commands, connection strings, files of configuration; P is a password

COMMANDS = (
    "curl -u ann:§ https://x.dev/a", "curl -sSf -X POST -uann:§ https://x.dev", "curl https://x.dev/a -u 'ann:§'", "http -a ann:§ GET x.dev",
    "docker login -u ann -p § ghcr.io", "docker login ghcr.io -p § -u ann", "podman login -p=§ quay.io", "helm registry login r.dev -u ann -p §",
    "java -Ddb.login=§ -jar app.jar", "mvn deploy -Drepo.password=§", "gradle -Psigning.password=§", "java -Djavax.net.ssl.keyStorePassword=§ -jar a.jar",
    "Driver={ODBC Driver 18};Server=db;UID=ann;PWD=§", "DRIVER=SQLite;Uid=ann;Pwd=§;Encrypt=yes", "DSN=wh;UID=ann;Pwd=§", "Data Source=db;User ID=ann;Password=§;Pooling=true",
    "services:\n  db:\n    environment:\n      - POSTGRES_PASSWORD=§\n", "environment:\n  MYSQL_ROOT_PASSWORD: §", "docker run -e REDIS_PASSWORD=§ redis", "      - MINIO_ROOT_PASSWORD=§",
    "psql \"host=db user=ann password=§\"", "PGPASSWORD=§ psql -h db", "mysql -h db -u ann -p§ shop", "mysqldump --password=§ shop",
    "sshpass -p § ssh ann@db", "ftp://ann:§@files.dev/a", "smbclient //nas/x -U 'ann%§'", "mount -o username=ann,password=§ //nas/x /mnt",
    "net use Z: \\\\nas\\x /user:ann §", "7z x -p§ a.7z", "unzip -P § a.zip", "openssl enc -aes-256-cbc -k § -in a", "openssl rsa -passin pass:§ -in k.pem",
    "gpg --batch --passphrase § -d a.gpg", "wget --http-user=ann --http-passwd=§ x.dev", "redis-cli -h db -a §", "mongosh --username ann --password § db", "kinit ann <<< §",
    "echo § | sudo -S apt update", "echo '§' | docker login --password-stdin", "ldapsearch -D cn=ann -w §", "rclone obscure §", "az login -u ann -p §", "snowsql -u ann --pwd §", "sqlcmd -S db -U ann -P §",
    "createuser('ann', password='§')", "CREATE USER ann WITH PASSWORD '§';", "ALTER ROLE ann PASSWORD '§'", "IDENTIFIED BY '§'", "htpasswd -b .htpasswd ann §", "requests.get(u, auth=('ann', '§'))", "HTTPBasicAuth('ann', '§')",
    "conn = psycopg.connect('dbname=a user=ann password=§')", "spring.datasource.password=§", "[smtp]\nuser = ann\npass = §", "$env:DB_PASSWORD = '§'", "machine x.dev login ann password §", "default_pass: §",
)  # fmt: skip

# base64 under a name, as Kubernetes keeps it
ENCODED = (
    "data:\n  password: E", "  db-password: E\n  host: ZGI=", '"password": "E"',
    "kind: Secret\ndata:\n  username: YW5u\n  password: E\n",
)  # fmt: skip

# -- sentences in five languages

PROSE = (
    "my laptop login is §", "The login for the staging box is §, do not share it.", "Log in as ann with §.", "log into the NAS with §", "the wifi is §",
    "Our Wi-Fi code is §.", "unlock the vault with §", "To sign in, use ann and §.", "Ann's password for the cluster: §", "password for the printer is §",
    "I changed the root password to § yesterday.", "credentials: ann / §", "the admin account is ann with § as password", "The pw of the demo user is §", "login ann, pass §", "Username: ann Password: §", "you get in with §", "the passcode for the lab is §",
    "Mein Passwort lautet §.", "Das WLAN-Passwort ist §", "Der Zugang zum NAS ist §.", "Anmelden mit ann und §", "Die Zugangsdaten sind ann / §", "Melde dich mit § an.", "Kennwort für den Server: §", "Das Passwort für die Datenbank wurde auf § geändert",
    "Le mot de passe est §.", "Mon mot de passe du serveur est §", "Le code d'accès du wifi est §", "Connecte-toi avec ann et §", "Identifiants : ann / §", "Mot de passe : §", "le mdp est §", "Le mot de passe de la base a été changé en §",
    "La contraseña es §.", "La contraseña del servidor es §", "Mi clave del wifi es §", "Entra con ann y §", "La clave de acceso es §", "Contraseña: §", "Usuario ann, contraseña §", "Cambié la contraseña a §",
    "密码是§。", "数据库的密码是 §", "登录密码：§", "我的wifi密码是§，别外传", "用户名 ann 密码 §", "用 ann 和 § 登录", "口令为§", "服务器密码改成了 §", "账号ann，密码§", "请用密码 § 登录",
)  # fmt: skip

MORE = sections("credentials_kinds")
"""More of each, `\\n` for a line's end: written when the rules for the above were there, to see what they miss. And
`vendors`, which are a prefix and pieces `kind:length`, as vendors document them, and `suffixes`."""
VENDORS, SUFFIXES = MORE["vendors"], MORE["suffixes"]

# K is drawn by chance and has no prefix
CHANCE_PROSE = (
    "the Datadog one is K", "Mapbox: K", "use K for Algolia", "our Mixpanel project uses K", "weights and biases K", "OpenWeather gives us K", "Cloudflare -> K", "K (Mailjet, read only)",
    "my api key is K", "The key for the weather service is K.", "token K works until May", "we authenticate with K", "der Schlüssel für Deepl ist K", "La clé d'API est K", "la clave de la API es K", "我的密钥是K", "API 密钥：K", "用这个令牌：K", "le jeton est K", "mein Token: K", "el token de acceso es K", "Zugriffstoken K", "bearer K", "the secret is K",
)  # fmt: skip
VENDOR_NAMES = [
    "datadog_x", "MAPBOX", "algolia_admin", "openweather", "tmdb", "deepl", "finnhub", "alphavantage", "cohere",
    "pinecone",
]  # fmt: skip

# -- shapes known by form alone

SENTENCES = (
    "Ann said to use {} this week.", "- {} (old)", "worked with `{}`", 'connect("{}")', "请用 {} 连接。",
    "it was {}, then we moved", "{}",
)  # fmt: skip


def shape(chance: Chance, pieces: str) -> str:
    """A value by its pieces: `kind:length` is drawn, anything else stands as it is."""
    out = ""
    for piece in pieces.split("|"):
        kind, _, size = piece.partition(":")
        out += body(chance, kind, int(size)) if size.isdigit() and (kind in BODIES or kind == "uuid") else piece
    return out


def vendors(seed: int = 3501) -> Iterator[Sample]:
    """Each prefix once, bare in a sentence."""
    chance = Chance(seed)
    for at, pieces in enumerate(VENDORS):
        value = shape(chance, pieces)
        yield Sample(pieces.partition("|")[0], SENTENCES[at % len(SENTENCES)].format(value), (value,))


def _random(chance: Chance) -> str:
    kind, size = chance.choice(
        (("b62", 24), ("hex", 32), ("url", 40), ("b36", 32), ("std", 44), ("hex", 40), ("b62", 20))
    )
    return body(chance, kind, size)


def _password(chance: Chance) -> str:
    word = chance.choice(("Winter", "Maple", "Harbor", "copper", "Sommer", "lagoon"))
    ends = "".join(chance.choices(LOWER, k=3)).capitalize() + chance.choice(UPPER)
    return chance.choice((
        f"{word}-{ends}!",
        f"{word.capitalize()}{chance.randrange(100, 9999)}{chance.choice('!#*')}",
        f"{body(chance, 'b62', 5)}{chance.choice('!#*+')}{body(chance, 'b62', 6)}",
        body(chance, "b62", 14),
        f"qu{chance.randrange(10, 99)}t-{word.capitalize()}{chance.choice('!+')}{chance.randrange(10, 99)}",
    ))  # fmt: skip


def _encoded(chance: Chance) -> str:
    return base64.b64encode(_password(chance).encode()).decode()


def _filled(kind: str, template: str, mark: str, value: str) -> Sample:
    before, after = template.rsplit(mark, 1)
    return Sample(kind, before + value + after, (value,))


def _each(
    kind: str, templates: tuple[str, ...], mark: str, chance: Chance, draw: Callable[[Chance], str]
) -> Iterator[Sample]:
    for template in templates:
        yield _filled(kind, template, mark, draw(chance))


def samples(seed: int = 35) -> tuple[Sample, ...]:
    """All of them but `vendors()`, the same in every run; `kind` says which part of this file they are of."""
    return tuple(_samples(Chance(seed)))


def _samples(chance: Chance) -> Iterator[Sample]:
    for at, name in enumerate(NAMES):
        template, value = NAMED[(at * 7 + chance.randrange(2)) % len(NAMED)], _random(chance)
        text = template.replace("ENV", "\1").replace("V", "\0").replace("N", name).replace("\1", "ENV")
        yield Sample("name", text.replace("\0", value), (value,))
    for at, template in enumerate(SPLIT):
        value = _random(chance) if at % 3 else body(chance, "b62", 9) + "!" + body(chance, "b62", 9)
        name = ("password", "api_key", "zotero_key", "clientSecret")[at % 4 if at % 3 else 0]
        yield _halved("split", template.replace("NAME", name), value)
    for template in MORE["named"]:
        yield _filled("name", template.replace("\\n", "\n"), "§", _random(chance))
    for template in MORE["passwords"]:
        yield _filled("password", template.replace("\\n", "\n"), "§", _password(chance))
    for template in MORE["split"]:
        value = body(chance, "b62", 7) + "!" + body(chance, "b62", 8) if "assword" in template else _random(chance)
        yield _halved("split", template.replace("\\n", "\n"), value)
    for template in SPLIT_BARE:
        yield _halved("split", template, "ghp" + "_" + body(chance, "b62", 36))
    yield from _each("command", COMMANDS, "§", chance, _password)
    yield from _each("base64", ENCODED, "E", chance, _encoded)
    yield from _each("prose", PROSE, "§", chance, _password)
    yield from _each("chance in prose", CHANCE_PROSE, "K", chance, _random)
    for name in VENDOR_NAMES:
        yield _filled("vendor's name", f"{name} = 'K'", "K", _random(chance))
    for at, pieces in enumerate(SUFFIXES):
        value = shape(chance, pieces)
        yield Sample("shape", SENTENCES[at % len(SENTENCES)].format(value), (value,))
    for sentence in SENTENCES[:4]:
        held = {"k": body(chance, "b62", 32), "n": "ci", "id": 1}
        value = base64.b64encode(json.dumps(held, separators=(",", ":")).encode()).decode()
        yield Sample("json in base64", sentence.format(value), (value,))
    for template in ("aws: I / S", "I S", "| I | S |", "id I, secret S", "I:S", '("I", "S")', "key=I&other=S"):
        known, value = "AK" + "IA" + body(chance, "b32", 16), body(chance, "std", 40)
        yield Sample("beside an id", template.replace("S", "\0").replace("I", known, 1).replace("\0", value), (value,))


def _halved(kind: str, template: str, value: str) -> Sample:
    a, b = value[: len(value) // 2], value[len(value) // 2 :]
    halves = {"A": a, "B": b}
    text = re.sub(r"(?<![A-Za-z])[AB](?![A-Za-z(])", lambda found: halves[found[0]], template)
    return Sample(kind, text, (a, b))
