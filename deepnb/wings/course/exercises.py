"""The exercises of the notebooks: what each asks for, looked for in the state of a session.

The source of a cell is never read: any way to get there counts. What is missing says what is not there, never what to
type for it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from deepnb.backends.journal import Entry
from deepnb.memory.layers import note_day
from deepnb.running.thread import Thread
from deepnb.session.session import Session
from deepnb.values.messages import BROUGHT_BACK, MEMORY_UPDATE
from deepnb.values.turn import Decided, ToolEnded, Turn

THREAD = "exercise"
"""The thread that the exercises ask to work in."""
NO_THREAD = f"there is no thread {THREAD}"
IN_THREAD = ("01", "02", "04")
"""The exercises that can't be begun without that thread."""
_NOTEBOOK_SKILLS = {"explore-dataframe", "clear-plot", "weekly-report", "demo"}
"""The skills that notebook 03 makes."""
_NOTEBOOK_DAYS = "2026-03-04"
"""The last day of notebook 05."""


@dataclass(frozen=True)
class CheckPart:
    """One thing that the exercise asks for."""

    what: str
    missing: str = ""
    """What is not there yet; empty where all of it is."""

    @property
    def done(self) -> bool:
        return not self.missing


Parts = Iterator[tuple[str, object, str]]
"""(what the exercise asks for, whether it is there, what is missing else) of each part."""


def _start(session: Session) -> Parts:
    made = [turn for thread in threads(session) for turn in thread.turns if thread.name != "main"]
    kept = [one for one in entries(session, origin="agent") if one.thread != "main" and lines(one)]
    yield "the agent has looked at a table", results(made, "inspect_variable"), "no variable was inspected"
    computed = results(made, "query_table") or results(made, "run_python")
    missing = "after the picture, neither query_table nor approved code has run"
    yield "it has computed an answer from the table", computed, missing
    yield "it has remembered something new", kept, "the agent wrote nothing to memory after the picture"


def _first_agent(session: Session) -> Parts:
    kept = [line for one in entries(session, origin="agent", thread=THREAD) for line in lines(one)]
    names = [thread.name for thread in threads(session)]
    after = threads(session)[names.index(THREAD) + 1 :] if THREAD in names else []
    later = [turn for thread in after for turn in thread.turns]
    missing = "memory has no line that the agent wrote in that thread"
    yield f"in the thread {THREAD} the agent has written to memory", kept, missing
    yield "another thread was begun after that one", after, f"{THREAD} is the newest thread"
    known = [turn for turn in later for line in kept if draws_on(turn, line)]
    missing = "no answer there has a word of that line which its prompts do not have, too"
    yield "an answer in it says what only memory could know", known, missing


def _memory(session: Session) -> Parts:
    first = [one for one in entries(session, origin="agent", thread=THREAD) if lines(one)]
    ids = [entry.id for entry in session.memory.log_entries()]
    by_user = [change for change in entries(session, origin="user") if not change.note.startswith("revert")]
    pairs = [(one, change) for one in first for change in by_user if change.path == one.path]
    later = [(one, change) for one, change in pairs if ids.index(change.id) > ids.index(one.id)]
    wrong = [(one, change) for one, change in later if set(lines(one)) & set(lines(change, "-"))]
    right = [(one, back) for one, change in wrong for back in entries(session, note=f"revert of {change.id}")]
    missing = "memory has no line that the agent wrote in that thread"
    yield f"in the thread {THREAD} the agent has written a line to memory", first, missing
    yield "then you have changed that line", wrong, "nobody but the agent has touched it"
    again = [one for one, _ in right if set(lines(one)) <= set(session.memory.read(one.path).split("\n"))]
    missing = "the journal has no revert of such a change"
    yield "the change was reverted, and the line of the agent is back", again, missing


def _skills(session: Session) -> Parts:
    none = "there are only the skills of this notebook"
    own = [skill for skill in session.skills.list_skills() if skill.name not in _NOTEBOOK_SKILLS]
    good = [skill for skill in own if not skill.problem]
    when = [skill for skill in good if "when" in skill.description.lower()]
    reads = session.skills.reads()
    whole = [skill for skill in good if (read := reads.get(skill.path)) and read.whole and not read.pinned]
    missing = "yours can't be used: %skills validate says why" if own else none
    yield "there is a skill of yours, and it can be used", good, missing
    yield "its description says when to use it", when, "the description does not say when" if good else none
    yield "the agent has read all of its file in a turn", whole, "no turn of this thread has" if good else none


def _budget(session: Session) -> Parts:
    made = turns(session, THREAD)
    full = [turn for turn in made if turn.compacted]
    new = ((turn, message) for turn in made for message in turn.after.messages[len(turn.before.messages) :])
    back = [(turn, message.text) for turn, message in new if message.source == BROUGHT_BACK]
    used = [turn for turn, text in back if draws_on(turn, text)]
    fullest = max((call.budget.total for turn in made for call in turn.calls), default=0)
    missing = f"its fullest request had {fullest:,} tokens, and nothing was compacted"
    yield f"the thread {THREAD} has passed the trigger and was compacted", full, missing
    yield "a message was brought back from its history", back, "no prompt had one added to it"
    yield "the answer to that prompt uses it", used, "no such answer has a word of it"


def _long_term(session: Session) -> Parts:
    notes = [day for path in session.memory.paths() if (day := note_day(path)) and day > _NOTEBOOK_DAYS]
    today = session.clock().date()
    before = (today - timedelta(days=1)).isoformat()
    old = [day for day in notes if day < before]
    long_term = session.memory.read("/MEMORY.md").split("\n") if "/MEMORY.md" in session.files else []
    kept = [line for line in long_term for day in notes if f"memory/{day}.md" in line]
    facts = [line.partition("<!--")[0].strip() for line in kept]
    made = [turn for thread in threads(session) for turn in thread.turns]
    sent = [(turn, turn.after.memory.get("/MEMORY.md", "")) for turn in made]
    known = [turn for turn, memory in sent for fact in facts if fact and fact in memory and draws_on(turn, fact)]
    yield "there is a note of a later day than the notebook's", notes, f"there is none after {_NOTEBOOK_DAYS}"
    missing = f"today is {today}, and the note is too new" if notes else "there is no such note"
    yield "it has left the prompt: that day is neither today nor yesterday", old, missing
    yield "it was promoted to long-term memory", kept, "MEMORY.md has no line that comes from such a note"
    yield "an answer comes from there", known, "no answer has a word of such a line that its prompt lacks"


def _approvals(session: Session) -> Parts:
    made = turns(session, THREAD)
    events = [event for turn in made for event in turn.events]
    decided = [e.decision for e in events if isinstance(e, Decided) and e.decision.call.name == "run_python"]
    approved = [one for one in decided if one.kind in ("approve", "edit")]
    variable = session.options.namespace.get("by_island")
    gone = "" if THREAD in session.workspace.threads.names else NO_THREAD
    missing = "what was approved ended with an error" if approved else "no call of run_python was approved there"
    ran = approved and results(made, "run_python")
    yield f"in the thread {THREAD} you have approved code, and it ran", ran, gone or missing
    missing = "there is no variable by_island" if variable is None else "its figures are others"
    yield "the variable by_island has the mean bill length of each island", _is_mean(session, variable), missing
    rejected = [one for one in decided if one.kind == "reject" and one.reason]
    missing = gone or "no call was rejected with a reason"
    yield "you have rejected a call there, with a reason", rejected, missing


def _is_mean(session: Session, variable: object) -> bool:
    if (table := session.options.namespace.get("penguins")) is None or variable is None:
        return False
    try:
        figures = sorted(float(x) for x in variable.squeeze().tolist())  # type: ignore[attr-defined]
        means = sorted(float(x) for x in table.groupby("island")["bill_length_mm"].mean())
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
    return len(figures) == len(means) and all(abs(a - b) < 0.1 for a, b in zip(figures, means, strict=True))


def _tapes(session: Session) -> Parts:
    kept = session.workspace.persistence
    forks = [info for info in session.threads if (info.parent or "").startswith("evening@")]
    early = [info for info in forks if (info.parent or "").removeprefix("evening@") == "1"]
    yield "the session is kept in a file", kept, "it is in this kernel only"
    missing = "a fork of evening begins at another turn" if forks else "no thread was forked from evening"
    yield "a thread continues from turn 1 of evening", early, missing
    yield "it has a turn of its own", [one for one in early if one.turns > 1], "nothing was asked in it yet"


def _own_agent(session: Session) -> Parts:
    attached = session.options.graph
    own = "" if attached is not None else "the agent in use is deepnb's own"
    wanted = ("memory", "skills")
    lacks = [one.name for one in session.features.lacks if one.name in wanted]
    made = () if own else session.turns
    changes = [(turn, one) for turn in made for one in session.memory.between(turn.before, turn.after)]
    new = ((turn, line.strip()) for turn, one in changes for hunk in one.hunks for line in hunk.lines)
    kept = [(turn, line) for turn, line in new if line]
    later = []
    for turn in made:  # a prompt has a line of memory in its block, or as a change
        updates = (message.text for message in turn.after.messages if message.source == MEMORY_UPDATE)
        sent = [*turn.after.memory.values(), *updates]
        written = (line for first, line in kept if turn.number > first.number)
        later += [turn for line in written if any(line in text for text in sent)]
    yield "a graph of yours is in use", attached is not None, own
    has = attached is not None and not lacks
    yield "it has memory and skills", has, own or f"it lacks {' and '.join(lacks)}"
    yield "it has written to memory", kept, own or "memory is as it was"
    yield "the prompt of a later turn has what it wrote", later, own or "no later prompt has a line of it"


EXERCISES: dict[str, tuple[str, Callable[[Session], Parts]]] = {
    "00": ("a question of yours", _start),
    "01": ("a new thread remembers", _first_agent),
    "02": ("revert a mistake", _memory),
    "03": ("a skill of your own", _skills),
    "04": ("bring a message back", _budget),
    "05": ("a note that lasts", _long_term),
    "06": ("approve and reject", _approvals),
    "07": ("continue from an earlier turn", _tapes),
    "08": ("memory and skills in a graph of yours", _own_agent),
}
"""Number of the notebook -> the title of its exercise, and what there is of each thing that it asks for."""


# -- what happened in a session, as far as exercises ask


_WORD = re.compile(r"[^\W\d_]{4,}|\w*\d\w*|[㐀-鿿]{2}")  # planet | 12km | 行星
"""What tells one fact from another: a word of some length, anything with a figure in it, two Chinese characters."""


def threads(session: Session) -> list[Thread]:
    return [session.workspace.threads[name] for name in session.workspace.threads.names]


def turns(session: Session, thread: str) -> list[Turn]:
    return [turn for found in threads(session) for turn in found.turns if found.name == thread]


def results(made: Iterable[Turn], tool: str) -> list[ToolEnded]:
    """Return the calls of a tool that ended well."""
    events = (event for turn in made for event in turn.events if isinstance(event, ToolEnded))
    return [event for event in events if event.name == tool and event.status == "ok"]


def entries(session: Session, **wanted: str) -> list[Entry]:
    """Return the changes in the journal of memory files and notes with these values, oldest first."""
    found = (one for one in session.memory.log_entries() if not one.path.endswith("/SKILL.md"))
    return [one for one in found if all(getattr(one, name) == value for name, value in wanted.items())]


def lines(change: Entry, sign: str = "+") -> list[str]:
    """Return the lines that a change added, or with `-` took away."""
    body = change.diff.split("@@", 1)[-1].split("\n")[1:]
    return [line[1:] for line in body if line.startswith(sign) and line[1:].strip()]


def draws_on(turn: Turn, text: str) -> bool:
    """Return whether an answer has a word of a text that nobody said in the thread."""
    said = [turn.prompt, *(m.text for m in turn.before.messages if m.role == "user" and m.source is None)]
    return bool(_words(turn.text) & _words(text) - _words(" ".join(said)))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold())) - {"user"}  # which is how an agent's notes name who said it
