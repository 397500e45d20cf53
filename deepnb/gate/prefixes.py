"""`xyz_` and then a long value that looks drawn by chance: keys of vendors that no table knows yet.

Ids and digests look the same, so the words that introduce them are known here, and a UUID or a hash counts only after
a prefix that says what it is for (`sk-`, `pat-`).
"""

import re
from collections.abc import Iterator

from deepnb.gate.chance import is_hexadecimal, is_random
from deepnb.gate.regex import regex
from deepnb.gate.shapes import is_name, stand_in
from deepnb.gate.span import Span

_SHORTEST, _SHORTEST_TELLING, _SHORTEST_HASH = 24, 20, 32
_RUN = regex(
    r"(?:(?<![A-Za-z0-9\\])(?<![A-Za-z0-9_][_-])|(?<=\\[nrt])|(?<=%[0-9A-F][0-9A-F]))"
    r"[A-Za-z][A-Za-z0-9]{1,15}[_.~-]{1,2}[A-Za-z0-9][A-Za-z0-9_+/.~-]{19,511}"
)
_REST = regex(r"[A-Za-z0-9_+/.~-]{0,4096}={0,2}")
_PART = regex(
    r"((?![a-z]{1,15}\d{3})(?:[a-z]{1,15}|[A-Z]{1,15}|[A-Z][a-z]{1,14})(?:\d{1,2}[a-z]{0,3}){0,2})[_.~-]{1,2}"
)
_PARTS = 4
_UUID = regex(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_NAME_END = regex(r"\.[A-Za-z][A-Za-z0-9]{0,4}\Z")  # a file's, or a host's
_RESOURCE = regex(
    r"(?:[a-z0-9]{1,19}[._~-]{1,2}){2,40}[a-z0-9]{1,19}"  # payment-worker-7d9c6b8f5-x2x7k, test_align_mismatched_tzs
    r"|[a-z0-9-]{1,64}-(?:[A-Z][a-z]{2,15}){2,5}-[A-Z0-9]{10,14}"  # shop-PayFunction-7LFBSG5O47PC2
    r"|[A-Z][a-z]{1,15}(?:-[A-Za-z]{1,16}){0,9}-[0-9a-f]{32}"  # Meeting-notes-4f9a...
)
_ID = regex(r"[a-z]{2,10}_01[A-Za-z0-9]{20,24}")  # msg_01...: Anthropic's ids of whatever kind
_OTHER = regex(r"[^A-Za-z0-9]")
_TELLING_TEXT = """sk rk pat key keys apikey api token tok tkn secret sec auth oauth access live cred creds pass pw pwd bearer jwt priv
private service svc webhook whsec refresh personal signing sdk"""
_TELLING = frozenset(_TELLING_TEXT.split())
# What is no credential though drawn by chance: stand-ins, digests and public keys, wherever the word stands in the
# prefix; what is named by its hash; and ids, whose word is all of the prefix.
_DIGESTS_TEXT = """your example sample dummy fake placeholder sha md hash digest checksum etag integrity crc fingerprint pub pubkey
public ssh ecdsa rsa ed uuid guid nonce boundary webkit traceparent"""
_DIGESTS = frozenset(_DIGESTS_TEXT.split())
_HASH_NAMES_TEXT = """cache commit rev revision blob layer image index chunk build snapshot font bundle asset assets static trace span vpc
subnet ami arn sg eni vol igw rtb node pod cluster replicaset version form data base"""
_HASH_NAMES = frozenset(_HASH_NAMES_TEXT.split())
_IDS_TEXT = """call toolu tooluse srvtoolu tool msg message resp response rs fc ctc run lc thread asst assistant file chatcmpl cmpl
gen req request evt event org project proj user usr account acct item step batch job task session conv conversation
turn cell doc document page block row col id ids obj object ref ch cus pi pm in price prod product sub si seti cs
order inv invoice team group channel workspace wrkspc app client device customer tx txn vs ft upload part list link
path url chain model dataset experiment artifact worker queue process container instance deploy deployment release
branch tag name title slug section figure fig table note notes notebook kernel state ckpt checkpoint store entry record
patch diff test tests example tmp temp fixture case rule policy role plan"""
_IDS = frozenset(_IDS_TEXT.split())
_ID_BEFORE = regex(
    r"(?:(?:\b|_|(?<=[a-z])(?=I))ids?|hash|digest|sha\d{0,3}|md5|checksum|etag|integrity|uuid|guid|fingerprint|revision|commit|nonce"
    r"|cursor|signature)\b[\"'\])]{0,3}(?:\s{0,2}(?:[:=]|=>)|[ ](?:is|was)|[ ,(]{1,2}(?:for example|e\.g\.),?)?\s{0,2}[\"'`(\[{]{0,3}\Z"
    r"|\b(?:arn|doi):\S{0,60}\Z",
    re.IGNORECASE,
)


def keys_by_prefix(text: str, words: list[tuple[int, int]]) -> Iterator[Span]:
    """Spans of a prefix with its value, in the long words of a text."""
    done = 0
    for run in (run for word in words for run in _RUN().finditer(text, *word)):
        if run.start() < done:
            continue
        found = run.group().rstrip("./~+")
        prefix = _prefix(found)
        if prefix and not _ID_BEFORE().search(text, max(0, run.start() - 64), run.start()):
            done = run.start() + len(found)
            if len(run.group()) == len(found) and (rest := _REST().match(text, done)):
                done = rest.end()
            yield Span(run.start(), done, "token", f"a long random value after the prefix {prefix}")


def _prefix(run: str) -> str | None:
    """The first part of the prefix of a key; None if it is not one."""
    parts: list[str] = []
    ends: list[int] = [0]
    while len(parts) < _PARTS and (part := _PART().match(run, ends[-1])):
        parts.append(part[1].lower())
        ends.append(part.end())
    if not parts or sum(map(str.isalpha, parts[0])) < 2 or _NAME_END().search(run) or stand_in(run[ends[-1] :]):
        return None
    if "/" in run and run[ends[1] - 1] == ".":  # a host and a path
        return None
    if (_RESOURCE().fullmatch(run) and not _UUID().search(run)) or _ID().fullmatch(run) or is_name(run):
        return None
    telling = not _TELLING.isdisjoint(parts)
    words = {part.rstrip("0123456789") for part in parts}
    if not _DIGESTS.isdisjoint(words) or (len(words) == 1 and not telling and words <= _IDS):
        return None
    hashes = _HASH_NAMES.isdisjoint(words) and (telling or _IDS.isdisjoint(words))
    # A body that begins with something like a word has lost that to the prefix; one of hexadecimal digits has not.
    starts = ends[-1:] if is_hexadecimal(_OTHER().sub("", run[ends[-1] :])) else ends[:0:-1]
    return run[: ends[1]] if any(_is_key(run[start:], telling, hashes) for start in starts) else None


def _is_key(body: str, telling: bool, hashes: bool) -> bool:
    """Whether the rest of a run is a key's body; one of hexadecimal digits only where `hashes` may be keys."""
    rest, ids = _UUID().subn("", body)
    plain = _OTHER().sub("", rest)
    if ids and not plain:
        return telling and hashes
    if len(plain) < (_SHORTEST_TELLING if telling else _SHORTEST) or 7 * (len(rest) - len(plain)) > len(rest):
        return False
    if is_hexadecimal(plain):
        return hashes and len(plain) >= _SHORTEST_HASH and is_random(plain)
    if not _is_whole(rest):
        return False
    return is_random(plain) and (len(plain) >= 40 or any(c.isdigit() for c in plain))


def _is_whole(body: str) -> bool:
    """Whether what stands between slashes and dots is all drawn by chance: a path is not, nor a name with dots."""
    host, slash, _ = body.partition("/")
    if slash and ("." in host or any(len(part) >= 4 and not is_random(part) for part in body.split("/"))):
        return False
    return "." not in body or any(len(part) >= 16 and is_random(part) for part in body.split("."))
