"""`%agent record` and `%agent replay`."""

from deepnb.core.errors import NotFoundError
from deepnb.magics.scene import Args, Result, Scene, notice
from deepnb.views.notice import notice_view
from deepnb.views.numbers import counted


def agent_record(scene: Scene, args: Args) -> Result:
    session, file = scene.session, args["file"]
    running = session.recording
    if file is None:
        return notice(running.line if running is not None else "nothing is being recorded")
    if file == "stop":
        if running is None or not running.active:
            raise NotFoundError("nothing is being recorded", "%agent record FILE.jsonl starts a tape")
        running.stop()
        return notice(f"{running.line}: %agent replay {running.name} plays it")
    made = session.record(file.strip("\"'"), overwrite=bool(args["yes"]))
    return notice(f"recording to {made.name} from the next turn on, without credentials: %agent record stop ends it")


def agent_replay(scene: Scene, args: Args) -> Result:
    from deepnb.session.tapes import played

    session = scene.session
    if args["file"] is None:
        tape = played(session.workspace)
        return notice(f"the model is {tape.label}" if tape is not None else "no tape is being played")
    tape = session.replay(args["file"].strip("\"'"), pace=bool(args["pace"]))
    for line in tape.notices:
        scene.show(notice_view(line, "warning"))
    of = " and ".join(model.name for model in tape.models)
    requests = counted(len(tape.exchanges), "request") + (f" of {of}" if of else "")
    return notice(f"{tape.label} from the next turn on: {requests}, recorded {tape.made[:10]}")
