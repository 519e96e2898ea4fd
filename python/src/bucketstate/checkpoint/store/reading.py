"""State, changes and differences of some partitions, as record batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.names import Attempt
from bucketstate.checkpoint.format.records import Records
from bucketstate.checkpoint.format.slices import Positions
from bucketstate.checkpoint.spark.decoding import (
    ROWS,
    RecordDecoder,
    StateSchema,
    chunked,
    holds_lists,
)
from bucketstate.checkpoint.spark.key_bytes import Key
from bucketstate.checkpoint.spark.schema_files import FamilySchema
from bucketstate.checkpoint.store.bucket_residency import BUCKETS, keys_per_bucket
from bucketstate.checkpoint.store.differences import difference_schema, differences
from bucketstate.checkpoint.store.expiry import SCHEMA as TIME_BUCKETS
from bucketstate.checkpoint.store.expiry import keys_per_time_bucket
from bucketstate.checkpoint.store.lookup import Lookups
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.rows import Rows, row_columns
from bucketstate.checkpoint.store.shapes import Decoded, Shape, by_group
from bucketstate.checkpoint.store.state import read_changes, read_state
from bucketstate.checkpoint.store.store import Store
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

    `times` says whether rows of a state have a column of when they expire. `shape` says what their
    columns are. A state variable is `created` with the first batch of a partition that asks for it:
    its column family need not be there. With a `key` that alone is looked up.
    """

    family: str
    schema: FamilySchema
    memory: int
    times: bool = False
    shape: Shape = field(default_factory=Shape)
    created: bool = True
    key: Key | None = None

    def state(self, parts: Sequence[Part]) -> pa.RecordBatchReader:
        columns = self._state_columns(parts)
        return pa.RecordBatchReader.from_batches(columns, self._state(parts, columns))

    def history(self, parts: Sequence[Part]) -> pa.Table:
        """The key at the version of each part; nulls where it is not there."""
        columns = self._state_columns(parts)
        numbers = pa.schema([("version", pa.int64()), ("batch_id", pa.int64())])
        schema = pa.schema([*numbers, *columns])
        batches = []
        with Lookups() as lookups:
            for part in parts:
                found = list(self._of_part(part, columns, lookups))
                version = part.target.version
                for batch in found or [_absent(part, columns)]:
                    count = batch.num_rows
                    arrays = [pa.array([n] * count, pa.int64()) for n in (version, version - 1)]
                    batches.append(pa.RecordBatch.from_arrays([*arrays, *batch], schema=schema))
        return pa.Table.from_batches(batches, schema)

    def changes(self, parts: Sequence[Part]) -> pa.RecordBatchReader:
        kinds = [("batch_id", pa.int64()), ("change_type", pa.string())]
        columns = pa.schema([*kinds, *self._rows_of(parts)])
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
            # Of each store by itself: of a key that is in none of hundreds all files would be open.
            with Lookups() as lookups:
                yield from self._of_part(part, columns, lookups)

    def _of_part(
        self, part: Part, columns: pa.Schema, lookups: Lookups
    ) -> Iterator[pa.RecordBatch]:
        plan, family = self._planned(part.store, part.target)
        if family is None:
            return
        rows = self.rows(family, part.store.folder.location)
        for records, groups in self._grouped(part, plan, family, lookups):
            before, after = rows.of(records, groups)
            yield _batch(before, part, columns, after)

    def _grouped(
        self, part: Part, plan: Plan, family: Family, lookups: Lookups
    ) -> Iterator[tuple[Records, Positions | None]]:
        """The state in parts of so many rows; whole groups where the shape asks for them."""
        whole = self.shape.grouped
        for span in self._records(part, plan, family, lookups, whole=whole):
            if whole:
                # All keys of a group lie in one bucket.
                for records, groups, _ in by_group(span, ROWS):
                    yield records, groups
            else:
                for records in chunked([span]):
                    yield records, None

    def _records(
        self, part: Part, plan: Plan, family: Family, lookups: Lookups, *, whole: bool
    ) -> Iterator[Records]:
        if self.key is None:
            yield from read_state(part.store, plan, family, self.memory, whole=whole)
            return
        wanted = self.key.bytes_in(family.key_encoding, plan.num_buckets)
        yield lookups.of(part.store.folder).find(plan, family, wanted)

    def _changes(self, parts: Sequence[Part], columns: pa.Schema) -> Iterator[pa.RecordBatch]:
        for part in parts:
            try:
                changelogs = part.store.lineage(part.target, part.since.version + 1)
            except MissingFileError as error:
                raise MissingFileError(
                    f"{error} The changes of that version are in its changelog alone: ask for "
                    "newer versions, or compare two states with a scan of `diff`."
                ) from error
            for changelog in changelogs:
                family = next((f for f in changelog.families if f.name == self.family), None)
                if family is None:
                    continue
                decoder = RecordDecoder(family, self.schema, changelog.path)
                batch = changelog.header.version - 1
                for records in chunked(read_changes(changelog, family)):
                    keys, values = decoder.keys(records.keys), decoder.optional_values(records)
                    decoded = Decoded(keys, values)
                    kinds = _kinds(records, self.shape.repeats(decoded))
                    batches = pa.array([batch] * len(kinds), pa.int64())
                    arrays = [batches, kinds, *self.shape.rows(decoded)]
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

    def rows(self, family: Family, where: str) -> Rows:
        """What makes rows of the family's records; errors name `where`."""
        return Rows(family, self.schema, self.shape, where, times=self.times)

    def columns(self, family: Family | None) -> pa.Schema:
        """The columns of rows. Whether keys have several values is said by the files alone."""
        return row_columns(family, self.schema, self.shape, times=self.times)

    def family_in(self, plan: Plan) -> Family | None:
        """The column family at the version of a plan; None where there is none yet."""
        if not self.created:
            return next((f for f in plan.families if f.name == self.family), None)
        # The empty store has no families yet.
        return plan.family(self.family) if plan.families else None

    def _columns(self, parts: Sequence[Part]) -> StateSchema:
        family = self._family_of(parts)
        lists = family is not None and holds_lists(family)
        return StateSchema.of(self.schema, lists=lists or self.shape.lists)

    def _family_of(self, parts: Sequence[Part]) -> Family | None:
        found = (self._planned(part.store, part.target)[1] for part in parts)
        return next((f for f in found if f is not None), None)

    def _state_columns(self, parts: Sequence[Part]) -> pa.Schema:
        return self.columns(self._family_of(parts))

    def _rows_of(self, parts: Sequence[Part]) -> pa.Schema:
        return replace(self, times=False).columns(self._family_of(parts))

    def _planned(self, store: Store, target: Attempt) -> tuple[Plan, Family | None]:
        plan = store.plan(target)
        return plan, self.family_in(plan)


def _kinds(records: Records, repeats: Positions) -> pa.StringArray:
    """What Spark's change feed calls them: of a list's new values the others are appended."""
    kinds = np.where(records.merges, "append", np.where(records.puts, "update", "delete"))
    again = np.diff(repeats, prepend=-1) == 0
    return pa.array(np.where(again, "append", kinds[repeats]).tolist(), pa.string())


def _absent(part: Part, columns: pa.Schema) -> pa.RecordBatch:
    """A row of nulls, but for the partition."""
    row: dict[str, object] = dict.fromkeys(columns.names)
    return pa.RecordBatch.from_pylist([row | {"partition_id": part.store.partition}], columns)


def _batch(
    before: list[pa.Array], part: Part, columns: pa.Schema, after: Sequence[pa.Array] = ()
) -> pa.RecordBatch:
    """The columns with the partition between them."""
    partition = pa.array([part.store.partition] * len(before[0]), pa.int32())
    return pa.RecordBatch.from_arrays([*before, partition, *after], schema=columns)
