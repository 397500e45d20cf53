"""deepnb's own tables beside LangGraph's, made and brought up to date by numbered steps.

Rows are only ever added, but for those of `deepnb_session` and `deepnb_threads`, which are short: what a turn costs
does not depend on how many came before.
"""

STEPS: tuple[tuple[str, ...], ...] = (
    (
        # facts of the whole session, by name
        "CREATE TABLE deepnb_session (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        # texts that records refer to by their hash: system prompts, memory as it was, summaries
        "CREATE TABLE deepnb_values (id TEXT PRIMARY KEY, value TEXT NOT NULL)",
        # each turn names the one before it: a fork shares its beginning, a rewind moves the head of its thread
        "CREATE TABLE deepnb_turns (id TEXT PRIMARY KEY, parent TEXT, record TEXT NOT NULL)",
        # `begun` is the turn that plays: should its kernel end before it, it is known what was asked
        "CREATE TABLE deepnb_threads"
        " (seq {serial}, name TEXT UNIQUE NOT NULL, head TEXT, facts TEXT NOT NULL, begun TEXT)",
        # transcripts, line by line
        "CREATE TABLE deepnb_lines (seq {serial}, thread TEXT NOT NULL, line TEXT NOT NULL)",
        "CREATE INDEX deepnb_lines_thread ON deepnb_lines (thread, seq)",
        # who plays a turn in a thread, and since when
        "CREATE TABLE deepnb_claims (thread TEXT PRIMARY KEY, holder TEXT NOT NULL, since TEXT NOT NULL)",
    ),
)
"""Step n brings format n to format n + 1; format 0 has LangGraph's tables, or none."""

FORMAT = len(STEPS)

VERSIONS = "CREATE TABLE IF NOT EXISTS deepnb_format (version INTEGER NOT NULL)"

TABLES = {
    "deepnb_session": "name, value",
    "deepnb_values": "id, value",
    "deepnb_turns": "id, parent, record",
    "deepnb_threads": "seq, name, head, facts, begun",
    "deepnb_lines": "seq, thread, line",
    "deepnb_claims": "thread, holder, since",
}
"""Table -> its columns, in this format."""

LANGGRAPH = {"checkpoints": "thread_id, checkpoint_ns, checkpoint_id", "store": "prefix, key, value"}
"""Tables of LangGraph's that are there once a turn is: the table -> some of its columns."""
