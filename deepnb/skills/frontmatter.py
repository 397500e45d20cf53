"""The YAML between the fences of a SKILL.md, read strictly: each value with its line, no trick that YAML knows.

Values are text as it stands, whatever type YAML would make of it. Anchors, aliases, merge keys, tags, keys
that stand twice and deep nesting are refused, so that a header costs no more than its length.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import yaml
from yaml.nodes import MappingNode, ScalarNode, SequenceNode

from deepnb.values.agent import Finding

HEADER = 65_536  # characters between the fences
DEEPEST = 20
MOST = 2_000  # keys and values: PyYAML takes some 0.1 ms for each

_STR = "tag:yaml.org,2002:str"
_NULL = "tag:yaml.org,2002:null"
_FENCE = re.compile(r"---[ \t]*")
_CLOSING = re.compile(r"^---[ \t]*$", re.MULTILINE)
_FIELD = re.compile(r"\s*[\w-]+:(?: (?:(?!: ).)*)?")
QUOTE = "put the whole value in quotes"


class Broken(Exception):
    """What is wrong, and what to write instead; the line counts from 1."""

    def __init__(self, line: int, what: str, do: str) -> None:
        super().__init__(what)
        self.line, self.what, self.do = line, what, do


@dataclass(frozen=True)
class Text:
    """A value: its text, whether YAML would take it for another type, and whether it says nothing."""

    line: int
    text: str
    other: bool = False
    nothing: bool = False


@dataclass(frozen=True)
class Items:
    line: int
    items: Sequence[Value]


@dataclass(frozen=True)
class Fields:
    line: int
    fields: Mapping[str, Value]
    lines: Mapping[str, int]  # the line of each key
    colons: tuple[int, ...] = ()  # lines of texts that YAML takes in quotes alone, because of a colon in them


Value = Text | Items | Fields


@dataclass
class Findings:
    """What there is to fix in a file, gathered while it is checked."""

    path: str
    found: list[Finding] = field(default_factory=list)

    def broken(self, line: int, what: str, do: str) -> None:
        """Add what has to be fixed before the file can be used."""
        self.found.append(Finding(self.path, line, one_line(what), one_line(do)))

    def note(self, line: int, what: str, do: str) -> None:
        """Add what should be fixed, though the file can be used."""
        self.found.append(Finding(self.path, line, one_line(what), one_line(do), broken=False))

    def read(self, data: bytes) -> tuple[Fields, str] | None:
        """Return the fields and the body of the file; None where it can't be read. A text may lack its quotes."""
        try:
            header, body = read(data)
        except Broken as wrong:
            self.broken(wrong.line, wrong.what, wrong.do)
            return None
        for line in header.colons:
            self.note(line, "a value contains a colon and a space", QUOTE)
        return header, body

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of them, by line."""
        return tuple(sorted(self.found, key=lambda f: f.line))

    @property
    def problem(self) -> str | None:
        """Why the file can't be used; None where it can."""
        return next((str(f) for f in self.findings if f.broken), None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be fixed, a line each."""
        return tuple(str(f) for f in self.findings if not f.broken)


def one_line(text: str, most: int = 300) -> str:
    """Return a text on one line, without what can't be printed, as YAML takes it."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:most]


def quoted(text: str) -> str:
    """Return a text on one line as YAML has it in quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def read(data: bytes) -> tuple[Fields, str]:
    """Return the fields and the body of a SKILL.md; raise `Broken` for one that can't be read."""
    if not data:
        raise Broken(1, "the file is empty", "%skills new NAME creates one from a template")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        if "\n" in good and not _FENCE.fullmatch(_universal(good).split("\n")[0]):
            text = good  # no skill at all
        else:
            line = _universal(good).count("\n") + 1
            raise Broken(line, f"byte {error.start + 1:,} is not UTF-8", "save the file as UTF-8") from None
    if text.startswith("\ufeff"):
        raise Broken(1, "the file begins with a byte order mark", "save it as UTF-8 without BOM")
    text = _universal(text)
    first = text.partition("\n")[0]
    if not _FENCE.fullmatch(first):
        do = "begin the file with ---, name: and description: below it, then ---"
        raise Broken(1, "the first line is not ---", do)
    if (end := _CLOSING.search(text, len(first) + 1)) is None:
        raise Broken(1, "the frontmatter is not closed", "add a line --- after its last field")
    header = text[len(first) + 1 : end.start()]
    if len(header) > HEADER:
        what = f"the frontmatter has {len(header):,} characters; the limit is {HEADER:,}"
        raise Broken(1, what, "move long text into the body")
    return _fields(header), text[end.end() :].strip("\n")


def body_of(text: str) -> str:
    """Return a SKILL.md without its frontmatter; whole where that can't be read."""
    try:
        return read(text.encode("utf-8", "surrogatepass"))[1]
    except Broken:
        return text


def _universal(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _fields(header: str, colons: tuple[int, ...] = ()) -> Fields:
    try:
        if (node := _Loader(header).get_single_node()) is None:
            return Fields(1, {}, {})
        value = _value(node)
    except yaml.reader.ReaderError as error:
        line = header.count("\n", 0, error.position) + 2
        raise Broken(line, f"the character U+{int(error.character):04X} is not allowed in YAML", "remove it") from None
    except yaml.MarkedYAMLError as error:
        mark, found = error.problem_mark, None
        if mark is not None and "mapping values are not allowed" in str(error.problem):
            # the field in whose text YAML met a colon, which other programs read as text
            found = next((one for one in _PLAIN.finditer(header) if one.start() <= mark.index <= one.end()), None)
        if found is None or any(map(_FIELD.fullmatch, found[2].split("\n")[1:])) or len(colons) == _COLONS:
            raise _mistake(error, header) from None
        text = quoted(" ".join(found[2].split())) + "\n" * found[2].count("\n")  # each line stays where it is
        line = header.count("\n", 0, found.start()) + 2
        return _fields(header[: found.start(2)] + text + header[found.end(2) :], (*colons, line))
    if isinstance(value, Fields):
        return replace(value, colons=colons)
    kind = "a list" if isinstance(value, Items) else "text"
    raise Broken(value.line, f"the frontmatter is {kind}", "write name: and description:, one field per line")


_COLONS = 8  # how many texts of one file are read as if they had quotes
_PLAIN = re.compile(r"^([\w-]+): +(?![\"'|>\[{&*!])(.*(?:\n[ \t]+\S.*)*)$", re.MULTILINE)
"""A field whose text has no quotes: `description: Use when: asked`, and the lines that it goes on in."""


class _Loader(yaml.SafeLoader):
    """Composes nodes, and stops at what a header has no need of."""

    def __init__(self, header: str) -> None:
        super().__init__(header)
        self._depth = self._count = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()
        line = event.start_mark.line + 2
        if isinstance(event, yaml.AliasEvent):
            raise Broken(line, f"*{event.anchor} is read as a YAML alias", QUOTE)
        if event.anchor is not None:
            raise Broken(line, f"&{event.anchor} is read as a YAML anchor", QUOTE)
        if event.tag is not None and event.tag not in ("!", _STR):
            raise Broken(line, f"{event.tag} is read as a YAML tag", QUOTE)
        if self._depth >= DEEPEST and isinstance(event, yaml.CollectionStartEvent):
            raise Broken(line, f"nested more than {DEEPEST} levels deep", "move it into the body")
        self._count += 1
        if self._count > MOST:
            raise Broken(line, f"more than {MOST:,} keys and values", "move some of it into the body")
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


def _value(node: Any) -> Value:
    line = node.start_mark.line + 2
    if isinstance(node, ScalarNode):
        plain = node.style is None and node.tag != _STR
        return Text(line, node.value, other=plain and node.tag != _NULL, nothing=plain and node.tag == _NULL)
    if isinstance(node, SequenceNode):
        return Items(line, tuple(map(_value, node.value)))
    assert isinstance(node, MappingNode)
    fields: dict[str, Value] = {}
    lines: dict[str, int] = {}
    for key, value in node.value:
        at = key.start_mark.line + 2
        if not isinstance(key, ScalarNode):
            raise Broken(at, "a key is a list or a mapping", "use a word as the key")
        if key.tag == "tag:yaml.org,2002:merge":
            raise Broken(at, "<< merges in other fields", "write the fields themselves")
        if key.value in fields:
            raise Broken(at, f"{key.value[:80]} appears twice", "remove one of the two")
        fields[key.value], lines[key.value] = _value(value), at
    return Fields(line, fields, lines)


def _mistake(error: yaml.MarkedYAMLError, header: str) -> Broken:
    mark = error.problem_mark or error.context_mark
    line = mark.line if mark else 0
    lines = header.split("\n")
    at = lines[line] if line < len(lines) else ""
    said = " ".join(str(error.problem or "it can't be read").split())
    if "mapping values are not allowed" in said and _FIELD.fullmatch(at):
        do = "start each field at the beginning of its line, with a space after the colon"
        return Broken(line + 2, "not valid YAML: the value above continues here", do)
    if "mapping values are not allowed" in said:
        return Broken(line + 2, "a value contains a colon and a space", QUOTE)
    if "'\\t'" in said or re.match(r" *\t", at):
        return Broken(line + 2, "a tab where YAML needs spaces", "indent with spaces")
    if lines[0].startswith("%"):
        return Broken(2, f"{lines[0][:40]} is a YAML directive, which a skill can't have", "remove the line")
    if trick := next((t for t in ("alias", "anchor") if f"scanning an {t}" in str(error.context)), None):
        return Broken(line + 2, f"{'*' if trick == 'alias' else '&'} begins a YAML {trick}", QUOTE)
    if "cannot start any token" in said:
        return Broken(line + 2, f"not valid YAML: {said}", QUOTE)
    if error.context_mark is not None and "while parsing a flow" not in str(error.context) and line >= len(lines) - 1:
        line = error.context_mark.line  # what was never closed, rather than where the header ends
    return Broken(
        line + 2, f"not valid YAML: {said}", "write one field per line, as name: value; use quotes if in doubt"
    )
