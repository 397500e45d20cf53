"""Places in a text: a credential, a name that credentials are given to, and the value that begins at a place."""

import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import NamedTuple


def regex(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """Return a function that gives the compiled pattern, each time the same."""
    return cache(partial(re.compile, pattern, flags))


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# -- A stretch of a text that is a credential: where it is, of what kind, and why it is taken for one


class Finding(NamedTuple):
    """One credential: where it is, of what kind, and why it is taken for one, without the value; `line` counts from 1."""

    start: int
    end: int
    kind: str
    reason: str
    line: int = 1


# -- The value that begins at a place in a text: to its closing quote, or to where no value goes on

_OPEN = regex(r"\\{0,2}[\"']|[`\u201c\u201e\u2018\u300c\u300e]|\xab[ \xa0\u202f]?|&quot;")
_SHUT = dict(zip("\u201c\u201e\u2018\u300c\u300e\xab", "\u201d\u201c\u2019\u300d\u300f\xbb", strict=True))
_VALUE = regex(r"[^\s\"'`<>\u2018-\u201f\u3001-\u303f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uff0f\uff1a-\uff1f]{1,4096}")  # fmt: skip
_CUT = regex(r"\\[nrt\"'\\]|;|,|&(?=[\w%.-]{1,40}=)|\|")
_FIELD = regex(r"[A-Za-z_$][\w.$]{0,40}[:=(]")  # after a comma, what is not the value's: `password:r,strength:a`


class Value(NamedTuple):
    """Where it is, without its quotes, and whether it has any."""

    start: int
    end: int
    text: str
    quoted: bool


def value_at(text: str, start: int, *, bold: bool = False) -> Value:
    """Return what stands there; empty where nothing does. `bold`: stars may close it."""
    if (quote := _OPEN().match(text, start)) is not None:
        shut = text.find(_SHUT.get(quote[0][0], quote[0]), quote.end(), quote.end() + 4096)
        value = text[quote.end() : shut].rstrip("\xa0\u202f ") if shut >= 0 else ""
        if value and "\n" not in value:
            return Value(quote.end(), quote.end() + len(value), value, True)
        start = quote.end()
    if (found := _VALUE().match(text, start)) is None:
        return Value(start, start, "", False)
    value = found.group()
    for cut in _CUT().finditer(value):
        if cut[0] != "," or not value[cut.end() :].strip() or _FIELD().match(value, cut.end()):
            value = value[: cut.start()]
            break
    # A sentence's or a bracket's end is not the value's; an open bracket within keeps its closing one.
    ends = ".,:;" if "(" in value or "{" in value else ".,:;)]}"
    value = value.rstrip(ends + "*" if bold else ends)
    return Value(start, start + len(value), value, False)


# -- The names that credentials are given to: `password`, `api_key`, `密码`, and not `tokenizer`, `password_file`, `bypass`
# A name is found by substring search in the lowered text; small bounded patterns read the rest of it.

_WHOLE_PASSWORDS = ("mdp", "clave", "sifre", "haslo", "heslo")
_OF = regex(r"[_-]?(?i:bdd?|db|admin|root|user|usuario|acceso?|wifi|mail|correo|api|secreta|maestra)")  # mdp_bdd
_WHOLE_WORDS = ("jwt", "bearer")  # whole words: `jwt = ...`, not `jwt_lifetime = ...`
_PASSWORDS = """pass pwd pw kennwort contraseña contrasena senha пароль 密码 密碼 口令 パスワード 비밀번호 암호 暗号 wachtwoord hasło lösenord
losenord motdepasse mot_de_passe mot-de-passe palavra_passe contrasenya adgangskode salasana jelszo jelszó kata_sandi mat_khau şifre"""
_SECRETS = "secret credential psk creds passkey segreto geheimnis 凭证 凭据"
_NAMES = {
    **dict.fromkeys((*_PASSWORDS.split(), "mot de passe"), "password"),
    **dict.fromkeys(("token", "令牌", "トークン"), "token"),
    **dict.fromkeys(_SECRETS.split(), "secret"),
    **dict.fromkeys(("密钥", "密鑰", "密匙", "秘钥", "key"), "key"),
    **dict.fromkeys(("_auth", *_WHOLE_WORDS), "token"),
    **dict.fromkeys(_WHOLE_PASSWORDS, "password"),
}
_KEY_BEFORE = regex(
    r"(?:api|access|auth|account|secret|private|encryption|encrypt|signing|master|storage|service|deploy|admin|client|bot"  # api_
    r"|pragma|subscription|consumer|shared|license|hmac|jwt|session|cipher|crypto)[ ._-]?\Z"  # subscription-
)
# The rest of the name after the word that was found, and what makes it the name of something else.
_TAIL = regex(r"(?:[A-Za-z0-9_а-я-]{0,40})(?:[ ](?:access[ ])?(?:key|token))?")
_OTHER_THING = regex(
    r"(?:(?:^|[_-])(?:file|path|dir|url|uri|endpoint|names?|ids?|count|limit|length|len|type|field|env|var|policy|expiry|"  # _file, _url
    r"expires?|expiration|ttl|hash(?:ers)?|hint|prompt|label|reset|ref|min|max|header|prefix|enabled|required|rules?|"  # _expiry
    r"version|validators?|index|budget|usage|store|manager|provider|class|form|page|regex|pattern|input|args?|context|sha\d{1,3}|md5|digest"  # _validator
    r"|at|on|by|since|until|date|time|timestamp|age|days|hours|minutes|seconds|strength|score|status|state|kind|source|algorithm|scheme"  # changed_at
    r"|changed|updated|created|modified|rotated|format|mode|method|col(?:umn)?|flow|scope|owner|message|error|description|title|backend|strategy)"  # _policy_mode
    r"|(?<=[a-z])(?:File|Path|Url|Uri|Name|Id|Count|Limit|Length|Type|Field|Ref|Policy|Hash|At|On|By|Date|Time|Age|Strength|Status|State|Kind))s?\Z"  # secretName
    r"|(?:^|[_-])(?:PATH|FILE|URL|NAME|ID|COUNT|LIMIT|HASH|TYPE)\Z",  # TOKEN_PATH
)
_PASS_TAIL = regex(r"(?![Tt]hr)(?i:w|words?|wd|wort|ord|phrases?|code|wrd)?(?=[_\d-]|[A-Z]|\Z)")
_PW_BEFORE = regex(r"(?:admin|root|db|user|sql|ftp|mail|wifi|app|login)\Z", re.IGNORECASE)  # adminpw
# pass: ..., pass | ...
_PASS_GIVEN = regex(r"[\"'`*\])]{0,3}[ ]?(?:[:=\uff1a]|->|(?:is|was|ist|est|es)\b)|[\"'](?:\]|,)|</?|[*_`]{0,3}[ \t]{0,9}[|,;\t\n]")  # fmt: skip
_OTHER_KEYS = regex(
    r"(?i)(?:primary|foreign|cache|sort|partition|public|license|idempotency|host|row|group|object|dedup|lookup|index|map"  # primary_
    r"|dict|s3|blob|file|message|event|shard|hash|routing|composite|unique|natural|item|sub|storage|answer|short|hot)"  # s3_
    r"[_-]?\Z",
)
_LABEL = regex(r"[A-Za-z_.-]{0,24}\Z")


class Name(NamedTuple):
    """Where a name stands (from the word that makes it one), that word's family, and how it is written in full."""

    start: int
    stop: int
    family: str
    word: str
    label: str


def names(text: str, low: str) -> Iterator[Name]:
    """Yield all of them, word by word; `low` is the text, lowered, of one length."""
    for word, family in _NAMES.items():
        at = low.find(word)
        while at >= 0:
            start, at = at, low.find(word, at + 1)
            bare = word == "key" and _KEY_BEFORE().search(low[max(0, start - 14) : start]) is None
            upper = text.startswith("_KEY", start - 1)
            if bare and (not upper or _OTHER_KEYS().search(text, max(0, start - 16), start)):
                continue
            match = _TAIL().match(text, start + len(word))
            tail = match.group().rstrip("-") if match else ""
            if not _is_name(text, start, word, tail) or _OTHER_THING().search(tail.split(" ")[0]):
                continue
            stop = start + len(word) + len(tail)
            before = _LABEL().search(text, max(0, start - 24), start)
            word_there = text[start:stop] if tail.isalpha() else text[start : start + len(word)]
            label = f"{before.group() if before else ''}{word_there}"
            yield Name(start, stop, family, word, label.lstrip("-._"))


def _is_name(text: str, at: int, word: str, tail: str) -> bool:
    """Not `bypass`, `passenger`, `tokenizer`, `tokens`."""
    if word in (*_WHOLE_WORDS, *_WHOLE_PASSWORDS, "psk", "creds", "passkey"):
        whole = not tail or (word in _WHOLE_PASSWORDS and _OF().fullmatch(tail))  # not clave_primaria, mdp_states
        return bool(whole) and not text[max(0, at - 1) : at].isalpha()
    if word == "pw":
        stands = not text[max(0, at - 1) : at].isalnum() or _PW_BEFORE().search(text, max(0, at - 6), at)
        return bool(stands) and (not tail or (tail[0] in "_-" and len(tail) <= 8))
    if word == "_auth":
        return not tail[:1].isalpha()
    if word == "token":
        return not tail[:1].islower() and (tail[:1] != "S" or tail[1:2] == "E")
    if word != "pass":
        return True
    if text[max(0, at - 3) : at].lower() == "ask":  # the program that asks for it
        return False
    before = text[at - 1] if at else ""
    if not tail and not before.isalnum() and before not in ("_", "-", "."):  # else a verb: "pass NAME='value'"
        return _PASS_GIVEN().match(text, at + 4) is not None
    if tail[:1] in ("_", "-") and tail[1:2].islower() and not before.isalnum() and before not in ("_", "-"):
        return False  # pass_pipeline
    within = before.isascii() and before.islower() and text[at].islower()
    bare = not tail.lower().startswith(("w", "phrase", "code"))
    if bare and text[at : at + 4].isupper() and tail[:1].isupper():  # PASSED, PASSENGERS
        return False
    return _PASS_TAIL().match(tail) is not None and not (within and bare)
