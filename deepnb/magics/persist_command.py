"""`%agent persist`: keeping the session in a file or a database, what is back with it, and the file that is proposed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from deepnb.magics.ask import FORGETS, show_asked
from deepnb.magics.scene import Args, Result, Scene, notice
from deepnb.views.notice import notice_view
from deepnb.workshop.open_notebook import notebook_path


def agent_persist(scene: Scene, args: Args) -> Result:
    if args["where"]:
        lines = scene.session.persist(args["where"].strip("\"'")).lines
        for line in lines:
            scene.show(notice_view(line, "ok"))
        show_asked(scene, len(lines))
        return None
    kept = scene.session.workspace.persistence
    if kept is not None:
        files = f": {kept.database.files}" if kept.database.files else ""
        return notice(f"this session is kept in {kept.database.where}{files}")
    name = proposed_file(scene.namespace)
    quoted = f'"{name}"' if " " in name else name
    return notice(f"{FORGETS}; to keep them: %agent persist {quoted}")


def proposed_file(namespace: Mapping[str, Any]) -> str:
    """A file beside the notebook, as it is typed in the current directory; `session.deepnb.db` where there is no notebook."""
    notebook = notebook_path(namespace)
    if notebook is None:
        return "session.deepnb.db"
    file = notebook.with_suffix(".deepnb.db")
    return os.path.relpath(file) if file.is_relative_to(Path.cwd()) else str(file)
