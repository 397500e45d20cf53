"""An application as it is shown before and after it is written."""

from deepnb.views.text import clean, counted
from deepnb.views.values import brief
from deepnb.views.view import Picture, View, table_html, table_text
from deepnb.wings.package.values import Package


def package_value(package: Package) -> View:
    """Return an application as a value shows it: a file and what is left out a line each, as far as there is room."""
    return brief(package_view(package), rest="all of it: %agent package DIR")


def package_view(package: Package, stamp: str = "") -> Picture:
    """Return each file of an application as it is written, and what is left out, by reason."""
    title = f"{'written to' if package.written else 'package for'} {package.typed or package.directory}"
    head = ("file", "bytes", "what")
    rows = []
    for one in package.files:
        what = filter(None, (one.note, "replaces the file there" * one.replaces))
        rows.append((one.path, f"{len(one.content):,}", "; ".join(what)))
    by_reason = dict[str, list[str]]()
    for left in package.left_out:
        by_reason.setdefault(left.why, []).append(left.name)
    gone = [(", ".join(names), why) for why, names in by_reason.items()]
    lines, body = [table_text(head, rows, (1,))], [table_html(head, rows, (1,))]
    if gone:
        lines += ["", "left out", *(clean(f"  {names}: {why}") for names, why in gone)]
        body.append(table_html(("left out", "why"), gone))
    return Picture((f"{title} · {counted(len(package.files), 'file')}",), lines, body, stamp)
