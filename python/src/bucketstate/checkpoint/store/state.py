"""The state at a version: runs and changelogs merged, the newest change of each key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from bucketstate.checkpoint.format.changelog import Changelog
from bucketstate.checkpoint.format.changelog_footer import Block
from bucketstate.checkpoint.format.damage import damaged, decoding
from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.manifest import Run
from bucketstate.checkpoint.format.parallel import in_order
from bucketstate.checkpoint.format.records import Records, parse
from bucketstate.checkpoint.format.runs import Runs
from bucketstate.checkpoint.spark.keys import buckets_of
from bucketstate.checkpoint.store.merging import aged, firsts, merged
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.store import Store

MEMORY = 256 * 1024 * 1024
"""Bytes of keys and values held at a time, unless a single bucket has more."""

_CHANGELOGS = 8
"""How many changelogs are read at a time."""

_TOGETHER = 8 * 1024 * 1024
"""Raw bytes of a changelog that are parsed at a time, about, where it is read alone."""

_INFLATED = 3
"""How many times its length a run's file is guessed to take when it is inflated."""


def read_state(
    store: Store, plan: Plan, family: Family, memory: int = MEMORY, *, whole: bool = False
) -> Iterator[Records]:
    """All keys of a family with their values, by spans of buckets; in no order otherwise.

    A span comes in parts, or as a `whole`: then all keys of a bucket come together.

    Raises DamagedFileError at the end if there are not as many keys as the newest file says, if it
    says that; but not where records have times and a version was replaced under it, which that file
    did not know.
    """
    with Runs(store.folder) as runs:
        yield from read_family(plan, family, runs, memory, whole=whole)


def read_family(
    plan: Plan, family: Family, runs: Runs, memory: int = MEMORY, *, whole: bool = False
) -> Iterator[Records]:
    """Reads a family as `read_state` does, from files that stay open afterwards."""
    count = 0
    if plan.base is not None:
        buckets = plan.num_buckets - 1
        runs.fetch([f for f in plan.base.files if f.holds(family.id, 0, buckets)])
    for first, last in spans([(plan, family)], memory):
        parts = _span(plan, family, runs, first, last)
        for records in [Records.concat(list(parts))] if whole else parts:
            count += len(records)
            yield records
    # Whether keys of a replaced attempt had expired is said by its times: they may be others now.
    is_exact = family.times is None or not plan.replaced
    if family.keys is not None and count != family.keys and is_exact:
        raise damaged(
            plan.described_by,
            f"the column family '{family.name}' should hold {family.keys} keys at {plan.target}, "
            f"but its files give {count}: one of them is of another history",
        )


def read_span(plan: Plan, family: Family, runs: Runs, first: int, last: int) -> Records:
    """All keys of some buckets of a family with their values, at once."""
    return Records.concat(list(_span(plan, family, runs, first, last)))


def read_changes(changelog: Changelog, family: Family) -> Iterator[Records]:
    """What one changelog holds of one of its families, some blocks at a time.

    Each part can be decoded by itself: a changelog has each key of a family once.
    """
    part: list[tuple[Block, bytes]] = []
    size = 0
    for block, raw in changelog.read(b for b in changelog.blocks if b.family == family.id):
        part.append((block, raw))
        size += len(raw)
        if size >= _TOGETHER:
            records = _parsed(changelog, family, part)
            part, size = [], 0
            yield records
    if part:
        yield _parsed(changelog, family, part)


def spans(plans: Sequence[tuple[Plan, Family]], memory: int) -> list[tuple[int, int]]:
    """Spans of buckets, none of which takes more memory than that in all plans together.

    A bucket is not divided: one that takes more is a span of its own.
    """
    buckets = max((plan.num_buckets for plan, _ in plans), default=0)
    weight = np.zeros(max(1, buckets), np.float64)
    for plan, family in plans:
        for changelog in plan.changelogs:
            for block in changelog.blocks:
                if block.family == family.id:
                    _spread(weight, block.first_bucket, block.last_bucket, block.raw_length)
        for file in plan.base.files if plan.base else ():
            of_family = [b for b in file.buckets if b.family == family.id]
            for span in of_family:
                _spread(weight, span.first, span.last, _INFLATED * file.size)
    found: list[tuple[int, int]] = []
    first, held = 0, 0.0
    for bucket in range(buckets):
        if bucket > first and held + weight[bucket] > memory:
            found.append((first, bucket - 1))
            first, held = bucket, 0.0
        held += weight[bucket]
    if buckets:
        found.append((first, buckets - 1))
    return found


def _spread(weight: npt.NDArray[np.float64], first: int, last: int, size: int) -> None:
    weight[first : last + 1] += size / (last - first + 1)


def _span(plan: Plan, family: Family, runs: Runs, first: int, last: int) -> Iterator[Records]:
    """Newest first; of each key the first that is found counts."""
    parts = [_changes(plan, family, first, last)]
    for run in plan.base.runs if plan.base else ():
        parts.append(_of_run(run, family, runs, first, last))
    # A changelog has each key once, and so has a run.
    yield from merged(parts, once=len(plan.changelogs) <= 1)


def _changes(plan: Plan, family: Family, first: int, last: int) -> Records:
    """Those of all changelogs, the newest first."""
    parts = []
    wanted = []
    for changelog in reversed(plan.changelogs):
        blocks = [b for b in changelog.blocks if b.family == family.id and b.overlaps(first, last)]
        if blocks:
            wanted.append((changelog, blocks))
    for changelog, read in in_order(lambda w: (w[0], list(w[0].read(w[1]))), wanted, _CHANGELOGS):
        whole = [(b, raw) for b, raw in read if b.within(first, last)]
        edges = [(b, raw) for b, raw in read if not b.within(first, last)]
        parts.append(_parsed(changelog, family, whole))
        if edges:
            records = _parsed(changelog, family, edges)
            found = buckets_of(records.keys, family.key_encoding, plan.num_buckets)
            parts.append(records.where((found >= first) & (found <= last)))
    return Records.concat(parts)


def _parsed(changelog: Changelog, family: Family, blocks: Sequence[tuple[Block, bytes]]) -> Records:
    with decoding(changelog.path, "records"):
        records = parse([(raw, block.records) for block, raw in blocks])
    return aged(records, family, changelog.path)


def _of_run(run: Run, family: Family, runs: Runs, first: int, last: int) -> Records:
    parts, paths = [], []
    for file in run.files:
        if file.holds(family.id, first, last):
            path = runs.path_of(file)
            for records in runs.read(file, family.id, first, last):
                parts.append(aged(records, family, path))
                paths.append(path)
    if run.slices(family.id):
        _check_apart(parts, paths)
    return Records.concat(parts)


def _check_apart(parts: Sequence[Records], paths: Sequence[str]) -> None:
    """Files of a run may share buckets, but no key."""
    for path, first in zip(paths, firsts([part.keys for part in parts]), strict=True):
        if not first.all():
            raise damaged(path, "it has a key that another file of its run has, too")
