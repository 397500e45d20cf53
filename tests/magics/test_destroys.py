"""No line that the product shows, typed as it stands, deletes a file of the user's."""

import re
from pathlib import Path

from tests.support.shells import Shell
from tests.support.tables import every_row

RULES = "# Mine\n\n" + "- a rule of mine that took an evening to find\n" * 20
SKILL = "---\nname: tidy\ndescription: Tidy a table. Use it for tables.\n---\nDrop empty rows.\n"
AGENT = "---\nname: critic\ndescription: Finds mistakes.\n---\nFind mistakes.\n"
COMMAND = re.compile(r"%(?:agent|memory|skills)(?: [^\s,;:()]+)+")


def on_disk(place: Path) -> dict[str, str]:
    return {str(p.relative_to(place)): p.read_text() for p in sorted(place.rglob("*.md")) if ".deepnb" not in str(p)}


@every_row("begin", ["%memory sources add {0}/mine.md", "%memory sources add project", "%memory keep {0}/kept"])
def test_what_is_named_to_take_an_item_out_leaves_the_disk_as_it_is(shell, tmp_path, monkeypatch, begin):
    place = tmp_path / begin.split()[1]
    (place / "kept").mkdir(parents=True)
    for name in ("mine.md", "AGENTS.md", "kept/AGENTS.md"):
        (place / name).write_text(RULES)
    (place / "pyproject.toml").touch()
    monkeypatch.chdir(place)
    shell.ok("%agent new")
    shell.run(begin.format(place))
    shell.ok("%agent hi")
    before = on_disk(place)
    shown = shell.ok("%agent budget --items")
    typed = [one for one in COMMAND.findall(shown) if "budget" not in one]
    for line in typed:
        shell.run(line)
        assert on_disk(place) == before, line
    if begin.startswith("%memory sources"):
        assert any(line.startswith("%memory sources remove /") for line in typed), typed
    for line in [line for line in typed if line.startswith("%memory sources remove")]:
        shell.run(line)


@every_row("line, gone", [
    ("%memory rm /AGENTS.md", "AGENTS.md"), ("%skills remove tidy", "skills/tidy/SKILL.md"),
    ("%agent subagents remove critic", "agents/critic.md"),
])  # fmt: skip
def test_what_is_on_the_users_disk_is_removed_after_a_second_word(shell: Shell, tmp_path: Path, line, gone) -> None:
    place = tmp_path / gone.replace("/", "-")
    for name, text in (("AGENTS.md", RULES), ("skills/tidy/SKILL.md", SKILL), ("agents/critic.md", AGENT)):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    shell.ok(f"%memory keep {place}")
    before = on_disk(place)
    said = shell.fails(line)
    assert on_disk(place) == before and "--yes" in said
    shell.ok(said.rpartition(": ")[2].partition(" deletes")[0])
    assert set(before) - set(on_disk(place)) == {gone}


def test_in_the_kernel_it_is_removed_at_once_and_can_be_restored(shell: Shell) -> None:
    shell.ok("%memory add I like tea")
    shell.ok("%memory rm /AGENTS.md")
    assert "likes tea" not in shell.ok("%memory")
