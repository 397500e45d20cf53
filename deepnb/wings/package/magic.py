"""`%agent package`: this agent as a LangGraph application, listed first, and written once that is confirmed."""

from deepnb.magics.scene import Args, Result, Scene
from deepnb.views.view import notice_view
from deepnb.wings.package.view import package_view


def agent_package(scene: Scene, args: Args) -> Result:
    """List the files of the application; with `--yes`, write them and say how to serve it."""
    directory, include = args["directory"].strip("\"'"), args["include"] or ""
    made = scene.session.package(directory, include.split(), write=bool(args["yes"]))
    scene.show(package_view(made, scene.stamp))
    if made.written:
        return notice_view(f"in {args['directory']}: {COMMANDS}; README.md says more", "ok")
    typed = " ".join(filter(None, (args["directory"], include)))
    return notice_view(f"nothing is written yet: %agent package --yes {typed} writes these files", "hint")


COMMANDS = "pip install -r requirements.txt 'langgraph-cli[inmem]', then langgraph dev --no-browser"
