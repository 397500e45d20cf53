"""A PostgreSQL server for one run of tests: Debian's, as the user `postgres`, in a temporary directory on a free port."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from tests.support.chat_server import free_port

USER = "postgres"


def missing() -> str:
    if _programs() is None:
        return "PostgreSQL's server is not installed"
    if os.geteuid() == 0 and USER not in {one.pw_name for one in pwd.getpwall()}:
        return f"PostgreSQL does not run as root, and there is no user {USER}"
    return ""


@contextmanager
def server() -> Iterator[str]:
    programs = _programs()
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp" if os.path.isdir("/tmp") else None))
    if os.geteuid() == 0:
        shutil.chown(folder, USER)
    data = folder / "data"
    port = free_port()
    try:
        _run(programs / "initdb", "-D", str(data), "-A", "trust", "-U", USER, "--no-sync")
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        _run(programs / "pg_ctl", "-D", str(data), "-w", "-l", str(folder / "log"), "-o", options, "start")
        try:
            yield f"postgresql://{USER}@127.0.0.1:{port}"
        finally:
            _run(programs / "pg_ctl", "-D", str(data), "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_database(address: str) -> str:
    import psycopg

    name = f"t{uuid4().hex[:12]}"
    with psycopg.connect(f"{address}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
    return f"{address}/{name}"


def _programs() -> Path | None:
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    found = shutil.which("pg_ctl")
    return Path(found).resolve().parent if found and shutil.which("initdb") else None


def _run(*command: str | Path) -> None:
    as_user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*as_user, *map(str, command)], cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr[-500:]}")
