"""The teaching model as a LangChain chat model: its intents, and the next move, streamed token by token."""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.base import LangSmithParams
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.language_models.model_profile import ModelProfile
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

from deepnb.engine.request import message_text, pieces
from deepnb.models.keys import OFFLINE_WINDOW
from deepnb.models.teaching import answers, code, memory, recall, skills, talk
from deepnb.models.teaching.conversation import Conversation, conversation
from deepnb.models.teaching.talk import Intent, Use, asks, plan
from deepnb.values.agent import TASK
from deepnb.values.tokenizer import count, tokens

HEAD = "Traceback (most recent call last):"
_PLACE = re.compile(r"  (?P<place>(?:Cell|File)\b[^\n]*?), line (?P<line>\d+)(?:, in .*)?")  # Cell In[3], line 2
_CODE = re.compile(r"    [> ] +(?P<number>\d+) \|(?: (?P<text>.*))?")  # >   2 | x = 1
_VARIABLE = re.compile(r"      (?P<name>[^\s:][^:]*): (?P<what>\S.*)")  # df: DataFrame, 3 rows
_MESSAGE = re.compile(r"(?P<kind>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?")  # KeyError: 'a'
_NEAR = re.compile(r"(?P<word>\S.*) is near (?P<name>.+), an? (?P<kind>[a-z ]+?)(?: of (?P<owner>.+))?")
_WHOLE = re.compile(r"^(?P<place>Cell[^\n:]*):\n```python\n(?P<code>.*?)\n```$", re.MULTILINE | re.DOTALL)
_ASKS_FOR_A_CELL = re.compile(r"\b(?:correct|fix|repair)\b[^.]{0,40}\bcell\b", re.IGNORECASE)  # correct the cell
_PACKAGES = {
    "cv2": "opencv-python", "sklearn": "scikit-learn", "skimage": "scikit-image", "yaml": "PyYAML", "PIL": "Pillow",
    "bs4": "beautifulsoup4", "dotenv": "python-dotenv", "dateutil": "python-dateutil", "serial": "pyserial", "docx": "python-docx",
}  # fmt: skip
"""Modules whose package has another name. No other is told how to install: a mistyped name may be somebody's trap."""
_NO_CELL = "I can't give a corrected cell:"


@dataclass(frozen=True)
class Failure:
    """An error as a prompt tells it, at the user's frame that is nearest to it."""

    kind: str
    message: str
    near: Mapping[str, str] = field(default_factory=dict)
    """A mistyped word, the name it is near to, what kind of name that is, and of what."""
    cells: tuple[tuple[str, str], ...] = ()  # (place, code) of the cells that are given as a whole
    place: str = ""
    line: int = 0
    text: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)  # name -> what it is, as `list, 2 items`

    def shown(self, name: str) -> str:
        """Return a variable and what it is: `values` (list, 0 items)."""
        return f"`{name}` ({self.variables[name]})" if name in self.variables else f"`{name}`"

    def replaced(self, old: str, new: str) -> str:
        """Return the failing line with one name in place of another; empty if the name is not on it."""
        bare = old[:1].isalnum() or old[:1] == "_"
        line = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)" if bare else re.escape(old), lambda _: new, self.text)
        return line if line != self.text else ""


def explain(c: Conversation, f: Failure) -> str:
    """Return which line fails and why, and the line or the cell as it is right."""
    said = f"{f.kind}: {f.message}" if f.message else f.kind
    if not f.line:
        return f"The error is {said}. It came from no line of your own code that I can see, so I can't explain it."
    why, corrected, advice = _finding(f)
    where = f"Line {f.line} of {f.place} fails with {said}:"
    if not f.cells or not _ASKS_FOR_A_CELL.search(c.request.partition(HEAD)[0]):
        right = f"\n\nCorrected:\n\n```python\n{corrected.strip()}\n```" if corrected else f" {advice}".rstrip()
        return f"{where}\n\n```python\n{f.text.strip()}\n```\n\n{why}{right}"
    where = f"{where} `{f.text.strip()}`. {why}\n\n"  # its one block is the cell
    if not corrected:
        return f"{where}{_NO_CELL} the error does not say what is meant. {advice}".rstrip()
    for place, cell in f.cells:
        lines = cell.split("\n")
        for at in (f.line - 1, f.line):  # below a cell magic each line is one further down
            if place == f.place and at < len(lines) and lines[at].strip() == f.text.strip():
                lines[at] = corrected
                return f"{where}The corrected cell:\n\n```python\n" + "\n".join(lines) + "\n```"
    file = f.place.removeprefix("File ")
    return f"{where}{_NO_CELL} the line that fails is in {file}. Write `{corrected.strip()}` there."


_SAYINGS = r"""
name '(np|pd|plt|sns)' is not defined :: `{0}` is not imported in this notebook. :: Import its library first, as by `import pandas as pd`.
name '(\w+)' is not defined :: `{0}` is not defined. :: Run the cell that defines `{0}` first.
local variable '(\w+)' :: `{0}` is a variable of this function, and has no value yet. :: Set it first; `global {0}` is the notebook's.
No module named '(\w+) :: There is no module `{0}` here. :: Check its spelling; install a package only if you know its name.
'?NoneType'? :: A value here is None. :: Methods such as `list.sort()` change their list and return None.
can only concatenate str :: A text can only be joined to a text. :: Convert the number, as by `str(...)`.
unsupported operand|not supported between :: Values of two types meet here. :: Convert one, as by `int(...)`.
No such file or directory: (.+) :: There is no file {0}. :: `import os; os.getcwd()` is the folder that a path starts from.
Can only use \.dt accessor :: `.dt` needs dates, and the column holds other values. :: Convert it first: `pd.to_datetime(...)`.
float NaN to integer|convert non-finite :: A missing value (NaN) can't be a whole number. :: Use `fillna(0)`, or the type `Int64`.
(?:invalid literal|could not convert string) .*: (.+) :: The text {0} is no number. :: `pd.to_numeric(..., errors="coerce")` leaves out such.
shapes \(|core dimension|same length|match length of|cannot reshape :: The sizes don't fit. :: `.shape` and `len(...)` tell them.
truth value of :: It is true or false for each value, and one answer is needed. :: Use `&` and `|` with brackets, or `.any()`.
out of (?:range|bounds) :: There is no item with that number. :: Numbers of items begin with 0: the last is one less than the length.
division by zero|modulo by zero|divide by zero :: The divisor is 0. :: Make sure that it is not 0 before this line.
"""
"""What a message means, and what to do about it."""
_RULES = [tuple(line.split(" :: ")) for line in _SAYINGS.strip().splitlines()]


def _finding(f: Failure) -> tuple[str, str, str]:
    """Return (why the line fails, the line as it is right, what to do); the line is empty if the error does not say."""
    shown = " and ".join(map(f.shown, list(f.variables)[:3]))
    here = f" Here: {shown}." if shown else ""
    if f.near and f.kind != "ModuleNotFoundError":  # a key, column, name, attribute, parameter or file
        word, name, kind = f.near["word"].strip("'\""), f.near["name"].strip("'\""), f.near["kind"]
        owner = f.near["owner"] if "import" not in f.message else ""
        has = f"{f.shown(owner)} has no {kind}" if owner else f"There is no {kind}"
        pairs = ((f'"{word}"', f'"{name}"'), (f"'{word}'", f"'{name}'"), (f".{word}", f".{name}"), (word, name))
        line = next((line for old, new in pairs if (line := f.replaced(old, new))), "")
        said = f.near["word"] if kind == "key" else f"`{word}`"
        return f"{has} {said}; the nearest {kind} is {f.near['name']}.", line, ""
    for pattern, why, advice in _RULES:
        if match := re.search(pattern, f.message):
            groups = [group or "" for group in match.groups()]
            package = _PACKAGES.get("".join(groups), "") if f.kind == "ModuleNotFoundError" else ""
            do = f"Install {package}, its package: `%pip install {package}`." if package else advice.format(*groups)
            # the one number that is joined to a text is made one
            numbers = [name for name, what in f.variables.items() if what.partition(",")[0] in ("int", "float")]
            joined = "can only concatenate str" in f.message and len(numbers) == 1
            return why.format(*groups) + here, f.replaced(numbers[0], f"str({numbers[0]})") if joined else "", do
    if f.kind == "KeyError":
        return f"There is no key {f.message}.{here}", "", "Check it against those that are there."
    if f.text.strip().startswith("raise"):
        return f"Your own code raises this error here.{here}", "", ""
    return f"{here} I am a rule-based model and have no rule for this error.".strip(), "", ""


def read_failure(text: str) -> Failure | None:
    """Return the last traceback in a text, with the cells below it; None if no traceback can be read."""
    start = text.rfind(HEAD)
    lines = text[start:].split("\n")[1:] if start >= 0 else []
    end = next((i for i, line in enumerate(lines) if line and not line.startswith(" ")), None)
    if end is None or (message := _MESSAGE.fullmatch(lines[end])) is None:
        return None
    below = [line.strip() for line in lines[end + 1 :]]
    remarks = below[: below.index("")] if "" in below else below
    near = next((m.groupdict("") for one in remarks if (m := _NEAR.fullmatch(one))), {})
    cells = tuple((m["place"], m["code"]) for m in _WHOLE.finditer(text[start:]))
    failure = Failure(message["kind"], message["message"] or "", near, cells)
    places = [(i, m) for i, line in enumerate(lines[:end]) if (m := _PLACE.fullmatch(line))]
    for (at, place), (below_it, _) in zip(places, [*places[1:], (end, None)], strict=True):  # the last with its code
        body = lines[at + 1 : below_it]
        shown = {m["number"]: m["text"] or "" for line in body if (m := _CODE.fullmatch(line))}
        others = [m for line in body if not _CODE.fullmatch(line) and (m := _VARIABLE.fullmatch(line))]
        if shown:
            variables = {m["name"]: m["what"] for m in others}
            text = shown.get(place["line"], "")
            failure = replace(failure, place=place["place"], line=int(place["line"]), text=text, variables=variables)
    return failure


# -- The teaching model as a LangChain chat model: the next move, streamed token by token

NAME = "offline"

INTENTS = (
    Intent("compact", recall.wants_compaction, lambda _, said: recall.summary(recall.digest(said))),
    Intent("flush", recall.wants_flush, recall.put_down),
    Intent("explain an error", lambda c: read_failure(c.request), explain),
    Intent("delegate", skills.wants_delegation, skills.delegate),
    Intent("remember a file", asks(*memory.REMEMBER_FILE), memory.remember_file),
    Intent("note", asks(*memory.NOTE, tool="note"), memory.note),
    Intent("search memory", asks(*recall.SEARCH), recall.search),
    Intent("remember", memory.wants_remember, memory.remember),
    Intent("forget", asks(*memory.FORGET), memory.forget),
    Intent("write a file", memory.wants_write, memory.write_file),
    Intent("read a file", asks(*memory.READ), memory.read_file),
    Intent("list files", asks(*memory.LIST), memory.list_files),
    Intent("list skills", asks(*skills.LIST), skills.list_skills),
    Intent("recall", asks(*recall.RECALL), recall.recall),
    Intent("who", asks(*talk.WHO), talk.who),
    Intent("call a tool", skills.wants_call, skills.call),
    Intent("use a skill", skills.wants_skill, skills.follow_skill),
    Intent("compute", code.wants_code, code.compute),
    Intent("ask of a table", answers.wants_table, code.ask),
    Intent("recall about the user", asks(*recall.OF_THE_USER), recall.recall),
    Intent("recall by words", recall.wants_matching, recall.recall_matching),
    Intent("thanks", asks(talk.THANKS), partial(talk.say, "thanks")),
    Intent("hello", asks(talk.GREETING), partial(talk.say, "hello")),
    Intent("ask of any table", answers.wants_any_table, code.ask),
    Intent("knowledge", asks(*talk.QUESTION), partial(talk.say, "nothing")),
    Intent("confess", lambda c: c.request, talk.confess),
)
"""All that the teaching model can do, in the order in which it is tried: one row each."""


class TeachingModel(BaseChatModel):
    """A rule-based chat model: no LLM, no network, the same answer to the same messages.

    Usage is exact by its own tokenizer (`deepnb.values.tokenizer`).
    """

    window: int = OFFLINE_WINDOW
    """The context window it declares, in tokens."""
    delay: float = 0.0
    """Seconds between two tokens, for demonstrations."""

    @property
    def _llm_type(self) -> str:
        return "deepnb-teaching"

    def _resolve_model_profile(self) -> ModelProfile:
        return ModelProfile(max_input_tokens=self.window, tool_calling=True, text_inputs=True, text_outputs=True)

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any) -> Any:
        """Return the model with tools it may call. `tool_choice` is not followed: rules decide."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
        """Raise NotImplementedError: rules fill no schema."""
        raise NotImplementedError("the teaching model follows rules and can't fill a schema: use a model of a provider")

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        return LangSmithParams(ls_provider="deepnb", ls_model_name=NAME, ls_model_type="chat")

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        tools = kwargs.get("tools") or ()
        schemas = {str(schema.get("name", "")): schema for schema in (tool.get("function", tool) for tool in tools)}
        listed = str(schemas.get(TASK, {}).get("description", "")).partition("Available agent types")[2]
        agents = re.findall(r"^- ([\w-]+): ", listed, re.MULTILINE)
        parameters = {name: dict((s.get("parameters") or {}).get("properties") or {}) for name, s in schemas.items()}
        move = plan(conversation(messages, parameters, agents), INTENTS)
        written = 0
        for chunk, text in _chunks(move, messages):
            written += text
            if self.delay:
                time.sleep(self.delay)
            yield ChatGenerationChunk(message=chunk)
        read = sum(count(piece.text) + piece.extra for piece in pieces(messages, tools))
        usage = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
        told: dict[str, Any] = {"usage_metadata": usage, "response_metadata": {"model_name": NAME}}
        yield ChatGenerationChunk(message=AIMessageChunk(content="", chunk_position="last", **told))


def _chunks(move: str | Use, messages: Sequence[BaseMessage]) -> Iterator[tuple[AIMessageChunk, int]]:
    """Yield (chunk, tokens in it) of a move. The name and arguments of a call are counted as one text."""
    if isinstance(move, str):
        for token in tokens(move):
            yield AIMessageChunk(content=token), 1
        return
    args = json.dumps(dict(move.args), ensure_ascii=False)
    head = tool_call_chunk(name=move.tool, args="", id=call_id(messages), index=0)
    yield AIMessageChunk(content="", tool_call_chunks=[head]), count(move.tool + args) - count(args)
    for token in tokens(args):
        yield AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(args=token, index=0)]), 1


def call_id(messages: Sequence[BaseMessage]) -> str:
    """Return the id of the next tool call: a hash of all that came before.

    It holds the ids of the calls before it, and a summary the count of requests, so that asking the
    same again, also after a compaction, gives another id.
    """
    seen = sha256()
    for message in messages:
        calls = [c["id"] for c in message.tool_calls] if isinstance(message, AIMessage) else []
        seen.update(repr((message.type, message_text(message), calls)).encode("utf-8", "surrogatepass"))
    return f"call_{seen.hexdigest()[:12]}"
