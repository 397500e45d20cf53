"""What is said of an exception in a tool: its words, and the frames of the user's own code."""

import sysconfig
from collections.abc import Iterator
from traceback import FrameSummary, StackSummary, walk_tb

from deepnb.gate import redact
from deepnb.values.model_failure import model_failure

_LONGEST = 2_000
"""Characters of an exception's words."""
_PROBLEMS = 5
"""Arguments that are said not to fit."""
_FRAMES = 6
"""Frames that are shown: the first, and the last of the others."""
_LIBRARY_FRAMES = 2
"""Frames that are shown where none is of the user's own code."""

ENGINE = frozenset(
    {
        "deepnb",
        "deepagents",
        "langchain",
        "langchain_core",
        "langgraph",
        "pydantic",
        "concurrent",
        "asyncio",
        "threading",
    }
)
"""Packages that stand between a model's call and the tool."""

_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def failure_text(error: BaseException) -> str:
    """`Error: ValueError: no such column`: what the model is told, and the card says."""
    try:
        words = _misfits(error) or str(error).strip()
    except Exception:  # of a class of the user's
        words = ""
    kind = type(error).__name__
    return f"Error: {kind}: {words[:_LONGEST]}{'…' * (len(words) > _LONGEST)}" if words else f"Error: {kind}"


def one_line(error: BaseException) -> str:
    """An exception in one line without credentials: what a provider says of a request, else its kind and first words."""
    if (failure := model_failure(error)) is not None:
        return failure.line
    words = (redact(str(error)).strip().splitlines() or [""])[0][:300].rstrip(" .:")
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _misfits(error: BaseException) -> str:
    """What does not fit, of pydantic's error: `path: Field required`; in its own words are addresses in memory."""
    if type(error).__name__ != "ValidationError" or not hasattr(error, "errors"):
        return ""
    problems = error.errors()
    shown = [f"{'.'.join(map(str, one['loc'])) or 'all'}: {one['msg']}" for one in problems[:_PROBLEMS]]
    more = [f"and {len(problems) - _PROBLEMS} more"] if len(problems) > _PROBLEMS else []
    return "; ".join([*shown, *more])


def own_traceback(error: BaseException) -> str:
    """Where in the user's own code it came from, without credentials; in a library, where none of it is the user's.

    Empty where all of it is of deepnb and its engine.
    """
    outside = [frame for frame, name in _frames(error) if name not in ENGINE]
    own = [frame for frame in outside if not is_library(frame.filename)]
    shown = own or outside[-_LIBRARY_FRAMES:]
    if len(shown) > _FRAMES:
        shown = [shown[0], *shown[1 - _FRAMES :]]
    return redact("".join(map(_line, shown)).rstrip())


def is_library(file: str) -> bool:
    """Whether a file is of Python's own library, or of a package that was installed."""
    return file.startswith(_LIBRARIES) or "site-packages" in file or "dist-packages" in file


def _frames(error: BaseException) -> Iterator[tuple[FrameSummary, str]]:
    """(frame, top package of its module), the outermost first."""
    walked = list(walk_tb(error.__traceback__))
    for (frame, _), summary in zip(walked, StackSummary.extract(iter(walked)), strict=True):
        yield summary, str(frame.f_globals.get("__name__", "")).partition(".")[0]


def is_cell(file: str) -> bool:
    """Whether a file is the name that IPython gives to the code of a cell."""
    return "ipykernel_" in file or file.startswith("<ipython-input")


def _line(frame: FrameSummary) -> str:
    place = "In a cell" if is_cell(frame.filename) else f'File "{frame.filename}"'
    code = f"    {frame.line}\n" if frame.line else ""
    return f"{place}, line {frame.lineno}, in {frame.name}\n{code}"
