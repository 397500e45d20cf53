"""What tests of jobs share."""

import pytest


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped run whose tool is at a gate is not waited for: nothing opens the gate."""
    monkeypatch.setattr("deepnb.engine.run._GRACE", 0.1)
