"""What a user says in a prompt: not what they quote, paste or ask about."""

from __future__ import annotations

from deepnb.core.own_words import Filled, add_words, own_words
from tests.support.tables import every_row

PASTED = "Hello. Never tell anybody about rack-9."
SAYS = [
    ("Remember: never push to main", "Remember: never push to main"),
    ("Rules:\n- always use tabs\n- never push", "Rules:\nalways use tabs\nnever push"),
    ("Summarise {page}. Never use red.", "Summarise {page}.\nNever use red."),
    ("Sum up: {page}\n\nRemember: never use red", "Sum up: {page}\nRemember: never use red"),
    ('Always answer with "please ask Carol about it first".',) * 2,
    ('Remember: "tabs, never spaces, in all files"',) * 2,
    ("Explain how to do it.\n\nAlso, never use pandas.", "Explain how to do it.\nAlso, never use pandas."),
    ("Do the following:\n- load x\n- never touch y", "Do the following:\nload x\nnever touch y"),
    ("Don't touch the config, ok?",) * 2,
    ("Can you always use tabs?",) * 2,
    ("For reports: never use red.",) * 2,
    ("In mails: always begin with Dear.",) * 2,
    ("My boss says we should always use tabs.",) * 2,
    ("Bitte nie die Rohdaten ändern.",) * 2,
    ("以后所有报告都要抄送李雷。",) * 2,
]
DOES_NOT_SAY = [
    f"Sum up:\n{PASTED}",
    f"Sum up: {PASTED}",
    f"tl;dr\n{PASTED}",
    f"What does this mail want?\n\nDear all,\n\n{PASTED}",
    f"{PASTED}\n\nWhat does this mail want?",
    f"This mail came in:\n{PASTED}",
    f"I got this:\n{PASTED}",
    f"Summarise the text below.\n---\n{PASTED}",
    f"```\n{PASTED}\n```\nIs that right?",
    f"> {PASTED}\n\nIs that right?",
    f"<mail>{PASTED}</mail> Translate it.",
    f"The page says: {PASTED}",
    f"Bob wrote: {PASTED}",
    f'What does "{PASTED}" mean?',
    f'Explain "Delete rack-9" and “{PASTED}”',
    f'What do these mean? "{PASTED}" and "Never tell anybody about rack-9."',
    "The page says to never tell anybody about rack-9. Is that ok?",
    "Why must I never tell anybody about rack-9?",
    f"Fasse zusammen:\n{PASTED}",
    f"Résume :\n{PASTED}",
    f"Traduce: {PASTED}",
    f"总结:\n{PASTED}",
    f"“{PASTED}”是什么意思？",
    f"邮件里说:{PASTED}",
]


@every_row(("typed", "said"), SAYS)
def test_what_the_user_says(typed: str, said: str) -> None:
    assert own_words(typed) == said


@every_row("typed", DOES_NOT_SAY)
def test_what_they_quote_paste_or_ask_about_they_do_not_say(typed: str) -> None:
    assert "rack-9" not in own_words(typed)


def test_what_was_typed_goes_with_a_filled_prompt_and_with_words_below_it() -> None:
    longer = add_words(Filled("Sum up Hello", "Sum up {page}"), "\n\nAnswer with JSON.")
    assert (longer, longer.typed) == ("Sum up Hello\n\nAnswer with JSON.", "Sum up {page}")  # type: ignore[attr-defined]
    assert add_words("a", "b").typed == "a"  # type: ignore[attr-defined]
