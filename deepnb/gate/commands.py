"""Passwords and keys in commands: `docker login -p ...`, `curl -u ann:...`, `echo ... | sudo -S`."""

from deepnb.gate.kinds import Kind, phrase
from deepnb.gate.regex import regex
from deepnb.gate.shapes import (
    called_so,
    password_like,
    plainly_made,
    quoted_password_like,
    strong_password_like,
    token_like,
)

_NUMBERED = regex(r"[A-Za-z]{1,20}(?:[_.-][A-Za-z]{1,20})?[_.-]?\d{1,4}")
_HOST = regex(r"\.[a-z]{2,8}\Z")
_REST = r"(?:[^\n]|\\\n){0,160}?"
_V = r"[\"']?([^\s\"'`|<>]{4,128})"


def _given(value: str) -> bool:
    """Whether what follows a flag for passwords is one."""
    return strong_password_like(value) or plainly_made(value) or token_like(value)


_NAMED = r"(?:\w{1,20}[ ]?=[ ]?)?"
_ARG = r"(?:[rbfn]?[\"'][^\"'\n]{0,80}[\"']|[\w.\\]{1,40}(?:\([^()\n]{0,40}\))?|\{[^{}\n]{0,120}\})"  # "db", url, {"sub": 1}
_ARGS = rf"(?:[ ]?{_NAMED}{_ARG},){{1,4}}?[ ]?{_NAMED}"
_LITERAL = r"[rbfn]?[\"']((?![\w.+-]{1,64}@[\w-]{1,40}\.)(?=[^\"'\n]{0,127}[\d!#$%^&*+~?@])[^\"'\s]{6,128})[\"']"


def _password(value: str) -> bool:
    """Whether an argument of a call that takes a password is one, not `db01.dev` nor `realm_1`."""
    made = called_so(value) or (strong_password_like(value, quoted=True) and sum(map(str.isdigit, value)) > 1)
    return made and not _HOST().search(value)


def _argument(value: str) -> bool:
    """Whether one of a call that may take a password is one: not `sales2023` or `table_42` either."""
    return _password(value) and (called_so(value) or not _NUMBERED().fullmatch(value))


def _command(literals: str, pattern: str, name: str = "password") -> Kind:
    return phrase(name, tuple(literals.split()), pattern, _given)


COMMANDS: tuple[Kind, ...] = (
    phrase("password (curl)", ("curl", "--user", "--proxy-user"), rf"(?:curl{_REST}[ ]-u|--(?:proxy-)?user)[ =]{{0,2}}[\"']?[^\s:\"']{{1,64}}:([^\s\"'`]{{3,128}})", lambda v: not v.isdigit() and password_like(v)),
    # http -a ann:..., xh --auth=ann:...
    _command("http xh", r"(?<![\w/:.-])(?:https?|xhs?)[ ](?:[^\n]{0,80}?[ ])?(?:-a|--auth)[ =][\"']?[\w.@-]{1,64}:([^\s\"'`]{4,128})"),
    # docker login -u ann -p ..., helm registry login --password=..., oc login --token ...
    _command("docker podman nerdctl buildah skopeo helm oras az cf oc argocd vault mongo rancher", rf"(?<![\w-])(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|az|cf|oc|argocd|vault|rancher)[ ](?:\w{{1,20}}[ ]){{0,2}}login{_REST}[ ]-{{1,2}}(?:p|password|token)[ =]?{_V}"),
    # mongosh -u ann -p ..., useradd -p ... ann, any tool with -u ann -p ...
    _command("mongo useradd usermod beeline twine cqlsh influx", rf"(?:mongo|useradd|usermod|beeline|twine|cqlsh|influx)[a-z]{{0,8}}{_REST}[ ]-{{1,2}}p[ =]?{_V}"),
    phrase("password", ("-u ", "-u=", "--user"), rf"(?:-u|--user(?:name)?)[ =][\"']?[\w.@\\-]{{1,64}}[\"']?(?=[ ]){_REST}[ ]-p[ =]?{_V}", called_so),
    # redis-cli -a ..., redis-cli AUTH ...
    phrase("password", ("redis-cli",), rf"redis-cli{_REST}[ ](?:-a|auth)[ ]{_V}", password_like),
    # AUTH ... of Redis, AUTH PLAIN ... of a mail server
    phrase("password", ("auth ",), rf"(?<![\w-])(?-i:AUTH)[ ](?:PLAIN[ ])?{_V}", called_so),
    # sqlplus ann/...@db, userid=ann/...@db, CONNECT ann/"..."@db, jdbc:oracle:thin:ann/...@//db
    _command("sqlplus sqlldr expdp impdp userid= oracle:", r"(?:sqlplus|sqlldr|expdp|impdp|userid=|oracle:(?:thin|oci):)(?:[ ]|-\w{1,4}[ ]){0,4}[\w.$-]{1,40}/[\"']?([^\s\"']{4,64})[\"']?@"),
    _command("conn", r"conn(?:ect)?[ ][\w.$-]{1,40}/[\"']?([^\s\"']{4,64})[\"']?@"),
    # .logon host/ann,... of Teradata
    _command(".logon", rf"\.logon[ ][\w./-]{{1,60}},{_V}"),
    # rabbitmqctl add_user ann ..., isql warehouse ann ...
    _command("add_user change_password http-basic.", rf"(?:add_user|change_password|http-basic\.[\w-]{{1,40}})[ ]\S{{1,64}}[ ]{_V}"),
    phrase("password", ("isql ",), rf"isql[ ]\S{{1,40}}[ ][\w.]{{1,40}}[ ]{_V}", _given),
    # mc alias set lake https://... ann ..., poetry config pypi-token.pypi ...
    phrase("API key", ("alias set", "host add"), rf"(?:alias set|host add)[ ]\S{{1,40}}[ ]\S{{1,120}}[ ]\S{{1,128}}[ ]{_V}", _given),
    phrase("token", ("pypi-token.",), rf"pypi-token\.\S{{1,40}}[ ]{_V}", _given),
    # aws ssm put-parameter --value ...
    phrase("secret", ("put-parameter",), rf"put-parameter{_REST}[ ]--value[ =]{_V}", called_so),
    # ConvertTo-SecureString "..."
    phrase("password", ("convertto-securestring",), r"convertto-securestring[ ](?:-string[ ])?[\"']([^\"'\n]{4,128})[\"']", quoted_password_like),
    phrase("passphrase", ("ssh-keygen",), rf"ssh-keygen{_REST}[ ]-[NP][ ]{{0,2}}[\"']([^\"'\n]{{1,128}})", quoted_password_like),
    phrase("password", ("sshpass",), r"sshpass[ \t]{1,4}-p[ \t]{0,4}[\"']?([^\s\"']{1,128})", quoted_password_like),
    phrase("password", ("mysql", "mariadb"), rf"(?:mysql|mariadb){_REST}[ ]-p[\"']?([^\s\"'=-][^\s\"']{{3,64}})", password_like),
    # ldapsearch -w ..., ldappasswd -s ...
    _command("ldap", rf"ldap[a-z]{{3,8}}[ ]{_REST}-[ws][ ]?{_V}"),
    # smbclient -U 'ann%...', net use /user:ann ...
    _command("smb rpcclient", rf"(?:smb[a-z]{{3,8}}|rpcclient)[ ]{_REST}(?-i:-U)[ ]?[\"']?[\w.\\@-]{{1,64}}%([^\s\"']{{4,128}})"),
    _command("/user:", rf"/user:[\w.\\@-]{{1,64}}[ ]{_V}"),
    _command("net", rf"net[ ](?:use|user)[ ](?:\w:[ ])?[\w\\:.$-]{{1,80}}[ ]{_V}"),
    # 7z x -p..., unzip -P ..., zip -e -P ..., rar a -hp...
    _command("7z zip rar", rf"(?:7z[ar]?|zip|rar)[ ]{_REST}-h?p[ ]?{_V}"),
    # openssl enc -k ..., -passin pass:...
    _command("openssl", rf"openssl[ ]{_REST}(?:[ ]-k|[ ]-(?:pass|passin|passout|password)[ ]pass:|passwd[ ]-\w{{1,8}}[ ])[ ]?{_V}"),
    # echo ... | sudo -S, echo ann:... | chpasswd, printf '...' | docker login --password-stdin
    _command("echo printf", r"(?:echo|printf)[ ](?:-\w{1,3}[ ]|[\"']?%s(?:\\n)?[\"']?[ ])?[\"']?(?:[\w.-]{1,32}:)?([^\s\"'`|<>$:]{4,128})(?:\\n)?[\"']?[ ]?(?:\)|\|[ ]?)(?:sudo|(?<=\))|[^\n|]{0,80}?(?:passw|login|kinit|cryptsetup|--pass|--token|gpg|pass[ ]))"),
    # kinit ann <<< ...
    _command("kinit sudo passwd login cryptsetup stdin", rf"(?:kinit|sudo|passwd|login|cryptsetup|stdin)[^\n<]{{0,80}}<<<[ ]?{_V}"),
    # htpasswd -b -c FILE ann ..., htpasswd -nbB ann ...
    _command("htpasswd", rf"htpasswd[ ](?:-\w{{1,8}}[ ](?:\d{{1,2}}[ ])?){{0,4}}?-\w{{0,6}}b\w{{0,6}}[ ](?:-\w{{1,8}}[ ](?:\d{{1,2}}[ ])?){{0,4}}(?:\S{{1,80}}[ ])?\S{{1,64}}[ ]{_V}"),
    _command("rclone", rf"rclone[ ]obscure[ ]{_V}"),
    # keytool -storepass ..., vncviewer -passwd ..., pdftk ... user_pw ...
    _command("-storepass -keypass -passwd -pass -pw er_pw", rf"(?:-(?:storepass|keypass|passwd|pass|pw)|er_pw)(?:[ =:]|[ ]pass:){_V}"),
    _command("qpdf", rf"qpdf[ ]{_REST}--encrypt[ ]\S{{1,64}}[ ]{_V}"),
    _command("wpa_passphrase -setairportnetwork", rf"(?:wpa_passphrase|-setairportnetwork[ ]\S{{1,20}})[ ]\S{{1,40}}[ ]{_V}"),
    # xfreerdp /p:..., signtool /p ..., rdesktop -p ..., lftp -u ann,...
    phrase("password", ("/p ", "-p "), rf"[/-]p[ ]{_V}", plainly_made),
    phrase("password", ("/p:",), rf"/p:{_V}", called_so),
    phrase("password", ("-u ",), r"-u[ ][\w.@-]{1,40},[ ]?([^\s\"'`|<>]{4,128})", called_so),
    # connect("h", "ann", "..."), WiFi.begin("home", "...")
    phrase("password", ("connect", "begin(", "ftp(", "client("), rf"(?:connect|begin|ftp|client)\w{{0,20}}\({_ARGS}{_LITERAL}", _argument),
    # userpass.login("ann", "..."), new NetworkCredential("ann", "..."), create_user("ann", mail, "..."), auth = ("ann", "...")
    phrase("password", ("login", "auth", "basic", "credential", "password", "passwd", "user(", "pw_set("), rf"(?:login|auth|basic|credential|password|passwd|user|pw_set)\w{{0,20}}(?:[ ]?=)?\]?(?:::new|\.new)?[ ]?\(?{_ARGS}(?:some\()?{_LITERAL}", _password),
    # jwt.encode({"sub": 1}, "...", "HS256"), jwt.verify(token, "...")
    phrase("API key", ("jwt.",), rf"jwt\.(?:encode|decode|sign|verify)\([ ]?{_ARG},[ ]?{_NAMED}{_LITERAL}", lambda v: _argument(v) or token_like(v)),
    # Fernet("..."), hmac.new(b"..."), hashpw(b"..."), make_password("..."), pdf.decrypt("..."), load_pem_private_key(data, b"...")
    phrase("password", ("crypt(", "hashpw(", "fernet(", "hmac.new(", "aes.new(", "password(", "password_hash(", "context.hash(", ".auth(", "private_key("), rf"(?:crypt|hashpw|fernet|hmac\.new|aes\.new|password|password_hash|context\.hash|\.auth|private_key)\((?:[ ]?[\w.]{{1,30}},)?[ ]?{_LITERAL}", _argument),
    # send "...\r" of an expect script
    _command("send", r"send(?:line)?[ ]?\(?[ ]?(?:--[ ])?[\"']([^\"'\s\\]{6,64})(?:\\[rn]){0,2}[\"']"),
)  # fmt: skip
