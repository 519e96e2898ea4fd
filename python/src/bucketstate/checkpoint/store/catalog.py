"""What there is in a query's checkpoint: operators, stores, schemas and versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from operator import index

from bucketstate.checkpoint.format.damage import damaged
from bucketstate.checkpoint.format.names import Attempt
from bucketstate.checkpoint.format.parallel import Once
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.spark.query import DEFAULT_STORE, OperatorInfo, Query, StoreInfo
from bucketstate.checkpoint.spark.schema_files import DEFAULT_FAMILY, FamilySchema
from bucketstate.checkpoint.spark.variables import StateVariable, VariableInfo
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.savepoint import Savepoint, read_savepoints
from bucketstate.checkpoint.store.store import Store
from bucketstate.errors import (
    CheckpointError,
    InvalidArgumentError,
    NoSuchStateError,
)


class Catalog:
    """The stores and versions of a query's checkpoint, looked up; no state is read here.

    Opens each store once and keeps it. Thread-safe; what it opens is not, unless it says so.
    Whatever it reads may raise DamagedFileError, MissingFileError, NewerFormatError or
    StorageError.
    """

    def __init__(self, folder: Folder) -> None:
        self.query = Query(folder)
        """What Spark itself keeps of the query: its logs of batches, and of operators."""
        self._stores: Once[tuple[int, int, str], Store] = Once()
        self._operators: Once[tuple[int, int], OperatorInfo] = Once()
        self._schemas: Once[tuple[int, str, tuple[str, ...]], dict[str, FamilySchema]] = Once()

    @property
    def location(self) -> str:
        """Path or URI of the checkpoint."""
        return self.query.folder.location

    @cached_property
    def operators(self) -> tuple[OperatorInfo, ...]:
        """The stateful operators, by their id."""
        found = (self.query.operator(number) for number in self.query.operator_ids)
        # An empty folder is what is left of an operator that kept nothing, as of a first batch. One
        # that is gone by now is another matter.
        return tuple(
            o
            for o in found
            if any(store.partitions for store in o.stores)
            or not (self.query.folder / "state" / str(o.id)).exists()
        )

    @cached_property
    def savepoints(self) -> tuple[Savepoint, ...]:
        """What is held for somebody to go back to, the oldest batch first.

        Raises:
            DamagedFileError: one cannot be understood.
            NewerFormatError: a newer release wrote one.
            StorageError: one cannot be read.
        """
        return read_savepoints(self.query.folder)

    @property
    def last_batch(self) -> int | None:
        """The last batch that was committed; None before the first is."""
        return self.query.committed[-1] if self.query.committed else None

    @property
    def restart_version(self) -> int:
        """The version that a restart opens: batch n makes version n + 1, 0 is empty.

        Spark runs the last batch that it planned once more if that was not committed, on the
        version before it, whatever else the commit log lacks.
        """
        committed = -1 if self.last_batch is None else self.last_batch
        planned = self.query.planned[-1] if self.query.planned else -1
        return planned if planned > committed else committed + 1

    @property
    def versions(self) -> list[int]:
        """Versions that Spark could ask for: of every batch that its commit log still has."""
        return [batch + 1 for batch in self.query.committed]

    def version_at(self, version: int | None = None, batch: int | None = None) -> int:
        """The version that is meant: the one given, the batch's, or what a restart opens.

        Raises:
            InvalidArgumentError: both are given, or what is no whole number.
            NoSuchStateError: the batch is negative.
        """
        if version is not None and batch is not None:
            raise InvalidArgumentError(
                f"version={version!r} and batch={batch!r} are given: give one of them. Batch n "
                "makes version n + 1."
            )
        if batch is not None:
            batch = whole_number("batch", batch)
            if batch < 0:
                raise NoSuchStateError(f"There is no batch {batch}: batches start at 0.")
            return batch + 1
        return self.restart_version if version is None else whole_number("version", version)

    def operator(self, number: int = 0) -> OperatorInfo:
        """A stateful operator as Spark recorded it last.

        Raises:
            InvalidArgumentError: what is given as a number is none.
            NoSuchStateError: there is no such operator; the message lists them.
        """
        number = whole_number("operator", number)
        for operator in self.operators:
            if operator.id == number:
                return operator
        known = ", ".join(str(o.id) for o in self.operators)
        raise NoSuchStateError(f"{self.location} has no operator {number}. There are: {known}.")

    def store(self, operator: int = 0, partition: int = 0, store: str = DEFAULT_STORE) -> Store:
        """One store of one partition: its files.

        Args:
            operator: the id of the stateful operator.
            partition: from 0.
            store: for stream-stream joins, which have several.

        Raises:
            InvalidArgumentError: what is given as a number is none.
            NoSuchStateError: there is no such operator, partition or store; the message lists them.
        """
        info = self.store_info(self.operator(operator), store)
        partition = whole_number("partition", partition)
        of_now = 0 <= partition < info.partitions
        if not of_now and partition not in self.query.partition_folders(operator):
            raise NoSuchStateError(
                f"Operator {operator} has no partition {partition}: it has 0 to "
                f"{info.partitions - 1}."
            )
        folder = self.query.store_folder(operator, partition, store)
        return self._stores.get(
            (operator, partition, store), lambda: Store(operator, partition, store, folder)
        )

    def plan(
        self,
        operator: int = 0,
        partition: int = 0,
        version: int | None = None,
        *,
        store: str = DEFAULT_STORE,
        batch: int | None = None,
    ) -> Plan:
        """Which files hold a version, or what a batch made; without both, what a restart reads.

        Args:
            operator: the id of the stateful operator.
            partition: from 0.
            version: the state after batch n is version n + 1.
            store: for stream-stream joins, which have several.
            batch: the state that this batch made, in place of a version.

        Raises:
            InvalidArgumentError: what is given as a number is none, or both version and batch are
                given.
            NoSuchStateError: there is no such operator, partition, store or version.
            MissingFileError: nothing leads to the version.
            DamagedFileError: what leads to the version is damaged.
            NewerFormatError: a newer release wrote what leads to it.
        """
        of = self.store(operator, partition, store)
        return of.plan(self.attempt(of, self.version_at(version, batch)))

    def attempt(self, store: Store, version: int) -> Attempt:
        """The attempt at a version that Spark chose.

        Raises:
            InvalidArgumentError: the version is no whole number.
            NoSuchStateError: the store has no such version, or several attempts at one that was not
                committed.
            DamagedFileError: Spark's commit log does not say which.
        """
        version = whole_number("version", version)
        if version == 0:
            return Attempt(0)
        if version < 0:
            raise NoSuchStateError(f"There is no version {version}: versions start at 0.")
        if version - 1 in self.query.committed:
            commit = self.query.commit(version - 1)
            return Attempt(version, commit.id_of(store.operator, store.partition, store.name))
        # Not committed, or so long ago that Spark forgot: only the files themselves can tell.
        attempts = store.attempts(version)
        if len(attempts) > 1:
            own = (store.operator, store.partition, store.name)
            held = {s.attempt(*own) for s in self.savepoints if s.version == version}
            attempts = [a for a in attempts if a in held] or attempts
        if len(attempts) == 1:
            return attempts[0]
        if attempts:
            raise NoSuchStateError(
                f"Version {version} of {store.folder.location} was written by {len(attempts)} "
                "attempts, and Spark's commit log does not say which of them counts: the batch was "
                "not committed."
            )
        raise NoSuchStateError(
            f"{store.folder.location} has no version {version}, which batch {version - 1} makes. "
            f"Spark's log has the versions {shown(self.versions)}."
        )

    def operator_at(
        self, number: int, version: int | None = None, *, batch: int | None = None
    ) -> OperatorInfo:
        """An operator as it was for the batch that made a version.

        Its state variables change, and with a rewrite in place its number of partitions.

        Args:
            number: the id of the stateful operator.
            version: the state after batch n is version n + 1; without, what a restart reads.
            batch: the state that this batch made, in place of a version.

        Raises:
            InvalidArgumentError: what is given as a number is none, or both version and batch are
                given.
            NoSuchStateError: there is no such operator; the message lists them.
        """
        newest, of = self.operator(number), self.version_at(version, batch)
        return self._operators.get((newest.id, of - 1), lambda: self._operator_at(newest, of - 1))

    def _operator_at(self, newest: OperatorInfo, batch: int) -> OperatorInfo:
        number = newest.id
        found = self.query.operator(number, batch)
        if newest.transform is None:
            # Joins, too, have metadata for each batch, and all of them say the same but for this.
            counts = [s.partitions for s in found.stores]
            found = replace(
                newest,
                stores=tuple(
                    replace(s, partitions=n) for s, n in zip(newest.stores, counts, strict=False)
                ),
            )
        if batch in self.query.planned or batch < 0:
            return found
        # What Spark's log has forgotten a savepoint may know.
        for savepoint in self._known_savepoints:
            held = Counter(s for o, _, s in savepoint.attempts if o == number)
            if savepoint.batch == batch and held:
                stores = tuple(replace(s, partitions=held[s.name]) for s in found.stores)
                return replace(found, stores=stores)
        return found

    @property
    def _known_savepoints(self) -> tuple[Savepoint, ...]:
        try:
            return self.savepoints
        except CheckpointError:
            return ()

    def state_variables(
        self, operator: int = 0, version: int | None = None, *, batch: int | None = None
    ) -> tuple[StateVariable, ...]:
        """The state variables of a transformWithState at a version, by name, with their schemas.

        Empty for other operators.

        Args:
            operator: the id of the stateful operator.
            version: the state after batch n is version n + 1; without, what a restart reads.
            batch: the state that this batch made, in place of a version.

        Raises:
            InvalidArgumentError: what is given as a number is none, or both version and batch are
                given.
            NoSuchStateError: there is no such operator.
            DamagedFileError: Spark's schema file lacks one of them, or cannot be read.
        """
        found = self.operator_at(operator, version, batch=batch)
        return tuple(self._typed(found, v) for v in found.state_variables)

    def state_variable(
        self,
        name: str,
        operator: int = 0,
        version: int | None = None,
        *,
        batch: int | None = None,
    ) -> StateVariable:
        """One state variable of a transformWithState at a version, with its schemas.

        Args:
            name: as the function calls it.
            operator: the id of the stateful operator.
            version: the state after batch n is version n + 1; without, what a restart reads.
            batch: the state that this batch made, in place of a version.

        Raises:
            InvalidArgumentError: what is given as a number is none, or both version and batch are
                given.
            NoSuchStateError: there is no such operator, it has no state variables, or none of that
                name.
            DamagedFileError: Spark's schema file lacks it, or cannot be read.
        """
        found = self.operator_at(operator, version, batch=batch)
        if found.transform is None:
            raise NoSuchStateError(
                f"Operator {operator} ({found.name}) has no state variables, only a "
                "transformWithState has: leave the state variable out."
            )
        variable = found.transform.variable(name)
        if variable is None:
            known = ", ".join(v.name for v in found.state_variables) or "none"
            raise NoSuchStateError(
                f"Operator {operator} ({found.name}) has no state variable '{name}'. There are: "
                f"{known}."
            )
        return self._typed(found, variable)

    def timers_family(
        self, operator: int = 0, version: int | None = None, *, batch: int | None = None
    ) -> str:
        """The column family of a transformWithState's timers.

        Args:
            operator: the id of the stateful operator.
            version: the state after batch n is version n + 1; without, what a restart reads.
            batch: the state that this batch made, in place of a version.

        Raises:
            InvalidArgumentError: what is given as a number is none, or both version and batch are
                given.
            NoSuchStateError: there is no such operator, or it can have no timers.
        """
        found = self.operator_at(operator, version, batch=batch)
        family = found.transform.timers if found.transform else None
        if family is None:
            mode = (
                f"its time mode is {found.transform.time_mode}"
                if found.transform
                else ("only a transformWithState has")
            )
            raise NoSuchStateError(f"Operator {operator} ({found.name}) has no timers: {mode}.")
        return family

    def schema(
        self,
        operator: int = 0,
        *,
        store: str = DEFAULT_STORE,
        column_family: str | None = None,
        version: int | None = None,
        batch: int | None = None,
    ) -> FamilySchema:
        """Spark's schema of a column family's keys and values, as it was for a version.

        Args:
            operator: the id of the stateful operator.
            store: for stream-stream joins, which have several.
            column_family: for operators that have several.
            version: the state after batch n is version n + 1; without, what a restart reads.
            batch: the state that this batch made, in place of a version.

        Raises:
            InvalidArgumentError: what is given as a number is none, or both version and batch are
                given.
            NoSuchStateError: there is no such operator, store or column family.
        """
        found = self.operator_at(operator, version, batch=batch)
        if not isinstance(column_family, str | None):
            raise InvalidArgumentError(
                f"column_family={column_family!r} is a {type(column_family).__name__}: give a name "
                "as text."
            )
        schemas = self._schemas_of(found, self.store_info(found, store))
        if column_family is None and found.transform is not None:
            names = ", ".join(v.name for v in found.state_variables) or "none"
            raise NoSuchStateError(
                f"Operator {operator} ({found.name}) keeps its state in state variables: name one "
                f"of them with state_var (--state-var). There are: {names}."
            )
        name = column_family or DEFAULT_FAMILY
        if name not in schemas and column_family is None:
            raise NoSuchStateError(
                f"Operator {operator} ({found.name}) has several column families: name one of them "
                f"with column_family (--column-family). There are: {', '.join(sorted(schemas))}."
            )
        if name not in schemas:
            raise NoSuchStateError(
                f"Operator {operator} has no column family '{name}'. There are: "
                f"{', '.join(sorted(schemas))}."
            )
        return schemas[name]

    def families(
        self,
        operator: int = 0,
        *,
        store: str = DEFAULT_STORE,
        version: int | None = None,
        batch: int | None = None,
    ) -> list[str]:
        """The column families of which Spark recorded schemas, by name, as for `schema`.

        Raises:
            InvalidArgumentError: what is given as a number is none, or both version and batch are
                given.
            NoSuchStateError: there is no such operator or store.
        """
        found = self.operator_at(operator, version, batch=batch)
        return sorted(self._schemas_of(found, self.store_info(found, store)))

    def _typed(self, operator: OperatorInfo, variable: VariableInfo) -> StateVariable:
        info = self.store_info(operator, DEFAULT_STORE)
        schema = self._schemas_of(operator, info).get(variable.name)
        if schema is None:
            folder, name = self.query.schema_places(operator.id, info)[-1]
            raise damaged(
                folder.path_of(name),
                f"expected the schema of the state variable '{variable.name}', which the "
                "operator's metadata name, found none",
            )
        return StateVariable(
            variable.name,
            variable.kind,
            variable.ttl,
            schema.grouping_key(composite=variable.kind == "map"),
            schema.user_key,
            schema.value,
            tuple(sorted(schema.values)),
        )

    def _schemas_of(self, operator: OperatorInfo, store: StoreInfo) -> dict[str, FamilySchema]:
        key = (operator.id, store.name, store.schema_files)
        return self._schemas.get(key, lambda: self.query.schemas(operator.id, store))

    def store_info(self, operator: OperatorInfo, name: str) -> StoreInfo:
        """What Spark recorded of one of the operator's stores.

        Raises:
            NoSuchStateError: the operator has no store of that name; the message lists them.
        """
        for info in operator.stores:
            if info.name == name:
                return info
        known = ", ".join(s.name for s in operator.stores)
        if name == DEFAULT_STORE:
            raise NoSuchStateError(
                f"Operator {operator.id} ({operator.name}) has several stores: name one of them "
                f"with store (--store). There are: {known}."
            )
        raise NoSuchStateError(
            f"Operator {operator.id} ({operator.name}) has no store '{name}'. There are: {known}."
        )


def whole_number(name: str, value: object) -> int:
    """The value of the argument of that name; InvalidArgumentError if it is no whole number."""
    try:
        # A truth value is a number for Python, and a mistake here.
        if type(value).__name__ not in ("bool", "bool_"):
            return index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    raise InvalidArgumentError(
        f"{name}={value!r} is a {type(value).__name__}: give a whole number, such as {name}=3."
    )


def _runs_of(ascending: Sequence[int]) -> list[list[int]]:
    """Splits numbers into lists of those that follow on each other."""
    runs: list[list[int]] = []
    for number in ascending:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def shown(ascending: Sequence[int]) -> str:
    """For a message: `1, 3 to 5`."""
    parts = [f"{r[0]} to {r[-1]}" if len(r) > 1 else str(r[0]) for r in _runs_of(ascending)]
    return ", ".join(parts) or "(none)"


def every_store(catalog: Catalog) -> Iterator[Store]:
    """Those of a restart, and those of partitions that there were before a rewrite in place."""
    for operator in catalog.operators:
        folders = catalog.query.partition_folders(operator.id)
        for info in operator.stores:
            left = (n for n in folders if n >= info.partitions)
            for partition in (*range(info.partitions), *left):
                yield catalog.store(operator.id, partition, info.name)


def stores_of(catalog: Catalog, version: int) -> Iterator[Store]:
    """Every store of every partition that there is at a version."""
    for number in catalog.query.operator_ids:
        operator = catalog.operator_at(number, version)
        for info in operator.stores:
            for partition in range(info.partitions):
                yield catalog.store(operator.id, partition, info.name)


def is_there(catalog: Catalog, store: Store, version: int) -> bool:
    """Whether a store is one of those at a version, which a rewrite in place changes."""
    info = catalog.store_info(catalog.operator_at(store.operator, version), store.name)
    return store.partition < info.partitions
