"""What the text of a model's answer holds beside an answer: thinking in tags, and calls of tools.

A model that was not trained for the server's form of calls writes them as text. Such a text is read as calls only where
it is nothing else, and each call in it is of an offered tool.
"""

import ast
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from deepnb.gate.spans import regex

FROM_TEXT = "read_from_text_"
"""Begins the id of a call that was read from text."""

READ = "read from text"


def how_called(id_: str) -> str:
    """Return how a call was made, where it is out of the ordinary: `read from text`."""
    return READ if id_.startswith(FROM_TEXT) else ""


Offered = Mapping[str, Callable[[], Mapping[str, str]]]
Call = tuple[str, dict[str, Any]]
"""(name, arguments)."""

_TAGS = ("think", "thinking", "thought", "reasoning")
_OPEN = regex(rf"\s*<({'|'.join(_TAGS)})>")
_UNOPENED = regex(r"\A(?!\s*```).*?\n\s*</think>[ \t]*(?:\n|\Z)", re.DOTALL)  # the prompt of the server opened it

_MARK = regex(
    r"```(?:json|xml|text|tool|tool_?calls?|tool_code)?[ \t]*(?=\s|[\[{<]|\Z)"  # ```json
    r"|</?(?:tool_?calls?|function_?calls?|tools?|function|tool_code)>"  # <tool_call>
    r"|<\|/?[\w ]{1,40}\|>|<｜[\w▁ ]{1,40}｜>(?:function(?=<｜))?"  # <|python_tag|>, <｜tool▁sep｜>
    r"|\[/?(?:TOOL_CALLS?|ARGS)\]"  # [TOOL_CALLS]
)
_PART_OF_MARK = regex(r"`{1,2}|```\w{0,12}|<[/|｜]?[\w▁|｜ ]{0,42}|\[/?[A-Z_]{0,12}|<function=\w{0,80}")
_GAP = regex(r"[\s,;]*")
_NAME = regex(r"(?:functions?\.)?([\w-]{1,80})(?::\d+)?")  # functions.note:0
_XML = regex(r"<function=([\w-]{1,80})>")  # <function=note>
_PAIR = regex(
    r"(?s)<parameter=(\w+)>\n?(.*?)\n?</parameter>"  # <parameter=text>likes tea</parameter>
    r"|<arg_key>(\w+)</arg_key>\s*<arg_value>(.*?)</arg_value>",  # <arg_key>text</arg_key><arg_value>likes tea</arg_value>
)
_NAMES = ("name", "tool", "tool_name", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "params", "tool_input")
_INSIDE = ("function", "function_call", "tool_call", "tool_calls")
_BESIDE = {"id", "type", "index"}
_KEYS = {*_NAMES, *_ARGUMENTS, *_INSIDE, *_BESIDE}
_FIRST = regex(r"[\[\s]*\{\s*(?:[\"'](\w*)([\"'])?(?:\s*:\s*(?:[\"']([\w-]*)([\"'])?)?)?)?")  # {"name": "no


def split_thinking(text: str) -> tuple[str, str]:
    """Return (what the model thinks in tags at the beginning of a text, the rest)."""
    if opened := _OPEN().match(text):
        thought, _, rest = text[opened.end() :].partition(f"</{opened[1]}>")
        return thought.strip(), rest.lstrip()
    if unopened := _UNOPENED().match(text):
        return unopened[0].rstrip()[: -len("</think>")].strip(), text[unopened.end() :].lstrip()
    return "", text


class SpokenText:
    """The text of an answer as it is streamed: what is thought goes apart, and what may become a call is held back."""

    def __init__(self, offered: Collection[str]) -> None:
        self._offered = offered
        self._close = ""
        """The tag that ends the thought under way."""
        self._has_begun = self._has_thought = self._is_plain = False
        self._held = ""
        self.begun = False

    def add(self, text: str) -> Iterator[tuple[bool, str]]:
        """Give what can be shown with one more piece: (whether it is thought, text)."""
        self.begun = self.begun or bool(text)
        if self._is_plain:
            yield False, text
            return
        self._held += text
        if not self._has_begun:
            bare = self._held.lstrip()
            if any(f"<{tag}>".startswith(bare) for tag in _TAGS):
                return
            self._has_begun = True
            if opened := _OPEN().match(self._held):
                self._close, self._held = f"</{opened[1]}>", self._held[opened.end() :].lstrip()
                self._has_thought = True
        if self._close:
            thought, closed, rest = self._held.partition(self._close)
            if not closed:
                part = next((n for n in range(len(self._close), 0, -1) if thought.endswith(self._close[:n])), 0)
                thought, rest = thought[: len(thought) - part], thought[len(thought) - part :]
            self._held, self._close = rest, "" if closed else self._close
            if thought:
                yield True, thought
        if self._has_thought and not self._close:
            self._held = self._held.lstrip()
        if self._held and not self._close and not may_be_calls(self._held, self._offered):
            self._is_plain = True
            yield False, self.end()

    def end(self) -> str:
        """Return what is held back, as the text that it is."""
        held, self._held = self._held, ""
        return held


def may_be_calls(text: str, offered: Collection[str]) -> bool:
    """Return whether a text can still grow into calls of offered tools."""
    if not offered:
        return False
    at = _after_marks(text, 0)
    if not (rest := text[at:]) or _PART_OF_MARK().fullmatch(rest) or _XML().match(rest):
        return True
    if first := _FIRST().match(rest):
        key, ended, value, closed = first.groups()
        whole = first.end() < len(rest)
        if not ended:
            return not whole and any(one.startswith(key or "") for one in _KEYS)
        if key in _NAMES and value is not None:
            return value in offered if closed else not whole and any(name.startswith(value) for name in offered)
        return key in _KEYS
    bare = rest.lstrip("[ \n\t")
    if (name := _NAME().match(bare)) is None:
        return not bare
    if name.end() == len(bare):
        return any(one.startswith(name[1]) for one in (*offered, *(("functions",) if at else ())))
    fits = name[1] in offered or (at > 0 and name[1] in ("function", "functions"))
    return fits and (at > 0 or bare[name.end()] == "(")


def calls_in(text: str, offered: Offered) -> list[Call]:
    """Return the calls that a text is, in the forms in which models write them; none where it is anything else.

    `offered` gives for the name of a tool what says (name -> JSON type) of its parameters, in their order.
    """
    found: list[Call] = []
    at = 0
    try:
        while (at := _after_marks(text, at)) < len(text):
            at, calls = _read(text, at, offered, marked=at > 0)
            found += calls
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return []
    return found


# a fence, a tag with what it holds, a paragraph
_PIECE = regex(r"```[^\n]*\n.*?(?:```|\Z)|<(\w+)(?:=\w+)?>.*?</\1>|(?:^(?!```|<\w)[^\n]*\S[^\n]*(?:\n|\Z))+", re.DOTALL | re.MULTILINE)  # fmt: skip


def calls_among(text: str, offered: Offered) -> list[Call]:
    """Return the calls that a text holds, whatever stands beside them: for answers that nobody waits for."""
    if whole := calls_in(text, offered):
        return whole
    found = [call for piece in _PIECE().finditer(text) for call in calls_in(piece[0], offered)]
    return found or [call for line in text.splitlines() for call in calls_in(line, offered)]


def stands_in(call: Call, texts: Iterable[str]) -> bool:
    """Return whether a call is written down in one of these texts, in whichever form: its name, and each argument."""
    name = _bare(call[0])
    args = [_bare(f"{key}{json.dumps(value, ensure_ascii=False)}") for key, value in call[1].items()]
    heads = [*(f"{key}{name}" for key in _NAMES), *(f"{name}{key}{arg}" for arg in args for key in ("", *_ARGUMENTS))]
    for text in texts:
        held = _bare(text)
        named = any(head in held for head in heads) or (not args and f"{call[0]}()" in text)
        if named and all(arg in held for arg in args):
            return True
    return False


def _bare(text: str) -> str:
    """Return a text without what differs between the forms of a call: marks, quotes, brackets, white space, escapes."""
    return re.sub(r"</?arg_\w+>|:\d+(?=\{)|[\W_]|(?<=\\)[nrtu]", "", _MARK().sub("", text)).casefold()


def _after_marks(text: str, at: int) -> int:
    gap, mark = _GAP(), _MARK()
    while (end := (mark.match(text, start := gap.match(text, at).end()) or gap.match(text, start)).end()) > at:  # type: ignore[union-attr]
        at = end
    return at


def _read(text: str, at: int, offered: Offered, *, marked: bool) -> tuple[int, list[Call]]:
    """Return (where they end, the calls that begin here); a ValueError where none does."""
    if xml := _XML().match(text, at):
        end = text.find("</function>", xml.end())
        end, after = (len(text), len(text)) if end < 0 else (end, end + len("</function>"))
        body = text[xml.end() : end]
        args = json.loads(body) if body.strip()[:1] == "{" else _pairs(body, xml[1], offered)
        return after, [_named(xml[1], args, offered)]
    if text[at] == "{" or re.compile(r"\[\s*\{").match(text, at):
        value, end = _value(text, at)
        return end, [call for one in (value if isinstance(value, list) else [value]) for call in _of_json(one, offered)]
    name = _NAME().match(text, at)
    if marked and name and name[1] in offered and not text.startswith("(", name.end()):
        end = _after_marks(text, name.end())
        if text.startswith("{", end):
            value, end = _value(text, end)
            return end, [_named(name[1], value, offered)]
        stop = re.compile(r"</tool_call>|\Z").search(text, end)
        body = text[end : stop.start()] if stop else ""
        return stop.end() if stop else end, [_named(name[1], _pairs(body, name[1], offered), offered)]
    name = _NAME().match(text, at + 1) if text[at] == "[" else name
    if name is None or name[1] not in offered or not text.startswith("(", name.end()):
        raise ValueError
    return _of_python(text, at, offered)


def _value(text: str, at: int) -> tuple[Any, int]:
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, at)
    except ValueError:
        end = max(text.rfind("}"), text.rfind("]")) + 1
        return ast.literal_eval(text[at:end]), end


def _of_json(value: Any, offered: Mapping[str, Any]) -> list[Call]:
    if isinstance(value, list):
        return [call for one in value for call in _of_json(one, offered)]
    if not isinstance(value, Mapping):
        raise ValueError
    held = [key for key in value if key not in _BESIDE]
    if len(held) == 1 and held[0] in _INSIDE:
        return _of_json(value[held[0]], offered)
    names, arguments = [key for key in held if key in _NAMES], [key for key in held if key in _ARGUMENTS]
    if (len(names), len(arguments), len(held)) != (1, 1, 2):
        raise ValueError
    return [_named(value[names[0]], value[arguments[0]], offered)]


def _of_python(text: str, at: int, offered: Mapping[str, Any]) -> tuple[int, list[Call]]:
    """Return the calls `name(key="value")`, or a list of them, that the rest of a text is, but for a mark at its end."""
    end = max(text.rfind(")"), text.rfind("]") if text[at] == "[" else 0) + 1
    calls: list[Call] = []
    for statement in ast.parse(text[at:end]).body:
        node = statement.value if isinstance(statement, ast.Expr) else None
        for one in node.elts if isinstance(node, ast.List) else [node]:
            if not (isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in offered):
                raise ValueError
            names = list(offered[one.func.id]()) if one.args else []
            if len(one.args) > len(names) or any(keyword.arg is None for keyword in one.keywords):
                raise ValueError
            args = dict(zip(names, map(ast.literal_eval, one.args), strict=False))
            args |= {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in one.keywords}
            calls.append(_named(one.func.id, args, offered))
    if not calls:
        raise ValueError
    return end, calls


def _named(name: Any, args: Any, offered: Mapping[str, Any]) -> Call:
    """Return a call of an offered tool; a ValueError for any other, and where the arguments are the schema of them."""
    args = json.loads(args, strict=False) if isinstance(args, str) and args.strip() else args or {}
    if not isinstance(name, str) or name not in offered or not isinstance(args, dict):
        raise ValueError
    if "properties" in args and "properties" not in offered[name]():
        raise ValueError
    return name, {str(key): value for key, value in args.items()}


def _pairs(text: str, name: str, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that stand in tags of their own; those that are no texts are JSON."""
    if name not in offered or _PAIR().sub("", text).strip():
        raise ValueError
    types = offered[name]()
    args: dict[str, Any] = {}
    for one in _PAIR().finditer(text):
        key, value = one[1] or one[3], one[2] if one[1] else one[4]
        args[key] = value
        if types.get(key) != "string":
            with suppress(ValueError):
                args[key] = json.loads(value)
    return args
