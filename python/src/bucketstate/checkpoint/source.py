"""What a selection means in a checkpoint: a column family in some partitions, at its versions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa

from bucketstate.checkpoint.format.parallel import in_order
from bucketstate.checkpoint.selection import CHANGES, DIFF, TIMERS, Selection
from bucketstate.checkpoint.spark.schema_files import DEFAULT_FAMILY
from bucketstate.checkpoint.store.catalog import Catalog, whole_number
from bucketstate.checkpoint.store.reading import Part, Reading
from bucketstate.checkpoint.store.shapes import Shape, TimersShape, shape_of
from bucketstate.checkpoint.store.store import Store
from bucketstate.errors import CheckpointError, NoSuchStateError, StorageError

DOCUMENTS = "state"
"""The state variable of transformWithState in which `stateful` keeps documents."""


class Finder(Protocol):
    """Looks keys up in files that it holds open."""

    @property
    def version(self) -> int:
        """The one version that it knows."""

    def rows(self, source: Source) -> pa.Table:
        """The rows of the key that the source's selection names."""


@dataclass(frozen=True)
class Source:
    """Looks up what a selection names. `memory` is in bytes.

    Keys are looked up by the `finder`, if there is one of the version that is read.
    """

    catalog: Catalog
    selection: Selection
    memory: int
    finder: Finder | None = None

    def of(self, **overrides: Any) -> Source:
        """A source like this one with another selection."""
        return replace(self, selection=replace(self.selection, **overrides))

    @cached_property
    def version(self) -> int:
        """The version that is read."""
        return self.catalog.version_at(self.selection.version, self.selection.batch)

    @cached_property
    def since(self) -> int:
        """The version from which changes and differences are read; 0 where there are none."""
        if self.selection.kind not in (CHANGES, DIFF):
            return 0
        since, batch = self.selection.since, self.selection.since_batch
        if batch is not None:
            return self.catalog.version_at(batch=whole_number("since_batch", batch))
        return max(0, self.version - 1) if since is None else whole_number("since", since)

    @property
    def keeps_documents(self) -> bool:
        """Whether a state variable is a part of what a function of `stateful` keeps."""
        of, name = self.selection, self.selection.state_var
        found = self.catalog.operator_at(of.operator, self.version).transform
        if name is None or found is None or found.variable(DOCUMENTS) is None:
            return False
        documents = self.catalog.state_variable(DOCUMENTS, of.operator, self.version)
        return documents.value.names == ["version", "timeout", "state"]

    def reading(self) -> Reading:
        of, version = self.selection, self.version
        if of.kind == TIMERS:
            family = self.catalog.timers_family(of.operator, version)
            schema = self.catalog.schema(of.operator, column_family=family, version=version)
            return Reading(family, schema, self.memory, of.times, TimersShape(), created=False)
        shape, name = Shape(), of.state_var or of.column_family
        if of.state_var is not None:
            variable = self.catalog.state_variable(of.state_var, of.operator, version)
            shape = shape_of(variable, flatten=of.flatten)
        schema = self.catalog.schema(
            of.operator, store=of.store, column_family=name, version=version
        )
        family, created = name or DEFAULT_FAMILY, of.state_var is None
        return Reading(family, schema, self.memory, of.times, shape, created=created)

    def parts(self) -> list[Part]:
        """The partitions, each at the version; found out before anything is read."""
        if self.since > self.version >= 0:
            raise NoSuchStateError(
                f"From version {self.since} to {self.version} is not a way forward: give two "
                "versions or batches, the older one as `since` or `since_batch`."
            )
        self._require_one_division()
        partition = self.selection.partition
        numbers = range(self.partitions) if partition is None else [partition]
        return self.parts_of([self.store(n) for n in numbers])

    @property
    def partitions(self) -> int:
        """How many there are at the version."""
        return self.partitions_at(self.version)

    def partitions_at(self, version: int) -> int:
        operator = self.catalog.operator_at(self.selection.operator, version)
        return self.catalog.store_info(operator, self.selection.store).partitions

    def _require_one_division(self) -> None:
        """Nobody can say what has changed in a state that was divided anew in between."""
        if self.since < 1:
            return
        before, after = self.partitions_at(self.since), self.partitions_at(self.version)
        if before != after:
            raise NoSuchStateError(
                f"The state was rewritten in place between version {self.since} and "
                f"{self.version}, from {before} to {after} partitions: what has changed cannot be "
                "told across that. Give two versions of one side."
            )

    def store(self, partition: int) -> Store:
        if not 0 <= whole_number("partition", partition) < self.partitions:
            raise NoSuchStateError(
                f"Operator {self.selection.operator} has no partition {partition}: it has 0 to "
                f"{self.partitions - 1}."
            )
        return self.catalog.store(self.selection.operator, partition, self.selection.store)

    def parts_of(self, stores: Sequence[Store]) -> list[Part]:
        _ = self.catalog.query.committed
        return list(in_order(self._part, stores))

    def _part(self, store: Store) -> Part:
        """With the indexes of its files read already, which is for many partitions at a time."""
        target = self.catalog.attempt(store, self.version)
        part = Part(store, target, self.catalog.attempt(store, self.since))
        # A partition that cannot be read fails when its turn has come.
        with suppress(CheckpointError, StorageError):
            store.plan(part.target)
        return part
