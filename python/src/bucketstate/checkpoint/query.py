"""What Spark itself keeps of a query: its logs of batches, and what its stateful operators are."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql.types import StructType

from bucketstate.checkpoint.damage import damaged, decoding, newer
from bucketstate.checkpoint.names import parse
from bucketstate.checkpoint.storage import Folder
from bucketstate.config import PROVIDER_CLASS, PROVIDER_KEY
from bucketstate.errors import MissingFileError, NotACheckpointError, OtherProviderError

DEFAULT_STORE = "default"
DEFAULT_FAMILY = "default"
_OFFSETS_FORMAT, _COMMITS_FORMAT, _METADATA_FORMAT, _SCHEMA_FORMAT = 2, 3, 2, 3
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

    def id_of(self, operator: int, partition: int, store: str) -> str | None:
        if self.ids is None:
            return None
        of_stores = self.ids[operator][partition]
        return of_stores[_JOIN_STORES.index(store) if store in _JOIN_STORES else 0]


@dataclass(frozen=True)
class StoreInfo:
    """A store of an operator, of which each partition has one."""

    name: str
    partitions: int
    prefix_columns: int
    schema_files: tuple[str, ...] = ()


@dataclass(frozen=True)
class OperatorInfo:
    """A stateful operator as Spark describes it."""

    id: int
    name: str
    stores: tuple[StoreInfo, ...]


@dataclass(frozen=True)
class FamilySchema:
    """Key and value schema of a column family."""

    key: StructType
    value: StructType


class Query:
    """The folder of one streaming query's checkpoint. Reads on demand, keeps what it read."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        if not folder.exists():
            raise NotACheckpointError(
                f"{folder.location} does not exist. Give a query's checkpoint."
            )
        if not (folder / "offsets").exists():
            raise NotACheckpointError(
                f"{folder.location} is not the checkpoint of a streaming query: it has no folder "
                "'offsets'. Give the path that the query was started with as checkpointLocation."
            )
        if not self.operator_ids:
            raise NotACheckpointError(
                f"{folder.location} holds no state: its folder 'state' is missing or empty. The "
                "query has no stateful operator, or has not finished its first batch."
            )
        self._check_provider()

    @cached_property
    def operator_ids(self) -> list[int]:
        return _numbers((self.folder / "state").folders())

    @cached_property
    def planned(self) -> list[int]:
        """Batches that were planned, finished or not."""
        return _numbers(f.name for f in (self.folder / "offsets").files())

    @cached_property
    def committed(self) -> list[int]:
        """Batches that finished, as far as Spark still keeps them."""
        return _numbers(f.name for f in (self.folder / "commits").files())

    def settings(self, batch: int) -> dict[str, str]:
        """The settings that Spark recorded for a batch."""
        folder = self.folder / "offsets"
        _, lines = _versioned(folder, str(batch), "an offset log", _OFFSETS_FORMAT)
        with decoding(folder.path_of(str(batch)), "offset log"):
            return dict(json.loads(lines[0]).get("conf", {})) if lines and lines[0].strip() else {}

    def commit(self, batch: int) -> Commit:
        folder = self.folder / "commits"
        _, lines = _versioned(folder, str(batch), "a commit log", _COMMITS_FORMAT)
        with decoding(folder.path_of(str(batch)), "commit log"):
            raw = (json.loads(lines[0]) if lines else {}).get("stateUniqueIds")
            ids = None if raw is None else {int(op): of for op, of in raw.items()}
            # An operator may stand there without ids.
            return Commit(batch, ids or None)

    def operator(self, number: int) -> OperatorInfo:
        """What Spark recorded of an operator; what its folders say, if it recorded nothing."""
        folder = self.folder / "state" / str(number)
        metadata = folder / "_metadata"
        if newest := _numbers(f.name for f in (metadata / "v2").files()):
            return _operator(metadata / "v2", str(newest[-1]))
        if metadata.exists("metadata"):
            return _operator(metadata, "metadata")
        partitions = _numbers(folder.folders())
        first = folder / str(partitions[0] if partitions else 0)
        names = [n for n in first.folders() if not n.startswith("_") and n != "runs"]
        return OperatorInfo(
            number,
            "",
            tuple(StoreInfo(n, len(partitions), 0) for n in names or [DEFAULT_STORE]),
        )

    def store_folder(self, operator: int, partition: int, store: str) -> Folder:
        folder = self.folder / "state" / str(operator) / str(partition)
        return folder if store == DEFAULT_STORE else folder / store

    def schemas(self, operator: int, store: StoreInfo) -> dict[str, FamilySchema]:
        """By column family. Spark writes them with the query's first batch."""
        if store.schema_files:
            # Recorded with the path of then; the checkpoint may have been moved.
            name = store.schema_files[-1].rsplit("/", 1)[-1]
            state = self.folder / "state" / str(operator) / "_stateSchema"
            folder = state / store.name if (state / store.name).exists(name) else state / "default"
            return read_schemas(folder, name)
        return read_schemas(self.store_folder(operator, 0, store.name) / "_metadata", "schema")

    def _check_provider(self) -> None:
        recorded = self.settings(self.planned[-1]).get(PROVIDER_KEY) if self.planned else None
        if recorded == PROVIDER_CLASS:
            return
        if recorded is None and self._has_files_of_ours():
            return
        raise OtherProviderError(
            f"{self.folder.location} was written with {recorded or 'another provider'}, not with "
            f"{PROVIDER_CLASS}: read it with spark.read.format('statestore')."
        )

    def _has_files_of_ours(self) -> bool:
        for number in self.operator_ids:
            for store in self.operator(number).stores:
                folder = self.store_folder(number, 0, store.name)
                if any(parse(f.name) for f in folder.files()):
                    return True
        return False


def read_schemas(folder: Folder, name: str) -> dict[str, FamilySchema]:
    """A state schema file of Spark: format 1 and 2 for one family, 3 for several."""
    path = folder.path_of(name)
    try:
        data = _JavaReader(folder.read(name))
    except MissingFileError as error:
        raise MissingFileError(
            f"{path} is not there: without the schema of the state its bytes have no columns. "
            "Restore it from a backup, or start the query once; Spark writes it anew."
        ) from error
    with decoding(path, "state schema"):
        version = _format(data.utf(), path, "a state schema", _SCHEMA_FORMAT)
        if version == 1:
            return {DEFAULT_FAMILY: FamilySchema(_struct(data.utf()), _struct(data.utf()))}
        if version == 2:
            return {DEFAULT_FAMILY: FamilySchema(_struct(data.text()), _struct(data.text()))}
        schemas = {}
        for _ in range(data.i32()):
            family = data.utf()
            data.i16()
            key = _struct(data.text())
            data.i16()
            schemas[family] = FamilySchema(key, _struct(data.text()))
            # How Spark encodes the key (our files say that), and the schema of users' keys.
            data.text()
            data.text()
        return schemas


class _JavaReader:
    """Reads what java.io.DataOutput wrote."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def i16(self) -> int:
        return self._number(">h")

    def i32(self) -> int:
        return self._number(">i")

    def utf(self) -> str:
        length = self._number(">H")
        self._at += length
        taken = self._data[self._at - length : self._at]
        if len(taken) < length:
            raise ValueError("a string is cut off")
        # Java's UTF-8 writes the zero character, and each surrogate, in a way of its own.
        return (
            taken.replace(b"\xc0\x80", b"\x00")
            .decode("utf-8", "surrogatepass")
            .encode("utf-16", "surrogatepass")
            .decode("utf-16")
        )

    def text(self) -> str:
        """A text of any length, in parts."""
        return "".join(self.utf() for _ in range(self.i32()))

    def _number(self, layout: str) -> int:
        (number,) = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return int(number)


def _struct(text: str) -> StructType:
    return StructType.fromJson(json.loads(text))


def _operator(folder: Folder, name: str) -> OperatorInfo:
    _, lines = _versioned(folder, name, "operator metadata", _METADATA_FORMAT)
    with decoding(folder.path_of(name), "operator metadata"):
        raw: dict[str, Any] = json.loads(lines[0])
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
        return OperatorInfo(int(info["operatorId"]), info["operatorName"], stores)


def _versioned(folder: Folder, name: str, what: str, known: int) -> tuple[int, list[str]]:
    """The lines of a file whose first line is its format."""
    path = folder.path_of(name)
    with decoding(path, what.split(" ", 1)[-1]):
        lines = folder.read(name).decode("utf-8").splitlines()
    if not lines:
        raise damaged(path, "it is empty")
    return _format(lines[0].strip(), path, what, known), lines[1:]


def _format(line: str, path: str, what: str, known: int) -> int:
    if not line.startswith("v") or not line[1:].isdecimal() or line == "v0":
        raise damaged(path, f"expected its format, such as 'v1', found '{line[:40]}'")
    if int(line[1:]) > known:
        raise newer(path, what, known, int(line[1:]))
    return int(line[1:])


def _numbers(names: Any) -> list[int]:
    return sorted(int(n) for n in names if n.isascii() and n.isdecimal())
