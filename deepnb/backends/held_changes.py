"""What waits for the user: changes to confirm, and lines to be shown."""

from dataclasses import dataclass

from deepnb.backends.journal import Origin
from deepnb.values.files import FileDiff


@dataclass(frozen=True)
class HeldChange:
    """A change that waits for the user: from `base` to `text`, and why."""

    id: str
    path: str
    base: str
    text: str
    why: str
    origin: Origin
    line: str = ""
    """Of a line that is offered: it goes to the end of the file, whatever stands there by then."""

    @property
    def change(self) -> FileDiff:
        """Give the change that it would make."""
        return FileDiff(self.path, self.base or (None if not self.line else ""), self.text)


class HeldChanges:
    """Changes that were not made until the user says so, and notices not yet shown."""

    def __init__(self) -> None:
        self.changes: list[HeldChange] = []
        self.notices: list[str] = []
        """Lines the user should see; whoever shows them empties the list."""
        self._numbers = 0

    def hold(self, path: str, base: str, text: str, why: str, origin: Origin) -> str:
        """Keep a change back; gives the words for whoever wanted to make it."""
        if not any((one.path, one.base, one.text) == (path, base, text) for one in self.changes):
            self._numbers += 1
            self.changes.append(HeldChange(f"p{self._numbers}", path, base, text, why, origin))
            self.notices.append(f"a change to {path} needs your approval ({why}): %memory pending shows it")
        return f"Error: this change of {path} waits for the user to confirm it ({why}). Do not try it again; go on without it."

    def offer(self, path: str, line: str, why: str) -> None:
        """Hold a line of somebody else's memory."""
        self._numbers += 1
        self.changes.append(HeldChange(f"p{self._numbers}", path, "", f"{line}\n", why, "external", line))

    def notice(self, line: str) -> None:
        """Show a line, once."""
        if line not in self.notices:
            self.notices.append(line)

    def drain(self) -> list[str]:
        """The lines the user should see, which are not shown again."""
        lines, self.notices = self.notices, []
        return lines
