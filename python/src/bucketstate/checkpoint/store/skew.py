"""How evenly the keys of a store lie in its buckets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.runs import Runs
from bucketstate.checkpoint.format.slices import Positions
from bucketstate.checkpoint.spark.buckets import buckets_of
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.state import read_family
from bucketstate.checkpoint.store.store import Store

SCHEMA = pa.schema([("partition_id", pa.int32()), ("bucket", pa.int32()), ("keys", pa.int64())])


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
        schema=SCHEMA,
    )


def count_keys(plan: Plan, family: Family, runs: Runs, memory: int) -> Positions:
    """The keys of each bucket, by its number."""
    counts = np.zeros(plan.num_buckets, np.int64)
    for records in read_family(plan, family, runs, memory):
        found = buckets_of(records.keys, family.key_encoding, plan.num_buckets)
        counts += np.bincount(found, minlength=plan.num_buckets)
    return counts
