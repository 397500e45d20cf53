"""Python programs that begin with the usual modules imported: forks of one process, in a tenth of the time of a start.

`python()` stands for `sys.executable` in a command, before `-m MODULE` or `-c CODE`. That command is a small client: it
asks the process that has the modules for a fork with its own arguments, environment, directory and open files, passes
on the signals it gets, and ends as the fork ends. Where either of them is killed, the other is killed, too; and all
forks are where the process ends that first asked for one. A program that wants other settings of Python than this
process has is started as usual.
"""

import json
import os
import select
import signal
import socket
import struct
import sys
from contextlib import suppress
from functools import cache
from typing import Any

MODULES = (
    "ipykernel.kernelapp",
    "ipykernel.ipkernel",
    "ipykernel.zmqshell",
    "deepnb.magics.ask",
    "deepnb.wiring.build",
)  # imported before the forks: none of it starts a thread, which a fork would lose
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
KERNEL = ("-m", "ipykernel_launcher", "-f", "{connection_file}")
_STANDARD = (0, 1, 2)


@cache
def python() -> list[str]:
    """The beginning of a command that runs a module or code in a fork, or in a new process where there are none."""
    if not hasattr(os, "pidfd_open"):  # Linux has it
        return [sys.executable]
    import atexit
    import subprocess
    import tempfile

    address = os.path.join(tempfile.mkdtemp(prefix="forks-"), "socket")
    pipe = subprocess.PIPE  # whose end tells the process that this one has ended; a signal to all of a group does not
    command = [sys.executable, __file__, "--serve", address]
    server = subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True)
    atexit.register(server.communicate)
    assert server.stdout is not None and server.stdout.read(1) == b".", "the process to fork from has not started"
    return [sys.executable, "-I", "-S", __file__, address]


def process(client: int) -> int:
    command = python()
    try:
        with open(f"{command[-1]}-{client}") as file:
            return int(file.read())
    except FileNotFoundError:
        return client


def _settings(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("PYTHON")}


def _serve(address: str) -> list[str]:
    import gc
    import importlib
    import shutil

    del sys.path[0]  # the directory of this file
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(16)
    for name in MODULES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    os.write(1, b".")
    heard: list[Any] = [listener, 0]
    while listener in select.select(heard, [], [])[0]:
        client = listener.accept()[0]
        if os.fork() == 0:
            listener.close()
            return _watched(client, address)
        client.close()
        with suppress(ChildProcessError):  # there is none
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    shutil.rmtree(os.path.dirname(address))
    os._exit(0)


def _watched(client: socket.socket, address: str) -> list[str]:
    head, files, *_ = socket.recv_fds(client, 8, len(_STANDARD))
    request = client.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)  # and no more: a signal may follow
    arguments, folder, environment = json.loads(request)
    if _settings(environment) != _settings(dict(os.environ)):
        client.sendall(b"start")
        os._exit(0)
    known = f"{address}-{struct.unpack('3i', client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]}"
    program = os.fork()
    if program == 0:
        os.setsid()
        with open(known, "w") as note:
            note.write(str(os.getpid()))
        client.close()
        for standard, file in zip(_STANDARD, files, strict=True):
            os.dup2(file, standard)
            os.close(file)
        os.chdir(folder)
        if "ipykernel_launcher" in arguments:  # it ends with its parent, and has read the variable for it by now
            arguments.append(f"--IPKernelApp.parent_handle={os.getppid()}")
        os.environ.clear()
        os.environ.update(environment)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return list(arguments)
    for file in files:
        os.close(file)
    ended = os.pidfd_open(program)
    heard: list[Any] = [client, ended, 0]
    while ended not in (ready := select.select(heard, [], [])[0]):
        number = b"" if 0 in ready else client.recv(1)
        os.killpg(program, number[0] if number else signal.SIGKILL)
        if not number:
            break
    status = os.waitpid(program, 0)[1]
    with suppress(FileNotFoundError):  # it was killed before it wrote it
        os.unlink(known)
    try:
        client.sendall(str(status).encode())
    finally:
        os._exit(0)


def _run(arguments: list[str]) -> None:
    import runpy
    from types import ModuleType

    how, what, *rest = arguments
    if how == "-m":
        sys.path.insert(0, os.getcwd())
        sys.argv = [what, *rest]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, "")
        sys.argv = [how, *rest]
        sys.modules["__main__"] = main = ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), main.__dict__)


def _ask(address: str, arguments: list[str]) -> None:
    server = socket.socket(socket.AF_UNIX)

    def pass_on(number: int, frame: Any) -> None:
        server.sendall(bytes([number]))

    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)  # until there is a fork to pass them on to
    for number in PASSED_ON:
        signal.signal(number, pass_on)
    try:
        server.connect(address)
    except OSError:  # it has ended
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        os.execv(sys.executable, [sys.executable, *arguments])
    request = json.dumps([arguments, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(server, [len(request).to_bytes(8, "big")], _STANDARD)
    server.sendall(request)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    told = server.recv(16)
    if told == b"start":
        os.execv(sys.executable, [sys.executable, *arguments])
    code = os.waitstatus_to_exitcode(int(told)) if told else 1
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        _run(_serve(sys.argv[2]))
    else:
        _ask(sys.argv[1], sys.argv[2:])
