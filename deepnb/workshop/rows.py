"""An answer about a table as text for a model: CSV, and what it leaves out."""

from deepnb.gate import redact
from deepnb.workshop.cells import cell, cell_of, csv_line
from deepnb.workshop.question import Answer, Question

BUDGET = 2000  # characters of an answer


def answer_text(name: str, question: Question, answer: Answer, budget: int = BUDGET) -> str:
    """The answer in at most `budget` characters, whole rows and columns; the last lines count what is left out."""
    frame = answer.frame
    lines = [_head(name, question, answer)]
    names: list[str] = []
    used = 0
    for column in frame.columns:
        used += len(cell(column, 60)) + 1
        if names and used > budget // 4:
            break
        names.append(column)
    notes = _notes(answer, len(frame.columns) - len(names), budget // 4)
    room = budget - sum(len(line) + 1 for line in [*lines, *notes]) - 40
    table = [csv_line([cell(column, 60) for column in names])]
    columns = [frame.iloc[:, i] for i in range(len(names))]
    for row in range(len(frame)):
        line = csv_line([cell_of(name, column.iloc[row]) for name, column in zip(names, columns, strict=True)])
        if sum(len(one) + 1 for one in table) + len(line) > room:
            break
        table.append(line)
    left = answer.rows - (len(table) - 1)
    more = [f"{left} more row{'' if left == 1 else 's'} not shown"] if left else []
    return redact("\n".join(lines + table + more + notes))[:budget]


def _head(name: str, question: Question, answer: Answer) -> str:
    """`sales joined with prices: 4 rows, 2 groups by region`."""
    of = f"{name} joined with {question.join}" if question.join else name
    kept = " match" if question.where else ""
    text = f"{of}: {answer.matched} row{'' if answer.matched == 1 else 's'}{kept}"
    return text + (
        f", {answer.rows} group{'' if answer.rows == 1 else 's'} by {', '.join(question.by)}" if question.by else ""
    )


def _notes(answer: Answer, hidden: int, room: int) -> list[str]:
    notes = [f"{hidden} more columns not shown"] if hidden else []
    if answer.missing:
        counts = ", ".join(f"{cell(name, 60)} {count}" for name, count in list(answer.missing.items())[:10])
        notes.append(f"missing values: {counts}"[:room])
    return notes
