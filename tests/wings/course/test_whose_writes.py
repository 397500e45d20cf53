"""What the user writes is the user's in the journal, also with a panel and the dashboard open: each magic, and an exercise."""

import pytest

from tests.session.test_memory import SKILL
from tests.support.kernels import Kernel
from tests.wings.course.solutions import SOLUTIONS

MAGICS = (
    *("%memory add one", "%memory daily two", "%memory revert 1", "%%memory /USER.md\n- me\n"),
    *("%memory load page.md --to /TOOLS.md", "%memory rm /TOOLS.md", f"%%skills tables\n{SKILL}",
      "%memory revert {last}"),
    *("%skills new fresh", "%skills remove fresh", "session.files['/SOUL.md'] = 'calm'", "%memory add three"),
    *("%agent rewind 0 --memory", "%agent undo", "%memory forget --yes three"),
)  # fmt: skip


CLICK = """
from ipywidgets.widgets.widget import _instances
newest = "revert " + session.memory.log_entries()[-1].id
[one for one in _instances.values() if one.trait_values().get("tooltip") == newest][0].click()
"""  # the newest entry of the journal, reverted by its button


@pytest.mark.slow
@pytest.mark.kernel
def test_so_it_is_in_a_kernel_with_a_panel_and_the_dashboard_open(kernel: Kernel):
    """Each magic in turn, then the button: what is entered is the user's, a revert keeps its note, and says what it did."""
    kernel.ok(
        "import deepnb, deepnb.course, pathlib\nsession = deepnb.current()\nz = pathlib.Path('page.md').write_text('loaded')"
    )
    kernel.ok("%agent hello")
    kernel.ok("%agent dashboard")
    kernel.ok("%memory panel")
    external = "print('external' in set(session.memory.log()['origin']))"
    for line in MAGICS:
        typed = line
        if "{last}" in line:
            typed = line.format(last=kernel.ok("print(session.memory.log_entries()[-1].id)").text.strip())
        said = "".join(one["data"]["text/plain"] for one in kernel.ok(typed).of("display_data"))
        assert kernel.ok(external).text.strip() == "False", line
        assert "revert" not in line or "no changes" not in said, (line, said)
    for cell in SOLUTIONS["02"]:
        kernel.ok(cell)
    done = kernel.ok("print([part.done for part in deepnb.course.check('02').parts])").text
    assert done.strip() == "[True, True, True]"
    kernel.ok("%memory add four")
    kernel.ok(CLICK)
    last = "e = session.memory.log_entries()[-1]; print(e.origin, e.note)"
    assert kernel.ok(last).text.strip().startswith("user revert of ")
