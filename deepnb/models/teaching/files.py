"""List, read and write files, and find the smallest edit from one text to another."""

import re
from collections.abc import Generator, Sequence
from dataclasses import replace

from deepnb.models.teaching.conversation import Conversation, Step
from deepnb.models.teaching.moves import Script, Use
from deepnb.models.teaching.talk import says
from deepnb.models.teaching.words import first_match, short

PATH = r"(?P<x>(?<![\w:/.])~?/[\w~][^\s,;:!?\"'`“”‘’，。；：！？、）)]*|\b[\w-]{1,80}(?:/[\w.-]{1,80}){0,8}\.(?:md|txt|csv|tsv|jsonl?|py|ipynb|ya?ml|toml|html?|xml|log)\b(?!/))"
LIST = (
    r"\b(?:list|show(?: me)?|see)\b(?: me)?(?: all)?(?: the| your| my)? files\b",
    r"\b(?:what|which) files\b|\bls\b(?:\s+/|\s*$)",
    r"列出.{0,8}文件|(?:有|看看|显示).{0,4}(?:哪些|什么|所有)文件|文件列表",
)
READ = (
    r"\b(?:read|show|open|cat|display|print|view)\b.{0,40}?" + PATH,
    r"\b(?:what(?:'s| is| does)|tell me what)\b.{0,40}?" + PATH,
    r"(?:读取|读一下|读|打开|查看|显示|看看|看一下).{0,12}?" + PATH,
    PATH + r".{0,8}(?:里有什么|的内容|写了什么|说了什么)",
)
_QUOTED = r"[\"'“‘「`]{1,3}(?P<text>.{1,20000})[\"'”’」`]{1,3}"
_MAKE = r"\b(?:write|create|make|save)\b.{0,40}?" + PATH + r"['\"`]?\s*"
_WRITE = (
    _MAKE + r"(?:,|that says|(?:with|containing)(?: the)?(?: content| text)?|saying)?\s*[:：,]\s*(?P<text>.+)",
    _MAKE + r"(?:with|containing|that says|saying)(?: the)?(?: content| text)?\s+(?P<text>.+)",
    r"\b(?:save|write|put)\b\s*(?:the (?:line|text|words?)\s+)?" + _QUOTED + r"\s*(?:in)?to\b(?: the)?(?: file)?\s*[`'\"]?" + PATH,
    r"(?:写一?个?文件|写入|写到|写进|创建文件|新建文件|保存到|存到)\s*" + PATH + r"\s*(?:，?内容(?:是|为)?)?\s*[:：,，]\s*(?P<text>.+)",
    r"^\s*(?:请|帮我)?\s*把\s*" + _QUOTED + r"\s*(?:保存到|写到|写入|存到|写进)\s*" + PATH,
)  # fmt: skip
_HEADER = re.compile(r"(?:.*\n){0,5}?@@ .*? @@(?:\n|$)")
_EMPTY = "System reminder: File exists but has empty contents"
LONGEST = 1000
"""Lines of a file that is changed."""


def list_files(c: Conversation, request: str) -> Script:
    """List the folder that is named, else the root."""
    named = first_match(request, r"(?<![\w:/.])(?P<path>/[^\s,;:!?\"'`“”，。；：！？、的下里]*)")
    folder = (named and named["path"].rstrip(".")) or "/"
    step = yield Use("ls", {"path": folder})
    paths = re.findall(r"^/.+$|(?<=['\"])/.*?(?=['\"][,\]])", step.result, re.MULTILINE)
    more = f"\n- (+{len(paths) - 40})" if len(paths) > 40 else ""
    listed = "\n".join(f"- {p}" for p in paths[:40]) + more
    return says(c, "files" if paths else "no files", v=folder, n=len(paths), k=listed)


def absolute(path: str) -> str:
    """A path as the file tools want it: from the root, no full stop at its end."""
    path = path.rstrip(".")
    return path if path.startswith(("/", "~")) else f"/{path}"


def read_file(c: Conversation, path: str) -> Script:
    """Quote how a file begins."""
    path = absolute(path)
    step = yield Use("read_file", {"file_path": path})
    lines, more = parse(step.result)
    text = [f"> {short(line, 160)}" for line in lines if line.strip()]
    key = "empty" if not text else "file begins" if len(text) > 8 or more is not None else "file"
    return says(c, key, v=path, k="\n".join(text[:8]))


def wants_write(c: Conversation) -> tuple[str, str] | None:
    """(the file, the text to write)"""
    if (found := first_match(c.request, *_WRITE)) is None:
        return None
    text = found["text"].strip()
    quoted = re.fullmatch(r"```\w*\n(.*?)\n?```|\"(.*)\"|'(.*)'|“(.*)”|「(.*)」", text, re.DOTALL)
    return absolute(found["x"]), next((g for g in quoted.groups() if g is not None), text) if quoted else text


def write_file(c: Conversation, what: tuple[str, str]) -> Script:
    """Write a text as a file of its own."""
    path, text = what
    yield Use("write_file", {"file_path": path, "content": text if text.endswith("\n") else text + "\n"})
    lines = len(text.splitlines())
    return says(c, "wrote", v=path, n=lines, k="s" * (lines != 1))


def read(path: str) -> Generator[Use, Step, tuple[str, ...] | Step]:
    """A script's way to read a whole file: its lines, none of a missing one; the step if it can't be used."""
    step = yield Use("read_file", {"file_path": path, "limit": LONGEST}, may_fail=True)
    lines, more = parse(step.result)
    if step.failed:
        return () if re.search("not found|no such file", step.result, re.IGNORECASE) else step
    too_long = f"the file has more than {LONGEST} lines, and I stopped reading there"
    return tuple(lines) if more is None else replace(step, result=too_long, failed=True)


def parse(result: str) -> tuple[list[str], int | None]:
    """(lines, offset of the next page) of a `read_file` result, without what is above the text of the file."""
    head = _HEADER.match(result)
    more = re.search(r"next offset (\d+)", head[0]) if head else None
    text = "" if result.startswith(_EMPTY) else result[head.end() if head else 0 :]
    return text.split("\n") if text or head else [], int(more[1]) if more else None


def edit(before: Sequence[str], after: Sequence[str]) -> tuple[str, str] | None:
    """(old_string, new_string), old found once in the text; None where only writing it anew will do.

    Grows by whole lines until it is found once, and takes a neighbour along with a line that goes.
    """
    start, end = 0, 0
    shared = min(len(before), len(after))
    while start < shared and before[start] == after[start]:
        start += 1
    while end < shared - start and before[-1 - end] == after[-1 - end]:
        end += 1
    text = "\n".join(before)
    while True:
        old, new = before[start : len(before) - end], after[start : len(after) - end]
        part = "\n".join(old)
        if any(old) and (new or not (start or end)) and text.find(part) == text.rfind(part):
            return part, "\n".join(new)
        if not (start or end):
            return None
        start, end = (start - 1, end) if start else (0, end - 1)
