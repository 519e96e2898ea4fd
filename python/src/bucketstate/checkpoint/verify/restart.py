"""The state of a store that a restart would open, read whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.records import Records
from bucketstate.checkpoint.format.runs import Runs
from bucketstate.checkpoint.spark.decoding import RecordDecoder, chunked
from bucketstate.checkpoint.spark.schema_files import FamilySchema
from bucketstate.checkpoint.store.catalog import Catalog, is_there
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.state import read_family
from bucketstate.checkpoint.store.store import Store
from bucketstate.checkpoint.verify.report import Findings, Restart
from bucketstate.checkpoint.verify.variables import Indexes
from bucketstate.errors import CheckpointError, MissingFileError, NoSuchStateError


class RestartState:
    """What a restart would open of one store. `memory`: bytes of keys and values held at a time."""

    def __init__(self, catalog: Catalog, store: Store, runs: Runs, memory: int) -> None:
        self._catalog = catalog
        self._store = store
        self._runs = runs
        self._memory = memory
        self._schema_is_gone = False

    def read(self, found: Findings) -> CheckpointError | None:
        """Reads all of it; what it fails by."""
        store, version = self._store, self._catalog.restart_version
        if not is_there(self._catalog, store, version):
            return None
        failure: CheckpointError | None = None
        base, changelogs, size, keys = None, 0, 0, 0
        try:
            plan = store.plan(self._catalog.attempt(store, version))
            base = plan.base.version if plan.base else None
            changelogs, size = len(plan.changelogs), plan.size
            keys = sum(self._keys(plan, found))
        except CheckpointError as error:
            failure = error
        found.restarts.append(
            Restart(
                store.operator,
                store.partition,
                store.name,
                version,
                base,
                changelogs,
                size,
                keys,
                None if failure is None else str(failure),
            )
        )
        return failure

    def _keys(self, plan: Plan, found: Findings) -> Iterator[int]:
        indexes = Indexes(self._catalog.operator_at(self._store.operator).transform)
        for family in plan.families:
            schema = self._schema(family)
            if schema is None:
                # Its bytes have no columns, but they can be counted.
                keys = sum(len(part) for part in self._records(plan, family))
                if keys and not self._schema_is_gone:
                    found.add(
                        "error",
                        plan.described_by,
                        f"{plan.described_by} has {keys} keys in the column family "
                        f"'{family.name}', of which no schema file of Spark says what they are",
                    )
                yield keys
                continue
            decoder: RecordDecoder | None = None
            unshown: list[CheckpointError] = []
            with _counted_at_least(unshown):
                decoder = RecordDecoder(family, schema, self._store.folder.location)
            by_start: Counter[int] = Counter()
            for part in chunked(self._records(plan, family)):
                if decoder is not None:
                    with _counted_at_least(unshown):
                        keys_of = decoder.keys(part.keys)
                        indexes.add(family.name, keys_of, decoder.values(part.values))
                if family.times is not None:
                    starts = np.unique(family.times.starts(part.values), return_counts=True)
                    by_start.update(dict(np.column_stack(starts).tolist()))
                yield len(part)
            _time_buckets(plan, family, by_start, found)
            if unshown:
                indexes.leave_out(family.name)
                found.add(
                    "note",
                    plan.described_by,
                    f"{plan.described_by}: keys of the column family '{family.name}' were "
                    f"counted, but not all of them looked at. {unshown[0]}",
                )
        # What was read may be of two attempts at a batch, each sound by itself.
        if not plan.replaced:
            for what in indexes.contradictions():
                found.add("error", plan.described_by, f"{plan.described_by}: {what}")

    def _records(self, plan: Plan, family: Family) -> Iterator[Records]:
        return read_family(plan, family, self._runs, self._memory)

    def _schema(self, family: Family) -> FamilySchema | None:
        """Spark's schema of a family; None where it has none.

        So it is of a family in which nothing was ever kept, and of a file that Spark makes again.
        """
        store = self._store
        try:
            return self._catalog.schema(store.operator, store=store.name, column_family=family.name)
        except NoSuchStateError:
            return None
        except MissingFileError:
            operator = self._catalog.operator(store.operator)
            if self._catalog.store_info(operator, store.name).schema_files:
                raise
            self._schema_is_gone = True
            return None


@contextmanager
def _counted_at_least(unshown: list[CheckpointError]) -> Iterator[None]:
    """What this reader cannot show is sound: it is put down, and what is damaged is raised."""
    try:
        yield
    except CheckpointError as error:
        # Whatever is wrong with a file is an error of a class below this one.
        if type(error) is not CheckpointError:
            raise
        unshown.append(error)


def _time_buckets(plan: Plan, family: Family, by_start: Counter[int], found: Findings) -> None:
    """Whether keys expire when the newest file says: it counts them without reading them."""
    # What was counted may be the times of the attempt that was replaced.
    if family.times is None or plan.replaced:
        return
    expected = family.times.by_start()
    for start in sorted(expected.keys() | by_start.keys()):
        if expected.get(start, 0) != by_start[start]:
            found.add(
                "error",
                plan.described_by,
                f"{plan.described_by} says that {expected.get(start, 0)} keys of the column "
                f"family '{family.name}' are in the time bucket {start}, but its files give "
                f"{by_start[start]}: one of them is of another history",
            )
