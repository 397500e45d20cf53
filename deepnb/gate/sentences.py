"""Passwords in sentences of five languages: `my laptop login is ...`, `Der Zugang zum NAS ist ...`, `La clave es ...`."""

from deepnb.gate.chance import score
from deepnb.gate.kinds import Kind, phrase
from deepnb.gate.shapes import called_so, passphrase, plainly_made, stand_in, strong_password_like, token_like

# The value: six signs or more, with a digit or a sign among them, without the sentence's end.
_V = (
    r"(?:[\"'`(*\u201c\u201e\u300c\xab\u2018]{1,3}[ \xa0\u202f]?)?(?=[^\s]{0,48}[\d!#$%^&*+~?@])"
    r"(?![-=:/,.+|~])([^\s\"'`<>|\u201c\u201d\u2018\u2019\u300c\u300d\xab\xbb\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]{5,63}"
    r"(?:(?<!\*)\*(?!\*)|[^\s\"'`<>|*.,:;?)\]}\u201c\u201d\u2018\u2019\u300c\u300d\xab\xbb\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]))"
)
# Words between, of one sentence; what says that something about a password follows, not the password, ends it.
_ABOUT = (
    r"(?!(?:hash|length|polic|field|column|file|manager|version|prompt|attempt|reset|ids?\b|expir|char|min|max|must|should"
    r"|validat|encrypt|stor|contain|requir|prim|for[a\u00e1]n|regex|pattern|type|name|token)\w{0,12})"
)
_WORDS = rf"(?:[ ]{_ABOUT}[^\s.!?,;:=]{{1,24}}){{0,6}}?"
_NOW = r"(?:[ ](?:now|jetzt|nun|maintenant|d\u00e9sormais|ahora|einfach|simply))?"
_IS = (
    r"(?:,?[ ](?:it is|it's|das ist|c['\u2019]est|ahora es|es ahora)"
    + _NOW
    + r"[ ]|[ ](?:is|are|was|now|to|ist|sind|lautet|lauten|war|auf|est|sont|\u00e9tait|en|\u00e0|es|son|era|a|por|=|->|\u2192|/)[ :]{1,2}|[ ]?[:?][ ]|['\u2019]s[ ]|[ ]?\uff1a[ ]?)"
)
_BY = r"(?:[ ](?:with|using|via|use|uses|and|is|as|to|mit|und|per|avec|et|con|y)[ ](?:the |my |der |die |das |le |la |el )?)"
_PAIR = r"(?:[ ]?[/|:,;][ ]?|[ ](?:with|and|mit|und|avec|et|con|y)[ ])"
_ENDS = "password passcode passphrase passwort kennwort contraseña contrasena wachtwoord"  # also: Datenbankpasswort
_PASSWORDS = "passe mdp clave senha pwd pw"
_NOUNS = "login logon sign-in wifi wi-fi wlan ssid router nas vpn vault creds credentials zugang zugangsdaten anmeldung identifiants accès acces access acceso usuario account username admin root unlock code pin"
_VERBS = "log logged sign signed unlock get connect authenticate anmelden melde einloggen logge entsperr encrypted protected connecte identifie entra entré entro inicia accede conecta abre"
_HAN_NOUNS = "密码 密碼 口令 登录 登陆 账号 账户 帐号 用户名 wifi 解锁"
_HAN = r"[^\n\u3002\uff1b;!?]{0,24}?"


def _any(words: str) -> str:
    return rf"(?<![A-Za-z_])(?:{words.replace(' ', '|')})"


_PASS = _any(f"{_ENDS} {_PASSWORDS} pass")
_PASSWORD = rf"(?:{_ENDS.replace(' ', '|')}|{_any(_PASSWORDS)})s?"
_IN_PASSWORDS = ("pass", "wachtw", "kennwort", "contrase", "mdp", "clave", "senha", "pwd", "pw")
# What stands before a password that is given: y la clave ..., mit dem Kennwort ..., avec le mot de passe ...
_GIVES = (
    r"(?:(?<=[ ][ye] )|(?<=\b(?:la|le|el|mi|su|tu|et|my|en) )|(?<=\b(?:the|das|dem|mit|und|con|mon|ton|and|use|our|met|e a) )"
    r"|(?<=\b(?:with|avec) )|(?<=mot de ))"
)
_WORD_AND_NUMBER = r"[\"'`]?((?!primari|for[aá]n)[a-z]{4,24}(?!(?:19|20)\d\d(?!\d))\d{3,4}[!?#*]?)(?![A-Za-z0-9_-])"
_NOUN = rf"{_any(_NOUNS)}s?{_WORDS}[\"'`*)]{{0,3}}"

SENTENCES: tuple[Kind, ...] = (
    # Das Passwort für die Datenbank wurde auf ... geändert; le mdp est ...
    phrase("password", _IN_PASSWORDS, rf"{_PASSWORD}{_WORDS}[\"'`*)]{{0,3}}{_IS}{_V}", strong_password_like),
    # login ann, pass ...; the password, which is ..., asks for a password, type ...; « ... » after mot de passe
    phrase("password", _IN_PASSWORDS, rf"{_PASS}(?:[ ,;]{{1,2}}{_ABOUT}[^\s.!?,;(]{{1,24}}){{0,6}}?[ ,(]{{1,3}}{_V}", called_so),
    # y la clave Lagune279; 密码Lagune279
    phrase("password", (*_IN_PASSWORDS, "密码", "密碼", "口令"), rf"(?:{_GIVES}{_PASS}[ ]|(?:密码|密碼|口令)(?:改?[为成是]了?)?[ ]?){_WORD_AND_NUMBER}", strong_password_like),
    # Our Gmail app password is four groups of four letters; Apple's with hyphens
    phrase("password", (*_IN_PASSWORDS, "login", "密码"), rf"(?:{'|'.join(_IN_PASSWORDS)}|login|密码)[^\n]{{0,60}}?(?<![\w-])((?-i:[a-z]{{4}}([ \xa0-]?)[a-z]{{4}}\2[a-z]{{4}}\2[a-z]{{4}}))(?![\w-])", lambda v: score(v) > (2 if v.isalpha() else -2) and not stand_in(v)),
    # my laptop login is ...; Mi clave del wifi es ...
    phrase("password", tuple(_NOUNS.split()), rf"{_NOUN}(?:{_IS}|=){_V}", plainly_made),
    # log in as ann with ...; Connecte-toi avec ann et ...
    phrase("password", tuple(_VERBS.split()), rf"{_any(_VERBS)}\w{{0,4}}(?:-\w{{1,5}})?(?:[ ][^\s.!?;:=]{{1,24}}){{0,6}}?{_BY}{_V}", called_so),
    # Identifiants : ann / ...; the account is ann with ...
    phrase("password", tuple(_NOUNS.split()), rf"{_NOUN}[ ]?{_IS}[\"'`]?[\w.@+-]{{1,40}}[\"'`]?{_PAIR}{_V}", called_so),
    # WLAN-Schlüssel im Büro: ...; Le code Wi-Fi du bureau, c'est ...; wifi key ...
    phrase("password", ("wifi", "wi-fi", "wlan"), rf"(?:wi-?fi|wlan)[^\s:=]{{0,16}}(?:,?[ ][^\s.!?:]{{1,24}}){{0,5}}?(?:{_IS}|[ ]){_V}", called_so),
    # SSID: home, key: ...
    phrase("password", ("ssid",), rf"ssid[^\n]{{0,40}}?(?:key|code|psk|pw|pass)[\"'`]?(?:[ ]?[:=][ ]?|[ ]){_V}", called_so),
    # We rotated the secret; the new one is ...; das neue ist ..., la nueva es ...
    phrase("secret", (*_IN_PASSWORDS, "secret", "token", "key", "geheimnis", "schlüssel", "clé", "jeton", "secreto"), rf"(?:passw\w{{0,4}}|kennwort|contrase\w{{2}}|mot de passe|mdp|clave|secreto?|token|key|geheimnis|schlüssel|clé|jeton)(?![\w-])[^\n]{{0,60}}?[ ](?:new|current|right|next|neue|aktuelle|richtige|nouve(?:lle|au)|nuev[ao])(?:[ ](?:one|value))?[ :](?:is|ist|lautet|est|es)?{_NOW}[: ]{{1,2}}{_V}", lambda v: called_so(v) or token_like(v)),
    # Encryption passphrase for the backups: ... (three words or more)
    phrase("passphrase", ("passphrase", "seed phrase", "recovery phrase", "secret phrase", "mnemonic"), r"(?:[a-z ]{4,9}phrase|mnemonic(?=[^\n]{60}))[^\n:=]{0,40}?(?:[:=]|[ ]is)[ ]?[\"'`]?((?:[a-z]{3,12}[ ]){2,23}[a-z0-9]{2,12})(?![ ]?[\w(])", passphrase),
    # use ann and ...
    phrase("password", ("use ", "with "), rf"(?:use|with)[ ][\w.@-]{{1,32}}[ ](?:and|/|:)[ ]{_V}", called_so),
    # 我的wifi密码是...
    phrase("password", tuple(_HAN_NOUNS.split()), rf"(?:{_HAN_NOUNS.replace(' ', '|')}){_HAN}(?:[\u662f\u4e3a\u70ba\u6210\u7528\u548c:\uff1a=/][ ]?|[ ]?){_V}", called_so),
    # 用 ann 和 ... 登录
    phrase("password", ("\u7528",), rf"\u7528[^\n\u3002\uff1b]{{0,24}}?[\u548c\u4e0e/ ]{_V}[ \u201d\"'`]{{0,2}}(?:\u6765|\u53bb)?(?:\u767b\u5f55|\u767b\u9646|\u89e3\u9501|\u8fdb|\u8fde\u63a5|\u8fde)", called_so),
    # User ID=ann;Password=...; of a connection string, with any signs
    phrase("password", ("uid=", "user=", "user id=", "username="), r"(?:uid|user(?:name| id)?)=[^\n;=\"']{1,64};[ ]?(?:password|pwd)=((?=[^\s;\"']{0,127}[\d!#$%^&*~?@|<>{}])[^\s;\"']{4,128})", lambda v: not stand_in(v)),
)  # fmt: skip
