"""List, read and write files, keep a to-do list in one, and find the smallest edit from one text to another."""

import ast
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from deepnb.models.teaching.conversation import Conversation, Step
from deepnb.models.teaching.moves import Script, Use, failure
from deepnb.models.teaching.words import coverage, first_match, short, words

TODO = "/todo.md"
PATH = r"(?P<path>(?<![\w:/.])~?/[\w~][^\s,;:!?\"'`“”‘’，。；：！？、）)]*|\b[\w-]{1,80}(?:/[\w.-]{1,80}){0,8}\.(?:md|txt|csv|tsv|jsonl?|py|ipynb|ya?ml|toml|html?|xml|log)\b(?!/))"
_LIST = (
    r"\b(?:list|show(?: me)?|see)\b(?: me)?(?: all)?(?: the| your| my)? files\b",
    r"\b(?:what|which) files\b|\bls\b(?:\s+/|\s*$)",
    r"列出.{0,8}文件|(?:有|看看|显示).{0,4}(?:哪些|什么|所有)文件|文件列表",
)
_READ = (
    r"\b(?:read|show|open|cat|display|print|view)\b.{0,40}?" + PATH,
    r"\b(?:what(?:'s| is| does)|tell me what)\b.{0,40}?" + PATH,
    r"(?:读取|读一下|读|打开|查看|显示|看看|看一下).{0,12}?" + PATH,
    PATH + r".{0,8}(?:里有什么|的内容|写了什么|说了什么)",
)
_QUOTED = r"[\"'“‘「`]{1,3}(?P<text>.{1,20000})[\"'”’」`]{1,3}"
_WRITE = (
    r"\b(?:write|create|make|save)\b.{0,40}?" + PATH + r"['\"`]?\s*(?:,|that says|(?:with|containing)(?: the)?(?: content| text)?|saying)?\s*[:：,]\s*(?P<text>.+)",
    r"\b(?:write|create|make|save)\b.{0,40}?" + PATH + r"['\"`]?\s*(?:with|containing|that says|saying)(?: the)?(?: content| text)?\s+(?P<text>.+)",
    r"\b(?:save|write|put)\b\s*(?:the (?:line|text|words?)\s+)?" + _QUOTED + r"\s*(?:in)?to\b(?: the)?(?: file)?\s*[`'\"]?" + PATH,
    r"(?:写一?个?文件|写入|写到|写进|创建文件|新建文件|保存到|存到)\s*" + PATH + r"\s*(?:，?内容(?:是|为)?)?\s*[:：,，]\s*(?P<text>.+)",
    r"^\s*(?:请|帮我)?\s*把\s*" + _QUOTED + r"\s*(?:保存到|写到|写入|存到|写进)\s*" + PATH,
)  # fmt: skip
_MAKE_TODO = (
    r"\bto-?\s?do(?:s|[ -]?list)?\b[^:：\n]{0,30}[:：]\s*(?P<x>.+)",
    r"\b(?:make|write|create|start)\b.{0,20}\bto-?\s?do(?:[ -]?list)?\s+(?:for|with|of)\s+(?P<x>.+)",
    r"(?:待办清单|待办事项|待办|任务清单)[^:：\n]{0,10}[:：]\s*(?P<x>.+)",
)
_DONE = (
    r"\b(?:mark|tick off|check off)\s+[\"'“]?(?P<x>.{1,200}?)[\"'”]?\s+(?:as )?(?:done|finished|complete[d]?)\b",
    r"^\s*(?:tick|check) off\s+(?P<x>.+)",
    r"(?:^\s*(?:请)?(?:把|将)?|把|将)[“\"]?(?P<x>[^“”\"，。]{1,200}?)[”\"]?(?:标记为|标为|设为)(?:已)?完成",
)
_HEADER = re.compile(r"@@ .*? @@$")
_NEXT = re.compile(r"next offset (\d+)")
_NUMBERED = re.compile(r" *\d+\t")
_EMPTY = "System reminder: File exists but has empty contents"
PAGE = 1000
MAX_PAGES = 3


def wants_list(c: Conversation) -> str | None:
    if not first_match(c.request, *_LIST):
        return None
    folder = first_match(c.request, r"(?<![\w:/.])(?P<path>/[^\s,;:!?\"'`“”，。；：！？、的下里]*)")
    return folder["path"].rstrip(".") or "/" if folder else "/"


def list_files(c: Conversation, folder: str) -> Script:
    step = yield Use("ls", {"path": folder})
    paths = _paths(step.result)
    if not paths:
        return c.tell(f"There are no files in {folder}.", f"{folder} 下没有文件。")
    lines = "\n".join(f"- {p}" for p in paths[:40]) + (f"\n- (+{len(paths) - 40})" if len(paths) > 40 else "")
    return c.tell(
        f"`ls` gives {len(paths)} in {folder}:\n{lines}", f"`ls` 在 {folder} 下给出 {len(paths)} 项：\n{lines}"
    )


def _paths(result: str) -> list[str]:
    try:
        value = ast.literal_eval(result)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return [line for line in result.splitlines() if line.startswith("/")]
    return [str(p) for p in value] if isinstance(value, list) else []


def absolute(path: str) -> str:
    """A path as the file tools want it: from the root, no full stop at its end."""
    path = path.rstrip(".")
    return path if path.startswith(("/", "~")) else f"/{path}"


def wants_read(c: Conversation) -> str | None:
    found = first_match(c.request, *_READ)
    return absolute(found["path"]) if found else None


def read_file(c: Conversation, path: str) -> Script:
    step = yield Use("read_file", {"file_path": path})
    lines, more = parse(step.result)
    text = [short(line, 160) for line in lines if line.strip()]
    if not text:
        return c.tell(f"{path} is empty.", f"{path} 是空的。")
    quote = "\n".join(f"> {line}" for line in text[:8])
    cut = len(text) > 8 or more is not None
    return c.tell(
        f"{path} {'begins' if cut else 'says'}:\n{quote}", f"{path} {'的开头是' if cut else '的内容是'}：\n{quote}"
    )


def wants_write(c: Conversation) -> tuple[str, str] | None:
    found = first_match(c.request, *_WRITE)
    return (absolute(found["path"]), _unquoted(found["text"].strip())) if found else None


def _unquoted(text: str) -> str:
    quoted = re.fullmatch(r"```\w*\n(.*?)\n?```|\"(.*)\"|'(.*)'|“(.*)”|「(.*)」", text, re.DOTALL)
    return next((g for g in quoted.groups() if g is not None), text) if quoted else text


def write_file(c: Conversation, what: tuple[str, str]) -> Script:
    path, text = what
    yield Use("write_file", {"file_path": path, "content": text if text.endswith("\n") else text + "\n"})
    lines = len(text.splitlines())
    return c.tell(f"I wrote {lines} line{'s' * (lines != 1)} to {path}.", f"我写入了 {path}，共 {lines} 行。")


def wants_todo(c: Conversation) -> list[str] | None:
    found = first_match(c.request, *_MAKE_TODO)
    parts = re.split(r"[,;\n，；、]", found["x"].strip()) if found else []
    parts = [*parts[:-1], *re.split(r"\s+and\s+", parts[-1])] if parts else []
    items = [re.sub(r"^(?:[-*]|\d+[.)]|and\b|和)\s*(?:\[ \])?\s*", "", p.strip()).rstrip(".。") for p in parts]
    return [i for i in items if i] or None


def write_todo(c: Conversation, items: list[str]) -> Script:
    yield Use("write_file", {"file_path": TODO, "content": "".join(f"- [ ] {i}\n" for i in items)})
    n = len(items)
    return c.tell(
        f'I wrote a to-do list of {n} item{"s" * (n != 1)} to {TODO}. Say "mark {items[0]} as done" to tick one off.',
        f"我把 {n} 项待办写入了 {TODO}。可以说“把{items[0]}标记为完成”。",
    )


def wants_done(c: Conversation) -> str | None:
    found = first_match(c.request, *_DONE)
    return found["x"].strip().strip("\"'“”") or None if found else None


def tick_off(c: Conversation, item: str) -> Script:
    found = yield from read(TODO)
    if found.problem:
        return failure(c, found.problem)
    best = max((coverage(words(item), line) for line in found.lines), default=0.0)
    todo = [(i, line) for i, line in enumerate(found.lines) if "[ ]" in line]
    at = next((i for i, line in todo if item.lower() in line.lower() or 0 < best == coverage(words(item), line)), None)
    if at is None:
        return c.tell(f'No open item in {TODO} matches "{short(item)}".', f"{TODO} 里没有与“{short(item)}”相符的待办。")
    done = found.lines[at].replace("[ ]", "[x]", 1)
    after = [*found.lines[:at], done, *found.lines[at + 1 :]]
    if change := edit(found.lines, after):
        yield Use("edit_file", {"file_path": TODO, "old_string": change[0], "new_string": change[1]})
    return c.tell(f"Done in {TODO}: {done}", f"已在 {TODO} 标记：{done}")


@dataclass(frozen=True)
class Read:
    """What `read_file` gave of a file."""

    lines: tuple[str, ...] = ()
    problem: Step | None = None
    """Why it can't be used, but for a missing file."""


def read(path: str) -> Generator[Use, Step, Read]:
    """A script's way to read a file, page by page; all of it or a problem."""
    lines: list[str] = []
    args: dict[str, str | int] = {"file_path": path, "limit": PAGE}
    for _ in range(MAX_PAGES):
        step = yield Use("read_file", args, may_fail=True)
        if step.failed:
            missing = "not found" in step.result.lower() or "no such file" in step.result.lower()
            return Read() if missing else Read(problem=step)
        page, offset = parse(step.result)
        lines += page
        if offset is None:
            return Read(tuple(lines))
        args = {"file_path": path, "offset": offset, "limit": PAGE}
    too_long = f"the file has more than {MAX_PAGES * PAGE} lines, and I stopped reading there"
    return Read(problem=Step("read_file", args, too_long, failed=True))


def parse(result: str) -> tuple[list[str], int | None]:
    """(lines, offset of the next page) of a `read_file` result, header and line numbers taken off."""
    if result.startswith(_EMPTY):
        return [], None
    lines = result.split("\n")
    head = next((i for i, line in enumerate(lines[:6]) if _HEADER.match(line)), None)
    if head is None:
        numbered = all(_NUMBERED.match(line) for line in lines)
        return [_NUMBERED.sub("", line, count=1) for line in lines] if numbered else lines, None
    more = _NEXT.search(lines[head])
    return lines[head + 1 :], int(more.group(1)) if more else None


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
        whole = not start and not end
        if any(old) and (new or whole) and _times(text, "\n".join(old)) == 1:
            return "\n".join(old), "\n".join(new)
        if start > 0:
            start -= 1
        elif end > 0:
            end -= 1
        else:
            return None


def _times(text: str, part: str) -> int:
    """How often `part` occurs, overlaps counted; stops at two."""
    at = text.find(part)
    return 0 if at < 0 else 1 + (text.find(part, at + 1) >= 0)
