"""What of a store lies in data files, and what a restart has to hold in memory beside them."""

from __future__ import annotations

from dataclasses import dataclass

from bucketstate.checkpoint.spark.decoding import holds_lists
from bucketstate.checkpoint.store.plan import Plan


@dataclass(frozen=True)
class Residency:
    """Where a version's state lies, as the indexes of its files tell. Immutable.

    Cold is what the runs of the manifest hold: executors may let go of it, and read it again. Warm
    is what changed since, and lies in changelogs alone: it stays in memory until the next snapshot.
    Bytes are as they are stored, compressed.
    """

    cold_entries: int
    """Entries of all runs; a key is one in each that has it."""

    cold_bytes: int
    """Length of the runs' files, in bytes."""

    warm_records: int
    """Records of all changelogs; a key is one in each that changed it."""

    warm_bytes: int
    """Length of the changelogs' blocks, in bytes."""

    resident_keys: int
    """How many keys a restart must hold in memory: not more than this. A key that changed twice
    counts twice, and one that was removed counts, too. All keys count where there is no manifest,
    and those of families whose keys have several values; where nobody counted them, all that the
    files can hold."""

    resident_share: float | None
    """`resident_keys` as a share of all keys, from 0; None if there are none, or nobody counted
    them."""

    @classmethod
    def of(cls, plan: Plan) -> Residency:
        """What a plan's files say, without reading state."""
        files = plan.base.files if plan.base else []
        blocks = [block for changelog in plan.changelogs for block in changelog.blocks]
        counts = [family.keys for family in plan.families if family.keys is not None]
        keys = sum(counts) if len(counts) == len(plan.families) else None
        resident = 0
        for family in plan.families:
            changed = sum(block.records for block in blocks if block.family == family.id)
            whole = plan.base is None or holds_lists(family)
            held = sum(f.entries for f in files if any(b.family == family.id for b in f.buckets))
            keys_of = held + changed if family.keys is None else family.keys
            resident += keys_of if whole else min(keys_of, changed)
        return cls(
            cold_entries=sum(file.entries for file in files),
            cold_bytes=sum(file.size for file in files),
            warm_records=sum(block.records for block in blocks),
            warm_bytes=sum(block.stored_length for block in blocks),
            resident_keys=resident,
            resident_share=resident / keys if keys else None,
        )
