"""What of each bucket lies in data files, and what in changelogs alone; and how evenly keys lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from bucketstate.checkpoint.format.changelog import Changelog
from bucketstate.checkpoint.format.changelog_footer import Block
from bucketstate.checkpoint.format.damage import decoding
from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.manifest import RunFile
from bucketstate.checkpoint.format.records import Records, parse
from bucketstate.checkpoint.format.runs import Runs
from bucketstate.checkpoint.format.slices import Positions, Slices
from bucketstate.checkpoint.spark.keys import buckets_of
from bucketstate.checkpoint.store.merging import firsts
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.state import read_family, spans
from bucketstate.checkpoint.store.store import Store

NUMBERS = (
    "keys",
    "cold_entries",
    "cold_bytes",
    "cold_raw_bytes",
    "warm_keys",
    "warm_records",
    "warm_bytes",
    "warm_raw_bytes",
)
"""`keys` are those that the bucket holds. `cold_` is what the runs have of it: entries, what they
take of the files, their keys and values inflated. `warm_` is what the changelogs have of it: keys
that they changed, records, what these take of the files, their keys and values inflated."""

SCHEMA = pa.schema(
    [
        ("partition_id", pa.int32()),
        ("column_family", pa.string()),
        ("bucket", pa.int32()),
        *[(name, pa.int64()) for name in NUMBERS],
    ]
)
"""`column_family` is null for what is left in files of families that were removed."""

_REMOVED = -1
"""Stands for the number of a family that is not listed any more."""


def residency_per_bucket(store: Store, plan: Plan, memory: int) -> pa.Table:
    """A row for each bucket of each column family, also for empty ones. Reads the state.

    A file of a run, or a block of a changelog, is divided among its buckets as keys and values are,
    a byte more for each; so the sums are those of `Residency`. What was removed or has expired
    since it was written counts as long as files have it.
    """
    found = _Residencies(plan)
    with Runs(store.folder) as runs:
        for file in plan.base.files if plan.base else ():
            found.add_file(file, runs)
        for family in plan.families:
            found.add("keys", family.id, count_keys(plan, family, runs, memory))
    for family in _changed_families(plan):
        for first, last in spans([(plan, family)], memory):
            found.add_changes(family, first, last)
    return found.table(store.partition)


class _Residencies:
    """Adds up what files have, by column family and bucket."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._names = {family.id: family.name for family in plan.families}
        self._found = {number: self._zeros() for number in self._names}

    def add(self, name: str, family: int, counts: Positions) -> None:
        """Numbers of all buckets."""
        number = family if family in self._names else _REMOVED
        self._found.setdefault(number, self._zeros())[name] += counts

    def add_file(self, file: RunFile, runs: Runs) -> None:
        counts: Counter[int] = Counter()
        sizes: Counter[int] = Counter()
        for records, prefixes in runs.entries(file):
            found, at = np.unique(prefixes, return_inverse=True)
            counts.update(dict(zip(found.tolist(), np.bincount(at).tolist(), strict=True)))
            of_batch = _sums(at, _lengths(records)).tolist()
            sizes.update(dict(zip(found.tolist(), of_batch, strict=True)))
        places = np.array(list(counts), np.int64)
        entries = np.array(list(counts.values()), np.int64)
        raw = np.array([sizes[place] for place in counts], np.int64)
        columns = {
            "cold_entries": entries,
            "cold_bytes": _divided(file.size, raw + entries),
            "cold_raw_bytes": raw,
        }
        for family in np.unique(places >> 16).tolist():
            mine = places >> 16 == family
            for name, numbers in columns.items():
                of_family = _sums(places[mine] & 0xFFFF, numbers[mine], self._plan.num_buckets)
                self.add(name, family, of_family)

    def add_changes(self, family: Family, first: int, last: int) -> None:
        """What all changelogs have of these buckets of a family."""
        keys: list[Slices] = []
        places: list[Positions] = []
        inside = np.zeros(self._plan.num_buckets, np.bool_)
        inside[first : last + 1] = True
        for changelog in self._plan.changelogs:
            blocks = [
                b for b in changelog.blocks if b.family == family.id and b.overlaps(first, last)
            ]
            for block, data in changelog.read(blocks):
                records = _parsed(changelog, block, data)
                buckets = buckets_of(records.keys, family.key_encoding, inside.size)
                counts = np.bincount(buckets, minlength=inside.size)
                raw = _sums(buckets, _lengths(records), inside.size)
                columns = {
                    "warm_records": counts,
                    "warm_bytes": _divided(block.stored_length, raw + counts),
                    "warm_raw_bytes": raw,
                }
                for name, numbers in columns.items():
                    # A block may have buckets of the spans beside this one.
                    self.add(name, family.id, np.where(inside, numbers, 0))
                keys.append(records.keys.where(inside[buckets]))
                places.append(buckets[inside[buckets]])
        for buckets, once in zip(places, firsts(keys), strict=True):
            counts = np.bincount(buckets[once], minlength=inside.size)
            self.add("warm_keys", family.id, counts)

    def table(self, partition: int) -> pa.Table:
        tables = [SCHEMA.empty_table()]
        for number, numbers in self._found.items():
            count = self._plan.num_buckets
            columns = [
                pa.array([partition] * count, pa.int32()),
                pa.array([self._names.get(number)] * count, pa.string()),
                pa.array(np.arange(count), pa.int32()),
                *[pa.array(numbers[name]) for name in NUMBERS],
            ]
            tables.append(pa.table(columns, schema=SCHEMA))
        return pa.concat_tables(tables)

    def _zeros(self) -> dict[str, Positions]:
        return {name: np.zeros(self._plan.num_buckets, np.int64) for name in NUMBERS}


def _changed_families(plan: Plan) -> Sequence[Family]:
    """Those that any of the changelogs has changes of."""
    described = {f.id: f for changelog in plan.changelogs for f in changelog.families}
    changed = {b.family for changelog in plan.changelogs for b in changelog.blocks}
    return [described[number] for number in sorted(changed)]


def _parsed(changelog: Changelog, block: Block, data: bytes) -> Records:
    with decoding(changelog.path, "records"):
        return parse([(data, block.records)])


def _lengths(records: Records) -> Positions:
    return records.keys.lengths + records.values.lengths


def _sums(at: Positions, numbers: Positions, count: int = 0) -> Positions:
    """The numbers added up by place."""
    return np.bincount(at, numbers, count).astype(np.int64)


def _divided(total: int, weights: Positions) -> Positions:
    """The total in parts as large as the weights, in whole numbers that add up to it."""
    ends = np.cumsum(weights)
    bounds = np.floor(ends / max(1, int(ends[-1])) * total).astype(np.int64)
    parts: Positions = np.diff(bounds, prepend=0)
    return parts


BUCKETS = pa.schema([("partition_id", pa.int32()), ("bucket", pa.int32()), ("keys", pa.int64())])


def keys_per_bucket(store: Store, plan: Plan, family: Family, memory: int) -> pa.Table:
    """The keys of each bucket, also of the empty ones."""
    with Runs(store.folder) as runs:
        counts = count_keys(plan, family, runs, memory)
    return pa.table(
        [
            pa.array([store.partition] * counts.size, pa.int32()),
            pa.array(np.arange(counts.size), pa.int32()),
            pa.array(counts),
        ],
        schema=BUCKETS,
    )


def count_keys(plan: Plan, family: Family, runs: Runs, memory: int) -> Positions:
    """The keys of each bucket, by its number."""
    counts = np.zeros(plan.num_buckets, np.int64)
    for records in read_family(plan, family, runs, memory):
        found = buckets_of(records.keys, family.key_encoding, plan.num_buckets)
        counts += np.bincount(found, minlength=plan.num_buckets)
    return counts
