"""The batch that a checkpoint is cloned at or taken back to, and what Spark's logs say of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bucketstate.checkpoint.format.damage import damaged
from bucketstate.checkpoint.format.names import Attempt
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.store.catalog import Catalog, shown, stores_of, whole_number
from bucketstate.checkpoint.store.savepoint import (
    Savepoint,
    name_of,
    read_savepoint,
    savepoint_files,
)
from bucketstate.checkpoint.store.store import Store
from bucketstate.errors import (
    CheckpointError,
    InvalidArgumentError,
    MissingFileError,
    NoSuchStateError,
    RefusedMoveError,
)
from bucketstate.move.logs import in_partitions

_LOGS = ("offsets", "commits")


@dataclass(frozen=True)
class Point:
    """A batch of a checkpoint, by Spark's own logs or by a savepoint. Immutable.

    What Spark has deleted of its own since is had of the savepoint.
    """

    catalog: Catalog
    batch: int
    planned: int | None = None
    """The batch after it, where that was planned and is to be run as it was."""
    savepoint: Savepoint | None = None

    @property
    def version(self) -> int:
        return self.batch + 1

    @property
    def name(self) -> str | None:
        """The savepoint's; None where a batch is meant by its number."""
        return self.savepoint.name if self.savepoint else None

    @property
    def texts(self) -> Mapping[str, bytes]:
        """What the savepoint has of Spark's files, by their paths below the checkpoint."""
        return self.savepoint.files if self.savepoint else {}

    def gone(self) -> dict[str, bytes]:
        """What only the savepoint has, in the order in which it is written again."""
        names = [n for n in self.texts if not self._folder.exists(n)]
        return {n: self.texts[n] for n in sorted(names, key=_place)}

    def exists(self, name: str) -> bool:
        return name in self.texts or self._folder.exists(name)

    def read(self, name: str) -> bytes:
        """A file of Spark's.

        Raises MissingFileError or StorageError.
        """
        try:
            return self._folder.read(name)
        except MissingFileError:
            if name in self.texts:
                return self.texts[name]
            raise

    def files_in(self, inside: str) -> list[str]:
        """The names of the files of a folder, in its folders as well, relative to it."""
        listed = [f.name for f in (self._folder / inside).all_files()]
        held = [n.removeprefix(f"{inside}/") for n in self.texts if n.startswith(f"{inside}/")]
        return sorted({*listed, *held})

    def stores(self) -> Iterator[tuple[Store, Attempt]]:
        """Every store, and the attempt that made its version.

        A savepoint has them as they were: the number of partitions may be another one since.
        """
        held = self.savepoint
        for own, attempt in sorted(held.attempts.items()) if held else ():
            yield Store(*own, self.catalog.query.store_folder(*own)), attempt
        for store in stores_of(self.catalog, self.version):
            own = store.operator, store.partition, store.name
            if held is None:
                yield store, self.catalog.attempt(store, self.version)
            elif own not in held.attempts and held.knows(*own):
                yield store, held.attempt(*own)

    def in_its_partitions(self, data: bytes, operator: int, path: str) -> bytes:
        """An operator's metadata with the number of partitions that it has at the batch.

        What is said of an operator without keys stays: Spark records the number of the query's
        start, and it has one partition.

        Raises DamagedFileError.

        Args:
            data: the file, whose first line is its format.
            operator: Spark's number of it.
            path: of the file, for a message.
        """
        found = self.catalog.operator_at(operator, self.version)
        if not self.catalog.query.is_keyed(found):
            return data
        return in_partitions(data, found.stores[0].partitions, path)

    @property
    def _folder(self) -> Folder:
        return self.catalog.query.folder


def _place(name: str) -> tuple[int, str, int]:
    """Schemas before the metadata that name them, and the logs last, in ascending order."""
    inside, _, last = name.rpartition("/")
    if inside in _LOGS:
        return 2, inside, int(last)
    return int("/_metadata/v2/" in name or name.endswith("/_metadata/metadata")), name, 0


def point_of(catalog: Catalog, batch: int | None, savepoint: str | None) -> Point:
    """What is meant: that batch, that savepoint's, or without both the last committed one.

    Raises InvalidArgumentError, NoSuchStateError, RefusedMoveError, or what keeps a savepoint from
    being read.
    """
    if batch is not None and savepoint is not None:
        raise InvalidArgumentError(
            f"batch={batch!r} and savepoint={savepoint!r} are given: give one of them."
        )
    if savepoint is not None:
        return _held(catalog, savepoint)
    # The commits are listed before the offsets: then what was planned after them is there, too.
    chosen = _chosen_batch(catalog, batch)
    planned = None
    if batch is None and chosen + 1 in catalog.query.planned:
        planned = chosen + 1
    return Point(catalog, chosen, planned)


def one_of(batch: int | None, savepoint: str | None) -> None:
    """Raises InvalidArgumentError where neither is given."""
    if batch is None and savepoint is None:
        raise InvalidArgumentError("Neither a batch nor a savepoint is given: give one of them.")


def _chosen_batch(catalog: Catalog, batch: int | None) -> int:
    committed = catalog.query.committed
    if not committed:
        raise NoSuchStateError(
            f"{catalog.location} has no committed batch: nothing in it can be started from. Let "
            "the query finish a batch."
        )
    chosen = committed[-1] if batch is None else whole_number("batch", batch)
    if chosen not in committed:
        held = "".join(
            f" The savepoint '{s.name}' holds it: name that in place of the batch."
            for s in _readable(catalog)
            if s.batch == chosen
        )
        raise NoSuchStateError(
            f"{catalog.location} has no committed batch {chosen}: Spark's log has the batches "
            f"{shown(committed)}. Older ones were taken by retention "
            f"(spark.sql.streaming.minBatchesToRetain).{held}"
        )
    return chosen


def _readable(catalog: Catalog) -> tuple[Savepoint, ...]:
    try:
        return catalog.savepoints
    except CheckpointError:
        return ()


def _held(catalog: Catalog, name: str) -> Point:
    folder = catalog.query.folder
    files = savepoint_files(folder, name)
    if not files:
        known = ", ".join(sorted({name_of(f) or f for f in savepoint_files(folder)})) or "none"
        raise NoSuchStateError(f"{folder.location} has no savepoint '{name}'. There are: {known}.")
    if len(files) > 1:
        raise RefusedMoveError(
            f"{folder.location} has {len(files)} savepoints '{name}': give the name of one of "
            f"their files, {' or '.join(files)}, or drop one of them by that."
        )
    savepoint = read_savepoint(folder, files[0])
    for path in savepoint.files:
        if path.partition("/")[0] not in (*_LOGS, "state") or ".." in path.split("/"):
            raise damaged(savepoint.path, f"{path} is no file of Spark's that a savepoint has")
    for path, text in savepoint.files.items():
        if path.partition("/")[0] in _LOGS and folder.exists(path) and folder.read(path) != text:
            raise RefusedMoveError(
                f"{folder.path_of(path)} is not what it was when the savepoint '{savepoint.name}' "
                "was created: that batch was made again since. Drop the savepoint."
            )
    return Point(catalog, savepoint.batch, None, savepoint)


def check_offsets(point: Point) -> None:
    """Spark starts a query with the offsets of the last two batches.

    Raises MissingFileError.
    """
    folder = point.catalog.query.folder / "offsets"
    for needed in [point.batch - 1, point.batch] if point.batch > 0 else [point.batch]:
        if not point.exists(f"offsets/{needed}"):
            path = folder.path_of(str(needed))
            raise MissingFileError(
                f"{path} is not there, and no query starts after batch {point.batch} without it. "
                "Take a newer batch."
            ).about(path, f"{path} is not there.")
