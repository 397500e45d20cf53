"""Chat models: the teaching model, and names resolved to any LangChain model.

`TeachingModel` is the rule-based model behind `offline`, for graphs of your own that run without a key.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepnb.models.teaching.model import TeachingModel as TeachingModel

__all__ = ["TeachingModel"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:  # LangChain is imported when the model is asked for
        if name != "TeachingModel":
            raise AttributeError(f"module 'deepnb.models' has no attribute {name!r}")
        from deepnb.models.teaching.model import TeachingModel

        return TeachingModel
