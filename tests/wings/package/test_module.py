"""Functions of a notebook as a module."""

import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import deepnb
from deepnb.wings.package.module import module_of, requirement
from deepnb.wings.package.values import Code
from tests.data import rows
from tests.support.credentials import SAMPLES
from tests.support.tables import every_row

KEY = "sk-ant-api03-" + "Zq7Rw2Lm9Xc4Vb6Nt8Yp1Ks3Jd5Hf0Ga" * 2
DOOR, CHANCE = "qu13t" + "-R1ver!88", "vJ7q" * 2 + "Zk3wXp9RtB2m"


@pytest.fixture
def notebook() -> Any:
    shell = InteractiveShell()

    def run(*cells: str) -> dict[str, Any]:
        for cell in cells:
            assert shell.run_cell(dedent(cell), store_history=True).success
        names: dict[str, Any] = shell.user_ns
        return names

    return run


def outcome(module: Code, folder: Path, *calls: str) -> list[Any]:
    (folder / "notebook_tools.py").write_text(module.text)
    code = f"import json, notebook_tools as t; from notebook_tools import *; print(json.dumps([{', '.join(calls)}]))"
    told = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    found: list[Any] = json.loads(told.stdout)
    return found


def why(module: Code) -> dict[str, str]:
    return {one.name: one.why for one in module.left_out}


def test_a_function_goes_with_all_that_it_uses(notebook: Any, tmp_path: Path) -> None:
    names = notebook(
        """
        import os.path
        import math as m
        from collections import Counter
        from typing import Literal
        RATE = 1.25
        TABLE = {"a": [1, 2], "b": (3, None)}
        """,
        """
        def helper(value):
            return m.floor(value * RATE)

        def price(value: float, kind: Literal["net", "gross"] = "net") -> str:
            '''Give the price.'''
            import json
            unused = [m for m in TABLE]
            return json.dumps([helper(value), Counter("aab")["a"], os.path.basename("/x/y"), TABLE["b"][0]])
        """,
    )
    module = module_of([names["price"]])
    assert module.left_out == () and module.names == {id(names["price"]): "price"}
    assert outcome(module, tmp_path, "price(10)", "t.TOOLS[0].__doc__") == ['[12, 2, "y", 3]', "Give the price."]


def test_closures_are_written_and_two_of_one_name_are_not(notebook: Any, tmp_path: Path) -> None:
    names = notebook(
        """
        def make(factor):
            def scaled(x: float) -> float:
                '''Scale.'''
                return x * factor
            return scaled
        two, three = make(2), make(3)
        """
    )
    assert outcome(module_of([names["two"]]), tmp_path, "scaled(4)") == [8]
    both = module_of([names["two"], names["three"]])
    assert why(both) == {"scaled": "has another scaled than a tool before it: rename one of them"}
    assert outcome(both, tmp_path, "scaled(4)", "len(t.TOOLS)") == [8, 1]


def test_tools_made_with_a_decorator(notebook: Any, tmp_path: Path) -> None:
    names = notebook(
        """
        import deepnb
        from langchain_core.tools import tool, StructuredTool

        @deepnb.reads
        @tool
        def look(place: str) -> str:
            "Look."
            return place

        async def wait(seconds: int) -> str:
            "Wait."
            return "done"

        made = StructuredTool.from_function(wait, coroutine=wait, name="other", description="Other.")
        """
    )
    module = module_of([names["look"], names["wait"], names["made"], {"type": "web_search"}])
    assert why(module) == {"other": "is a StructuredTool: write it as a function with a docstring, or with @tool"}
    assert outcome(module, tmp_path, "t.TOOLS[0].name", "t.TOOLS[2]", "t.TOOLS[0].metadata") == [
        "look", {"type": "web_search"}, {"deepnb_effect": "reads"},
    ]  # fmt: skip


def test_what_an_installed_package_has_is_imported(notebook: Any, tmp_path: Path) -> None:
    names = notebook(
        """
        import numpy as np
        from textwrap import shorten

        def mean(values: list[float]) -> float:
            "Mean."
            return float(np.mean(values))
        """
    )
    module = module_of([names["mean"], names["shorten"]])
    assert [line.partition("==")[0] for line in module.requirements] == ["numpy"]
    assert outcome(module, tmp_path, "mean([1, 3])", "t.TOOLS[1]('a b', 9)") == [2.0, "a b"]


def test_deepnb_is_required_in_the_version_that_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deepnb, "__version__", "9.9")  # not what the metadata of an older editable install say
    assert requirement("deepnb") == "deepnb==9.9"


REFUSED = dict(rows("packaged_functions")["refused"])


@every_row("reason", REFUSED)
def test_what_can_t_be_written_says_why(notebook: Any, reason: str) -> None:
    module = module_of([notebook(REFUSED[reason])["f"]])
    assert list(why(module).values()) == [reason]
    assert "TOOLS = []" in module.text and "def f" not in module.text


def test_a_refused_tool_leaves_nothing_behind_and_what_only_looks_secret_is_packaged(notebook: Any) -> None:
    names = notebook("import threading\nSPARE = 1\nlock = threading.Lock()\ndef f():\n    return SPARE, lock")
    assert module_of([names["f"]]).text.count("SPARE") == 0
    names = notebook(
        """
        KEY_COLUMN = "customer_id"
        PASSWORD_FIELD = "password"
        TOKENS = ["<s>", "</s>"]
        commit = "4f9a8c1e7b2d6053a1c4e8f7b9d203650a1b2c3d"
        model = "Qwen2.5-7B-Instruct"
        palette = {"a": "#1f77b4", "b": "#aabbcc"}
        day = "%Y-%m-%d"
        def f():
            return KEY_COLUMN, PASSWORD_FIELD, TOKENS, commit, model, palette, day
        """
    )
    assert not module_of([names["f"]]).left_out


@every_row("cell", [
    f"TOKEN = '{KEY}'\ndef f():\n    return TOKEN", f"def f():\n    return '{KEY}'",
    f"def f():\n    # {KEY}\n    return 1", f"def f(key='{KEY}'):\n    return 1",
    f"CONFIG = {{'deep': ['{KEY}']}}\ndef g():\n    return CONFIG\ndef f():\n    return g()",
    "password = 'hunter2-hunter2'\ndef f():\n    return password",
    f"SECRET_DOOR = '{DOOR}'\ndef f():\n    return SECRET_DOOR",
    f"door = ['{DOOR}']\ndef f():\n    return door",
    f"settings = {{'vault': {{'unlock_secret_of': '{DOOR}'}}}}\ndef f():\n    return settings",
    "passphraseHome = 'otter lamp river stone'\ndef f():\n    return passphraseHome",
    f"place = '{CHANCE}'\ndef f():\n    return place",
    f"def make(secret):\n    def f():\n        return secret\n    return f\nf = make('{KEY}')",
])  # fmt: skip
def test_credentials_stay_in_the_kernel(notebook: Any, cell: str) -> None:
    module = module_of([notebook(cell)["f"]])
    (reason,) = why(module).values()
    assert "read it from os.environ" in reason
    told = module.text + reason
    assert not any(one in told for one in (KEY, DOOR, CHANCE, "hunter2", "otter lamp"))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["T{0}", "(1, [{1!r}])", "'a' if {0} else {1!r}", "b'x' + {1!r}.encode()"])
def test_all_credentials_that_the_gate_knows_stay_in_the_kernel(notebook: Any, form: str) -> None:
    names = notebook("")
    names.update({f"T{n}": sample.text for n, sample in enumerate(SAMPLES)})
    lines = [form.format(n, sample.text) for n, sample in enumerate(SAMPLES)]
    notebook("\n".join(f"def use_{n}():\n    return {line}" for n, line in enumerate(lines)))
    module = module_of([names[f"use_{n}"] for n in range(len(SAMPLES))])
    assert "def use_" not in module.text and "T1 " not in module.text
    assert len(module.left_out) == len(SAMPLES) > 900
