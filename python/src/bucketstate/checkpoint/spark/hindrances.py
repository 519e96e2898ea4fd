"""What keeps a query from being started on its checkpoint, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Repartition:
    """An offline repartition that was begun, with which the query does not start. Immutable.

    Spark plans a batch with another number of partitions before it looks at the provider. Where it
    was told to skip batches that had failed, it commits those first.
    """

    batch: int
    """The batch that was planned for it."""

    partitions: int
    """The number of partitions that was asked for."""

    files: tuple[str, ...]
    """Paths of the files to remove, in the order in which to remove them."""

    @property
    def summary(self) -> str:
        """What happened and what to do, as a sentence or more."""
        return (
            f"An offline repartition to {self.partitions} partitions was begun, for which Spark "
            f"planned batch {self.batch}, and which it does for its own RocksDB provider alone. "
            f"The query does not start until this is removed: {', '.join(self.files)}. Remove it "
            "in this order, and nothing else: the query then goes on where it was."
        )


@dataclass(frozen=True)
class Copied:
    """Schema files that operators are recorded to have in another folder: this one is a copy.

    Spark records their whole paths, and starts a query with those files, wherever it runs.
    Immutable.
    """

    original: str
    """The checkpoint that they are recorded to be in, as Hadoop writes its path."""

    metadata: tuple[str, ...]
    """Paths of the folders of metadata that say so, one for each operator."""

    location: str
    """Where the copy is, in the same way."""

    gone: bool
    """Whether the newest of them is known not to be there."""

    @property
    def summary(self) -> str:
        """What happened and what to do, as a sentence or more."""
        start = (
            "is not there any more, and the query does not start here"
            if self.gone
            else "a query that is started here reads, as long as it is there"
        )
        return (
            f"This is a copy of {self.original}, or was moved: the operators' metadata name their "
            f"schema files there by whole paths, which {start}. To start it by itself replace "
            f"{self.original} by {self.location} in the files in {', '.join(self.metadata)}, and "
            "remove their .crc files, if there are any."
        )
