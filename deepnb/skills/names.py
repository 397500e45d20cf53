"""The name of a skill, by the rules of agentskills.io: what is wrong with one, and a good one near it."""

import unicodedata

LONGEST = 64


def normal(name: str) -> str:
    """The name as it is compared: NFKC, no white space around it."""
    return unicodedata.normalize("NFKC", name).strip()


def wrong_name(name: str) -> str | None:
    """What is wrong with a normal name; None for a good one.

    Letters without a case (Chinese, say) are as good as lowercase ones.
    """
    if not name:
        return "the name is empty"
    if len(name) > LONGEST:
        return f"the name has {len(name):,} characters; the limit is {LONGEST}"
    if strange := next((c for c in name if not c.isalnum() and c != "-"), None):
        plain = strange.isprintable() and not unicodedata.combining(strange)
        shown = repr(strange) if plain else f"U+{ord(strange):04X}"
        return f"the name can't contain {shown}: use lowercase letters, digits and single hyphens"
    if name != name.lower():
        return "the name is not all lowercase"
    if name.startswith("-") or name.endswith("-") or "--" in name:
        return "the name begins or ends with a hyphen, or has two in a row"
    return None


def near(name: str, otherwise: str = "my-skill") -> str:
    """A good name made of what is good in another."""
    kept = "".join(c if c.isalnum() else "-" for c in normal(name).lower())
    made = "-".join(filter(None, kept.split("-")))[:LONGEST].strip("-")
    return made if wrong_name(made) is None else otherwise
