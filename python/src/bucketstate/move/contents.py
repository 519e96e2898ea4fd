"""What a clone needs of its source: decided here, done elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bucketstate.checkpoint.format.family import all_keys, summed
from bucketstate.checkpoint.format.parallel import in_order
from bucketstate.checkpoint.format.storage import Folder, Listed
from bucketstate.checkpoint.spark.query import DEFAULT_STORE, numbers
from bucketstate.checkpoint.store.catalog import shown
from bucketstate.checkpoint.store.plan import Plan
from bucketstate.checkpoint.store.store import Store
from bucketstate.errors import MissingFileError
from bucketstate.move.points import Point, check_offsets


@dataclass(frozen=True)
class StoreContents:
    """A store's files for one version, which `plan` reads."""

    store: Store
    plan: Plan

    @property
    def path(self) -> str:
        """Relative to the checkpoint."""
        return path_of(self.store.operator, self.store.partition, self.store.name)

    @property
    def files(self) -> list[Listed]:
        """Those that the version is read from, data files first."""
        base = self.plan.base
        found = [Listed(f.name, f.size) for f in base.files] if base else []
        found += [Listed(str(c.name), c.size) for c in self.plan.changelogs]
        return [*found, Listed(str(base.name), base.size)] if base else found


@dataclass(frozen=True)
class Contents:
    """All that a checkpoint at one batch consists of."""

    point: Point
    stores: tuple[StoreContents, ...]
    files: tuple[str, ...]
    """Schema files and the logs of sources, relative to the checkpoint: copied as they are."""
    metadata: tuple[str, ...]
    """The operators' metadata, which name where the checkpoint is."""

    @property
    def keys(self) -> int | None:
        return summed(all_keys(s.plan.families) for s in self.stores)

    @property
    def offsets(self) -> list[int]:
        """The batches of the offset log, in the order in which they are written."""
        batch, planned = self.point.batch, self.point.planned
        before = [batch - 1] if batch > 0 else []
        return [*before, batch, *([] if planned is None else [planned])]


def contents_of(point: Point) -> Contents:
    """What a checkpoint at a batch needs.

    Raises what keeps the version from being read, or a query from being started on it.
    """
    stores = stores_at(point)
    catalog = point.catalog
    files = [*_schemas(point), *_all_in(catalog.query.folder, "sources")]
    found = Contents(point, stores, tuple(files), tuple(_metadata(point)))
    check_offsets(point)
    return found


def stores_at(point: Point) -> tuple[StoreContents, ...]:
    """Every store, with how its version is read: many at a time.

    Raises what keeps one of them from being read.
    """
    return tuple(in_order(lambda of: StoreContents(of[0], of[0].plan(of[1])), point.stores()))


def _schemas(point: Point) -> Iterator[str]:
    """Spark's schemas: below partition 0, and those of format 3."""
    for operator in point.catalog.operators:
        folders = [f"state/{operator.id}/_stateSchema"]
        for info in operator.stores:
            folders.append(f"{path_of(operator.id, 0, info.name)}/_metadata")
        for inside in folders:
            yield from (f"{inside}/{n}" for n in point.files_in(inside) if _is_whole(n))


def _metadata(point: Point) -> Iterator[str]:
    for operator in point.catalog.operators:
        inside = f"state/{operator.id}/_metadata"
        if point.exists(f"{inside}/metadata"):
            yield f"{inside}/metadata"
        newest = newest_metadata(point, operator.id)
        if newest is not None:
            yield f"{inside}/v2/{newest}"


def newest_metadata(point: Point, operator: int) -> int | None:
    """The batch of the operator's metadata (v2) that count for one; None if it has none at all.

    Raises MissingFileError if only later ones are there.
    """
    inside = f"state/{operator}/_metadata/v2"
    there = numbers(point.files_in(inside))
    then = [n for n in there if n <= point.batch]
    if there and not then:
        location = point.catalog.query.folder.path_of(inside)
        raise MissingFileError(
            f"{location} has no metadata of batch {point.batch} or before, only of batch "
            f"{shown(there)}: no query starts after batch {point.batch} without. Take a newer "
            "batch."
        ).about(location, f"{location} lacks metadata of batch {point.batch}.")
    return then[-1] if then else None


def batches_in(folder: Folder) -> list[int]:
    """The batches of a log of Spark's, by the names of its files."""
    return numbers(f.name for f in folder.files())


def path_of(operator: int, partition: int, store: str) -> str:
    """The path of a store's folder, relative to the checkpoint."""
    path = f"state/{operator}/{partition}"
    return path if store == DEFAULT_STORE else f"{path}/{store}"


def _all_in(checkpoint: Folder, path: str) -> Iterator[str]:
    for file in (checkpoint / path).all_files():
        if _is_whole(file.name):
            yield f"{path}/{file.name}"


def _is_whole(name: str) -> bool:
    """Whether it is neither a checksum of Hadoop's nor a write that is under way."""
    return not name.rpartition("/")[2].startswith(".")
