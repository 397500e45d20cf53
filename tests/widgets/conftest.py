"""Every widget of a test is closed after it: there is no kernel that would."""

from collections.abc import Iterator

import pytest
from ipywidgets import Widget


@pytest.fixture(autouse=True)
def no_kernel() -> Iterator[None]:
    yield
    Widget.close_all()
