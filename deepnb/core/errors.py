"""The one error a user meets: a single line that says what was wrong and what to type next."""


class DeepnbError(Exception):
    """A mistake that can be mended by typing something else; `str()` of it is one line."""

    def __init__(self, what: str, do: str = "") -> None:
        self.what = " ".join(what.split())
        self.do = " ".join(do.split())
        super().__init__(f"{self.what}: {self.do}" if self.do else self.what)
