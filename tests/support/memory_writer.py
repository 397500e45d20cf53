"""A kernel that adds facts to memory: `python -m tests.support.memory_writer WHERE NAME COUNT`, begun by a line on its input."""

import sys

from deepnb import Session
from tests.support.scripted import Scripted


def main(where: str, name: str, count: int) -> None:
    with Session(Scripted(answers=["ok"]), persist=where) as s:
        print("ready", flush=True)
        sys.stdin.readline()
        for n in range(count):
            s.memory.add(f"fact {name}-{n}")
        print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
