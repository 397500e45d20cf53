"""A line is the same for reading, editing and searching, however it ends, and wherever the file is."""

import re
from pathlib import Path

from deepnb import Session
from tests.support.scripted import Scripted, call
from tests.support.tables import every_row

TEXTS = {
    "line feeds": "one\ntwo\nthree\nfour\n", "both": "one\r\ntwo\r\nthree\r\nfour\r\n",
    "returns": "one\rtwo\rthree\rfour\r", "mixed": "one\r\ntwo\nthree\r\nfour",
    "what ends no line, and private characters": "o\uf8f0ne\n\uf8f6tw\u2028o\nth\x0cree\nfo\uf8f7ur\n",
    "what ends no line": "o\x0cne\ntw\u2028o\nth\x0bree\nfo\x85ur\n",
    "what ends no line, and both": "o\x1cne\r\ntw\u2029o\r\nthree\x1d\r\nfo\x85ur\r\n",
}  # fmt: skip
PLACES = ("/a.txt", "/AGENTS.md", "/w/a.txt")


@every_row("kind", TEXTS)
@every_row("path", PLACES)
def test_what_is_shown_can_be_edited_and_found(kind: str, path: str, tmp_path: Path) -> None:
    text = TEXTS[kind]
    lines = [line for line in re.split(r"\r\n?|\n", text) if line]
    old, new = "\n".join(lines[1:3]), "zwei\ndrei"
    answers = [
        call("read_file", file_path=path, offset=1, limit=2),
        call("grep", pattern=lines[2], path=path, output_mode="content"),
        call("edit_file", file_path=path, old_string=old, new_string=new),
        "done",
    ]
    s = Session(model=Scripted(answers=answers), approve={"edit_file": "allow"})
    (tmp_path / "w").mkdir(exist_ok=True)
    s.mount("/w", f"disk:{tmp_path / 'w'}")
    assert s.backend.upload_files([(path, text.encode())])[0].error is None
    s.run("go")
    read, found, _ = (m.text for m in s.options.model.requests[-1] if m.type == "tool")
    assert read.startswith("@@ lines 2-3 of 4 |") and read.endswith(f"@@\n{old}")
    assert lines[2] in found and (kind == "returns" or "3: " in found)
    ends = re.findall(r"\r\n?|\n|$", text)
    changed = [lines[0], "zwei", "drei", lines[3]]
    if kind != "mixed":
        assert s.files[path] == "".join(line + end for line, end in zip(changed, ends, strict=False))
    assert re.split(r"\r\n?|\n", s.files[path])[:4] == changed
