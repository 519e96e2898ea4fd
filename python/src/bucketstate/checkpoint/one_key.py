"""One key: its value at a version, and at every version that is still there.

Only the files and blocks that may have it are read. Its partition and its bucket are computed as
Spark and the provider compute them. If the key is not in that partition, the others are asked, too,
because a few operators distribute their keys otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
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
from bucketstate.checkpoint.store.reading import Part, Reading
from bucketstate.checkpoint.store.store import Store
from bucketstate.errors import CheckpointError, InvalidArgumentError


def rows_of_key(source: Source) -> pa.Table:
    """The rows of the key that the selection names; those of all keys that it is the start of."""
    if source.finder is not None and source.finder.version == source.version:
        return source.finder.rows(source)
    table: pa.Table | None = None
    for reading, places in _ways(source):
        for stores in places:
            table = reading.state(source.parts_of(stores)).read_all()
            if table.num_rows:
                return table
    return table


def history_of_key(source: Source) -> pa.Table:
    """The key at every version that can still be read, the oldest first."""
    found: pa.Table | None = None
    for reading, places in _ways(source):
        for stores in places:
            tables = [reading.history(_readable(source, reading, one)) for one in stores]
            there = [t for t in tables if t.column("key").null_count < t.num_rows]
            if there:
                return there[0]
            found = found or tables[0]
    assert found is not None
    return found


class Naming:
    """What keys mean that are given for a source's selection: the fields that are stored."""

    def __init__(self, source: Source, reading: Reading) -> None:
        of, catalog = source.selection, source.catalog
        self.schema = reading.schema.key
        """Fields of the column family's whole key."""
        self._source = source
        self._grouping: T.StructType | None = None
        self._user_key: T.StructType | None = None
        self.columns = len(self.schema)
        """How many of the first fields Spark distributes keys by."""
        if of.state_var is not None:
            variable = catalog.state_variable(of.state_var, of.operator, source.version)
            if variable.kind == "map":
                self._grouping = reading.schema.grouping_key(composite=True)
                self._user_key, self.columns = variable.user_key, 1
        else:
            info = catalog.store_info(catalog.operator(of.operator), of.store)
            self.columns = info.prefix_columns or len(self.schema)

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


def _ways(source: Source) -> Iterator[tuple[Reading, Iterator[Sequence[Store]]]]:
    """A reading for each of what the key may mean, and where it is looked for in turn."""
    of, reading = source.selection, source.reading()
    for key in Naming(source, reading).ways(of.key, of.user_key):
        meant = replace(reading, key=key)
        yield meant, _places(source, meant)


def _places(source: Source, reading: Reading) -> Iterator[Sequence[Store]]:
    """The store that should have the key; then, for whoever has not found it, the others."""
    partition = source.selection.partition
    if partition is not None:
        yield [source.store(partition)]
        return
    assert reading.key is not None
    count = source.partitions
    first = reading.key.partition(count)
    if first is not None:
        yield [source.store(first)]
    others = [source.store(n) for n in range(count) if n != first]
    if others:
        yield others


def _readable(source: Source, reading: Reading, newest: Store) -> list[Part]:
    """The key's store at each version that Spark could ask for, but for those that retention took.

    With another number of partitions the key lay in another one, where Spark's hash says.
    """
    parts: list[Part] = []
    gone: CheckpointError | None = None
    assert reading.key is not None
    for version in source.catalog.versions:
        store = newest
        count = source.partitions_at(version)
        if count != source.partitions:
            of = source.selection.partition
            elsewhere = reading.key.partition(count) if of is None else of if of < count else None
            if elsewhere is None:
                continue
            store = source.catalog.store(newest.operator, elsewhere, newest.name)
        try:
            target = source.catalog.attempt(store, version)
            store.plan(target)
        except CheckpointError as error:
            if parts:
                raise
            gone = error
        else:
            parts.append(Part(store, target, source.catalog.attempt(store, 0)))
    if gone is not None and not parts:
        raise gone
    return parts
