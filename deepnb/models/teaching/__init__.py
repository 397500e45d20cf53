"""`offline`, the teaching model: rules instead of an LLM, the same every time, no network.

It works through what any model gets, the messages and the bound tools, and through nothing else.
Read on in `conversation` (what it sees), `moves` (how it decides), `model` (all it can do).
"""

from deepnb.models.teaching.model import TeachingModel

__all__ = ["TeachingModel"]
