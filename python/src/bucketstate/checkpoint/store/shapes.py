"""How records become rows: as keys and values, or as the state variable that they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bucketstate.checkpoint.format.records import Records
from bucketstate.checkpoint.format.slices import Positions, offsets_of
from bucketstate.checkpoint.spark.decoding import StateSchema
from bucketstate.checkpoint.spark.keys import prefix_of
from bucketstate.checkpoint.spark.variables import TTL_FIELD, StateVariable
from bucketstate.checkpoint.store.merging import codes_of

EXPIRY = pa.timestamp("ms", tz="UTC")
_NEVER = -1
"""Spark's expiry of a value that has none."""


@dataclass(frozen=True)
class Decoded:
    """Keys and values. Where they come by group, `groups` are where each starts and the last ends.

    A value is null where a key was removed.
    """

    keys: pa.StructArray
    values: pa.Array
    groups: Positions | None = None

    def lists(self, of: pa.Array) -> pa.ListArray:
        """Lists of these, one for each group."""
        return pa.ListArray.from_arrays(pa.array(self.groups, pa.int32()), of)


class Shape:
    """A row for each record: its key and its value, as Spark's `statestore` source has them."""

    lists = False
    """Whether keys have several values, also where no file says so yet."""
    grouped = False
    """Whether all records of a grouping key are needed at once."""
    expiry: pa.DataType | None = None
    """Type of the column that says when values expire; None where their time bucket does."""

    def columns(self, of: StateSchema) -> list[pa.Field]:
        return [pa.field("key", of.key), pa.field("value", of.value)]

    def rows(self, of: Decoded) -> list[pa.Array]:
        return [of.keys, of.values]

    def repeats(self, of: Decoded) -> Positions:
        """The number of the record that each row is of."""
        return np.arange(len(of.keys))

    def expires(self, of: Decoded) -> pa.Array:
        """When each row's value expires, or its values do; null for what never does."""
        raise NotImplementedError(f"{of.keys.type} has no expiry")


class ValueShape(Shape):
    """A value state variable."""

    expiry = EXPIRY

    def __init__(self, *, ttl: bool) -> None:
        self.ttl = ttl

    def expires(self, of: Decoded) -> pa.Array:
        return self.moments(of.values)

    def moments(self, values: pa.Array) -> pa.Array:
        if not self.ttl:
            return pa.nulls(len(values), EXPIRY)
        expiry = pc.struct_field(values, [TTL_FIELD])
        return pc.if_else(pc.equal(expiry, _NEVER), None, expiry).cast(EXPIRY)


class ElementsShape(ValueShape):
    """A list state variable, a row for each element; a list that was removed is a row, too."""

    lists = True

    def columns(self, of: StateSchema) -> list[pa.Field]:
        return [pa.field("key", of.key), pa.field("list_element", of.value.value_type)]

    def rows(self, of: Decoded) -> list[pa.Array]:
        return [of.keys.take(pa.array(self.repeats(of))), _elements(of.values)]

    def repeats(self, of: Decoded) -> Positions:
        return np.repeat(np.arange(len(of.keys)), _counts(of.values))

    def expires(self, of: Decoded) -> pa.Array:
        return self.moments(_elements(of.values))


class ListShape(ValueShape):
    """A list state variable, a row for each list."""

    lists = True
    expiry = pa.list_(EXPIRY)

    def columns(self, of: StateSchema) -> list[pa.Field]:
        return [pa.field("key", of.key), pa.field("list_value", of.value)]

    def expires(self, of: Decoded) -> pa.Array:
        groups = offsets_of(_counts(of.values))
        return Decoded(of.keys, of.values, groups).lists(self.moments(_elements(of.values)))


class EntriesShape(ValueShape):
    """A map state variable, a row for each of its keys."""

    def columns(self, of: StateSchema) -> list[pa.Field]:
        return [
            pa.field("key", of.key.field("key").type),
            pa.field("user_map_key", of.key.field("userKey").type),
            pa.field("user_map_value", of.value),
        ]

    def rows(self, of: Decoded) -> list[pa.Array]:
        return [of.keys.field("key"), of.keys.field("userKey"), of.values]


class MapShape(ValueShape):
    """A map state variable, a row for each map."""

    grouped = True
    expiry = pa.list_(EXPIRY)

    def columns(self, of: StateSchema) -> list[pa.Field]:
        kind = pa.map_(of.key.field("userKey").type, of.value)
        return [pa.field("key", of.key.field("key").type), pa.field("map_value", kind)]

    def rows(self, of: Decoded) -> list[pa.Array]:
        assert of.groups is not None
        starts = pa.array(of.groups, pa.int32())
        entries = pa.MapArray.from_arrays(starts, of.keys.field("userKey"), of.values)
        return [of.keys.field("key").take(starts[:-1]), entries]

    def expires(self, of: Decoded) -> pa.Array:
        return of.lists(self.moments(of.values))


class TimersShape(Shape):
    """Timers: a row for each."""

    expiry = EXPIRY

    def columns(self, of: StateSchema) -> list[pa.Field]:
        key = pa.field("key", of.key.field("key").type)
        return [key, pa.field("expiration_timestamp_ms", pa.int64())]

    def rows(self, of: Decoded) -> list[pa.Array]:
        return [of.keys.field("key"), of.keys.field("expiryTimestampMs")]

    def expires(self, of: Decoded) -> pa.Array:
        return of.keys.field("expiryTimestampMs").cast(EXPIRY)


def shape_of(variable: StateVariable, *, flatten: bool) -> Shape:
    match variable.kind:
        case "list":
            return ElementsShape(ttl=variable.ttl) if flatten else ListShape(ttl=variable.ttl)
        case "map":
            return EntriesShape(ttl=variable.ttl) if flatten else MapShape(ttl=variable.ttl)
    return ValueShape(ttl=variable.ttl)


def by_group(records: Records, rows: int) -> Iterator[tuple[Records, Positions, Positions]]:
    """Records sorted by grouping key, where each group starts and ends, and where each one was.

    They come in parts of at most so many groups.
    """
    codes = codes_of([prefix_of(records.keys)])
    order = np.argsort(codes, kind="stable")
    starts = np.append(np.flatnonzero(np.diff(codes[order], prepend=-1)), order.size)
    for at in range(0, starts.size - 1, rows):
        groups = starts[at : at + rows + 1]
        part = order[groups[0] : groups[-1]]
        yield records.at(part), groups - groups[0], part


def _counts(lists: pa.ListArray) -> Positions:
    """Rows of each list: one for a null."""
    lengths = pc.fill_null(pc.list_value_length(lists), 1)
    found: Positions = lengths.to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _elements(lists: pa.ListArray) -> pa.Array:
    """All elements, and a null for a null list."""
    if not lists.null_count:
        return lists.flatten()
    there = np.repeat(pc.is_valid(lists).to_numpy(zero_copy_only=False), _counts(lists))
    return lists.flatten().take(pa.array(np.cumsum(there) - 1, pa.int64(), mask=~there))
