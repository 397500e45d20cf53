"""Memory taken from the user's disk and put there: through the guard, never silently over another text."""

from pathlib import Path

from deepnb import Session
from tests.support.tables import every_row, refused

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7xY9zA1cE3gI5"


def test_a_file_is_loaded_whole_comes_back_by_revert_and_is_refused_with_a_credential(tmp_path: Path):
    s = Session()
    s.memory.add("likes tea")
    (tmp_path / "a.md").write_bytes("\ufeff- one\n- 茶\n".encode())
    assert s.memory.load(tmp_path / "a.md") == "/AGENTS.md" and s.files["/AGENTS.md"] == "- one\n- 茶\n"
    assert s.memory.load(str(tmp_path / "a.md"), "/memory/b.md") == "/memory/b.md"
    s.memory.revert(2)  # as its number stands in the table of the log
    assert s.files["/AGENTS.md"] == "- likes tea\n"
    s = Session()
    (tmp_path / "a.md").write_text(f"- one\n- token: {TOKEN}\n")
    line = r"not written to /AGENTS.md: it holds what looks like a GitHub token \(line 2\)"
    refused(line, s.memory.load, tmp_path / "a.md")
    assert "/AGENTS.md" not in s.files


@every_row(
    ("content", "told"), [(b"\xff\xfe", "is not UTF-8 text"), (b"x" * 10_000_001, "more than 10 MB"), (None, "no file")]
)
def test_what_cannot_be_loaded_is_one_line(tmp_path: Path, content: bytes | None, told: str):
    if content is not None:
        (tmp_path / "a.md").write_bytes(content)
    refused(told, Session().memory.load, tmp_path / "a.md")


def test_a_text_that_is_not_known_is_not_written_over(tmp_path: Path):
    s = Session()
    s.memory.add("likes tea")
    s.memory.add("Ana", "/memory/team.md")
    s.memory.save(tmp_path / "out")
    s.memory.add("likes cake")
    s.memory.add("Bo", "/memory/team.md")
    (tmp_path / "out" / "memory" / "team.md").write_text("- changed by hand\n")
    refused(r"team.md has changed on disk: session.memory.save", s.memory.save, tmp_path / "out")
    assert (tmp_path / "out" / "AGENTS.md").read_text() == "- likes tea\n", "nothing is written by halves"
    s.memory.save(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "memory" / "team.md").read_text() == "- Ana\n- Bo\n"
    s.memory.add("Cy", "/memory/team.md")
    s.memory.save(tmp_path / "out")
    assert "Cy" in (tmp_path / "out" / "memory" / "team.md").read_text()


def test_one_file_under_another_name(tmp_path: Path):
    s = Session()
    s.memory.add("Ana", "/memory/team.md")
    s.memory.save(tmp_path / "t.md", "/memory/team.md")
    assert (tmp_path / "t.md").read_text() == "- Ana\n"
    (tmp_path / "x.md").write_bytes(b"\xff")
    refused("has changed on disk", s.memory.save, tmp_path / "x.md", "/memory/team.md")
    refused(r"no file /AGENTS\.md", s.memory.save, tmp_path / "y.md")
    (tmp_path / "file").write_text("")
    refused(r"can't be (written|read)", s.memory.save, tmp_path / "file" / "below", overwrite=True)


def test_all_of_memory_is_saved_below_a_directory(tmp_path: Path):
    refused("no memory to save yet", Session().memory.save, tmp_path / "out")
    s = Session()
    s.memory.add("likes tea")
    s.memory.add("Ana", "/memory/team.md")
    saved = s.memory.save(tmp_path / "out")
    assert [p for p, _ in saved] == ["/AGENTS.md", "/memory/team.md"]
    found = {str(f.relative_to(tmp_path / "out")): f.read_text() for f in (tmp_path / "out").rglob("*.md")}
    assert found == {"AGENTS.md": "- likes tea\n", "memory/team.md": "- Ana\n"}


def test_a_mended_conflict_is_written_as_it_was_mended(tmp_path: Path):
    a, b = Session(), Session()
    for s in (a, b):
        s.memory.keep(tmp_path / "kept")
    a.memory.write("/AGENTS.md", "- due on Fridays\n")
    theirs = b.memory.read("/AGENTS.md")
    a.memory.write("/AGENTS.md", "- due on Mondays\n")
    b.memory.write("/AGENTS.md", "- due on Tuesdays\n", base=theirs)
    assert a.memory.read("/AGENTS.md") == "- due on Mondays\n- due on Tuesdays\n"
    a.memory.write("/AGENTS.md", "- due on Mondays\n")
    assert b.memory.read("/AGENTS.md") == "- due on Mondays\n"
