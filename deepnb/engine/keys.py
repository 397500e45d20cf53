"""Names of the engine's state keys and tags: the one place to fix when one moves upstream."""

START = "__start__"
"""The step that takes the input, and the channel that holds it until then."""
MESSAGES = "messages"
FILES = "files"
MEMORY = "memory_contents"
TOLD = "memory_told"
BASE = "memory_base"
DAY = "memory_day"
OF_MEMORY = (MEMORY, TOLD, BASE, DAY)
SKILLS = "skills_metadata"
SKILL_ERRORS = "skills_load_errors"
OFFLOAD = "_summarization_event"
OFFLOAD_ID = "_summarization_session_id"
TAKEN = "deepnb_taken"
"""Key in a summarization event: which checkpoint holds the messages that are no longer in the state, and how many."""

MEMORY_THREAD = ".deepnb-memory"
"""How the names of the threads begin in which a checkpointer has the memory of its sessions: no user's has such a name."""

COPY_NODE = "__copy__"
"""`update_state(at_a_checkpoint, None, as_node=COPY_NODE)` makes that checkpoint the newest again."""

INTERRUPT = "__interrupt__"
RESUME = "__resume__"
"""Channel of a checkpoint's pending writes: the answers that a step was given."""

NAMESPACE = "checkpoint_ns"
LEVEL, STEP = "|", ":"
"""In the configuration, where in the nest of graphs a step is: `NODE:STEP|NODE:STEP`."""
SCRATCHPAD = "__pregel_scratchpad"
"""In the configuration of a step: its `resume` are the answers it was given, in order."""

AGENT_NAME = "lc_agent_name"
"""In a run's metadata: the name of the nested agent."""

SUMMARY_SOURCE = "summarization"
"""`metadata["lc_source"]` of the summarizer's own model call."""

FLUSH_SOURCE = "flush"
"""The same, of the silent call before a compaction."""

SINCE_BLOCK = "deepnb_since_block"
"""Key in the `additional_kwargs` of a memory update that tells all that changed since the block was made."""

TELL = "deepnb_tell"
"""Name of the custom callback event by which our own middleware tells of something."""

TYPED = "deepnb_typed"
"""Key in a prompt's `additional_kwargs`: what its user typed, where values were filled in."""

ORIGIN = "deepnb_origin"
"""Key in a message's `additional_kwargs`: the session made elsewhere that it comes from."""
