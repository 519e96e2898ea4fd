"""Savepoints of a checkpoint: what a batch made, held so that there is something to go back to.

Retention honours them in every executor, and they survive restarts. Nothing is copied of the state:
its files are not deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

from bucketstate.checkpoint.format.names import Attempt
from bucketstate.checkpoint.format.parallel import in_order
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.format.writing import WritableFolder
from bucketstate.checkpoint.spark.query import OperatorInfo
from bucketstate.checkpoint.store.catalog import Catalog, shown, whole_number
from bucketstate.checkpoint.store.savepoint import (
    FOLDER,
    Savepoint,
    StoreOf,
    encoded,
    is_name,
    name_of,
    new_file,
    read_savepoints,
    savepoint_files,
)
from bucketstate.errors import (
    CheckpointError,
    InvalidArgumentError,
    MissingFileError,
    NoSuchStateError,
    SavepointError,
    StorageError,
)
from bucketstate.interrupts import undone
from bucketstate.release import __version__

__all__ = ["create", "drop", "listed"]

_TRIES = 5
"""How often the newest batch is tried where the query has gone on meanwhile."""


def create(
    path: str | os.PathLike[str],
    name: str,
    *,
    batch: int | None = None,
    stopped: bool = False,
    filesystem: Any | None = None,
) -> Savepoint:
    """Holds what a batch made, until the savepoint is dropped. The query may run meanwhile.

    The batch has to be one of the newer half of those in Spark's commit log, so that no executor
    that has not heard of the savepoint yet deletes what it holds. All that it holds is looked up
    before this returns.

    Args:
        path: the query's checkpoint: see `Checkpoint`.
        name: what to call it: letters, digits, `-`, `_` and `.`, 64 at most; the first is a letter
            or a digit.
        batch: without, the one that was committed last.
        stopped: the query is not running, and does not start meanwhile: then the batch may be any
            in Spark's commit log.
        filesystem: a file system of pyarrow or of fsspec, on which `path` is a path of its own.

    Raises:
        InvalidArgumentError: it cannot be called so, or an argument is of a wrong type.
        NoSuchStateError: Spark's commit log has no such batch.
        SavepointError: there is one of that name, or the batch is too old, or is gone; or a clone
            or a rewind of the checkpoint is not finished.
        CheckpointError: the checkpoint cannot be read, or the savepoint not be written.
        StorageError: the file system failed.
    """
    if not isinstance(name, str) or not is_name(name):
        raise InvalidArgumentError(
            f"{name!r} cannot be the name of a savepoint: give 1 to 64 letters, digits, '-', '_' "
            "and '.', the first a letter or a digit."
        )
    folder = WritableFolder.at(path, filesystem)
    if savepoint_files(folder, name):
        raise _taken(folder, name)
    wanted = None if batch is None else whole_number("batch", batch)
    for _ in range(_TRIES):
        savepoint = _collected(Catalog(folder), name, wanted)
        file = savepoint.path.rpartition("/")[2]
        withdraw = partial((folder / FOLDER).delete, file)
        # On the command line Ctrl-C is no exception.
        with undone(withdraw):
            try:
                (folder / FOLDER).create(file, encoded(savepoint))
                _only_one(folder, name)
                # From here on what is true of the logs was true when the savepoint was there: see
                # docs/internals/retention.md.
                catalog = Catalog(folder)
                _not_moving(catalog)
                if stopped or _is_known_in_time(catalog, savepoint.batch):
                    _whole(catalog, savepoint)
                    return savepoint
            except BaseException:
                # It may be there, where a reply got lost. What is wrong is told as it is.
                with suppress(StorageError):
                    withdraw()
                raise
            withdraw()
        if wanted is not None:
            break
    raise _too_old(catalog, savepoint)


def listed(path: str | os.PathLike[str], *, filesystem: Any | None = None) -> tuple[Savepoint, ...]:
    """All savepoints of a checkpoint, the oldest batch first.

    Args:
        path: the query's checkpoint: see `Checkpoint`.
        filesystem: a file system of pyarrow or of fsspec, on which `path` is a path of its own.

    Raises:
        CheckpointError: one cannot be read.
        StorageError: the file system failed.
    """
    return read_savepoints(Folder.at(path, filesystem))


def drop(path: str | os.PathLike[str], name: str, *, filesystem: Any | None = None) -> None:
    """Holds no longer what a savepoint held; what only it needed goes when the query cleans up.

    One that is damaged can be dropped as well.

    Args:
        path: the query's checkpoint: see `Checkpoint`.
        name: of the savepoint, or of its file.
        filesystem: a file system of pyarrow or of fsspec, on which `path` is a path of its own.

    Raises:
        NoSuchStateError: there is none of that name; the message lists those that there are.
        StorageError: it could not be removed.
    """
    folder = WritableFolder.at(path, filesystem)
    files = savepoint_files(folder, name)
    if not files:
        known = ", ".join(sorted({name_of(f) or f for f in savepoint_files(folder)})) or "none"
        raise NoSuchStateError(f"{folder.location} has no savepoint '{name}'. There are: {known}.")
    for file in files:
        (folder / FOLDER).delete(file)


def _collected(catalog: Catalog, name: str, wanted: int | None) -> Savepoint:
    """The savepoint as it is to be written; none of what it says is verified yet."""
    query = catalog.query
    if not query.committed:
        raise NoSuchStateError(f"{catalog.location} has no batch yet that was committed.")
    batch = query.committed[-1] if wanted is None else wanted
    if batch not in query.committed:
        raise NoSuchStateError(
            f"Spark's commit log in {catalog.location} has no batch {batch}. There are: "
            f"{shown(query.committed)}."
        )
    operators = [query.operator(number, batch) for number in query.operator_ids]
    return Savepoint(
        name=name,
        batch=batch,
        created=datetime.now(UTC).replace(microsecond=0),
        tool=f"bucketstate {__version__}",
        attempts=dict(_attempts(catalog, operators, batch)),
        files=_files(catalog, operators, batch),
        path=(query.folder / FOLDER).path_of(new_file(name)),
    )


def _attempts(
    catalog: Catalog, operators: list[OperatorInfo], batch: int
) -> Iterator[tuple[StoreOf, Attempt]]:
    commit = catalog.query.commit(batch)
    for operator in operators:
        for info in operator.stores:
            for partition in range(info.partitions):
                own = commit.id_of(operator.id, partition, info.name)
                yield (operator.id, partition, info.name), Attempt(batch + 1, own)


def _files(catalog: Catalog, operators: list[OperatorInfo], batch: int) -> dict[str, bytes]:
    """What Spark may delete, and starts a query at this batch with."""
    query = catalog.query
    root = query.folder
    places = [(root / "offsets", str(batch)), (root / "commits", str(batch))]
    if batch > 0:
        # The sources' positions before the batch, without which Spark does not start.
        places.append((root / "offsets", str(batch - 1)))
        if batch - 1 in query.committed:
            places.append((root / "commits", str(batch - 1)))
    for operator in operators:
        place = query.metadata_place(operator.id, batch)
        places += [place] if place else []
        for store in operator.stores:
            if store.schema_files:
                places += query.schema_places(operator.id, store)
            else:
                own = query.store_folder(operator.id, 0, store.name)
                places.append((own / "_metadata", "schema"))
    start = f"{root.location}/"
    found: dict[str, bytes] = {}
    for folder, name in places:
        path = folder.path_of(name)
        try:
            found[path.removeprefix(start)] = folder.read(name)
        except MissingFileError as error:
            if folder.location.endswith(("/offsets", "/commits")):
                raise SavepointError(
                    f"{path} is gone, without which Spark does not start at batch {batch}: the "
                    "query keeps too few batches. Create the savepoint again, raise "
                    "spark.sql.streaming.minBatchesToRetain, or stop the query for it."
                ) from error
            # Schemas of older state that are not there: Spark, too, does without.
            continue
    return found


def _only_one(folder: Folder, name: str) -> None:
    """Refuses a second file of a name: of two creations at once, at least one sees the other."""
    if len(savepoint_files(folder, name)) > 1:
        raise _taken(folder, name)


def _is_known_in_time(catalog: Catalog, batch: int) -> bool:
    """Whether retention keeps the batch by itself in all executors that do not know the savepoint.

    How many batches it keeps is not recorded; Spark's log has one more than these, or fewer where
    the query has not run for long. Half of them is far from its end.
    """
    committed = catalog.query.committed
    return bool(committed) and 2 * (committed[-1] - batch) <= committed[-1] - committed[0]


def _whole(catalog: Catalog, savepoint: Savepoint) -> None:
    """Looks up all that it holds."""

    def look_up(of: tuple[StoreOf, Attempt]) -> None:
        (operator, partition, store), attempt = of
        catalog.store(operator, partition, store).plan(attempt)

    try:
        for _ in in_order(look_up, savepoint.attempts.items()):
            pass
    except CheckpointError as error:
        raise SavepointError(
            f"The state that batch {savepoint.batch} made is not whole, so no savepoint was "
            f"created: {error}"
        ) from error


def _not_moving(catalog: Catalog) -> None:
    """Refuses what a rewind takes away: that writes its marker, and then looks for savepoints."""
    half_done = catalog.query.marks.half_done
    if half_done is not None:
        raise SavepointError(f"{catalog.location}: {half_done}")


def _taken(folder: Folder, name: str) -> SavepointError:
    return SavepointError(
        f"{folder.location} has a savepoint '{name}', or one is being created: take another name, "
        "or drop it before."
    )


def _too_old(catalog: Catalog, savepoint: Savepoint) -> SavepointError:
    committed = catalog.query.committed
    first = committed[-1] - (committed[-1] - committed[0]) // 2
    return SavepointError(
        f"Batch {savepoint.batch} is so old that executors may delete what it made before they "
        f"know of a savepoint: Spark's commit log has the batches {shown(committed)}. Take one "
        f"from {first} on, or stop the query and say that it is stopped (stopped=True, --stopped)."
    )
