"""What Spark itself keeps of a query: its logs of batches, and what its stateful operators are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from bucketstate.checkpoint.format.damage import damaged, decoding, format_of, json_object
from bucketstate.checkpoint.format.filesystems import split_uri
from bucketstate.checkpoint.format.names import parse
from bucketstate.checkpoint.format.origin import Marks, read_marks
from bucketstate.checkpoint.format.parallel import Once
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.spark.hindrances import Copied, Repartition
from bucketstate.checkpoint.spark.schema_files import FamilySchema, evolved, read_schemas
from bucketstate.checkpoint.spark.variables import (
    TransformWithState,
    VariableInfo,
    transform_with_state,
)
from bucketstate.config import PARTITIONS_KEY, PROVIDER_CLASS, PROVIDER_KEY
from bucketstate.errors import (
    CheckpointError,
    NotACheckpointError,
    OtherProviderError,
)

# Spark's names of operators whose state may lie in one partition, whatever the query's number.
_AGGREGATION = "stateStoreSave"
_LIMIT = "globalLimit"


def partitions_of(settings: dict[str, str]) -> int | None:
    """The number of partitions that Spark recorded for a batch; None if it recorded none."""
    found = settings.get(PARTITIONS_KEY, "")
    return int(found) if is_number(found) else None


def is_number(name: str) -> bool:
    """Whether a name that Spark gives a file or a folder is that of a number, such as a batch's."""
    return name.isascii() and name.isdecimal()


def numbers(names: Iterable[str]) -> list[int]:
    """The numbers among such names, in ascending order."""
    return sorted(int(name) for name in names if is_number(name))


DEFAULT_STORE = "default"
_OFFSETS_FORMAT, _COMMITS_FORMAT, _METADATA_FORMAT = 2, 3, 2
_WITH_IDS = 2
"""The format of offsets since which each is behind the id of its source."""
_WITH_SINKS = 3
"""The first format of commits in which Spark needs the sink's name."""
_JOIN_STORES = (
    "left-keyToNumValues",
    "left-keyWithIndexToValue",
    "right-keyToNumValues",
    "right-keyWithIndexToValue",
)
"""The order in which a commit lists the checkpoint ids of a stream-stream join's stores."""


@dataclass(frozen=True)
class Commit:
    """A finished batch. `ids` are the checkpoint ids by operator, partition and store, if any."""

    batch: int
    ids: Mapping[int, list[list[str]]] | None
    path: str
    cut: bool = False
    """Whether it ends behind its first line, which Spark reads as a commit without a watermark."""

    def id_of(self, operator: int, partition: int, store: str) -> str | None:
        """DamagedFileError if there are ids, but none of that store."""
        if self.ids is None:
            return None
        number = _JOIN_STORES.index(store) if store in _JOIN_STORES else 0
        try:
            found = self.ids[operator][partition][number]
        except (LookupError, TypeError):
            found = None
        if not isinstance(found, str):
            raise damaged(
                self.path,
                f"expected the checkpoint id of operator {operator}, partition {partition}, store "
                f"{store}, found none",
            )
        return found


@dataclass(frozen=True)
class StoreInfo:
    """A store of an operator, of which each partition has one."""

    name: str
    partitions: int
    prefix_columns: int
    schema_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class OperatorInfo:
    """A stateful operator as Spark describes it.

    `transform` is what it recorded of a transformWithState, None for other operators.
    """

    id: int
    name: str
    stores: tuple[StoreInfo, ...]
    transform: TransformWithState | None = None

    @property
    def state_variables(self) -> tuple[VariableInfo, ...]:
        """Those of a transformWithState by name, without its timers; other operators have none."""
        return self.transform.variables if self.transform else ()


class Query:
    """The folder of one streaming query's checkpoint. Reads on demand, keeps what it read.

    Thread-safe.
    """

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self._commits: Once[int, Commit] = Once()
        self._operators: Once[tuple[int, str], OperatorInfo] = Once()
        self._plans: Once[int, list[str]] = Once()
        self._keyed: Once[int, bool] = Once()
        self._folders: Once[int, list[int]] = Once()
        self._recorded: Once[int, list[int]] = Once()
        self._passed_over: set[int] = set()
        if not folder.exists():
            raise NotACheckpointError(
                f"{folder.location} does not exist. Give a query's checkpoint."
            )
        if not (folder / "offsets").exists():
            self._refuse_half_done()
            raise NotACheckpointError(
                f"{folder.location} is not the checkpoint of a streaming query: it has no folder "
                "'offsets'. Give the path that the query was started with as checkpointLocation."
            )
        if not self.operator_ids:
            self._refuse_half_done()
            raise NotACheckpointError(
                f"{folder.location} holds no state: its folder 'state' is missing or empty. The "
                "query has no stateful operator, or has not finished its first batch."
            )
        self._check_provider()

    def _refuse_half_done(self) -> None:
        half_done = read_marks(self.folder).half_done
        if half_done is not None:
            raise NotACheckpointError(f"{self.folder.location}: {half_done}")

    @cached_property
    def marks(self) -> Marks:
        """What it says of where it came from, and of what was begun and not finished."""
        marks, begun = read_marks(self.folder), self._begun
        if marks.in_place is None:
            return marks
        if begun is None or marks.in_place.batch != begun.batch:
            # A query can start: what is left of it is a file that says nothing any more.
            return replace(marks, in_place=None)
        return replace(marks, half_done=marks.half_done or marks.in_place.summary)

    @cached_property
    def operator_ids(self) -> list[int]:
        return numbers((self.folder / "state").folders())

    @cached_property
    def planned(self) -> list[int]:
        """Batches that were planned, finished or not; without one that no query can run.

        That is a `repartition` of Spark's, or a rewrite in place, that was begun.
        """
        begun = self._begun
        return [n for n in self._offsets if begun is None or n < begun.batch]

    @cached_property
    def committed(self) -> list[int]:
        """Batches that finished, as far as Spark still keeps them."""
        skipped = self._skipped if self._begun is not None else []
        return [n for n in self._commits_there if n not in skipped]

    @cached_property
    def repartition(self) -> Repartition | None:
        """The offline repartition that Spark began and could not do; None where there is none.

        None, too, where a log that would tell it cannot be read: that is told by whoever reads it.
        """
        return None if self.marks.in_place is not None else self._begun

    @cached_property
    def _begun(self) -> Repartition | None:
        """A batch that was planned with another number of partitions, and not committed."""
        offsets, commits = self._offsets, self._commits_there
        if not offsets or not commits or offsets[-1] <= commits[-1] or len(offsets) < 2:
            return None
        before, batch = offsets[-2:]
        try:
            wanted, others = (partitions_of(self.settings(n)) for n in (batch, before))
            # As Spark tells it: no other batch has another number of partitions than before.
            if before != batch - 1 or wanted is None or others in (None, wanted):
                return None
            skipped = [("commits", n) for n in reversed(self._skipped)]
        except CheckpointError:
            return None
        files = [file for of in [*skipped, ("offsets", batch)] for file in self._files_of(*of)]
        return Repartition(batch, wanted, tuple(files))

    def _files_of(self, log: str, batch: int) -> Iterator[str]:
        """A batch's file, after the checksum that Hadoop's local file system keeps beside it.

        With that alone Spark cannot write the file again.
        """
        folder = self.folder / log
        if folder.exists(f".{batch}.crc"):
            yield folder.path_of(f".{batch}.crc")
        yield folder.path_of(str(batch))

    @cached_property
    def _skipped(self) -> list[int]:
        """Failed batches that the repartition committed: those after the one whose copy it is."""
        batch = self._offsets[-1]
        copied = self._copied(batch)
        for number in reversed(self._offsets[:-1]):
            if self._copied(number) == copied:
                return [n for n in self._commits_there if n > number]
        return []

    def _copied(self, batch: int) -> tuple[dict[str, Any], list[str]]:
        """What a repartition's batch has as the one before it: all but the number of partitions."""
        lines = self._plan(batch)
        conf = {k: v for k, v in self.settings(batch).items() if k != PARTITIONS_KEY}
        return self._recorded_of(batch) | {"conf": conf}, lines[1:]

    @cached_property
    def _offsets(self) -> list[int]:
        return numbers(f.name for f in (self.folder / "offsets").files())

    @cached_property
    def _commits_there(self) -> list[int]:
        return numbers(f.name for f in (self.folder / "commits").files())

    @cached_property
    def id(self) -> str | None:
        """The query's, which stays when it is restarted; None if Spark's file is not there.

        DamagedFileError if that cannot be read.
        """
        if not self.folder.exists("metadata"):
            return None
        path = self.folder.path_of("metadata")
        with decoding(path, "query's metadata"):
            return str(json_object(self.folder.read("metadata").decode("utf-8"))["id"])

    def offsets(self, batch: int) -> list[tuple[str | None, str]]:
        """What Spark recorded of each source for a batch, `-` without any, behind the source's id.

        Without ids, as in format 1, each has a place instead, and the id is None.

        DamagedFileError if there is none, as where the file was cut off.
        """
        folder = self.folder / "offsets"
        path = folder.path_of(str(batch))
        version, lines = _versioned(folder, str(batch), "an offset log", _OFFSETS_FORMAT)
        if len(lines) < 2:
            raise damaged(path, "it has no offsets, as where it was cut off")
        if version < _WITH_IDS:
            return [(None, offset) for offset in lines[1:]]
        found = [line.partition(":") for line in lines[1:]]
        for line, colon, _ in found:
            if not colon:
                problem = f"expected a source's offset behind its id, found '{line[:40]}'"
                raise damaged(path, problem)
        return [(name, offset) for name, _, offset in found]

    def settings(self, batch: int) -> dict[str, str]:
        """The settings that Spark recorded for a batch."""
        folder = self.folder / "offsets"
        recorded = self._recorded_of(batch)
        with decoding(folder.path_of(str(batch)), "offset log"):
            return dict(recorded.get("conf", {}))

    def planned_at(self, batch: int) -> int | None:
        """When Spark planned a batch, in milliseconds since 1970; None if it did not record that.

        DamagedFileError or MissingFileError if its offset log cannot be read.
        """
        at = self._recorded_of(batch).get("batchTimestampMs")
        return at if isinstance(at, int) and at > 0 else None

    def watermark_of(self, batch: int) -> int | None:
        """What a batch sees as the watermark, in milliseconds since 1970, also one to come.

        None if Spark's logs do not say. DamagedFileError or MissingFileError if they cannot be
        read.
        """
        if batch in self.planned:
            at = self._recorded_of(batch).get("batchWatermarkMs")
        elif batch - 1 in self.committed:
            folder = self.folder / "commits"
            _, lines = _versioned(folder, str(batch - 1), "a commit log", _COMMITS_FORMAT)
            with decoding(folder.path_of(str(batch - 1)), "commit log"):
                at = (json_object(lines[0]) if lines else {}).get("nextBatchWatermarkMs")
            if not lines and batch - 1 in self.planned:
                # Spark goes on with the one that the batch itself had.
                return self.watermark_of(batch - 1)
        else:
            return None
        return at if isinstance(at, int) else None

    def _recorded_of(self, batch: int) -> dict[str, Any]:
        """What Spark recorded of a batch beside its offsets."""
        folder = self.folder / "offsets"
        lines = self._plan(batch)
        with decoding(folder.path_of(str(batch)), "offset log"):
            return json_object(lines[0]) if lines and lines[0].strip() else {}

    def _plan(self, batch: int) -> list[str]:
        """The lines of a batch's offsets behind the first one."""
        folder = self.folder / "offsets"
        return self._plans.get(
            batch, lambda: _versioned(folder, str(batch), "an offset log", _OFFSETS_FORMAT)[1]
        )

    def partitions_at(self, batch: int) -> int | None:
        """How many partitions operators with keys had for a batch: a rewrite in place changes that.

        None where the batch's offsets are not there, or do not tell.
        """
        if batch not in self._offsets:
            return None
        try:
            return partitions_of(self.settings(batch))
        except CheckpointError:
            return None

    def commit(self, batch: int) -> Commit:
        return self._commits.get(batch, lambda: self._commit(batch))

    def _commit(self, batch: int) -> Commit:
        folder = self.folder / "commits"
        version, lines = _versioned(folder, str(batch), "a commit log", _COMMITS_FORMAT)
        if not lines and version >= _WITH_SINKS:
            path = folder.path_of(str(batch))
            raise damaged(path, "it does not name the sink, as where it was cut off")
        with decoding(folder.path_of(str(batch)), "commit log"):
            raw = (json_object(lines[0]) if lines else {}).get("stateUniqueIds") or {}
            if not isinstance(raw, dict):
                raise ValueError(f"expected the checkpoint ids by operator, found {raw}")
            ids = {int(op): of for op, of in raw.items()}
            # An operator may stand there without ids.
            return Commit(batch, ids or None, folder.path_of(str(batch)), cut=not lines)

    def operator(self, number: int, batch: int | None = None) -> OperatorInfo:
        """What Spark recorded of an operator; what its folders say, if it recorded nothing.

        With a batch, what it had recorded when that was planned, as far as that is still there;
        without, for the last one.
        """
        place = self.metadata_place(number, batch)
        if place is not None and number not in self._passed_over:
            found = self._operators.get((number, place[1]), lambda: _operator(*place))
            of = batch if batch is not None else max(self.planned, default=-1)
            return self._divided(found, self.partitions_at(of))
        folder = self.folder / "state" / str(number)
        partitions = numbers(folder.folders())
        first = folder / str(partitions[0] if partitions else 0)
        names = [n for n in first.folders() if not n.startswith("_") and n != "runs"]
        return OperatorInfo(
            number,
            "",
            tuple(StoreInfo(n, len(partitions), 0) for n in names or [DEFAULT_STORE]),
        )

    def pass_over(self, number: int) -> None:
        """From here on has of an operator what its folders say. Not thread-safe."""
        self._passed_over.add(number)

    @property
    def passed_over(self) -> frozenset[int]:
        """Operators of which it has what their folders say."""
        return frozenset(self._passed_over)

    def starts_by_record(self, number: int) -> bool:
        """Whether Spark starts the query with what it recorded of the operator."""
        folder = self.folder / "state" / str(number) / "_metadata" / "v2"
        return bool(folder.files())

    def _divided(self, operator: OperatorInfo, recorded: int | None) -> OperatorInfo:
        """An operator in the partitions that it has: one file may be for all batches.

        Spark records the query's number for those without keys, too, which lie in one partition.
        """
        partitions = recorded if self.is_keyed(operator) else 1
        if partitions is None or all(s.partitions == partitions for s in operator.stores):
            return operator
        stores = tuple(replace(s, partitions=partitions) for s in operator.stores)
        return replace(operator, stores=stores)

    def is_keyed(self, operator: OperatorInfo) -> bool:
        """Whether an operator has keys, by which its state may lie in several partitions."""
        return self._keyed.get(operator.id, lambda: self._has_keys(operator))

    def _has_keys(self, operator: OperatorInfo) -> bool:
        if operator.name == _LIMIT:
            return False
        if operator.name != _AGGREGATION:
            return True
        try:
            schemas = self.schemas(operator.id, operator.stores[0]).values()
        except CheckpointError:
            # Most have: a partition too many is told, one that is not looked at hides what is lost.
            return True
        return any(len(s.key) for s in schemas)

    def partition_folders(self, number: int) -> list[int]:
        """The partitions that an operator has folders of: also of those that it had once."""
        folder = self.folder / "state" / str(number)
        return self._folders.get(number, lambda: numbers(folder.folders()))

    def metadata_place(self, number: int, batch: int | None = None) -> tuple[Folder, str] | None:
        """Folder and name of what Spark recorded of an operator; None if it recorded nothing.

        With a batch, what it had recorded when that was planned, as far as that is still there.
        """
        metadata = self.folder / "state" / str(number) / "_metadata"
        known = self._recorded.get(
            number, lambda: numbers(f.name for f in (metadata / "v2").files())
        )
        if known:
            then = [n for n in known if batch is None or n <= batch] or known[:1]
            return metadata / "v2", str(then[-1])
        return (metadata, "metadata") if metadata.exists("metadata") else None

    def store_folder(self, operator: int, partition: int, store: str) -> Folder:
        folder = self.folder / "state" / str(operator) / str(partition)
        return folder if store == DEFAULT_STORE else folder / store

    def schemas(self, operator: int, store: StoreInfo) -> dict[str, FamilySchema]:
        """By column family. Spark writes them with the query's first batch."""
        if not store.schema_files:
            return read_schemas(self.store_folder(operator, 0, store.name) / "_metadata", "schema")
        *older, newest = self.schema_places(operator, store)
        # Spark, too, does without one of before.
        there = [(folder, name) for folder, name in older if folder.exists(name)]
        return evolved([read_schemas(folder, name) for folder, name in [*there, newest]])

    def schema_places(self, operator: int, store: StoreInfo) -> list[tuple[Folder, str]]:
        """Folders and names of the schema files that the operator's metadata name, oldest first."""
        state = self.folder / "state" / str(operator) / "_stateSchema"
        places = []
        for path in dict.fromkeys(store.schema_files):
            # Recorded with the path of then; the checkpoint may have been moved.
            name = path.rsplit("/", 1)[-1]
            own = state / store.name
            places.append((own if own.exists(name) else state / "default", name))
        return places

    @cached_property
    def copied(self) -> Copied | None:
        """Where operators are recorded to have their schema files, if that is another folder."""
        found: dict[str, str] = {}
        gone = False
        for number in self.operator_ids:
            inside = f"/state/{number}/_stateSchema/"
            for store in self.operator(number).stores:
                for path in store.schema_files[-1:]:
                    original, there, _ = path.rpartition(inside)
                    if not there or self.folder.is_at(original):
                        continue
                    folder = self.folder / "state" / str(number) / "_metadata" / "v2"
                    found.setdefault(folder.location, original)
                    scheme, _, local = split_uri(path)
                    gone |= self.folder.is_local and scheme == "file" and not Path(local).exists()
        if not found:
            return None
        original = next(iter(found.values()))
        return Copied(original, tuple(found), self.folder.uri, gone)

    def _check_provider(self) -> None:
        recorded = self.settings(self.planned[-1]).get(PROVIDER_KEY) if self.planned else None
        if recorded == PROVIDER_CLASS:
            return
        if recorded is None and self._has_files_of_ours():
            return
        raise OtherProviderError(
            f"{self.folder.location} was written with {recorded or 'another provider'}, not with "
            f"{PROVIDER_CLASS}: read it with spark.read.format('statestore'), or take it to "
            "bucketstate with `bucketstate move import`."
        )

    def _has_files_of_ours(self) -> bool:
        for number in self.operator_ids:
            for store in self.operator(number).stores:
                folder = self.store_folder(number, 0, store.name)
                if any(parse(f.name) for f in folder.files()):
                    return True
        return False


def _operator(folder: Folder, name: str) -> OperatorInfo:
    _, lines = _versioned(folder, name, "operator metadata", _METADATA_FORMAT)
    with decoding(folder.path_of(name), "operator metadata"):
        raw = json_object(lines[0])
        info = raw["operatorInfo"]
        stores = tuple(
            StoreInfo(
                s["storeName"],
                int(s["numPartitions"]),
                int(s["numColsPrefixKey"]),
                tuple(s.get("stateSchemaFilePaths") or ()),
            )
            for s in raw["stateStoreInfo"]
        )
        transform = transform_with_state(raw.get("operatorPropertiesJson", ""))
        return OperatorInfo(int(info["operatorId"]), info["operatorName"], stores, transform)


def _versioned(folder: Folder, name: str, what: str, known: int) -> tuple[int, list[str]]:
    """The lines of a file whose first line is its format."""
    path = folder.path_of(name)
    with decoding(path, what.split(" ", 1)[-1]):
        text = folder.read(name).decode("utf-8")
    if not text:
        raise damaged(path, "it is empty")
    # Not splitlines: Spark's JSON has U+2028 and others that end a line there as they are.
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    return format_of(lines[0].strip(), path, what, known), lines[1:]
