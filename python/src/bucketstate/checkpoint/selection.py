"""What of a checkpoint is to be read: a column family or a state variable, at a version."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from bucketstate.checkpoint.catalog import Catalog
from bucketstate.checkpoint.parallel import in_order
from bucketstate.checkpoint.reading import Part, Reading
from bucketstate.checkpoint.schema_files import DEFAULT_FAMILY
from bucketstate.checkpoint.shapes import Shape, shape_of
from bucketstate.checkpoint.state import MEMORY
from bucketstate.checkpoint.storage import Folder
from bucketstate.checkpoint.store import Store
from bucketstate.errors import CheckpointError, InvalidArgumentError, NoSuchStateError


class Selection(Catalog):
    """A catalog whose state can be read. `memory` is in bytes. Not thread-safe."""

    def __init__(self, folder: Folder, memory: int = MEMORY) -> None:
        super().__init__(folder)
        self._memory = memory

    def _reading(
        self,
        operator: int,
        column_family: str | None,
        store: str,
        version: int | None = None,
        state_var: str | None = None,
        *,
        times: bool = False,
        flatten: bool = True,
    ) -> Reading:
        shape = Shape()
        if state_var is not None:
            if column_family is not None:
                raise InvalidArgumentError(
                    f"state_var={state_var!r} and column_family={column_family!r} are given: give "
                    "one of them."
                )
            column_family = state_var
            shape = shape_of(self.state_variable(state_var, operator, version), flatten=flatten)
        schema = self.schema(operator, store=store, column_family=column_family, version=version)
        family = column_family or DEFAULT_FAMILY
        created = state_var is None
        return Reading(family, schema, self._memory, times, shape, created=created)

    def _parts(
        self,
        operator: int,
        partition: int | None,
        store: str,
        version: int | None,
        since: int = 0,
    ) -> list[Part]:
        """The partitions, each at the version; found out before anything is read."""
        target = self.version_at(version)
        if since > target >= 0:
            raise NoSuchStateError(
                f"From version {since} to {target} is not a way forward: give two versions, the "
                "older one first."
            )
        info = self.store_info(self.operator(operator), store)
        numbers = range(info.partitions) if partition is None else [partition]
        return self._parts_at([self.store(operator, n, store) for n in numbers], target, since)

    def _parts_at(self, stores: Sequence[Store], target: int, since: int = 0) -> list[Part]:
        _ = self.query.committed
        return list(in_order(lambda s: self._part(s, target, since), stores))

    def _part(self, store: Store, target: int, since: int) -> Part:
        """With the indexes of its files read already, which is for many partitions at a time."""
        part = Part(store, self.attempt(store, target), self.attempt(store, since))
        # A partition that cannot be read fails when its turn has come.
        with suppress(CheckpointError):
            store.plan(part.target)
        return part
