"""What Spark's offline repartition left: it is begun before Spark refuses this provider's state."""

from __future__ import annotations

from dataclasses import dataclass

PARTITIONS_KEY = "spark.sql.shuffle.partitions"


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


def partitions_of(settings: dict[str, str]) -> int | None:
    """The number of partitions that Spark recorded for a batch; None if it recorded none."""
    found = settings.get(PARTITIONS_KEY, "")
    return int(found) if found.isascii() and found.isdecimal() else None
