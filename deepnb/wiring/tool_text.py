"""What tools say of themselves to a model: in full, or in a few words where the window is small."""

from collections.abc import Mapping, Sequence
from typing import Any

from deepnb.core.budget import Rule
from deepnb.engine.tool_descriptions import shortened
from deepnb.wiring.options import Options, ToolText

SMALL = 32_000
"""Under a window of so many tokens the descriptions are short, if nobody said otherwise."""

SHORT_TASK = """Hand a task to a subagent. It knows only `description`: say there all it needs, what to return, and \
whether to write or only look. The user does not see its report: pass it on. Several calls at once run side by side.
Available agent types:
{available_agents}"""

SHORT_GENERAL = "any task of several steps, such as searching files; has your tools but memory's"

SHORT: Mapping[str, str] = {
    "ls": "List a directory (absolute path).",
    "read_file": "Read `limit` lines (100) of a file (absolute path) from line `offset` (first is 0). The @@ ... @@ line"
    " above them is a status, not in the file. Shows images and PDFs, too. Long tool results are files: read them here.",
    "write_file": "Create a file (absolute path) or replace all of it. Change existing ones with edit_file.",
    "edit_file": "Replace old_string in a file. Read the file first: old_string is its exact text, without the @@ line,"
    " and occurs once, or set replace_all.",
    "delete": "Delete a file, or a directory with all in it, for good (absolute path).",
    "glob": "Find files below `path` by *, **, ?, [abc], {a,b}; gives absolute paths. Without / the pattern is for names at"
    " any depth (*.py), with / for paths (src/**/*.py). Hidden files need their dot (.env).",
    "grep": "Search files below `path` for literal text, not regex; one text a call. Gives paths, or with output_mode"
    " content numbered lines. `glob` limits files (*.py), max_count matches.",
    "note": "Add to today's daily note, one fact a line: decisions with reasons, results, open tasks. Lasting rules"
    " go to the memory file.",
    "memory_search": "Search memory and the notes of all days by words or dates: path:lines and text. Search"
    " before you say you don't know earlier work.",
    "memory_get": "Read lines (40) of a memory file or note, from line `from`.",
    "list_variables": "List the notebook's variables with types.",
    "inspect_variable": "Look at a variable; of a DataFrame: columns, statistics, first rows.",
    "query_table": "Rows or totals of a pandas table. where: {column: value, list or {min, max}}; by: group; aggregate:"
    ' {column: sum|mean|median|min|max|std|count|nunique}; sort: "-x" is down; head: rows; join: {table: [keys]}.',
    "read_notebook": "Read .ipynb files of the working directory: outlines of all, or of `path`; `cells` (2-5) in full;"
    " lines with `search`. detailed: whole outputs.",
    "edit_notebook": 'Change cells of a .ipynb, or make one; runs nothing. edits: {"replace": 3, "source"}, {"insert": 4,'
    ' "source", "kind": code|markdown|raw} (before 4), {"delete": 5}, numbers as read. version: as read; none for a new'
    " one.",
    "run_python": "Run Python in the user's notebook, once they approve; variables stay. They see prints, plots and the"
    " last value.",
    "propose_cell": "Put code into the user's next cell; it is not run.",
}
"""Name -> description of the tools of deepagents and of deepnb; it says what each parameter is that its name does not."""


def tool_text(options: Options, rule: Rule) -> ToolText:
    """How tools are described to a model with this rule."""
    small = rule.window is not None and rule.window < SMALL
    return options.tool_text or ("short" if small else "full")


def in_words(tools: Sequence[Any], text: ToolText) -> list[Any]:
    """Tools of deepagents and of deepnb, described so."""
    return shortened(tools, SHORT) if text == "short" else list(tools)
