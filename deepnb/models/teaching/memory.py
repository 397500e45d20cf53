"""Files and memory: list, read, write, remember, forget and note, through the tools."""

import re
from collections.abc import Generator, Sequence
from dataclasses import replace

from deepnb.gate import credentials
from deepnb.models.teaching import conversation
from deepnb.models.teaching.conversation import Conversation, Step, coverage, fact_text, first_match, short, words
from deepnb.models.teaching.talk import Script, Use, failure, says

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
LONGEST = 1000  # lines of a file that is changed
_OPENINGS = (
    (r"I (?:really )?like ", "The user likes "),
    *((f"I {verb} ", f"The user {verb}s ") for verb in ("prefer", "love", "hate", "use", "want", "need", "work", "live")),
    (r"I (?:don't|do not) ", "The user does not "),
    (r"I(?:'m| am) ", "The user is "),
    (r"I(?:'ve| have) ", "The user has "),
    (r"my ", "The user's "),
    (r"我的", "用户的"),
    (r"我(?=更?喜欢|偏好|爱|讨厌|用|使用|想|需要|在|住|是|叫|有|不)", "用户"),
)  # fmt: skip
_FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine|myself|I'm|I've)\b|我", re.IGNORECASE)


def list_files(c: Conversation, request: str) -> Script:
    named = first_match(request, r"(?<![\w:/.])(?P<path>/[^\s,;:!?\"'`“”，。；：！？、的下里]*)")
    folder = (named and named["path"].rstrip(".")) or "/"
    step = yield Use("ls", {"path": folder})
    paths = re.findall(r"^/.+$|(?<=['\"])/.*?(?=['\"][,\]])", step.result, re.MULTILINE)
    more = f"\n- (+{len(paths) - 40})" if len(paths) > 40 else ""
    listed = "\n".join(f"- {p}" for p in paths[:40]) + more
    return says(c, "files" if paths else "no files", v=folder, n=len(paths), k=listed)


def absolute(path: str) -> str:
    """Return a path as the file tools want it: from the root, no full stop at its end."""
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
    """Return (the file, the text to write)"""
    if (found := first_match(c.request, *_WRITE)) is None:
        return None
    text = found["text"].strip()
    quoted = re.fullmatch(r"```\w*\n(.*?)\n?```|\"(.*)\"|'(.*)'|“(.*)”|「(.*)」", text, re.DOTALL)
    return absolute(found["x"]), next((g for g in quoted.groups() if g is not None), text) if quoted else text


def write_file(c: Conversation, what: tuple[str, str]) -> Script:
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
    """Return (lines, offset of the next page) of a `read_file` result, without what is above the text of the file."""
    head = _HEADER.match(result)
    more = re.search(r"next offset (\d+)", head[0]) if head else None
    text = "" if result.startswith(_EMPTY) else result[head.end() if head else 0 :]
    return text.split("\n") if text or head else [], int(more[1]) if more else None


def edit(before: Sequence[str], after: Sequence[str]) -> tuple[str, str] | None:
    """Return (old_string, new_string), old found once in the text; None where only writing it anew will do.

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


# -- Remember, forget and note: what the user said, written down through the tools

POLITE = (
    r"^(?:\s|[,.!:;，。！：；]|hi\b|hello\b|hey\b|ok(?:ay)?\b|please\b|great\b|thanks\b|also\b|and\b|now\b|then\b|"
    r"(?:can|could|would|will) you\b|你好|您好|请|麻烦|帮我|你要|你|好的|另外|还有)*"
)
NOTE = (
    POLITE + r"(?:make a |take a )?note\b(?: down)?(?: that\b|\s*[:,])\s*(?P<x>.+)",
    POLITE + r"(?:add|put|write)(?: this)?(?: down)? (?:in(?:to)?|to) (?:today's|the daily|your daily) notes?\b(?: that\b)?\s*[:,]?\s*(?P<x>.+)",
    POLITE + r"(?:在今天的(?:日记|笔记)(?:里|中)?(?:写下|记下|写|记)|记到今天的(?:日记|笔记)里?|记下来?|记一下|记录一下)\s*[:：,，]?\s*(?P<x>.+)",
)  # fmt: skip
_REMEMBER = (
    POLITE + r"(?:i want you to |always |you should |do )?remember\b(?: that\b| this\b(?=\s*[:,]))?\s*[:,]?\s*(?P<x>.+)",
    POLITE + r"(?:(?:don't|do not|never) forget\b(?: that\b)?|from now on\b|in (?:the )?future\b)\s*[:,]?\s*(?P<x>.+)",
    POLITE + r"(?:不要忘记|不要忘了|别忘记|别忘了|牢记|记住|记得|从现在起|从今以后|以后)\s*[:：,，]?\s*(?P<x>.+)",
    *NOTE,
)  # fmt: skip
_QUESTION_START = r"^(?:what|which|when|where|who|how|why|anything|me\b|us\b|to\b)|^(?:.{0,4}(?:什么|多少|吗|哪))"
REMEMBER_FILE = (
    POLITE + r"(?:read|open|look at|look into)\b.{0,40}?" + PATH + r".{0,3}\b(?:and|then)\b.{0,20}\b(?:remember|memori[sz]e|note|keep)\b",
    POLITE + r"(?:remember|memori[sz]e|note) (?:what|all that|everything)\b.{0,20}?" + PATH + r".{0,3}\b(?:says|tells|holds)\b",
    POLITE + r"(?:读取|读一下|读|打开|查看|看一下|看看|看).{0,12}?" + PATH + r".{0,6}(?:记住|记下|记录)",
)  # fmt: skip
FORGET = (
    POLITE + r"forget\b(?: about\b| that\b)?\s*[:,]?\s*(?P<x>.+)",
    POLITE + r"(?:remove|delete|erase)\b (?P<x>.+?) from (?:your )?memory",
    POLITE + r"(?:忘记|忘掉|忘了|从记忆中删除|从记忆里删除)\s*[:：,，]?\s*(?P<x>.+)",
)
SHOWN = 12  # lines of memory quoted in one answer


def wants_remember(c: Conversation) -> str | None:
    """Return the fact to keep, in the user's own words."""
    found = first_match(c.request, *_REMEMBER)
    fact = found["x"].strip().rstrip("。.!！?？ \n") if found else ""
    asks = c.request.rstrip().endswith(("?", "？")) and not first_match(c.request, r"\b(?:can|could|would|will) you\b")
    return None if asks or not fact or first_match(fact, _QUESTION_START) else fact


def remember(c: Conversation, fact: str) -> Script:
    line = bullet(fact)
    if credentials(fact):
        return says(c, "credential")
    done, known = (says(c, key, v=c.memory_path, k=line) for key in ("remembered", "known"))
    return (yield from _keep(c, [line], done, known))


def remember_file(c: Conversation, source: str) -> Script:
    """Read a file, then add what it says to memory, line by line as it is there."""
    source = absolute(source)
    step = yield Use("read_file", {"file_path": source})
    said = [bullet(fact_text(line)) for line in parse(step.result)[0] if line.strip() and not line.startswith("#")]
    kept = list(dict.fromkeys(line for line in said if not credentials(line)))[:SHOWN]
    if not kept:
        return says(c, "no lines", v=source)
    done, known = (says(c, key, v=source, t=c.memory_path, k="\n".join(kept)) for key in ("kept lines", "known lines"))
    return (yield from _keep(c, kept, done, known))


def _keep(c: Conversation, lines: list[str], done: str, known: str) -> Script:
    path = c.memory_path
    calls = [s.args for s in c.turn if s.tool in ("write_file", "edit_file") and s.path == path and not s.failed]
    if calls:
        wrote = str(calls[-1].get("new_string") or calls[-1].get("content") or "")
        kept = set(lines) <= set(wrote.split("\n"))
        return done if kept else says(c, "edited call", v=path, k=short(wrote, 200))
    found = (yield from read(path)) if (yield from _exists(c)) else ()
    if isinstance(found, Step):
        return failure(c, found)
    there = {fact_text(line) for line in found}
    new = [line for line in lines if fact_text(line) not in there]
    end = max((i for i, line in enumerate(found, 1) if line.strip()), default=0)
    after = [*found[:end], *new, *found[end:]]
    return ((yield from _replace(c, path, found, after)) or done) if new else known


def _exists(c: Conversation) -> Generator[Use, Step, bool]:
    """Whether the memory file may be there. A prompt just made is believed; an older one may be out of date."""
    changed = any(m.source or any(a.args.get("file_path") == c.memory_path for a in m.tool_calls) for m in c.earlier)
    if c.memory or changed or any(step.tool == "read_file" for step in c.turn):
        return True
    if not c.earlier or "ls" not in c.tools:
        return bool(c.earlier)
    step = yield Use("ls", {"path": c.memory_path.rpartition("/")[0] or "/"})
    return c.memory_path in step.result


def _replace(c: Conversation, path: str, before: tuple[str, ...], after: list[str]) -> Script:
    """Bring the file to `after`; returns a sentence only where that failed."""
    if change := edit(before, after):
        args = {"file_path": path, "old_string": change[0], "new_string": change[1]}
        step = yield Use("edit_file", args, may_fail=True)
        if not step.failed:
            return ""
        if "not found" not in step.result.lower():
            return failure(c, step)
    yield Use("write_file", {"file_path": path, "content": "\n".join(after) + "\n"})
    return ""


def forget(c: Conversation, what: str) -> Script:
    """Take the lines that say it out of the file that has them."""
    default = next((f.path for f in c.memory if any(is_meant(line, what) for line in f.lines)), c.memory_path)
    path = next((s.path for s in c.turn if s.tool == "read_file"), default)
    found = yield from read(path)
    if isinstance(found, Step):
        return failure(c, found)
    gone = [line for line in found if is_meant(line, what)]
    if not gone:
        there = "".join(f"\n- {fact}" for fact in conversation.MemoryFile(path, found).facts[:SHOWN])
        return says(c, "no match", v=path, k=short(what, 60), x=there or " -")
    problem = yield from _replace(c, path, found, [line for line in found if line not in gone])
    return problem or says(c, "forgotten", v=path, k="\n".join(gone))


def is_meant(line: str, what: str) -> bool:
    """Return whether a line of memory is meant by the words of a request to forget."""
    line, asked = line.strip(), words(what)
    if not line or line.startswith("#"):
        return False
    needed = 0.6 if any(ord(ch) > 0x3400 for word in asked for ch in word) else 1.0
    return what.lower() in line.lower() or coverage(asked, line) >= needed


def note(c: Conversation, fact: str) -> Script:
    if credentials(fact):
        return says(c, "credential")
    text = fact_text(bullet(fact))
    step = yield Use("note", {"text": text})
    found = re.search(r"/memory/\S+?\.md", step.result)
    return says(c, "known note" if "already" in step.result else "noted", v=found[0] if found else "/memory", k=text)


def bullet(fact: str) -> str:
    """Return a fact as a line of memory: its own words; `I prefer` becomes `The user prefers` where that is safe."""
    text = " ".join(fact.split()).strip()
    for pattern, instead in _OPENINGS:
        if opening := re.match(pattern, text, re.IGNORECASE):
            rest = text[opening.end() :]
            return f"- {text if _FIRST_PERSON.search(rest) else instead + rest}"
    return f"- {text}"
