"""Skills of a session: made, shown, disclosed, added, switched off, pinned and read; a broken one stops nothing."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deepnb.engine.request import message_text
from deepnb.magics.pictures import skills_picture
from deepnb.skills import packages as packages_room
from deepnb.skills.rules import BYTES
from deepnb.values import tokenizer
from deepnb.values.agent import Skill, SkillRead
from deepnb.values.turn import Notice, ToolEnded
from tests.support.scripted import call, prompt, session, walked
from tests.support.tables import every_row, refused


def test_new_list_show_write_and_what_is_disclosed():
    s = session()
    assert s.skills.list_skills() == () and s.skills.list().to_numpy().tolist() == []
    path = s.skills.new("csv-report", 'Says "what" a CSV\nholds: all of it.')
    assert path == "/skills/csv-report/SKILL.md"
    skill = Skill("csv-report", 'Says "what" a CSV holds: all of it.', path, source="skills")
    assert s.skills.list_skills() == (skill,) and s.skills.show("csv-report") == (skill, s.files[path])
    columns = ["name", "description", "state", "read_in", "read_whole", "source", "path", "overrides", "problem"]
    row = ["csv-report", skill.description, "on", (), False, "skills", path, "", ""]
    assert s.skills.list()[columns].to_numpy().tolist() == [row]
    refused("a skill 'csv-report' already exists", s.skills.new, "csv-report")
    s.skills.write("csv-report", text("csv-report", "Anew."))
    assert s.skills.show("csv-report")[0].description == "Anew."
    line = r"no skill 'other' \(skills: csv-report\): session.skills.new\('other'\) creates it"
    refused(line, s.skills.show, "other")
    s = session()
    s.run("a")
    assert "skill" not in prompt(s).lower().replace("agent_skills", "skill") and s.budget().parts["skills"] == 0
    s.skills.write("csv-report", text("csv-report"))
    s.run("b")
    assert "- **csv-report**: Reports. -> read_file `/skills/csv-report/SKILL.md`" in prompt(s)
    assert "THE BODY" not in prompt(s) and s.budget().parts["skills"] > 0
    assert s.snapshot.skills == (Skill("csv-report", "Reports.", "/skills/csv-report/SKILL.md"),)


@every_row("broken", ["no frontmatter at all", "", b"---\nname: broken\ndescription: caf\xe9\n---\n"])
def test_a_broken_skill_is_listed_and_stops_nothing(broken):
    s = session()
    s.skills.write("good", text("good", "A good one."))
    s.backend.upload_files([("/skills/broken/SKILL.md", broken if isinstance(broken, bytes) else broken.encode())])
    s.files["/skills/folder/SKILL.md/a.txt"] = s.files["/skills/notes/a.txt"] = "x"
    assert s.run("a").text == "ok" and "A good one." in prompt(s)
    good, bad, folder = s.skills.list_skills()
    assert (good.name, good.problem) == ("good", None)
    assert bad.path == "/skills/broken/SKILL.md" and bad.path in str(bad.problem) and "\n" not in str(bad.problem)
    assert "is_directory" in str(folder.problem)


def test_a_later_source_overrides_an_earlier_one_unless_it_is_broken():
    s = session(skills=("/base/", "/mine"))
    base, mine = "/base/report/SKILL.md", "/mine/report/SKILL.md"
    s.files[base], s.files[mine] = text("report", "The base."), "broken"
    s.run("a")
    assert "The base." in prompt(s)
    assert [(k.source, bool(k.problem)) for k in s.skills.list_skills()] == [("base", False), ("mine", True)]
    s.files[mine] = text("report", "My own.")
    s.files["/mine/report/more.md"] = s.files["/mine-not/x.md"] = "x"
    s.files["/mine/reporter/SKILL.md"] = text("reporter")
    assert s.skills.path("report") == mine
    assert s.skills.list_skills()[0] == Skill("report", "My own.", mine, source="mine", overrides=(base,))
    s.run("b")
    assert "My own." in prompt(s) and "The base." not in prompt(s)
    is_shared = s.workspace.current.is_shared
    assert is_shared(mine) and not is_shared("/mine-not/x.md")
    assert s.skills.remove("report").description == "My own." and "/mine/report/more.md" not in s.files
    assert (s.skills.show("report")[0].description, s.skills.show("reporter")[0].name) == ("The base.", "reporter")
    refused("no skill 'other'", s.skills.remove, "other")
    s.skills.write("bad", "no")
    s.skills.remove("bad")
    assert "bad" not in set(s.skills.list()["name"])


PATH = "/skills/{}/SKILL.md"


def text(name: str, description: str = "Reports.", body: str = "THE BODY") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n"


def on_disk(root: Path, *names: str) -> Path:
    for name in names:
        (root / name / "scripts").mkdir(parents=True)
        (root / name / "SKILL.md").write_text(text(name))
        (root / name / "scripts" / "run.py").write_text("print(1)\n")
        (root / name / "logo.png").write_bytes(b"\x89PNG\xff")
    return root


def zipped(path: Path, files: Mapping[Any, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def test_100_skills_cost_at_most_40_tokens_each_beyond_name_and_description():
    s = session()
    words = "Explores a table, says what stands out, and writes a plot of it"
    names = [f"report-{word}-{i}" for i, word in enumerate(["sales", "weather", "sensor", "patient", "tax"] * 20)]
    for name in names:
        s.skills.write(name, text(name, f"{words} for {name}."))
    s.run("a")
    block = prompt(s).partition("<agent_skills>")[2].partition("</agent_skills>")[0]
    for count in (s.count, tokenizer.count):
        own = sum(count(f"{name} {words} for {name}.") for name in names)
        assert 0 < (count(block) - own) / 100 <= 40
    assert len([line for line in block.splitlines() if line.startswith("- **")]) == 100


def test_one_that_is_switched_off_costs_nothing_in_any_thread_and_comes_back():
    s = walked(session(), "skills.new one", "skills.new two")
    for _ in range(2):
        s.skills.disable("one")
    assert s.files["/skills/.disabled"] == "one\n"
    s.run("a")
    assert "**one**" not in prompt(s) and "**two**" in prompt(s)
    assert dict(zip(*s.skills.list()[["name", "state"]].to_numpy().T, strict=True)) == {"one": "off", "two": "on"}
    assert s.skills.show("one")[0].enabled is False
    s.files["/skills/.disabled"] = "# not now\n\n one \ntwo\nunknown\n"
    walked(s, "new other", "run b")
    assert "agent_skills" not in prompt(s)
    for name in ("one", "two", "two"):
        s.skills.enable(name)
    assert s.files["/skills/.disabled"] == "# not now\n\nunknown\n"
    s.run("c")
    assert "**one**" in prompt(s)
    s.skills.disable("one")
    s.files["/skills/.disabled"] = "one\n"
    s.skills.enable("one")
    assert "/skills/.disabled" not in s.files
    s.skills.write("bad", "no")
    refused("bad can't be used", s.skills.disable, "bad")


@every_row("how", ["one", "several", "file", "zip", "zip of one", "zip in a folder"])
def test_add_copies_skills_with_all_their_files(how, tmp_path):
    root = on_disk(tmp_path / "all", "one", "two")
    (root / "one" / ".git").mkdir()
    (root / "one" / ".git" / "config").write_text("x")
    files = {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    what = {"one": root / "one", "several": root, "file": root / "one" / "SKILL.md"}.get(how)
    if how == "zip":
        what = zipped(tmp_path / "all.zip", files)
    elif how == "zip of one":
        what = zipped(tmp_path / "x.zip", {p.removeprefix("one/"): d for p, d in files.items() if p.startswith("one/")})
    elif how == "zip in a folder":
        what = zipped(tmp_path / "x.zip", {f"skills-main/{p}": d for p, d in files.items()})
    s = session()
    names = s.skills.add(str(what))
    assert names == (("one", "two") if how in ("several", "zip", "zip in a folder") else ("one",))
    for name in names:
        assert s.files[f"/skills/{name}/scripts/run.py"] == "print(1)\n"
        assert s.backend.download_files([f"/skills/{name}/logo.png"])[0].content == b"\x89PNG\xff"
    assert not [p for p in s.files if ".git" in p]
    s.run("a")
    assert "**one**" in prompt(s)


def test_add_again_needs_leave_and_then_replaces_the_whole_directory(tmp_path):
    root = on_disk(tmp_path, "one")
    s = session()
    s.skills.add(root / "one")
    (root / "one" / "scripts" / "run.py").unlink()
    (root / "one" / "SKILL.md").write_text(text("one", "Anew."))
    refused(r"a skill 'one' already exists: session.skills.add", s.skills.add, root / "one")
    assert s.skills.show("one")[0].description == "Reports."
    s.skills.add(root / "one", replace=True)
    assert s.skills.show("one")[0].description == "Anew." and "/skills/one/scripts/run.py" not in s.files
    (root / "one" / "SKILL.md").write_text("no")
    refused(r"not added: .*one/SKILL.md:1: the first line is not ---", s.skills.add, root / "one", replace=True)


def test_many_skills_cost_no_more_than_their_budget_and_the_others_can_be_found():
    s = session(call("glob", pattern="/skills/*120*/SKILL.md"), "done", "again")
    for n in range(130):
        words = f"Reports on table {n}. " + "Use it when asked. " * 12
        s.files[f"/skills/skill-{n}/SKILL.md"] = text(f"skill-{n}", words)
    s.run("go")
    listed = s.skills.listed()
    assert 20 < len(listed) < 130 and 7_700 < s.skills.list()["tokens"].sum() <= 8_000
    assert s.budget().parts["skills"] <= 8_200
    more = f"({130 - len(listed)} more skills are not listed here: glob /skills/*WORD*/SKILL.md finds one"
    assert [line.startswith(more) for line in prompt(s).splitlines() if "are not listed here" in line] == [True]
    (notice,) = [e.text for e in s.turns[0].events if isinstance(e, Notice)]
    assert notice == (
        f"{len(listed)} of 130 skills are listed in requests, the others have to be searched for: %skills disable NAME makes room"
    )
    assert next(e.result for e in s.turns[0].events if isinstance(e, ToolEnded)) == "['/skills/skill-120/SKILL.md']"
    s.run("again")
    assert not [e for e in s.turns[1].events if isinstance(e, Notice)]
    rows = {row.name: row.cost for row in skills_picture(s.skills).rows}
    assert {name for name, cost in rows.items() if cost.endswith("tokens")} == {path.split("/")[2] for path in listed}
    assert sum(cost == "not listed: the budget is spent" for cost in rows.values()) == 130 - len(listed)


@every_row("name", ["../up/SKILL.md", "/etc/SKILL.md", "one/../../SKILL.md", "c:/one/SKILL.md", "one\\SKILL.md"])
def test_names_in_a_zip_that_leave_it_are_refused(tmp_path, name):
    s = session()
    refused("points outside", s.skills.add, zipped(tmp_path / "x.zip", {"one/SKILL.md": text("one"), name: "x"}))
    assert dict(s.files) == {}


def test_hostile_zips(tmp_path):
    link = zipfile.ZipInfo("one/link")
    link.external_attr = 0o120777 << 16
    zips = {
        "link": zipped(tmp_path / "link.zip", {"one/SKILL.md": text("one"), link: "/etc/passwd"}),
        "bomb": zipped(tmp_path / "bomb.zip", {"one/SKILL.md": text("one"), "one/big": b"0" * (BYTES + 1)}),
        "many": zipped(tmp_path / "many.zip", {"one/SKILL.md": text("one"), **{f"one/{i}": "x" for i in range(1000)}}),
    }
    (tmp_path / "no.zip").write_bytes(b"PK\x03\x04 not a zip")
    broken = zips["link"].read_bytes()
    (tmp_path / "cut.zip").write_bytes(broken[:40] + b"\0" * 20 + broken[60:])
    s = session()
    for name, says in (
        ("link.zip", "one/link is a link"), ("bomb.zip", "one/big has more than 10,485,760 bytes"),
        ("many.zip", "more than 1,000 files"), ("no.zip", "neither a directory nor a zip"), ("cut.zip", "one/link is a link"),
        ("gone", "there is no"), ("", "contains no SKILL.md"),
    ):  # fmt: skip
        refused(says, s.skills.add, tmp_path / name)
    assert dict(s.files) == {}


def test_a_skill_md_that_is_a_link_out_of_its_directory_or_has_small_letters_is_listed_and_not_read(tmp_path):
    on_disk(tmp_path / "secret", "stolen")
    for name in ("linked", "lower"):
        (tmp_path / "root" / name).mkdir(parents=True)
    (tmp_path / "root" / "linked" / "SKILL.md").symlink_to(tmp_path / "secret" / "stolen" / "SKILL.md")
    (tmp_path / "root" / "lower" / "skill.md").write_text(text("lower"))
    s = session()
    s.mount("/skills", f"disk:{tmp_path / 'root'}")
    s.run("a")
    told = {skill.directory: str(skill.problem) for skill in s.skills.list_skills()}
    assert "SKILL.md is a link that points outside its directory, and is not followed" in told.pop("linked")
    assert "it is called skill.md" in told.pop("lower") and told == {} and "stolen" not in prompt(s)


def test_labels_tell_sources_apart():
    s = session(skills=("/a/skills/", "/b/skills/", "/c"))
    for folder in ("/a/skills", "/b/skills", "/c"):
        name = folder[1]
        s.files[f"{folder}/{name}/SKILL.md"] = text(name)
    assert [k.source for k in s.skills.list_skills()] == ["a/skills", "b/skills", "c"]


def test_a_pinned_skill_goes_before_the_next_prompt_of_its_thread_once_and_what_can_not_be_pinned():
    s = session()
    s.skills.write("one", text("one"))
    s.skills.new("two")
    assert s.skills.pin("one") > 0
    walked(s, "skills.pin one", "skills.pin two", "skills.unpin two")
    refused("two is not pinned", s.skills.unpin, "two")
    assert s.skills.pinned == ("one",)
    s.new("other")
    assert s.skills.pinned == ()
    s.run("aside")
    assert "<skill name" not in str(s.options.model.requests[-1])
    s.switch("main")
    s.skills.write("one", text("one", body="A NEWER BODY"))
    s.run("a")
    assert s.skills.pinned == ()
    said = [message_text(m) for m in s.options.model.requests[-1][1:]]
    assert said == ['<skill name="one" path="/skills/one/SKILL.md">\nA NEWER BODY\n</skill>', "a"]
    s.run("b")
    assert str(s.options.model.requests[-1]).count("A NEWER BODY") == 1
    assert s.skills.reads()[PATH.format("one")] == SkillRead((1,), 0, 6, pinned=True) and s.turns[0].prompt == "a"
    s = session()
    s.skills.write("bad", "no")
    refused(r"bad can't be pinned: /skills/bad/SKILL\.md:1", s.skills.pin, "bad")
    walked(s, "skills.new one", "skills.disable one")
    refused(r"one can't be pinned: it is disabled: session.skills.enable\('one'\)", s.skills.pin, "one")
    walked(s, "skills.enable one", "skills.pin one", "skills.remove one")
    assert s.run("a").text == "ok"


def test_which_skills_were_read_when_and_whether_whole():
    long, short = PATH.format("long"), PATH.format("short")
    s = session(
        *(call("read_file", file_path=long), "one"),
        *(call("read_file", file_path=long, offset=100, limit=100), call("read_file", id="c2", file_path=short), "two"),
        *(call("read_file", file_path=PATH.format("none")), "three"),
        *(call("read_file", file_path=long), "four"),
    )
    s.skills.write("long", text("long", body="\n".join(f"line {i}" for i in range(150))))
    s.skills.write("short", text("short"))
    assert s.skills.reads() == {}
    s.run("a")
    assert s.skills.reads() == {long: SkillRead((1,), 100, 155)} and not s.skills.reads()[long].whole
    s.run("b")
    assert s.skills.reads() == {long: SkillRead((1, 2), 155, 155), short: SkillRead((2,), 6, 6)}
    assert s.skills.reads()[long].whole
    s.run("c")
    s.skills.write("short", text("short", "Another."))
    s.skills.write("long", text("long", body="\n".join("abc" * 80)))
    assert s.skills.reads()[short].changed
    s.run("d")
    read = s.skills.reads()[long]
    assert (read.turns, read.lines, read.whole) == ((1, 2, 4), 100, False), "of a changed file it counts anew"
    s.new("other")
    assert s.skills.reads() == {}


def test_validate_all_one_a_file_a_directory_and_a_zip(tmp_path):
    s = session()
    s.skills.write("one", text("one"))
    s.skills.write("two", text("Three"))
    s.skills.write("four", "---\nname: four\ndescription: x\nversion: 1\n---\n")
    rows = s.skills.validate()[["file", "line", "grade"]].to_numpy().tolist()
    assert sorted(rows) == [[PATH.format("four"), 4, "note"], [PATH.format("two"), 2, "broken"]]
    assert len(s.skills.validate("one")) == 0
    assert len(s.skills.validate("two")) == len(s.skills.validate(PATH.format("two"))) == 1
    root = on_disk(tmp_path / "all", "good", "bad")
    (root / "bad" / "SKILL.md").write_text("no")
    assert s.skills.validate(root)[["file", "line"]].to_numpy().tolist() == [[f"{root}/bad/SKILL.md", 1]]
    assert len(s.skills.validate(str(root / "good" / "SKILL.md"))) == 0
    found = s.skills.validate(zipped(tmp_path / "x.zip", {"SKILL.md": text("B")}))
    assert found["what"].tolist() == ["the name is not all lowercase"]


def test_the_bundled_skills_are_good_and_say_when_to_use_them():
    found = packages_room.bundled()
    assert set(found) == {"explore-dataframe", "clear-plot", "tidy-notebook", "explain-error"}
    for package in found.values():
        checked = package.checked
        assert checked.findings == () and "Use it when" in checked.skill.description
        assert checked.skill.license == "MIT"
        assert len(package.files["SKILL.md"].splitlines()) <= 100  # read whole by one read_file
