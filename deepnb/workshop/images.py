"""Values of the kernel that are images: figures, pictures, bytes of a known type, paths of image files.

Only values of exactly known classes are drawn or read; of any other no code is called.
"""

import sys
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path, PosixPath, WindowsPath
from typing import Any

from deepnb.values.errors import InvalidError, LimitError, RefusedError
from deepnb.values.image import LARGEST, PromptImage, bare_image, image_size, image_type
from deepnb.workshop.describe import describe
from deepnb.workshop.exact import class_name, is_from, is_one_of

SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp")

_FORMATS = ("Png", "Jpeg", "Gif", "WebP")
_PICTURES = {"PIL.Image": ("Image",)} | {f"PIL.{one}ImagePlugin": (f"{one}ImageFile",) for one in _FORMATS}
_MODES = ("1", "L", "LA", "P", "RGB", "RGBA")  # modes of Pillow that its PNG writer takes; others are converted


def prompt_image(name: str, value: object, *, inside: bool = False) -> PromptImage | None:
    """Return the image that a value is; None if it is not an image, an error if it can't be sent.

    With `inside` a path is read only in the working directory, links followed.
    """
    if is_one_of(value, (bytes, bytearray)):
        return _image(name, bytes(value)) if image_type(bytes(value[:16])) else None  # type: ignore[call-overload,index]
    if is_one_of(value, (PosixPath, WindowsPath)):
        return _of_file(name, value, inside)  # type: ignore[arg-type]
    if is_from(value, "IPython.core.display", ("Image",)):
        data = vars(value).get("data")
        return _image(name, data) if type(data) is bytes and image_type(data) else None
    if any(is_from(value, module, names) for module, names in _PICTURES.items()):
        return _image(name, _drawn(name, partial(_save_picture, value)))
    if is_from(value, "matplotlib.axes", ("Axes",)):
        value = type(value).get_figure(value)  # type: ignore[attr-defined]
    if is_from(value, "matplotlib.figure", ("Figure",)):
        data = _drawn(name, partial(type(value).savefig, value, format="png"))  # type: ignore[attr-defined]
        return _image(name, data, describe(name, value))
    return None


def prompt_images(values: object) -> tuple[PromptImage, ...]:
    """Return the images of `Session.run(images=[...])`; an error for a value that is not an image."""
    if not isinstance(values, list | tuple):
        raise InvalidError(f"images can't be a {class_name(values)}", "pass a list: images=[fig]")
    made = []
    for number, value in enumerate(values, 1):
        image = value if isinstance(value, PromptImage) else prompt_image(f"image {number}", value)
        if image is None:
            what = "a matplotlib figure, a Pillow image, an IPython Image, bytes, or the Path of an image file"
            raise InvalidError(f"image {number} can't be a {class_name(value)}", f"pass {what}")
        made.append(image)
    return tuple(made)


def _image(name: str, data: bytes, description: str = "") -> PromptImage:
    if len(data) > LARGEST:
        raise _too_large(name, len(data))
    data = bare_image(data)
    return PromptImage(name, data, image_type(data) or "", image_size(data), description)


def _too_large(name: str, size: int) -> LimitError:
    do = f"make it smaller: images of up to {LARGEST // 10**6} MB are sent"
    return LimitError(f"{name} has {size / 1e6:.1f} MB", do)


def _of_file(name: str, path: Path, inside: bool) -> PromptImage | None:
    try:
        file = path.resolve()
        if file.suffix.lower() not in SUFFIXES or not file.is_file():
            return None
        if inside and not file.is_relative_to(Path.cwd().resolve()):
            how = "put IPython.display.Image(filename=...) of it into a variable to send it"
            raise RefusedError(f"{name} is outside the working directory, and was not read", how)
        if (size := file.stat().st_size) > LARGEST:
            raise _too_large(name, size)
        data = file.read_bytes()
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidError(f"{name} can't be read ({type(error).__name__})") from None
    return _image(name, data) if image_type(data) else None


def _drawn(name: str, draw: Callable[[BytesIO], object]) -> bytes:
    file = BytesIO()
    try:
        draw(file)
    except Exception as error:  # of a library, on what the user drew
        raise InvalidError(f"{name} can't be drawn ({type(error).__name__})") from None
    return file.getvalue()


def _save_picture(value: Any, file: BytesIO) -> None:
    kind: Any = sys.modules["PIL.Image"].Image  # type: ignore[attr-defined]
    picture = value if value.mode in _MODES else kind.convert(value, "RGB")
    kind.save(picture, file, "PNG")
