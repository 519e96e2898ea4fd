"""What a running query has done to its checkpoint since `verify` began to read it."""

from __future__ import annotations

from dataclasses import dataclass

from bucketstate.checkpoint.store.catalog import Catalog
from bucketstate.checkpoint.store.savepoint import Savepoint
from bucketstate.checkpoint.store.store import Store
from bucketstate.errors import CheckpointError


@dataclass(frozen=True)
class Look:
    """A checkpoint and one of its stores, as they are now."""

    catalog: Catalog
    store: Store
    required: frozenset[int]
    """The versions that Spark could ask for now."""

    def still(self, savepoints: tuple[Savepoint, ...]) -> tuple[Savepoint, ...]:
        """Those that are there now; all of them where that cannot be told."""
        try:
            there = self.catalog.savepoints
        except CheckpointError:
            return savepoints
        return tuple(s for s in savepoints if s in there)


def look(before: Catalog, store: Store) -> Look | None:
    """Looks again; None where what is there is not what a query would have made of it."""
    try:
        catalog = Catalog(before.query.folder)
        for number in before.query.passed_over:
            catalog.query.pass_over(number)
        if (catalog.last_batch or 0) < (before.last_batch or 0):
            return None
        again = Store(store.operator, store.partition, store.name, store.folder)
        again.after(store)
        return Look(catalog, again, required(catalog))
    except CheckpointError:
        # What is wrong with it was told, or it was deleted.
        return None


def required(catalog: Catalog) -> frozenset[int]:
    """The versions that Spark could ask for, of whatever store, without the empty one."""
    versions = frozenset(catalog.versions) | {catalog.restart_version}
    # Spark's own log keeps one batch more than the state has to.
    oldest = min(versions)
    spare = {oldest} if oldest > 1 and len(versions) > 1 else set()
    return versions - spare - {0}
