"""Made credentials by names in any case, split values, commands and prose; vendors' prefixes; and notes without any.

Values are drawn by a seeded chance at run time and none was ever issued, so that no line of this file looks like one.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
from collections.abc import Callable, Iterator

from tests.data.credentials import Sample

Chance = random.Random
DIGITS, LOWER, UPPER = string.digits, string.ascii_lowercase, string.ascii_uppercase
BODIES = {
    "b62": DIGITS + LOWER + UPPER,
    "url": DIGITS + LOWER + UPPER + "-_",
    "std": DIGITS + LOWER + UPPER + "+/",
    "hex": DIGITS + "abcdef",
    "b36": DIGITS + LOWER,
    "b32": UPPER + "234567",
    "dec": DIGITS,
}


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
    "data:\n  password: E",
    "  db-password: E\n  host: ZGI=",
    '"password": "E"',
    "kind: Secret\ndata:\n  username: YW5u\n  password: E\n",
)

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

# More of each, a line each, `\\n` for a line's end: written when the rules for the above were there, to see what they miss.
MORE_NAMED = r'''
weather_station_key = '§'
stripeKey: "§"
"mapboxAccessKey": "§"
sendgrid_pat=§
ADO_PAT: §
azurePat = "§"
trello_secret = "§"
supabaseAnon = "§"
my_deepl = "§"
TAVILY="§"
session_secret: §
zotero:\n  key: §
{"service": "zotero", "key": "§"}
{"name": "gitlab", "pat": "§"}
headers = {"X-Zotero-Key": "§"}
params={'q': 'Berlin', 'appid': '§'}
session.headers.update({"PRIVATE-TOKEN": "§"})
Authorization: Token §
x-auth: §
Sys.setenv(FRED_KEY = "§")
options(tigris.key = "§")
census_api_key("§")
fredr_set_key("§")
register_google(key = "§")
ENV["noaaKey"] = "§"
%let fredkey = §;
global fredkey "§"
set fredkey §, permanently
fredKey = '§';
CREATE SECRET (TYPE S3, KEY_ID 'x', SECRET '§')
spark.conf.set("fs.azure.account.key.lake.dfs.core.windows.net", "§")
.config("spark.hadoop.fs.s3a.secret.key", "§")
%env FRED_KEY=§
%env noaa_key §
{"username":"ann","key":"§"}
[tool.zotero]\nkey = "§"
here's my key: §
you can use mine, key → §
new token § expires in May
(token: §)
Der API-Schlüssel lautet §
ma clé API : §
mon token est §
mi token es §
我的 token 是 §
key 是 §
apikey：§
for the maps api use §
export FRED_KEY="§"
fredKey=§
"nasaKey":"§"
bot = Bot(token='§')
openai.api_key = '§'
genai.configure(api_key="§")
Entrez.api_key = "§"
st.secrets["pg_secret"] = "§"
dbutils.secrets.put("scope", "crm_key", "§")
git remote set-url origin https://oauth2:§@gitlab.dev/x.git
https://api.x.dev/v1/forecast?apikey=§&units=metric
https://api.x.dev/v1/forecast?appid=§&units=metric
https://x.dev/cal/ics?token=§
curl -H "X-API-KEY: §" https://x.dev
curl -H 'PRIVATE-TOKEN: §' https://x.dev
wget --header="Authorization: Bearer §" x
| noaaKey | `§` | Ann |
noaa_key,§
- noaaKey: §
* **noaa key**: §
# noaa_key: §
noaaKey ........ §
key noaa §
NOAA key is §
the NOAA key: §
ping me if § (the noaa key) stops working
§ is our noaa key
§ = noaa key
# noqa noaa_key §
print("noaa_key: §")
assert cfg.noaa_key == "§"
if key != '§': raise
def f(noaa_key="§"): ...
lambda: get(noaaKey="§")
cfg['noaa']['key'] = '§'
cfg.noaa.key = "§"
<noaaKey value="§"/>
<add key="noaaKey" value="§"/>
noaaKey := "§"
@noaa_key = '§'
$noaaKey = "§";
private static final String noaaKey = "§";
val noaaKey: String = "§"
let noaaKey: &str = "§";
std::string noaaKey{"§"};
char *noaa_key = "§";
noaa_key <- '§'
(def noaa-key "§")
noaaKey -> §
set -x NOAA_KEY §
setx NOAA_KEY §
fly secrets set NOAA_KEY=§
gh secret set NOAA_KEY --body §
vault kv put secret/x noaa_key=§
kubectl create secret generic x --from-literal=noaa=§
helm install x --set noaa.key=§
terraform apply -var noaa_key=§
docker build --build-arg NOAA_KEY=§ .
docker run -e noaaKey=§ x
ansible-playbook -e noaa_key=§ x.yml
noaa_key = b"§"
noaa_key = r'§'
noaa_key = """§"""
noaa_key = str("§")
noaa_key = SecretStr("§")
noaa_key: Final = "§"
noaa_key: str | None = "§"
'''.strip().splitlines()
MORE_PASSWORDS = r"""
pw: §
pass: §
the wifi here: §
hey, the db creds are ann/§
Das PW ist §
mot de passe provisoire : §
contraseña temporal: §
usuario: ann / clave: §
login/pass: ann/§
初始密码 §
默认密码§
登录密码是§
用户ann的密码是§
sudo password → §
Passwort von ann: §
Dein neues Passwort: §
Ihr Passwort lautet: §
Votre mot de passe : §
Su contraseña es: §
Your password has been reset to §.
My password? §
password's §
it's § (password)
§ is the password
use § as password
Use the password § for the demo.
the demo password, §, changes in May
passwd=§
userPass: "§"
root_pw = '§'
adminpw: §
DB_PASS=§
dbPwd = "§"
vpn_psk = "§"
sftp_pass: '§'
"smtpPassword": "§"
spring.mail.password: §
jdbc:postgresql://db/x?user=ann&password=§
postgresql+psycopg2://ann:§@db/x
mongodb://ann:§@db:27017
redis://default:§@cache:6379
create_engine("oracle://ann:§@db")
Server=db;Database=x;User Id=ann;Password=§
Driver=PostgreSQL;Server=db;Uid=ann;Pwd=§;
pyodbc.connect('DSN=wh;UID=ann;PWD=§')
PWD=§;SERVER=db
cx_Oracle.connect("ann", "§", "db/x")
pymysql.connect("db", "ann", "§")
con <- dbConnect(drv, user="ann", password="§")
smtp.login("ann@x.dev", "§")
ftp.login('ann', '§')
imap.login("ann", "§")
client.login(user="ann", passwd="§")
paramiko.connect("h", username="ann", password="§")
zf.setpassword(b"§")
ZipFile("a.zip").extractall(pwd=b"§")
keyring.set_password("svc", "ann", "§")
getpass.getpass() or "§"  # password
login ann password §
user ann pass §
Benutzer: ann, Passwort: §
Nutzer ann / Kennwort §
utilisateur ann, mot de passe §
账号: ann 密码: §
用户名：ann，密码：§
wpa_passphrase home §
wpa-psk "§"
wifi "home" key "§"
SSID: home, key: §
nmcli dev wifi connect home password §
networksetup -setairportnetwork en0 home §
  - MYSQL_PASSWORD=§
      POSTGRES_PASSWORD: "§"
    environment:\n      - "DB_PASS=§"
kubectl create secret generic db --from-literal=password=§
ansible_become_pass: §
ansible_password=§
vault kv put secret/db password=§
aws secretsmanager create-secret --secret-string '{"password":"§"}'
az sql server create --admin-password §
gcloud sql users set-password ann --password=§
mysqladmin -u root password §
createdb; psql -c "ALTER USER ann PASSWORD '§'"
ALTER USER ann IDENTIFIED BY §;
GRANT ALL ON x TO ann IDENTIFIED BY '§'
echo "ann:§" | chpasswd
curl -u 'ann:§' https://x.dev
curl --user ann:§ x.dev
curl -k -s -u ann:§ x.dev
wget --user ann --password § x.dev
lftp -u ann,§ ftp.x.dev
rsync --password-file=<(echo §) x
xfreerdp /u:ann /p:§ /v:h
rdesktop -u ann -p § h
vncviewer -passwd § h
svn co --username ann --password § x
hg clone https://ann:§@x.dev/r
docker login -u ann --password § r.dev
docker login -u=ann -p=§ r.dev
oc login -u ann -p § https://x
java -jar x.jar --spring.datasource.password=§
java -Dspring.datasource.password=§ -jar x.jar
java -Dapp.login=§ -jar x.jar
mvn -Dgpg.passphrase=§ deploy
openssl pkcs12 -export -passout pass:§ -in x
keytool -storepass § -keystore x
signtool sign /f x.pfx /p § x.exe
7z a -p§ x.7z
zip -P § x.zip d
pdftk x output y user_pw §
qpdf --encrypt ann § 256 -- a b
gpg --passphrase '§' -c x
restic: RESTIC_PASSWORD=§
borg: BORG_PASSPHRASE='§'
my NAS login: §
mein Laptop-Login ist §
the router admin is §
Router: admin / §
Mi usuario es ann y mi contraseña §
entré con §
Je me connecte avec §
Ich logge mich mit § ein
我用 § 登录
""".strip().splitlines()
MORE_SPLIT = r'''
x_key = "A" + "B"
x_key = ("A"\n         "B")
password = "A" \\n           "B"
token = 'A'\\n'B'
const apiKey = "A" +\n  "B";
const apiKey = ["A", "B"].join("")
key = "%s%s" % ("A", "B")
apiKey = "{}{}".format("A", "B")
String apiKey = "A".concat("B");
api_key = f"A" f"B"
api_key = "A"\napi_key = api_key + "B"
api_key = 'A'; api_key += 'B'
$apiKey = 'A'.'B';
api_key: >-\n  A\n  B\n
api_key = """A\\nB"""
my_token=A\\nB
SET @apiKey = CONCAT('A','B');
apikey <- paste("A", "B", sep="")
apiKey = "A" & _\n "B"
{"apiKey": "A" "B"}
requests.get(u, headers={"X-Api-Key": "A" + "B"})
password: "A" + "B"
client_secret = `A` + `B`
api_key = "".join(("A", "B"))
print("api_key=" + "A" + "B")
x = "sk-proj-" + "A" + "B"
api_key = "A" /* x */ + "B"
api_key = ("A" +  # first\n  "B")
'''.strip().splitlines()

# K is drawn by chance and has no prefix
CHANCE_PROSE = (
    "the Datadog one is K", "Mapbox: K", "use K for Algolia", "our Mixpanel project uses K", "weights and biases K", "OpenWeather gives us K", "Cloudflare -> K", "K (Mailjet, read only)",
    "my api key is K", "The key for the weather service is K.", "token K works until May", "we authenticate with K", "der Schlüssel für Deepl ist K", "La clé d'API est K", "la clave de la API es K", "我的密钥是K", "API 密钥：K", "用这个令牌：K", "le jeton est K", "mein Token: K", "el token de acceso es K", "Zugriffstoken K", "bearer K", "the secret is K",
)  # fmt: skip
VENDOR_NAMES = [
    "datadog_x",
    "MAPBOX",
    "algolia_admin",
    "openweather",
    "tmdb",
    "deepl",
    "finnhub",
    "alphavantage",
    "cohere",
    "pinecone",
]

# -- shapes known by form alone

SENTENCES = (
    "Ann said to use {} this week.",
    "- {} (old)",
    "worked with `{}`",
    'connect("{}")',
    "请用 {} 连接。",
    "it was {}, then we moved",
    "{}",
)
# prefix, pieces `kind:length`, as vendors document them
_VENDORS_TEXT = """
sk-lf-|uuid:36
nvapi-|url:64
gsk_|b62:52
hf_|b62:34
pplx-|b62:48
xai-|b62:80
r8_|b62:37
fw_|b62:24
csk-|b36:48
tvly-|b62:32
jina_|b62:60
llx-|b62:48
pcsk_|b62:6|_|b62:60
fc-|hex:32
apify_api_|b62:36
e2b_|hex:40
rpa_|b62:42
tgp_v1_|url:43
KGAT_|hex:32
lsv2_pt_|hex:32|_|hex:10
re_|b62:8|_|b62:24
xkeysib-|hex:64|-|b62:16
SG.|url:22|.|url:43
key-|hex:32
phc_|b62:43
glsa_|b62:32|_|hex:8
NRAK-|b32:27
sntrys_|std:60
hcaik_|b36:58
xaat-|uuid:36
squ_|hex:40
CCIPAT_|b62:22|_|hex:40
bkua_|hex:40
dckr_pat_|url:27
glpat-|url:20
ghp_|b62:36
github_pat_|b62:22|_|b62:59
ATBB|b62:32
ATATT3|url:180
tfp_|url:59
dop_v1_|hex:64
rnd_|b62:28
nfp_|b62:40
vck_|b62:56
tskey-auth-|b62:11|CNTRL-|b62:32
dp.pt.|b62:43
hvs.|url:90
pul-|hex:40
napi_|b36:64
sbp_|hex:40
pscale_tkn_|url:43
sk_live_|b62:24
rk_test_|b62:24
whsec_|b62:32
EAAA|url:60
shpat_|hex:32
shippo_live_|hex:40
duffel_live_|url:43
lin_api_|b62:40
secret_|b62:43
ntn_|b62:46
figd_|url:40
pat|b62:14|.|hex:64
xoxb-|dec:12|-|dec:12|-|b62:24
CFPAT-|url:43
AIza|url:35
GOCSPX-|url:28
ya29.|url:120
1//0|url:60
AKIA|b32:16
LTAI|b62:20
dapi|hex:32
sl.B|url:120
amzn.mws.|uuid:36
sk.eyJ1|b62:60|.|url:22
"""
VENDORS = _VENDORS_TEXT.split()
_SUFFIXES_TEXT = """
uuid:36|:fx
hex:32|-us21
b62:14|.atlasv1.|b62:67
b62:3|8Q~|b62:34
hex:36|NRAL
std:86|==
hex:32|.|b62:16
dec:10|:AA|url:33
b62:76|AZDO|b62:4
"""
SUFFIXES = _SUFFIXES_TEXT.split()


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
    return chance.choice(
        (
            f"{word}-{ends}!",
            f"{word.capitalize()}{chance.randrange(100, 9999)}{chance.choice('!#*')}",
            f"{body(chance, 'b62', 5)}{chance.choice('!#*+')}{body(chance, 'b62', 6)}",
            body(chance, "b62", 14),
            f"qu{chance.randrange(10, 99)}t-{word.capitalize()}{chance.choice('!+')}{chance.randrange(10, 99)}",
        )
    )


def _encoded(chance: Chance) -> str:
    return base64.b64encode(_password(chance).encode()).decode()


def _json(chance: Chance) -> str:
    held = {"k": body(chance, "b62", 32), "n": "ci", "id": 1}
    return base64.b64encode(json.dumps(held, separators=(",", ":")).encode()).decode()


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
    for template in MORE_NAMED:
        yield _filled("name", template.replace("\\n", "\n"), "§", _random(chance))
    for template in MORE_PASSWORDS:
        yield _filled("password", template.replace("\\n", "\n"), "§", _password(chance))
    for template in MORE_SPLIT:
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
        value = _json(chance)
        yield Sample("json in base64", sentence.format(value), (value,))
    for template in ("aws: I / S", "I S", "| I | S |", "id I, secret S", "I:S", '("I", "S")', "key=I&other=S"):
        known, value = "AK" + "IA" + body(chance, "b32", 16), body(chance, "std", 40)
        yield Sample("beside an id", template.replace("S", "\0").replace("I", known, 1).replace("\0", value), (value,))


def _halved(kind: str, template: str, value: str) -> Sample:
    a, b = value[: len(value) // 2], value[len(value) // 2 :]
    halves = {"A": a, "B": b}
    text = re.sub(r"(?<![A-Za-z])[AB](?![A-Za-z(])", lambda found: halves[found[0]], template)
    return Sample(kind, text, (a, b))
