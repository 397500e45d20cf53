"""The errors a user meets: each a single line that says what was wrong and what to type next."""


class DeepnbError(Exception):
    """Anything that typing something else puts right.

    `str()` of it is one line with what to do in Python; `typed` is the same line for a cell, with the magic to type.
    """

    def __init__(self, what: str, do: str = "") -> None:
        """`do` names magics, as a cell takes them."""
        self.what = " ".join(what.split())
        self.do = " ".join(do.split())
        super().__init__(self.what, self.do)

    def __str__(self) -> str:
        from deepnb.values.text import in_python  # most sessions never need it

        return in_python(self.typed)

    @property
    def typed(self) -> str:
        """The line for somebody who types magics."""
        return f"{self.what}: {self.do}" if self.do else self.what


class BusyError(DeepnbError):
    """Something has to end first: a running turn, an unfinished one, calls that need approval."""


class InvalidError(DeepnbError):
    """A value that can't be used: an option, a path, a name, a file with mistakes in it."""


class LimitError(DeepnbError):
    """Too large: for the context window, or for a bound of deepnb's."""


class NotFoundError(DeepnbError):
    """There is no thread, turn, file, entry, skill, tool or model of that name."""


class NotInstalledError(DeepnbError):
    """A package, a key or the loaded extension is missing."""


class RefusedError(DeepnbError):
    """It is not allowed: a credential in memory, a write to what is read-only, something that exists already."""


class RunError(DeepnbError):
    """A model or the graph failed in a turn."""
