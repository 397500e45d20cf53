"""Facts as a user words them: how they are written down, and which are never kept."""

import re

_OPENINGS = (
    (r"I (?:really )?like ", "The user likes "),
    *(
        (f"I {verb} ", f"The user {verb}s ")
        for verb in ("prefer", "love", "hate", "use", "want", "need", "work", "live")
    ),
    (r"I (?:don't|do not) ", "The user does not "),
    (r"I(?:'m| am) ", "The user is "),
    (r"I(?:'ve| have) ", "The user has "),
    (r"my ", "The user's "),
    (r"我的", "用户的"),
    (r"我(?=更?喜欢|偏好|爱|讨厌|用|使用|想|需要|在|住|是|叫|有|不)", "用户"),
)
_FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine|myself|I'm|I've)\b|我", re.IGNORECASE)

_CREDENTIAL = re.compile(
    r"\b(?:api[ _-]?key|pass(?:word|wd|phrase|code)|pwd|secret(?:[ _-]?key)?|(?:access|auth|api|bearer)[ _-]?token|token|pin)"
    r"\s{0,3}(?:is\b|=|:|：|是)\s{0,3}\S"
    r"|(?:密码|口令|密钥|令牌|密匙)\s{0,3}(?:is\b|=|:|：|是|为)?\s{0,3}[\w!@#$%^&*.-]"
    r"|\b(?:sk|pk|rk)-[A-Za-z0-9_-]{8,200}|\bgh[pousr]_[A-Za-z0-9]{16,200}|\bgithub_pat_\w{16,200}|\bhf_[A-Za-z0-9]{16,200}"
    r"|\bA(?:KIA|SIA)[0-9A-Z]{12,40}|\bAIza[\w-]{20,60}|\bxox[abprs]-[\w-]{8,200}|\beyJ[\w-]{10,300}\.[\w-]{5,300}"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY|\w{1,20}://[^\s/:@]{1,80}:[^\s/@]{1,80}@",
    re.IGNORECASE,
)


def looks_secret(text: str) -> bool:
    """Whether a text looks as if it held a credential. Errs towards yes."""
    return _CREDENTIAL.search(text) is not None


def bullet(fact: str) -> str:
    """A fact as a line of memory: its own words; `I prefer` becomes `The user prefers` where that is safe."""
    text = " ".join(fact.split()).strip()
    for pattern, instead in _OPENINGS:
        if opening := re.match(pattern, text, re.IGNORECASE):
            rest = text[opening.end() :]
            return f"- {text if _FIRST_PERSON.search(rest) else instead + rest}"
    return f"- {text}"
