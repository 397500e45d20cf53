"""Many processes and threads on one index: nothing is lost, nothing breaks."""

import subprocess
import sys
import threading
from pathlib import Path

from deepnb.search import Index
from deepnb.search.database import Database

WRITER = """
import sys
from deepnb.search import Index
path, who, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
index = Index(path)
for n in range(count):
    index.update({f"{who}/{n}.md": f"# {who}\\n\\nEntry {who}{n}x of the log, on bees and tea."})
    if n % 7 == 0:
        index.update({"shared.md": f"The shared note, by {who} at {n}, on kingfishers."})
    assert index.search(f"{who}{n}x", 1)[0].path == f"{who}/{n}.md"
print(index.notices)
"""


def writing(path: Path, who: str, count: int, code: str = WRITER) -> subprocess.Popen[str]:
    command, pipe = [sys.executable, "-c", code, str(path), who, str(count)], subprocess.PIPE
    writer = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    return writer


def begin(writer: subprocess.Popen[str]) -> None:
    assert writer.stdin is not None
    writer.stdin.write("\n")
    writer.stdin.flush()


def whole(path: Path) -> Database:
    db = Database(str(path))
    assert db.value("PRAGMA integrity_check") == "ok"
    db.rows("INSERT INTO words (words) VALUES ('integrity-check')")
    return db


def test_processes_that_update_one_index_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    count, names = 40, ("anna", "ben", "cleo")
    writers = [writing(path, who, count) for who in names]
    for writer in writers:
        begin(writer)
    for writer in writers:
        out, err = writer.communicate(timeout=240)
        assert (writer.returncode, out.strip(), err) == (0, "[]", "")
    index = Index(path)
    every = {f"{who}/{n}.md" for who in names for n in range(count)} | {"shared.md"}
    assert set(index.files()) == every
    for name in sorted(every - {"shared.md"}):
        who, n = name.removesuffix(".md").split("/")
        assert index.search(f"{who}{n}x", 1)[0].path == name
    index.close()
    assert whole(path).value("SELECT count(*) FROM files") == len(every)


def test_an_open_index_has_the_words_that_another_process_wrote(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    index = Index(path)
    index.update({"a.md": "bees"})
    assert index.search("bee", legs=["grams"])[0].path == "a.md"
    assert index.search("photographies", legs=["grams"]) == []
    code = "import sys; from deepnb.search import Index; Index(sys.argv[1]).update({'a.md': 'tea and fotografies'})"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    assert index.search("photographies", legs=["grams"])[0].path == "a.md"
    assert index.search("bees", legs=["words"]) == index.search("bees", legs=["grams"]) == []


def test_threads_may_use_one_index_at_once(tmp_path: Path) -> None:
    index = Index(tmp_path / "i.db")
    wrong: list[object] = []

    def work(who: int) -> None:
        try:
            for n in range(15):
                index.update({f"{who}/{n}.md": f"entry t{who}n{n}x"})
                found = index.search(f"t{who}n{n}x", 1)
                if not found or found[0].path != f"{who}/{n}.md":
                    wrong.append((who, n, found))
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and len(index.files()) == 90


def test_a_writer_that_is_killed_leaves_a_whole_index(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    code = WRITER.replace("print(index.notices)", "")
    for _ in range(3):
        writer = writing(path, "anna", 100_000, code)
        begin(writer)
        watcher = Index(path)
        before = len(watcher.files())
        for _ in range(400):
            if len(watcher.files()) > before + 5:
                break
            threading.Event().wait(0.05)
        writer.kill()
        writer.wait()
        assert watcher.search("anna3x", 1)[0].path == "anna/3.md"
        assert watcher.notices == []
        watcher.close()
        whole(path).close()
