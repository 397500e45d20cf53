"""The chooser of a model in JupyterLab: a key that is typed into the page is in the process, and in no file."""

import pytest

from tests import IMPORT_TESTS
from tests.support.browsers import Workspace, marks

pytestmark = [*marks("jupyterlab"), pytest.mark.slow]

KEY = "sk-page-0123456789-abcdefghijk"
CELLS = (f"{IMPORT_TESTS}%load_ext deepnb\n%agent persist kept.db", "%agent use")


def test_a_key_is_typed_into_the_page_and_saved_nowhere(workspace: Workspace) -> None:
    lab = workspace.run("key.ipynb", CELLS)
    lab.command("Settings > Save Widget State Automatically")
    cell = lab.cell(CELLS[1])
    cell.get_by_role("combobox", name="Provider").select_option("openai")
    cell.get_by_placeholder("Enter keeps it").focus()
    lab.page.keyboard.type(KEY)
    lab.page.keyboard.press("Enter")
    cell.get_by_text("key for openai kept in this process only").first.wait_for()
    assert cell.get_by_placeholder("Enter keeps it").input_value() == ""
    lab.run("%agent hello")
    has = lab.run("from deepnb.models.keys import kept_key; len(kept_key('openai').reveal())").inner_text()
    lab.save()
    lab.command("Settings > Save Widget State Automatically")
    saved = (workspace.place / "key.ipynb").read_text()
    lab.close()
    assert has.endswith(str(len(KEY))) and "PasswordModel" in saved, "the state of the widgets is saved, too"
    assert not [
        file.name for file in workspace.place.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()
    ]
