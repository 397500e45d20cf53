"""Lines with a dollar, a backslash or a brace: what of each is math, written before the rule was."""

import json

from tests import DATA

_READ = json.loads((DATA / "math_and_money.json").read_text(encoding="utf-8"))

MATH: list[tuple[str, tuple[str, ...]]] = [(text, tuple(formulas)) for text, formulas in _READ["math"]]
"""Math in its forms, some of it beside money, and its stretches, with their delimiters as the page's MathJax gets them."""
TEXT: list[str] = _READ["text"]
"""Money, shells, jQuery, Perl and others: nothing of it is math."""
LATER_MATH: list[tuple[str, int]] = [(text, count) for text, count in _READ["later math"]]
"""More math, with how many formulas there are: written when the rule was, and never looked at while it was changed."""
LATER_TEXT: list[str] = _READ["later text"]
"""More that is none. The rule takes one of them for math, a regular expression with two ends."""
