"""`python -m tests.bench [NAME ...]`: what deepnb costs, each figure beside a baseline of the same run.

Without a name the quick ones. A missed bound is marked, and is no error. `others` compares deepnb with other tools.
"""

import argparse
import importlib
import os
import subprocess
import sys
import tempfile

from tests.bench.row import HEAD

NAMES = (
    *("house", "load", "calls", "stream", "turn", "growth", "talks", "documents", "meaning", "speed", "homes"),
    *("credentials", "cache", "first", "opening", "classroom", "laws"),
)


def main() -> None:
    parser = argparse.ArgumentParser("python -m tests.bench", description=__doc__)
    parser.add_argument("name", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--all", action="store_true", help="run all of them")
    parser.add_argument("--list", action="store_true", help="name them")
    parser.add_argument("-v", action="store_true", help="show what the figures are made of")
    asked = parser.parse_args()
    if unknown := set(asked.name) - set(NAMES):
        parser.error(f"no benchmark {min(unknown)!r}: name some of {', '.join(NAMES)}")
    known = {name: importlib.import_module(f"tests.bench.{name}") for name in asked.name or NAMES}
    if asked.list:
        for name, module in known.items():
            print(f"{name:12}{'quick' if module.QUICK else '':7}{(module.__doc__ or '').splitlines()[0]}")
        return
    print(HEAD, flush=True)
    chosen = [name for name, module in known.items() if asked.name or asked.all or module.QUICK]
    with tempfile.TemporaryDirectory() as home:  # the user's profile is no part of what is measured
        os.environ["IPYTHONDIR"] = home
        for name in chosen:  # each in a process of its own, whose memory nothing else has filled
            code = f"from tests.bench.__main__ import show; show({name!r}, {asked.v})"
            subprocess.run([sys.executable, "-c", code], check=True)


def show(name: str, verbose: bool) -> None:
    for row in importlib.import_module(f"tests.bench.{name}").rows():
        if verbose or not row.detail:
            print(f"{name}: {row}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["others"]:
        importlib.import_module("tests.bench.others").main(sys.argv[2:])
    else:
        main()
