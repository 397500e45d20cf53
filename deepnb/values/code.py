"""Code as somebody reads it before it runs: what can't be seen in it, and what it reaches for beyond Python's values.

A reader's help, not a fence: code can call anything by other names.
"""

import ast
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

CODE_TOOLS: Mapping[str, str] = {"run_python": "code"}
"""The tools that run code in the user's namespace, each with the argument that holds it."""

PROPOSAL_TOOLS: Mapping[str, str] = {"propose_cell": "code"}
"""Those that put code before the user and never run it."""

LONGEST = 20_000
"""Characters of code that a user can be asked to read at once."""

_SEEN = frozenset("\n\t ")
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Characters that show nothing and whose category does not say so."""
_WORD = re.compile(r"\w+")
_ADDRESS = re.compile(r"(?:https?|ftp|s3|gs|ssh|wss?)://")


def _by_name(**names: str) -> Mapping[str, frozenset[str]]:
    return {what.replace("_", " "): frozenset(text.split()) for what, text in names.items()}


_MODULES = _by_name(
    network="""socket ssl http urllib urllib3 requests httpx aiohttp ftplib smtplib imaplib poplib telnetlib xmlrpc websocket
    websockets paramiko boto3 botocore webbrowser socketserver grpc""",
    processes="subprocess multiprocessing pty pexpect signal ctypes cffi",
    files="shutil tempfile pathlib glob zipfile tarfile fileinput mmap sqlite3 dbm shelve pickle",
)
"""What a module is for, by its top name."""

_NAMES = _by_name(
    processes="system popen Popen check_output check_call run_line_magic run_cell_magic run_cell getoutput",
    files="""open unlink rmdir rmtree chmod write_text write_bytes read_text read_bytes mkdir makedirs symlink_to copytree
    to_csv to_excel to_json to_parquet to_pickle to_sql to_feather to_hdf read_csv read_excel read_json read_parquet
    read_pickle read_sql savefig savetxt loadtxt genfromtxt listdir scandir""",
    network="urlopen urlretrieve create_connection",
    environment_variables="getenv putenv unsetenv environ",
)
"""What functions, methods and attributes of these names reach for."""

_OF_OS = _by_name(
    files="remove rename renames replace removedirs truncate link symlink walk chown stat",
    processes="fork forkpty kill killpg abort _exit nice",
)
"""What attributes of `os` reach for, beside those of `_NAMES`."""

_BUILT_IN_TEXT = "eval exec compile __import__ globals locals vars getattr setattr delattr"
_BUILT_IN = frozenset(_BUILT_IN_TEXT.split())
"""Built-in functions that run or find what can't be read in the code."""


@dataclass(frozen=True)
class CodeReview:
    """What a reader of code is told of it."""

    code: str
    signs: tuple[tuple[int, str, str], ...]
    """(line from 1, character, `invisible characters`): those that a reader does not see, or takes for others."""
    reaches: Mapping[str, tuple[int, ...]]
    """What it reaches for -> the lines where; `shell commands` and `magics` are those that begin with ! and %."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """`network: lines 3, 7`, a line each; hidden characters first."""
        kinds: dict[str, list[int]] = {}
        for line, _, what in self.signs:
            kinds.setdefault(what, []).append(line)
        found = {**{what: tuple(dict.fromkeys(lines)) for what, lines in kinds.items()}, **self.reaches}
        return tuple(
            f"{what}: line{'s' * (len(lines) > 1)} {', '.join(map(str, lines[:8]))}"
            + (f" and {len(lines) - 8} more" if len(lines) > 8 else "")
            for what, lines in found.items()
        )

    @property
    def lines(self) -> tuple[tuple[tuple[str, bool], ...], ...]:
        """Each line as pieces of (text, whether it stands for a character that can't be seen or trusted)."""
        strange = {character for _, character, _ in self.signs}
        return tuple(tuple(_pieces(line, strange)) for line in self.code.split("\n"))


def review(code: str) -> CodeReview:
    return CodeReview(code, tuple(_signs(code)), {what: tuple(sorted(lines)) for what, lines in _reached(code).items()})


def shown(pieces: tuple[tuple[str, bool], ...]) -> str:
    return "".join(text for text, _ in pieces)


def _pieces(line: str, strange: set[str]) -> Iterator[tuple[str, bool]]:
    for is_strange, characters in groupby(line, strange.__contains__):
        if not is_strange:
            yield "".join(characters), False
            continue
        for character in characters:
            mark = f"⟨U+{ord(character):04X}⟩"
            is_letter = character.isalnum() and character not in _INVISIBLE
            yield (f"{character}{mark}" if is_letter else mark), True


def _signs(code: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(code.split("\n"), 1):
        mixed = {i for found in _WORD.finditer(line) if _is_mixed(found[0]) for i in range(*found.span())}
        for i, character in enumerate(line):
            if character in _SEEN or (character.isascii() and character.isprintable()):
                continue
            category = unicodedata.category(character)
            selects = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
            if unicodedata.bidirectional(character) in ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"):
                yield number, character, "changes the direction of the text"
            elif category in ("Cf", "Cc", "Cs", "Co", "Cn", "Zl", "Zp", "Zs") or character in _INVISIBLE or selects:
                yield number, character, "invisible characters"
            elif i in mixed and not character.isascii() and category[0] in "LMN":
                yield number, character, "letters that look like others"


def _is_mixed(word: str) -> bool:
    """Return whether a word holds ASCII letters beside those of a script that can look like them, or is another under NFKC."""
    if word.isascii():
        return False
    if unicodedata.normalize("NFKC", word) != unicodedata.normalize("NFC", word):
        return True
    scripts = {unicodedata.name(c, "").partition(" ")[0] for c in word if c.isalpha()}
    if "LATIN" in scripts and scripts - {"LATIN", "MICRO"}:
        return True
    # A whole word of Cyrillic or Greek that could be read as ASCII.
    return bool(scripts & {"CYRILLIC", "GREEK"}) and all(c in _TWINS for c in word if c.isalpha())


_TWINS = frozenset("авеһіјӏорсухѕԁԛԝьАВЕІЈКМНОРСТУХЅԌԛԜονΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")
"""Letters of Cyrillic and Greek that most fonts draw as ASCII ones."""


def _reached(code: str) -> dict[str, set[int]]:
    found = defaultdict[str, set[int]](set)
    lines = code.split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if magic := _CELL_MAGIC.match(lines[first]):
        found["magics"].add(first + 1)
        if magic[1] not in _TAKE_PYTHON:
            body = range(first + 2, len(lines) + 1) or (first + 1,)
            found["shell commands" if magic[1] in _SHELLS else UNREAD].update(body)
            return found
        lines[first] = "pass"
    tree, unread = _tree(lines)
    for at, text in unread.items():
        found["shell commands" if _SHELL.match(text) else "magics" if _MAGIC.match(text) else UNREAD].add(at + 1)
    for node in ast.walk(tree):
        for what in _of_node(node):
            found[what].add(getattr(node, "lineno", 1))
    return found


UNREAD = "code or names that can't be read here"

_CELL_MAGIC = re.compile(r"\s*%%(!|\w+)")  # %%bash
_TAKE_PYTHON = frozenset(["time", "timeit", "capture", "prun"])
"""Cell magics whose body is Python."""
_SHELLS = frozenset(["!", "bash", "sh", "script", "system", "sx", "cmd"])
_SHELL = re.compile(r"\s*!|[^=!<>]*=\s*!")  # !ls, or d["k"] = !ls
_MAGIC = re.compile(r"\s*%|[^=!<>]*=\s*%")  # %run a.py, or x = %pwd
_ROUNDS = 200
"""Lines that are looked for one by one; code with more that are no Python is told of as a whole."""


def _tree(lines: list[str]) -> tuple[ast.AST, dict[int, str]]:
    """Return the tree of the lines that are Python, and the others by their number from 0: IPython's own, and mistakes."""
    left, unread = list(lines), dict[int, str]()
    for _ in range(_ROUNDS):
        try:
            return ast.parse("\n".join(left)), unread
        except SyntaxError as error:
            at = min(max(error.lineno or 1, 1), len(left)) - 1
        except (ValueError, RecursionError, MemoryError):
            break
        while at and not left[at].strip():  # the line above begins what is missing here
            at -= 1
        more = True
        while more and at < len(left):
            more = lines[at].rstrip().endswith("\\")  # the line goes on in the next one
            indent = left[at][: len(left[at]) - len(left[at].lstrip())]
            left[at] = "" if at in unread else f"{indent}pass"
            unread[at] = lines[at]
            at += 1
    return ast.Module([], []), dict(enumerate(lines))


def _of_node(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        module = (node.module or "").partition(".")[0] if isinstance(node, ast.ImportFrom) else ""
        imported = {alias.name.partition(".")[0] for alias in node.names}
        modules = {module} if module else imported
        yield from (what for what, names in _MODULES.items() if names & modules)
        if module:
            yield from (what for what, names in _NAMES.items() if names & imported)
            yield from (what for what, names in _OF_OS.items() if module == "os" and names & imported)
    elif isinstance(node, ast.Attribute):
        top = node.value.id if isinstance(node.value, ast.Name) else ""
        yield from (what for what, names in _MODULES.items() if top in names)
        yield from (what for what, names in _NAMES.items() if node.attr in names)
        if top == "os":
            yield from (what for what, names in _OF_OS.items() if node.attr in names)
            yield from ("processes",) * node.attr.startswith(("exec", "spawn"))
    elif isinstance(node, ast.Name):
        yield from (what for what, names in _NAMES.items() if node.id in names)
        if node.id in _BUILT_IN:
            yield UNREAD
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _ADDRESS.match(node.value):
        yield "network"
