"""Made credentials to judge the rules by: prefixes bare in a sentence, and names with secrets in many forms.

Written before the rules of this form and never tuned on: what `python -m tests.bench credentials` finds of them is the
figure that counts. Nothing here is drawn as in `credentials.py` or `credentials_practice.py`. Each value is drawn at
run time by a seeded chance; none was ever issued, and no line of this file looks like one.
"""

from __future__ import annotations

import random
import string
import uuid

from tests.data.credentials import Sample

DIGITS, LOWER, UPPER = string.digits, string.ascii_lowercase, string.ascii_uppercase
BODIES = {
    "alnum": DIGITS + LOWER + UPPER,
    "url": DIGITS + LOWER + UPPER + "-_",
    "hex": DIGITS + "abcdef",
    "base36": DIGITS + LOWER,
    "base32": UPPER + "234567",
    "base58": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",
}

# prefix, then pieces `kind:length`, joined by what stands between them. As vendors document their keys.
VENDORS = """
nvapi-|url:64
pcsk_|alnum:6|_|alnum:62
xkeysib-|hex:64|-|alnum:16
xsmtpsib-|hex:64|-|alnum:16
glagent-|url:50
re_|alnum:8|_|alnum:24
phc_|alnum:43
phx_|alnum:47
fw_|alnum:24
jina_|hex:32|url:27
csk-|base36:48
fc-|hex:32
apify_api_|alnum:36
e2b_|hex:40
pa-|url:43
esecret_|base36:26
CFPAT-|url:43
bkua_|hex:40
CCIPAT_|alnum:22|_|hex:40
dt0c01.|base32:24|.|base32:64
EZAK|hex:32|alnum:22
FLWSECK_TEST-|hex:32|-X
fio-u-|url:64
nfp_|alnum:40
pnu_|alnum:36
rdme_|base36:70
shippo_live_|hex:40
squ_|hex:40
sqp_|hex:40
sgp_|hex:40
tfp_|alnum:59
pat-na1-|uuid
ico-|alnum:32
sdk-|uuid
API-|base32:26
polar_oat_|alnum:43
rootly_|hex:64
sm_aat_|alnum:24
tr_prod_|alnum:24
cfut_|alnum:40
sb_secret_|url:22|_|alnum:8
aio_|alnum:28
duffel_live_|url:43
HRKU-AA|url:58
AKCp8|alnum:64
KEY|base32:32|_|alnum:22
sk-lf-|uuid
sk-helicone-|base36:28
napi_|base36:64
vercel_blob_rw_|alnum:16|_|alnum:30
tskey-auth-|alnum:11|CNTRL-|alnum:32
tskey-api-|alnum:11|-|alnum:33
rnd_|alnum:28
ATBB|alnum:32
oy2|base36:43
sha256~|url:43
hawk.|url:20|.|url:20
zpka_|hex:32|_|hex:8
wandb_v1_|alnum:77
ghcr_tok_|alnum:40
EAA|alnum:120
AQVN|url:36
pk_prod_|base36:34
unkey_3Z|base58:22
lsv2_sv_|hex:32|_|hex:10
BSA|alnum:28
airtable_pat.|alnum:14|.|hex:64
bws.|uuid|.|alnum:30
""".strip().splitlines()

PLACES = """
Ann said to use VALUE until the end of the month.
The staging one is VALUE; rotate it in May.
- VALUE (Ben's, read only)
* worked with `VALUE`, not with the old one
I pasted VALUE into the dashboard and it connected.
client = connect("VALUE")
  with: VALUE
curl -s https://api.company.dev/v2/items -H 'x-auth: VALUE'
https://api.company.dev/v2/items?k=VALUE&page=3
{"who": "ci", "it": "VALUE"}
2026-03-01 12:00:01 DEBUG sending VALUE to upstream
>>> setup('VALUE', region='eu')
ci,VALUE,active
| ci | VALUE | Ben |
VALUE
# VALUE
Unser Zugang für die Tests: VALUE, bitte nicht teilen.
测试环境用 VALUE 登录。
请使用“VALUE”连接。
run --as VALUE --fast
(VALUE)
<VALUE>
export CI_ACCESS='VALUE'
"cells": ["login(\\"VALUE\\")\\n"]
[VALUE]
""".strip().splitlines()

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

# name style | form. `\n` is a line end, `\t` a tab.
FORMS = {
    "go type": """
camel|var NAME string = "VALUE"
camel|const NAME string = `VALUE`
camel|	NAME  string = "VALUE"
""",
    "other types": """
camel|private static final String NAME = "VALUE";
snake|static const char NAME[] = "VALUE";
upper|pub const NAME: &'static str = "VALUE";
camel|val NAME: String? = "VALUE"
snake|DECLARE @NAME NVARCHAR(64) = 'VALUE';
pascal|[string]$NAME = "VALUE"
snake|NAME: Annotated[str, Field()] = "VALUE"
upper|#define NAME "VALUE"
""",
    "call with name and value": """
upper|os.Setenv("NAME", "VALUE")
upper|monkeypatch.setenv("NAME", "VALUE")
dotted|config.set("NAME", "VALUE");
dotted|System.setProperty("NAME", "VALUE");
pascal|options.Add("NAME", "VALUE");
kebab|req.Header.Set("x-NAME", "VALUE")
snake|cfg.put('NAME', 'VALUE')
snake|define('NAME', 'VALUE');
snake|Map.of("NAME", "VALUE")
snake|("NAME", "VALUE"),
""",
    "setter": """
pascal|client.setNAME("VALUE");
pascal|builder.WithNAME("VALUE")
camel|  .NAME("VALUE")
camel|NAME 'VALUE'
""",
    "make and ruby": """
upper|NAME ?= VALUE
upper|NAME := VALUE
upper|NAME ::= VALUE
upper|NAME += VALUE
snake|NAME ||= "VALUE"
camel|NAME ??= "VALUE";
""",
    "php append": """
snake|$NAME .= "VALUE";
snake|$conf['NAME'] .= 'VALUE';
camel|$this->NAME = 'VALUE';
""",
    "r and lisp": """
snake|NAME <- "VALUE"
kebab|(setq NAME "VALUE")
kebab|(def NAME "VALUE")
snake|Sys.setenv(NAME = "VALUE")
""",
    "xml on several lines": """
camel|<NAME>\\n    VALUE\\n</NAME>
pascal|<NAME>\\n\\t<value>VALUE</value>\\n</NAME>
camel|<NAME><![CDATA[VALUE]]></NAME>
camel|<NAME type="plain">VALUE</NAME>
camel|<key>NAME</key>\\n\\t<string>VALUE</string>
""",
    "attributes": """
pascal|<add key="NAME" value="VALUE" />
snake|<property name="NAME" value="VALUE"/>
snake|<string name="NAME">VALUE</string>
camel|<entry key='NAME'>VALUE</entry>
pascal|<add value="VALUE" key="NAME" />
pascal|<setting name="NAME" serializeAs="String">\\n  <value>VALUE</value>\\n</setting>
snake|<input type="hidden" name="NAME" value="VALUE">
""",
    "name and value pairs": """
upper|- name: NAME\\n  value: VALUE
upper|- name: NAME\\n  value: "VALUE"
upper|{"name": "NAME", "value": "VALUE"}
upper|{"value": "VALUE", "name": "NAME"}
upper|  - value: VALUE\\n    name: NAME
pascal|{"Key": "NAME", "Value": "VALUE"}
pascal|"ParameterKey": "NAME",\\n"ParameterValue": "VALUE"
snake|variable "NAME" {\\n  type    = string\\n  default = "VALUE"\\n}
kebab|set {\\n  name  = "auth.NAME"\\n  value = "VALUE"\\n}
""",
    "markdown table": """
human|| Service | NAME | Owner |\\n|---|---|---|\\n| wiki | VALUE | Ann |
words|| system | user | NAME |\\n| --- | :---: | ---: |\\n| wiki | ben | nothing |\\n| shop | ann | VALUE |
human|| what | value |\\n|---|---|\\n| NAME | VALUE |
human|NAME | Host\\n--- | ---\\n`VALUE` | db01
""",
    "csv": """
snake|user,NAME,role\\nann,VALUE,admin
words|"name","NAME"\\n"ann","VALUE"
snake|host\\tNAME\\ndb01\\tVALUE
snake|host;user;NAME\\ndb01;ann;VALUE
""",
    "cookies": """
none|Cookie: theme=dark; sessionid=TOKEN
none|Set-Cookie: sid=TOKEN; Path=/; HttpOnly
none|curl -H 'Cookie: _session=TOKEN; lang=en' https://app.company.dev
none|"Cookie": "connect.sid=TOKEN"
none|cookie: a=1; auth=TOKEN; b=2
""",
    "next line": """
human|NAME:\\n  VALUE
human|NAME:\\n\\n    VALUE\\n
human|## NAME\\n\\nVALUE
human|**NAME**\\n`VALUE`
words|The NAME is:\\n\\n```\\nVALUE\\n```
snake|NAME: |\\n  VALUE
snake|NAME: >-\\n  VALUE
snake|NAME = \\\\\\n    "VALUE"
snake|NAME = (\\n    "VALUE"\\n)
camel|"NAME":\\n    "VALUE"
""",
    "commands": """
upper|ENV NAME VALUE
upper|setenv NAME VALUE
upper|setx NAME "VALUE"
snake|aws configure set NAME VALUE
kebab|mytool --NAME VALUE
kebab|mytool --NAME="VALUE"
upper|docker run -e NAME=VALUE image
upper|gh secret set NAME --body "VALUE"
kebab|az keyvault secret set --name NAME --value VALUE
pascal|dotnet user-secrets set "Api:NAME" "VALUE"
upper|${NAME:-VALUE}
upper|$env:NAME = "VALUE"
""",
    "sentences": """
words|Log in as ann with NAME VALUE
words|Use VALUE as the NAME.
words|VALUE is the NAME for the wiki
words|My NAME for the router is VALUE
words|Ann's NAME (staging) is `VALUE`
words|NAME changed to VALUE yesterday
words|NAME - VALUE
words|I set the NAME to "VALUE"
""",
    "plain": """
upper|NAME=VALUE
upper|export NAME="VALUE"
snake|NAME: VALUE
camel|"NAME": "VALUE",
dotted|NAME=VALUE
kebab|NAME: 'VALUE'
human|- **NAME**: VALUE
camel|{ NAME: 'VALUE', retries: 3 }
snake|Client(NAME="VALUE")
snake|\\"NAME\\": \\"VALUE\\"
""",
}


def samples() -> tuple[Sample, ...]:
    """All of them, the same in every run; `kind` is the form."""
    rng = random.Random("a jury of its own")
    made = [_placed(rng, "vendor prefix", _vendor(rng, shape)) for shape in VENDORS]
    made += [_placed(rng, "made-up prefix", _made_up(rng)) for _ in range(70)]
    for form, rows in FORMS.items():
        for row in rows.strip("\n").splitlines():
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
    text = text.replace("\\\\", "\0").replace("\\n", "\n").replace("\\t", "\t").replace("\0", "\\")
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
