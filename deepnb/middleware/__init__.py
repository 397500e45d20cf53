"""Memory, skills, compaction, approvals and the guard, each alone, for your own `create_agent` or `create_deep_agent`.

They run in a script, in a notebook or on a LangGraph server, in `invoke`, `ainvoke`, `stream` and `astream`; nothing of
IPython is imported. `backend` is a deepagents backend, the one your file tools use: None is `StateBackend()`, the files
of the thread. In `create_deep_agent`, Memory-, Skills- and CompactionMiddleware take the places of deepagents' own, so
nothing is done twice, and the general-purpose subagent has the same skills and the same compaction. In `create_agent`,
put deepagents' `FilesystemMiddleware` before them, which brings the file tools. List ApprovalMiddleware before
GuardMiddleware, and this one last, so that a call you edit is checked as you edited it.

`application` is an agent made of all of them, as `%agent package` writes it for a LangGraph server.

What goes wrong without ending the turn (no summary, no history file) is a warning of the logger `deepnb`.
"""

from deepnb.middleware.application import application
from deepnb.middleware.calls import ApprovalMiddleware, GuardMiddleware
from deepnb.middleware.prompt import CompactionMiddleware, MemoryMiddleware, SkillsMiddleware

__all__ = [
    "ApprovalMiddleware",
    "CompactionMiddleware",
    "GuardMiddleware",
    "MemoryMiddleware",
    "SkillsMiddleware",
    "application",
]
