"""The marker of a move: whose a folder is, and how far it came."""

from __future__ import annotations

from dataclasses import replace
from time import time
from typing import Literal

from bucketstate.checkpoint.format.origin import FOLDER, MOVE, Origin, encoded, read_origin
from bucketstate.checkpoint.format.writing import WritableFolder
from bucketstate.errors import DamagedFileError, RefusedMoveError

Found = Literal["empty", "begun", "complete"]


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
    if _barely_begun(target):
        return "begun"
    try:
        origin = read_origin(target)
    except DamagedFileError:
        # Of a write that was cut: the first thing that is written, or the last.
        origin = None
        if (target / FOLDER).exists(MOVE) and not (target / "commits").exists():
            return "begun"
    if origin is None:
        raise RefusedMoveError(f"{target.location} is not empty: give a folder that is new.")
    if origin.finished:
        raise RefusedMoveError(
            f"{target.location} is not empty: {origin.summary} Give a folder that is new."
        )
    # The commit entry is what is written last: with it a query may have run here since.
    if not (target / "commits").exists(str(origin.batch)):
        return "begun"
    if (origin.source, origin.batch) == (source, batch):
        return "complete"
    raise RefusedMoveError(
        f"{target.location} is complete, of {origin.source} after batch {origin.batch}, which its "
        "marker does not say yet: run the command that made it again, or give a folder that is new."
    )


def _barely_begun(target: WritableFolder) -> bool:
    """Whether there is a folder for the marker alone, and at most a write of it that was cut."""
    if target.files() or target.folders() != [FOLDER]:
        return False
    return all(f.name.startswith(f".{MOVE}.") for f in (target / FOLDER).all_files())


def emptied(target: WritableFolder) -> None:
    """Deletes what an unfinished move left; its marker last, so that it can be stopped, too."""
    # What lets a query start goes first.
    inside = sorted(target.folders(), key=lambda name: (name != "commits", name != "offsets"))
    for name in inside:
        if name != FOLDER:
            target.delete_folder(name)
    for file in target.files():
        target.delete(file.name)
    for file in (target / FOLDER).files():
        if file.name != MOVE:
            (target / FOLDER).delete(file.name)


def begin(target: WritableFolder, origin: Origin) -> None:
    (target / FOLDER).make()
    (target / FOLDER).write(MOVE, encoded(origin))


def finish(target: WritableFolder, origin: Origin) -> None:
    done = replace(origin, status="finished", finished_ms=now_ms())
    (target / FOLDER).write(MOVE, encoded(done))
