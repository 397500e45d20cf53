"""`offline`, the teaching model: rules instead of an LLM, the same every time, no network."""

from deepnb.models.teaching.model import TeachingModel

__all__ = ["TeachingModel"]
