"""Which tools a model is offered, and what they say of themselves: in full, or in a few words where the window is small."""

from collections.abc import Mapping, Sequence
from typing import Any

from deepnb.engine.request import tool_name
from deepnb.engine.tools import shortened
from deepnb.wiring.model import Measured
from deepnb.wiring.options import Options, ToolText

SMALL = 32_000
"""Under a window of so many tokens the descriptions are short, if nobody said otherwise."""
LEAN_BELOW = 12_000
"""Under one of so many only a few tools are offered at first, but for the teaching model, which reads none of it."""
LEAN = ("list_variables", "inspect_variable", "read_file", "write_file", "edit_file", "note", "run_python")

_SEARCH = (
    "Search memory and the notes of all days by words or dates: path:lines and text. Search"
    " before you say you don't know earlier work."
)

FULL: Mapping[str, str] = {
    "memory_search": _SEARCH,
    "ls": "List the files of a directory, by its absolute path. Look there before you read or edit a file whose path you"
    " are not sure of.",
    "read_file": "Read a file by its absolute path: `limit` lines (100) from line `offset` on (the first is 0); page through"
    " long files rather than read them whole. A status header, @@ field | field @@, is above the content and no part"
    " of it. Long tool results are put into files, whose"
    " paths are named: read them here. Images, sound and PDFs come as what they are, with `file_path` alone. Read"
    " several files in one answer where you need them; read a file before you edit it.",
    "write_file": "Write a file at an absolute path: a new one, or all of an existing one anew."
    " Prefer edit_file for changes of a file, and files that exist over new ones.",
    "edit_file": "Replace text in a file, by its absolute path. Read the file first. `old_string` is its exact text with its"
    " indentation, without the status header, and occurs once; with `replace_all` every occurrence is replaced."
    " `new_string` differs from it.",
    "delete": "Delete a file, or a directory with all that is in it, by its absolute path, for good: only what is surely not"
    " needed any more.",
    "glob": "Find files by a pattern, below `path` or the root; gives absolute paths. `*` is any characters of a name, `**` any"
    " directories, `?` one character, `[abc]` one of these, `{a,b}` either. A pattern without / is for names at any depth"
    " (*.py), with / for the path from there (src/**/*.py), with / in front for the top alone (/*.py). Names that begin"
    " with a dot need theirs in the pattern (.env).",
    "grep": "Search files for a literal text, not a regular expression: run one search for each of several texts. `path` is the"
    " directory, `glob` a pattern of the files (*.py; src/**/*.py). `output_mode`: files_with_matches (paths, the default),"
    " content (matching lines with their numbers, by file) or count. `max_count` is the most matches in all; a note"
    " says where there are more.",
    "task": """Hand a task of several steps to a subagent.
Available agent types and their tools:
{available_agents}

It knows nothing but `description`: say there all that it needs, what exactly it should report, and whether to write or \
only to look. The user does not see its report: pass on what matters. Make several calls in one answer where tasks do not \
depend on one another: they run side by side.""",
}
"""Name -> description in the place of a tool's own, parameters included; deepagents' say the same in twice the tokens."""

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
    "memory_search": _SEARCH,
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


def tool_text(options: Options, own: Measured) -> ToolText:
    window = own.rule.window
    by_window: ToolText = "full" if window is None or window >= SMALL else "short"
    return options.tool_text or ("lean" if window is not None and window < LEAN_BELOW and own.remote else by_window)


def in_words(tools: Sequence[Any], options: Options, own: Measured) -> list[Any]:
    """Return tools of deepagents and of deepnb as they are offered to this model: described for it, without those that are off."""
    texts = FULL if tool_text(options, own) == "full" else SHORT
    return shortened([tool for tool in tools if tool_name(tool) not in options.tools_off], texts)
