"""The marker of a move: whose a folder is, and how far it came."""

from __future__ import annotations

from dataclasses import replace
from time import time
from typing import Literal

from bucketstate.checkpoint.format.origin import FOLDER, MOVE, Origin, encoded, read_origin
from bucketstate.checkpoint.format.writing import WritableFolder
from bucketstate.errors import DamagedFileError, RefusedMoveError

Found = Literal["empty", "begun", "complete"]

OF_QUERY = "metadata"
"""Spark's file with the id of the query, which it reads before all else of a checkpoint."""
_BLOCKING = b"The_move_into_this_folder_is_not_finished: run the same command again.\n"
"""What stands there until all is there, as moves by Spark write it, too: no Spark can read it."""


def now_ms() -> int:
    return round(time() * 1000)


def claimed(target: WritableFolder, source: str, batch: int) -> Found:
    """What a folder is to a move of that source and batch.

    `empty` can be written to, `begun` has to be emptied first; `complete` lacks nothing but that
    its marker says so.

    Raises RefusedMoveError for a folder that holds anything else.
    """
    if not target.files() and not target.folders():
        return "empty"
    if _barely_begun(target) or _is_blocked(target):
        return "begun"
    try:
        origin = read_origin(target)
    except DamagedFileError:
        # Of a write that was cut: one of the first things that are written, or the last.
        origin = None
        if (target / FOLDER).exists(MOVE) and not (target / "commits").exists():
            return "begun"
    if origin is None:
        raise RefusedMoveError(f"{target.location} is not empty: give a folder that is new.")
    if origin.finished:
        raise RefusedMoveError(
            f"{target.location} is not empty: {origin.summary} Give a folder that is new."
        )
    # The query's own is what is written last: with it a query may have run here since.
    if not target.exists(OF_QUERY):
        return "begun"
    if (origin.source, origin.batch) == (source, batch):
        return "complete"
    raise RefusedMoveError(
        f"{target.location} is complete, of {origin.source} after batch {origin.batch}, which its "
        "marker does not say yet: run the command that made it again, or give a folder that is new."
    )


def _barely_begun(target: WritableFolder) -> bool:
    """Whether there is at most a folder for the marker, and a first write that was cut."""
    if target.folders() not in ([], [FOLDER]):
        return False
    cut = (f".{OF_QUERY}.", f"{FOLDER}/.{MOVE}.")
    return all(f.name.startswith(cut) for f in target.all_files())


def _is_blocked(target: WritableFolder) -> bool:
    return target.exists(OF_QUERY) and target.read(OF_QUERY) == _BLOCKING


def still(found: Found, target: WritableFolder, source: str, batch: int) -> None:
    """Refuses a folder that is something else by now than what `claimed` found.

    Another move may have come to its end there meanwhile, and a query may run on it.
    """
    now = claimed(target, source, batch)
    if now != found:
        raise RefusedMoveError(
            f"{target.location} was {found} when this move looked at it, and is {now} by now: "
            "another move writes into it. Let that one come to its end, or give another folder. "
            "This one has written nothing."
        )


def blocked(target: WritableFolder) -> None:
    """Lets no query start on what there will be, until the query's own file is written.

    A query's own file is never replaced: a query may run on what is there.
    """
    target.make()
    if _is_blocked(target):
        return
    if target.exists(OF_QUERY):
        raise RefusedMoveError(
            f"{target.location} is not empty: it has the file '{OF_QUERY}' of a query. Give a "
            "folder that is new."
        )
    target.write(OF_QUERY, _BLOCKING)


def emptied(target: WritableFolder) -> None:
    """Deletes what an unfinished move left, but for what lets no query start, and the marker."""
    for name in target.folders():
        if name != FOLDER:
            target.delete_folder(name)
    for file in target.files():
        if file.name != OF_QUERY:
            target.delete(file.name)
    for file in (target / FOLDER).files():
        if file.name != MOVE:
            (target / FOLDER).delete(file.name)


def begin(target: WritableFolder, origin: Origin) -> None:
    (target / FOLDER).make()
    (target / FOLDER).write(MOVE, encoded(origin))


def owned(target: WritableFolder, origin: Origin) -> None:
    """Refuses to go on where another move into the folder was begun since, or has ended.

    That one writes its marker first, and then empties the folder.
    """
    if not _is_of(target, origin) or not _is_blocked(target):
        raise _overtaken(target)


def held(target: WritableFolder, origin: Origin) -> None:
    """Takes the query's own file back where another move into the folder was begun since.

    That one may empty the folder, and no query is to start on what it leaves. Each writes first,
    this one the query's file and that one its marker, and then reads what the other one writes: so
    at least one of them sees the other.
    """
    if not _is_of(target, origin):
        target.write(OF_QUERY, _BLOCKING)
        raise _overtaken(target)


def _is_of(target: WritableFolder, origin: Origin) -> bool:
    found = read_origin(target)
    return found is not None and found.token == origin.token


def _overtaken(target: WritableFolder) -> RefusedMoveError:
    return RefusedMoveError(
        f"Another move into {target.location} was begun since: let that one come to its end, or "
        "give another folder. This one has published nothing."
    )


def finish(target: WritableFolder, origin: Origin) -> None:
    done = replace(origin, status="finished", finished_ms=now_ms())
    (target / FOLDER).write(MOVE, encoded(done))
