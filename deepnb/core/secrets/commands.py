"""Passwords and keys in commands: `docker login -p ...`, `curl -u ann:...`, `echo ... | sudo -S`."""

from deepnb.core.secrets.kinds import Kind, phrase
from deepnb.core.secrets.shapes import (
    password_like,
    plainly_made,
    quoted_password_like,
    strong_password_like,
    token_like,
)

_REST = r"(?:[^\n]|\\\n){0,160}?"
_V = r"[\"']?([^\s\"'`|<>]{4,128})"


def _given(value: str) -> bool:
    """Whether what follows a flag for passwords is one."""
    return strong_password_like(value) or plainly_made(value) or token_like(value)


def _command(literals: str, pattern: str, name: str = "password") -> Kind:
    return phrase(name, tuple(literals.split()), pattern, _given)


COMMANDS: tuple[Kind, ...] = (
    phrase("password (curl)", ("curl", "--user"), rf"(?:curl{_REST}[ ]-u|--user)[ =]{{0,2}}[\"']?[^\s:\"']{{1,64}}:([^\s\"'`]{{3,128}})", lambda v: not v.isdigit() and password_like(v)),
    # http -a ann:..., xh --auth=ann:...
    _command("http xh", r"(?<![\w/:.-])(?:https?|xhs?)[ ](?:[^\n]{0,80}?[ ])?(?:-a|--auth)[ =][\"']?[\w.@-]{1,64}:([^\s\"'`]{4,128})"),
    # docker login -u ann -p ..., helm registry login --password=..., oc login --token ...
    _command("docker podman nerdctl buildah skopeo helm oras az cf oc argocd vault mongo rancher", rf"(?<![\w-])(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|az|cf|oc|argocd|vault|rancher)[ ](?:\w{{1,20}}[ ]){{0,2}}login{_REST}[ ]-{{1,2}}(?:p|password|token)[ =]?{_V}"),
    _command("mongo", rf"mongo[a-z]{{0,8}}{_REST}[ ]-{{1,2}}p[ =]?{_V}"),
    phrase("password", ("redis-cli",), rf"redis-cli{_REST}[ ]-a[ ]{_V}", password_like),
    phrase("passphrase", ("ssh-keygen",), rf"ssh-keygen{_REST}[ ]-[NP][ ]{{0,2}}[\"']([^\"'\n]{{1,128}})", quoted_password_like),
    phrase("password", ("sshpass",), r"sshpass[ \t]{1,4}-p[ \t]{0,4}[\"']?([^\s\"']{1,128})", quoted_password_like),
    phrase("password", ("mysql", "mariadb"), rf"(?:mysql|mariadb){_REST}[ ]-p[\"']?([^\s\"'=-][^\s\"']{{3,64}})", password_like),
    # sqlcmd -P ..., bcp ... -P ..., isql dsn ann ..., ldapsearch -w ..., snowsql
    _command("sqlcmd bcp tsql", rf"(?:sqlcmd|bcp|tsql)[ ]{_REST}(?-i:-P)[ ]?{_V}"),
    _command("ldap", rf"ldap[a-z]{{3,8}}[ ]{_REST}-w[ ]?{_V}"),
    # smbclient -U 'ann%...', net use /user:ann ...
    _command("smb rpcclient", rf"(?:smb[a-z]{{3,8}}|rpcclient)[ ]{_REST}(?-i:-U)[ ]?[\"']?[\w.\\@-]{{1,64}}%([^\s\"']{{4,128}})"),
    _command("/user:", rf"/user:[\w.\\@-]{{1,64}}[ ]{_V}"),
    _command("net", rf"net[ ](?:use|user)[ ][\w\\:.$-]{{1,80}}[ ]{_V}"),
    # 7z x -p..., unzip -P ..., zip -e -P ..., rar a -hp...
    _command("7z zip rar", rf"(?:7z[ar]?|zip|rar)[ ]{_REST}-h?p[ ]?{_V}"),
    # openssl enc -k ..., -passin pass:...
    _command("openssl", rf"openssl[ ]{_REST}[ ](?:-k|-(?:pass|passin|passout|password)[ ]pass:)[ ]?{_V}"),
    # echo ... | sudo -S, echo ann:... | chpasswd, printf '...' | docker login --password-stdin
    _command("echo printf", r"(?:echo|printf)[ ](?:-\w{1,3}[ ]|[\"']?%s(?:\\n)?[\"']?[ ])?[\"']?(?:[\w.-]{1,32}:)?([^\s\"'`|<>$:]{4,128})(?:\\n)?[\"']?[ ]?(?:\)|\|[ ]?)(?:sudo|(?<=\))|[^\n|]{0,80}?(?:passw|login|kinit|cryptsetup|--pass|--token|gpg|pass[ ]))"),
    # kinit ann <<< ...
    _command("kinit sudo passwd login cryptsetup stdin", rf"(?:kinit|sudo|passwd|login|cryptsetup|stdin)[^\n<]{{0,80}}<<<[ ]?{_V}"),
    _command("htpasswd", rf"htpasswd[ ]-[a-zA-Z]{{0,6}}b[a-zA-Z]{{0,6}}[ ]\S{{1,80}}[ ]\S{{1,64}}[ ]{_V}"),
    _command("rclone", rf"rclone[ ]obscure[ ]{_V}"),
    # java -Dx.login=..., gradle -Px.secret=...
    _command("-d -p", r"-[DP][\w.-]{0,60}(?:login|auth|user|key|token|cred\w{0,8}|secret|pass\w{0,8}|pwd)=[\"']?([^\s\"'`|<>]{4,128})"),
    # keytool -storepass ..., vncviewer -passwd ..., pdftk ... user_pw ...
    _command("-storepass -keypass -passwd -pass -pw er_pw", rf"(?:-(?:storepass|keypass|passwd|pass|pw)|er_pw)(?:[ =:]|[ ]pass:){_V}"),
    _command("qpdf", rf"qpdf[ ]{_REST}--encrypt[ ]\S{{1,64}}[ ]{_V}"),
    _command("wpa_passphrase -setairportnetwork", rf"(?:wpa_passphrase|-setairportnetwork[ ]\S{{1,20}})[ ]\S{{1,40}}[ ]{_V}"),
    # xfreerdp /p:..., signtool /p ..., rdesktop -p ..., lftp -u ann,...
    phrase("password", ("/p:", "/p ", "-p "), rf"[/-]p[: ]{_V}", plainly_made),
    phrase("password", ("-u ",), r"-u[ ][\w.@-]{1,40},[ ]?([^\s\"'`|<>]{4,128})", plainly_made),
    # connect("ann", "..."), set_password("db", "ann", "...")
    phrase("password", ("connect(", "login(", "password(", "credentials(", "passwd("), r"(?:connect|login|password|credentials|passwd)\((?:[ ]?(?:\w{1,20}[ ]?=[ ]?)?[\"'][^\"'\n]{0,64}[\"'],){1,3}?[ ]?[\"']([^\"'\s]{6,128})[\"']", plainly_made),
    # send "...\r" of an expect script
    _command("send", r"send(?:line)?[ ]?\(?[ ]?(?:--[ ])?[\"']([^\"'\s\\]{6,64})(?:\\[rn]){0,2}[\"']"),
)  # fmt: skip
