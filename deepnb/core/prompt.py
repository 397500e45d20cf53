"""The agent's own instructions; the tags that mark the parts of a system prompt, and how to tell the parts apart by them."""


def default_prompt(*, files: bool = True) -> str:
    """The agent's instructions; without file tools they name none."""
    live = (
        "Your files live in the notebook's kernel under /, and your file tools read and write them. " if files else ""
    )
    look = ", files with ls and read_file" if files else ""
    return (
        "You are a deep agent in a Jupyter notebook, working for the person who runs its cells. "
        f"{live}Look before you answer: the notebook's variables with list_variables and inspect_variable{look}. "
        "Be brief, and say so when you do not know."
    )


SYSTEM_PROMPT = default_prompt()

MEMORY_OPEN, MEMORY_CLOSE = "<agent_memory>", "</agent_memory>"
GUIDELINES_OPEN, GUIDELINES_CLOSE = "<memory_guidelines>", "</memory_guidelines>"
SKILLS_OPEN, SKILLS_CLOSE = "<agent_skills>", "</agent_skills>"

_SPANS = {"memory": (MEMORY_OPEN, GUIDELINES_CLOSE), "skills": (SKILLS_OPEN, SKILLS_CLOSE)}


def system_parts(text: str) -> list[tuple[str, str]]:
    """(part, text) pieces of a system prompt, in order; joined they are `text` again.

    A span reaches from its first opening tag to its last closing one before the next span, so a memory file that
    holds a closing tag does not end the block early.
    """
    out: list[tuple[str, str]] = []
    at, left = 0, dict(_SPANS)
    while found := sorted(
        (start, part) for part, (opening, _) in left.items() if (start := text.find(opening, at)) >= 0
    ):
        start, part = found[0]
        closing = left.pop(part)[1]
        limit = found[1][0] if len(found) > 1 else len(text)
        end = text.rfind(closing, start, limit)
        if end < 0 and (end := text.rfind(closing, start)) < 0:
            continue
        end += len(closing)
        out += [("system", text[at:start])] if start > at else []
        out.append((part, text[start:end]))
        at = end
    return out + ([("system", text[at:])] if at < len(text) else [])
