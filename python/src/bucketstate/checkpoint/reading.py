"""State, changes and differences of some partitions, as record batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bucketstate.checkpoint.decoding import ROWS, RecordDecoder, StateSchema, chunked
from bucketstate.checkpoint.differences import difference_schema, differences
from bucketstate.checkpoint.expiry import SCHEMA as TIME_BUCKETS
from bucketstate.checkpoint.expiry import TIME, keys_per_time_bucket, time_buckets_of
from bucketstate.checkpoint.family import Family
from bucketstate.checkpoint.keys import LISTS
from bucketstate.checkpoint.names import Attempt
from bucketstate.checkpoint.plan import Plan
from bucketstate.checkpoint.query import FamilySchema
from bucketstate.checkpoint.records import Records
from bucketstate.checkpoint.skew import SCHEMA as BUCKETS
from bucketstate.checkpoint.skew import keys_per_bucket
from bucketstate.checkpoint.state import read_changes, read_state
from bucketstate.checkpoint.store import Store
from bucketstate.errors import MissingFileError


@dataclass(frozen=True)
class Part:
    """A column family in one partition, at one version or from one to another."""

    store: Store
    target: Attempt
    since: Attempt


@dataclass(frozen=True)
class Reading:
    """What is to be read: a column family in some partitions. `memory` is in bytes.

    `times` says whether rows of a state have a column of their time buckets.
    """

    family: str
    schema: FamilySchema
    memory: int
    times: bool = False

    def state(self, parts: Sequence[Part]) -> pa.RecordBatchReader:
        columns = self._columns(parts).with_partition()
        if self.times:
            columns = columns.append(pa.field("time_bucket", TIME))
        return pa.RecordBatchReader.from_batches(columns, self._state(parts, columns))

    def changes(self, parts: Sequence[Part]) -> pa.RecordBatchReader:
        kinds = [("batch_id", pa.int64()), ("change_type", pa.string())]
        columns = pa.schema([*kinds, *self._columns(parts).with_partition()])
        return pa.RecordBatchReader.from_batches(columns, self._changes(parts, columns))

    def differences(self, parts: Sequence[Part]) -> pa.RecordBatchReader:
        columns = difference_schema(self._columns(parts))
        return pa.RecordBatchReader.from_batches(columns, self._differences(parts))

    def keys_per_bucket(self, parts: Sequence[Part]) -> pa.Table:
        tables = [BUCKETS.empty_table()]
        for part in parts:
            plan, family = self._planned(part.store, part.target)
            if family is not None:
                tables.append(keys_per_bucket(part.store, plan, family, self.memory))
        return pa.concat_tables(tables)

    def keys_per_time_bucket(self, parts: Sequence[Part]) -> pa.Table:
        tables = [TIME_BUCKETS.empty_table()]
        for part in parts:
            _, family = self._planned(part.store, part.target)
            if family is not None:
                tables.append(keys_per_time_bucket(part.store.partition, family))
        return pa.concat_tables(tables)

    def _state(self, parts: Sequence[Part], columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        for part in parts:
            plan, family = self._planned(part.store, part.target)
            if family is None:
                continue
            decoder = RecordDecoder(family, self.schema, part.store.folder.location)
            for records in chunked(read_state(part.store, plan, family, self.memory)):
                arrays = [decoder.keys(records.keys), decoder.values(records.values)]
                after = [time_buckets_of(records.values, family)] if self.times else []
                yield _batch(arrays, part, columns, after)

    def _changes(self, parts: Sequence[Part], columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        for part in parts:
            try:
                changelogs = part.store.lineage(part.target, part.since.version + 1)
            except MissingFileError as error:
                raise MissingFileError(
                    f"{error} The changes of that version are in its changelog alone: ask for "
                    "newer versions, or compare two states with `diff`."
                ) from error
            for changelog in changelogs:
                family = next((f for f in changelog.families if f.name == self.family), None)
                if family is None:
                    continue
                decoder = RecordDecoder(family, self.schema, changelog.path)
                batch = changelog.header.version - 1
                for records in chunked([read_changes(changelog, family)]):
                    arrays = [
                        pa.array([batch] * len(records), pa.int64()),
                        _kinds(records),
                        decoder.keys(records.keys),
                        decoder.optional_values(records),
                    ]
                    yield _batch(arrays, part, columns)

    def _differences(self, parts: Sequence[Part]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            before = self._planned(part.store, part.since)
            after = self._planned(part.store, part.target)
            family = after[1] or before[1]
            if family is not None:
                where = part.store.folder.location
                decoder = RecordDecoder(family, self.schema, where)
                yield from differences(part.store, [before, after], decoder, self.memory, ROWS)

    def _columns(self, parts: Sequence[Part]) -> StateSchema:
        """Whether keys have several values is said by the files alone."""
        found = (self._planned(part.store, part.target)[1] for part in parts)
        family = next((f for f in found if f is not None), None)
        lists = family is not None and family.value_encoding == LISTS
        return StateSchema.of(self.schema, lists=lists)

    def _planned(self, store: Store, target: Attempt) -> tuple[Plan, Family | None]:
        plan = store.plan(target)
        # The empty store has no families yet.
        return plan, plan.family(self.family) if plan.families else None


def _kinds(records: Records) -> pa.StringArray:
    """What Spark's change feed calls them."""
    kinds = np.where(records.merges, "append", np.where(records.puts, "update", "delete"))
    return pa.array(kinds.tolist(), pa.string())


def _batch(
    before: list[pa.Array], part: Part, columns: pa.Schema, after: Sequence[pa.Array] = ()
) -> pa.RecordBatch:
    """The columns with the partition between them."""
    partition = pa.array([part.store.partition] * len(before[0]), pa.int32())
    return pa.RecordBatch.from_arrays([*before, partition, *after], schema=columns)
