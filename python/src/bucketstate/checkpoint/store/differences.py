"""How two states of a store differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.records import Records
from bucketstate.checkpoint.format.runs import Runs
from bucketstate.checkpoint.format.slices import Positions
from bucketstate.checkpoint.spark.decoding import RecordDecoder, StateSchema
from bucketstate.checkpoint.store.merging import codes_of
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.state import read_span, spans
from bucketstate.checkpoint.store.store import Store

ADDED, CHANGED, REMOVED = "added", "changed", "removed"


def difference_schema(columns: StateSchema) -> pa.Schema:
    return pa.schema(
        [
            ("change", pa.string()),
            ("key", columns.key),
            ("before", columns.value),
            ("after", columns.value),
            ("partition_id", pa.int32()),
        ]
    )


def differences(
    store: Store,
    states: Sequence[tuple[Plan, Family | None]],
    decoder: RecordDecoder,
    memory: int,
    rows: int,
) -> Iterator[pa.RecordBatch]:
    """The keys that are not the same in the older and the newer of two states."""
    there = [(plan, family) for plan, family in states if family is not None]
    with Runs(store.folder) as runs:
        for first, last in spans(there, memory):
            old, new = (
                read_span(plan, family, runs, first, last)
                if family is not None
                else Records.concat([])
                for plan, family in states
            )
            for at in _chunks(*_pairs(old, new, decoder), rows):
                yield _batch(old, new, *at, decoder, store.partition)


def _pairs(old: Records, new: Records, decoder: RecordDecoder) -> tuple[Positions, Positions]:
    """Where each key that differs lies in both; -1 where it is not there."""
    codes = codes_of([old.keys, new.keys])
    places = np.full((2, int(codes.max(initial=-1)) + 1), -1, np.int64)
    for row, part in enumerate(np.split(codes, [len(old)])):
        places[row, part] = np.arange(part.size)
    before, after = places
    both = np.flatnonzero((before >= 0) & (after >= 0))
    left = decoder.without_times(old.values.at(before[both])).to_arrow()
    right = decoder.without_times(new.values.at(after[both])).to_arrow()
    same = np.zeros(before.size, np.bool_)
    same[both] = pc.equal(left, right).to_numpy(zero_copy_only=False)
    return before[~same], after[~same]


def _chunks(
    before: Positions, after: Positions, rows: int
) -> Iterator[tuple[Positions, Positions]]:
    for at in range(0, before.size, rows):
        yield before[at : at + rows], after[at : at + rows]


def _batch(
    old: Records,
    new: Records,
    before: Positions,
    after: Positions,
    decoder: RecordDecoder,
    partition: int,
) -> pa.RecordBatch:
    was, is_ = before >= 0, after >= 0
    keys = pa.concat_arrays(
        [decoder.keys(old.keys.at(before[was])), decoder.keys(new.keys.at(after[~was]))]
    )
    # Back from "those of the old state, then the others" to the order of the pairs.
    order = np.empty(before.size, np.int64)
    order[np.concatenate([np.flatnonzero(was), np.flatnonzero(~was)])] = np.arange(before.size)
    values = []
    for records, at, present in ((old, before, was), (new, after, is_)):
        found = decoder.values(records.values.at(at[present]))
        values.append(found.take(pa.array(np.cumsum(present) - 1, pa.int64(), mask=~present)))
    kinds = np.where(~was, ADDED, np.where(is_, CHANGED, REMOVED))
    return pa.RecordBatch.from_arrays(
        [
            pa.array(kinds.tolist(), pa.string()),
            keys.take(pa.array(order)),
            *values,
            pa.array([partition] * before.size, pa.int32()),
        ],
        schema=difference_schema(decoder.columns),
    )
