"""The two tapes that come with the notebooks: they are current, say what they are, and play in a notebook's kernel."""

import json
from pathlib import Path

from deepnb import Session
from deepnb.values.turn import ThinkingDelta
from tests.support.shells import Shell
from tests.support.tables import every_row
from tests.support.tapes import COMPARED, HERE, MODELS, NOTE, PROMPTS, WARM, make, tape


@every_row("name", MODELS)
def test_a_shipped_tape_is_current(name: str, tmp_path: Path) -> None:
    """If not: `python -m tests.support.tapes`."""
    file = tmp_path / f"{name}.jsonl"
    recorded = make(name, file)
    assert file.read_text(encoding="utf-8").splitlines() == (HERE / file.name).read_text(encoding="utf-8").splitlines()
    again = Session(namespace={}, clock=recorded.clock)
    again.replay(HERE / file.name)
    assert repr(again) == f"<Session tape {name}.jsonl (scripted, no LLM), thread main>"
    assert json.loads(file.read_text(encoding="utf-8").partition("\n")[0])["note"] == NOTE == "scripted, no LLM"
    assert [model.name for model in tape(HERE / file.name).models] == [f"scripted-{name}"]
    for prompt in PROMPTS:
        again.run(prompt)
    assert [(t.text, t.usage) for t in again.turns] == [(t.text, t.usage) for t in recorded.turns]
    assert dict(again.files) == dict(recorded.files)


def test_both_tapes_are_of_one_script() -> None:
    sessions = []
    for name in MODELS:
        session = Session(namespace={})
        session.replay(HERE / f"{name}.jsonl")
        sessions.append((session, [session.run(prompt) for prompt in PROMPTS]))
    (a, over_openai), (b, over_anthropic) = sessions
    assert [t.text for t in over_openai] == [t.text for t in over_anthropic]
    assert dict(a.files) == dict(b.files) and a.files["/b.md"] == WARM
    thought = [any(isinstance(e, ThinkingDelta) for t in turns for e in t.events) for _, turns in sessions]
    assert thought == [False, True]
    assert all((turns[2].usage.cached or 0) > 0.8 * turns[2].usage.input for _, turns in sessions)


def test_the_shipped_tapes_play_side_by_side_in_a_shell(shell: Shell) -> None:
    shell.ok("import pandas as pd\nsales = pd.DataFrame({'a': [1]})")
    answers = []
    for name in MODELS:
        shell.ok(f"%agent new {name} --empty")
        out = shell.ok(f"%agent replay {HERE / name}.jsonl")
        assert f"tape {name}.jsonl (scripted, no LLM) from the next turn on: 7 requests of scripted-{name}" in out
        for prompt in PROMPTS:
            out = shell.ok(f"%%agent\n{prompt}")
            assert f"tape {name}.jsonl (scripted, no LLM)" in out
        assert shell.session.turns[1].text == COMPARED
        answers.append(shell.session.text)
    assert answers[0] == answers[1] and "12 March" in answers[0]
