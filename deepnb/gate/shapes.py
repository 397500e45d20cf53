"""What a value looks like: drawn by chance, a person's password, a stand-in, or just code and words."""

import base64
import binascii
import re
from itertools import pairwise

from deepnb.gate.spans import regex, word_set

# After each first letter the letters that often follow it in the words of source code: 220 pairs of 676. They are
# 90 % of the pairs in words and 33 % of those drawn by chance: the logarithms of these odds are the points.
_PAIRS = """
abcdgilmnprstuy baeilorsu cacehiklortu daeiosu eabcdefgilmnprstvwx faefiloru gaehinors haeiot iabcdefglmnoprstvz
kei ladeilostuy mabeimopsu nacdefginostuv oabcdfgiklmnoprstuvw paeiloprsty qu racdegiklmnorstuy sacehilopstu
tacehilorstuy uabceilmnprst vaei waei xpt yp ze
"""
_COMMON = frozenset(row[0] + letter for row in _PAIRS.split() for letter in row[1:])
_WORD, _CHANCE, _TURN = -1.0, 1.9, 1.2
_SHARE = 0.15
"""Points per character: one random value in a thousand has fewer, one identifier in five hundred has more."""
_HEX = frozenset("0123456789abcdef")
_CODE_SIGN = regex(r"[,;:(){}\[\]<>|\\](?!\Z)|[!=<>+*-]=")
_ALGORITHM = regex(
    r"(?i)(?:\A|[._-])(?:(?:scram|sha|md|utf|base|aes|rsa|hs|rs|es|ed|argon|bcrypt|scrypt|pbkdf|oauth|https?|python|py|ipv|latin|iso)[_-]?\d"
    r"|[vx]\d{1,3}(?:(?:alpha|beta|rc)\d{0,2})?(?![a-z\d]))"  # v2, v1beta1, x86
    r"|\A(?:polic|rule|hash|error|issue|ticket|page|table|tabla|field|feld|form|manager|version|producto|pedido)[a-z]{0,4}[_-]?\d{1,5}\Z",
)
# random_state=42
_GIVEN = regex(r"(?:[a-z_]{1,40}\d{0,3}|[A-Z_]{1,40}|[A-Z]?[a-z]{1,40}(?:[A-Z][a-z]{1,20}){0,4})=(?!=).")
_MAIL = regex(r"[\w.+-]{1,64}@[\w-]{1,40}\.[A-Za-z]")  # ann@company.dev
_NO_PASSWORD = regex(
    r"\S{1,64}[a-z]#\d{1,6}\Z"  # owner/repo#12
    r"|[$\u20ac\xa3]?\d[\d.,:+*x%-]{0,20}[A-Za-z%]{0,3}\d?\Z"  # $100M, 3x+2, 95%
    r"|0x[0-9a-fA-F]{1,16}\Z"  # 0x10FFFF
    r"|[A-Za-z]{1,20}[+#]{1,2}\d{0,2}\Z"  # C++17
    r"|[A-Za-z]{1,8}[&*^]{1,2}(?:[A-Z]?[a-z]{0,8}|[A-Z]{0,8})\d{0,4}\Z"  # R&D2024, x**2
)


# Otter-lamp-4711, OtterLamp4711, otter.4711.Lamp; no year
_WORDS_AND_NUMBER = regex(
    r"(?=\D{0,60}(?!(?:19|20)\d\d(?!\d))\d{3,6}\D{0,60}\Z)"
    r"(?:\d{3,6}[._!-]?)?[A-Za-z][a-z]{2,15}(?:[._!-]?\d{3,6}[._!-]?|[._!-]|(?=[A-Z]))[A-Za-z][a-z]{2,15}(?:[._!-]?\d{3,6})?[!#*?]?"
)


def score(text: str) -> float:
    """Return points for chance (above 0) or for words (below), over all neighbours: about 0.9 each, or -0.7."""
    points = 0.0
    for pair in pairwise(text.lower()):
        if pair[0].isalpha() and pair[1].isalpha():
            points += _WORD if pair[0] + pair[1] in _COMMON else _CHANCE
        elif pair[0].isalnum() and pair[1].isalnum() and pair[0].isdigit() != pair[1].isdigit():
            points += _TURN
    return points


def is_random(text: str) -> bool:
    return score(text) >= _SHARE * len(text)


def is_hexadecimal(text: str) -> bool:
    """Return whether all of it could be the digits of a hash or an id."""
    return _HEX.issuperset(text if text.islower() or text.isdigit() else text.lower() if text.isupper() else text)


# -- What a value looks like: made by chance, a person's password, a stand-in, or just code and words

_STAND_INS = word_set("""access_token admin and api-key api_key apikey bar basic baz bearer change-me change_me changeme contraseña
correct default dummy empty example fake false foo foobar guest here hidden incorrect invalid is kennwort key
masked missing mypassword mysecretpassword mysql n/a nil no none not null oauth oauth2 off on optional or pass
passwd password passwort postgres pw pwd redacted required root sample secret stored tbd test testing the todo token true undefined unset user username value wrong yes""")
_STAND_IN_PARTS = regex(
    r"(?i)your[-_ ]?(?:own|secure|strong|new|api|token|secret|pass|key|actual|real|\w{1,20}[-_](?:key|token|secret|pass))"  # your-api-key
    r"|[-_](?:goes[-_])?here\b|example|placeholder|change[-_]?me|replace[-_]|insert[-_]|dummy|redacted|not[-_]a[-_]real"  # token-goes-here
    r"|\bmy[-_](?:secret|pass|token|api|key)|test[-_](?:token|key|secret|pass)|x{4}|\*{3}|•{3}|\.{3}|…|\$\{|\$\(|\{\{|%\(\w{1,40}\)",  # my_token, xxxx, ${TOKEN}
)
_ALPHABET = regex(r"abcdefgh|0123456789|useandom", re.IGNORECASE)  # 0123456789
_STAND_IN_FORM = regex(
    r"(?is)<.{0,200}>|\{.{0,200}\}|\[.{0,200}\]|%\w{1,60}%|[\w./:-]{0,60}(?-i:%[sd])\b[\w./:%-]{0,60}|\$[A-Za-z_][\w.]{0,60}|:[A-Za-z_]\w{0,60}"  # <token>, $TOKEN
    r"|(?:pass(?:word|wd)?|pwd?|token|secret|key)[-_]?\d{0,2}"  # password1
    r"|(?:(?:big|small)?int(?:eger)?|bool(?:ean)?|float|double|number|numeric|date(?:time)?|timestamp(?:tz)?|uuid|jsonb?|n?(?:var)?char|[cb]lob"
    r"|n?text|string|str|(?:var)?binary|bytea?|bytes|object|array|list|dict|any|optional|secretstr)(?:\(\d{1,5}\)|\[.{0,60}\]|\?)?"  # the name of a type
    r"|[A-Za-z_-]{0,40}(?:password|passwd|passphrase|secret|token)[A-Za-z_-]{0,40}",  # db_password_here
)
_CODE = regex(
    r"(?:await |new )?[A-Za-z_]\w{0,60}!?(?:(?:\.|->|::|\?\.)[A-Za-z_]\w{0,60}!?){0,8}(?:[(\[{]|::<)"  # a call, an index
    r"|(?!\S{0,120}[a-z]{4}\d{3,6}\W?\Z)[A-Za-z_]\w{0,60}(?:(?:\.|->|::|\?\.)[A-Za-z_]\w{0,60}){1,8}[!;]?\Z"  # an attribute, not otter.lamp4711
)
# config.json, ~/keys/
_FILE = regex(r"\.(?:json|ya?ml|toml|ini|py|txt|pem|csv|md|html?|js|ts|key|crt|env|log|db|sqlite)\Z|://|\A[~.]{0,2}/\w{1,20}/")  # fmt: skip
_RATIO = regex(r"\d{1,12}[/.,:]\d{1,12}%?|\d{4}-\d\d-\d\d(?:[T ]\S{0,20})?")  # 12/14, 2026-03-01T10:00
_CAMEL = regex(r"[A-Za-z]?[a-z]{0,40}(?:[A-Z]{1,4}[a-z]{1,40}){0,8}\Z|[A-Z_]{1,80}\Z")  # accessToken, ACCESS_TOKEN
_NAMED = regex(r"(?:[A-Z][a-z]{4,20}){1,4}[A-Z][a-z]{2,20}\Z")  # GreenOtter
_TAG = regex(r"(?:main|master|dev|sha|v?\d{1,4}(?:\.\d{1,4}){1,3}(?:-[a-z]{3,12}){0,3})-[0-9a-f]{7,40}(?:-\d{6,14})?")
_NUMBER = regex(r"(?:#|0x)[0-9a-fA-F]{6,8}")  # #ff8800
_PIECES = regex(r"[A-Za-z0-9]{8,512}")
_STOP_WORDS = word_set("""a an and are ask at be by can das der die enter file for forgot from has have if in is ist it kept least long
lost must no not of on or please see set should stored text than that the this to too use used was when will with you your""")


def stand_in(value: str) -> bool:
    """Return whether this only marks where a credential goes: `changeme`, `<token>`, `${TOKEN}`, `***`, `password1`."""
    return (
        len(set(value[:256])) <= 2
        or value.lower().removesuffix("\\n").rstrip("?!") in _STAND_INS
        or _STAND_IN_FORM().fullmatch(value[:256]) is not None
        or _STAND_IN_PARTS().search(value, 0, 256) is not None
    )


def by_chance(value: str) -> bool:
    """Return whether a value with a telling prefix also has a body that chance made (not `sk-estimator-id-1`)."""
    digits = sum(c.isdigit() for c in value)
    mixed = digits > 0 and value.lower() != value and value.upper() != value
    letters = len(value) >= 24 and value.lower() != value and is_random(value) and not is_name(value)
    return (mixed or digits >= 4 or letters) and len(set(value)) >= 8 and not stand_in(value)


def is_alphabet(value: str) -> bool:
    """Return whether a value holds the letters or digits in their order, or those of a well-known generator of ids."""
    return _ALPHABET().search(value) is not None


def upper_by_chance(value: str) -> bool:
    """Return whether chance made an identifier in capitals (the documented example of one ends in EXAMPLE)."""
    return len(set(value)) >= 8 and "EXAMPLE" not in value and "XXXX" not in value


def token_like(value: str) -> bool:
    """Return whether the value of `token = ...` is a token, not a word, a number, a path or code."""
    if len(value) < 8 or len(value.split(None, 1)) != 1 or value.isdigit() or stand_in(value):
        return False
    code = _CODE().match(value)
    if code and (code[0][-1] in "([{:" or max(map(len, _PIECES().findall(value)), default=0) < 16):
        return False
    if _FILE().search(value[-64:]) or is_name(value) or _NUMBER().fullmatch(value):
        return False
    for piece in _PIECES().findall(value[:512]):
        digits = sum(c.isdigit() for c in piece)
        turns = sum(a.islower() != b.islower() for a, b in pairwise(piece))  # `privateKeyUsagePeriod` has fewer
        if 2 <= digits < len(piece) or (len(piece) >= 16 and 5 * turns >= 2 * len(piece)):
            return True
    return False


def is_name(value: str) -> bool:
    """Return whether a value ends in two words of a name in code, `X25519PrivateKey`, or is an image's tag, `main-8f3ab0b6`."""
    named = _NAMED().search(value[-100:])
    return _TAG().fullmatch(value) is not None or (named is not None and score(named.group()) <= 0)


def _is_encoded(value: str) -> bool:
    """Return whether base64 hides a password, as in a Kubernetes secret."""
    if len(value) < 8 or len(value) % 4 or len(value) > 256:
        return False
    try:
        plain = base64.b64decode(value, validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return False
    return plain.isprintable() and (plainly_made(plain) or _words_and_sign(plain))


def _words_and_sign(value: str) -> bool:
    """Return whether words with signs can only be a password: `Winter-River!`, `otter&lamp`, `otter_OtmrM`, four with hyphens."""
    if len(value) < 8 or not value[0].isalpha() or any(c in "()[]{}<>/\\\"'`:;,=|" for c in value):
        return False
    words = re.split(r"[^A-Za-z]", value)
    odd = any(len(word) >= 4 and _CAMEL().match(word) is None for word in words)
    signed = len(words) > 2 and value[-1] in "!#$%^&*+~" and value.lower() != value
    within = len(words) == 2 and min(map(len, words)) >= 4 and value[len(words[0])] in "!#$%^&*"
    phrase = len(words) >= 4 and min(map(len, words)) >= 3 and value.count("-") == len(words) - 1
    return odd or signed or within or phrase


def _is_code(value: str, quoted: bool = False) -> bool:
    """Return whether a value is a call, an index or, without quotes, an attribute."""
    if (code := _CODE().match(value)) is None or code[0][-1] in "([{:":
        return code is not None
    return not (quoted or _turns(value) > 3 or (_drawn(value) and _PIECES().search(value)))


def _drawn(value: str) -> bool:
    """Return whether a value, in lower case too, can be no word with a number: `rybnxsbhwu52`, and not `xgboost2023`."""
    return len(value) >= 10 and any(map(str.isdigit, value)) and value.isascii() and score(value) >= 0.8 * len(value)


def password_like(value: str, *, plain: bool = False, quoted: bool = False) -> bool:
    """Return whether a value is a password; with `plain` a bare lower-case word counts too."""
    if len(value) < 4 or stand_in(value) or _is_code(value, quoted) or "://" in value or _RATIO().fullmatch(value):
        return False
    value = value[:256]
    digits, letters = sum(c.isdigit() for c in value), sum(c.isalpha() for c in value)
    if digits == len(value):
        return len(value) >= 6
    if digits:
        return len(value) >= 5 and (letters > 0 or digits >= 4) and _FILE().search(value[-64:]) is None
    if letters < len(value):
        signed = letters >= 3 and len(value) >= 7 and any(c in "!@#$%^&*+~?" for c in value[:-1])
        words = plain and value.replace("-", "").replace("_", "").isalpha()
        return signed or words or _words_and_sign(value) or _is_encoded(value)
    if plain and len(value) >= 5:
        return True
    return len(value) >= 8 and value.isascii() and (_CAMEL().match(value) is None or _is_encoded(value))


def password_in_url(value: str) -> bool:
    """Return whether what stands before the host of an address is a password, as its percent signs are read."""
    from urllib.parse import unquote  # it compiles patterns as it is imported

    words = unquote(value).split()
    return len(value) >= 3 and value[0] not in "{<" and not all(map(stand_in, words))


def quoted_password_like(value: str) -> bool:
    """Return whether a quoted value is a password: any text that is not a stand-in, and words only if they are no sentence."""
    if len(value) < 4 or stand_in(value):
        return False
    words = value.split()
    if len(words) > 1:
        return 4 <= len(words) <= 12 and value.islower() and not _STOP_WORDS & {*words}
    return _FILE().search(value[-64:]) is None and any(c.isascii() and c.isalnum() for c in value)


def passphrase(value: str) -> bool:
    """Return whether words in a row are a passphrase and no part of a sentence."""
    words = value.split()
    return len(words) > 2 and len({*words}) > 2 and not _STOP_WORDS & {*words}


def basic_pair(value: str) -> bool:
    """Return whether base64 hides `user:password`; the example of RFC 7617, Aladdin's, is no credential."""
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), altchars=b"-_" if set(value) & {*"-_"} else None)
        user, colon, password = plain.decode("utf-8").partition(":")
    except (binascii.Error, ValueError):
        return False
    known = user == "Aladdin" or stand_in(password)
    return bool(colon) and not known and len(password) >= 3 and f"{user}{password}".isprintable()


def strong_password_like(value: str, *, quoted: bool = False) -> bool:
    """Return whether a value is a credential however loosely it stands beside its name: one word, letters, and more than letters."""
    if len(value) < 6 or not _is_one_word(value, quoted) or not password_like(value, quoted=quoted):
        return False
    letters, digits = any(c.isalpha() for c in value), any(c.isdigit() for c in value)
    signs = any(c in "!@#$%^&*?+" for c in value[1:])
    return letters and (digits or (signs and len(value) >= 8) or _words_and_sign(value) or _is_encoded(value))


def called_so(value: str) -> bool:
    """Return whether a word of a sentence about a password is that: plainly made, or two words and a number in one."""
    return plainly_made(value) or (_WORDS_AND_NUMBER().fullmatch(value) is not None and _is_one_word(value))


def plainly_made(value: str) -> bool:
    """Return whether a word of a sentence can only be a password: `qu13t-R1ver!88`, `x7Kp2mQ9tZ`, and not `Qwen2.5-7B`."""
    value = value[:256]
    if len(value) < 7 or not _is_one_word(value) or stand_in(value) or is_alphabet(value) or _is_code(value):
        return False
    if "://" in value or _FILE().search(value[-64:]) or _CODE_SIGN().search(value):
        return False
    digits, letters = sum(c.isdigit() for c in value), sum(c.isalpha() for c in value)
    if letters < 3 or (digits and _NO_PASSWORD().match(value)):
        return False
    turns = _turns(value) if digits and "." not in value and value.isascii() else 0
    drawn = turns >= 3 and (3 * turns >= len(value) or (turns > 3 and is_random(value)))
    if drawn and (turns > 3 or (value.lower() != value and value.upper() != value)):
        return True
    if _drawn(value):
        return True
    signs = any(c in "!#$%^&*+~@" for c in value[1:])
    return (signs and digits > 0) or _words_and_sign(value)


def _is_one_word(value: str, quoted: bool = False) -> bool:
    other = _MAIL().match(value) or _ALGORITHM().search(value) or (not quoted and _GIVEN().match(value))
    return len(value.split()) == 1 and not other


def _turns(value: str) -> int:
    """Return how often letters in one case, those in the other and digits take turns, but for a capital before small ones."""
    kinds = [0 if c.isdigit() else 1 if c.isupper() else 2 if c.isalpha() else 3 for c in value]
    return sum(a != b and 3 not in (a, b) and (a, b) != (1, 2) for a, b in pairwise(kinds))


def cookie_like(value: str) -> bool:
    """Return whether the value of a cookie tells who somebody is: it is long, and chance made it."""
    return len(value) >= 16 and token_like(value.replace("%", "").replace(".", "").replace(":", ""))
