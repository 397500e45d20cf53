"""Search over Markdown and transcripts: keywords, n-grams, exact identifiers and, with an embedder, vectors.

    from deepnb.search import Index

Usable without an agent.
"""

from deepnb.search.hits import Hit
from deepnb.search.index import Index, Updated

__all__ = ["Hit", "Index", "Updated"]
