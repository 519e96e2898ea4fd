"""What a clone and a rewind did, or would do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class CloneReport:
    """What a clone has, and how it came there. Immutable."""

    kind: Literal["clone", "fork"]
    """The name under which it was asked for."""

    source: str
    """Path or URI of the checkpoint that it was made of."""

    target: str
    """Path or URI of the clone."""

    batch: int
    """The last batch that it has as committed."""

    version: int
    """The version of the state that a query opens on it."""

    planned_batch: int | None
    """The batch after it, if that was planned: a query runs it as it was planned. None if it was
    not, or an older batch was asked for."""

    savepoint: str | None
    """The name of the savepoint that it was made of; None without one."""

    query_id: str
    """The id of a query that is started on it."""

    operators: int
    """How many stateful operators it has."""

    stores: int
    """How many stores, of all partitions."""

    keys: int | None
    """How many keys they hold, of all column families; None if they were not counted."""

    files: int
    """How many files of state it has."""

    bytes: int
    """Length of these files, in bytes."""

    linked: int
    """How many of them are hard links to the source's."""

    seconds: float
    """How long it took."""

    dry_run: bool
    """Whether nothing was written, and this is what would be."""

    notes: tuple[str, ...] = ()
    """What else there is to know, a sentence or more each."""

    def to_dict(self) -> dict[str, Any]:
        """The report for JSON: the fields."""
        return asdict(self)


@dataclass(frozen=True)
class RewindReport:
    """What a rewind took away, and what it restored. Immutable."""

    checkpoint: str
    """Path or URI of the checkpoint."""

    batch: int
    """The last batch that is left."""

    version: int
    """The version of the state that a query opens."""

    savepoint: str | None
    """The name of the savepoint that it went back to; None without one."""

    dropped: tuple[int, ...]
    """The batches that were dropped, as far as Spark's logs had them, in ascending order, planned
    ones too."""

    manifests: int
    """How many manifests were deleted, of all stores."""

    changelogs: int
    """How many changelogs were deleted, of all stores."""

    restored: int
    """How many of Spark's own files were gone, and were written again from the savepoint."""

    bytes: int
    """Length of the manifests and changelogs, in bytes."""

    seconds: float
    """How long it took."""

    dry_run: bool
    """Whether nothing was deleted, and this is what would be."""

    notes: tuple[str, ...] = ()
    """What else there is to know, a sentence or more each."""

    def to_dict(self) -> dict[str, Any]:
        """The report for JSON: the fields."""
        return asdict(self)
