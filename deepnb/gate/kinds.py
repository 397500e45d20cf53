"""The table of credentials known by their shape: kind, what must occur, the bounded pattern, a check.

A pattern is tried only where one of its literals stands (`match` from there), so clean text costs a few
substring searches. Group 1 is what is redacted. Every quantifier is bounded: time stays linear.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from deepnb.gate.regex import regex
from deepnb.gate.shapes import (
    basic_pair,
    by_chance,
    cookie_like,
    json_token,
    letters_by_chance,
    password_like,
    quoted_password_like,
    strong_password_like,
    token_like,
    upper_by_chance,
    url_password_like,
)
from deepnb.gate.span import Span

# Not inside a longer word, which a hyphen goes on (`task-sk-...`) but does not begin (`-ghp_...`, a line taken away);
# `\n` of a JSON string and `%3D` of a URL end a word, too.
_START = r"(?:(?<![A-Za-z0-9_])(?<![A-Za-z0-9_]-)|(?<=\\[nrt])|(?<=%[0-9A-F][0-9A-F]))"


@dataclass(frozen=True)
class Kind:
    """One row; `fold`: literals are lower case and looked for in the lowered text."""

    name: str
    literals: tuple[str, ...]
    pattern: Callable[[], re.Pattern[str]]
    check: Callable[[str], bool] | None = None
    fold: bool = False
    back: int = 0

    def span(self, match: re.Match[str]) -> Span:
        """What is redacted of a match."""
        article = "an" if self.name[0] in "AEIOao" else "a"
        return Span(*match.span(1), self.name, f"what looks like {article} {self.name}")


def _token(name: str, literals: str, body: str, check: Callable[[str], bool] | None = by_chance) -> Kind:
    starts = tuple(literals.split())
    heads = "|".join(re.escape(start) for start in starts)
    return Kind(name, starts, regex(f"{_START}((?:{heads}){body})"), check)


def phrase(name: str, literals: tuple[str, ...], pattern: str, check: Callable[[str], bool]) -> Kind:
    """A row that is found by a word; the pattern begins with one of the literals, which are lower case."""
    return Kind(name, literals, regex(pattern, re.IGNORECASE), check, fold=True)


_W = "[A-Za-z0-9_-]"
_A = "[A-Za-z0-9]"
_H = "[0-9a-fA-F]"

TOKENS: tuple[Kind, ...] = (
    _token("AWS access key", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}(?![A-Za-z0-9])", upper_by_chance),
    _token("AWS session token", "IQoJb3JpZ2lu FwoGZXIvYXdz FQoGZXIvYXdz", r"[A-Za-z0-9+/%]{80,4096}={0,2}"),
    _token("Alibaba access key", "LTAI", rf"{_A}{{12,26}}(?!{_A})"),
    _token("Google API key", "AIza", rf"{_W}{{35}}(?!{_A})"),
    _token("Google OAuth secret", "GOCSPX-", rf"{_W}{{20,40}}"),
    _token("Google OAuth token", "ya29.", rf"{_W}{{20,2048}}"),
    _token("Anthropic key", "sk-ant-", rf"{_W}{{20,200}}"),
    _token("OpenRouter key", "sk-or-", rf"{_W}{{20,200}}"),
    _token("OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-None-", rf"{_W}{{20,300}}"),
    _token("API key (sk-)", "sk-", rf"{_W}{{20,200}}"),
    _token("Hugging Face token", "hf_ api_org_", rf"{_A}{{30,60}}", letters_by_chance),
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
    _token("age key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{58}", upper_by_chance),
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
    _token("JSON token", "eyJ sk.eyJ pk.eyJ", r"[A-Za-z0-9_+/-]{37,4000}={0,2}(?:\.[A-Za-z0-9_-]{16,400}){0,2}(?![A-Za-z0-9_+/-])", json_token),
    _token("Firecrawl key", "fc-", r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _token("Axiom token", "xaat- xapt-", rf"{_H}{{8}}-[0-9a-f-]{{27}}"),
    _token("Modal token", "ak- as-", rf"{_A}{{22}}(?!{_W})"),
    _token("Cloudflare key", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{146}"),
    _token("Asana token", "1/ 2/", r"\d{16}(?:/\d{16})?:[0-9a-f]{32}"),
    _token("Amazon MWS token", "amzn.mws.", rf"{_H}{{8}}-[0-9a-f-]{{27}}"),
    Kind("Telegram bot token", (":AA",), regex(rf"(?:(?<=/bot)|{_START})(\d{{8,10}}:AA{_W}{{32,35}})(?!{_A})"), by_chance, back=10),
)  # fmt: skip

PHRASES: tuple[Kind, ...] = (
    phrase("cookie", ("cookie",), r"cookies?[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?(?:[\w.-]{1,40}=[^;\s\"']{0,200};[ ]?){0,8}?[\w.-]{1,40}=([^;\s\"']{16,4096})", cookie_like),
    phrase("password in a URL", ("://",), r"://[^\s:/?#@\"'<>]{0,64}:([^\s/?\"'<>`]{1,200})@(?=[\w\[$({</])", url_password_like),
    phrase("cookie", ("--cookie", "curl"), r"(?:--cookie|curl[^\n]{0,160}?[ ]-b)[ =][\"']?[\w.-]{1,40}=([^;\s\"']{16,4096})", cookie_like),
    phrase("bearer token", ("bearer",), r"bearer[ \t]{1,4}([A-Za-z0-9._~+/=-]{16,4096})", token_like),
    phrase("token", ("authorization",), r"authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:[A-Za-z][A-Za-z-]{1,20}[ \t=:]{1,2}(?:token=\"?)?)?([A-Za-z0-9._~+/=-]{16,4096})", token_like),
    phrase("password (basic authentication)", ("basic",), r"basic[ \t]{1,4}([A-Za-z0-9+/=_-]{8,512})", basic_pair),
    phrase("password (basic authentication)", ("auth\"",), r"auth\\?\"[ \t]{0,4}:[ \t]{0,4}\\?\"([A-Za-z0-9+/=]{8,512})", basic_pair),
    phrase("shared access signature", ("sig=",), r"sig=([A-Za-z0-9%+/]{40,128}={0,2})", by_chance),
    phrase("password (netrc)", ("login",), r"login\s{1,8}\S{1,64}\s{1,16}password[ \t]{1,8}(\S{1,128})", password_like),
    phrase("password", ("credentials", "login", "credenciales", "identifiants", "zugang", "账号"), r"(?:credentials|logins?|credenciales|identifiants|zugang(?:sdaten)?|账号)(?:/pass\w{0,5})?(?:[ ][^\n:]{0,30})?[:=\uff1a][ \t]{0,4}[`\"']?[\w.@+-]{1,64}[`\"']?[ ]?[/|:][ ]?[`\"']?([^\s`\"'/|]{6,128})", strong_password_like),
    phrase("password", ("identified ", "password '"), r"(?:identified (?:with \w{1,40} )?by|password)[ ]'([^'\n]{4,128})'", quoted_password_like),
    phrase("password", ("identified by",), r"identified by[ ]\"?([^\s'\";]{4,128})", strong_password_like),
    # redis-server --requirepass ..., masterauth ...
    phrase("password", ("requirepass", "masterauth"), r"(?:requirepass|masterauth)[ \t:=\"',]{1,6}([^\s\"',]{4,128})", quoted_password_like),
    # .dockerconfigjson: eyJh...
    phrase("token", (".dockerc",), r"\.docker(?:configjson|cfg)[\"']?[ ]?[:=][ ]?[\"']?([A-Za-z0-9+/]{24,8192}={0,2})", token_like),
    # ... | base64 -d, and what it prints
    phrase("password", ("base64 -", "base64 --"), r"base64 (?:-d|--decode)\b[^\n]{0,40}\n([^\s\"']{6,128})(?=\s|\Z)", strong_password_like),
    # {"PHPSESSID": "..."}, connect.sid=...
    phrase("cookie", ("sessid", "sessionid", "connect.sid", "csrftoken"), r"(?:sessid|sessionid|connect\.sid|csrftoken)[\"']?[ ]?[:=,][ ]?[\"']?([A-Za-z0-9%._-]{16,256})", cookie_like),
    # ?key=..., &access_token=...
    phrase("API key", ("?key=", "&key="), r"[?&]key=([A-Za-z0-9_-]{20,256})", token_like),
    # /t/TOKEN/channel of conda, hooks.zapier.com/hooks/catch/1/abc, maker.ifttt.com/.../key/abc
    phrase("token", ("/t/",), r"/t/([A-Za-z0-9-]{20,128})/", token_like),
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
DISCORD = regex(rf"{_START}([MNO][A-Za-z0-9]{{22,27}}\.{_W}{{6,7}}\.{_W}{{27,40}})(?!{_A})")
PGPASS = regex(
    r"^[+\- >]{0,2}(?![^\s:]{1,100}\.(?:py|rs|go|[jt]sx?|java|c|cpp|h|md):)[^\s:/]{1,100}:(?:\d{4,5}|\*):[^\s:]{1,63}:[^\s:]{1,63}:(\S{1,128})[ \t]{0,4}$",
    re.MULTILINE,
)
PASSES: tuple[Kind, ...] = (
    # eight groups of six digits
    Kind("BitLocker key", (), regex(r"(?<![\d-])(\d{6}(?:-\d{6}){7})(?![\d-])"), None),
    Kind("Discord bot token", (), DISCORD, by_chance),
    Kind("password (pgpass)", (), PGPASS, password_like),
)
