"""What a checkpoint holds, at a glance: operators, stores, and what a restart would read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from bucketstate.checkpoint.catalog import Catalog
from bucketstate.checkpoint.expiry import Expiry
from bucketstate.checkpoint.parallel import in_order
from bucketstate.checkpoint.query import OperatorInfo
from bucketstate.checkpoint.residency import Residency
from bucketstate.checkpoint.store import Store
from bucketstate.checkpoint.variables import VariableKind
from bucketstate.errors import CheckpointError


@dataclass(frozen=True)
class FamilyOverview:
    """A column family: the keys it holds, and how they and its values are encoded.

    `keys` are about so many if they are `estimated`. `expiry` is None where records have no times.
    `internal` families are those that an operator keeps for itself; `role` says what a
    transformWithState has it for.
    """

    name: str
    keys: int
    key_encoding: str
    value_encoding: str
    expiry: Expiry | None
    estimated: bool
    internal: bool
    role: str


@dataclass(frozen=True)
class VariableOverview:
    """A state variable, in all partitions together. `keys` of a map are those in the maps.

    `key`, `user_key` (what a map is by) and `value` are Spark's types; None where Spark's schema of
    it cannot be read, and `user_key` for what is no map. `schema_ids` are the numbers of the
    schemas that its values may have been written with.
    """

    name: str
    kind: VariableKind
    ttl: bool
    keys: int
    estimated: bool
    key: str | None
    user_key: str | None
    value: str | None
    schema_ids: tuple[int, ...]


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
    """`time_mode` is that of a transformWithState, and None for all others.

    `timers` is how many it has registered, None if it can have none.
    """

    id: int
    name: str
    stores: tuple[StoreOverview, ...]
    time_mode: str | None = None
    state_variables: tuple[VariableOverview, ...] = ()
    timers: int | None = None


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
    """Reads the indexes of the files that the version is made of, and lists the folders.

    Many stores at a time: what takes time on an object store is each request by itself.
    """
    wanted = catalog.restart_version if version is None else version
    versions = tuple(catalog.versions)
    operators = []
    for newest in catalog.operators:
        operator = catalog.operator_at(newest.id, wanted)
        found = [
            catalog.store(operator.id, partition, info.name)
            for info in operator.stores
            for partition in range(info.partitions)
        ]
        describe = partial(_store, catalog, wanted, operator)
        stores = tuple(in_order(describe, found))
        transform = operator.transform
        operators.append(
            OperatorOverview(
                operator.id,
                operator.name,
                stores,
                transform.time_mode if transform else None,
                _variables(catalog, operator, stores, wanted),
                _keys(stores, transform.timers) if transform and transform.timers else None,
            )
        )
    planned = catalog.query.planned
    return Overview(
        catalog.location,
        catalog.last_batch,
        planned[-1] if planned else None,
        wanted,
        versions,
        tuple(operators),
    )


def _variables(
    catalog: Catalog, operator: OperatorInfo, stores: Sequence[StoreOverview], version: int
) -> tuple[VariableOverview, ...]:
    try:
        typed = {v.name: v for v in catalog.state_variables(operator.id, version)}
    except CheckpointError:
        typed = {}
    found = []
    for variable in operator.state_variables:
        of = typed.get(variable.name)
        found.append(
            VariableOverview(
                variable.name,
                variable.kind,
                variable.ttl,
                _keys(stores, variable.name),
                any(f.estimated for s in stores for f in s.families if f.name == variable.name),
                of.key.simpleString() if of else None,
                of.user_key.simpleString() if of and of.user_key else None,
                of.value.simpleString() if of else None,
                of.schema_ids if of else (),
            )
        )
    return tuple(found)


def _keys(stores: Sequence[StoreOverview], family: str) -> int:
    return sum(f.keys for s in stores for f in s.families if f.name == family)


def _store(catalog: Catalog, version: int, operator: OperatorInfo, store: Store) -> StoreOverview:
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
                f.name,
                f.keys,
                f.key_encoding,
                f.value_encoding,
                Expiry.of(f),
                f.estimated,
                f.internal,
                operator.transform.role(f.name) if operator.transform else "",
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
