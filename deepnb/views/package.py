"""An application as it is written: each file, and what is left out, with the reason."""

from dataclasses import dataclass

from deepnb.core.package import Package
from deepnb.views import html as h
from deepnb.views.numbers import counted
from deepnb.views.table import table_html, table_text
from deepnb.views.text import clean, title_line

_FILES = ("file", "bytes", "what")
_LEFT_OUT = ("left out", "why")


@dataclass(frozen=True)
class PackageView:
    """Two tables under a title."""

    title: str
    files: tuple[tuple[str, str, str], ...]
    left_out: tuple[tuple[str, str], ...]
    """(names, why), those with the same reason together."""
    stamp: str = ""

    def text(self) -> str:
        """All of it."""
        parts = [clean(title_line(self.title, self.stamp)), table_text(_FILES, self.files, (1,))]
        if self.left_out:
            rows = (f"  {clean(name)}: {clean(why)}" for name, why in self.left_out)
            parts += ["", "left out", *rows]
        return "\n".join(parts)

    def html(self) -> str:
        """The package's files and what is left out, as HTML."""
        gone = table_html(_LEFT_OUT, self.left_out) if self.left_out else None
        return h.box(h.heading(self.title, stamp=self.stamp), table_html(_FILES, self.files, (1,)), gone)


def package_view(package: Package, stamp: str = "") -> PackageView:
    """What an application has and has not."""
    count = counted(len(package.files), "file")
    title = f"{'written to' if package.written else 'package for'} {package.typed or package.directory} · {count}"
    rows = tuple(
        (one.path, f"{len(one.content):,}", "; ".join(filter(None, (one.note, _REPLACES * one.replaces))))
        for one in package.files
    )
    gone = dict[str, list[str]]()
    for one in package.left_out:
        gone.setdefault(one.why, []).append(one.name)
    return PackageView(title, rows, tuple((", ".join(names), why) for why, names in gone.items()), stamp)


_REPLACES = "replaces the file there"
