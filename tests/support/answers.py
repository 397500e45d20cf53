"""Answers of every shape that is cut in pieces, and the pieces."""

import re

from deepnb.views.growing_markdown import GrowingMarkdown, Piece

CODE = "".join(f"line {i} = <{i}>\n" for i in range(30))
ROWS = "".join(f"| row {i} | {i} |\n" for i in range(30))
ITEMS = "".join(f"{i}. item {i} of many\n" for i in range(1, 40))
SAID = "A sentence of some words. Another with **bold** and `code x`. " * 12
ANSWERS = {
    "paragraphs": f"# Title\n\n{SAID}\n\n{SAID}\n", "paragraph": SAID,
    "lines": "Words on a line,\nand on the next.\n" * 20,
    "fence": f"So:\n\n```python\n{CODE}\n\n{CODE}```\n\nAfter.",
    "tildes": f"~~~\n{CODE}```\n{CODE}~~~\nAfter.", "open fence": f"```\n{CODE}",
    "indented": "So:\n\n" + "".join(f"    {line}\n" for line in CODE.splitlines()) + "\nAfter.",
    "table": f"| a | b |\n|:-:|--:|\n{ROWS}\nAfter.", "numbers": f"Steps:\n\n{ITEMS}\nAfter.",
    "one, one, one": re.sub(r"\d+\. ", "1. ", ITEMS),
    "code in an item": f"1. First\n\n   ```\n   {CODE.replace(chr(10), chr(10) + '   ')}\n   ```\n\n2. Second\n",
    "table in an item": "- See:\n\n  | a | b |\n  |---|---|\n" + "".join(f"  {row}\n" for row in ROWS.splitlines()),
    "nested": "- a\n" + "".join(f"  - b {i}\n    1. c {i}\n    2. d\n" for i in range(20)) + "- e\n",
    "long item": f"- {SAID}\n- {SAID}\n",
    "quote": "".join(f"> {line}\n" for line in (SAID + "\n\n- a\n- b\n\n" + CODE).splitlines()),
    "hard": "text\\\nmore  \nlines\n\n---\n\n***\n\nSetext\n===\n\n* * *\n\n+ a\n+ b\n\n- c\n",
}  # fmt: skip


def pieces(answer: str, every: int, step: int = 1) -> list[Piece]:
    growing, done = GrowingMarkdown(), []
    for at in range(0, len(answer), step):
        growing.add(answer[at : at + step])
        end = growing.end
        if len(end.markdown) > every and growing.cut():
            done.append(end)
    return [*done, growing.end]
