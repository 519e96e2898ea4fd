"""What a checkpoint holds, at a glance: operators, stores, and what a restart would read."""

from __future__ import annotations

from dataclasses import dataclass

from bucketstate.checkpoint.catalog import Catalog
from bucketstate.checkpoint.expiry import Expiry
from bucketstate.checkpoint.residency import Residency
from bucketstate.checkpoint.store import Store
from bucketstate.errors import CheckpointError


@dataclass(frozen=True)
class FamilyOverview:
    """A column family: the keys it holds, and how they and its values are encoded.

    `keys` are about so many if they are `estimated`. `expiry` is None where records have no times.
    """

    name: str
    keys: int
    key_encoding: str
    value_encoding: str
    expiry: Expiry | None
    estimated: bool


@dataclass(frozen=True)
class StoreOverview:
    """One store of one partition, at one version. Sizes in bytes.

    `manifest_version` and `changelogs` are what the version is read from; `skipped` says which
    newer manifests could not be used, `replaced` for which versions another attempt is read than
    the one that was built on. If `problem` is given, the version cannot be read, and there is no
    `residency`.
    """

    partition: int
    store: str
    files: int
    bytes: int
    manifests: tuple[int, ...]
    keys: int | None
    families: tuple[FamilyOverview, ...]
    manifest_version: int | None
    runs: int
    changelogs: int
    read_bytes: int
    num_buckets: int
    residency: Residency | None
    skipped: tuple[str, ...]
    replaced: tuple[str, ...]
    problem: str | None


@dataclass(frozen=True)
class OperatorOverview:
    id: int
    name: str
    stores: tuple[StoreOverview, ...]


@dataclass(frozen=True)
class Overview:
    """`version` is what is described: what a restart opens, unless another was asked for."""

    location: str
    last_batch: int | None
    planned_batch: int | None
    version: int
    versions: tuple[int, ...]
    operators: tuple[OperatorOverview, ...]


def overview(catalog: Catalog, version: int | None = None) -> Overview:
    """Reads the indexes of the files that the version is made of, and lists the folders."""
    wanted = catalog.restart_version if version is None else version
    operators = []
    for operator in catalog.operators:
        stores = [
            _store(catalog, catalog.store(operator.id, partition, info.name), wanted)
            for info in operator.stores
            for partition in range(info.partitions)
        ]
        operators.append(OperatorOverview(operator.id, operator.name, tuple(stores)))
    planned = catalog.query.planned
    return Overview(
        catalog.location,
        catalog.last_batch,
        planned[-1] if planned else None,
        wanted,
        tuple(catalog.versions),
        tuple(operators),
    )


def _store(catalog: Catalog, store: Store, version: int) -> StoreOverview:
    plan, problem = None, None
    try:
        plan = store.plan(catalog.attempt(store, version))
    except CheckpointError as error:
        problem = str(error)
    families = plan.families if plan else ()
    base = plan.base if plan else None
    return StoreOverview(
        partition=store.partition,
        store=store.name,
        files=len(store.files),
        bytes=sum(store.files.values()),
        manifests=tuple(m.attempt.version for m in store.manifests),
        keys=sum(f.keys for f in families) if plan else None,
        families=tuple(
            FamilyOverview(
                f.name, f.keys, f.key_encoding, f.value_encoding, Expiry.of(f), f.estimated
            )
            for f in families
        ),
        manifest_version=base.version if base else None,
        runs=len(base.runs) if base else 0,
        changelogs=len(plan.changelogs) if plan else 0,
        read_bytes=plan.size if plan else 0,
        num_buckets=plan.num_buckets if plan else 0,
        residency=Residency.of(plan) if plan else None,
        skipped=tuple(map(str, plan.skipped)) if plan else (),
        replaced=tuple(map(str, plan.replaced)) if plan else (),
        problem=problem,
    )
