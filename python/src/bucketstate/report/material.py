"""All that a page is made of, read from the checkpoint and the progress once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from bucketstate.checkpoint import Checkpoint, Overview, Plan, Report
from bucketstate.checkpoint.format.names import StoreFile
from bucketstate.checkpoint.format.parallel import in_order
from bucketstate.checkpoint.overview import OperatorOverview, StoreOverview
from bucketstate.errors import CheckpointError
from bucketstate.progress import Progress, Recorder
from bucketstate.progress.rows import distinct, part

Advance = Callable[[int, int], None]
"""Is told how much of how much is read."""

Place = tuple[int, int, str]
"""Operator, partition and store."""


@dataclass(frozen=True)
class Batches:
    """What is known of the query's batches. `why` says why there are none, if there are none.

    `left_out` are sentences about progress that is not of these batches.
    """

    progress: Sequence[Progress]
    why: str
    left_out: Sequence[str]

    @property
    def recorder(self) -> Recorder:
        """The rows and columns of them."""
        return Recorder.of(self.progress)


@dataclass(frozen=True)
class Material:
    """What was read. Immutable.

    Attributes:
        overview: at the version that a restart opens.
        plans: of each store how the version is read, of those that can be.
        files: of each store its files, with their length in bytes.
        buckets: of each store what each bucket holds, a row for each column family; None if the
            state was not to be read.
        unread: why the buckets of a store could not be read.
        history: a row for each version and store, or why it cannot be told.
        report: what verifying every file found; None if the state was not to be read.
        times: when batches were planned, of those whose offset log is there.
        query: the id of the query; None if the checkpoint does not say.
    """

    overview: Overview
    plans: Mapping[Place, Plan]
    files: Mapping[Place, Mapping[StoreFile, int]]
    buckets: Mapping[Place, pa.Table] | None
    unread: Mapping[Place, str]
    history: pa.Table | str
    report: Report | None
    times: Mapping[int, datetime]
    query: str | None
    batches: Batches
    now: datetime

    @property
    def sound(self) -> bool:
        """Whether all that was read is: every file, or without the state what a restart opens."""
        opens = all(operator.is_whole for operator in self.overview.operators)
        return opens and self.overview.starts and (self.report is None or self.report.ok)


def gathered(
    checkpoint: Checkpoint,
    progress: Iterable[Progress] | None,
    *,
    state: bool,
    now: datetime,
    advance: Advance | None = None,
) -> Material:
    """Reads it. With `state` every file is verified, and all keys are counted by bucket.

    Damage of stores is part of what is told. Raises StorageError, and CheckpointError for what
    keeps the checkpoint as a whole from being read, as `Checkpoint.verify` does.
    """
    overview = checkpoint.overview()
    stores = [(operator, store) for operator in overview.operators for store in operator.stores]
    plans = {}
    files = {}
    for operator, store in stores:
        place = place_of(operator, store)
        files[place] = checkpoint.store(operator.id, store.partition, store.store).files
        if not store.problem:
            plans[place] = checkpoint.plan(operator.id, store.partition, store=store.store)
    buckets, unread = _buckets(checkpoint, plans) if state else (None, {})
    query = _query_id(checkpoint)
    return Material(
        overview=overview,
        plans=plans,
        files=files,
        buckets=buckets,
        unread=unread,
        history=_history(checkpoint),
        report=checkpoint.verify(advance) if state else None,
        times=_times(checkpoint),
        query=query,
        batches=_batches(progress, query),
        now=now,
    )


def place_of(operator: OperatorOverview, store: StoreOverview) -> Place:
    return operator.id, store.partition, store.store


def _buckets(
    checkpoint: Checkpoint, plans: Mapping[Place, Plan]
) -> tuple[dict[Place, pa.Table], dict[Place, str]]:
    """Store by store: one that cannot be read keeps none of the others from it."""
    found, unread = {}, {}
    for place in plans:
        operator, partition, store = place
        try:
            found[place] = checkpoint.scan(
                operator=operator, partition=partition, store=store
            ).residency_per_bucket()
        except CheckpointError as error:
            unread[place] = str(error)
    return found, unread


def _history(checkpoint: Checkpoint) -> pa.Table | str:
    try:
        return checkpoint.history()
    except CheckpointError as error:
        return str(error)


def _query_id(checkpoint: Checkpoint) -> str | None:
    try:
        return checkpoint.query.id
    except CheckpointError:
        return None


def _times(checkpoint: Checkpoint) -> dict[int, datetime]:
    """When each batch began whose offset log can be read: `verify` tells what others lack."""
    query = checkpoint.query

    def planned(batch: int) -> datetime | None:
        try:
            at = query.planned_at(batch)
        except CheckpointError:
            return None
        try:
            return None if at is None else datetime.fromtimestamp(at / 1000, UTC)
        except (OverflowError, ValueError, OSError):
            # Of a year that Python has no time for.
            return None

    times = zip(query.planned, in_order(planned, query.planned), strict=True)
    return {batch: at for batch, at in times if at is not None}


def _batches(progress: Iterable[Progress] | None, query: str | None) -> Batches:
    """The checkpoint's own, each once, without triggers that ran none."""
    if progress is None:
        return Batches(
            (),
            "No progress of the query was given. A Recorder keeps it, and an event log has it: "
            "give the file with --progress, or as write_report(progress=...).",
            (),
        )
    given, left_out = distinct(progress)
    own = [p for p in given if query is None or p.get("id") == query]
    ran = [p for p in own if _ran(p)]
    if len(own) < len(given):
        others = sorted({_name(p) for p in given if p.get("id") != query})
        left_out.append(
            f"{len(given) - len(own):,} progresses of other queries ({', '.join(others)}) are left "
            f"out: the checkpoint is of the query {query}."
        )
    if len(ran) < len(own):
        left_out.append(f"{len(own) - len(ran):,} triggers that ran no batch are left out.")
    why = "" if ran else "The progress that was given has no batch of this checkpoint's query."
    return Batches(ran, why, left_out)


def _ran(progress: Progress) -> bool:
    """Whether the trigger ran a batch."""
    durations = part(progress, "durationMs")
    return all(durations.get(name) is not None for name in ("addBatch", "triggerExecution"))


def _name(progress: Mapping[str, Any]) -> str:
    return str(progress.get("name") or progress.get("id"))
