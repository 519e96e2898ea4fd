"""What a checkpoint holds, at a glance: operators, stores, and what a restart would read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from bucketstate.checkpoint.format.family import KeysAt, all_keys, summed
from bucketstate.checkpoint.format.origin import Origin
from bucketstate.checkpoint.format.parallel import in_order
from bucketstate.checkpoint.spark.query import OperatorInfo
from bucketstate.checkpoint.spark.variables import VariableKind
from bucketstate.checkpoint.store.catalog import Catalog
from bucketstate.checkpoint.store.expiry import Expiry
from bucketstate.checkpoint.store.holding import held_alone
from bucketstate.checkpoint.store.residency import Residency
from bucketstate.checkpoint.store.store import Store
from bucketstate.errors import CheckpointError, StorageError
from bucketstate.notebook import line, table
from bucketstate.units import size


@dataclass(frozen=True)
class FamilyOverview:
    """A column family: the keys it holds, and how they and its values are encoded. Immutable."""

    name: str
    """Its name in Spark; `default` where an operator has one alone."""

    keys: int | None
    """How many keys it holds; None if nobody counted them, as with `exactKeyCount` false."""

    key_encoding: str
    """How its keys are encoded: see docs/format.md."""

    value_encoding: str
    """How its values are encoded."""

    expiry: Expiry | None
    """How its keys age; None where records have no times."""

    last_count: KeysAt | None
    """Where there is no number of `keys`: when they were counted last, and how many there were
    then. None where they never were."""

    internal: bool
    """Whether the operator keeps it for itself."""

    role: str
    """What a transformWithState has it for; empty for others."""


@dataclass(frozen=True)
class VariableOverview:
    """A state variable, in all partitions together. Immutable."""

    name: str
    """Its name in the function."""

    kind: VariableKind
    """`value`, `list` or `map`."""

    ttl: bool
    """Whether its values expire."""

    keys: int | None
    """How many keys it has, in all partitions; of a map, those in the maps. None if a partition
    cannot be read, or its keys were not counted, as with `exactKeyCount` false."""

    key: str | None
    """Spark's type of the grouping key; None where Spark's schema of it cannot be read."""

    user_key: str | None
    """Spark's type of what a map is by; None for what is no map."""

    value: str | None
    """Spark's type of the values; None where Spark's schema of it cannot be read."""

    schema_ids: tuple[int, ...]
    """The numbers of the schemas that its values may have been written with."""


@dataclass(frozen=True)
class StoreOverview:
    """One store of one partition, at one version. Immutable."""

    partition: int
    """From 0."""

    store: str
    """The store's name: `default`, or that of a side of a join."""

    files: int
    """How many files it has, of all versions."""

    bytes: int
    """Length of these files, in bytes."""

    manifests: tuple[int, ...]
    """Versions of which there is a manifest, the oldest first."""

    keys: int | None
    """Keys at the version, of all column families; None if it cannot be read, or those of one were
    not counted."""

    families: tuple[FamilyOverview, ...]
    """Its column families at the version."""

    manifest_version: int | None
    """The manifest that the version is read from; None for the empty store."""

    runs: int
    """How many runs this manifest consists of."""

    changelogs: int
    """How many changelogs are read after it."""

    read_bytes: int
    """Length of what is read for the version, in bytes."""

    num_buckets: int
    """Fixed for the life of a checkpoint; 0 if the version cannot be read."""

    residency: Residency | None
    """Where its state lies; None if the version cannot be read."""

    skipped: tuple[str, ...]
    """Which newer manifests could not be used, and why: a sentence for each."""

    replaced: tuple[str, ...]
    """For which versions another attempt is read than the one that was built on: a sentence for
    each."""

    problem: str | None
    """Why the version cannot be read; None if it can."""


@dataclass(frozen=True)
class SavepointOverview:
    """What is held for somebody to go back to. Immutable."""

    name: str
    """The name that it was given."""

    batch: int
    """The batch whose result is held."""

    created: datetime
    """When it was created, in UTC."""

    bytes: int | None
    """Length of what goes when it is dropped, in bytes: the files that nothing else needs. None if
    what it holds cannot be read."""


@dataclass(frozen=True)
class OperatorOverview:
    """A stateful operator, at one version. Immutable."""

    id: int
    """Spark's number of the operator in its query, from 0."""

    name: str
    """Spark's name of it, such as `stateStoreSave`."""

    stores: tuple[StoreOverview, ...]
    """Its stores, by name and partition."""

    time_mode: str | None = None
    """`None`, `ProcessingTime` or `EventTime` of a transformWithState; None for all others."""

    state_variables: tuple[VariableOverview, ...] = ()
    """Those of a transformWithState, by name."""

    timers: int | None = None
    """How many timers it has registered; None if it can have none, if a partition cannot be read,
    or if they were not counted."""

    @property
    def is_whole(self) -> bool:
        """Whether all of its stores can be read, so that a sum over them lacks none."""
        return not any(store.problem for store in self.stores)


@dataclass(frozen=True)
class Overview:
    """A query's checkpoint, at one version. Immutable."""

    location: str
    """Path or URI of the checkpoint."""

    last_batch: int | None
    """The last batch that was committed; None before the first is."""

    planned_batch: int | None
    """The last batch that was planned; None before the first is."""

    version: int
    """The version that is described: what a restart opens, unless another was asked for."""

    versions: tuple[int, ...]
    """Versions that Spark could ask for."""

    operators: tuple[OperatorOverview, ...]
    """The stateful operators, by their id."""

    copied: str | None = None
    """Why a copy does not stand by itself, and what to do: its operators' metadata name schema
    files in the folder that it was copied from. None where they name none elsewhere."""

    unfinished: str | None = None
    """Why the query does not start, and which files to remove: an offline repartition that Spark
    began and cannot do. What else is said is without it. None where there is none."""

    origin: Origin | None = None
    """Which checkpoint it was made of; None if a query began it."""

    half_done: str | None = None
    """Why the query is not to be started yet, and what to do: a move or a rewind that was begun and
    not finished. None where there is none."""

    savepoints: tuple[SavepointOverview, ...] = ()
    """What is held for somebody to go back to, the oldest batch first."""

    unheld: str | None = None
    """Why nobody can tell what savepoints hold, so that the query deletes nothing of what is old;
    None where all of them can be read."""

    original_gone: bool = False
    """Whether what `copied` names is gone, so that the query does not start."""

    @property
    def starts(self) -> bool:
        """Whether nothing beside its state keeps the query from being started."""
        return not (self.original_gone or self.unfinished or self.half_done)

    @property
    def open_batch(self) -> int | None:
        """The batch that was planned and not committed; None without one."""
        last = -1 if self.last_batch is None else self.last_batch
        planned = self.planned_batch
        return planned if planned is not None and planned > last else None

    def _repr_html_(self) -> str:
        last = "none yet" if self.last_batch is None else self.last_batch
        told = [self.copied, self.unfinished, self.half_done, self.unheld]
        if self.origin is not None and not self.half_done:
            told.append(self.origin.summary)
        head = line(self.location, bold=True) + line(f"last committed batch {last}")
        return (
            head + "".join(line(t) for t in told if t) + "".join(map(self._table, self.operators))
        )

    def _table(self, of: OperatorOverview) -> str:
        title = f"operator {of.id} ({of.name or 'unknown'}) at version {self.version}"
        columns = ["partition", "store", "keys", "read from", "bytes read", "files", "bytes"]
        rows = [
            [
                s.partition,
                s.store,
                s.keys,
                _read_from(s),
                size(s.read_bytes),
                s.files,
                size(s.bytes),
            ]
            for s in of.stores
        ]
        return table(title, columns, rows, right=("bytes read", "bytes"))


def _read_from(store: StoreOverview) -> str:
    if store.problem:
        return "cannot be read"
    base = store.manifest_version
    start = "" if base is None else f"manifest {base} ({store.runs} runs) + "
    return f"{start}{store.changelogs} changelogs"


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
    planned, begun = catalog.query.planned, catalog.query.repartition
    copied = catalog.query.copied
    return Overview(
        catalog.location,
        catalog.last_batch,
        planned[-1] if planned else None,
        wanted,
        versions,
        tuple(operators),
        copied.summary if copied else None,
        begun.summary if begun else None,
        catalog.query.marks.origin,
        catalog.query.marks.half_done,
        *_savepoints(catalog),
        original_gone=copied is not None and copied.gone,
    )


def held_of(catalog: Catalog) -> tuple[SavepointOverview, ...]:
    """What each savepoint holds.

    Raises CheckpointError if one cannot be read.
    """
    found = catalog.savepoints
    alone = held_alone(catalog, found)
    return tuple(SavepointOverview(s.name, s.batch, s.created, alone[s.name]) for s in found)


def _savepoints(catalog: Catalog) -> tuple[tuple[SavepointOverview, ...], str | None]:
    try:
        return held_of(catalog), None
    except CheckpointError as error:
        return (), str(error)


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
                of.key.simpleString() if of else None,
                of.user_key.simpleString() if of and of.user_key else None,
                of.value.simpleString() if of else None,
                of.schema_ids if of else (),
            )
        )
    return tuple(found)


def _keys(stores: Sequence[StoreOverview], family: str) -> int | None:
    if any(store.problem for store in stores):
        return None
    return summed(f.keys for s in stores for f in s.families if f.name == family)


def _store(catalog: Catalog, version: int, operator: OperatorInfo, store: Store) -> StoreOverview:
    plan, problem = None, None
    try:
        plan = store.plan(catalog.attempt(store, version))
    except (CheckpointError, StorageError) as error:
        problem = str(error)
    families = plan.families if plan else ()
    base = plan.base if plan else None
    return StoreOverview(
        partition=store.partition,
        store=store.name,
        files=len(store.files),
        bytes=sum(store.files.values()),
        manifests=tuple(m.attempt.version for m in store.manifests),
        keys=all_keys(families) if plan else None,
        families=tuple(
            FamilyOverview(
                f.name,
                f.keys,
                f.key_encoding,
                f.value_encoding,
                Expiry.of(f),
                plan.last_count(f) if plan else None,
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
