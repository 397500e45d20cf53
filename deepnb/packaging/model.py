"""A chat model as the code that makes it again, less its key, which is read from the environment."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deepnb.models.names import OFFLINE, PROVIDERS
from deepnb.models.resolve import is_tape, resolve
from deepnb.packaging.gate import in_value
from deepnb.packaging.installed import distribution, place, requirement
from deepnb.packaging.literals import literal
from deepnb.packaging.refused import CantWriteError


@dataclass(frozen=True)
class ModelCode:
    """An expression, and what it takes."""

    code: str
    imports: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    key: str = ""
    """The variable of the environment that holds its key."""


def model_code(model: Any, base_url: str | None, namespace: Mapping[str, Any]) -> ModelCode:
    """The code of the model that is meant in a session; CantWriteError where it can't be written."""
    if model == OFFLINE:
        return ModelCode(repr(OFFLINE))
    made = resolve(model, base_url=base_url, namespace=namespace).model
    if is_tape(made):
        raise CantWriteError("plays a tape")
    package = distribution(type(made).__module__)
    needs = (requirement(package),) if package and package != "deepnb" else ()
    key = next((one.key or "" for one in PROVIDERS.values() if one.package == package), "")
    if isinstance(model, str) and namespace.get(model) is not made:
        return ModelCode(repr(model), (), needs, key)
    if (found := place(type(made))) is None:
        raise CantWriteError(f"is a {type(made).__name__}, a class of the notebook")
    fields = ", ".join(f"{name}={text}" for name, text in _fields(made))
    return ModelCode(f"{found[1]}({fields})", (f"from {found[0]} import {found[1]}",), needs, key)


_NOT_SAID = ("profile", "client", "async_client", "root_client", "root_async_client")
"""Fields that a model fills in by itself."""


def _fields(model: Any) -> Iterator[tuple[str, str]]:
    """(name, text) of the fields that were given."""
    for name in sorted(model.model_fields_set):
        info, value = type(model).model_fields.get(name), getattr(model, name, None)
        if info is None or info.exclude or name in _NOT_SAID or value is None or hasattr(value, "get_secret_value"):
            continue
        if value == info.get_default(
            call_default_factory=info.default_factory is not None and not info.default_factory_takes_validated_data
        ):
            continue
        if (text := literal(value)) is None:
            raise CantWriteError(f"has {name}, a {type(value).__name__} that is only in this kernel")
        if found := in_value(name, value):
            raise CantWriteError(f"has {name}, which holds {found}")
        yield name, text
