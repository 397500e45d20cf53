"""A kernel that adds facts to memory, begun by a line on its input.

`python -m tests.support.memory_writer persist|keep WHERE NAME COUNT`: a kept session, or the memory of a directory.
"""

import sys

from deepnb import Session
from tests.support.scripted import Scripted


def main(how: str, where: str, name: str, count: int) -> None:
    with Session(Scripted(answers=["ok"])) as s:
        s.persist(where) if how == "persist" else s.memory.keep(where)
        print("ready", flush=True)
        sys.stdin.readline()
        for n in range(count):
            s.memory.add(f"fact {name}-{n}")
        print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
