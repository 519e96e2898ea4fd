"""One committed version of a checkpoint, into which keys are looked up."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.records import Records
from bucketstate.checkpoint.format.slices import Slices
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.one_key import Naming
from bucketstate.checkpoint.selection import Selection
from bucketstate.checkpoint.source import Source
from bucketstate.checkpoint.spark.decoding import RecordDecoder
from bucketstate.checkpoint.spark.key_bytes import Key
from bucketstate.checkpoint.spark.keys import deciding
from bucketstate.checkpoint.spark.python_values import python_values
from bucketstate.checkpoint.store.catalog import Catalog
from bucketstate.checkpoint.store.rows import Rows
from bucketstate.errors import InvalidArgumentError
from bucketstate.live.held import Held
from bucketstate.live.partition import Partition

if TYPE_CHECKING:
    from bucketstate.checkpoint.states import States

_SOME = 100
"""Keys of a partition that tell where Spark puts keys."""
_SURE_BITS = 32
"""Keys would lie where Spark's hash says by chance once in so many powers of two."""
_PLACES = 8
"""Partitions that are asked for such keys, at most."""

Asked = tuple[Any, Any]
"""A key, and a key of its map or None."""


@dataclass(frozen=True)
class Found:
    """Rows in the order of the keys that were asked for, and of each the number of its key."""

    table: pa.Table
    owners: list[int]


class View:
    """A version that does not change, however often it is asked. Not thread-safe.

    Listings are of the moment when a store is asked for the first time.
    """

    def __init__(self, folder: Folder, selection: Selection, memory: int, held: Held) -> None:
        catalog = Catalog(folder)
        self.batch = catalog.last_batch
        """The newest batch that was committed; None before the first is."""
        self.version = 0 if self.batch is None else self.batch + 1
        """The state that it made."""
        self._held = held
        self._families: dict[Hashable, FamilyView] = {}
        of = replace(selection, version=self.version)
        self.source = Source(catalog, of, memory, self)
        """What is asked for at the version."""

    def rows(self, source: Source) -> pa.Table:
        """Rows of the key that the source's selection names, as `Finder` has them.

        Raises InvalidArgumentError once what looks keys up was closed.
        """
        of = source.selection
        with self._held.lock:
            if self._held.ended:
                raise InvalidArgumentError(
                    "The scan is of a Live that was closed, which looks no keys up for it any "
                    "more: make another one, or scan its Checkpoint."
                )
            return self.family(source).find([(of.key, of.user_key)], of.partition).table

    def family(self, source: Source) -> FamilyView:
        """What the source's selection names, without its key."""
        of = source.selection
        names = of.operator, of.store, of.column_family, of.state_var
        what = *names, bool(of.times), bool(of.flatten)
        if what not in self._families:
            self._families[what] = FamilyView(source.of(key=None, user_key=None), self._held)
        return self._families[what]

    @cached_property
    def asked(self) -> FamilyView:
        """What is asked for, as it is stored."""
        return self.family(self.source if self.states is None else self.states.source)

    @cached_property
    def columns(self) -> pa.Schema:
        """The columns of answers."""
        return (
            self.asked.columns
            if self.states is None
            else self.states.schema_over(self.asked.columns)
        )

    @cached_property
    def states(self) -> States | None:
        """What decodes states; None where they are not decoded."""
        if self.source.selection.decode is None:
            return None
        # Documents are read by what wrote them, which takes pyspark.
        from bucketstate.checkpoint.states import States

        return States(self.source)


class FamilyView:
    """A column family in all partitions. Not thread-safe."""

    def __init__(self, source: Source, held: Held) -> None:
        self._source = source
        self._held = held
        self.reading = source.reading()
        self._naming = Naming(source, self.reading)
        self._count = source.partitions
        """How many partitions there are."""
        self._partitions: dict[int, Partition | None] = {}
        self._known: Family | None = None
        self._columns: tuple[Family | None, pa.Schema] | None = None
        self._rows: dict[Hashable, Rows] = {}

    def find(self, asked: Sequence[Asked], partition: int | None = None) -> Found:
        """The rows of each key, or of all keys that it is the start of."""
        ways = [self._naming.ways(*one) for one in asked]
        rows = _Rows(self)
        pending = list(range(len(asked)))
        while pending:
            keys = {n: key for n in pending if (key := next(ways[n], None)) is not None}
            found = self._round(keys, partition, rows)
            pending = [n for n in keys if n not in found]
        return rows.found()

    @property
    def location(self) -> str:
        """The checkpoint."""
        return self._source.catalog.location

    @property
    def columns(self) -> pa.Schema:
        """The columns of rows, as far as the partitions tell that were asked."""
        if self._columns is None or self._columns[0] is not self._known:
            self._columns = self._known, self.reading.columns(self._known)
        return self._columns[1]

    def rows(self, family: Family, alike: Hashable) -> Rows:
        """What makes rows of records of a partition, and of all whose records are like those."""
        if alike not in self._rows:
            self._rows[alike] = self.reading.rows(family, self.location)
        return self._rows[alike]

    def _round(self, keys: dict[int, Key], partition: int | None, rows: _Rows) -> set[int]:
        """Which of the keys are there."""
        first: dict[int, int | None] = dict.fromkeys(keys, partition)
        if partition is None:
            first = {n: key.partition(self._count) for n, key in keys.items()}
        by_place: dict[int, dict[int, Key]] = defaultdict(dict)
        for n, key in keys.items():
            place = first[n]
            if place is not None:
                by_place[place][n] = key
        found: set[int] = set()
        for place, some in by_place.items():
            found |= self._in_partition(place, some, rows)
        missing = {n: key for n, key in keys.items() if n not in found}
        if partition is not None or not missing or self._count == 1:
            return found
        if all(first[n] is not None for n in missing) and self._is_as_hashed:
            return found
        for place in range(self._count):
            others = {n: key for n, key in missing.items() if first[n] != place}
            found |= self._in_partition(place, others, rows)
        return found

    def _in_partition(self, place: int, keys: dict[int, Key], rows: _Rows) -> set[int]:
        of = self._partition(place)
        if of is None or not keys:
            return set()
        encoding, buckets = of.family.key_encoding, of.plan.num_buckets
        wanted = {n: key.bytes_in(encoding, buckets) for n, key in keys.items()}
        owners: dict[bytes, list[int]] = defaultdict(list)
        for n, key in wanted.items():
            owners[key.start].append(n)
        records = of.find({key.start: key for key in wanted.values()})
        if not len(records):
            return set()
        return rows.add(place, of.family, records, owners)

    def _partition(self, number: int) -> Partition | None:
        """None for a partition that has no such column family yet."""
        if number not in self._partitions:
            source = self._source
            store = source.store(number)
            held = self._held.of(store.folder)
            if held.store is not None and held.store is not store:
                store.after(held.store)
            plan = store.plan(source.catalog.attempt(store, source.version))
            family = self.reading.family_in(plan)
            if held.store is not store:
                held.planned(store, plan)
            self._partitions[number] = None if family is None else Partition(plan, family, held)
            self._known = self._known or family
        return self._partitions[number]

    @property
    def _is_as_hashed(self) -> bool:
        """Whether Spark's hash says where keys are, so that one that is not there is nowhere.

        A few operators distribute keys otherwise. Keys that are there tell, once for all versions
        that are divided alike; until there are enough of them it is not known.
        """
        of = self._source.selection
        name = of.operator, of.store, of.column_family, of.state_var, self._count
        rules = self._held.rules
        if name not in rules and self._told is not None:
            rules[name] = self._told
        return rules.get(name, False)

    @cached_property
    def _told(self) -> bool | None:
        checked, enough = 0, math.ceil(_SURE_BITS / math.log2(self._count))
        known = sorted(range(self._count), key=lambda n: n not in self._partitions)
        for place in known[:_PLACES]:
            of = self._partition(place)
            for key in self._keys_in(of) if of is not None else ():
                where = key.partition(self._count)
                if where != place:
                    return False
                checked += 1
            if checked >= enough:
                return True
        return None

    def _keys_in(self, of: Partition) -> Iterator[Key]:
        keys = Slices.joined(of.some_keys(_SOME))
        if not len(keys):
            return
        decoder = RecordDecoder(of.family, self.reading.schema, self.location)
        for value in python_values(decoder.keys(keys)):
            try:
                yield self._naming.stored(tuple(value.values()))
            except InvalidArgumentError:
                # One that Python has no value for tells nothing.
                continue


class _Rows:
    """Gathers records of partitions, and makes rows of all of them at once."""

    def __init__(self, of: FamilyView) -> None:
        self._of = of
        self._parts: dict[Hashable, list[_Part]] = defaultdict(list)

    def add(
        self, place: int, family: Family, records: Records, owners: dict[bytes, list[int]]
    ) -> set[int]:
        """Records of a partition; `owners` has whose they are by the bytes that were asked for."""
        groups = deciding(records.keys, family.key_encoding).to_list()
        asking = [
            owners.get(key, []) + (owners.get(group, []) if group != key else [])
            for key, group in zip(records.keys.to_list(), groups, strict=True)
        ]
        reading = self._of.reading
        # Those of one key of a map have to stay together, and its keys lie in one partition.
        alone = place if reading.shape.grouped else None
        times = family.times if reading.times else None
        alike = family.key_encoding, family.value_encoding, times, alone
        self._parts[alike].append(_Part(place, family, records, asking))
        return {n for of in asking for n in of}

    def found(self) -> Found:
        schema = self._of.columns
        batches: list[pa.RecordBatch] = []
        asking: list[list[int]] = []
        for alike, parts in self._parts.items():
            rows = self._of.rows(parts[0].family, alike)
            for batch, of in self._made(parts, rows, schema):
                batches.append(batch)
                asking += of
        if not asking:
            return Found(schema.empty_table(), [])
        table = pa.Table.from_batches(batches, schema)
        if len(asking) == 1 and len(asking[0]) == 1:
            return Found(table, asking[0])
        # Rows of a key stay in their order.
        pairs = sorted((n, row) for row, of in enumerate(asking) for n in of)
        places = pa.array([row for _, row in pairs], pa.int64())
        return Found(table.take(places), [n for n, _ in pairs])

    def _made(
        self, parts: Sequence[_Part], rows: Rows, schema: pa.Schema
    ) -> Iterator[tuple[pa.RecordBatch, list[list[int]]]]:
        """Rows of partitions whose records are laid out alike, and who asked for each."""
        records = Records.concat([part.records for part in parts])
        asking = [of for part in parts for of in part.asking]
        places = np.repeat([part.place for part in parts], [len(part.asking) for part in parts])
        for before, after, owners in rows.with_owners(records):
            partitions = pa.array(places[owners], pa.int32())
            batch = pa.RecordBatch.from_arrays([*before, partitions, *after], schema=schema)
            yield batch, [asking[n] for n in owners.tolist()]


@dataclass(frozen=True)
class _Part:
    """Records of one partition, and of each the numbers of the keys that ask for it."""

    place: int
    family: Family
    records: Records
    asking: list[list[int]]
