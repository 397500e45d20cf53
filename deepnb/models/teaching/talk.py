"""What needs no tools: who it is, small talk, and the honest last word."""

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
