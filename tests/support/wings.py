"""Tests of two features, one of which is a wing: they are left out with it."""

from collections.abc import Iterable

import pytest

from deepnb.values.wings import WINGS

wing = pytest.mark.wing


def are_here(marks: Iterable[pytest.Mark | pytest.MarkDecorator]) -> bool:
    return all(mark.args[0] in WINGS for mark in marks if mark.name == "wing")
