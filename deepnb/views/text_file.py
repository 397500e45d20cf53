"""A text under its name."""

from dataclasses import dataclass

from deepnb.views import html as h
from deepnb.views.text import clean, title_line


@dataclass(frozen=True)
class TextView:
    """The text, whole."""

    name: str
    body: str
    stamp: str = ""

    def text(self) -> str:
        """The name, then the text as it is."""
        body = clean(self.body).rstrip("\n")
        return f"{clean(title_line(self.name, self.stamp))}\n{body}" if self.name else body

    def html(self) -> str:
        """The text in a block that keeps its lines."""
        top = h.heading(self.name, stamp=self.stamp) if self.name else None
        return h.box(top, h.pre(self.body.rstrip("\n")))


def text_view(name: str, body: str, stamp: str = "") -> TextView:
    """A file, or any text, under its name."""
    return TextView(name, body, stamp)
