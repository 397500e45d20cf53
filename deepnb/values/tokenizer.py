"""The teaching model's tokenizer: exact, the same on every machine, needs no download.

Its tokens are about as long as those of a byte-pair tokenizer, so that a lesson's figures look
like real ones: a word of up to eight letters is one token, a Chinese character is one token.
"""

import re
from functools import lru_cache

_TOKEN = re.compile(
    r"(?s)\n+"  # line feeds, together
    r"|[ \t]{2,}(?=[ \t])|[ \t]{2,}(?=\n|$)"  # indentation, but for the blank that the next token takes
    r"|[ \t]?[A-Za-z]{1,8}"
    r"|[ \t]?[0-9]{1,3}"
    r"|[ \t]?[぀-ヿ㐀-䶿一-鿿가-힯豈-﫿\U00020000-\U0003ffff]"
    r"|[ \t]?[^\W\dA-Za-z぀-ヿ㐀-䶿一-鿿가-힯豈-﫿\U00020000-\U0003ffff]{1,4}"
    r"|[ \t]?[^\w\s]{1,3}"  # signs, as JSON and code have them in a row
    r"|.",
)


def tokens(text: str) -> list[str]:
    """Return the tokens of `text`, in order; joined they are `text` again."""
    return _TOKEN.findall(text)


@lru_cache(maxsize=4096)
def count(text: str) -> int:
    return len(_TOKEN.findall(text))
