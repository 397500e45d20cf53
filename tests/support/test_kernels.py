"""The kernel that is shared by all files: what one of them left behind is not there for the next."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests import IMPORT_TESTS, ROOT
from tests.support.kernels import Pool

LEFT = (
    f"{IMPORT_TESTS}import os\nfrom pathlib import Path\nos.environ['LEFT'] = 'a variable'\nsys.path.append(os.getcwd())",
    "Path('left_module.py').write_text('LEFT = 1')\nimport left_module\nfrom tests.support.scripted import Scripted",
    "%load_ext deepnb\n%config DeepNB.window = 5000\n%agent Remember that I like tea\n%memory panel",
    "from deepnb.models import keys\nkeys._KEPT['left'] = 1",
    "ip = get_ipython()\ndef hook(*args): return args[0] if args else None",
    "ip.events.register('pre_run_cell', hook)\nip.input_transformers_post.append(hook)\nip.register_magic_function(hook)",
    "class Seen: pass\nip.display_formatter.formatters['text/plain'].for_type(Seen, lambda *_: None)",
    "ip.set_custom_exc((ValueError,), lambda *_, **__: print('caught'))",
)
FOUND = """
import os, sys
ip, here = get_ipython(), sorted(name for name in globals() if not name.startswith("_"))
formatters = ip.display_formatter.formatters.values()
named = [c.__module__ for f in formatters for c in f.type_printers] + [k[0] for f in formatters for k in f.deferred_printers]
manager = ip.input_transformer_manager
found = {
    "variables": [name for name in here if name not in ("In", "Out", "exit", "quit", "open", "get_ipython", "os", "sys", "ip")],
    "environment": "LEFT" in os.environ,
    "path": [path for path in sys.path if path == FIRST_FOLDER],
    "modules": [name for name in sys.modules if name.partition(".")[0] in ("deepnb", "tests", "left_module")],
    "files": os.listdir(),
    "config": "DeepNB" in ip.config,
    "configurables": [type(one).__name__ for one in ip.configurables if type(one).__name__ == "DeepNB"],
    "hooks": [name for name, hooks in ip.events.callbacks.items() for hook in hooks if hook.__name__ == "hook"],
    "transformers": [len(ip.input_transformers_post), len(ip.ast_transformers), len(manager.token_transformers)],
    "matchers": len(ip.Completer.custom_matchers),
    "magics": [name for name in ip.magics_manager.magics["line"] if name in ("agent", "memory", "skills", "hook")],
    "pictures": [name for name in named if name.partition(".")[0] in ("deepnb", "__main__")],
    "exceptions": ip.custom_exceptions,
}
print(found)
"""


@pytest.mark.kernel
def test_what_one_file_left_behind_is_not_there_for_the_next(kernels: Pool) -> None:
    first = kernels.clean()
    folder = first.value("__import__('os').getcwd()")
    look = FOUND.replace("FIRST_FOLDER", folder)
    before = first.ok(look).text
    for cell in LEFT:
        first.run(cell)
    assert first.ok(look).text != before
    assert "caught" in first.run("raise ValueError").text
    second = kernels.clean()
    assert second is first, "it is the same process"
    assert second.value("__import__('os').getcwd()") != folder
    assert second.ok(look).text == before
    none = second.run("import deepnb; deepnb.current()")
    assert none.status == "error" and "%load_ext deepnb" in none.reply["evalue"], "there is no session"
    assert "nothing remembered yet" in second.ok("%load_ext deepnb\n%memory").text


pytestmark = [pytest.mark.nightly, pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="no forks here")]


def gone(number: int) -> bool:
    until = time.monotonic() + 60
    while os.path.exists(f"/proc/{number}") and time.monotonic() < until:
        time.sleep(0.01)
    return not os.path.exists(f"/proc/{number}")


STARTER = """
import os, subprocess, sys
from tests.support.forks import python
code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
subprocess.Popen([*python(), "-c", code], start_new_session=True, stdin=subprocess.DEVNULL)
sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_none_outlives_the_process_that_began_to_fork(number: signal.Signals) -> None:
    """As a front end's kernels, which hear nothing of a signal to the process that started them."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", STARTER]
    starter = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
    fork = int(starter.stdout.readline())
    os.killpg(starter.pid, number)
    starter.wait(60)
    assert gone(fork)
