"""Records of a column family as the rows that a shape makes of them."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.records import Records
from bucketstate.checkpoint.format.slices import Positions
from bucketstate.checkpoint.spark.decoding import ROWS, RecordDecoder, StateSchema, holds_lists
from bucketstate.checkpoint.spark.schema_files import FamilySchema
from bucketstate.checkpoint.store.expiry import TIME, time_buckets_of
from bucketstate.checkpoint.store.shapes import Decoded, Shape, by_group

Columns = tuple[list[pa.Array], list[pa.Array]]
"""What stands before the partition, and what behind it."""


class Rows:
    """Makes rows of records that are as the files of a family have them.

    Raises what `RecordDecoder` raises.

    Args:
        family: of a store at a version, by which times are told.
        schema: Spark's of the family.
        shape: what columns there are.
        times: whether there is one of when rows expire.
        where: what errors name.
    """

    def __init__(
        self, family: Family, schema: FamilySchema, shape: Shape, where: str, *, times: bool
    ) -> None:
        self._family = family
        self._shape = shape
        self._times = times
        self._decoder = RecordDecoder(family, schema, where)

    def of(self, records: Records, groups: Positions | None) -> Columns:
        """The columns of keys and values, and behind those of times; of whole groups with these."""
        decoded = self._decoded(records, groups)
        return self._shape.rows(decoded), self._when(decoded, records)

    def with_owners(
        self, records: Records
    ) -> Iterator[tuple[list[pa.Array], list[pa.Array], Positions]]:
        """As `of`, for all records of each key that is there; and which record each row is of.

        Where a row is a group, it is one of the group's records.
        """
        if self._shape.grouped:
            for part, groups, order in by_group(records, ROWS):
                yield *self.of(part, groups), order[groups[:-1]]
        elif len(records):
            decoded = self._decoded(records, None)
            owners = self._shape.repeats(decoded)
            yield self._shape.rows(decoded), self._when(decoded, records), owners

    def _decoded(self, records: Records, groups: Positions | None) -> Decoded:
        keys = self._decoder.keys(records.keys)
        return Decoded(keys, self._decoder.values(records.values), groups)

    def _when(self, decoded: Decoded, records: Records) -> list[pa.Array]:
        if not self._times:
            return []
        if self._shape.expiry is not None:
            return [self._shape.expires(decoded)]
        return [time_buckets_of(records.values, self._family)]


def row_columns(
    family: Family | None, schema: FamilySchema, shape: Shape, *, times: bool
) -> pa.Schema:
    """The columns of rows, with that of the partition; whether there are lists a family says."""
    lists = family is not None and holds_lists(family)
    of = StateSchema.of(schema, lists=lists or shape.lists)
    fields = [*shape.columns(of), pa.field("partition_id", pa.int32())]
    if times and shape.expiry is not None:
        fields.append(pa.field("expires_at", shape.expiry))
    elif times:
        fields.append(pa.field("time_bucket", TIME))
    return pa.schema(fields)
