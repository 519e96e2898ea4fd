"""One key: its value at a version, and at every version that is still there.

Only the files and blocks that may have it are read. Its partition and its bucket are computed as
Spark and the provider compute them. If the key is not in that partition, the others are asked, too,
because a few operators distribute their keys otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, groupby
from typing import Any

import pyarrow as pa

from bucketstate.checkpoint.source import Source
from bucketstate.checkpoint.spark import types as T  # noqa: N812
from bucketstate.checkpoint.spark.key_bytes import Key
from bucketstate.checkpoint.spark.key_values import (
    json_key,
    meanings,
    stored_key,
    without_negative_zeros,
)
from bucketstate.checkpoint.spark.partitioning import hashed_columns
from bucketstate.checkpoint.store.reading import Part, Reading
from bucketstate.errors import CheckpointError, InvalidArgumentError


def rows_of_key(source: Source) -> pa.Table:
    """The rows of the key that the selection names; those of all keys that it is the start of."""
    if source.finder is not None and source.finder.version == source.version:
        return source.finder.rows(source)
    table: pa.Table | None = None
    for reading in _readings(source):
        for places in _places(source, reading, source.partitions):
            parts = source.parts_of([source.store(place) for place in places])
            table = reading.state(parts).read_all()
            if table.num_rows:
                return table
    return table


def history_of_key(source: Source) -> pa.Table:
    """The key at every version that can still be read, the oldest first."""
    absent: pa.Table | None = None
    for reading in _readings(source):
        table = _followed(source, reading)
        if _is_there(table):
            return table
        absent = table if absent is None else absent
    assert absent is not None
    return absent


class Naming:
    """What keys mean that are given for a source's selection: the fields that are stored."""

    def __init__(self, source: Source, reading: Reading) -> None:
        of, catalog = source.selection, source.catalog
        self.schema = reading.schema.key
        """Fields of the column family's whole key."""
        self._source = source
        self._grouping: T.StructType | None = None
        self._user_key: T.StructType | None = None
        self.columns: int | None = len(self.schema)
        """How many of the first fields Spark distributes keys by; None where others decide."""
        if of.state_var is not None:
            variable = catalog.state_variable(of.state_var, of.operator, source.version)
            if variable.kind == "map":
                self._grouping = reading.schema.grouping_key(composite=True)
                self._user_key, self.columns = variable.user_key, 1
        else:
            operator = catalog.operator(of.operator)
            info = catalog.store_info(operator, of.store)
            self.columns = hashed_columns(
                operator.name, info.name, of.column_family, info.prefix_columns, len(self.schema)
            )

    def ways(self, key: Any, user_key: Any = None) -> Iterator[Key]:
        """Each key that may be meant, in the order in which they are looked for.

        A function has states of 0.0 and -0.0, an aggregation one of both, so -0.0 may be either.

        Raises InvalidArgumentError for what can be no key.
        """
        for of, of_user in meanings(key, user_key):
            for meant in self._user_keys(of_user):
                found = self._key(of, meant)
                yield found
                values = without_negative_zeros(found.values)
                # Both zeros are equal; their texts are not.
                if repr(values) != repr(found.values):
                    yield replace(found, values=values)

    def stored(self, key: Any) -> Key:
        """A key that is there, of which all fields are given. Raises as `ways` does."""
        return Key(self.schema, stored_key(self.schema, key), self.columns)

    def _user_keys(self, user_key: Any) -> Iterator[Any]:
        """What a key of a map may mean; a stateful function keeps it as JSON."""
        if user_key is not None and self._source.keeps_documents:
            if isinstance(user_key, tuple) and len(user_key) == 1:
                (user_key,) = user_key
            yield json_key(user_key)
            if isinstance(user_key, int) and not isinstance(user_key, bool):
                # A whole number may be a key of a map of floats.
                with suppress(OverflowError):
                    yield json_key(float(user_key))
            if not isinstance(user_key, str | bytes):
                return
        yield user_key

    def _key(self, key: Any, user_key: Any) -> Key:
        if self._grouping is not None:
            values: tuple[Any, ...] = (stored_key(self._grouping, key),)
            if user_key is not None:
                assert self._user_key is not None
                values += (stored_key(self._user_key, user_key, "user_key"),)
            return Key(self.schema, values, self.columns)
        if user_key is not None:
            name = self._source.selection.state_var or "this"
            raise InvalidArgumentError(
                f"user_key={user_key!r} is given, but {name} is no map variable: leave it out, or "
                "name one with state_var."
            )
        return Key(self.schema, stored_key(self.schema, key), self.columns)


def _readings(source: Source) -> Iterator[Reading]:
    """A reading for each of what the key may mean."""
    of, reading = source.selection, source.reading()
    for key in Naming(source, reading).ways(of.key, of.user_key):
        yield replace(reading, key=key)


def _places(source: Source, reading: Reading, count: int) -> list[list[int]]:
    """The partitions that are asked for the key, of so many: that of its hash, then all others."""
    partition = source.selection.partition
    if partition is not None:
        return [[partition]]
    assert reading.key is not None
    first = reading.key.partition(count)
    others = [place for place in range(count) if place != first]
    return [places for places in ([] if first is None else [first], others) if places]


def _followed(source: Source, reading: Reading) -> pa.Table:
    """The key at every version; where the state was divided anew, in its partition of each time."""
    parts: list[Part] = []
    gone: CheckpointError | None = None
    if source.selection.partition is not None:
        # One that is not there is told.
        source.store(source.selection.partition)
    for count, versions in groupby(source.catalog.versions, source.partitions_at):
        of_count = list(versions)
        chosen: list[Part] | None = None
        for place in chain.from_iterable(_places(source, reading, count)):
            if place >= count:
                # It was not there yet.
                continue
            found, failure = _readable(source, place, of_count, begun=bool(parts))
            gone = gone or failure
            chosen = found if chosen is None else chosen
            if found and _is_there(reading.history(found)):
                chosen = found
                break
        parts += chosen or []
    if gone is not None and not parts:
        raise gone
    return reading.history(parts)


def _is_there(history: pa.Table) -> bool:
    return bool(history["key"].null_count < history.num_rows)


def _readable(
    source: Source, place: int, versions: Sequence[int], *, begun: bool
) -> tuple[list[Part], CheckpointError | None]:
    """A partition at each of these versions, but for the first that retention took, and why.

    Raises CheckpointError for one behind those that can be read, or if there are such before.
    """
    catalog, of = source.catalog, source.selection
    store = catalog.store(of.operator, place, of.store)
    parts: list[Part] = []
    gone: CheckpointError | None = None
    for version in versions:
        try:
            target = catalog.attempt(store, version)
            store.plan(target)
        except CheckpointError as error:
            if parts or begun:
                raise
            gone = error
        else:
            parts.append(Part(store, target, catalog.attempt(store, 0)))
    return parts, gone
