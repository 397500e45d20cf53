"""Remember, forget, recall: through the file tools, and out of what the prompt says."""

import re
from collections.abc import Generator, Iterator

from deepnb.core.anchors import CLOSE, OPEN
from deepnb.core.messages import BROUGHT_BACK, SUMMARY
from deepnb.models.teaching.code import ask
from deepnb.models.teaching.conversation import Conversation, MemoryFile, Step, fact_text, summarized_facts
from deepnb.models.teaching.files import PATH, Read, absolute, edit, parse, read
from deepnb.models.teaching.moves import Script, Use, failure
from deepnb.models.teaching.tables import listed_tables, mentioned
from deepnb.models.teaching.words import coverage, first_match, short, words

POLITE = (
    r"^(?:\s|[,.!:;，。！：；]|hi\b|hello\b|hey\b|ok(?:ay)?\b|please\b|great\b|thanks\b|also\b|and\b|now\b|then\b|"
    r"你好|您好|请|麻烦|帮我|你要|你|好的|另外|还有)*"
)
_REMEMBER = (
    POLITE + r"(?:can|could|would|will) you (?:please )?(?:remember|note)\b(?: that\b|[:,])?\s*(?P<x>.+)",
    POLITE
    + r"(?:i want you to |always |you should |do )?remember\b(?: that\b| this\b(?=\s*[:,]))?\s*[:,]?\s*(?P<x>.+)",
    POLITE + r"(?:don't|do not|never) forget\b(?: that\b)?\s*[:,]?\s*(?P<x>.+)",
    POLITE + r"(?:take |make a )?note\b(?: that\b|\s*:)\s*(?P<x>.+)",
    POLITE + r"(?:write|put) (?:this )?(?:down )?(?:in(?:to)?|to) (?:your )?memory\b(?: that\b)?\s*[:,]?\s*(?P<x>.+)",
    POLITE + r"(?:from now on|in (?:the )?future)\b\s*[:,]?\s*(?P<x>.+)",
    POLITE + r"(?:不要忘记|不要忘了|别忘记|别忘了|牢记|记住|记得|记下来?|记一下|记录一下)\s*[:：,，]?\s*(?P<x>.+)",
    POLITE + r"(?:从现在起|从今以后|以后)\s*[:：,，]?\s*(?P<x>.+)",
)
_FILE = r"`?/?(?P<path>(?:AGENTS|SOUL|IDENTITY|USER|TOOLS|MEMORY)\.md)`?"
_ADD = (
    POLITE + r"(?:add|append|write|put|note)\b(?: down)? (?:in|into|to)\b(?: the file)? " + _FILE + r"(?:\s+that\b|\s*[:,])\s*(?P<x>.+)",
    POLITE + r"(?:add|append|write|put|note)\b(?: down)?\s+(?:that\b\s*)?[\"'“]?(?P<x>.+?)[\"'”]? (?:in|into|to)\b(?: the file)? " + _FILE,
    POLITE + r"(?:在|往)\s*" + _FILE + r"\s*(?:里面?|中)?\s*(?:加上|添加|加一条|写上|写下|记下|记上)\s*[:：,，]?\s*(?P<x>.+)",
    POLITE + r"把\s*[“\"]?(?P<x>.+?)[”\"]?\s*(?:加到|添加到|写到|写进|记到)\s*" + _FILE,
)  # fmt: skip
_REMEMBER_FILE = (
    POLITE
    + r"(?:read|open|look at|look into)\b.{0,40}?"
    + PATH
    + r".{0,3}\b(?:and|then)\b.{0,20}\b(?:remember|memori[sz]e|note|keep)\b",
    POLITE
    + r"(?:remember|memori[sz]e|note) (?:what|all that|everything)\b.{0,20}?"
    + PATH
    + r".{0,3}\b(?:says|tells|holds)\b",
    POLITE + r"(?:读取|读一下|读|打开|查看|看一下|看看|看).{0,12}?" + PATH + r".{0,6}(?:记住|记下|记录)",
)
_QUESTION_START = r"^(?:what|which|when|where|who|how|why|anything|me\b|us\b|to\b)|^(?:.{0,4}(?:什么|多少|吗|哪))"
_FORGET = (
    POLITE + r"(?:can you |could you )?forget\b(?: about\b| that\b)?\s*[:,]?\s*(?P<x>.+)",
    POLITE + r"(?:remove|delete|erase)\b (?P<x>.+?) from (?:your )?memory",
    POLITE + r"(?:忘记|忘掉|忘了|从记忆中删除|从记忆里删除)\s*[:：,，]?\s*(?P<x>.+)",
)
_RECALL = (
    r"\b(?:what|which|anything|everything|all|how much)\b.{0,40}\b(?:you|we)\b.{0,12}\b(?:know|remember|recall|remembered|noted)\b",
    r"\bdo you (?:still )?(?:remember|recall|know (?:what|which|who|how|my|about me))\b",
    r"\b(?:what|which|who|how|tell me)\b.{0,30}\bmy (?:preferences?|name|favou?rites?|habits?|settings?)\b",
    r"\b(?:what(?:'s| is)|show(?: me)?)\b.{0,15}\byour memory\b|\bwhat did i (?:tell|say|ask)\b",
    r"你(?:还)?(?:记得|记住了?|知道).{0,12}(?:什么|哪些|吗|我)|我的(?:偏好|喜好|习惯|名字|设置)|我喜欢.{0,12}(?:什么|吗|哪|还是)|我叫什么|我是谁",
)
_LOOSE = (
    r"\b(?:do|did|am|have) i\b.{0,200}\?",
    r"\b(?:what|which|where|when|who)(?:'s\b|\b.{0,40}\b(?:do|did|am|is|are|was|were)\b).{0,20}\b(?:i|my)\b",
    r"我.{0,20}(?:什么|哪|吗|呢|谁|多少|还是)",
)
_GENERIC = words(
    "preferences memory remembered told favourite favorite settings habits conversation recall 偏好 喜好 记忆 知道 喜欢"
)
SHOWN = 12
"""Lines of memory quoted in one answer."""
_EARLIER = re.compile(r"<earlier>\n(.*)\n</earlier>", re.DOTALL)
_MOST = 3
"""Lines quoted of either."""


def wants_remember(c: Conversation) -> str | None:
    """The fact to keep, in the user's own words."""
    found = first_match(c.request, *_REMEMBER)
    fact = found["x"].strip().rstrip("。.!！ \n") if found else ""
    if not fact or first_match(fact, _QUESTION_START):
        return None
    asks = c.request.rstrip().endswith(("?", "？"))
    return None if asks and not first_match(c.request, _REMEMBER[0]) else fact.rstrip("?？")


def wants_add(c: Conversation) -> tuple[str, str] | None:
    """(the memory file that is named, the fact to add to it)"""
    found = first_match(c.request, *_ADD)
    fact = found["x"].strip().rstrip("。.!！ \n") if found else ""
    return (f"/{found['path']}", fact) if found and fact else None


def add(c: Conversation, wanted: tuple[str, str]) -> Script:
    """Add a fact to a memory file that is named."""
    return (yield from _remember(c, *wanted))


def remember(c: Conversation, fact: str) -> Script:
    """Add a fact to the memory file."""
    return (yield from _remember(c, c.memory_path, fact))


def _remember(c: Conversation, path: str, fact: str) -> Script:
    """Write anew where there is no file; else read what is there and add to its end."""
    if looks_secret(fact):
        return refusal(c)
    line = bullet(fact)
    done = c.tell(f"I will remember that. I wrote it to {path}: {line}", f"我记住了，已写入 {path}：{line}")
    wrote = [_written(s) for s in c.turn if s.tool in ("write_file", "edit_file") and s.path == path and not s.failed]
    if wrote:
        changed = c.tell(
            f"The call was edited before it ran. It wrote to {path}: {short(wrote[-1], 200)}",
            f"调用在执行前被改过。写入 {path} 的是：{short(wrote[-1], 200)}",
        )
        return done if line in wrote[-1].split("\n") else changed
    if (yield from _exists(c, path)):
        found = yield from read(path)
        if found.problem:
            return failure(c, found.problem)
        if any(fact_text(line) == fact_text(old) for old in found.lines):
            return c.tell(f"That is already in {path}: {line}", f"{path} 里已经有这一条：{line}")
        return (yield from _replace(c, path, found, _appended(found.lines, line))) or done
    yield Use("write_file", {"file_path": path, "content": line + "\n"})
    return done


def refusal(c: Conversation) -> str:
    """What is said where a credential was to be written down."""
    return c.tell(
        "That looks like a credential. I do not store credentials in memory: keep it in an environment variable "
        "or a password manager. Nothing was written.",
        "这看起来像是密码或密钥。我不会把凭据写进记忆：请放在环境变量或密码管理器里。什么都没有写入。",
    )


def wants_remember_file(c: Conversation) -> str | None:
    """The file whose lines are to be kept."""
    found = first_match(c.request, *_REMEMBER_FILE)
    return absolute(found["path"]) if found else None


def remember_file(c: Conversation, source: str) -> Script:
    """Read it, then add what it says to memory, line by line as it stands there."""
    step = yield Use("read_file", {"file_path": source})
    said = [bullet(fact_text(line)) for line in parse(step.result)[0] if line.strip() and not line.startswith("#")]
    kept = [line for line in said if not looks_secret(line)][:SHOWN]
    if not kept:
        return c.tell(f"{source} has nothing that I could remember.", f"{source} 里没有可以记住的内容。")
    wrote = [_written(s) for s in c.turn if s.path == c.memory_path and s.tool != "read_file" and not s.failed]
    lines = "\n".join(kept)
    done = c.tell(
        f"I read {source} and wrote this to {c.memory_path}:\n{lines}",
        f"我读了 {source}，写入 {c.memory_path}：\n{lines}",
    )
    if wrote:
        return done
    found = yield from read(c.memory_path)
    if found.problem:
        return failure(c, found.problem)
    after = list(found.lines)
    for line in kept:
        after = after if line in after else _appended(tuple(after), line)
    if after == list(found.lines):
        return c.tell(f"All of {source} is already in {c.memory_path}.", f"{c.memory_path} 里已经有 {source} 的内容。")
    return (yield from _replace(c, c.memory_path, found, after)) or done


def _written(step: Step) -> str:
    return str(step.args.get("new_string") or step.args.get("content") or "")


def _exists(c: Conversation, path: str) -> Generator[Use, Step, bool]:
    """Whether the file may be there. A prompt just made is believed; an older one may be out of date."""
    tools = [s.tool for s in c.turn]
    told = any(file.path == path for file in c.memory) if path != c.memory_path else bool(c.memory)
    if told or c.stale or "read_file" in tools:
        return True
    if tools[:1] == ["write_file"] or not c.earlier:
        return False
    if "ls" not in c.tools:
        return True
    step = yield Use("ls", {"path": path.rpartition("/")[0] or "/"})
    return path in step.result


def _appended(lines: tuple[str, ...], line: str) -> list[str]:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return [*lines[:end], line, *lines[end:]]


def _replace(c: Conversation, path: str, found: Read, after: list[str]) -> Script:
    """Bring the file to `after`; returns a sentence only where that failed."""
    change = edit(found.lines, after)
    if change:
        old, new = change
        step = yield Use("edit_file", {"file_path": path, "old_string": old, "new_string": new}, may_fail=True)
        if not step.failed:
            return ""
        if "not found" not in step.result.lower():
            return failure(c, step)
    yield Use("write_file", {"file_path": path, "content": "\n".join(after) + "\n"})
    return ""


def wants_forget(c: Conversation) -> str | None:
    found = first_match(c.request, *_FORGET)
    return found["x"].strip().rstrip("。.!！?？ \n") if found and found["x"].strip() else None


def forget(c: Conversation, what: str) -> Script:
    """Take the lines that say it out of the file in which they stand."""
    path = next((s.path for s in c.turn if s.tool == "read_file"), None) or _where(c, what)
    found = yield from read(path)
    if found.problem:
        return failure(c, found.problem)
    gone = [line for line in found.lines if says(line, what)]
    if not gone:
        there = MemoryFile(path, found.lines).facts
        return c.tell(
            f'Nothing in {path} matches "{short(what, 60)}". {_listing(there, "It contains:", "It is empty.")}',
            f"{path} 里没有与“{short(what, 60)}”相符的内容。{_listing(there, '里面有：', '它是空的。')}",
        )
    problem = yield from _replace(c, path, found, [line for line in found.lines if line not in gone])
    if problem:
        return problem
    lines = "\n".join(gone)
    return c.tell(f"Forgotten. I removed this from {path}:\n{lines}", f"已忘记。我从 {path} 删除了：\n{lines}")


def _where(c: Conversation, what: str) -> str:
    return next((f.path for f in c.memory if any(says(line, what) for line in f.lines)), c.memory_path)


def says(line: str, what: str) -> bool:
    """Whether a line of memory is meant by the words of a request to forget."""
    line, asked = line.strip(), words(what)
    if not line or line.startswith("#"):
        return False
    needed = 0.6 if any(ord(ch) > 0x3400 for word in asked for ch in word) else 1.0
    return what.lower() in line.lower() or coverage(asked, line) >= needed


def _listing(facts: tuple[str, ...], lead: str, empty: str) -> str:
    if not facts:
        return empty
    more = [f"- (+{len(facts) - SHOWN})"] if len(facts) > SHOWN else []
    return "\n".join([lead, *(f"- {f}" for f in facts[:SHOWN]), *more])


def wants_recall(c: Conversation) -> frozenset[str] | None:
    """What is asked about: words beside those of asking itself; none for all that is known."""
    return words(c.request) - _GENERIC if first_match(c.request, *_RECALL) else None


def wants_own(c: Conversation) -> frozenset[str] | None:
    """A question about the user, in any other words."""
    return words(c.request) - _GENERIC if first_match(c.request, *_LOOSE) else None


def wants_matching(c: Conversation) -> frozenset[str] | None:
    """Any question that shares words with a line of memory, or with what is left of earlier messages."""
    question = c.request.rstrip().endswith(("?", "？")) or first_match(
        c.request, r"^\s*(?:what|which|when|where|who|whose|how|why|do|does|is|are|should|can)\b", r"什么|哪|吗|谁|多少"
    )
    asked = words(c.request) - _GENERIC
    known = any(coverage(asked, f) for m in c.memory for f in m.facts)
    return asked if question and (known or brought_back(c, asked) or anchors(c, asked)) else None


def recall_matching(c: Conversation, asked: frozenset[str]) -> Script:
    """Recall it, unless only key facts beside a summary speak of it, and it is about a table."""
    known = any(coverage(asked, f) for m in c.memory for f in m.facts) or brought_back(c, asked)
    if not known and "list_variables" in c.tools and re.search(r"\b(?:in|of|from) (?:the )?\w|里|中", c.request):
        step = yield Use("list_variables", {})
        if mentioned(c.request, listed_tables(step.result)):
            return (yield from ask(c, c.request))
    return recall(c, asked)


def recall(c: Conversation, asked: frozenset[str]) -> str:
    """An answer out of the memory in the prompt and the conversation that is sent, and nothing else."""
    best = max((coverage(asked, f) for m in c.memory for f in m.facts), default=0.0)
    lines = [(f, m.path) for m in c.memory for f in m.facts if not best or coverage(asked, f) >= best / 2]
    known = {f for m in c.memory for f in m.facts}
    said = [s for s in _said(c) if fact_text(bullet(s)) not in known]
    said = [s for s in said if not asked or coverage(asked, s)]
    answer: list[str] = []
    if back := brought_back(c, asked):
        answer += [c.tell("The messages added from the history say:", "从历史里带回来的内容说："), *back]
    if beside := [] if back else anchors(c, asked):
        answer += [c.tell("Beside the summary of the earlier messages it says:", "之前对话的摘要旁边写着："), *beside]
    if not best and (back or beside):
        lines = []
    if asked and not best and lines:
        answer.append(
            c.tell("My memory says nothing about exactly that. It contains:", "我的记忆里没有正好说到这个的。里面有：")
        )
    elif lines:
        answer.append(c.tell("My memory, as it is in my prompt, says:", "我的提示词里的记忆说："))
    answer += [f'- "{fact}" ({path})' for fact, path in lines[:SHOWN]]
    if len(lines) > SHOWN:
        answer.append(c.tell(f"- and {len(lines) - SHOWN} more lines", f"- 还有 {len(lines) - SHOWN} 行"))
    if said:
        answer.append(c.tell("In this conversation you said:", "在这次对话里你说过："))
        answer += [f'- "{short(s, 120)}"' for s in said[-5:]]
    return "\n".join(answer) or c.tell(
        "I remember nothing about that: my memory is empty, and the conversation I was sent does not mention it. "
        'Tell me with "Remember that ...".',
        "我什么都不记得：我的记忆是空的，我收到的对话里也没有提到。可以用“记住……”告诉我。",
    )


def _said(c: Conversation) -> list[str]:
    """Facts the user stated earlier, as far as those messages are still sent."""
    said: list[str] = []
    for message in c.earlier:
        if message.role != "user":
            continue
        if gone := wants_forget(Conversation(message.text)):
            said = [s for s in said if not says(s, gone)]
        elif message.source:
            said += summarized_facts(message.text)
        elif fact := wants_remember(Conversation(message.text)):
            said.append(fact)
        elif first_match(message.text, r"^\s*(?:I|I'm|my|we|our)\b[^?]*$", r"^\s*我[^？?吗]*$"):
            said.append(message.text.strip())
    return [s for s in dict.fromkeys(said) if not looks_secret(s)]


def brought_back(c: Conversation, asked: frozenset[str]) -> list[str]:
    """The lines of brought back messages that say most of what is asked, each with who said it; no questions."""
    return _best(asked, ((line, f'- "{_passage(line, asked)}" ({role})') for role, line in _lines(c)))


def anchors(c: Conversation, asked: frozenset[str]) -> list[str]:
    """Read the anchors beside a summary likewise."""
    return _best(asked, ((line, f'- "{_passage(line, asked)}"') for line in _anchors(c)))


def _passage(line: str, asked: frozenset[str]) -> str:
    """A line; of a long one the sentence that says most of what is asked."""
    sentences = re.split(r"(?<=[.!?。！？])\s*", line) if len(line) > 200 else [line]
    return short(max(sentences, key=lambda one: coverage(asked, one)), 300)


def _best(asked: frozenset[str], lines: Iterator[tuple[str, str]]) -> list[str]:
    scored = [(coverage(asked, line), shown) for line, shown in lines if not looks_secret(line)]
    best = max((score for score, _ in scored), default=0.0)
    return list(dict.fromkeys(shown for score, shown in scored if score == best > 0))[:_MOST]


def _lines(c: Conversation) -> Iterator[tuple[str, str]]:
    for message in c.earlier:
        found = _EARLIER.search(message.text) if message.source == BROUGHT_BACK else None
        role = "?"
        for line in found[1].splitlines() if found else ():
            if line.startswith("### "):
                role = line[4:]
            elif line.strip() and not line.rstrip().endswith(("?", "？")):
                yield role, line.strip()


def _anchors(c: Conversation) -> Iterator[str]:
    for message in c.earlier:
        if message.source == SUMMARY and OPEN in message.text:
            inside = message.text.partition(OPEN)[2].partition(CLOSE)[0]
            for line in inside.splitlines():
                label, _, facts = line.partition(": ")
                if label not in ("Identifiers", "Names"):  # a word alone answers nothing
                    yield from (f"{label}: {fact}" for fact in facts.split(" | ") if facts)


# -- facts as they are written down

_OPENINGS = (
    (r"I (?:really )?like ", "The user likes "),
    *(
        (f"I {verb} ", f"The user {verb}s ")
        for verb in ("prefer", "love", "hate", "use", "want", "need", "work", "live")
    ),
    (r"I (?:don't|do not) ", "The user does not "),
    (r"I(?:'m| am) ", "The user is "),
    (r"I(?:'ve| have) ", "The user has "),
    (r"my ", "The user's "),
    (r"我的", "用户的"),
    (r"我(?=更?喜欢|偏好|爱|讨厌|用|使用|想|需要|在|住|是|叫|有|不)", "用户"),
)
_FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine|myself|I'm|I've)\b|我", re.IGNORECASE)

_CREDENTIAL = re.compile(
    r"\b(?:api[ _-]?key|pass(?:word|wd|phrase|code)|pwd|secret(?:[ _-]?key)?|(?:access|auth|api|bearer)[ _-]?token|token|pin)"
    r"\s{0,3}(?:is\b|=|:|：|是)\s{0,3}\S"
    r"|(?:密码|口令|密钥|令牌|密匙)\s{0,3}(?:is\b|=|:|：|是|为)?\s{0,3}[\w!@#$%^&*.-]"
    r"|\b(?:sk|pk|rk)-[A-Za-z0-9_-]{8,200}|\bgh[pousr]_[A-Za-z0-9]{16,200}|\bgithub_pat_\w{16,200}|\bhf_[A-Za-z0-9]{16,200}"
    r"|\bA(?:KIA|SIA)[0-9A-Z]{12,40}|\bAIza[\w-]{20,60}|\bxox[abprs]-[\w-]{8,200}|\beyJ[\w-]{10,300}\.[\w-]{5,300}"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY|\w{1,20}://[^\s/:@]{1,80}:[^\s/@]{1,80}@",
    re.IGNORECASE,
)


def looks_secret(text: str) -> bool:
    """Whether a text looks as if it held a credential. Errs towards yes."""
    return _CREDENTIAL.search(text) is not None


def bullet(fact: str) -> str:
    """A fact as a line of memory: its own words; `I prefer` becomes `The user prefers` where that is safe."""
    text = " ".join(fact.split()).strip()
    for pattern, instead in _OPENINGS:
        if opening := re.match(pattern, text, re.IGNORECASE):
            rest = text[opening.end() :]
            return f"- {text if _FIRST_PERSON.search(rest) else instead + rest}"
    return f"- {text}"
