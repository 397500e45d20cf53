"""How the answers of the reference are shown."""

from deepnb.wings.course.help import help_view

ANSWERS = (
    ("topic", "Tools", "A line that\ngoes on.\n\n- one\n- two\n\n```\n%agent tools\n```\n\nThe end."),
    ("%agent", "%agent tools [NAME]", "list the tools"),
    ("Python", "session.tools.add(*tools)", "```\nx\n```\n\nAdd `tools`."),
)


def test_the_first_with_their_text_the_others_in_a_line() -> None:
    text = help_view(" my  tools ", ANSWERS, 1).text()
    assert text.splitlines() == [
        "help: my tools · 3 answers",
        "",
        "Tools",
        "    A line that",
        "    goes on.",
        "",
        "    - one",
        "    - two",
        "",
        "    ```",
        "    %agent tools",
        "    ```",
        "",
        "    The end.",
        "",
        "see also",
        "  %agent tools [NAME]",
        "      list the tools",
        "  Python: session.tools.add(*tools)",
        "      Add `tools`.",
        "",
        "notebooks/REFERENCE.md has the whole reference",
    ]


def test_what_was_asked_for_by_its_name_has_no_heading() -> None:
    view = help_view("", ANSWERS[1:2], 1)
    assert view.text().splitlines()[0] == "%agent tools [NAME]" and "see also" not in view.text()
    assert view.html().startswith("<div") and "answer" not in view.html()


def test_html_draws_the_markdown() -> None:
    html = help_view("tools", ANSWERS, 2).html()
    assert "<ul" in html and "<b>help: tools</b> · 3 answers" in html
    assert html.count("see also") == 1 and "session.tools.add(*tools)" in html
