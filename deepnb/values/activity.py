"""What a turn waits for just now, from the events it has had so far."""

from deepnb.values.budget import Budget
from deepnb.values.subagents import TASK
from deepnb.values.turn import (
    Event,
    ModelEnded,
    ModelStarted,
    Path,
    Retry,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    Usage,
)

WAITS = {
    "answer": "waiting for the model",
    "summary": "compacting the context: summarizing",
    "flush": "compacting the context: asking the model what is worth keeping",
}
"""What a model was called for -> what is waited for until it answers."""


class Activity:
    """Takes the events of a turn as they happen."""

    def __init__(self) -> None:
        self.budget: Budget | None = None
        """What the main agent's last request held."""
        self.usage = Usage()
        """Tokens of the calls that have ended."""
        self._begun = False
        self._open: dict[tuple[str, ...], tuple[Path, str]] = {}
        """Calls of models and tools that go on, the newest last: key -> where, and in words."""
        self._agents: dict[str, str] = {}
        """Id of a task -> the subagent that has it."""

    def add(self, event: Event) -> None:
        """Something happened."""
        self._begun = True
        match event:
            case ModelStarted(call=call):
                self._begin(("model", *event.path), event.path, WAITS[call.purpose])
                if not event.path and call.purpose == "answer":
                    self.budget = call.budget
            case TextDelta():
                self._go_on(event.path, "the model answers")
            case ThinkingDelta():
                self._go_on(event.path, "the model thinks")
            case Retry():
                self._begin(("model", *event.path), event.path, event.line)
            case ModelEnded(call=call):
                self._open.pop(("model", *event.path), None)
                self.usage += call.spent
            case ToolStarted():
                self._agents |= {event.id: str(event.args.get("subagent_type", ""))} if event.name == TASK else {}
                self._begin(("tool", event.id), event.path, event.name)
            case ToolEnded():
                for key in [k for k, (path, _) in self._open.items() if k == ("tool", event.id) or event.id in path]:
                    del self._open[key]

    @property
    def line(self) -> str:
        """`waiting for the model`, `run_python`, `subagent research: grep`; of several at once the newest."""
        outer = {id_ for path, _ in self._open.values() for id_ in path}
        inner = [(key, *at) for key, at in self._open.items() if key[0] == "model" or key[1] not in outer]
        if not inner:
            return "between two steps" if self._begun else "starting"
        return self._words(*inner[-1]) + (f" and {len(inner) - 1} more" if len(inner) > 1 else "")

    def _begin(self, key: tuple[str, ...], path: Path, words: str) -> None:
        self._open.pop(key, None)
        self._open[key] = path, words

    def _go_on(self, path: Path, words: str) -> None:
        if (key := ("model", *path)) in self._open:
            self._open[key] = path, words

    def _words(self, key: tuple[str, ...], path: Path, said: str) -> str:
        if key[0] == "tool" and key[1] in self._agents:
            said = f"subagent {self._agents[key[1]]}"
        agent = self._agents.get(path[-1], "") if path else ""
        return f"subagent {agent}: {said}" if path else said
