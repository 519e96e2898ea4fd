"""What savepoints keep from being deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from bucketstate.checkpoint.format.manifest import Manifest
from bucketstate.checkpoint.format.names import ChangelogName, ManifestName, StoreFile, parse
from bucketstate.checkpoint.format.parallel import in_order
from bucketstate.checkpoint.store.catalog import Catalog, every_store
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.savepoint import Savepoint
from bucketstate.checkpoint.store.store import Store
from bucketstate.errors import CheckpointError


def files_of(plan: Plan) -> set[StoreFile]:
    """The files that a plan reads."""
    found: set[StoreFile] = {changelog.name for changelog in plan.changelogs}
    if plan.base is not None:
        found.add(plan.base.name)
        found |= _data_files(plan.base)
    return found


def _data_files(manifest: Manifest) -> set[StoreFile]:
    return {name for file in manifest.files if (name := parse(file.name)) is not None}


def held_files(store: Store, savepoint: Savepoint) -> set[StoreFile]:
    """The files of a store that a savepoint needs.

    Raises:
        CheckpointError: what it holds cannot be read.
    """
    return files_of(store.plan(savepoint.attempt(store.operator, store.partition, store.name)))


def held_alone(catalog: Catalog, savepoints: Iterable[Savepoint]) -> dict[str, int | None]:
    """Bytes of the files that go when a savepoint is dropped, by its name.

    Those are what no other savepoint needs, and no version that Spark could ask for. None where
    what a savepoint holds cannot be read.

    Raises:
        StorageError: a file system failed.
    """
    wanted = list(savepoints)
    if not wanted:
        return {}
    stores = list(every_store(catalog))
    total: Counter[str] = Counter()
    broken: set[str] = set()
    for sizes, unread in in_order(lambda store: _alone(catalog, store, wanted), stores):
        total.update(sizes)
        broken |= unread
    return {s.name: None if s.name in broken else total[s.name] for s in wanted}


def _alone(
    catalog: Catalog, store: Store, savepoints: list[Savepoint]
) -> tuple[dict[str, int], set[str]]:
    """Bytes of one store by savepoint, and which savepoints cannot be read."""
    held: dict[str, set[StoreFile]] = {}
    for savepoint in savepoints:
        if not savepoint.knows(store.operator, store.partition, store.name):
            held[savepoint.name] = set()
            continue
        try:
            held[savepoint.name] = held_files(store, savepoint)
        except CheckpointError:
            continue
    uses = Counter(file for files in held.values() for file in files)
    uses.update(_of_window(catalog, store))
    sizes = {
        name: sum(store.files[file] for file in files if uses[file] == 1)
        for name, files in held.items()
    }
    return sizes, {s.name for s in savepoints} - held.keys()


def _of_window(catalog: Catalog, store: Store) -> set[StoreFile]:
    """What is needed for the versions that Spark could ask for, and all that is newer."""
    oldest = None
    for version in sorted({*catalog.versions, catalog.restart_version}):
        try:
            oldest = store.plan(catalog.attempt(store, version))
            break
        except CheckpointError:
            # Spark's own log keeps one batch more than the state has to.
            continue
    if oldest is None:
        return set(store.files)
    found = files_of(oldest)
    start = oldest.base.version if oldest.base else 0
    for name in store.files:
        if isinstance(name, (ChangelogName, ManifestName)) and name.attempt.version > start:
            found.add(name)
    for manifest in store.manifests:
        if manifest in found:
            try:
                of = store.manifest(manifest)
            except CheckpointError:
                continue
            found |= _data_files(of)
    return found
