"""Images in messages: standard content blocks, and words in their place for models that don't see them."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import HumanMessage
from langchain_core.messages.content import create_image_block

from deepnb.engine import keys
from deepnb.engine.request import IMAGES, message_text
from deepnb.engine.tools import RequestMiddleware
from deepnb.gate.own_words import Filled
from deepnb.values.image import PromptImage


def takes_images(model: Any) -> bool:
    return bool((getattr(model, "profile", None) or {}).get("image_inputs"))


def prompt_message(prompt: str, images: Sequence[PromptImage] = ()) -> HumanMessage:
    """Return a prompt as a message: its text, which names the images, then the images."""
    held: dict[str, Any] = {keys.TYPED: prompt.typed} if isinstance(prompt, Filled) else {}
    if not images:
        return HumanMessage(str(prompt), id=str(uuid4()), additional_kwargs=held)
    blocks = [create_image_block(base64=b64encode(one.data).decode(), mime_type=one.mime) for one in images]
    words = [one.description for one in images]
    content: list[Any] = [{"type": "text", "text": str(prompt)}, *blocks]
    return HumanMessage(content, id=str(uuid4()), additional_kwargs={**held, IMAGES: words})


class ImagesMiddleware(RequestMiddleware):
    """Gives a model that sees no images words in their place."""

    def changed(self, request: Any) -> Any:
        found = fit_images(request.messages, sees=takes_images(request.model))
        return request if found is request.messages else request.override(messages=found)


def fit_images(messages: list[Any], *, sees: bool) -> list[Any]:
    """Return the messages; to a model that does not see, with descriptions in the place of images."""
    if sees or not any(IMAGES in m.additional_kwargs for m in messages):
        return messages
    return [_described(m) if IMAGES in m.additional_kwargs else m for m in messages]


def _described(message: Any) -> Any:
    kept = {k: v for k, v in message.additional_kwargs.items() if k != IMAGES}
    text = "\n\n".join([message_text(message), *filter(None, message.additional_kwargs[IMAGES])])
    return message.model_copy(update={"content": text, "additional_kwargs": kept})
