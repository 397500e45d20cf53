"""The input transformer that takes the lines of %agent, %memory and %skills before IPython reads a help request.

IPython turns any line that ends in `?` into a call of its help, joins lines at a trailing backslash, and expands
nothing of a prompt as typed. One class more among the shell's token transformers, before the others in the same
place, is all it takes: IPython hands over one logical line after the other, so text in a string, in brackets or in
the body of a cell magic is never seen here. `%agent?`, `%agent new?` and `?%agent` become `%agent help [new]`.
"""

import re
import tokenize
from collections.abc import Sequence
from typing import Any, Self

from IPython.core.inputtransformer2 import TokenTransformBase, _find_assign_op

from deepnb.magics.usage import LEFT_OUT, MAGICS, subcommand

_NAMES = "|".join(MAGICS)
_CALL = re.compile(rf"%({_NAMES})(?=\s|$)(.*)", re.DOTALL)
_HELP_AFTER = re.compile(rf"%{{1,2}}({_NAMES})(?:[ \t]+(\w+))?\?\??\s*")
_HELP_BEFORE = re.compile(rf"\?\??[ \t]*%{{1,2}}({_NAMES})(?:[ \t]+(\w+))?\s*")
_OURS = re.compile(rf"\?{{0,2}}%{{1,2}}({_NAMES})")
"""At most two `?`, one or two `%` and the name of one of our magics."""


class AgentLine(TokenTransformBase):
    """One line of our magics in a cell, found by tokens and rewritten."""

    # In the same place IPython's help has 5, its magics 10; the lowest goes first.
    priority = 1

    def __init__(self, line_start: tuple[int, int], start: tuple[int, int]) -> None:
        super().__init__(line_start)  # where IPython's help sees an assignment, too
        self.row, self.col = start[0] - 1, start[1]

    @classmethod
    def find(cls, tokens_by_line: Sequence[Sequence[Any]]) -> Self | None:
        """Return the first of our lines in a cell, or None."""
        for tokens in tokens_by_line:
            first = next((i for i, t in enumerate(tokens) if t.type not in (tokenize.INDENT, tokenize.DEDENT)), 0)
            for start in (first, (_find_assign_op(tokens) or -1) + 1):
                if _OURS.match("".join(token.string.strip() for token in tokens[start : start + 9])):
                    return cls(tokens[first].start, tokens[start].start)
        return None

    def transform(self, lines: list[str]) -> list[str]:
        """Return the cell with this line as a Python call. Raise SyntaxError, so that IPython goes on, if it is none."""
        end = self.row
        while end + 1 < len(lines) and not lines[end].endswith("\n"):
            end += 1  # str.splitlines parts at form feeds and the like, too: they belong to the prompt
        text = "".join(lines[self.row : end + 1])
        typed = text[self.col :]
        found, about = _CALL.match(typed), _HELP_AFTER.fullmatch(typed) or _HELP_BEFORE.fullmatch(typed)
        if about and (about[2] is None or subcommand(*about.groups()) or f"%{about[1]} {about[2]}" in LEFT_OUT):
            magic, argument = about[1], f"help {about[2] or ''}".strip()
        elif found:
            magic, argument = found[1], found[2].strip()
        else:
            raise SyntaxError(text)
        call = f"{text[: self.col]}get_ipython().run_line_magic({magic!r}, {argument!r})\n"
        # Where `%%agent?` heads a cell, the body below is a prompt and no Python.
        body = lines[end + 1 :] if self.row or not text.startswith("%%") else []
        return [*lines[: self.row], call, *body]


def install(ip: Any) -> None:
    """Put the transformer in front of a shell's own; a second time changes nothing."""
    uninstall(ip)
    ip.input_transformer_manager.token_transformers.insert(0, AgentLine)


def uninstall(ip: Any) -> None:
    """Take the transformer out again, also one that an earlier import of this module put there."""
    transformers = ip.input_transformer_manager.token_transformers
    transformers[:] = [t for t in transformers if (t.__module__, t.__name__) != (__name__, AgentLine.__name__)]
