"""What the teaching model says, and how it decides: a table of intents, each a script played again from its start."""

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepnb.models.teaching.conversation import Conversation, Step, first_match, short

TRIES = ("Remember that I prefer metric units", "What do you know about me?")
TRIES_ZH = ("记住我喜欢公制单位", "你记得什么？")
"""What a request that it has no rule for is answered with: prompts that it has one for."""
WHO = (
    r"\b(?:who|what) are you\b|\bare you (?:an?|really|chatgpt|gpt|claude|real|alive|human)\b|\bwhat can you do\b"  # who are you, are you an AI
    r"|^\s*help\b|\bwhat (?:model|llm) (?:are|is)\b|\bhow do you work\b",  # help, what model are you
    r"你是(?:谁|什么|不是|大模型|语言模型|人)|你能做什么|你会什么|你会做什么|^\s*帮助",  # 你是谁, 帮助
)
THANKS = r"^\s*(?:many )?(?:thanks|thank you|thx|cheers)\b|^\s*(?:谢谢|多谢|感谢)"
GREETING = r"^\s*(?:hi|hello|hey|good (?:morning|evening|afternoon)|你好|您好|嗨|早上好|晚上好)(?:\s+(?:there|all|deepnb))?[\s!.,！。，]*$"
QUESTION = (
    r"^\s*(?:who|whose|whom|what|which|where|when|why|how|is|are|was|were|do|does|did|has|have|can|could|will|would|should)\b|[?？]\s*$",
    r"[?？]\s*$|什么|哪|谁|多少|吗\s*$|怎么|为什么",
)
_SENTENCES = r"""
who = I am deepnb's rule-based teaching model, not a large language model. I follow fixed rules, need no network, and answer the same every time; the tools I call are real. I can demonstrate: remember, forget and recall (memory); add to today's note and search all notes; list, read and write files; follow a skill; answer questions about tables; call a tool of yours by its name; delegate a task to a subagent; summarize. || 我是 deepnb 的基于规则的教学模型，不是大语言模型。我按固定规则回答，不需要网络，每次都一样；我调用的工具是真的。我能演示：记住、忘记和回忆（记忆）；记今天的笔记，搜索所有笔记；列出、读取和写入文件；照技能去做；回答关于表格的问题；按名字调用你的工具；委派子代理；总结对话。
computes =  In a table I filter, count, group and sort by query_table, and I draw bars, lines, points and histograms by Python code that runs once you approve it; I put code into the next cell, too. || 对表格我用 query_table 筛选、计数、分组和排序，用你批准后才运行的 Python 代码画柱状图、折线图、散点图和直方图；也能把代码放进下一个单元格。
thanks = You are welcome. || 不客气。
hello = Hello. I am deepnb's rule-based teaching model, not a large language model. Try: Remember that I prefer tabs. || 你好。我是 deepnb 的基于规则的教学模型，不是大语言模型。试试：记住我喜欢用制表符。
nothing = Nothing in my prompt says that. I am a rule-based model: I know what my prompt and my tools say, and no more. || 我的提示词里没有提到这个。我是基于规则的模型：只知道提示词和工具告诉我的内容。
for =  for "{v}" || “{v}”
confess = I am a rule-based model and have no rule{v}. Try "{k}" or "{n}". || 我是基于规则的模型，没有对应的规则{v}。可以试试“{k}”或“{n}”。
not bound = I would call the tool `{v}` here, but it is not bound to me, so I stop. || 这里我本要调用工具 `{v}`，但它没有绑定给我，所以到此为止。
too many = I stop here: I make at most {n} tool calls in one turn. || 到此为止：我一轮最多调用 {n} 次工具。
held = I did not write that to {v}: the change needs your approval. %memory pending shows it. || 我没有写入 {v}：改动要等你确认。%memory pending 可以查看。
held instruction = I did not write that to {v}: the change needs your approval, because it reads like an instruction and is not in your words. %memory pending shows it. || 我没有写入 {v}：这一改动读起来像指令，又不是你说的话，要等你确认。%memory pending 可以查看。
rejected = You did not allow `{v}`{k}, so I did not run it. || 你没有允许 `{v}`{k}，所以我不做了。
failed = The tool `{v}` failed. It said: {k} || 工具 `{v}` 没有成功。它说：{k}
no files = There are no files in {v}. || {v} 下没有文件。
files = `ls` gives {n} in {v}:\n{k} || `ls` 在 {v} 下给出 {n} 项：\n{k}
empty = {v} is empty. || {v} 是空的。
file = {v} says:\n{k} || {v} 的内容是：\n{k}
file begins = {v} begins:\n{k} || {v} 的开头是：\n{k}
wrote = I wrote {n} line{k} to {v}. || 我写入了 {v}，共 {n} 行。
remembered = I will remember that. I wrote it to {v}: {k} || 我记住了，已写入 {v}：{k}
edited call = The call was edited before it ran. It wrote to {v}: {k} || 调用在执行前被改过。写入 {v} 的是：{k}
known = That is already in {v}: {k} || {v} 里已经有这一条：{k}
credential = That looks like a credential. I do not store credentials in memory: keep it in an environment variable or a password manager. Nothing was written. || 这看起来像是密码或密钥。我不会把凭据写进记忆：请放在环境变量或密码管理器里。什么都没有写入。
no lines = {v} has nothing that I could remember. || {v} 里没有可以记住的内容。
kept lines = I read {v} and wrote this to {t}:\n{k} || 我读了 {v}，写入 {t}：\n{k}
known lines = All of {v} is already in {t}. || {t} 里已经有 {v} 的内容。
noted = I noted that in today's note, {v}: {k} || 已记入今天的笔记 {v}：{k}
known note = That is already in today's note, {v}: {k} || 今天的笔记 {v} 里已经有：{k}
no match = Nothing in {v} matches "{k}". It contains:{x} || {v} 里没有与“{k}”相符的内容。里面有：{x}
forgotten = Forgotten. I removed this from {v}:\n{k} || 已忘记。我从 {v} 删除了：\n{k}
found = `memory_search` found:\n{k} || `memory_search` 找到：\n{k}
not found = I searched my memory for "{k}" and found nothing. || 我搜索了记忆，没有找到“{k}”。
from history = The messages added from the history say: || 从历史里带回来的内容说：
from anchors = Beside the summary of the earlier messages it says: || 之前对话的摘要旁边写着：
from memory = My memory, as it is in my prompt, says: || 我的提示词里的记忆说：
not exactly = My memory says nothing about exactly that. It contains: || 我的记忆里没有正好说到这个的。里面有：
more lines = - and {n} more lines || - 还有 {n} 行
you said = In this conversation you said: || 在这次对话里你说过：
no memory = I remember nothing about that: my memory is empty, and the conversation I was sent does not mention it. Tell me with "Remember that ...". || 我什么都不记得：我的记忆是空的，我收到的对话里也没有提到。可以用“记住……”告诉我。
no skills = My prompt lists no skills. || 我的提示词里没有列出任何技能。
skills = My prompt lists {n}; I read a skill only when I need it:\n{k} || 我的提示词列出了 {n} 个技能，需要时才会读取：\n{k}
steps = I read the skill {v} ({x}). Its steps are:\n{k} || 我读了技能 {v}（{x}）。它的步骤是：\n{k}
no steps = (no steps) || （没有步骤）
steps done = \n\nWhat I did of them:\n{k} || \n\n我做到的：\n{k}
none done = \n\nNo rule of mine can do any of them. || \n\n这些步骤我都没有规则可做。
no subagent = There is no subagent {v}: the tool `task` lists {k}. || 没有名为 {v} 的子代理：工具 `task` 列出的是 {k}。
report = The subagent{v} reported:\n{k} || 子代理{v} 的报告：\n{k}
takes = I can't place "{k}": `{v}` takes {x}. || 我无法理解“{k}”：`{v}` 的参数是 {x}。
gave tool = `{v}` gave: {k} || `{v}` 返回：{k}
shape = {t} is a DataFrame of {n} rows and {m} columns. || {t} 是一个 {n} 行 {m} 列的 DataFrame。
lacks = , {n} missing || ，缺失 {n}
columns = - and {n} more columns || - 另有 {n} 列
more rows = and {n} more rows || 另有 {n} 行
sample = I only see a part of {t}, so I can't tell. || 我只看到 {t} 的一部分，无法回答。
none missing = No value is missing in {x}{t}: 0. || {t} 没有缺失值：0。
missing = {n} values are missing in {t}: || {t} 共缺失 {n} 个值：
unseen =  {n} columns were not looked at. || 另有 {n} 列没有查看。
rows = {n} rows of {t}{w} || {t}{w}：{n} 行
first = The first {n} rows of {t} || {t} 的前 {n} 行
sorted = {t}{w} by {k}, from {x} || {t}{w} 按 {k} {x}
by = {x} by {k} in {t}{w}: || {t}{w} 按 {k} 的 {x}：
no value = No row of {t}{w} has a value of {k}. || {t}{w} 没有 {k} 的值。
figure = The {x} {k} in {t}{w} is {v}. || {t}{w} 的 {k} {x}是 {v}。
nunique = There are {v} different values of {k} in {t}{w}. || {t}{w} 的 {k} 有 {v} 个不同的值。
not unique = {k} is not unique in {t}: {n} rows repeat a value of an earlier one. || {t} 的 {k} 有重复：{n} 行与前面的值相同。
unique = {k} is unique in {t}: 0 duplicates. || {t} 的 {k} 没有重复：0。
no duplicates = No, {t} has 0 duplicate rows. || {t} 没有重复的行：0。
duplicates = Yes, {t} has {n} duplicate rows. || 有：{t} 有 {n} 行重复。
share = {v} % of {x} in {t}{w} ({n} of {m}). || {t}{w} 占{x}的 {v} %（{n} / {m}）。
of rows = the rows || 行数
no group = \n\nRows without `{k}` are no group here: {n}. || \n\n没有 `{k}` 的行不算一组：{n}。
top = The {n} of {k} with the {x} in {t}{w}: || {t}{w} 中 {x}的 {n} 个 {k}：
best of = {v} {has} the {x} in {t}{w} by {k}: {n}{tie}. || {t}{w} 按 {k} 计算，{v} 的{x}{tie}：{n}。
best = {v} {has} the {x} {k} in {t}{w}: {n}. || {t}{w} 中 {k} 的{x}值是 {n}，属于 {v}。
tied = \n\n{n} are shown, since the last ones are level. || \n\n末位并列，共 {n} 个。
level = , level || （并列）
maybe = \n\nMore rows may be level with the last one. || \n\n可能还有并列的行。
left out = \n\nRows left out: {x}. || \n\n未计入：{x}。
without = {n} without `{k}` || {n} 行没有 `{k}`
without key = (no {k}) || （没有 {k}）
unplaced = I can't place "{v}" in that{x}. Try "{k}" or "{n}". || 我无法理解“{v}”{x}。可以试试“{k}”或“{n}”。
try mean = mean {k} by {v} in {t} || {t} 里每个 {v} 的平均 {k}
try count = how many rows are there per {v} in {t}? || {t} 里每个 {v} 有多少行？
try describe = what is in {t}? || {t} 里有什么？
try rows = how many rows are in {t}? || {t} 有多少行？
why tables = : there are {x} || ：有 {x}
why two = : it may mean two things || ：它可以有两种意思
why id = : it names rows, and is no figure || ：它是编号，不是数值
why text = : it is no figure to compute with || ：它不是可以计算的数值
why number = : I group by no such figures || ：不能按这样的数值分组
why how = : say total, mean, median or the like || ：请说明总和、平均或中位数等
why dates = : there is not one column of dates || ：没有唯一的日期列
why and = : say or, or ask of one at a time || ：请用“或”，或逐个询问
why of what = : it does not say of what || ：没有说明是什么的
why missing = : some rows have no value there || ：有的行没有值
why values = : there are too many values to choose from || ：值太多，无法选择
slip = {t} has no column `{v}`; I took `{k}`, the nearest.  || {t} 没有列 `{v}`，我改用最接近的 `{k}`。
cell = The code is in the next cell. I have not run it. || 代码在下一个单元格里，我没有运行它。
no cell = I have not run this code:{v} says: {x} || 我没有运行这段代码：{v} 说：{x}
kept =  It is in the variable `{v}`. || 结果在变量 `{v}` 中。
gave = The code gave:\n{v} || 代码给出：\n{v}
measure = {x} of {k} || {k}（{x}）
number = number of rows || 行数
ends = By {k}, the {x} in {t} is highest for {v} and lowest for {n}. || {t} 按 {k} 计算{x}：最大是 {v}，最小是 {n}。
by total = {x} {k} by {v} in {t} || {t} 里每个 {v} 的 {k} 总和
without code =  `query_table` gives the figures without code: ask for the {x}. || `query_table` 不用代码也能给出：可以问“{x}”。
high = highest || 最大
low = lowest || 最小
most = most || 最多
fewest = fewest || 最少
least = least || 最少
latest = latest || 最晚
earliest = earliest || 最早
down = high to low || 从高到低
up = low to high || 从低到高
row count = rows || 行数
 > = is above || 大于
 >= = is at least || 至少为
 < = is below || 小于
 <= = is at most || 至多为
 == = is || 为
 not = is not || 不为
 in = is one of || 为
 and = is one of || 为
 contains = contains || 包含
 missing = is missing || 缺失
 sum = total || 总和
 mean = mean || 平均值
 median = median || 中位数
 max = highest || 最大值
 min = lowest || 最小值
 std = standard deviation of || 标准差
"""
_SAYS = dict(line.split(" = ", 1) for line in _SENTENCES.strip("\n").splitlines())


_NOUN = "(?: more| different| duplicate)? (?:row|column|line|value)"
_VERBS = {" are": " is", " were": " was", " repeat": " repeats"}


def says(c: Conversation, key: str, **values: Any) -> str:
    """Return a sentence in the language of the request."""
    english, _, chinese = _SAYS[key].replace("\\n", "\n").partition(" || ")
    for name in (name for name, v in values.items() if v in (1, "1")):
        plural = f"(There are )?({{{name}}}{_NOUN})s( are| were| repeat)?"
        english = re.sub(plural, lambda m: f"{'There is ' if m[1] else ''}{m[2]}{_VERBS.get(m[3], '')}", english)
    return c.tell(english, chinese).format(**{k: f"{v:,}" if isinstance(v, int) else v for k, v in values.items()})


def say(key: str, c: Conversation, _: str) -> str:
    """Return a sentence that takes nothing from the request, for an intent."""
    return says(c, key)


def who(c: Conversation, _: str) -> str:
    """Say what it is, and all that it can do with the tools it has."""
    return says(c, "who") + (says(c, "computes") if "run_python" in c.tools else "")


def confess(c: Conversation, request: str, tries: Sequence[str] = ()) -> str:
    """Say in one line that no rule fits, with two prompts that one does: `tries`, or of memory."""
    one, other = tries or (TRIES_ZH if c.chinese else TRIES)
    asked = says(c, "for", v=short(request, 60)) if request else ""
    return says(c, "confess", v=asked, k=one, n=other)


# -- How the teaching model decides: a table of intents, each a script that is played again from its start
# A script is a generator: it yields a `Use`, is sent the `Step` that came of it, and returns its answer.
# Nothing is kept between two calls of the model: the results already in the conversation are played
# to the script, and where they end is the next move.

MAX_CALLS = 6  # tool calls in one turn


@dataclass(frozen=True)
class Use:
    """A tool call. Where `may_fail`, the script itself deals with an error."""

    tool: str
    args: Mapping[str, Any]
    may_fail: bool = False


Script = Generator[Use, Step, str]


@dataclass(frozen=True)
class Intent:
    """One thing the model can do: what it recognises it by, and how it goes about it."""

    name: str
    recognise: Callable[[Conversation], Any]
    """What the request speaks of, handed to the script; None where it is another intent's."""
    script: Callable[[Conversation, Any], Script | str]


def asks(*patterns: str, tool: str = "") -> Callable[[Conversation], str | None]:
    """Recognise a request by patterns, where the tool it takes is bound: gives what is found as `x`, else the request."""

    def recognise(c: Conversation) -> str | None:
        found = first_match(c.request, *patterns) if not tool or tool in c.tools else None
        if found is None:
            return None
        asked = (found["x"] if "x" in found.re.groupindex else c.request).strip().rstrip("。.!！?？ \n")
        quoted = re.fullmatch(r"[\"'“](.+)[\"'”]", asked, re.DOTALL)
        return (quoted[1] if quoted else asked) or None

    return recognise


def plan(c: Conversation, intents: Sequence[Intent]) -> str | Use:
    """Return the next move, or the answer: that of the first intent which recognises the request. The last one must.

    The turn's results are played to its script; steps that it did not ask for are passed over.
    """
    recognised = ((intent, intent.recognise(c)) for intent in intents)
    script = next(intent.script(c, found) for intent, found in recognised if found is not None)
    if isinstance(script, str):
        return script
    steps = iter(c.turn)
    try:
        use = next(script)
        while step := next((s for s in steps if s.tool == use.tool), None):
            if step.failed and not use.may_fail:
                return failure(c, step)
            use = script.send(step)
    except StopIteration as end:
        return str(end.value)
    if use.tool not in c.tools:
        return says(c, "not bound", v=use.tool)
    return use if len(c.turn) < MAX_CALLS else says(c, "too many", n=MAX_CALLS)


def failure(c: Conversation, step: Step) -> str:
    """Return an honest sentence on a tool that did not do what was asked."""
    if "waits for the user" in step.result:
        return says(c, "held instruction" if "like an instruction" in step.result else "held", v=step.path)
    if "did not allow this call" in step.result:
        why = step.result.partition("said why: ")[2].partition(". It was not run")[0]
        return says(c, "rejected", v=step.tool, k=f" ({short(why, 120)})" if why else "")
    return says(c, "failed", v=step.tool, k=short(step.result, 200) or "(nothing)")
