"""Passwords in sentences of five languages: `my laptop login is ...`, `Der Zugang zum NAS ist ...`, `La clave es ...`."""

from deepnb.core.secrets.kinds import Kind, phrase
from deepnb.core.secrets.shapes import plainly_made, strong_password_like

# The value: six signs or more, with a digit or a sign among them, without the sentence's end.
_V = (
    r"[\"'`(*\u201c\u300c\xab\u2018]{0,3}(?=[^\s]{0,48}[\d!#$%^&*+~?@])"
    r"(?![-=:/,.+|~])([^\s\"'`<>|\u201c\u201d\u2018\u2019\u300c\u300d\xab\xbb\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]{5,63}"
    r"(?:(?<!\*)\*(?!\*)|[^\s\"'`<>|*.,:;?)\]}\u201c\u201d\u2018\u2019\u300c\u300d\xab\xbb\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]))"
)
# Words between, of one sentence; what says that something about a password follows, not the password, ends it.
_ABOUT = (
    r"(?!(?:hash|length|polic|field|column|file|manager|version|prompt|attempt|reset|ids?\b|expir|char|min|max|must|should"
    r"|validat|encrypt|stor|contain|requir|prim|for[a\u00e1]n|regex|pattern|type|name|token)\w{0,12})"
)
_WORDS = rf"(?:[ ]{_ABOUT}[^\s.!?,;:=]{{1,24}}){{0,6}}?"
_IS = r"(?:[ ](?:is|are|was|now|to|ist|sind|lautet|lauten|war|auf|est|sont|\u00e9tait|en|\u00e0|es|son|era|a|por|=|->|\u2192|/)[ :]{1,2}|[ ]?[:?][ ]|['\u2019]s[ ]|[ ]?\uff1a[ ]?)"
_BY = r"(?:[ ](?:with|using|via|use|uses|and|is|as|to|mit|und|per|avec|et|con|y)[ ](?:the |my |der |die |das |le |la |el )?)"
_PAIR = r"(?:[ ]?[/|:,;][ ]?|[ ](?:with|and|mit|und|avec|et|con|y)[ ])"
_ENDS_TEXT = """
password passcode passphrase passwort kennwort contraseña contrasena
"""
_ENDS = _ENDS_TEXT.split()  # also of a longer word: Datenbankpasswort
_PASSWORDS_TEXT = """
passe mdp clave senha pwd pw
"""
_PASSWORDS = _PASSWORDS_TEXT.split()
_NOUNS_TEXT = """
login logon sign-in wifi wi-fi wlan ssid router nas vault creds credentials zugang zugangsdaten anmeldung
identifiants accès acces access acceso usuario account username admin root unlock code pin
"""
_NOUNS = _NOUNS_TEXT.split()
_VERBS_TEXT = """
log logged sign signed unlock get connect authenticate anmelden melde einloggen logge entsperr connecte
identifie entra entré entro inicia accede conecta abre
"""
_VERBS = _VERBS_TEXT.split()
# What all of these words begin with or hold: fewer to look for.
_IN_PASSWORDS = ("pass", "kennwort", "contrase", "mdp", "clave", "senha", "pw")
_IN_NOUNS = (
    "log", "sign", "wifi", "wi-fi", "wlan", "ssid", "router", "nas", "vault", "cred", "zugang", "anmeld", "ident", "acc", "usuario",
    "username", "admin", "root", "unlock", "code", "pin",
)  # fmt: skip
_IN_VERBS = (
    "log", "sign", "unlock", "get", "connect", "authent", "anmeld", "melde", "einlog", "entsperr", "ident", "entr", "inicia", "acc",
    "conecta", "abre",
)  # fmt: skip
_HAN_NOUNS_TEXT = """
密码 密碼 口令 登录 登陆 账号 账户 帐号 用户名 wifi 解锁
"""
_HAN_NOUNS = _HAN_NOUNS_TEXT.split()
_HAN = r"[^\n\u3002\uff1b;!?]{0,24}?"


def _any(words: list[str]) -> str:
    return rf"(?<![A-Za-z_])(?:{'|'.join(words)})"


_PASS = _any([*_ENDS, *_PASSWORDS, "pass"])
_PASSWORD = rf"(?:{'|'.join(_ENDS)}|{_any(_PASSWORDS)})s?"
_NOUN = rf"{_any(_NOUNS)}s?{_WORDS}[\"'`*)]{{0,3}}"

SENTENCES: tuple[Kind, ...] = (
    # Das Passwort für die Datenbank wurde auf ... geändert; le mdp est ...
    phrase("password", _IN_PASSWORDS, rf"{_PASSWORD}{_WORDS}[\"'`*)]{{0,3}}{_IS}{_V}", strong_password_like),
    # login ann, pass ...; contraseña ...
    phrase("password", _IN_PASSWORDS, rf"{_PASS},?[ ]{{1,2}}{_V}", plainly_made),
    # my laptop login is ...; Mi clave del wifi es ...
    phrase("password", _IN_NOUNS, rf"{_NOUN}(?:{_IS}|=){_V}", plainly_made),
    # log in as ann with ...; Connecte-toi avec ann et ...
    phrase("password", _IN_VERBS, rf"{_any(_VERBS)}\w{{0,4}}(?:-\w{{1,5}})?(?:[ ][^\s.!?;:=]{{1,24}}){{0,6}}?{_BY}{_V}", plainly_made),
    # Identifiants : ann / ...; the account is ann with ...
    phrase("password", _IN_NOUNS, rf"{_NOUN}[ ]?{_IS}[\"'`]?[\w.@+-]{{1,40}}[\"'`]?{_PAIR}{_V}", plainly_made),
    # SSID: home, key: ...
    phrase("password", ("wifi", "wi-fi", "wlan", "ssid"), rf"(?:wi-?fi|wlan|ssid)[^\n]{{0,40}}?(?:key|code|psk|pw|pass)[\"'`]?(?:[ ]?[:=][ ]?|[ ]){_V}", plainly_made),
    # use ann and ...
    phrase("password", ("use ", "with "), rf"(?:use|with)[ ][\w.@-]{{1,32}}[ ](?:and|/|:)[ ]{_V}", plainly_made),
    # 我的wifi密码是...
    phrase("password", tuple(_HAN_NOUNS), rf"(?:{'|'.join(_HAN_NOUNS)}){_HAN}(?:[\u662f\u4e3a\u70ba\u6210\u7528\u548c:\uff1a=/][ ]?|[ ]?){_V}", plainly_made),
    # 用 ann 和 ... 登录
    phrase("password", ("\u7528",), rf"\u7528[^\n\u3002\uff1b]{{0,24}}?[\u548c\u4e0e ]{_V}[ \u201d\"'`]{{0,2}}(?:\u6765|\u53bb)?(?:\u767b\u5f55|\u767b\u9646|\u89e3\u9501|\u8fdb|\u8fde\u63a5|\u8fde)", plainly_made),
)  # fmt: skip
