"""Settings for a purpose: what each sets, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

PresetName = Literal["low-latency", "large-state", "small-files"]

_SPARK = "spark.sql.streaming."
_OURS = "spark.sql.streaming.stateStore.bucketed."


@dataclass(frozen=True)
class Choice:
    """One setting of a preset."""

    key: str
    value: str
    why: str


@dataclass(frozen=True)
class Preset:
    """Settings that go together; everything else stays as it is."""

    name: str
    purpose: str
    choices: tuple[Choice, ...]

    def to_spark(self) -> dict[str, str]:
        return {c.key: c.value for c in self.choices}

    def others(self) -> dict[str, str]:
        """Those that are Spark's own."""
        return {key: text for key, text in self.to_spark().items() if not key.startswith(_OURS)}

    def reasons(self) -> dict[str, str]:
        return {c.key: c.why for c in self.choices}


_ALL = (
    Preset(
        "low-latency",
        "Batches of well under a second: little that a batch waits for, little beside it.",
        (
            Choice(
                f"{_SPARK}stateStore.compression.codec",
                "lz4",
                "The fastest codec: compressing is part of the commit.",
            ),
            Choice(
                f"{_OURS}snapshot.maxVersions",
                "50",
                "Snapshots are made beside the batches and take processor time from them: fewer. A "
                "restart replays up to 50 changelogs.",
            ),
            Choice(
                f"{_OURS}compaction.maxRuns",
                "16",
                "Runs are merged less often, for the same reason.",
            ),
            Choice(
                f"{_SPARK}stateStore.maintenanceInterval",
                "300s",
                "Maintenance lists and deletes files beside the batches; each five minutes is "
                "enough.",
            ),
        ),
    ),
    Preset(
        "large-state",
        "Tens of millions of keys and more: small buckets, larger steps.",
        (
            Choice(
                f"{_OURS}numBuckets",
                "512",
                "A bucket is what is loaded, grown and compacted at a time: more are smaller "
                "each. Fixed for the life of a checkpoint.",
            ),
            Choice(
                f"{_OURS}snapshot.maxBytes",
                "256m",
                "A large state changes much: fewer and larger runs to merge.",
            ),
            Choice(
                f"{_SPARK}stateStore.compression.codec",
                "zstd",
                "Smaller than lz4, for some time of the commit: a large state is bound by bytes.",
            ),
            Choice(
                f"{_SPARK}minBatchesToRetain",
                "20",
                "What an old version needs stays in the checkpoint; 20 are enough to go back.",
            ),
        ),
    ),
    Preset(
        "small-files",
        "Object stores where every file and every call is paid for: few files.",
        (
            Choice(
                f"{_OURS}numBuckets",
                "16",
                "Fewer buckets make fewer and fuller blocks and files; enough for some 100,000 "
                "keys a partition. Fixed for the life of a checkpoint.",
            ),
            Choice(
                f"{_OURS}run.maxFileBytes",
                "256m",
                "A run is one file until it is that large.",
            ),
            Choice(
                f"{_OURS}compaction.maxRuns",
                "4",
                "Fewer runs to keep, for more bytes rewritten.",
            ),
            Choice(
                f"{_SPARK}minBatchesToRetain",
                "10",
                "Each retained batch keeps a file in every partition.",
            ),
            Choice(
                f"{_SPARK}stateStore.maintenanceInterval",
                "600s",
                "Each round of maintenance lists every store's folder.",
            ),
            Choice(
                f"{_SPARK}stateStore.compression.codec",
                "zstd",
                "Fewer bytes to store and to move.",
            ),
        ),
    ),
)

PRESETS: Mapping[str, Preset] = MappingProxyType({p.name: p for p in _ALL})
