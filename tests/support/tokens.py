"""The tokens of a text by tiktoken's o200k_base, where its file is at hand: it is never fetched here."""

import pytest

from deepnb.context.counting import NotAtHandError, load


def o200k(text: str) -> int:
    try:
        return len(load("o200k_base").encode_ordinary(text))
    except NotAtHandError:
        pytest.skip("no TIKTOKEN_CACHE_DIR with o200k_base in it")
