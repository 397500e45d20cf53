"""Why less of a request was cached than of the one before it."""

from dataclasses import replace

from deepnb.values.budget import Budget, Rule
from deepnb.values.messages import GrowingList
from deepnb.values.request import Request, Sent
from deepnb.values.turn import Call, ModelEnded, Snapshot, Turn, Usage
from deepnb.values.xray import Caching, cache_drops, cacheable, last_cached
from tests.support.tables import every_row

HEAD = (
    Sent("tools", "ls", "{}", 900),
    Sent("system", "system prompt", "You are", 500),
    Sent("memory", "memory", "- a", 100),
)


def request(*messages: str, head: tuple[Sent, ...] = HEAD, part: str = "user") -> Request:
    return Request(head, GrowingList([(Sent(part, part, text, 10),) for text in messages]))


def turn(number: int, calls: list[tuple[Request, int]], started: str = "", model: str = "m") -> Turn:
    budget = Budget({}, Rule(("tokens", 9), ("messages", 1), None), True)
    usages = [(sent, Usage(2_000, 5, cached)) for sent, cached in calls]
    made = (Call(i, "answer", (), budget, usage=usage, request=sent) for i, (sent, usage) in enumerate(usages, 1))
    state = Snapshot("main")
    return Turn(
        number,
        "main",
        "",
        "",
        tuple(map(ModelEnded, made)),
        state,
        state,
        Usage(),
        budget,
        started=started,
        model=model,
    )


def changed(part: str) -> tuple[Sent, ...]:
    return tuple(replace(piece, text="other") if piece.part == part else piece for piece in HEAD)


FIRST = turn(1, [(request("a"), 0), (request("a", "b"), 1_990)], "2026-05-01T10:00:00+00:00")


@every_row(
    ("second", "why"),
    [
        (turn(2, [(request("a", "b", "c"), 1_950)]), ""),
        (turn(2, [(request("a", "b", "c", head=changed("tools")), 0)]), "the tools changed"),
        (turn(2, [(request("a", "b", "c", head=changed("system")), 900)]), "the system prompt changed"),
        (turn(2, [(request("a", "b", "c", head=changed("memory")), 1_400)]), "the memory block was made anew"),
        (turn(2, [(request("shorter", "c", part="summary"), 1_500)]), "the context was compacted"),
        (turn(2, [(request("a", "other", "c"), 1_500)]), "earlier messages changed"),
        (turn(2, [(request("a"), 1_500)]), "earlier messages changed"),
        (turn(2, [(request("a", "b", "c"), 0)], model="n"), "another model answered"),
        (turn(2, [(request("a", "b", "c"), 0)], "2026-05-01T10:20:00+00:00"), "20 minutes since the call before"),
        (turn(2, [(request("a", "b", "c"), 0)], "2026-05-01T10:01:00+00:00"), "the provider did not keep it"),
    ],
)  # fmt: skip
def test_the_reason_is_the_first_thing_that_changed(second, why):
    assert [drop for _, _, drop in cache_drops([FIRST, second])] == ["", "", why]
    found = last_cached([FIRST, second])
    assert found is not None
    assert found[1] == why


def test_a_provider_that_reports_no_cache_is_not_judged():
    turns = [turn(1, [(request("a"), 0)]), turn(2, [(request("b"), 0)])]
    assert {drop for _, _, drop in cache_drops(turns)} == {""}
    assert last_cached(turns) is None


def parts(tools: str = "t", system: str = "s", memory: str = "m", *talk: str) -> Request:
    """A request whose pieces are named by their parts; of the talk `a...` is said by the assistant."""
    head = (
        Sent("tools", "ls", tools, 2_000),
        Sent("system", "system prompt", system, 1_500),
        Sent("system", "system prompt", "\n\n", 1),
        Sent("memory", "memory", memory, 400),
    )
    body = [(Sent("assistant" if one.startswith("a") else "user", "", one, 50),) for one in talk]
    return Request(head, GrowingList(body))


TALK = ("u1", "a1", "u2")


@every_row(
    ("now", "marks", "unknown"),
    [
        (parts("t", "s", "m", *TALK, "a2", "u3"), 4_051, 4_051),
        (parts("t", "s", "m2", *TALK, "a2", "u3"), 3_500, 1_501),
        (parts("t", "s2", "m", *TALK, "a2", "u3"), 0, 0),
        (parts("t2", "s", "m", *TALK, "a2", "u3"), 0, 0),
        (parts("t", "s", "m", "sum", "u3"), 3_901, 3_901),
        (parts("t", "s", "m", "u1", "a1b", "u2", "a2"), 3_951, 3_951),
        (parts("t", "s", "m", "u1", "a1", "u2b", "a2"), 3_951, 4_001),
    ],
)
def test_cacheable_is_what_the_provider_can_have_kept(now, marks, unknown):
    """With marks the prefix up to the last of them; with tools above or below the system prompt what is the same in both."""
    before = parts("t", "s", "m", *TALK)
    assert cacheable(before, now, Caching(marks=True, least=1_024)) == marks
    assert cacheable(before, now, Caching()) == unknown
    assert cacheable(before, now, Caching(least=10_000)) == 0
