"""What code put out: printed text, and rich outputs as Jupyter shows them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deepnb.core.image import PICTURES
from deepnb.core.terminal_text import terminal_text
from deepnb.core.values import CodeOutput
from deepnb.views import html as h
from deepnb.views.text import clean, middle_cut

_GROWING = 2_000
"""Characters of the end of a text that are shown while it grows: then it is sent whole."""
_WORDS = 3_000
"""Characters that stand for a rich output in a terminal."""


@dataclass
class Printed:
    """Text that code wrote to stdout or stderr."""

    kind: str
    parts: list[str] = field(default_factory=list)
    ended: bool = False

    @property
    def words(self) -> str:
        """All of it; its end while it grows."""
        if len(self.parts) > 1:
            self.parts[:] = ["".join(self.parts)]
        text = terminal_text("".join(self.parts))
        return text if self.ended or len(text) <= _GROWING else f"…{text[-_GROWING:]}"

    def text(self) -> str:
        return clean(self.words.rstrip("\n"))

    def html(self) -> str:
        head = h.label(self.kind) if self.kind != "stdout" else None
        return h.box(head, h.pre(self.words.rstrip("\n")))


@dataclass
class Variables:
    """Which names of the user's variables the code changed."""

    line: str

    def text(self) -> str:
        return clean(f"variables: {self.line}")

    def html(self) -> str:
        return h.box(h.muted(f"variables: {self.line}"))


@dataclass
class Rich:
    """A table, a plot or anything else that Jupyter shows in its own way."""

    output: CodeOutput

    @property
    def bundle(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """As the kernel displays it."""
        return self.output.data, self.output.metadata

    def text(self) -> str:
        """Return its words."""
        return clean(middle_cut(self.output.text, _WORDS, 500))

    def html(self) -> str:
        """Return the picture, else the sanitised HTML, else its words: for where it can't be an output of its own."""
        data = harmless(self.output)
        for kind in PICTURES:
            if kind in data:
                source = f"data:{kind};base64,{''.join(data[kind].split())}"
                return h.box(h.el("img", src=source, alt=self.output.text, style="max-width:100%"))
        return h.box(h.Html(data["text/html"]) if "text/html" in data else h.pre(self.text()))


def harmless(output: CodeOutput) -> dict[str, str]:
    """Return MIME type -> data of a rich output as it may leave the kernel: pictures, sanitised HTML, and its words."""
    kept = {kind: data for kind in PICTURES if isinstance(data := output.data.get(kind), str)}
    if isinstance(markup := output.data.get("text/html"), str):
        import nh3

        gone = {"script", "style", "svg", "math", "iframe"}
        kept["text/html"] = nh3.clean(markup, url_schemes=set(), clean_content_tags=gone)
    return {**kept, "text/plain": output.text}
