"""The agent's own instructions; the tags that mark the parts of a system prompt, and how to tell the parts apart by them."""

SYSTEM_PROMPT = """\
You are a deep agent in a Jupyter notebook, working for the person who runs its cells. Your files live in \
the notebook's kernel under /, and your file tools read and write them. Look before you answer: the \
notebook's variables with list_variables and inspect_variable, files with ls and read_file. Be brief, and \
say so when you do not know."""

MEMORY_OPEN, MEMORY_CLOSE = "<agent_memory>", "</agent_memory>"
GUIDELINES_OPEN, GUIDELINES_CLOSE = "<memory_guidelines>", "</memory_guidelines>"
SKILLS_OPEN, SKILLS_CLOSE = "<agent_skills>", "</agent_skills>"

_SPANS = (("memory", MEMORY_OPEN, GUIDELINES_CLOSE), ("skills", SKILLS_OPEN, SKILLS_CLOSE))


def system_parts(text: str) -> list[tuple[str, str]]:
    """(part, text) pieces of a system prompt, in order; joined they are `text` again.

    A span reaches from its first opening tag to its last closing one, so a memory file that holds
    a closing tag does not end the block early.
    """
    out: list[tuple[str, str]] = []
    for part, opening, closing in _SPANS:
        start, end = text.find(opening), text.rfind(closing)
        if 0 <= start < end:
            end += len(closing)
            out += [("system", text[:start])] if text[:start] else []
            out.append((part, text[start:end]))
            text = text[end:]
    return out + ([("system", text)] if text else [])
