"""Credentials by name and chance, in parts, in commands and in sentences; and what people who work with data write down."""

import io
import keyword
import random
import sysconfig
import tokenize
from itertools import permutations
from pathlib import Path

import pytest

from deepnb.gate import credentials, redact, secrecy
from tests.bench.credentials import clean_texts
from tests.data import credentials_kinds as kinds
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
        'x = ("We read the file "\n     "and write it.")',
        'x = ["name1", "name2"]',
        "'a' 'b'",
        '"""doc"""\n"""doc2"""',
    ):
        assert credentials(clean) == ()


WORDS = "heron.Lagoon" + ".6083"
MADE = "tK8w" + "Qz3nVb6r"
LOWER = "wqzxkvb" + "ntr48"
SPOKEN = "Rolagu" + "navo279"
SIGNS = "T%D@*0I?t" + "K|z^X("
GROUPS = "pdqh oyxm" + " krqb zvpf"


@every_row(
    ("text", "kept"),
    [
        # a hyphen joins where a word stands before it
        ("-ghp" + "_a1B2c3D4e5F6a1B2c3D4e5F6a1B2c3D4e5F6", "-"),
        ("removed: -glpat" + "-a1B2c3D4e5F6a1B2c3D4", "removed: -"),
        # the n-th name, the n-th value
        (f"who, passwd = 'reader', '{MADE}'", "who, passwd = 'reader', '"),
        (f'let [pw, db] = ["{WORDS}", "shop"]', 'let [pw, db] = ["'),
        (f"insert into staff (pwd, name) values ('{LOWER}', 'ann')", "insert into staff (pwd, name) values ('"),
        # behind a call, a condition, a default
        (f'pw = ask("pw") or "{WORDS}"', 'pw = ask("pw") or "'),
        (f'passwd = ask() if tty else "{LOWER}"', 'passwd = ask() if tty else "'),
        (f"let pw = env.SHOP_PASSWORD ?? '{MADE}'", "let pw = env.SHOP_PASSWORD ?? '"),
        # the argument of a call that takes one
        (f'jwt.decode(cookie, "{HASH}", ["HS512"])', 'jwt.decode(cookie, "'),
        (f'new NetworkCredential("robot", "{WORDS}")', 'new NetworkCredential("robot", "'),
        (f"store.set_password('wiki', 'robot', '{LOWER}')", "store.set_password('wiki', 'robot', '"),
        (f"bcrypt.hashpw(b'{MADE}', salt)", "bcrypt.hashpw(b'"),
        # in parts
        (f'head = "{CHANCE[:9]}"\ntail = "{CHANCE[9:]}"\napi_key = head + tail', 'head = "'),
        (f'api_key: "{CHANCE[:9]}\\\n   {CHANCE[9:]}"', 'api_key: "'),
        # commands
        (f"cqlsh -u robot -p {WORDS} node", "cqlsh -u robot -p "),
        (f"htpasswd -B -b users robot {LOWER}", "htpasswd -B -b users robot "),
        (f"mc alias set lake https://lake.dev robot {CHANCE}", "mc alias set lake https://lake.dev robot "),
        (f"curl -u robot:{WORDS.lower()} lake.dev", "curl -u robot:"),
        (f"sqlplus robot/{MADE}@//db.dev/shop", "sqlplus robot/"),
        (f"jdbc:oracle:thin:robot/{LOWER}@db.dev:1521:shop", "jdbc:oracle:thin:robot/"),
        (f"rabbitmqctl add_user robot {MADE}", "rabbitmqctl add_user robot "),
        # what is printed
        (f"  name  passwd\n0  ann  {WORDS}", "  name  passwd\n0  ann  "),
        (f" name | pw \n------+----\n ann | {MADE}", " name | pw \n------+----\n ann | "),
        (f"<td>Passwort</td>\n<td><b>{LOWER}</b></td>", "<td>Passwort</td>\n<td><b>"),
        (f"<tr><th>id</th><th>pw</th></tr><tr><td>1</td><td>{MADE}</td></tr>", "<tr><th>id</th><th>pw</th></tr><tr><td>1</td><td>"),
        (f"In [7]: passwd\nOut[7]: '{WORDS}'", "In [7]: passwd\nOut[7]: '"),
        # SQL
        (f"CREATE LOGIN robot WITH PASSWORD = N'{WORDS}'", "CREATE LOGIN robot WITH PASSWORD = N'"),
        (f"CREATE USER robot IDENTIFIED WITH sha256_password BY '{LOWER}'", "CREATE USER robot IDENTIFIED WITH sha256_password BY '"),
        # sentences
        ("Passphrase of the archive: marble kettle willow 57", "Passphrase of the archive: "),
        (f"WLAN-Schlüssel der Werkstatt: {WORDS}", "WLAN-Schlüssel der Werkstatt: "),
        (f"Le code Wi-Fi de l'atelier, c'est {LOWER}", "Le code Wi-Fi de l'atelier, c'est "),
        (f"Credenciales de lake.dev: robot / {WORDS}", "Credenciales de lake.dev: robot / "),
        (f"avec le mot de passe « {MADE} »", "avec le mot de passe « "),
        (f"We changed the webhook secret; the new one is {CHANCE}", "We changed the webhook secret; the new one is "),
        (f"Entra con el usuario robot y la clave {SPOKEN} en el panel.", "Entra con el usuario robot y la clave "),
        (f"Nimm das Kennwort {SPOKEN} dafür.", "Nimm das Kennwort "),
        (f"Utilise le mot de passe {SPOKEN} pour la base", "Utilise le mot de passe "),
        (f"log in met robot en wachtwoord {SPOKEN}", "log in met robot en wachtwoord "),
        (f"请用密码{SPOKEN}登录", "请用密码"),
        (f"Our app password is {GROUPS} for the mailer.", "Our app password is "),
        (f"Das App-Passwort lautet {GROUPS.replace(' ', '-')}.", "Das App-Passwort lautet "),
        (f"mail.login('robot@lake.dev', '{GROUPS.replace(' ', '')}')", "mail.login('robot@lake.dev', '"),
        # names in other languages
        (f"mot_de_passe = '{WORDS}'", "mot_de_passe = '"),
        (f"motDePasse: {LOWER}", "motDePasse: "),
        (f"MDP_BDD={MADE}", "MDP_BDD="),
        (f"claveAcceso = '{WORDS}'", "claveAcceso = '"),
        (f"passord_lager = '{WORDS}'", "passord_lager = '"),
        (f"clé_api = '{CHANCE}'", "clé_api = '"),
        # signs in connection strings
        (f"Database=shop;User ID=robot;Password={SIGNS};Encrypt=True;", "Database=shop;User ID=robot;Password="),
        (f"password = '{SIGNS}'", "password = '"),
        (f"postgres://robot:{SIGNS[:4]}$s{LOWER}@lake.dev", "postgres://robot:"),
        # forms of vendors
        (f"it is 2/1203948576102938/1203948576102938:{HASH} now", "it is "),
        ("use ak" + "-q7Rt2LmXw9Bc4Vz8Kp3NdY", "use "),
        ("GOCSPX" + "-vBqTnKxWzRmLdPfHsJgYcUeAoItX", ""),  # no digit
        ("server.login('robot@lake.dev', 'ar^o" + "BhY1UC')", "server.login('robot@lake.dev', '"),
        ("v1.0" + f"-{HASH[:24]}-{HASH * 4}{HASH[:18]}", ""),
    ],
)  # fmt: skip
def test_kinds_of_places_that_another_author_thought_of(text: str, kept: str) -> None:
    left = redact(text)
    assert left.startswith(f"{kept}[redacted: "), left
    assert not any(
        value in left
        for value in (WORDS, WORDS.lower(), MADE, LOWER, CHANCE[9:], HASH, "willow", SPOKEN, SIGNS, "krqb")
    )


@every_row("text", [
    '{"password_rotated_at": "2026-03-01T10:00", "passwordStrength": "good", "password": "varchar(64) "}',
    '{"password_min_age": "weekly", "secret": "Optional[bytes]", "pwd": "text?"}',
    "name, key = 'iris', 'species_2'", "user, password = read_account('shop2026')",
    "INSERT INTO staff (name, password) VALUES (?, ?)", "password = ask() or 'none was given'",
    "connect('db01.dev', 5432, 'sales_2026')", "docker run -u 1000 -p 8080:80 nginx", "mysql -u reader -p dwh2026",
    "  token  n\n0  tree2  41", "In [7]: len(password)\nOut[7]: 14", "<tr><th>token</th></tr><tr><td>tree22</td></tr>",
    "passphrase: see the note in the vault", "search phrase: green energy transition", "The Wi-Fi stick is a RTL8821CE",
    "The key metric changed; the new one is RMSE-95", "password = settings.staging2.password", "password = '%s-%d'",
    "sk-proj-EstimatorNameOfTheOtherTeam", "Log in as ann with R&D2024 in the subject", "Passwort Policy2023",
    "and the password rules 2024", "y la clave foranea123 de la tabla", "The password must have some long form",
    'mdp_states = "s1, s2x"', 'clave_primaria = "id_cliente2"',
    "task-runner-worker-deployment-7d9c6b8f5-x2x7k   1/1   Running",
    "gke-token-report-default-pool-4b0e7b19-4kdn", "driver-export-714e861ad1f8dddb-exec-12",
    "shop-AuthFunction-KVR5VOZ2WNXUD", f"see Meeting-Notes-{HASH}", f"cache_key = '{HASH}'", f"primaryKey: {HASH}",
    f"public_key = '{CHANCE}'", f"key_id = '{CHANCE}'", f"monkey = '{CHANCE}'", f"commit {HASH} of GitHub",
    f"Datadog, version {HASH}", "zotero_key = 'read it from the settings'",
    "zotero_key = os.environ['ZOTERO_KEY_OF_THE_GROUP_2024']", "zotero_key = 'test_python3_utf8_decode_error'",
    "private_key: X25519PrivateKey | Ed448PrivateKey2", "image: lake/token-exchange:main-ac51d8b0-1711390157",
    "image: lake/master-key:3.11-slim-bookworm-700ff62b99c7",
])  # fmt: skip
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
