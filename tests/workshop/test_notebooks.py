"""Reading notebooks: what the agent gets of them, and what it never gets."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from langchain_core.utils.function_calling import convert_to_openai_tool
from nbformat import v4

from deepnb import Session
from deepnb.engine.tools import described
from deepnb.workshop import notebooks
from deepnb.workshop.notebooks import ANSWER, read_notebook, version_of
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row
from tests.support.tokens import o200k

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
PNG = base64.b64encode(b"\x89PNG" + b"0" * 11_996).decode()


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    there = tmp_path / "project"
    there.mkdir()
    monkeypatch.chdir(there)
    return there


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
        "work/sales.ipynb",
        v4.new_markdown_cell("# Sales\n\nBy region"),
        code("import pandas as pd\ndf = pd.read_csv('a.csv')", run=1),
        code(
            "df.plot()\ndf",
            v4.new_output("stream", name="stdout", text="read \x1b[31m12\x1b[0m rows\nof north\n"),
            display(image_png=PNG, text_plain="<Figure>"),
            display(text_html="<script>alert(1)</script>"),
            v4.new_output("error", ename="KeyError", evalue="'regoin'", traceback=["line 1", "line 2"]),
            run=2,
        ),
    )


def version(file: Path) -> str:
    return version_of(file.resolve(), file.read_bytes())


def test_the_outline_has_a_line_for_each_cell_and_output_and_cells_are_brief_or_in_full():
    file = sales()
    assert read_notebook("work/sales.ipynb").splitlines() == [
        f"work/sales.ipynb: 3 cells, version {version(file)}", "1 markdown: # Sales (+2 lines)",
        "2 code [1]: import pandas as pd (+1 line)", "3 code [2]: df.plot() (+1 line)",
        "  -> stdout: read 12 rows (+1 line)", "  -> image/png, 12 kB", "  -> text/plain: <Figure>",
        "  -> text/html, 25 characters", "  -> KeyError: 'regoin': line 1 (+1 line)",
    ]  # fmt: skip
    sales()
    brief, full = (read_notebook("work/sales.ipynb", cells="2-3", detailed=one) for one in (False, True))
    assert "import pandas as pd\ndf = pd.read_csv('a.csv')" in brief and "# Sales" not in brief
    assert "of north" not in brief and "read 12 rows\nof north" in full
    assert "alert" not in full and PNG[:40] not in full


def test_search_names_notebook_cell_and_line_and_all_notebooks_are_listed():
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


def test_what_it_costs_in_every_request():
    (tool,) = described([read_notebook])
    schema = json.dumps(convert_to_openai_tool(tool))
    assert o200k(schema) < 200
