"""What compactions took out of the state of a kept session is read when its file is opened."""

from pathlib import Path

from deepnb import Session
from deepnb.wings.open.opening import open_session
from tests.persistence.test_taken import WORDS, Talker
from tests.persistence.test_taken import short as short


def test_what_was_taken_out_of_the_state_is_read(tmp_path: Path) -> None:
    kept = Session(Talker(), persist=tmp_path / "k.db")
    for n in range(24):
        kept.run(f"question {n}: {WORDS}")
    assert sum(turn.compacted for turn in kept.turns) >= 2
    opened = open_session(tmp_path / "k.db")
    assert [turn.prompt[:12] for turn in opened.index.turns] == [turn.prompt[:12] for turn in kept.turns]
    told = [m for n in range(1, len(kept.turns) + 1) for m in opened.content(n).messages]
    assert [m.text for m in told if m.source is None] == [m.text for m in kept.snapshot.messages]
    kept.close()
