"""Skills made to hang, crash or lead astray whoever reads them: (name, what reads it)."""

import faulthandler
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from deepnb.backends.disk import DiskBackend
from deepnb.skills.catalog import Catalog
from deepnb.skills.packages import packages
from deepnb.skills.rules import check
from deepnb.values.errors import DeepnbError
from tests import DATA, ROOT

Case = tuple[str, Callable[[], object]]

LIMIT = 10.0


def run_each(cases: Iterable[Case], limit: float = LIMIT) -> None:
    """Run the cases, saying each one's name first. The watch is no Python, so it ends a loop in C, too."""
    for name, case in cases:
        print(name, flush=True)
        faulthandler.dump_traceback_later(limit, exit=True)
        case()
        faulthandler.cancel_dump_traceback_later()


def in_process(module: str, call: str = "main()") -> tuple[list[str], str]:
    """(names of the cases that were begun, what is wrong with the last of them) of a module; "": nothing."""
    code = f"import {module} as cases; cases.{call}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    names = done.stdout.splitlines()
    return names, "" if done.returncode == 0 else f"{names[-1] if names else 'no case'}: {done.stderr[-3000:]}"


def loop(limit: float) -> None:
    run_each([("good", lambda: None), ("in C", lambda: re.match(r"(a+)+$", "a" * 60 + "b"))], limit)


LONG = 30_000
START = b"---\nname: ab\ndescription: x\n"
PARTS = (
    *(b"[", b"{", b"[a,", b"- ", b"? ", b"x: ", b"&a ", b"*a ", b"\t", b" ", b"'", b'"', b"|\n", b"#", b"!a "),
    *(b"[],", b"<<: ", b"\n", b"\r", b"%", b"a", b"\\u0041", b"(", b"a, "),
)
FILES = {"carriage returns": b"---\n" + b"\r" * 9_000_000, "hyphens": b"-" * 9_000_000, "fences": b"---\n" * 2_000_000}


def headers() -> Iterator[Case]:
    for part in PARTS:
        for key in (b"x: ", b"", b"allowed-tools: "):
            data = START + key + part * (LONG // len(part)) + b"\n---\n"
            yield f"{key!r} and {part!r} again and again", partial(check, data, "/s/ab/SKILL.md")
    for name, data in FILES.items():
        yield f"a file of {name}", partial(check, data, "/s/ab/SKILL.md")


def frozen() -> Iterator[Case]:
    cases = json.loads((DATA / "skills_cases.json").read_text(encoding="utf-8"))
    for case in cases:
        data = bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()
        path = f"/skills/{case['directory']}/SKILL.md"
        yield f"case {case['id']}", partial(check, data, path)


def on_disk() -> Iterator[Case]:
    def read(make: Callable[[Path], object]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) / "skills" / "one"
            place.mkdir(parents=True)
            make(place)
            Catalog(["/skills/"]).read(DiskBackend(folder))
            try:
                packages(place.parent)
            except DeepnbError:
                return

    def ring(directory: Path) -> None:
        (directory / "SKILL.md").symlink_to("b")
        (directory / "b").symlink_to("SKILL.md")

    def thousand(directory: Path) -> None:
        for i in range(1000):
            (directory.parent / f"d{i}").mkdir()

    makes: dict[str, Callable[[Path], object]] = {
        "a pipe for a SKILL.md": lambda d: os.mkfifo(d / "SKILL.md"),
        "a link to itself": lambda d: (d / "SKILL.md").symlink_to("SKILL.md"), "two links in a ring": ring,
        "a link to a device": lambda d: (d / "SKILL.md").symlink_to("/dev/zero"),
        "a directory in a ring": lambda d: (d / "inner").symlink_to(d),
        "a source in itself": lambda d: (d.parent / "self").symlink_to(d.parent),
        "a directory for a SKILL.md": lambda d: (d / "SKILL.md").mkdir(), "a thousand directories": thousand,
        "a hole of 100 GB": lambda d: os.truncate(os.open(d / "big", os.O_CREAT | os.O_WRONLY), 10**11),
    }  # fmt: skip
    for name, make in makes.items():
        yield name, partial(read, make)


def zips() -> Iterator[Case]:
    def bomb() -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bomb.zip"
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("one/SKILL.md", START + b"---\n")
                for i in range(7):
                    archive.writestr(f"one/{i}", b"\0" * 9_000_000)
            try:
                packages(path)
            except DeepnbError as error:
                assert "bytes" in str(error)

    def many() -> None:
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w") as archive:
            for i in range(1_100):
                archive.writestr(f"one/{i}", b"")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "many.zip").write_bytes(held.getvalue())
            try:
                packages(Path(folder) / "many.zip")
            except DeepnbError:
                return

    yield "a zip of 63 MB of nothing", bomb
    yield "a zip of 1,100 files", many


def main(limit: float = LIMIT) -> None:
    run_each((*headers(), *frozen(), *on_disk(), *zips()), limit)
