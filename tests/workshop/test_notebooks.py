"""Notebooks: what is written and what stays as it is, what the agent gets of them, and what is refused."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat import v4

from deepnb import DeepnbError, Session
from deepnb.engine.request import tool_text
from deepnb.engine.tools import described
from deepnb.workshop import notebooks
from deepnb.workshop.namespace import namespace_tools
from deepnb.workshop.notebook_plan import notebook_diff, notebook_plan
from deepnb.workshop.notebooks import ANSWER, read_notebook, version_of
from tests.data import rows
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row
from tests.support.tokens import o200k

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    there = tmp_path / "project"
    there.mkdir()
    monkeypatch.chdir(there)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    return there


def three(name: str = "a.ipynb") -> Path:
    cells = [
        v4.new_markdown_cell("# Sales"),
        v4.new_code_cell("x = 1\ny = 2", outputs=[v4.new_output("stream", text="hi\n")], execution_count=4),
        v4.new_code_cell("x + y"),
    ]
    cells[1].metadata["tags"] = ["keep"]
    made = v4.new_notebook(cells=cells, metadata={"kernelspec": {"name": "ir", "display_name": "R"}})
    nbformat.write(made, name)
    return Path(name)


def version(name: str | Path = "a.ipynb") -> str:
    file = Path(name).resolve()
    return version_of(file, file.read_bytes())


def edit(path: str = "a.ipynb", *edits: Any, ns: dict[str, Any] | None = None, at: str | None = None) -> str:
    (tool,) = (t for t in namespace_tools({} if ns is None else ns) if t.__name__ == "edit_notebook")
    seen = at if at is not None else version(path) if Path(path).is_file() else ""
    return tool(path, list(edits), seen)


def cells(name: str | Path = "a.ipynb") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Path(name).read_text())["cells"]
    return found


def test_replace_insert_and_delete_in_one_call_by_the_numbers_as_read():
    file = three()
    before = cells()
    said = edit(
        "a.ipynb", {"delete": 1}, {"replace": 2, "source": "x = 3"},
        {"insert": 3, "source": "## Sum", "kind": "markdown"}, {"insert": 99, "source": "print(x)"},
    )  # fmt: skip
    assert said == (
        "a.ipynb: deleted cell 1, replaced cell 2, inserted cell 2, inserted cell 4; nothing was run."
        f" 4 cells, version {version(file)}"
    )
    after = cells()
    assert [(c["cell_type"], "".join(c["source"])) for c in after] == [
        ("code", "x = 3"), ("markdown", "## Sum"), ("code", "x + y"), ("code", "print(x)")
    ]  # fmt: skip
    assert (after[0]["outputs"], after[0]["execution_count"]) == ([], None)
    assert (after[0]["id"], after[0]["metadata"]) == (before[1]["id"], {"tags": ["keep"]})
    assert after[2] == before[2] and len({c["id"] for c in after}) == 4
    nbformat.validate(nbformat.read(file, as_version=4))


def test_a_new_notebook_is_valid_and_of_a_draft_nothing_is_left():
    edit("new.ipynb", {"insert": 1, "source": "# Report", "kind": "markdown"}, {"insert": 2, "source": "1 + 1"})
    made = nbformat.read("new.ipynb", as_version=4)
    nbformat.validate(made)
    assert [c.source for c in made.cells] == ["# Report", "1 + 1"]
    assert made.metadata.kernelspec.name == "python3" and "signature" not in made.metadata
    three()
    edit("a.ipynb", {"replace": 2, "source": "text", "kind": "markdown"}, {"replace": 1, "source": "1", "kind": "code"})
    first, second, _ = cells()
    assert first["outputs"] == [] and first["execution_count"] is None
    assert "outputs" not in second and second["metadata"] == {"tags": ["keep"]}
    file = three()
    file.chmod(0o640)
    edit("a.ipynb", {"delete": 1})
    assert file.stat().st_mode & 0o777 == 0o640 and {p.name for p in Path().iterdir()} == {"a.ipynb", "new.ipynb"}


SOURCES = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=30)
EDITS = st.one_of(
    st.builds(lambda n, s: {"replace": n, "source": s}, st.integers(1, 3), SOURCES),
    st.builds(lambda n, s, k: {"insert": n, "source": s, "kind": k}, st.integers(1, 6), SOURCES,
              st.sampled_from(("code", "markdown", "raw"))),
    st.builds(lambda n: {"delete": n}, st.integers(1, 3)),
)  # fmt: skip


@given(st.lists(EDITS, min_size=1, max_size=5))
def test_any_edits_keep_it_valid_and_leave_other_cells_byte_for_byte(edits):
    file = three()
    before, kept = file.read_bytes(), cells()
    said = edit("a.ipynb", *edits)
    if said.startswith("Error: "):
        assert file.read_bytes() == before and "\n" not in said
        return
    nbformat.validate(nbformat.read(file, as_version=4))
    touched = {n for one in edits for n in (one.get("replace"), one.get("delete")) if n}
    texts = [json.dumps(c, indent=1) for c in cells()]
    left = [json.dumps(c, indent=1) for n, c in enumerate(kept, 1) if n not in touched]
    assert [text for text in texts if text in left] == left
    assert len(texts) == 3 + sum("insert" in one for one in edits) - sum("delete" in one for one in edits)
    sources = ["".join(c["source"]) for c in cells()]
    assert all(one["source"] in sources for one in edits if "source" in one)


@every_row(("edits", "line"), [
    *rows("refused")["edits of a notebook"],
    ([{"insert": 1, "source": f"'{TOKEN}'"}], "not written to cell 1 of a.ipynb: it holds what looks like a GitHub"),
])  # fmt: skip
def test_a_mistake_in_an_edit_is_one_line_and_nothing_is_written(edits, line):
    file = three()
    before = file.read_bytes()
    said = edit("a.ipynb", *edits)
    assert said.startswith("Error: ") and line in said and "\n" not in said and TOKEN not in said, said
    assert file.read_bytes() == before


def test_where_it_may_not_write(project: Path):
    three()
    three("../out.ipynb")
    Path("link.ipynb").symlink_to("../out.ipynb")
    Path("b.txt").write_text("x")
    Path("d.ipynb").mkdir()
    Path("old.ipynb").write_text('{"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": []}')
    bad = json.loads(Path("a.ipynb").read_text())
    bad["cells"][1]["outputs"] = [{"output_type": "stream"}]
    Path("bad.ipynb").write_text(json.dumps(bad))
    insert = {"insert": 1, "source": "x"}
    for path, line in {
        "../out.ipynb": "../out.ipynb is outside the working directory",
        "link.ipynb": "link.ipynb is outside the working directory",
        f"{project.parent}/out.ipynb": "is outside the working directory", "b.txt": "b.txt is no notebook",
        "new.txt": "new.txt can't be a notebook", "d.ipynb": "d.ipynb can't be a notebook",
        "no/new.ipynb": "no/new.ipynb would be in a directory that does not exist",
        "old.ipynb": "the notebook has no list of cells of nbformat 4: open it in Jupyter and save it",
        "bad.ipynb": "bad.ipynb is not valid ('name' is a required property)",
        f"{TOKEN}.ipynb": "the path itself holds a credential",
    }.items():  # fmt: skip
        before = {file: file.read_bytes() for file in project.parent.rglob("*") if file.is_file()}
        assert line in (said := edit(path, insert)) and said.startswith("Error: "), said
        assert {file: file.read_bytes() for file in project.parent.rglob("*") if file.is_file()} == before


@every_row("damage", [
    lambda nb: nb.pop("cells"), lambda nb: nb.update(cells={"a": 1}), lambda nb: nb.update(cells=["x", None]),
    lambda nb: nb.update(nbformat="4"), lambda nb: nb.update(nbformat_minor="x"), lambda nb: nb.pop("nbformat_minor"),
    lambda nb: nb.update(metadata=[]), lambda nb: nb["cells"][0].pop("source"),
    lambda nb: nb["cells"][0].update(source=[1]), lambda nb: nb["cells"][0].update(cell_type="sql"),
    lambda nb: nb["cells"][1].update(outputs=None),
])  # fmt: skip
def test_a_damaged_notebook_is_one_line_and_stays_as_it_is(damage):
    file = three()
    there = json.loads(file.read_text())
    damage(there)
    file.write_text(json.dumps(there))
    before = file.read_bytes()
    said = edit("a.ipynb", {"replace": 1, "source": "x"})
    assert said.startswith("Error: a.ipynb ") and "\n" not in said and file.read_bytes() == before, said


FORMS = [
    (version, indent, end, ascii_, lists, ids)
    for version in ((4, 0), (4, 2), (4, 4), (4, 5))
    for indent, end in ((None, ""), (0, "\n"), (1, "\n"), (2, "\r\n"), (4, "\n"), ("\t", "\n"))
    for ascii_, lists in ((True, False), (False, True))
    for ids in ((True, False) if version == (4, 5) else (False,))
]
"""(version of the format, indent, line end, whether other letters are escaped, whether sources are lists, ids)."""


def written(form: Any, cells: list[Any]) -> str:
    """A notebook of that form; a cell is (kind, source, whether it has an output, id)."""
    (major, minor), indent, end, ascii_, lists, _ = form

    def cell(kind: str, source: str, run: bool, id_: str) -> dict[str, Any]:
        text: Any = source.splitlines(keepends=True) if lists else source
        code = kind == "code"
        made: dict[str, Any] = {"cell_type": kind, "metadata": {"tags": ["é"]} if run else {}, "source": text}
        made |= {"id": id_} if id_ else {}
        ran = {"output_type": "stream", "name": "stdout", "text": "é\n"}
        return made | ({"outputs": [ran] if run else [], "execution_count": 3 if run else None} if code else {})

    head: dict[str, Any] = {"nbformat": major, "nbformat_minor": minor, "metadata": {"name": "ü", "y": 1.5}}
    head["cells"] = [cell(*one) for one in cells]
    separators = (",", ": ") if end else (", ", ": ")
    text = json.dumps(head, indent=indent, ensure_ascii=ascii_, sort_keys=True, separators=separators)
    return str(text.replace("\n", end) + end)


def same(a: str, b: str) -> int:
    """How many characters two texts have in common at the beginning."""
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@every_row("form", FORMS)
def test_of_a_notebook_of_any_form_nothing_changes_but_the_cell_that_is_edited(form: Any):
    ids = iter("abcdefgh") if form[-1] else iter([""] * 8)
    new = "?" if form[0] >= (4, 5) else ""
    there = [("markdown", "# Über\n\ntext", False, next(ids)), ("code", "a = 1\nb = 'ß'", True, next(ids)),
             ("code", "b", False, next(ids)), ("markdown", "", False, next(ids))]  # fmt: skip
    file = Path("a.ipynb")
    edits: list[tuple[dict[str, Any], list[Any]]] = [
        ({"replace": 2, "source": "a = 2\nb"}, [there[0], ("code", "a = 2\nb", "kept", there[1][3]), *there[2:]]),
        ({"replace": 1, "source": "new"}, [("markdown", "new", False, there[0][3]), *there[1:]]),
        ({"insert": 2, "source": "in\nserted"}, [there[0], ("code", "in\nserted", False, new), *there[1:]]),
        ({"insert": 9, "source": "last", "kind": "markdown"}, [*there, ("markdown", "last", False, new)]),
        ({"delete": 1}, there[1:]),
        ({"delete": 4}, there[:3]),
    ]
    for change, wanted in edits:
        text = written(form, there)
        file.write_bytes(text.encode())
        said = edit("a.ipynb", change)
        assert not said.startswith("Error"), said
        after = file.read_bytes().decode()
        changed = [number for number, one in enumerate(wanted) if one not in there]
        made = json.loads(after)
        flat = made["cells"]
        kept = [one if one[2] != "kept" else (*one[:2], False, one[3]) for one in wanted]
        if form[0] >= (4, 5):  # the cell that is edited has an id now
            kept = [(*one[:3], flat[at]["id"]) if at in changed else one for at, one in enumerate(kept)]
        expected = written(form, kept)
        if "kept" in [one[2] for one in wanted]:
            tags = json.loads(expected)
            tags["cells"][1]["metadata"] = {"tags": ["é"]}
            assert made == tags
        else:
            assert after == expected
        start, end = same(text, after), same(text[::-1], after[::-1])
        cell = max((len(json.dumps(c, indent=form[1])) for c in flat), default=0) + 40
        assert len(text) - start - end < 3 * cell
        nbformat.convert(nbformat.reader.reads(after), 4)


def test_an_edit_is_for_the_version_that_was_read_and_for_no_other(tmp_path, monkeypatch):
    file = three()
    first = version()
    assert "a.ipynb exists: read it with read_notebook" in edit("a.ipynb", {"delete": 1}, at="")
    edit("a.ipynb", {"delete": 1}, at=first)
    after = file.read_bytes()
    assert edit("a.ipynb", {"delete": 1}, at=first) == (
        "Error: a.ipynb has changed since that version: read it again with read_notebook"
    )
    assert file.read_bytes() == after
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.ipynb").write_bytes(after)
    same = version()
    monkeypatch.chdir(other)
    assert "has changed since that version" in edit("a.ipynb", {"delete": 1}, at=same)
    assert "no notebook gone.ipynb" in edit("gone.ipynb", {"insert": 1, "source": "x"}, at=first)


def test_a_change_between_plan_and_write_is_not_overwritten():
    file = three()
    plan = notebook_plan({}, "a.ipynb", [{"delete": 1}], version())
    new = notebook_plan({}, "new.ipynb", [{"insert": 1, "source": "x"}])
    for one in (file, Path("new.ipynb")):
        one.write_text("of another program")
    for planned in (plan, new):
        with pytest.raises(DeepnbError, match="has changed since that version"):
            planned.write()
    assert file.read_text() == Path("new.ipynb").read_text() == "of another program"
    assert sorted(p.name for p in Path().iterdir()) == ["a.ipynb", "new.ipynb"]


class Variables(dict[str, Any]):
    cell_ids: frozenset[str] = frozenset()


def test_the_notebook_that_is_open_is_not_written(project: Path, monkeypatch):
    three()
    three("copy.ipynb")
    insert = {"insert": 1, "source": "x"}
    refused = "Error: a.ipynb is open here, and is not written behind its back: use propose_cell"
    assert edit("a.ipynb", insert, ns={"__vsc_ipynb_file__": str(project / "a.ipynb")}) == refused
    monkeypatch.setenv("JPY_SESSION_NAME", str(project / "a.ipynb"))
    assert edit("a.ipynb", insert) == refused and edit("copy.ipynb", insert).startswith("copy.ipynb: inserted")


def test_an_open_notebook_that_was_renamed_is_known_by_its_cells(project: Path, monkeypatch):
    file = three()
    ns = Variables()
    ns.cell_ids = frozenset({cells()[2]["id"]})
    monkeypatch.setenv("JPY_SESSION_NAME", str(project / "Untitled.ipynb"))
    assert "is open here" in edit("a.ipynb", {"delete": 1}, ns=ns)
    monkeypatch.setenv("JPY_SESSION_NAME", str(project / "b.ipynb"))
    file.rename("b.ipynb")
    Path("a.ipynb").write_bytes(Path("b.ipynb").read_bytes())
    assert edit("a.ipynb", {"delete": 1}, ns=ns).startswith("a.ipynb: deleted"), "a copy of the open one"
    assert "is open here" in edit("b.ipynb", {"delete": 1}, ns=ns)


def test_the_diff_is_of_cells_and_masked():
    cell = v4.new_code_cell(f"key = '{TOKEN}'\nx = 1", outputs=[v4.new_output("stream", text="hi")])
    nbformat.write(v4.new_notebook(cells=[cell, v4.new_code_cell("gone")]), "a.ipynb")
    edits = [{"replace": 1, "source": "x = 2"}, {"insert": 2, "source": "# T", "kind": "markdown"}, {"delete": 2}]
    diff = notebook_diff({}, {"path": "a.ipynb", "edits": edits, "version": version()})
    assert TOKEN not in repr(vars(diff))
    assert [one.title for one in diff.cells] == [
        "cell 1 · code · changed, 1 output cleared", "cell 2 · markdown · added", "cell 2 · code · removed"
    ]  # fmt: skip
    assert diff.unified().endswith("\n@@ -0,0 +1 @@\n+# T\ncell 2 · code · removed\n@@ -1 +0,0 @@\n-gone")
    late = notebook_diff({}, {"path": "a.ipynb", "edits": edits, "version": "x"})
    assert (late.cells, late.problem[:15]) == ((), "a.ipynb has cha")


@every_row(("name", "most"), [("read_notebook", 200), ("edit_notebook", 180), ("query_table", 250)])
def test_what_a_tool_costs_in_every_request(name, most):
    (tool,) = (t for t in described(namespace_tools({})) if t.name == name)
    assert o200k(tool_text(tool)) < most


# -- reading them


PNG = base64.b64encode(b"\x89PNG" + b"0" * 11_996).decode()


def write(name: str, *cells: Any) -> Path:
    file = Path(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(v4.new_notebook(cells=list(cells)), file)
    return file


def code(source: str, *outputs: Any, run: int | None = None) -> Any:
    return v4.new_code_cell(source, outputs=list(outputs), execution_count=run)


def display(**data: str) -> Any:
    return v4.new_output("display_data", data={mime.replace("_", "/"): text for mime, text in data.items()})


def sales() -> Path:
    return write(
        "work/sales.ipynb", v4.new_markdown_cell("# Sales\n\nBy region"),
        code("import pandas as pd\ndf = pd.read_csv('a.csv')", run=1),
        code(
            "df.plot()\ndf", v4.new_output("stream", name="stdout", text="read \x1b[31m12\x1b[0m rows\nof north\n"),
            display(image_png=PNG, text_plain="<Figure>"), display(text_html="<script>alert(1)</script>"),
            v4.new_output("error", ename="KeyError", evalue="'regoin'", traceback=["line 1", "line 2"]), run=2,
        ),
    )  # fmt: skip


def test_an_outline_and_a_search_name_the_cells():
    file = sales()
    assert read_notebook("work/sales.ipynb").splitlines() == [
        f"work/sales.ipynb: 3 cells, version {version(file)}", "1 markdown: # Sales (+2 lines)",
        "2 code [1]: import pandas as pd (+1 line)", "3 code [2]: df.plot() (+1 line)",
        "  -> stdout: read 12 rows (+1 line)", "  -> image/png, 12 kB", "  -> text/plain: <Figure>",
        "  -> text/html, 25 characters", "  -> KeyError: 'regoin': line 1 (+1 line)",
    ]  # fmt: skip
    brief, full = (read_notebook("work/sales.ipynb", cells="2-3", detailed=one) for one in (False, True))
    assert "import pandas as pd\ndf = pd.read_csv('a.csv')" in brief and "# Sales" not in brief
    assert "of north" not in brief and "read 12 rows\nof north" in full
    assert "alert" not in full and PNG[:40] not in full
    sales()
    write("b.ipynb", code("north = 1"))
    assert read_notebook(search="NORTH").splitlines() == [
        "b.ipynb 1 code: north = 1",
        "work/sales.ipynb 3 output: of north",
    ]
    assert read_notebook("b.ipynb", search="sales") == "no line contains 'sales'"
    assert read_notebook() == "b.ipynb: 1 cells\nwork/sales.ipynb: 3 cells, # Sales"


def test_there_may_be_none_hidden_directories_are_left_alone_and_a_fifo_is_not_opened():
    write(".ipynb_checkpoints/a.ipynb", code("x"))
    assert read_notebook() == "there are no notebooks in the working directory"
    os.mkfifo("a.ipynb")
    assert read_notebook("a.ipynb").startswith("Error: no notebook") and "no notebooks" in read_notebook()


@every_row("asked", [{}, {"cells": "1-2"}, {"cells": "1-2", "detailed": True}, {"search": "key"}])
def test_credentials_are_masked_in_sources_outputs_and_matches(asked):
    lines = [
        "MIIBVAIBADANBgkqhkiG9w0BAQEFAASCAT4wggE6AgEAAkEAq7BFUpkGp3+LQmlQ",
        "Yx2eqzDV+xeG8kx/sQFV18S5JhzGeIJNA72wSeukEPojtqUyX2J0CciPBh7eqclQ",
    ]
    pem = "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----", "no key"])
    write("a.ipynb", code(f"key = '{TOKEN}'", display(text_plain=f"key {TOKEN}")), v4.new_markdown_cell(pem))
    answer = read_notebook("a.ipynb", **asked)
    assert TOKEN not in answer and lines[1] not in answer and "[redacted: " in answer
    for part in (TOKEN[:12], lines[1][:14]):
        assert read_notebook(search=part) == f"no line contains {part!r}"


def test_images_in_the_text_are_named_by_type_and_size():
    cell = v4.new_markdown_cell(f"![a](data:image/png;base64,{PNG}) and ![b](attachment:b.png)")
    cell["attachments"] = {"b.png": {"image/png": PNG}}
    write("a.ipynb", cell)
    answer = read_notebook("a.ipynb", cells="1", detailed=True)
    assert "![a]([image/png, 12 kB])" in answer and "attachment b.png: image/png, 12 kB" in answer
    assert PNG[:40] not in answer


@every_row("path", ["../out.ipynb", "{out}", "link.ipynb", "linked/out.ipynb"])
def test_a_path_outside_the_working_directory_is_refused_in_one_line(path, project):
    outside = project.parent / "out.ipynb"
    nbformat.write(v4.new_notebook(cells=[code("secret")]), outside)
    for link, target in (("link.ipynb", outside), ("linked", project.parent)):
        Path(link).unlink(missing_ok=True)
        Path(link).symlink_to(target)
    name = path.format(out=outside)
    why = "is outside the working directory: only notebooks in it can be read and edited"
    assert read_notebook(name) == f"Error: {name} {why}"
    assert "secret" not in read_notebook(search="secret").replace("'secret'", "")


@every_row(
    "content",
    [
        b"{", b"[]", b"null", b'{"nbformat": 4}', b'{"nbformat": 4, "cells": 3}', b'{"nbformat": 99, "cells": []}',
        b'{"nbformat": 4, "cells": [7]}', b'{"nbformat": 4, "cells": [{"cell_type": "code", "outputs": [1]}]}',
        b"\xff\xfe", b"[" * 100_000, b'{"nbformat": 4, "cells": [{"outputs": [{"data": "x"}]}]}',
    ],
)  # fmt: skip
def test_what_is_no_notebook_is_one_line(content):
    Path("bad.ipynb").write_bytes(content)
    line = "bad.ipynb is not a notebook that nbformat can read ("
    assert read_notebook("bad.ipynb").startswith(f"Error: {line}") and "\n" not in read_notebook("bad.ipynb")
    assert read_notebook("bad.ipynb", search="x").count("\n") == 0


@every_row(("asked", "line"), [
    ({"path": "no.ipynb"}, "Error: no notebook no.ipynb: read_notebook without a path lists them"),
    ({"path": "a.txt"}, "Error: no notebook a.txt"), ({"path": "."}, "Error: no notebook ."),
    ({"path": "a\0"}, "Error: 'a\\x00' can't be a file"),
    ({"path": "a.ipynb", "cells": "x"}, "Error: cells 'x' is not valid: give numbers such as"),
    ({"path": "a.ipynb", "cells": "9"}, "Error: no cells 9: the notebook has 1: count from 1"),
])  # fmt: skip
def test_a_wrong_argument_is_one_line(asked, line):
    write("a.ipynb", code("x"))
    Path("a.txt").write_text("x")
    answer = read_notebook(**asked)
    assert answer.startswith(line) and "\n" not in answer


@pytest.mark.slow
def test_sizes_are_capped(monkeypatch):
    many = [code(f"x = {n}  # " + "long " * 50, display(text_plain="y " * 5_000)) for n in range(200)]
    write("a.ipynb", *many)
    for asked in ({}, {"detailed": True}, {"cells": "1-200", "detailed": True}, {"search": "long"}):
        answer = read_notebook("a.ipynb", **asked)  # type: ignore[arg-type]
        assert len(answer) < 1.5 * ANSWER and "not shown" in answer.splitlines()[-1]
    monkeypatch.setattr(notebooks, "LARGEST", 1_000)
    assert read_notebook("a.ipynb") == "Error: a.ipynb has more than 0 MB: it can't be read"


def test_a_notebook_of_an_older_version_is_read():
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {"name": ""}, "worksheets": [
        {"cells": [{"cell_type": "code", "language": "python", "input": ["a = 1\n", "b = 2"], "outputs": [], "collapsed": False, "prompt_number": 1, "metadata": {}}], "metadata": {}}
    ]}  # fmt: skip
    Path("old.ipynb").write_text(json.dumps(old))
    assert read_notebook("old.ipynb").splitlines()[1] == "1 code [1]: a = 1 (+1 line)"


def test_the_agent_reads_one_without_approval_also_in_read_only_mode():
    sales()
    s = Session(model=Scripted(answers=[call("read_notebook", path="work/sales.ipynb"), "done"]), approve="read-only")
    turn = s.run("what is in it?")
    assert turn.asked == () and "1 markdown: # Sales" in turn.after.messages[-2].text
