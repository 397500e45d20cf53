"""What the teaching model does next, asked in one conversation."""

from deepnb.models.teaching.conversation import Conversation, Step
from deepnb.models.teaching.model import INTENTS
from deepnb.models.teaching.talk import Use, plan

TOOLS = frozenset(["ls", "read_file", "write_file", "edit_file", "task", "list_variables", "inspect_variable"])


def asked(request: str, *turn: Step, **fields: object) -> Conversation:
    return Conversation(request, turn, **{"tools": TOOLS, **fields})  # type: ignore[arg-type]


def move(request: str, *turn: Step, **fields: object) -> str | Use:
    return plan(asked(request, *turn, **fields), INTENTS)
