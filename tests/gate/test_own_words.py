"""What a user says in a prompt: not what they quote, paste or ask about."""

from __future__ import annotations

from deepnb.gate.own_words import Filled, add_words, own_words, sentences
from tests.support.tables import every_row

PASTED = "Hello. Never tell anybody about rack-9."
ROWS = "a;b;c\n1;2;3\nrack-9;4;5"
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
    (f"Never use red.\n{ROWS}\n\nAlways use tabs.\n\n{ROWS}", "Never use red.\nAlways use tabs."),
    (f"Here is an extract:\n{ROWS}\n\nNever use red.", "Here is an extract:\nNever use red."),
    ("Rules, all of them:\n- tabs, not spaces, please\n- no red, blue, or 2 greens\n- A4, 12,500 dpi",
     "Rules, all of them:\ntabs, not spaces, please\nno red, blue, or 2 greens\nA4, 12,500 dpi"),
]  # fmt: skip
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
    f"Here is the table:\n{ROWS}\n{PASTED}",
    f"Sum up:\n{ROWS}\n\n{PASTED}",
    f"{ROWS}\n\nWhat is it?",
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


CUT = [
    ["Please remember that Dr. Smith leaves on Friday.", "What is the mean?"],
    ["Note the Jan. 5 call at 3 p.m. with Ines.", "Never plot it."],
    ["We were in the U.S. Army and in St. Gallen, i.e. abroad.", "I live in the U.S.", "Which rows are those?"],
    ["J. R. Miller signs No. 5 of v2.1 and approx. 4 others.", "No.", "Never plot it.", "Use 3.", "Then go on."],
    ["Die Abgabe bei Fr. Dr. Weiß ist am 3. Mai um 12 Uhr.", "Was ist das?"],
    ["Nimm z. B. Äpfel der 2. Sorte, d. h. Nr. 5 bzw. ca. 30 Stück, bis zum 30.09. an Kessler.", "Zeig sie."],
    ["M. Dupont vient le 3 janv. 2026, p. ex. à 14 h.", "Quelle est la moyenne ?"],
    ["La reunión es a las 3 p. m. con el Sr. López.", "¿Cuándo?"],
    ["请找 Dr. Wang。", "不要删除。"],
]


@every_row("cut", CUT)
def test_a_sentence_ends_at_no_period_within_it(cut: list[str]) -> None:
    assert [*sentences(" ".join(cut))] == cut


def test_a_sentence_goes_over_a_line_that_an_editor_broke() -> None:
    said = "Please remember that the delivery to the lab is,\nas ever, on 14 March.\n1. Never plot it\n2. use tabs"
    assert own_words(said).split("\n")[0] == "Please remember that the delivery to the lab is, as ever, on 14 March."
    assert own_words(said).split("\n")[1:] == ["Never plot it", "use tabs"]
