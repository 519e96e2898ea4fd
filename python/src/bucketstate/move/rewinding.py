"""Takes a checkpoint back to an earlier batch, in place.

What is deleted, and in which order, so that it can be stopped at any moment:

1. A marker says that a rewind is under way.
2. Manifests of later versions, of each store the newest first; only then changelogs, the same way.
   A manifest whose changelog is gone counts as a state by itself, and may be of an attempt that was
   given up. From the first file on that a restart needs, Spark cannot open the state any more, and
   says so: it never opens an older one.
3. What Spark has deleted of its own files is written again, where a savepoint has it: schemas, then
   metadata of operators, then entries of the logs, which later ones still hide.
4. Later metadata of operators: Spark does not write them again where they are. Of the form that
   has one file for all batches, the number of partitions as it was.
5. Later commits, then later offsets, the newest first. Spark runs the last batch of the offset log
   once more if it was not committed, on the version before it. That version is gone, but for the
   batch that follows the one that is left: this one it runs as it was planned, which is right.
6. The marker.

Between the batch of a savepoint and the oldest entry that Spark has left there may be none: the
oldest of them lacks the one before it, with which Spark does not start either.

The batch of a rewrite in place has another number of partitions than the one before. Without its
commit Spark, since 4.2, starts no query until its offsets are gone as well.

So until the last offsets but one are gone no query starts, and then it starts right. With the logs
first there would be moments when it starts beside files of the batches that were dropped.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from bucketstate import __version__
from bucketstate.checkpoint.format.names import ChangelogName, ManifestName, StoreFile
from bucketstate.checkpoint.format.origin import FOLDER, REWIND, Rewinding
from bucketstate.checkpoint.format.parallel import in_order
from bucketstate.checkpoint.format.writing import WritableFolder
from bucketstate.checkpoint.store.catalog import Catalog, every_store
from bucketstate.checkpoint.store.savepoint import Savepoint, read_savepoints
from bucketstate.checkpoint.store.store import Store
from bucketstate.errors import CheckpointError, RefusedMoveError, StorageError
from bucketstate.move.contents import (
    batches_in,
    newest_metadata,
    path_of,
    stores_at,
)
from bucketstate.move.marker import now_ms
from bucketstate.move.points import Point, check_offsets, one_of, point_of
from bucketstate.move.reports import RewindReport

_log = logging.getLogger("bucketstate.move")

RUNNING_MS = 60_000
"""A query whose last batch was planned so lately is taken to run, though it is committed."""


def rewind(
    checkpoint: str | os.PathLike[str],
    batch: int | None = None,
    *,
    savepoint: str | None = None,
    stopped: bool = False,
    dry_run: bool = False,
    filesystem: Any | None = None,
) -> RewindReport:
    """Takes a stopped query's checkpoint back: all batches after one are dropped, for good.

    The query then goes on as if that had been its last batch: what its sources had after it is read
    once more, and batches with the same numbers are written once more. What was stopped half-way
    is finished by the same call. Savepoints of that batch and of earlier ones stay whole.

    Args:
        checkpoint: the `checkpointLocation` of a query on bucketstate, as `Checkpoint` takes it.
        batch: the last batch that is left.
        savepoint: the name of the savepoint that holds that batch, in place of it. What Spark has
            deleted of its logs since is written again.
        stopped: the query is known to be stopped; without, one whose last batch was planned less
            than a minute ago, or is not committed, is taken to run.
        dry_run: nothing is changed, and the report is of what would be.
        filesystem: as `Checkpoint` takes it.

    Raises:
        RefusedMoveError: the query seems to run, or ran meanwhile; the checkpoint was not finished
            itself; a savepoint holds what a later batch made, or that batch was made again since.
        NoSuchStateError: the batch is not there any more, or there is no such savepoint.
        InvalidArgumentError: what is given is no path, no file system or no batch, or it is not one
            of a batch and a savepoint.
        MissingLibraryError: fsspec is needed and not installed.
        NotACheckpointError: the folder is not the checkpoint of a stateful query.
        OtherProviderError: another state store provider wrote its state.
        NewerFormatError: a newer release wrote what the batch's version is read from.
        DamagedFileError: what the batch's version is read from is damaged.
        MissingFileError: what the batch's version is read from is not there.
        StorageError: the file system failed.
    """
    one_of(batch, savepoint)
    began = monotonic()
    folder = WritableFolder.at(checkpoint, filesystem)
    catalog = Catalog(folder)
    origin = catalog.query.marks.origin
    if origin is not None and not origin.finished:
        raise RefusedMoveError(f"{folder.location}: {origin.summary}")
    in_place = catalog.query.marks.in_place
    if in_place is not None:
        raise RefusedMoveError(f"{folder.location}: {in_place.summary}")
    point = point_of(catalog, batch, savepoint)
    check_offsets(point)
    newest = max(catalog.query.planned, default=-1)
    if point.savepoint is not None and newest < point.batch:
        raise RefusedMoveError(
            f"Spark's log in {folder.location} ends with batch {newest}, before the savepoint "
            f"'{point.name}' of batch {point.batch}: there is nothing to take back. Clone it."
        )
    _check_savepoints(catalog.savepoints, point)
    later = _later(point, folder)
    left = (folder / FOLDER).exists(REWIND)
    has_work = bool(later.dropped or later.has_files or later.gone)
    notes = []
    if has_work:
        # A rewind that was stopped may have taken that commit itself.
        committed = left or newest <= point.batch or newest in later.commits
        running = _running(catalog, committed=committed)
        if running is not None and not stopped:
            if not dry_run:
                raise RefusedMoveError(running)
            notes.append(running)
    _log.info("rewind of %s to batch %d drops %s", folder.location, point.batch, later.dropped)
    if not dry_run and (has_work or left):
        _go_back(later, folder, point, resumed=left)
    return RewindReport(
        folder.location,
        point.batch,
        point.version,
        point.name,
        tuple(later.dropped),
        sum(len(s.manifests) for s in later.stores),
        sum(len(s.changelogs) for s in later.stores),
        len(later.gone),
        sum(s.bytes for s in later.stores),
        round(monotonic() - began, 3),
        dry_run,
        tuple(notes),
    )


@dataclass(frozen=True)
class _LaterFiles:
    """Those of one store, the newest first."""

    folder: WritableFolder
    manifests: tuple[ManifestName, ...]
    changelogs: tuple[ChangelogName, ...]
    bytes: int


@dataclass(frozen=True)
class _Later:
    """All that is of batches after the one that is left, the newest first.

    And what is gone of that one, in the order in which it is written again.
    """

    stores: tuple[_LaterFiles, ...]
    metadata: tuple[str, ...]
    divided: Mapping[str, bytes]
    """Metadata of operators that are to name another number of partitions, and how they do."""
    commits: tuple[int, ...]
    offsets: tuple[int, ...]
    gone: Mapping[str, bytes]

    @property
    def dropped(self) -> list[int]:
        return sorted({*self.commits, *self.offsets})

    @property
    def has_files(self) -> bool:
        """Whether there is any beside the logs, as a rewind that was stopped leaves."""
        of_state = self.metadata or self.divided
        return bool(of_state) or any(s.manifests or s.changelogs for s in self.stores)


def _later(point: Point, folder: WritableFolder) -> _Later:
    """Raises what keeps the version from being read in one of the stores."""
    stores = {s.path: s.store for s in stores_at(point)}
    # With other partitions than now, there are stores of later batches alone.
    for store in every_store(point.catalog):
        stores.setdefault(path_of(store.operator, store.partition, store.name), store)
    metadata = []
    for operator in point.catalog.operators:
        if newest_metadata(point, operator.id) is not None:
            inside = f"state/{operator.id}/_metadata/v2"
            metadata += [f"{inside}/{n}" for n in _after(point.batch, folder / inside)]
    return _Later(
        tuple(_later_of(store, folder / path, point.version) for path, store in stores.items()),
        tuple(metadata),
        _divided(point),
        tuple(_after(point.batch, folder / "commits")),
        tuple(_after(point.batch, folder / "offsets")),
        point.gone(),
    )


def _divided(point: Point) -> dict[str, bytes]:
    found = {}
    for operator in point.catalog.operators:
        name = f"state/{operator.id}/_metadata/metadata"
        if point.exists(name):
            data = point.read(name)
            path = point.catalog.query.folder.path_of(name)
            as_then = point.in_its_partitions(data, operator.id, path)
            if as_then != data:
                found[name] = as_then
    return found


def _later_of(store: Store, folder: WritableFolder, kept: int) -> _LaterFiles:
    manifests = [m for m in reversed(store.manifests) if m.attempt.version > kept]
    changelogs = [c for c in reversed(store.changelogs) if c.attempt.version > kept]
    files: list[StoreFile] = [*manifests, *changelogs]
    size = sum(store.files[f] for f in files)
    return _LaterFiles(folder, tuple(manifests), tuple(changelogs), size)


def _after(batch: int, log: WritableFolder) -> list[int]:
    return [n for n in reversed(batches_in(log)) if n > batch]


def _running(catalog: Catalog, *, committed: bool) -> str | None:
    """Why the query is taken to run, by its newest batch; None where nothing says so."""
    newest = catalog.query.planned[-1]
    try:
        planned_at = catalog.query.planned_at(newest)
    except CheckpointError:
        planned_at = None
    age = None if planned_at is None else max(0, now_ms() - planned_at)
    when = "" if age is None else f" {age // 1000} s ago"
    said = "say that it is stopped, with --stopped or stopped=True."
    if not committed:
        return (
            f"{catalog.location}: batch {newest} was planned{when} and is not committed, so the "
            "query seems to run, and to be at work on it: a batch may take that long. Stop it and "
            f"{said} A query that was stopped or crashed within a batch looks the same."
        )
    if age is None or age >= RUNNING_MS:
        return None
    return (
        f"{catalog.location}: batch {newest} was planned{when}, so the query seems to run. Stop it "
        f"and wait for a minute; or {said}"
    )


def _check_savepoints(savepoints: Iterable[Savepoint], point: Point) -> None:
    """Raises RefusedMoveError for one whose versions would be dropped, and written again."""
    later = [s for s in savepoints if s.batch > point.batch]
    if later:
        names = ", ".join(f"'{s.name}' (batch {s.batch})" for s in later)
        one = len(later) == 1
        raise RefusedMoveError(
            f"{point.catalog.location} has savepoints of later batches than {point.batch}, which "
            f"would be lost: {names}. Drop {'it' if one else 'them'} first, or fork instead."
        )


def _go_back(later: _Later, folder: WritableFolder, point: Point, *, resumed: bool) -> None:
    marks = folder / FOLDER
    marks.make()
    marks.write(REWIND, Rewinding(point.batch, __version__, now_ms()).encoded())
    try:
        # Who creates one looks for the marker after it was written: one of both sees the other.
        _check_savepoints(read_savepoints(folder), point)
    except (CheckpointError, StorageError):
        if not resumed:
            marks.delete(REWIND)
        raise
    _each_store(later.stores, lambda s: s.manifests)
    _each_store(later.stores, lambda s: s.changelogs)
    for name, text in later.gone.items():
        inside, _, last = name.rpartition("/")
        (folder / inside).make()
        (folder / inside).write(last, text)
    for name in later.metadata:
        inside, _, last = name.rpartition("/")
        (folder / inside).delete(last)
    for name, text in later.divided.items():
        inside, _, last = name.rpartition("/")
        # Before it is written: without Hadoop's checksum it can be read, with another's it cannot.
        (folder / inside).delete(f".{last}.crc")
        (folder / inside).write(last, text)
    for number in later.commits:
        (folder / "commits").delete(str(number))
    for number in later.offsets:
        (folder / "offsets").delete(str(number))
    for log in ("commits", "offsets"):
        if again := _after(point.batch, folder / log):
            raise RefusedMoveError(
                f"{(folder / log).path_of(str(again[-1]))} was written while it was rewound: the "
                "query runs. Stop it, and run the same command again."
            )
    marks.delete(REWIND)


def _each_store(stores: Iterable[_LaterFiles], files: Any) -> None:
    def of(store: _LaterFiles) -> None:
        names: Sequence[ManifestName | ChangelogName] = files(store)
        for name in names:
            store.folder.delete(str(name))

    for _ in in_order(of, stores):
        pass
