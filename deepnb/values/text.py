"""Short texts: a value in one line, text as a terminal leaves it, moments, and a magic's command as Python."""

import heapq
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

MOST = 240
"""Characters of such a line."""


def short_repr(value: object, words: str) -> str:
    """`<Turn 2 of main: ...>`: the value's class, then `words`; what can't be printed or turns the line is �."""
    line = "".join(char if char.isprintable() else "\ufffd" for char in excerpt(words, MOST))
    return f"<{type(value).__name__} {line}>"


def excerpt(text: str, most: int = 48) -> str:
    """`text` on one line of at most `most` characters, ending in … where something was left out."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most and len(text) <= 4 * most else f"{line[: most - 1]}…"


# -- A tuple that shows itself as one thing: threads as their tree, diffs as a diff

T = TypeVar("T")
_ITEMS = 4


class Listing(tuple[T, ...]):
    """A tuple in all respects but how it is shown."""

    __slots__ = ()

    def __repr__(self) -> str:
        more = [f"and {len(self) - _ITEMS:,} more"] if len(self) > _ITEMS else []
        return short_repr(self, ", ".join([*map(repr, self[:_ITEMS]), *more]) or "(empty)")


# -- Text as a terminal leaves it standing: what was overwritten is gone, and colours are

_ESCAPES = r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"


def terminal_text(text: str) -> str:
    """Without escape sequences; of a line with carriage returns what was written last, as of a progress bar."""
    if "\x1b" in text:
        text = re.sub(_ESCAPES, "", text)
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


# -- Moments as they are written down


def whole(text: str) -> str:
    """Return a text in which halves of characters that take two (lone surrogates) are U+FFFD: no file, request or table could hold them."""
    try:
        _ = text.isascii() or text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def json_text(value: Any, **how: Any) -> str:
    """Return JSON that any file can hold: characters as they are, but for half of one, which is written as its number."""
    import json  # which compiles patterns

    text = json.dumps(value, ensure_ascii=False, **how)
    return text if whole(text) is text else json.dumps(value, **how)


def whole_value(value: Any) -> Any:
    """Return a JSON-like value whose texts, and keys, are whole; the same object where they are."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, dict):
        made = {whole_value(key): whole_value(item) for key, item in value.items()}
        return value if made == value else made
    return rebuilt(value, whole_value) if type(value) in (list, tuple) else value


def rebuilt(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a mapping, sequence or dataclass with each value in it changed; the same object where none is, or it is another."""
    if isinstance(value, Mapping):
        made = {key: change(item) for key, item in value.items()}
        return made if any(made[key] is not item for key, item in value.items()) else value
    if isinstance(value, list | tuple):
        items = [change(item) for item in value]
        if all(a is b for a, b in zip(items, value, strict=True)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if is_dataclass(value) and not isinstance(value, type):
        held = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        changed = {name: new for name, old in held.items() if (new := change(old)) is not old}
        return replace(value, **changed) if changed else value
    return value


def moment(at: str) -> float:
    """Return seconds since 1970 of an ISO timestamp, 0 for other texts: where clocks go back, text does not sort by time."""
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0


def in_turn(places: Iterable[Iterable[T]], at: Callable[[T], str]) -> list[T]:
    """Return what several places tell, by time; what one place tells stays in its order, whatever its clock did."""
    return list(heapq.merge(*places, key=lambda one: moment(at(one))))


def as_word(text: str) -> str:
    """Return a name of a file as one word of a magic's line: in quotes where it has blanks."""
    return f'"{text}"' if any(map(str.isspace, text)) else text


# -- What a magic's command is in Python: the magics only call methods of a session

_METHODS = (
    ("%agent", "session.{}", "jobs threads turns"),
    ("%agent", "session.{}()", "budget compact history models undo"),
    ("%agent", "session.{}({{}})", "export fork key new package persist record replay resume rewind switch use"),
    ("%memory", "session.memory.{}", "sources"),
    ("%memory", "session.memory.{}()", "flush log pending promote"),
    ("%memory", "session.memory.{}({{}})", "add daily forget keep revert save search"),
    ("%skills", "session.skills.{}({{}})", "add disable enable new remove show validate"),
)
"""Commands that are called in Python what they are called in a magic: the magic, the call, their names."""

CALLS = {
    **{f"{magic} {name}": call.format(name) for magic, call, names in _METHODS for name in names.split()},
    "%agent": "session",
    "%agent PROMPT": "session.run(PROMPT)",
    **dict.fromkeys(("%agent approve", "%agent approve 1"), "session.resume(session.asked[0].approve())"),
    "%agent approve all": "session.resume([call.approve() for call in session.asked])",
    "%agent edit": "session.resume(session.asked[0].edit({}))",
    "%agent export --yes": "session.export({}, overwrite=True)",
    "%agent history --bring": "session.bring_back({})",
    "%agent jobs join": "session.switch(session.jobs.job({}).thread)",
    "%agent jobs stop": "session.jobs.job({}).stop()",
    "%agent mount": "session.mount({}, {})",
    "%agent mount --yes": "session.mount({}, {}, whole=True)",
    "%agent open": "deepnb.open_session({})",
    "%agent package --yes": "session.package({}, write=True)",
    "%agent panel approvals": "session.asked[0].args",
    "%agent record --yes": "session.record({}, overwrite=True)",
    "%agent record stop": "session.recording.stop()",
    **dict.fromkeys(("%agent reject", "%agent reject 1"), "session.resume(session.asked[0].reject({}))"),
    **dict.fromkeys(("%agent resume 1 JSON", "%agent resume JSON"), "session.resume(session.asked[0].answer(VALUE))"),
    "%agent subagents": "session.subagents.show({})",
    "%agent subagents add": "session.subagents.new({})",
    "%agent subagents add --yes": "session.subagents.new({}, replace=True)",
    "%agent tools": "session.approvals",
    "%agent tools ask": "session.approvals.rule({}, 'ask')",
    "%agent tools add": "session.tools.add({})",
    "%agent tools deny": "session.approvals.rule({}, 'deny')",
    "%agent tools remove": "session.tools.remove({})",
    "%agent use?": "help(session.use)",
    "%agent use --base-url": "session.models({})",
    "%memory": "session.memory.text()",
    "%memory diff": "session.memory.diff({}, {})",
    "%memory rm": "session.memory.remove({})",
    "%memory save --yes": "session.memory.save({}, overwrite=True)",
    "%memory show": "session.memory.read({})",
    "%memory sources add": "session.memory.add_source({})",
    "%memory sources remove": "session.memory.remove_source({})",
    "%%memory": "session.memory.write({}, TEXT)",
    "%skills": "session.skills.list()",
    "%skills add --yes": "session.skills.add({}, replace=True)",
    "%skills pin": "session.skills.pinned",
    "%%skills": "session.skills.write({}, TEXT)",
    "%config DeepNB.window =": "session.configure(max_input_tokens={})",
    "%pip install": "pip install",
}
"""A command as it is typed -> the same in Python; `{}` is for what follows it."""

_WORDS = """
a above an adds and approves as asks brings compares continues creates ends fixes follows for gives goes if instead is keeps
lists makes names or overwrites plays proposes reads rejects removes replaces restores runs says sets shows starts takes
then to undoes with writes
"""
"""Words of a sentence, which end what belongs to a command."""


@cache
def _given() -> re.Pattern[str]:
    """Return the pattern of what a command is given: ` b` | ` "my b.db"` | ` {"name": VALUE}` | ` --at N` | ` --empty`."""
    value = rf"""(?!--|(?:{"|".join(_WORDS.split())})\b)("[^"]*"|'[^']*'|{{.*}}|[^\s,;()]*[^\s,;:()])"""
    return re.compile(rf" (?:(--[\w-]+)(?: {value})?|{value})")


def in_python(line: str) -> str:
    """Return a line with its magics as calls of a session: `%agent new b starts it` -> `session.new('b') starts it`."""
    done, at = "", 0
    while "%" in line and (found := _commands().search(line, at)):
        call, end = _call(found[0], line, found.end())
        done, at = f"{done}{line[at : found.start()]}{call}", end
    return done + line[at:]


@cache
def _commands() -> re.Pattern[str]:
    names = "|".join(re.escape(name) for name in sorted(CALLS, key=len, reverse=True))
    return re.compile(rf"(?<!%)(?:{names})(?![\w?])")


def _call(command: str, line: str, at: int) -> tuple[str, int]:
    """Return what a command is in Python with what it is given from that place on, and where that ends."""
    call, places = CALLS[command], list[str]()
    if command in ("%agent", "%memory", "%skills") and _given().match(line, at):  # a subcommand that Python has not got
        return command, at
    named, most = "", call.count("{}")
    while most and (found := _given().match(line, at)) and (found[1] or len(places) < most):
        if found[1]:
            named += f", {found[1].lstrip('-').replace('-', '_')}={_argument(found[2] or 'True')}"
        else:
            places.append(_argument(found[3]))
        at = found.end()
    if command == "%agent use" and places and (places[0] == "URL" or "://" in places[0]):
        call = "session.attach({})"
    call = call.replace("{}", "\0", len(places)).replace(", {}", "").replace("{}", "")
    for one in places:
        call = call.replace("\0", one, 1)
    return (f"{call.removesuffix(')')}{named})".replace("(, ", "(") if named else call), at


def _argument(word: str) -> str:
    """Return a number, JSON, and the name of what is to be filled in as they are, anything else as text."""
    if word.isdigit() or word == "True" or word[0] == "{" or re.fullmatch(r"[A-Z][A-Z.:|\[\]]*", word):
        return word
    return repr(word.strip("\"'"))
