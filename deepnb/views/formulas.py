"""Formulas in Markdown: what is between `$`, `$$`, `\\(`, `\\[` or in a TeX environment goes on as it is written.

The page's MathJax finds formulas by their delimiters. So all other dollars have to be kept from it: `esc` in
`deepnb/views/html.py` does that. Whether a dollar begins a formula or belongs to a price or a variable is decided here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_inline import StateInline

GROWING = "growing"
"""Key of the parser's environment for a text that still grows: an open displayed formula takes all that follows."""

_LONGEST = 4_000
"""Characters that a formula has at most; longer text is not taken for one."""
_ENVIRONMENT = (
    r"(?:equation|align|alignat|aligned|alignedat|gather|gathered|multline|eqnarray|flalign|split|array|subarray|"
    r"r?cases|dcases|[pbBvV]?matrix|smallmatrix|darray|CD)\*?"
)
_OPENING = re.compile(rf"\$\$?|\\{{1,2}}[(\[]|\\begin\{{{_ENVIRONMENT}\}}")  # $ or $$ | \\[ or \( | \begin{align}
_CLOSING = {"$": "$", "$$": "$$", "\\(": "\\)", "\\[": "\\]", "\\\\(": "\\\\)", "\\\\[": "\\\\]"}

_ACTIVE = re.compile(
    r"\\(?:href|url|class|cssId|style|html[a-zA-Z]*|data|mmlToken|require|includegraphics|input|csname|special|label"
    r"|[gex]?def|let|futurelet|(?:re)?newcommand|providecommand|(?:re)?newenvironment|(?:re)?newtagform"
    r"|Declare[a-zA-Z]*|Newextarrow)(?![a-zA-Z])"
)
"""Commands that link, load, style, or change what other formulas of the page mean."""

_COMMAND = re.compile(r"\\[a-zA-Z]")
_SIGN = re.compile(r"[\\^_=+<>*/|~-]")
_SUM = re.compile(r"[\\^_=+<>]")
_WORDS = re.compile(r"(?<!\w)[A-Za-z]{2,}[,.;:]?\s+[A-Za-z]{2,}(?!\w)")
_ONE_WORD = re.compile(r"[a-z]{4,}")
_FOOTNOTE = re.compile(r"[\d\s,–-]+")
_AMOUNT = re.compile(r"\d[\d.,]*\s")
_ORDINAL = re.compile(r"(?:th|st|nd|rd|s|d)\b")  # $5$th, $1$st, $2$nd, $3$rd, the $x$s, $x$d
_NAME = re.compile(r"[A-Za-z0-9_({$]")
_ALNUM = re.compile(r"[A-Za-z0-9]")


def formulas_plugin(parser: MarkdownIt) -> None:
    """Teach the parser the tokens `math_inline` and `math_block`; their content is the source with its delimiters."""
    parser.inline.ruler.before("escape", "math_inline", _inline)
    interrupts = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("fence", "math_block", _block, interrupts)  # type: ignore[arg-type]


def formula_end(text: str, begin: int, limit: int) -> int:
    """Return where the formula that begins at `begin` ends; 0 where none does."""
    if (found := _OPENING.match(text, begin, limit)) is None:
        return 0
    opening = found[0]
    end = _closed(text, opening, found.end(), min(limit, begin + _LONGEST))
    inner = text[found.end() : end - len(_closing(opening))] if end else ""
    if not inner.strip():
        return 0
    if opening.startswith("$"):
        return end if _is_math(text[:begin][-1:], opening, inner, text, end) else 0
    if opening.startswith("\\begin") or _COMMAND.search(inner):
        return end
    # Brackets that are escaped to be brackets: round words, round a note's number, before an address.
    inner, after = inner.strip(), text[end : end + 1]
    noted = opening.endswith("[") and (_FOOTNOTE.fullmatch(inner) or after in ("(", "[", ":"))
    return 0 if noted or _WORDS.search(inner) or _ONE_WORD.fullmatch(inner) else end


def _inline(state: StateInline, silent: bool) -> bool:
    """Take a formula at the parser's place, as text if it has an active command; return whether there is one."""
    if not (end := formula_end(state.src, state.pos, state.posMax)):
        return False
    source = state.src[state.pos : end]
    if not silent:
        active = _ACTIVE.search(source)
        state.push("text" if active else "math_inline", "", 0).content = source if active else _single(source)
    state.pos = end
    return True


def _block(state: StateBlock, begin: int, end: int, silent: bool) -> bool:
    """Take a displayed formula on lines of its own, which may look like other Markdown; return whether there is one."""
    found = _OPENING.match(state.src, state.bMarks[begin] + state.tShift[begin], state.eMarks[begin])
    if found is None or found[0].endswith("(") or found[0] == "$" or state.is_code_block(begin):
        return False
    if silent and found[0] == "$$" and state.getLines(state.line, begin, 0, False).count("$$") % 2:
        return False  # it ends a formula of the paragraph that it would interrupt
    source, after = "", begin
    while after < end and len(source) <= _LONGEST and (state.isEmpty(after) or state.sCount[after] >= state.blkIndent):
        after += 1
        source = state.getLines(begin, after, state.sCount[begin], False)
        if closed := _closed(source, found[0], len(found[0]), len(source)):
            whole = source[closed:].strip() == "" and not _ACTIVE.search(source)
            apart = source.strip().startswith("$$\n") and source.strip().endswith("\n$$")
            if not whole or not (apart or formula_end(source, 0, closed)):
                return False
            break
    else:
        if not state.env.get(GROWING) or after < state.lineMax or len(source) > _LONGEST or _WORDS.search(source):
            return False
    if not silent:
        state.line = after
        token = state.push("math_block", "", 0)
        token.content, token.map = _single(source.strip()), [begin, after]
    return True


def _closing(opening: str) -> str:
    return _CLOSING.get(opening) or opening.replace("begin", "end", 1)


def _closed(text: str, opening: str, at: int, limit: int) -> int:
    """Return where a formula ends for MathJax: after its closing sign, outside braces; 0 if it never does."""
    closing = _closing(opening)
    braces = 0
    for found in re.compile(rf"{re.escape(closing)}|\\(?:[a-zA-Z]+|.)|[{{}}]", re.DOTALL).finditer(text, at, limit):
        if found[0] == closing and braces == 0:
            return found.end()
        braces += {"{": 1, "}": -1}.get(found[0], 0)
    return 0


def _single(source: str) -> str:
    """Return the formula with single backslashes at its ends: in Jupyter's own Markdown cells they are doubled."""
    return source[1:-3] + source[-2:] if source.startswith(("\\\\(", "\\\\[")) else source


def _is_math(before: str, opening: str, inner: str, text: str, end: int) -> bool:
    """Return whether what is between two dollars is a formula, and not money or code."""
    if (_ALNUM.match(before) and not (before.isdigit() and inner.startswith("\\"))) or before == "$":
        return False
    if inner[0] == "$" or (_NAME.match(text, end) and not _ORDINAL.match(text, end)):
        return False
    if _WORDS.search(inner) and not _COMMAND.search(inner):
        return False
    spaces = inner[0].isspace() + inner[-1].isspace()
    if opening == "$$":
        return not spaces or bool(_SIGN.search(inner)) or len(inner.strip()) == 1
    if _AMOUNT.match(inner) and not _SUM.search(inner):
        return False
    return inner[-1] not in "(,:;/=" and (not spaces or (spaces == 2 and bool(_SIGN.search(inner))))
