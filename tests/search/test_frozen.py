"""The sets that search is measured on are frozen: figures in the project's history are of these.

`talks.json` (conversations with questions in other words) and `diaries.json` (dated questions, and questions over
several turns) have the format of LoCoMo and none of its content. All of it is written for deepnb.
"""

from __future__ import annotations

import hashlib

from tests import DATA
from tests.data.documents import documents, questions

FROZEN = {
    "talks": "34fa7a210f3eb859ac2b3ca80f387d370b0266b0a66417b24026dc19fe5df5ac",
    "diaries": "b4e74c3d24a1a652f79ba4f49b63904c0d301d7f9802dd0ef6a2acc3242ed89c",
    "documents": "4d34d6a593cb47fd219518800014e348e73e86d7efd277a3cb4a03260268386a",
}


def test_they_are_as_they_were() -> None:
    kept = repr(sorted(documents().items())) + repr([(q.text, sorted(q.grades.items())) for q in questions()])
    found = {name: (DATA / f"{name}.json").read_bytes() for name in ("talks", "diaries")} | {"documents": kept.encode()}
    assert {name: hashlib.sha256(data).hexdigest() for name, data in found.items()} == FROZEN
