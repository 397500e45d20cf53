"""The table of credentials known by their shape: kind, what must occur, the bounded pattern, a check of its group 1.

A pattern is tried only where one of its literals stands, so that clean text costs a few substring searches. Every
quantifier is bounded: time stays linear.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from deepnb.gate import shapes
from deepnb.gate.spans import Finding, regex

# Not inside a longer word, which a hyphen goes on (`task-sk-...`) but does not begin (`-ghp_...`, a line taken away);
# `\n` of a JSON string and `%3D` of a URL end a word, too.
_START = r"(?:(?<![A-Za-z0-9_])(?<![A-Za-z0-9_]-)|(?<=\\[nrt])|(?<=%[0-9A-F][0-9A-F]))"


@dataclass(frozen=True)
class Kind:
    """One row; those of phrases and commands have literals in lower case, which are looked for in the lowered text."""

    name: str
    literals: tuple[str, ...]
    pattern: Callable[[], re.Pattern[str]]
    check: Callable[[str], bool] | None = None

    def span(self, match: re.Match[str]) -> Finding:
        article = "an" if self.name[0] in "AEIOao" else "a"
        return Finding(*match.span(1), self.name, f"what looks like {article} {self.name}")


def _token(name: str, literals: str, body: str, check: Callable[[str], bool] | None = shapes.by_chance) -> Kind:
    starts = tuple(literals.split())
    heads = "|".join(re.escape(start) for start in starts)
    return Kind(name, starts, regex(f"{_START}((?:{heads}){body})"), check)


def phrase(name: str, literals: tuple[str, ...], pattern: str, check: Callable[[str], bool]) -> Kind:
    """Return a row that is found by a word; the pattern begins with one of the literals, which are lower case."""
    return Kind(name, literals, regex(pattern, re.IGNORECASE), check)


_W = "[A-Za-z0-9_-]"
_A = "[A-Za-z0-9]"
_H = "[0-9a-fA-F]"

TOKENS: tuple[Kind, ...] = (
    _token("AWS access key", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}(?![A-Za-z0-9])", shapes.upper_by_chance),
    _token("AWS session token", "IQoJb3JpZ2lu FwoGZXIvYXdz FQoGZXIvYXdz", r"[A-Za-z0-9+/%]{80,4096}={0,2}"),
    _token("Alibaba access key", "LTAI", rf"{_A}{{12,26}}(?!{_A})"),
    _token("Google API key", "AIza", rf"{_W}{{35}}(?!{_A})"),
    _token("Google OAuth secret", "GOCSPX-", rf"{_W}{{20,40}}"),
    _token("Google OAuth token", "ya29.", rf"{_W}{{20,2048}}"),
    _token("Anthropic key", "sk-ant-", rf"{_W}{{20,200}}"),
    _token("OpenRouter key", "sk-or-", rf"{_W}{{20,200}}"),
    _token("OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"{_W}{{20,300}}"),
    _token("API key (sk-)", "sk-", rf"{_W}{{20,200}}"),
    _token("Hugging Face token", "hf_ api_org_", rf"{_A}{{30,60}}", lambda v: len(set(v)) >= 12 and v.lower() != v and not shapes.stand_in(v)),
    _token("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_A}{{36,255}}"),
    _token("GitHub token", "github_pat_", r"[A-Za-z0-9_]{40,255}"),
    _token("GitLab token", "glpat- gldt- glrt- glptt- glcbt- gloas- glft- glsoat-", r"[A-Za-z0-9_.-]{20,300}"),
    _token("Slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxe. xoxc- xoxd-", r"[A-Za-z0-9.%-]{20,400}"),
    _token("Slack token", "xapp-", r"[A-Za-z0-9-]{30,300}"),
    _token("Slack webhook", "https://hooks.slack.com/", r"(?:services|workflows|triggers)/[A-Za-z0-9/]{24,120}"),
    _token("Discord webhook", "https://discord.com/api/webhooks/ https://discordapp.com/api/webhooks/", rf"\d{{15,22}}/{_W}{{50,90}}"),
    _token("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_", rf"{_A}{{16,250}}"),
    _token("Stripe webhook secret", "whsec_", r"[A-Za-z0-9+/=]{24,80}"),
    _token("Twilio key", "SK", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _token("SendGrid key", "SG.", rf"{_W}{{16,32}}\.{_W}{{30,64}}"),
    _token("Mailgun key", "key-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _token("npm token", "npm_", rf"{_A}{{36,64}}"),
    _token("PyPI token", "pypi-", rf"{_W}{{50,1000}}"),
    _token("Databricks token", "dapi", r"[0-9a-f]{32}(?:-\d{1,2})?(?![A-Za-z0-9])"),
    _token("LangSmith key", "lsv2_pt_ lsv2_sk_ ls__", r"[0-9a-f]{32}(?:_[0-9a-f]{10})?"),
    _token("Replicate token", "r8_", rf"{_A}{{37,40}}"),
    _token("Atlassian token", "ATATT3 ATCTT3", r"[A-Za-z0-9_=-]{60,400}"),
    _token("age key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{58}", shapes.upper_by_chance),
    _token("JSON web token", "eyJ", rf"{_W}{{10,4000}}\.{_W}{{10,8000}}\.{_W}{{16,1400}}"),
    # No separator after these, so the general rule does not see them.
    _token("Facebook token", "EAA", rf"{_A}{{80,300}}(?![A-Za-z0-9+/=])"),
    _token("JFrog key", "AKCp", rf"{_A}{{60,80}}"),
    _token("EasyPost key", "EZAK EZTK", rf"{_A}{{54}}(?!{_A})"),
    _token("Bitbucket password", "ATBB", rf"{_A}{{28,40}}(?!{_A})"),
    _token("Trello token", "ATTA", rf"{_A}{{60,80}}"),
    _token("NuGet key", "oy2", r"[a-z0-9]{43}(?![A-Za-z0-9])"),
    _token("Yandex key", "AQVN", rf"{_W}{{35,40}}"),
    _token("Brave Search key", "BSA", rf"{_W}{{24,32}}(?!{_A})"),
    _token("Tencent key", "AKID", rf"{_A}{{32}}(?!{_A})"),
    _token("Telnyx key", "KEY", rf"[A-Z0-9]{{32}}_{_A}{{22}}(?!{_A})"),
    _token("Airtable token", "pat", rf"{_A}{{14}}\.[0-9a-f]{{64}}(?!{_A})"),
    _token("Square token", "EAAA", rf"{_W}{{56,64}}(?!{_W})"),
    _token("Google refresh token", "1//0", rf"{_W}{{40,120}}"),
    _token("JSON token", "eyJ sk.eyJ pk.eyJ", r"[A-Za-z0-9_+/-]{37,4000}={0,2}(?:\.[A-Za-z0-9_-]{16,400}){0,2}(?![A-Za-z0-9_+/-])", lambda v: shapes.is_random(v[v.index("eyJ") :].partition(".")[0].rstrip("=")) and not shapes.stand_in(v) and not shapes.is_alphabet(v)),
    _token("Firecrawl key", "fc-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _token("Axiom token", "xaat- xapt-", rf"{_H}{{8}}-[0-9a-f-]{{27}}"),
    _token("Modal token", "ak- as-", rf"{_A}{{22}}(?!{_W})"),
    _token("Cloudflare key", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{146}"),
    _token("Asana token", "1/ 2/", r"\d{16}(?:/\d{16})?:[0-9a-f]{32}"),
    _token("Amazon MWS token", "amzn.mws.", rf"{_H}{{8}}-[0-9a-f-]{{27}}"),
)  # fmt: skip

PHRASES: tuple[Kind, ...] = (
    phrase("cookie", ("cookie",), r"cookies?[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:[\w.-]{1,40}=[^;\s\"']{0,200};[ ]?){0,8}?[\w.-]{1,40}=([^;\s\"']{16,4096})", shapes.cookie_like),
    phrase("password in a URL", ("://",), r"://[^\s:/?#@\"'<>]{0,64}:([^\s/?\"'<>`]{1,200})@(?=[\w\[$({</])", shapes.password_in_url),
    phrase("cookie", ("--cookie", "curl"), r"(?:--cookie|curl[^\n]{0,160}?[ ]-b)[ =][\"']?[\w.-]{1,40}=([^;\s\"']{16,4096})", shapes.cookie_like),
    phrase("bearer token", ("bearer",), r"bearer[ \t]{1,4}([A-Za-z0-9._~+/=-]{16,4096})", shapes.token_like),
    phrase("token", ("authorization",), r"authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:[A-Za-z][A-Za-z-]{1,20}[ \t=:]{1,2}(?:token=\"?)?)?([A-Za-z0-9._~+/=-]{16,4096})", shapes.token_like),
    phrase("password (basic authentication)", ("basic",), r"basic[ \t]{1,4}([A-Za-z0-9+/=_-]{8,512})", shapes.basic_pair),
    phrase("password (basic authentication)", ("auth\"",), r"auth\\?\"[ \t]{0,4}:[ \t]{0,4}\\?\"([A-Za-z0-9+/=]{8,512})", shapes.basic_pair),
    phrase("shared access signature", ("sig=",), r"sig=([A-Za-z0-9%+/]{40,128}={0,2})", shapes.by_chance),
    phrase("password (netrc)", ("login",), r"login\s{1,8}\S{1,64}\s{1,16}password[ \t]{1,8}(\S{1,128})", shapes.password_like),
    phrase("password", ("credentials", "login", "credenciales", "identifiants", "zugang", "账号"), r"(?:credentials|logins?|credenciales|identifiants|zugang(?:sdaten)?|账号)(?:/pass\w{0,5})?(?:[ ][^\n:]{0,30})?[:=\uff1a][ \t]{0,4}[`\"']?[\w.@+-]{1,64}[`\"']?[ ]?[/|:][ ]?[`\"']?([^\s`\"'/|]{6,128})", shapes.strong_password_like),
    phrase("password", ("identified ", "password '"), r"(?:identified (?:with \w{1,40} )?by|password)[ ]'([^'\n]{4,128})'", shapes.quoted_password_like),
    phrase("password", ("identified by",), r"identified by[ ]\"?([^\s'\";]{4,128})", shapes.strong_password_like),
    # redis-server --requirepass ..., masterauth ...
    phrase("password", ("requirepass", "masterauth"), r"(?:requirepass|masterauth)[ \t:=\"',]{1,6}([^\s\"',]{4,128})", shapes.quoted_password_like),
    # .dockerconfigjson: eyJh...
    phrase("token", (".dockerc",), r"\.docker(?:configjson|cfg)[\"']?[ ]?[:=][ ]?[\"']?([A-Za-z0-9+/]{24,8192}={0,2})", shapes.token_like),
    # ... | base64 -d, and what it prints
    phrase("password", ("base64 -", "base64 --"), r"base64 (?:-d|--decode)\b[^\n]{0,40}\n([^\s\"']{6,128})(?=\s|\Z)", shapes.strong_password_like),
    # {"PHPSESSID": "..."}, connect.sid=...
    phrase("cookie", ("sessid", "sessionid", "connect.sid", "csrftoken"), r"(?:sessid|sessionid|connect\.sid|csrftoken)[\"']?[ ]?[:=,][ ]?[\"']?([A-Za-z0-9%._-]{16,256})", shapes.cookie_like),
    # ?key=..., &access_token=...
    phrase("API key", ("?key=", "&key="), r"[?&]key=([A-Za-z0-9_-]{20,256})", shapes.token_like),
    # /t/TOKEN/channel of conda, hooks.zapier.com/hooks/catch/1/abc, maker.ifttt.com/.../key/abc
    phrase("token", ("/t/",), r"/t/([A-Za-z0-9-]{20,128})/", shapes.token_like),
    phrase("webhook", ("hooks.zapier.com", "maker.ifttt.com"), r"(?:hooks\.zapier\.com/hooks/catch/\d{1,12}|maker\.ifttt\.com/[\w/]{0,60}?key)/([A-Za-z0-9_-]{6,64})", bool),
    # PIN-Code für den Drucker: 4 digits; SIM PIN 4 digits, PUK 8
    phrase("PIN", ("pin", "puk"), r"(?<![a-z_])(?:pin|puk)(?:[ -]?(?:code|nummer|number))?(?:[ ][^\s:=,;.\d]{1,20}){0,4}?(?:[ ]?[:=\uff1a][ ]?|[ ](?:is|ist|est|es|lautet)[ ])(\d{4,10})(?![\w]|[.,]\d)", bool),
    phrase("PIN", ("pin ", "puk "), r"(?<![A-Za-z_])(?-i:PIN|PUK)[ ](\d{4,10})(?![\w]|[.,]\d)", bool),
    # one-time code for the login was 6 digits; backup codes: 8 digits, 8 digits
    phrase("one-time code", ("one-time", "backup code", "recovery code", "2fa", "verification code", "einmalcode", "\u9a8c\u8bc1\u7801"), r"(?:one-time (?:pass)?code|(?:backup|recovery|2fa|verification) codes?|einmalcode|\u9a8c\u8bc1\u7801)[^\n\d]{0,40}?[ :=\u662f\uff1a](\d{6,8}(?:[,;]?[ ]\d{6,8}){0,12})(?![\w])", bool),
    # 2FA setup key ABCD EFGH ...
    phrase("TOTP seed", ("2fa", "totp", "otp", "mfa", "authenticator", "two-factor"), r"(?:2fa|totp|otp|mfa|authenticator|two-factor)[^\n]{0,40}?[ :=]((?-i:[A-Z2-7]{4}(?:[ -][A-Z2-7]{4}){3,7}))(?![A-Za-z0-9])", bool),
)  # fmt: skip

# No literal to go by: one pass each, held back by what must stand before them.
PASSES: tuple[Kind, ...] = (
    # eight groups of six digits
    Kind("BitLocker key", (), regex(r"(?<![\d-])(\d{6}(?:-\d{6}){7})(?![\d-])"), None),
    Kind("Discord bot token", (), regex(rf"{_START}([MNO][A-Za-z0-9]{{22,27}}\.{_W}{{6,7}}\.{_W}{{27,40}})(?!{_A})"), shapes.by_chance),
    Kind("Telegram bot token", (), regex(rf"(?:(?<=/bot)|{_START})(\d{{8,10}}:AA{_W}{{32,35}})(?!{_A})"), shapes.by_chance),
    # db.example.org:5432:sales:ann:...
    Kind("password (pgpass)", (), regex(r"^[+\- >]{0,2}(?![^\s:]{1,100}\.(?:py|rs|go|[jt]sx?|java|c|cpp|h|md):)[^\s:/]{1,100}:(?:\d{4,5}|\*):[^\s:]{1,63}:[^\s:]{1,63}:(\S{1,128})[ \t]{0,4}$", re.MULTILINE), shapes.password_like),
)  # fmt: skip


# -- Passwords in sentences of five languages: `my laptop login is ...`, `Der Zugang zum NAS ist ...`, `La clave es ...`

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
    phrase("password", _IN_PASSWORDS, rf"{_PASSWORD}{_WORDS}[\"'`*)]{{0,3}}{_IS}{_V}", shapes.strong_password_like),
    # login ann, pass ...; the password, which is ..., asks for a password, type ...; « ... » after mot de passe
    phrase("password", _IN_PASSWORDS, rf"{_PASS}(?:[ ,;]{{1,2}}{_ABOUT}[^\s.!?,;(]{{1,24}}){{0,6}}?[ ,(]{{1,3}}{_V}", shapes.called_so),
    # y la clave Lagune279; 密码Lagune279
    phrase("password", (*_IN_PASSWORDS, "密码", "密碼", "口令"), rf"(?:{_GIVES}{_PASS}[ ]|(?:密码|密碼|口令)(?:改?[为成是]了?)?[ ]?){_WORD_AND_NUMBER}", shapes.strong_password_like),
    # Our Gmail app password is four groups of four letters; Apple's with hyphens
    phrase("password", (*_IN_PASSWORDS, "login", "密码"), rf"(?:{'|'.join(_IN_PASSWORDS)}|login|密码)[^\n]{{0,60}}?(?<![\w-])((?-i:[a-z]{{4}}([ \xa0-]?)[a-z]{{4}}\2[a-z]{{4}}\2[a-z]{{4}}))(?![\w-])", lambda v: shapes.score(v) > (2 if v.isalpha() else -2) and not shapes.stand_in(v)),
    # my laptop login is ...; Mi clave del wifi es ...
    phrase("password", tuple(_NOUNS.split()), rf"{_NOUN}(?:{_IS}|=){_V}", shapes.plainly_made),
    # log in as ann with ...; Connecte-toi avec ann et ...
    phrase("password", tuple(_VERBS.split()), rf"{_any(_VERBS)}\w{{0,4}}(?:-\w{{1,5}})?(?:[ ][^\s.!?;:=]{{1,24}}){{0,6}}?{_BY}{_V}", shapes.called_so),
    # Identifiants : ann / ...; the account is ann with ...
    phrase("password", tuple(_NOUNS.split()), rf"{_NOUN}[ ]?{_IS}[\"'`]?[\w.@+-]{{1,40}}[\"'`]?{_PAIR}{_V}", shapes.called_so),
    # WLAN-Schlüssel im Büro: ...; Le code Wi-Fi du bureau, c'est ...; wifi key ...
    phrase("password", ("wifi", "wi-fi", "wlan"), rf"(?:wi-?fi|wlan)[^\s:=]{{0,16}}(?:,?[ ][^\s.!?:]{{1,24}}){{0,5}}?(?:{_IS}|[ ]){_V}", shapes.called_so),
    # SSID: home, key: ...
    phrase("password", ("ssid",), rf"ssid[^\n]{{0,40}}?(?:key|code|psk|pw|pass)[\"'`]?(?:[ ]?[:=][ ]?|[ ]){_V}", shapes.called_so),
    # We rotated the secret; the new one is ...; das neue ist ..., la nueva es ...
    phrase("secret", (*_IN_PASSWORDS, "secret", "token", "key", "geheimnis", "schlüssel", "clé", "jeton", "secreto"), rf"(?:passw\w{{0,4}}|kennwort|contrase\w{{2}}|mot de passe|mdp|clave|secreto?|token|key|geheimnis|schlüssel|clé|jeton)(?![\w-])[^\n]{{0,60}}?[ ](?:new|current|right|next|neue|aktuelle|richtige|nouve(?:lle|au)|nuev[ao])(?:[ ](?:one|value))?[ :](?:is|ist|lautet|est|es)?{_NOW}[: ]{{1,2}}{_V}", lambda v: shapes.called_so(v) or shapes.token_like(v)),
    # Encryption passphrase for the backups: ... (three words or more)
    phrase("passphrase", ("passphrase", "seed phrase", "recovery phrase", "secret phrase", "mnemonic"), r"(?:[a-z ]{4,9}phrase|mnemonic(?=[^\n]{60}))[^\n:=]{0,40}?(?:[:=]|[ ]is)[ ]?[\"'`]?((?:[a-z]{3,12}[ ]){2,23}[a-z0-9]{2,12})(?![ ]?[\w(])", shapes.passphrase),
    # use ann and ...
    phrase("password", ("use ", "with "), rf"(?:use|with)[ ][\w.@-]{{1,32}}[ ](?:and|/|:)[ ]{_V}", shapes.called_so),
    # 我的wifi密码是...
    phrase("password", tuple(_HAN_NOUNS.split()), rf"(?:{_HAN_NOUNS.replace(' ', '|')}){_HAN}(?:[\u662f\u4e3a\u70ba\u6210\u7528\u548c:\uff1a=/][ ]?|[ ]?){_V}", shapes.called_so),
    # 用 ann 和 ... 登录
    phrase("password", ("\u7528",), rf"\u7528[^\n\u3002\uff1b]{{0,24}}?[\u548c\u4e0e/ ]{_V}[ \u201d\"'`]{{0,2}}(?:\u6765|\u53bb)?(?:\u767b\u5f55|\u767b\u9646|\u89e3\u9501|\u8fdb|\u8fde\u63a5|\u8fde)", shapes.called_so),
    # User ID=ann;Password=...; of a connection string, with any signs
    phrase("password", ("uid=", "user=", "user id=", "username="), r"(?:uid|user(?:name| id)?)=[^\n;=\"']{1,64};[ ]?(?:password|pwd)=((?=[^\s;\"']{0,127}[\d!#$%^&*~?@|<>{}])[^\s;\"']{4,128})", lambda v: not shapes.stand_in(v)),
)  # fmt: skip


# -- Passwords and keys in commands: `docker login -p ...`, `curl -u ann:...`, `echo ... | sudo -S`

_NUMBERED = regex(r"[A-Za-z]{1,20}(?:[_.-][A-Za-z]{1,20})?[_.-]?\d{1,4}")
_HOST = regex(r"\.[a-z]{2,8}\Z")
_REST = r"(?:[^\n]|\\\n){0,160}?"
_ARGUMENT = r"[\"']?([^\s\"'`|<>]{4,128})"


def _given(value: str) -> bool:
    return shapes.strong_password_like(value) or shapes.plainly_made(value) or shapes.token_like(value)


_NAMED = r"(?:\w{1,20}[ ]?=[ ]?)?"
_ARG = r"(?:[rbfn]?[\"'][^\"'\n]{0,80}[\"']|[\w.\\]{1,40}(?:\([^()\n]{0,40}\))?|\{[^{}\n]{0,120}\})"  # "db", url, {"sub": 1}
_ARGS = rf"(?:[ ]?{_NAMED}{_ARG},){{1,4}}?[ ]?{_NAMED}"
_LITERAL = r"[rbfn]?[\"']((?![\w.+-]{1,64}@[\w-]{1,40}\.)(?=[^\"'\n]{0,127}[\d!#$%^&*+~?@])[^\"'\s]{6,128})[\"']"


def _password(value: str) -> bool:
    """Return whether an argument of a call that takes a password is one, not `db01.dev` nor `realm_1`."""
    strong = shapes.strong_password_like(value, quoted=True) and sum(map(str.isdigit, value)) > 1
    return (shapes.called_so(value) or strong) and not _HOST().search(value)


def _argument(value: str) -> bool:
    """Return whether one of a call that may take a password is one: not `sales2023` or `table_42` either."""
    return _password(value) and (shapes.called_so(value) or not _NUMBERED().fullmatch(value))


def _command(literals: str, pattern: str) -> Kind:
    return phrase("password", tuple(literals.split()), pattern, _given)


COMMANDS: tuple[Kind, ...] = (
    phrase("password (curl)", ("curl", "--user", "--proxy-user"), rf"(?:curl{_REST}[ ]-u|--(?:proxy-)?user)[ =]{{0,2}}[\"']?[^\s:\"']{{1,64}}:([^\s\"'`]{{3,128}})", lambda v: not v.isdigit() and shapes.password_like(v)),
    # http -a ann:..., xh --auth=ann:...
    _command("http xh", r"(?<![\w/:.-])(?:https?|xhs?)[ ](?:[^\n]{0,80}?[ ])?(?:-a|--auth)[ =][\"']?[\w.@-]{1,64}:([^\s\"'`]{4,128})"),
    # docker login -u ann -p ..., helm registry login --password=..., oc login --token ...
    _command("docker podman nerdctl buildah skopeo helm oras az cf oc argocd vault mongo rancher", rf"(?<![\w-])(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|az|cf|oc|argocd|vault|rancher)[ ](?:\w{{1,20}}[ ]){{0,2}}login{_REST}[ ]-{{1,2}}(?:p|password|token)[ =]?{_ARGUMENT}"),
    # mongosh -u ann -p ..., useradd -p ... ann, any tool with -u ann -p ...
    _command("mongo useradd usermod beeline twine cqlsh influx", rf"(?:mongo|useradd|usermod|beeline|twine|cqlsh|influx)[a-z]{{0,8}}{_REST}[ ]-{{1,2}}p[ =]?{_ARGUMENT}"),
    phrase("password", ("-u ", "-u=", "--user"), rf"(?:-u|--user(?:name)?)[ =][\"']?[\w.@\\-]{{1,64}}[\"']?(?=[ ]){_REST}[ ]-p[ =]?{_ARGUMENT}", shapes.called_so),
    # redis-cli -a ..., redis-cli AUTH ...
    phrase("password", ("redis-cli",), rf"redis-cli{_REST}[ ](?:-a|auth)[ ]{_ARGUMENT}", shapes.password_like),
    # AUTH ... of Redis, AUTH PLAIN ... of a mail server
    phrase("password", ("auth ",), rf"(?<![\w-])(?-i:AUTH)[ ](?:PLAIN[ ])?{_ARGUMENT}", shapes.called_so),
    # sqlplus ann/...@db, userid=ann/...@db, CONNECT ann/"..."@db, jdbc:oracle:thin:ann/...@//db
    _command("sqlplus sqlldr expdp impdp userid= oracle:", r"(?:sqlplus|sqlldr|expdp|impdp|userid=|oracle:(?:thin|oci):)(?:[ ]|-\w{1,4}[ ]){0,4}[\w.$-]{1,40}/[\"']?([^\s\"']{4,64})[\"']?@"),
    _command("conn", r"conn(?:ect)?[ ][\w.$-]{1,40}/[\"']?([^\s\"']{4,64})[\"']?@"),
    # .logon host/ann,... of Teradata
    _command(".logon", rf"\.logon[ ][\w./-]{{1,60}},{_ARGUMENT}"),
    # rabbitmqctl add_user ann ..., isql warehouse ann ...
    _command("add_user change_password http-basic.", rf"(?:add_user|change_password|http-basic\.[\w-]{{1,40}})[ ]\S{{1,64}}[ ]{_ARGUMENT}"),
    phrase("password", ("isql ",), rf"isql[ ]\S{{1,40}}[ ][\w.]{{1,40}}[ ]{_ARGUMENT}", _given),
    # mc alias set lake https://... ann ..., poetry config pypi-token.pypi ...
    phrase("API key", ("alias set", "host add"), rf"(?:alias set|host add)[ ]\S{{1,40}}[ ]\S{{1,120}}[ ]\S{{1,128}}[ ]{_ARGUMENT}", _given),
    phrase("token", ("pypi-token.",), rf"pypi-token\.\S{{1,40}}[ ]{_ARGUMENT}", _given),
    # aws ssm put-parameter --value ...
    phrase("secret", ("put-parameter",), rf"put-parameter{_REST}[ ]--value[ =]{_ARGUMENT}", shapes.called_so),
    # ConvertTo-SecureString "..."
    phrase("password", ("convertto-securestring",), r"convertto-securestring[ ](?:-string[ ])?[\"']([^\"'\n]{4,128})[\"']", shapes.quoted_password_like),
    phrase("passphrase", ("ssh-keygen",), rf"ssh-keygen{_REST}[ ]-[NP][ ]{{0,2}}[\"']([^\"'\n]{{1,128}})", shapes.quoted_password_like),
    phrase("password", ("sshpass",), r"sshpass[ \t]{1,4}-p[ \t]{0,4}[\"']?([^\s\"']{1,128})", shapes.quoted_password_like),
    phrase("password", ("mysql", "mariadb"), rf"(?:mysql|mariadb){_REST}[ ]-p[\"']?([^\s\"'=-][^\s\"']{{3,64}})", shapes.password_like),
    # ldapsearch -w ..., ldappasswd -s ...
    _command("ldap", rf"ldap[a-z]{{3,8}}[ ]{_REST}-[ws][ ]?{_ARGUMENT}"),
    # smbclient -U 'ann%...', net use /user:ann ...
    _command("smb rpcclient", rf"(?:smb[a-z]{{3,8}}|rpcclient)[ ]{_REST}(?-i:-U)[ ]?[\"']?[\w.\\@-]{{1,64}}%([^\s\"']{{4,128}})"),
    _command("/user:", rf"/user:[\w.\\@-]{{1,64}}[ ]{_ARGUMENT}"),
    _command("net", rf"net[ ](?:use|user)[ ](?:\w:[ ])?[\w\\:.$-]{{1,80}}[ ]{_ARGUMENT}"),
    # 7z x -p..., unzip -P ..., zip -e -P ..., rar a -hp...
    _command("7z zip rar", rf"(?:7z[ar]?|zip|rar)[ ]{_REST}-h?p[ ]?{_ARGUMENT}"),
    # openssl enc -k ..., -passin pass:...
    _command("openssl", rf"openssl[ ]{_REST}(?:[ ]-k|[ ]-(?:pass|passin|passout|password)[ ]pass:|passwd[ ]-\w{{1,8}}[ ])[ ]?{_ARGUMENT}"),
    # echo ... | sudo -S, echo ann:... | chpasswd, printf '...' | docker login --password-stdin
    _command("echo printf", r"(?:echo|printf)[ ](?:-\w{1,3}[ ]|[\"']?%s(?:\\n)?[\"']?[ ])?[\"']?(?:[\w.-]{1,32}:)?([^\s\"'`|<>$:]{4,128})(?:\\n)?[\"']?[ ]?(?:\)|\|[ ]?)(?:sudo|(?<=\))|[^\n|]{0,80}?(?:passw|login|kinit|cryptsetup|--pass|--token|gpg|pass[ ]))"),
    # kinit ann <<< ...
    _command("kinit sudo passwd login cryptsetup stdin", rf"(?:kinit|sudo|passwd|login|cryptsetup|stdin)[^\n<]{{0,80}}<<<[ ]?{_ARGUMENT}"),
    # htpasswd -b -c FILE ann ..., htpasswd -nbB ann ...
    _command("htpasswd", rf"htpasswd[ ](?:-\w{{1,8}}[ ](?:\d{{1,2}}[ ])?){{0,4}}?-\w{{0,6}}b\w{{0,6}}[ ](?:-\w{{1,8}}[ ](?:\d{{1,2}}[ ])?){{0,4}}(?:\S{{1,80}}[ ])?\S{{1,64}}[ ]{_ARGUMENT}"),
    _command("rclone", rf"rclone[ ]obscure[ ]{_ARGUMENT}"),
    # keytool -storepass ..., vncviewer -passwd ..., pdftk ... user_pw ...
    _command("-storepass -keypass -passwd -pass -pw er_pw", rf"(?:-(?:storepass|keypass|passwd|pass|pw)|er_pw)(?:[ =:]|[ ]pass:){_ARGUMENT}"),
    _command("qpdf", rf"qpdf[ ]{_REST}--encrypt[ ]\S{{1,64}}[ ]{_ARGUMENT}"),
    _command("wpa_passphrase -setairportnetwork", rf"(?:wpa_passphrase|-setairportnetwork[ ]\S{{1,20}})[ ]\S{{1,40}}[ ]{_ARGUMENT}"),
    # xfreerdp /p:..., signtool /p ..., rdesktop -p ..., lftp -u ann,...
    phrase("password", ("/p ", "-p "), rf"[/-]p[ ]{_ARGUMENT}", shapes.plainly_made),
    phrase("password", ("/p:",), rf"/p:{_ARGUMENT}", shapes.called_so),
    phrase("password", ("-u ",), r"-u[ ][\w.@-]{1,40},[ ]?([^\s\"'`|<>]{4,128})", shapes.called_so),
    # connect("h", "ann", "..."), WiFi.begin("home", "...")
    phrase("password", ("connect", "begin(", "ftp(", "client("), rf"(?:connect|begin|ftp|client)\w{{0,20}}\({_ARGS}{_LITERAL}", _argument),
    # userpass.login("ann", "..."), new NetworkCredential("ann", "..."), create_user("ann", mail, "..."), auth = ("ann", "...")
    phrase("password", ("login", "auth", "basic", "credential", "password", "passwd", "user(", "pw_set("), rf"(?:login|auth|basic|credential|password|passwd|user|pw_set)\w{{0,20}}(?:[ ]?=)?\]?(?:::new|\.new)?[ ]?\(?{_ARGS}(?:some\()?{_LITERAL}", _password),
    # jwt.encode({"sub": 1}, "...", "HS256"), jwt.verify(token, "...")
    phrase("API key", ("jwt.",), rf"jwt\.(?:encode|decode|sign|verify)\([ ]?{_ARG},[ ]?{_NAMED}{_LITERAL}", lambda v: _argument(v) or shapes.token_like(v)),
    # Fernet("..."), hmac.new(b"..."), hashpw(b"..."), make_password("..."), pdf.decrypt("..."), load_pem_private_key(data, b"...")
    phrase("password", ("crypt(", "hashpw(", "fernet(", "hmac.new(", "aes.new(", "password(", "password_hash(", "context.hash(", ".auth(", "private_key("), rf"(?:crypt|hashpw|fernet|hmac\.new|aes\.new|password|password_hash|context\.hash|\.auth|private_key)\((?:[ ]?[\w.]{{1,30}},)?[ ]?{_LITERAL}", _argument),
    # send "...\r" of an expect script
    _command("send", r"send(?:line)?[ ]?\(?[ ]?(?:--[ ])?[\"']([^\"'\s\\]{6,64})(?:\\[rn]){0,2}[\"']"),
)  # fmt: skip
