"""A new checkpoint of another one, from which a query starts by itself."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal

from bucketstate import __version__
from bucketstate.checkpoint.format.origin import Origin
from bucketstate.checkpoint.format.parallel import in_order
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.format.writing import WritableFolder
from bucketstate.checkpoint.store.catalog import Catalog
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.store import Store
from bucketstate.errors import MissingFileError, RefusedMoveError
from bucketstate.move import marker
from bucketstate.move.contents import Contents, StoreContents, contents_of
from bucketstate.move.copying import Copier, How, taken
from bucketstate.move.logs import at_home, with_query_id
from bucketstate.move.points import Point, one_of, point_of
from bucketstate.move.reports import CloneReport

_log = logging.getLogger("bucketstate.move")


def clone(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    batch: int | None = None,
    savepoint: str | None = None,
    how: How | None = None,
    keep_query_id: bool = False,
    dry_run: bool = False,
    filesystem: Any | None = None,
    target_filesystem: Any | None = None,
) -> CloneReport:
    """Makes a checkpoint as the source was after a batch; the source is only read.

    It has what a restart needs, and nothing of before, and needs nothing of its source. A query
    may run on that meanwhile. What was stopped half-way is begun anew by the same call.

    Args:
        source: the `checkpointLocation` of a query on bucketstate, as `Checkpoint` takes it.
        target: a folder that is empty, or not there.
        batch: the last batch that it has; without, the last one that was committed, and the batch
            after it as it was planned, if it was.
        savepoint: the name of the source's savepoint that holds that batch, in place of it. What
            Spark has deleted of its logs since is had of the savepoint.
        how: `link` for hard links to the files of state, `copy` for copies; without, links where
            both are on one local disk. Files of state are never changed, so that both are whole.
        keep_query_id: the clone goes on under the source's id. Sinks that know what they have by
            query id and batch then take its batches for repetitions of the source's.
        dry_run: nothing is written, and the report is of what would be.
        filesystem: of the source, as `Checkpoint` takes it.
        target_filesystem: of the target; without, that of the source.

    Raises:
        RefusedMoveError: the target is not empty, or within the source; the source was not finished
            itself, or changed meanwhile, or since the savepoint; links cannot be.
        NoSuchStateError: the batch is not there any more, or there is no such savepoint.
        InvalidArgumentError: what is given is no path, no file system or no batch, or it is both a
            batch and a savepoint.
        MissingLibraryError: fsspec is needed and not installed.
        NotACheckpointError: the source is not the checkpoint of a stateful query.
        OtherProviderError: another state store provider wrote its state.
        NewerFormatError: a newer release wrote what is needed of it.
        DamagedFileError: what is needed of it is damaged.
        MissingFileError: what is needed of it is not there, or was deleted meanwhile.
        StorageError: a file system failed.
    """
    asked = _Asked("clone", batch, savepoint, how, keep_query_id, dry_run)
    return _cloned(asked, *_folders(source, target, filesystem, target_filesystem))


def fork(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    batch: int | None = None,
    *,
    savepoint: str | None = None,
    how: How | None = None,
    dry_run: bool = False,
    filesystem: Any | None = None,
    target_filesystem: Any | None = None,
) -> CloneReport:
    """Makes a checkpoint from which another query goes on where the source was after a batch.

    A clone at that batch or savepoint, always with an id of its own: a test of new code beside
    production.

    Args:
        source: the `checkpointLocation` of a query on bucketstate, as `Checkpoint` takes it.
        target: a folder that is empty, or not there.
        batch: the last batch that it has.
        savepoint: the name of the source's savepoint that holds that batch, in place of it.
        how: `link` for hard links to the files of state, `copy` for copies; without, links where
            both are on one local disk.
        dry_run: nothing is written, and the report is of what would be.
        filesystem: of the source, as `Checkpoint` takes it.
        target_filesystem: of the target; without, that of the source.

    Raises:
        RefusedMoveError: the target is not empty, or within the source; the source was not finished
            itself, or changed meanwhile, or since the savepoint; links cannot be.
        NoSuchStateError: the batch is not there any more, or there is no such savepoint.
        InvalidArgumentError: what is given is no path, no file system or no batch, or it is both a
            batch and a savepoint.
        MissingLibraryError: fsspec is needed and not installed.
        NotACheckpointError: the source is not the checkpoint of a stateful query.
        OtherProviderError: another state store provider wrote its state.
        NewerFormatError: a newer release wrote what is needed of it.
        DamagedFileError: what is needed of it is damaged.
        MissingFileError: what is needed of it is not there, or was deleted meanwhile.
        StorageError: a file system failed.
    """
    one_of(batch, savepoint)
    asked = _Asked("fork", batch, savepoint, how, keep_query_id=False, dry_run=dry_run)
    return _cloned(asked, *_folders(source, target, filesystem, target_filesystem))


@dataclass(frozen=True)
class _Asked:
    kind: Literal["clone", "fork"]
    batch: int | None
    savepoint: str | None
    how: How | None
    keep_query_id: bool
    dry_run: bool


def _folders(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    filesystem: Any | None,
    target_filesystem: Any | None,
) -> tuple[Folder, WritableFolder]:
    of_target = filesystem if target_filesystem is None else target_filesystem
    return Folder.at(source, filesystem), WritableFolder.at(target, of_target)


def _cloned(asked: _Asked, source: Folder, target: WritableFolder) -> CloneReport:
    began = monotonic()
    if target.is_within(source):
        raise RefusedMoveError(
            f"{target.location} is {source.location}, or within it: give a folder elsewhere. What "
            "is cloned is only read."
        )
    catalog = Catalog(source)
    half_done = catalog.query.marks.half_done
    if half_done is not None:
        raise RefusedMoveError(f"{source.location}: {half_done}")
    point = point_of(catalog, asked.batch, asked.savepoint)
    found = marker.claimed(target, source.uri, point.batch)
    copier = Copier(source, target, asked.how)
    contents = contents_of(point)
    _log.info(
        "%s of %s after batch %d to %s: %d stores",
        asked.kind,
        source.location,
        point.batch,
        target.location,
        len(contents.stores),
    )
    query_id = str(uuid.uuid4())
    if asked.keep_query_id:
        query_id = catalog.query.id or query_id
    origin = Origin(
        asked.kind,
        "begun",
        source.uri,
        point.batch,
        __version__,
        marker.now_ms(),
        stores=len(contents.stores),
        keys=contents.keys,
        bytes=sum(f.size for s in contents.stores for f in s.files),
        token=str(uuid.uuid4()),
    )
    notes: list[str] = []
    if found == "complete":
        notes.append(f"{target.location} had all of it already: only its marker was completed.")
        query_id = _id_of(target) or query_id
    if not asked.dry_run:
        if found == "complete":
            marker.still(found, target, source.uri, point.batch)
            marker.finish(target, origin)
        else:
            _made(contents, source, target, copier, origin, query_id, found)
    if copier.unlinked:
        notes.append(
            f"{copier.unlinked:,} files were copied: they cannot be linked, as {target.location} "
            "is on another disk than the source, or on one without links."
        )
    return CloneReport(
        asked.kind,
        source.location,
        target.location,
        point.batch,
        point.version,
        point.planned,
        point.name,
        query_id,
        len(catalog.operators),
        len(contents.stores),
        contents.keys,
        sum(len(s.files) for s in contents.stores),
        origin.bytes or 0,
        copier.linked,
        round(monotonic() - began, 3),
        asked.dry_run,
        tuple(notes),
    )


def _made(
    contents: Contents,
    source: Folder,
    target: WritableFolder,
    copier: Copier,
    origin: Origin,
    query_id: str,
    found: marker.Found,
) -> None:
    """Writes it: first what lets no query start, and last the query's own file in its place.

    What is read of the source's logs is read before the state, so that it is of the same moment. It
    may take long to look at the source: what the target is, `found`, is looked up again behind it.
    """
    point = contents.point
    of_query = {f"offsets/{n}": _read(point, f"offsets/{n}") for n in contents.offsets}
    before = f"commits/{point.batch - 1}"
    if point.batch > 0 and point.exists(before):
        of_query[before] = _read(point, before)
    of_query[f"commits/{point.batch}"] = _read(point, f"commits/{point.batch}")
    of_operators = [_metadata(name, point, target) for name in contents.metadata]
    of_id = _with_id(source, query_id)

    marker.still(found, target, source.uri, point.batch)
    marker.blocked(target)
    marker.begin(target, origin)
    # The one that had begun may have come to its end until its marker was replaced.
    marker.owned(target, origin)
    if found == "begun":
        marker.emptied(target)
    _state(contents.stores, target, copier)
    _each(lambda name: _copied(name, point, target), contents.files)
    for name, data in of_operators:
        _written(target, name, data)
    _each(lambda s: _check(s, target), contents.stores)
    _check_source(of_query, source)
    marker.owned(target, origin)
    for name, data in of_query.items():
        _written(target, name, data)
    marker.owned(target, origin)
    _written(target, marker.OF_QUERY, of_id)
    marker.held(target, origin)
    marker.finish(target, origin)


def _each(work: Any, items: Iterable[Any]) -> None:
    for _ in in_order(work, items):
        pass


def _state(stores: Sequence[StoreContents], target: WritableFolder, copier: Copier) -> None:
    """All files of all stores, many at a time: one store may have most of them."""
    files = [(file, of.store.folder, target / of.path) for of in stores for file in of.files]
    inside = {f"{of.path}/{f.name}".rpartition("/")[0] for of in stores for f in of.files}
    _each(lambda name: (target / name).make(), sorted(inside))
    _each(lambda of: copier.bring(*of), files)


def _copied(name: str, point: Point, target: WritableFolder) -> None:
    source = point.catalog.query.folder
    if name in point.texts:
        _written(target, name, _read(point, name))
        return
    inside, _, last = name.rpartition("/")
    (target / inside).make()
    try:
        (target / inside).copy(last, source / inside)
    except MissingFileError as error:
        raise taken(source.path_of(name)) from error


def _metadata(name: str, point: Point, target: WritableFolder) -> tuple[str, bytes]:
    operator = int(name.split("/")[1])
    path = point.catalog.query.folder.path_of(name)
    data = point.in_its_partitions(_read(point, name), operator, path)
    with_paths = at_home(data, operator, target.uri, path)
    if with_paths != data and not target.is_local and ":/" not in target.uri:
        raise RefusedMoveError(
            f"{path} has whole paths, and what Spark would call {target.location} is not known: "
            "give the folder as a URI, without a file system."
        )
    return name, with_paths


def _with_id(source: Folder, query_id: str) -> bytes:
    data = source.read(marker.OF_QUERY) if source.exists(marker.OF_QUERY) else b"{}"
    return with_query_id(data, query_id, source.path_of(marker.OF_QUERY))


def _id_of(target: Folder) -> str | None:
    return Catalog(target).query.id


def _read(point: Point, name: str) -> bytes:
    try:
        return point.read(name)
    except MissingFileError as error:
        raise taken(point.catalog.query.folder.path_of(name)) from error


def _written(target: WritableFolder, name: str, data: bytes) -> None:
    inside, _, last = name.rpartition("/")
    folder = target / inside if inside else target
    folder.make()
    folder.write(last, data)


def _check(of: StoreContents, target: WritableFolder) -> None:
    """Whether the version is read from the very files that were meant, by their lengths and ids."""
    own = Store(of.store.operator, of.store.partition, of.store.name, target / of.path)
    if _read_from(own.plan(of.plan.target)) != _read_from(of.plan):
        raise RefusedMoveError(
            f"{of.store.folder.location} changed while it was cloned: run the same command again."
        )


def _read_from(plan: Plan) -> list[tuple[str, int, Any]]:
    found: list[tuple[str, int, Any]] = [
        (str(c.name), c.size, c.header.commit_id) for c in plan.changelogs
    ]
    if plan.base is not None:
        found.append((str(plan.base.name), plan.base.size, plan.base.commit_id))
        found += [(f.name, f.size, f.checksum) for f in plan.base.files]
    return found


def _check_source(of_query: dict[str, bytes], source: Folder) -> None:
    """Whether the source is still on the line of then; entries may have been taken by retention."""
    for name, data in of_query.items():
        try:
            now = source.read(name)
        except MissingFileError:
            continue
        if now != data:
            raise RefusedMoveError(
                f"{source.path_of(name)} changed while it was cloned: the query was rewound, and "
                "ran. Run the same command again."
            )
