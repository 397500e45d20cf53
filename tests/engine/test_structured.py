"""Answers in a form: an object on the turn, whichever protocol; what does not fit is the model's to mend, then one line."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from deepnb import Session
from deepnb.context.transcript import live_messages
from deepnb.models.teaching import TeachingModel
from deepnb.testing import ScriptedModel, call
from deepnb.values.turn import TextDelta
from tests.models.test_fit import ALL, strict
from tests.support.chat_server import Say, Use
from tests.support.scripted import pay
from tests.support.tables import every_row, refused


class City(BaseModel):
    """A city."""

    name: str
    people: int


@dataclass
class Town:
    name: str
    people: int


SCHEMA = {
    "title": "a place",
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer"}, "tags": {"type": "array"}},
    "required": ["name", "people"],
}
TURKU: dict[str, Any] = {"name": "Turku", "people": 200_000}
FORMS: dict[str, tuple[Any, Any]] = {
    "City": (City, City(name="Turku", people=200_000)),
    "Town": (Town, Town("Turku", 200_000)),
    "a_place": (SCHEMA, TURKU),
}


def made(args: dict[str, Any], id_: str) -> Any:
    """An answer by the tool that the request forces."""

    def answer(request: dict[str, Any]) -> Any:
        assert request["tool_choice"] in ("required", {"type": "any"}), request["tool_choice"]
        names = [one.get("function", one)["name"] for one in request["tools"]]
        return Use(next(name for name in names if name.startswith(("City", "Town", "a_place"))), args, id=id_)

    return answer


@every_row("protocol", ALL)
@every_row("name", FORMS)
def test_the_object_is_on_the_turn_and_what_does_not_fit_is_mended(protocol, name):
    form, thing = FORMS[name]
    wrong, right = made({"name": "Turku"}, "w"), made(TURKU, "r")
    model, server = strict(protocol, [Use("ls", {"path": "/"}, id="l"), wrong, right, Say("In words.")])
    s = Session(model, enable_skills=False, response_format=form)
    turn = s.run("where?")
    assert turn.structured == thing and type(turn.structured) is type(thing)
    assert json.loads(turn.text) == TURKU and s.text == turn.text
    assert server.refused == [] and len(server.requests) == 3
    told = json.dumps(server.requests[-1])
    assert "people: Field required" in told or "'people' is a required property" in told
    assert "".join(e.text for e in turn.events if isinstance(e, TextDelta)) == turn.text
    lines = s.workspace.transcripts[s.thread].read()[0]
    assert TURKU in [c["args"] for m in live_messages(lines) for c in m.data.get("tool_calls", ())]
    s.configure(response_format=None)
    turn = s.run("and in words?")
    assert (turn.text, turn.structured) == ("In words.", None)


@every_row("protocol", ALL)
def test_an_answer_that_never_fits_is_one_line_and_the_thread_goes_on(protocol):
    wrong = [made({"name": n}, f"w{n}") for n in range(3)]
    model, server = strict(protocol, [*wrong, made(TURKU, "r")])
    s = Session(model, enable_skills=False, response_format=City)
    line = r"^no answer fits City \(name: Input should be a valid string; people: Field required\): ask again"
    refused(line, s.run, "where?")
    assert len(server.requests) == 3 and s.run("again").structured == City(**TURKU) and server.refused == []


@every_row(("answers", "asked"), [
    (["It is Turku.", json.dumps(TURKU)], 2), ([f"Here:\n```json\n{json.dumps(TURKU)}\n```"], 1),
    (["No.", '{"name": 1}', json.dumps(TURKU)], 3),
])  # fmt: skip
def test_a_model_that_answers_in_text_is_asked_again_or_read(answers, asked):
    s = Session(ScriptedModel(answers=answers), enable_skills=False)
    turn = s.run("where?", response_format=City)
    assert turn.structured == City(**TURKU) and json.loads(turn.text) == TURKU and len(turn.calls) == asked
    assert s.run("where?").structured is None, "for that turn alone"


def test_a_turn_that_waits_for_approval_keeps_its_form():
    s = Session(ScriptedModel(answers=[call("pay", amount=3), call("City", id="c2", **TURKU)]), tools=[pay])
    assert s.run("pay", response_format=City).asked
    list(s.resume(s.asked[0].approve()))
    assert s.turns[-1].structured == City(**TURKU)


def test_a_kept_turn_has_its_json(tmp_path: Path):
    file = tmp_path / "k.db"
    with Session(ScriptedModel(answers=[call("City", **TURKU)]), persist=file, response_format=City) as s:
        s.run("where?")
    with Session(persist=file) as again:
        assert again.turns[0].structured == TURKU
        assert again.graph.get_state(again.config).values["structured_response"] == TURKU, "no class is to be had there"


@every_row(("form", "says"), [
    ("City", "'City': give a pydantic model, a dataclass, or the JSON schema of an object"),
    (int, "the class int"), (City(name="a", people=1), "City"), ({"type": "array"}, "{'type': 'array'}"),
])  # fmt: skip
def test_what_can_be_no_form_is_one_line(form, says):
    told = refused("", Session, ScriptedModel(answers=["x"]), response_format=form)
    assert str(told).startswith(f"response_format can't be {says}")


@every_row("ask", [
    lambda: Session(response_format=City), lambda: Session().run("where?", response_format=City),
    lambda: Session(TeachingModel(), response_format=City),
    lambda: Session("own", namespace={"own": TeachingModel()}).run("where?", response_format=City),
    lambda: Session(ScriptedModel(answers=["x"]), response_format=City).use(TeachingModel()),
])  # fmt: skip
def test_the_offline_model_refuses_in_one_line(ask):
    line = r"^the offline model gives no answers in a form: session.use\(NAME\) takes another model$"
    refused(line, ask)
