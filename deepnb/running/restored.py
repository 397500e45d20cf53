"""What a session has back from its file or database, as it is told to the user."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Restored:
    """What a database gave back to a session."""

    threads: int = 0
    thread: str = ""
    """The current one."""
    turns: int = 0
    """Of the current thread."""
    files: int = 0
    asked: int = 0
    """Calls of it that need approval."""
    unfinished: tuple[str, ...] = ()
    """What else it needs to go on, and what the other threads need whose turn was not finished: a line each."""
    names: tuple[str, ...] = ()
    """Variables that the agent's code made in earlier turns, and that this kernel does not have."""
    model: str = ""
    """The model of then as `%agent use` takes it, where this session has another."""
    where: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """What is said of it: what is back, and what is gone with the kernel."""
        if not self.threads:
            return (f"this session is kept in {self.where}",)
        parts = [_counted(self.threads, "thread"), f"{_counted(self.turns, 'turn')} in thread {self.thread}"]
        parts += [_counted(self.files, "file")] if self.files else []
        parts += (
            [f"{_counted(self.asked, 'call')} that {'needs' if self.asked == 1 else 'need'} your approval"]
            if self.asked
            else []
        )
        lines = [f"back from {self.where}: {', '.join(parts)}", *self.unfinished[:_LINES]]
        if (more := len(self.unfinished) - _LINES) > 0:
            lines.append(f"{_counted(more, 'more thread')} with an unfinished turn: %agent threads lists all threads")
        if self.names:
            gone = f"{', '.join(self.names[:_SHOWN])}{' and more' if len(self.names) > _SHOWN else ''}"
            one = len(self.names) == 1
            made = f"the variable{'' if one else 's'} {gone} of earlier turns"
            lines.append(
                f"gone with the kernel: {made}; run the cell{'' if one else 's'} that made {'it' if one else 'them'}"
            )
        if self.model:
            lines.append(f"the model was {self.model.partition(' ')[0]}: %agent use {self.model}")
        return tuple(lines)


_SHOWN = 12
"""Names of variables in a line."""

_LINES = 5
"""Lines of what is unfinished."""


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
