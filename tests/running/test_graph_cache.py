"""Graphs are made once for the options they are of, and only a few are kept."""

from __future__ import annotations

from deepnb import Session
from tests.support.scripted import Scripted


def model(text: str) -> Scripted:
    return Scripted(answers=[text])


def test_another_model_for_a_turn_and_back_makes_no_new_graph():
    first, other = model("a"), model("b")
    s = Session(model=first)
    graph = s.graph
    assert s.run("one").text == "a"
    assert s.run("two", model=other).text == "b"
    assert s.run("three").text == "a"
    assert s.graph is graph


def test_of_many_graphs_the_oldest_is_dropped_and_made_again_when_needed():
    models = [model(text) for text in "abcdef"]
    s = Session(model=models[0])
    graphs = []
    for one in models:
        s.use(one)
        graphs.append(s.graph)
    s.use(models[-2])
    assert s.graph is graphs[-2]
    s.use(models[0])
    assert s.graph is not graphs[0]
    assert s.run("one").text == "a"
