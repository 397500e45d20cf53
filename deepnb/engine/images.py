"""Images of prompts in messages: standard content blocks, and words in their place for models that don't see them."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import HumanMessage
from langchain_core.messages.content import create_image_block

from deepnb.engine import keys
from deepnb.engine.request import IMAGES, message_text
from deepnb.engine.tools import RequestMiddleware
from deepnb.gate.own_words import Filled
from deepnb.values.image import PromptImage

SHOWN = "The images that the tools above showed:"


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
    """Gives a model the images of the thread in words, or as it takes them: those of results in a message after these."""

    def changed(self, request: Any) -> Any:
        found = fit_images(request.messages, sees=takes_images(request.model))
        return request if found is request.messages else request.override(messages=found)


def fit_images(messages: list[Any], *, sees: bool) -> list[Any]:
    if not any(IMAGES in m.additional_kwargs for m in messages):
        return messages
    return list(_after_results(messages) if sees else map(_described, messages))


def _after_results(messages: Sequence[Any]) -> Iterator[Any]:
    """Yield the messages, the images of each run of tool results in a message after it."""
    waiting: list[Any] = []
    for message in messages:
        if message.type != "tool" and waiting:
            yield HumanMessage(waiting)
            waiting = []
        if message.type == "tool" and IMAGES in message.additional_kwargs:
            images = [b for b in message.content if isinstance(b, Mapping) and b.get("type") == "image"]
            waiting = [*(waiting or [{"type": "text", "text": SHOWN}]), *images]
            message = _described(message, [])
        yield message
    if waiting:
        yield HumanMessage(waiting)


def _described(message: Any, words: Sequence[str] | None = None) -> Any:
    """Return a message with descriptions in the place of its images: its own, unless others are given."""
    if IMAGES not in message.additional_kwargs:
        return message
    kept = {k: v for k, v in message.additional_kwargs.items() if k != IMAGES}
    shown = message.additional_kwargs[IMAGES] if words is None else words
    text = "\n\n".join([message_text(message), *filter(None, shown)])
    return message.model_copy(update={"content": text, "additional_kwargs": kept})
