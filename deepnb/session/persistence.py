"""Keeping a session in a file or in a database: which it is, whether that fits, and what is back."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from deepnb.persistence.database import Database
from deepnb.persistence.savers import copy_checkpoints
from deepnb.running.persistence import Restored
from deepnb.running.thread import waits
from deepnb.running.workspace import Workspace
from deepnb.values.approvals import policy_of
from deepnb.values.errors import InvalidError, RefusedError
from deepnb.values.server_address import POSTGRES, without_password


def persist(workspace: Workspace, where: str | Path) -> Restored:
    """Keep a session there from now on, with what it has until then; gives what was there."""
    kept = workspace.persistence
    if kept is not None and kept.database.is_there and _is_at(kept.database, where):  # the cell was run again
        return kept.here
    if kept is not None and not kept.database.is_there and not str(where).startswith(POSTGRES):
        workspace.current.idle()
        kept.database.move(str(where))
        return kept.here
    workspace.current.idle()
    workspace.need("persistence by deepnb")
    if not isinstance(where, str | Path) or not str(where).strip():
        raise InvalidError(f"persist can't be {where!r}", 'give a file, or "postgresql://user@host/database"')
    if kept is not None:
        what = f"this session is kept in {kept.database.where} already"
        raise RefusedError(what, "restart the kernel to keep another elsewhere")
    if workspace.options.checkpointer is not None:
        do = "deepnb.Session(persist=...) takes the place of checkpointer"
        raise RefusedError("this session has a checkpointer of its own", do)
    for thread in workspace.threads:
        if thread.asked:
            raise waits(thread, thread is workspace.current.thread)
    database = _open(where)
    try:
        begun = any(thread.root is not None or thread.turns for thread in workspace.threads)
        if begun and database.newest():
            what = f"{database.where} has threads of its own, and this session has begun already"
            raise RefusedError(what, "restart the kernel and begin with %agent persist FILE, or choose another file")
        if begun:
            copy_checkpoints(workspace.graphs.checkpointer, database.saver)
    except BaseException:
        database.close()
        raise
    try:
        kept = workspace.keep_in(database, begun=begun)
        threads = workspace.threads
        if not begun:
            if (current := kept.records.fact("thread")) is not None and current in threads:
                threads.switch(current)
            if (policy := kept.policy) is not None and workspace.options.approve == "outside":
                workspace.current.options = replace(workspace.current.options, approve=policy_of(policy).option)
        thread = threads.current
        others = [] if begun else [threads[name] for name in kept.unfinished() if name != thread.name]
        restored = kept.restored(thread, others, workspace.options.namespace)
    except BaseException:  # what is there can't be read: nothing more is to be written to it
        workspace.close()
        raise
    workspace.current.tell()
    return restored


def _is_at(database: Database, where: Any) -> bool:
    if isinstance(where, str) and where.startswith(POSTGRES):
        return without_password(where) == database.where
    from deepnb.persistence.sqlite import SqliteDatabase, real_path

    return isinstance(where, str | Path) and isinstance(database, SqliteDatabase) and real_path(where) == database.path


def _open(where: str | Path) -> Database:
    if isinstance(where, str) and where.startswith(POSTGRES):
        from deepnb.persistence.postgres import PostgresDatabase

        return PostgresDatabase(where)
    if isinstance(where, str) and "://" in where:
        do = "give a file, or postgresql://"
        raise InvalidError(f"{where.partition('://')[0]}:// is no database that deepnb knows", do)
    from deepnb.persistence.sqlite import SqliteDatabase

    return SqliteDatabase(where)
