"""The flush: before a part of the thread leaves the prompt, what should outlast it goes into the daily note.

The model is asked once, silently, and runs no tool: of its answer items of a list or a table count, labelled lines, and
lines below a heading, and so do calls of the tool `note`; other calls do not. Where its answer holds none of these (prose
is mostly chatter), or no model answers, rules choose.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage, get_buffer_string

from deepnb.backends.writer import to_ask_about, writer, writing
from deepnb.engine import keys
from deepnb.engine.compaction import Asked
from deepnb.engine.request import message_text, said_in
from deepnb.gate import credentials, redact
from deepnb.gate.own_words import MONTH, said
from deepnb.memory.daily import bare
from deepnb.memory.guarding import Facts, heard
from deepnb.memory.layers import note_path
from deepnb.values.answers import calls_among, split_thinking
from deepnb.values.errors import RefusedError
from deepnb.values.failures import NotOnTapeError
from deepnb.values.offload import Flush

PROMPT = Path(__file__).with_name("flush.md").read_text(encoding="utf-8").removesuffix("\n")

OPENING, CLOSING = "<leaving>", "</leaving>"
TOOL = "note"
_EMPTY = re.compile(
    r"(?i:\A\W*no[\W_]*(?:reply|flush)\W*\Z)"  # all it says, whatever stands round it
    r"|(?i:\A\W*no_(?:reply|flush)\b(?!@))"  # the first word, with a reason after it
)
_NOTHING = re.compile(rf"{_EMPTY.pattern}|\bNO_(?:REPLY|FLUSH)\b")
"""What a model answers where there is nothing to keep, in the forms in which models write it."""
_SIGN = rf"(?:[-*•+–·▪→☐☑✅]|\(?\d{{1,2}}(?:\)|\.(?!\s*(?i:{MONTH})))|[a-h]\))\s+|[(（]?\d{{1,2}}[、．)）]\s*|[①-⑳]\s*"  # 1. but not 3. Mai
_BULLET = re.compile(rf"\A\s*(?:(?:>\s*)+(?:{_SIGN})?|{_SIGN})(?:\[[ xX]\]\s+)?")
_LABEL = re.compile(r"\A(?:(?:\*\*|__)[^*\n]{1,60}?(?:[:：](?:\*\*|__)|(?:\*\*|__)\s*[:：])|[^\W\d_][\w' -]{1,24}[:：])\s*(?=\S)")  # fmt: skip
_ITEM = re.compile(rf"{_BULLET.pattern}|\s*\||\s*(?=\*\*|__){_LABEL.pattern[2:]}")  # **Decision:** keep it
# ## Results
_HEADING = re.compile(r"(?i)\s*(?!.*\b(?:sorry|can['’no]{1,3}t|unable|traceback)\b)(?:#{1,6}\s|\*\*[^*]+\*\*\W*\Z|.{1,100}[:：]\W*\Z)")  # fmt: skip
_RULE = re.compile(r"\s*\|[\s:|-]+\Z")
_CHATTER = re.compile(
    r"\W*no[_-](?:reply|flush)\b(?!@)|\W*(?:none|n/?a|nothing)\W*\Z|(?:there (?:is|was) )?nothing (?:is |was |else )?(?:to |worth |new\b|important)"
    r"|(?:i(?:'|’)m|i am) (?:sorry|an ai|unable|happy|glad)\b|sorry\b|as an ai\b|i (?:can(?:'|’)t|cannot|could not|couldn(?:'|’)t) (?:help|assist|do that|access|call|use|find|provide|comply|remember|store)"
    r"|(?:sure|certainly|of course|okay|absolutely|great)\b[!,.]|here (?:is|are|'s) (?:the|a|my|some|your)\b|(?:please )?let me know\b|thank(?:s| you)\b|you(?:'|’)re welcome|if you (?:need|want|would|have)\b"
    r"|(?:hi|hello)\b|(?:how|what) (?:can|may|would) (?:i|you)\b|i (?:have|will|'ll) (?:noted?|add(?:ed)?|saved?|call(?:ed)?)\b|[{}\[<`].*|.*[?？]\Z"
    r"|(?:hier (?:ist|sind)|sag(?:en sie)? (?:mir |uns )?bescheid|(?:es )?tut mir leid|entschuldig|gerne?\b[!,.]|keine?[rs]?\W*\Z)"  # Sag Bescheid
    r"|(?:voici|désolée?|je suis désolée?|n['’]hésite|bien sûr|aucune?\W*\Z|aquí (?:está|tienes?)|lo siento|no dud(?:es|e)|por supuesto|claro\b[!,.]|ningun[oa]\W*\Z)"  # Voici
    r"|(?:以下是|好的|抱歉|对不起|如(?:果)?(?:您|你)?(?:还)?(?:需要|有)|请随时|(?:暂?无|没有)\W*\Z)",  # 如果还需要
    re.IGNORECASE,
)
_MANY = 8
"""Words from which on a line can be one word repeated."""

_OFFERED = {TOOL: lambda: {"text": "string"}}
_ASKED = {" ".join(part.casefold().split()) for part in re.split(r"[.:,;\n]", PROMPT)}
"""The instructions in pieces, which a weak model repeats."""
_REDACTED = "[redacted: "

_MOST = 24
"""Lines of one flush."""
_LONGEST = 400
"""Characters of a line."""
_SHOWN = 2_000
"""Characters of today's note that the model is shown, from its end."""


class Flusher:
    """Writes a flush through a guarded backend."""

    def __init__(self, backend: Any, heard: Callable[[Mapping[str, Any]], Facts] = heard) -> None:
        """`heard` says who said what in a state."""
        self._backend = backend
        self._heard = heard

    def __call__(
        self, asked: Asked, going: Sequence[BaseMessage], state: Mapping[str, Any], at: str, *, by_hand: bool = False
    ) -> Flush | None:
        """Put down what is worth keeping of the messages that go; None where that was done before.

        `state` is that of the thread: what others ever said in it is not the user's word.
        `at` is the time as an ISO timestamp. A mark in the note tells which messages it was for, so
        that after a crash between the flush and its compaction it is not made twice. One made `by_hand`
        goes with no compaction, and is marked by all they say: the next compaction has its own.
        """
        file = note_path(at)
        note = (self._backend.download_files([file])[0].content or b"").decode("utf-8", "replace")
        whole = "\n".join(f"{m.type} {message_text(m)}" for m in going)
        known = whole if by_hand else going[0].id or f"{going[0].type}\n{message_text(going[0])}"
        told = sha256(known.encode("utf-8", "surrogatepass")).hexdigest()[:12]
        mark = f"<!-- flush {'by hand ' * by_hand}{told} -->"
        if mark in note:
            return None
        lines, how = self._lines(asked, going, file, note)
        there = {bare(line) for line in note.splitlines()}
        new = [f"- {bare(line)[:_LONGEST]}" for line in dict.fromkeys(lines) if bare(line) and bare(line) not in there]
        new, facts = new[:_MOST], self._heard(state)
        with writing(origin="flush", heard=lambda: facts):  # the guard refuses or holds what is odd
            asks = to_ask_about(file, new, lambda: facts)
            odd = [line for line in new if line in asks or credentials(line)]
            good = [line for line in new if line not in odd]
            text = "\n".join([*([""] if note else []), f"## {at[11:16]} {mark}", *good])
            if good and (problem := self._backend.append(file, text)):
                raise RefusedError(problem.removeprefix("Error: "))
            for line in odd:
                self._backend.append(file, line)
        return Flush(file, tuple(good), how)

    def _lines(self, asked: Asked, going: Sequence[BaseMessage], file: str, note: str) -> tuple[list[str], Any]:
        """Return (lines worth keeping, who chose them)."""
        already = f"\nThe note so far ends with:\n<note>\n{note[-_SHOWN:]}\n</note>\n" if note else ""

        def question(messages: str) -> str:
            return PROMPT.format(file=file, already=already, opening=OPENING, closing=CLOSING, messages=messages)

        try:
            if (answer := asked.above(keys.FLUSH_SOURCE, question)) is None:
                text = redact(get_buffer_string(list(going), format="xml"))
                answer = asked.alone(keys.FLUSH_SOURCE, question(text))
        except NotOnTapeError:
            raise
        except Exception:
            return _by_rule(going), "rules"
        calls = [call["args"] for call in answer.tool_calls if call["name"] == TOOL]
        text = split_thinking(message_text(answer))[1]
        given = [call.get("text", "") for call in calls or [args for _, args in calls_among(text, _OFFERED)]]
        if not given and not _EMPTY.match(text):  # an answer that calls nothing puts down its items
            given = _items([line for line in text.splitlines() if line.strip()])
        found = "\n".join(str(one) for part in given for one in (part if isinstance(part, list) else [part]))
        clean = [_cells(_BULLET.sub("", line).strip()) for line in _clean(found)]
        lines = [line for line in clean if not (_is_junk(line) or _is_junk(_LABEL.sub("", line)))]
        if not lines and not calls and not _NOTHING.search(text):
            return _by_rule(going), "rules"
        return lines, "model"


def _items(lines: Sequence[str]) -> list[str]:
    """Return the lines that are items of a list or a table, but for its head; where none is, all labelled or below headings."""
    heads = {line for line, below in pairwise(lines) if _RULE.match(below)}
    items = [line for line in lines if _ITEM.match(line) and line not in heads]
    if items or len(lines) < 2 or not (all(map(_LABEL.match, lines)) or (len(lines) > 2 and _HEADING.match(lines[0]))):
        return items
    return [line for line in lines if not _HEADING.match(line)]


def _cells(line: str) -> str:
    """Return a line; a row of a table (`| March | 1,912 |`) as `March: 1,912`."""
    cells = [cell for one in line.strip("|").split("|") if (cell := one.strip())] if line.startswith("|") else []
    return ": ".join(filter(None, (cells[0], ", ".join(cells[1:])))) if cells else line


def _is_junk(line: str) -> bool:
    """Return whether a line puts down nothing: chatter, a question, a bit of the instructions, a repetition."""
    words = line.casefold().split()
    repeats = len(words) >= _MANY and len(set(words)) < len(words) / 3
    return repeats or not re.search(r"\w", line) or bool(_CHATTER.match(line)) or " ".join(words).rstrip(".") in _ASKED


def _clean(text: str) -> list[str]:
    """Return the lines of a text that hold no part of a credential, which may go over several of them."""
    return [line for line in redact(text).splitlines() if _REDACTED not in line]


def _by_rule(going: Iterable[BaseMessage]) -> list[str]:
    """Return the sentences of these messages that the rules take for worth keeping; in those of a nested agent none."""
    texts = [] if writer().origin == "agent" else ["\n".join(_clean(said_in(m))) for m in going]
    return [*dict.fromkeys(sentence for text in texts for _, sentence in said(text))]
