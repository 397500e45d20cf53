"""How much of a request can have been cached."""

from deepnb.values.messages import GrowingList
from deepnb.values.request import Request, Sent
from deepnb.values.xray import Caching, cacheable
from tests.support.tables import every_row


def parts(tools: str = "t", system: str = "s", memory: str = "m", *talk: str) -> Request:
    """A request whose pieces are named by their parts; of the talk `a...` is said by the assistant."""
    head = (
        Sent("tools", "ls", tools, 2_000), Sent("system", "system prompt", system, 1_500),
        Sent("system", "system prompt", "\n\n", 1), Sent("memory", "memory", memory, 400),
    )  # fmt: skip
    body = [(Sent("assistant" if one.startswith("a") else "user", "", one, 50),) for one in talk]
    return Request(head, GrowingList(body))


TALK = ("u1", "a1", "u2")


@every_row(("now", "marks", "unknown"), [
    (parts("t", "s", "m", *TALK, "a2", "u3"), 4_051, 4_051), (parts("t", "s", "m2", *TALK, "a2", "u3"), 3_500, 1_501),
    (parts("t", "s2", "m", *TALK, "a2", "u3"), 0, 0), (parts("t2", "s", "m", *TALK, "a2", "u3"), 0, 0),
    (parts("t", "s", "m", "sum", "u3"), 3_901, 3_901),
    (parts("t", "s", "m", "u1", "a1b", "u2", "a2"), 3_951, 3_951),
    (parts("t", "s", "m", "u1", "a1", "u2b", "a2"), 3_951, 4_001),
])  # fmt: skip
def test_cacheable_is_what_the_provider_can_have_kept(now, marks, unknown):
    """With marks the prefix up to the last of them; with tools above or below the system prompt what is the same in both."""
    before = parts("t", "s", "m", *TALK)
    assert cacheable(before, now, Caching(marks=True, least=1_024)) == marks
    assert cacheable(before, now, Caching()) == unknown
    assert cacheable(before, now, Caching(least=10_000)) == 0
