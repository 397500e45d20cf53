"""What a reader of code is told of it: each character that hides, and what the code reaches for."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from deepnb.values.code import review
from tests.support.tables import every_row


@every_row(("code", "what"), [
    ("x = 1 # \u202e gnp", "changes the direction of the text: line 1"),
    ("a\u200bb = 1", "invisible characters: line 1"), ("x = 'a\u00a0b'", "invisible characters: line 1"),
    ("x = 1\nif x:\u3164\n    pass", "invisible characters: line 2"),
    ("dаta = 1", "letters that look like others: line 1"),  # a Cyrillic a
    ("ехес = print", "letters that look like others: line 1"),  # all Cyrillic
    ("ｅval('1')", "letters that look like others: line 1"), ("x = '\U000e0041'", "invisible characters: line 1"),
    ("x = 'a\ufe0f'", "invisible characters: line 1"), ("x = 1\rimport os", "invisible characters: line 1"),
    ("x\x0c= 1\n\n\ny\x00 = 2", "invisible characters: lines 1, 4"),
])  # fmt: skip
def test_a_character_that_hides_is_named(code: str, what: str) -> None:
    assert what in review(code).warnings and any(odd for line in review(code).lines for _, odd in line)


@every_row("code", [
    "größe = 1", "x = 'naïve café'", "数据 = [1]", "π = 3.14", "print('Привет, мир')", "α = β = 1", "x = '👍'",
    "é = 1\n\ty = 2",
])  # fmt: skip
def test_letters_of_other_languages_are_not(code: str) -> None:
    assert review(code).signs == ()


REACHES = {
    "network": ["import requests", "from urllib.request import urlopen", "pd.read_csv('https://example.org/a.csv')"],
    "processes": [*("subprocess.run(['ls'])", "import os\nos.system('ls')", "from os import system as s"),
                  *("os.execv('/bin/sh', [])", "get_ipython().run_line_magic('cd', '/')")],
    "files": [*("open('a.txt').read()", "df.to_csv('out.csv')", "import shutil", "os.remove('a')",
                "from os import remove")],
    "environment variables": ["os.environ['HOME']"],
    "code or names that can't be read here": ["eval('1')", "f = exec"],
    "shell commands": ["!ls", "files = !ls", "for i in x:\n    !echo {i}"],
    "magics": ["%run other.py"],
}  # fmt: skip


@every_row(("code", "what"), [(code, what) for what, codes in REACHES.items() for code in codes])
def test_what_it_reaches_for_is_named(code: str, what: str) -> None:
    assert what in review(code).reaches


@every_row("code", [
    "df.groupby('region').units.sum()", "df.rename(columns={'a': 'b'})", "items.remove(3)", "re.compile('a')",
    "df.eval('a + b')", "x = {'open': 1}", "json.loads('1')", "totals.plot.bar()", "m % 3", "s.replace('a', 'b')",
])  # fmt: skip
def test_plain_code_reaches_for_nothing(code: str) -> None:
    assert review(code).reaches == {}


@given(st.text(max_size=200))
def test_every_character_is_on_the_card(code: str) -> None:
    """What is not shown as itself is shown by its number: from the card the very code can be told."""
    rebuilt = []
    for line in review(code).lines:
        for text, odd in line:
            number = text.partition("⟨U+")[2].rstrip("⟩")
            rebuilt.append(chr(int(number, 16)) if odd else text)
        rebuilt.append("\n")
    assert "".join(rebuilt)[:-1] == code


@given(st.characters(categories=("Cf", "Cc", "Zl", "Zp", "Co", "Cn")).filter(lambda c: c not in "\n\t"))
def test_no_character_that_shows_nothing_is_missed(character: str) -> None:
    assert review(f"x = 1{character}").signs, unicodedata.name(character, repr(character))


def test_code_that_does_not_parse_is_still_shown() -> None:
    told = review("def f(:\n  !ls\n")
    assert "shell commands" in told.reaches and len(told.lines) == 3


READ = "import os\nos.remove('x')\n"
CANT = "code or names that can't be read here"


NOTED = {
    CANT: [*("/print 1", "?os", "??os", "os?", "os.path??", ",print a b", ";print a b", "*int*?", ">>> print(1)"),
           *("x = = 1", "/os.system ls", ",shutil.rmtree a")],
    "magics": ["%timeit?", "d['k'] = %pwd", "%%time", "%cd .."],
    "shell commands": [*('d["k"] = !ls', "d['it'], b.c = !echo it's", "a.b: list = !ls", "!!ls",
                         "!echo ( \"unclosed '''"),
                       "!rm -rf \\\n    data"],
}  # fmt: skip


@every_row(("line", "what"), [(code, what) for what, codes in NOTED.items() for code in codes])
def test_a_line_of_ipython_is_noted_and_silences_no_other(line: str, what: str) -> None:
    rows = line.count("\n") + 1
    for code, own, removed in (
        (f"{READ}{line}\n", 3, 2), (f"{line}\n{READ}", 1, rows + 2), (f"if a:\n    {line}\n{READ}", 2, rows + 3),
        (f"s = '''\n!ls\n?x\n'''\n{line}\n{READ}", 5, 4 + rows + 2),
    ):  # fmt: skip
        if line.startswith("%%") and own != 1:
            continue
        reaches = review(code).reaches
        assert own in reaches[what], (code, reaches)
        assert removed in reaches["files"], (code, reaches)
        noted = {n for name, at in reaches.items() if name in (CANT, "shell commands") for n in at}
        assert not {2, 3} & noted - {own, removed, own + 1}


@every_row(("code", "reaches"), [
    ("%%bash\nrm -rf data\necho 'it", {"magics": (1,), "shell commands": (2, 3)}),
    ("\n%%writefile a.py\nimport os\n", {"magics": (2,), CANT: (3, 4)}),
    ("%%timeit\nos.remove('x')\n?x", {"magics": (1,), "files": (2,), CANT: (3,)}),
    ("x = 'a\\\n%b'\ny = (1\n% 2)", {}), ("'''\n%%bash\n!ls\n'''", {}),
])  # fmt: skip
def test_what_a_cell_magic_takes_and_what_only_looks_like_one(code, reaches) -> None:
    assert review(code).reaches == reaches


PIECES = ["?x", "x?", "!ls", "if a:", "    y", "'''", "(", "d = !a", "%b", "\\", "os.remove(1)", "\t"]


@given(st.lists(st.sampled_from(PIECES)))
def test_no_code_hangs_or_breaks_it(lines) -> None:
    assert len(review("\n".join(lines)).lines) == max(1, len(lines))
