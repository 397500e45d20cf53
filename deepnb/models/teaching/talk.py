"""What needs no tools: who it is, small talk, and the honest last word."""

from deepnb.core.prompt import SYSTEM_PROMPT, default_prompt
from deepnb.models.teaching.conversation import Conversation
from deepnb.models.teaching.words import first_match, short

_CAN = (
    "I can demonstrate: remember, forget and recall (memory); add to today's note and search all notes; list, read and write files; read a skill; look at a DataFrame; "
    "keep a to-do list; delegate a task to a subagent; summarize."
)
_CAN_ZH = "我能演示：记住、忘记和回忆（记忆）；记今天的笔记，搜索所有笔记；列出、读取和写入文件；读取技能；查看 DataFrame；待办清单；委派子代理；总结对话。"
_COMPUTES = (
    " In a table I filter, group, sort and join, and I draw bars, lines, points and histograms: by query_table, or by "
    "Python code that runs once you approve it; I put code into the next cell, too."
)
_COMPUTES_ZH = "对表格我能筛选、分组、排序和连接，画柱状图、折线图、散点图和直方图：用 query_table，或用你批准后才运行的 Python 代码；也能把代码放进下一个单元格。"
TRIES = ("Remember that I prefer metric units", "What do you know about me?", "Write a file /plan.md with: buy milk")
TRIES_ZH = ("记住我喜欢公制单位", "你记得什么？", "写文件 /plan.md：买牛奶")
"""What a request that it has no rule for is answered with: prompts to copy, each of which it has one for."""
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


def confess(c: Conversation, request: str) -> str:
    asked = short(request, 60)
    english, han = (f' I have no rule for: "{asked}"', f"我没有对应的规则：“{asked}”") if asked else ("", "")
    told = _instructions(c)
    tries = "\n".join(f"%agent {prompt}" for prompt in (TRIES if c.tell("en", "zh") == "en" else TRIES_ZH))
    return c.tell(
        f"I am a rule-based teaching model.{english}{told}\nThree prompts to copy:\n\n```\n{tries}\n```\n\n{_can(c)}",
        f"我是基于规则的教学模型。{han}{told}\n可以复制的三条提示：\n\n```\n{tries}\n```\n\n{_can(c)}",
    )


def _instructions(c: Conversation) -> str:
    """How its instructions begin, where they are others than the main agent has by default: a subagent's, say."""
    first = next((line for line in c.base.splitlines() if line.strip()), "")
    if not first or c.base.startswith((SYSTEM_PROMPT, default_prompt(files=False))):
        return ""
    return c.tell(
        f'\nMy instructions here begin: "{short(first, 100)}"', f"\n我在这里的指令开头是：“{short(first, 100)}”"
    )
