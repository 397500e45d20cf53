"""AGENTS.md files of directories are shown with the first file that is worked on below them."""

from deepnb import Session
from tests.support.scripted import Scripted, call


def session(*answers) -> Session:
    s = Session(model=Scripted(answers=[*answers, "done"]))
    s.files["/AGENTS.md"] = "- at the root\n"
    s.files["/src/AGENTS.md"] = "- rules of src\n"
    s.files["/src/deep/AGENTS.md"] = "- rules of deep\n"
    s.files["/src/deep/a.py"] = "a = 1\n"
    s.files["/src/b.py"] = "b = 1\n"
    s.files["/c.py"] = "c = 1\n"
    return s


def results(s: Session) -> list[str]:
    return [m.text for m in s.snapshot.messages if m.role == "tool"]


def test_the_nearest_one_is_shown_and_no_other():
    s = session(call("read_file", file_path="/src/deep/a.py"))
    s.run("p")
    (shown,) = results(s)
    assert "a = 1" in shown
    assert '<agents_md path="/src/deep/AGENTS.md">\n- rules of deep\n</agents_md>' in shown
    assert "rules of src" not in shown


def test_it_is_shown_once():
    edit = call("edit_file", id="c2", file_path="/src/b.py", old_string="1", new_string="2")
    s = session(call("read_file", file_path="/src/b.py"), edit)
    s.run("p")
    first, second = results(s)
    assert "rules of src" in first
    assert "rules of src" not in second


def test_a_source_of_memory_is_not_shown_again_nor_a_file_with_itself():
    s = session(call("read_file", file_path="/c.py"), call("read_file", id="c2", file_path="/src/AGENTS.md"))
    s.run("p")
    assert not any("<agents_md" in r for r in results(s))


def test_a_failed_call_shows_none():
    s = session(call("read_file", file_path="/src/none.py"))
    s.run("p")
    assert "<agents_md" not in results(s)[0]
