"""What it says: who it is, small talk, that it does not know, and the sentences of answers about tables."""

from typing import Any

from deepnb.core.prompt import SYSTEM_PROMPT, default_prompt
from deepnb.models.teaching.conversation import Conversation
from deepnb.models.teaching.words import first_match, short

_CAN = (
    "I can demonstrate: remember, forget and recall (memory); add to today's note and search all notes; list, read and write "
    "files; follow a skill; answer questions about tables; call a tool of yours by its name; keep a to-do list; delegate a "
    "task to a subagent; summarize."
)
_CAN_ZH = "我能演示：记住、忘记和回忆（记忆）；记今天的笔记，搜索所有笔记；列出、读取和写入文件；照技能去做；回答关于表格的问题；按名字调用你的工具；待办清单；委派子代理；总结对话。"
_COMPUTES = (
    " In a table I filter, count, group and sort by query_table, and I draw bars, lines, points and histograms by "
    "Python code that runs once you approve it; I put code into the next cell, too."
)
_COMPUTES_ZH = "对表格我用 query_table 筛选、计数、分组和排序，用你批准后才运行的 Python 代码画柱状图、折线图、散点图和直方图；也能把代码放进下一个单元格。"
TRIES = ("Remember that I prefer metric units", "What do you know about me?")
TRIES_ZH = ("记住我喜欢公制单位", "你记得什么？")
"""What a request that it has no rule for is answered with: prompts that it has one for."""
_QUESTION = (
    r"^\s*(?:who|whose|whom|what|which|where|when|why|how|is|are|was|were|do|does|did|has|have|can|could|will|would|should)\b|[?？]\s*$",
    r"[?？]\s*$|什么|哪|谁|多少|吗\s*$|怎么|为什么",
)
_WHO = (
    r"\b(?:who|what) are you\b|\bare you (?:an?|really|chatgpt|gpt|claude|real|alive|human)\b|\bwhat can you do\b"
    r"|^\s*help\b|\bwhat (?:model|llm) (?:are|is)\b|\bhow do you work\b",
    r"你是(?:谁|什么|不是|大模型|语言模型|人)|你能做什么|你会什么|你会做什么|^\s*帮助",
)
_THANKS = r"^\s*(?:many )?(?:thanks|thank you|thx|cheers)\b|^\s*(?:谢谢|多谢|感谢)"
_GREETING = r"^\s*(?:hi|hello|hey|good (?:morning|evening|afternoon)|你好|您好|嗨|早上好|晚上好)(?:\s+(?:there|all|deepnb))?[\s!.,！。，]*$"


def wants_who(c: Conversation) -> bool | None:
    return True if first_match(c.request, *_WHO) else None


def who(c: Conversation, _: bool) -> str:
    return c.tell(
        "I am deepnb's rule-based teaching model, not a large language model. I follow fixed rules, need no network, "
        f"and answer the same every time; the tools I call are real. {_can(c)}",
        f"我是 deepnb 的基于规则的教学模型，不是大语言模型。我按固定规则回答，不需要网络，每次都一样；我调用的工具是真的。{_can(c)}",
    )


def _can(c: Conversation) -> str:
    """All it can do with the tools that it has."""
    computes = "run_python" in c.tools
    return c.tell(_CAN + (_COMPUTES if computes else ""), _CAN_ZH + (_COMPUTES_ZH if computes else ""))


def wants_courtesy(c: Conversation) -> str | None:
    return "thanks" if first_match(c.request, _THANKS) else "hello" if first_match(c.request, _GREETING) else None


def courtesy(c: Conversation, kind: str) -> str:
    if kind == "thanks":
        return c.tell("You are welcome.", "不客气。")
    return c.tell(
        "Hello. I am deepnb's rule-based teaching model, not a large language model. Try: Remember that I prefer tabs.",
        "你好。我是 deepnb 的基于规则的教学模型，不是大语言模型。试试：记住我喜欢用制表符。",
    )


def wants_knowledge(c: Conversation) -> bool | None:
    """A question that no rule before has an answer for."""
    return True if first_match(c.request, *_QUESTION) else None


def nothing(c: Conversation, _: bool = True) -> str:
    """That the prompt does not say what is asked."""
    return c.tell(
        "Nothing in my prompt says that. I am a rule-based model: I know what my prompt and my tools say, and no more.",
        "我的提示词里没有提到这个。我是基于规则的模型：只知道提示词和工具告诉我的内容。",
    ) + _instructions(c)


def confess(c: Conversation, request: str) -> str:
    """One line: that no rule fits, and two prompts that one does."""
    asked = short(request, 60)
    english, han = (f' for "{asked}"', f"“{asked}”") if asked else ("", "")
    one, other = TRIES_ZH if c.chinese else TRIES
    return c.tell(
        f'I am a rule-based model and have no rule{english}. Try "{one}" or "{other}".',
        f"我是基于规则的模型，没有对应的规则{han}。可以试试“{one}”或“{other}”。",
    ) + _instructions(c)


def _instructions(c: Conversation) -> str:
    """How its instructions begin, where they are others than the main agent has by default: a subagent's, say."""
    first = next((line for line in c.base.splitlines() if line.strip()), "")
    if not first or c.base.startswith((SYSTEM_PROMPT, default_prompt(files=False))):
        return ""
    return c.tell(
        f'\nMy instructions here begin: "{short(first, 100)}"', f"\n我在这里的指令开头是：“{short(first, 100)}”"
    )


# -- sentences about tables

_SENTENCES = r"""
shape = {t} is a DataFrame of {n} rows and {m} columns. || {t} 是一个 {n} 行 {m} 列的 DataFrame。
column = `{k}` in {t}: {x}. || {t} 的 `{k}`：{x}。
lacks = , {n} missing || ，缺失 {n}
columns = - and {n} more columns{x} || - 另有 {n} 列{x}
more = - and {n} more || - 另有 {n} 条
more rows = - and {n} more rows || - 另有 {n} 行
sample = I only see a part of {t}, so I can't tell. || 我只看到 {t} 的一部分，无法回答。
none missing = No value is missing in {x}{t}: 0. || {t} 没有缺失值：0。
missing in = {n} of {m} values of {k} are missing in {t}. || {t} 的 {k} 缺失 {n} 个（共 {m} 行）。
missing = {n} values are missing in {t}: || {t} 共缺失 {n} 个值：
unseen =  {n} columns were not looked at. || 另有 {n} 列没有查看。
rows = {n} rows of {t}{w} || {t}{w}：{n} 行
first = The first {n} rows of {t} || {t} 的前 {n} 行
sorted = {t}{w} by {k}, from {x} || {t}{w} 按 {k} {x}
yes = Yes, {n} rows of {t}{w}. || 有：{t}{w} {n} 行。
no = No, 0 rows of {t}{w}. || 没有：{t}{w} 0 行。
by = {x} by {k} in {t}{w}: || {t}{w} 按 {k} 的 {x}：
no value = No row of {t}{w} has a value of {k}. || {t}{w} 没有 {k} 的值。
figure = The {x} {k} in {t}{w} is {v}. || {t}{w} 的 {k} {x}是 {v}。
range = The range of {k} in {t}{w} is {x}, from {v} to {n}. || {t}{w} 的 {k} 的范围是 {x}（从 {v} 到 {n}）。
nunique = There are {v} different values of {k} in {t}{w}. || {t}{w} 的 {k} 有 {v} 个不同的值。
no row = There is no row of {t}{w}. || {t}{w} 没有这样的行。
value = The {k} in {t}{w} is {v}. || {t}{w} 的 {k} 是 {v}。
distinct = {k} in {t}{w} has {n} different values: {v}. || {t}{w} 的 {k} 有 {n} 个不同的值：{v}。
not unique = {k} is not unique in {t}: {n} rows repeat a value of an earlier one. || {t} 的 {k} 有重复：{n} 行与前面的值相同。
unique = {k} is unique in {t}: 0 duplicates. || {t} 的 {k} 没有重复：0。
no duplicates = No, {t} has 0 duplicate rows. || {t} 没有重复的行：0。
duplicates = Yes, {n} rows of {t} are duplicates of an earlier one. || 有：{t} 有 {n} 行重复。
share by = Share of {x} by {k} in {t}: || {t} 按 {k} 占{x}的比例：
share = {v} % of {x} in {t}{w} ({n} of {m}). || {t}{w} 占{x}的 {v} %（{n} / {m}）。
of rows = the rows || 行数
of total = the total {k} || {k} 总和
no group = \n\nRows without `{k}` are no group here: {n}. || \n\n没有 `{k}` 的行不算一组：{n}。
top = The {n} of {k} with the {x} in {t}{w}: || {t}{w} 中 {x}的 {n} 个 {k}：
best of = {v} {has} the {x} in {t}{w} by {k}: {n}{tie}. || {t}{w} 按 {k} 计算，{v} 的{x}{tie}：{n}。
best = {v} {has} the {x} {k} in {t}{w}: {n}. || {t}{w} 中 {k} 的{x}值是 {n}，属于 {v}。
best rows = The {n} rows with the {x} {k} in {t}{w}: || {t}{w} 中 {k} {x}的 {n} 行：
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
why how = : say total, mean, median, highest or lowest || ：请说明总和、平均、中位数、最大或最小
why dates = : there is not one column of dates || ：没有唯一的日期列
why and = : say or, or ask of one at a time || ：请用“或”，或逐个询问
why of what = : it does not say of what || ：没有说明是什么的
why missing = : some rows have no value there || ：有的行没有值
why values = : there are too many values to choose from || ：值太多，无法选择
why agree = : it may mean a total, a mean or one row, which differ here || ：可以指总和、平均或单行，这里不同
slip = {t} has no column `{v}`; I took `{k}`, the nearest.  || {t} 没有列 `{v}`，我改用最接近的 `{k}`。
no code = No code of mine has run in this thread. || 这个对话里还没有运行过我的代码。
cell = The code is in the next cell. I have not run it. || 代码在下一个单元格里，我没有运行它。
no cell = I have not run this code:{v} says: {x} || 我没有运行这段代码：{v} 说：{x}
kept =  It is in the variable `{v}`. || 结果在变量 `{v}` 中。
gave = The code gave:\n{v} || 代码给出：\n{v}
corr = The correlation of {x} and {k} in {t} is {v}. || {t} 中 {x} 与 {k} 的相关系数是 {v}。
spread = {k} in {t} goes from {v} to {n}, with a mean of {x}. || {t} 的 {k} 从 {v} 到 {n}，平均值 {x}。
measure = {x} of {k} || {k}（{x}）
number = number of rows || 行数
line = The {x} goes from {v} to {n}. || {x}从 {v} 变到 {n}。
same = By {k}, the {x} in {t} is the same everywhere: {v}. || {t} 按 {k} 计算{x}：都是 {v}。
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
 present = is not missing || 不缺失
 sum = total || 总和
 mean = mean || 平均值
 median = median || 中位数
 max = highest || 最大值
 min = lowest || 最小值
 std = standard deviation of || 标准差
"""
_SAYS = dict(line.split(" = ", 1) for line in _SENTENCES.strip("\n").splitlines())


def says(c: Conversation, key: str, **values: Any) -> str:
    """A sentence in the language of the request."""
    english, _, chinese = _SAYS[key].replace("\\n", "\n").partition(" || ")
    return c.tell(english, chinese).format(
        **{name: f"{v:,}" if isinstance(v, int) else v for name, v in values.items()}
    )
