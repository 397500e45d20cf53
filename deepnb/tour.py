"""The public name of the tour."""

from deepnb.wings.course.tour import run_tour as run_tour
