"""What a kernel is like before a file's tests, and how it becomes so again; this module runs in the kernel."""

import copy
import os
import signal
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

_INSTALLED = tuple(os.path.join(path, "") for path in {*sysconfig.get_paths().values(), sys.prefix, sys.base_prefix})


def keep(ip: Any) -> Callable[[str], None]:
    """Return the function that gives the kernel back the state it is in now, in another working directory."""
    environment, path, handler = dict(os.environ), list(sys.path), signal.getsignal(signal.SIGINT)
    config, own = copy.deepcopy(dict(ip.config)), set(sys.modules)

    def is_foreign(name: str) -> bool:
        if name == "__main__" or name.partition(".")[0] in ("deepnb", "tests"):
            return True
        file = getattr(sys.modules.get(name), "__file__", None)
        return name not in own and file is not None and not file.startswith(_INSTALLED)

    def comes_from_a_test(hook: Any) -> bool:
        kind = hook if hasattr(hook, "__module__") else type(hook)
        return is_foreign(str(kind.__module__))

    def restore(folder: str) -> None:
        ip.run_line_magic("unload_ext", "deepnb")
        if "ipywidgets" in sys.modules:
            sys.modules["ipywidgets"].Widget.close_all()
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")
        manager = ip.input_transformer_manager
        transforms = (manager.cleanup_transforms, manager.line_transforms, manager.token_transformers)
        more = (ip.input_transformers_post, ip.ast_transformers, ip.Completer.custom_matchers, ip.configurables)
        for hooks in (*ip.events.callbacks.values(), *transforms, *more):
            hooks[:] = [hook for hook in hooks if not comes_from_a_test(hook)]
        for magics in ip.magics_manager.magics.values():
            for name in [name for name, magic in magics.items() if comes_from_a_test(magic)]:
                del magics[name]
        for formatter in ip.display_formatter.formatters.values():
            for kind in [kind for kind in formatter.type_printers if is_foreign(kind.__module__)]:
                del formatter.type_printers[kind]
            for names in [names for names in formatter.deferred_printers if is_foreign(names[0])]:
                del formatter.deferred_printers[names]
        ip.set_custom_exc((), None)
        ip.rl_next_input = None
        ip.config.clear()
        ip.config.update(copy.deepcopy(config))
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            sys.__dict__.pop(name, None)
        for name in [name for name in sys.modules if name != "__main__" and is_foreign(name)]:
            del sys.modules[name]
        sys.path[:] = path
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        signal.signal(signal.SIGINT, handler)
        ip.reset(new_session=False)
        ip.user_ns["_dh"][:] = [folder]

    return restore
