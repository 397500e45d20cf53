"""The hints that are shown of somebody else's graph, each typed to see whether the graph refuses it."""

import re

from tests.support.shells import Shell

SHOWN = (
    "", " use", " budget --items", " graph", " turns", " turns 1", " threads", " tools", " xray", " dashboard",
    " panel",
)  # fmt: skip
"""What shows hints, after %agent, before the first turn and after it."""
TRIED = {
    "%agent use": "%agent use", "%agent tools ask": "%agent tools ask lookup",
    "%agent tools off": "%agent tools off lookup", "%memory add": "%memory add x",
    "%memory rm": "%memory rm /AGENTS.md", "%skills new": "%skills new tidy Tidies up",
    "%skills disable": "%skills disable tidy", "%agent history": "%agent history", "%agent new": "%agent new other",
}  # fmt: skip
"""Hint, by its first words -> what is typed to try it; any other is typed as it stands."""
_HINT = re.compile(r"%(?:agent tools \w+|(?:agent|memory|skills) [a-z]+)|\benable_\w+=False")


def refused_hints(shell: Shell, graph: str) -> list[str]:
    """Return the hints on all that `%agent use GRAPH` shows, before its first turn and after it, that it refuses."""
    shown = shell.ok(f"%agent use {graph}")
    for prompt in ("", "%agent What is the answer?"):
        if prompt and shell.run(prompt).asks:
            shell.ok('%agent resume {"hall": 4}')
        shown += "".join(shell.run(f"%agent{command}").out for command in SHOWN)
        for command in ("%memory", "%memory panel", "%skills", "%skills panel", "%agent history", "%agent subagents"):
            shown += shell.run(command).out
    hints = set(_HINT.findall(shown))
    assert "%agent use" in hints and "%agent compact" not in shown, hints
    refused = []
    for hint in sorted(hints):
        told = str(shell.run(TRIED.get(hint, hint)).error or "") if hint.startswith("%") else "is a matter of"
        if " has no " in told or "is a matter of" in told:
            refused.append(f"{hint}: {told}")
    return refused
