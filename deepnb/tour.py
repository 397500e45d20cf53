"""The public name of the tour."""

from deepnb.values.wings import part

part("import deepnb.tour", ImportError)
from deepnb.wings.course.tour import run_tour as run_tour  # noqa: E402
