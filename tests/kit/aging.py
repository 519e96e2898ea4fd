"""Checkpoints whose records have times and expire, with a model of each version's state."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.kit.checkpoints import (
    NEVER,
    PUT,
    REMOVE,
    Built,
    Changes,
    Row,
    Times,
    bucket_of,
    run_file,
)
from tests.kit.rows import compact_row

Time = int | None
"""Start of a time bucket in seconds since 1970, NEVER, or None for a record without a time."""

Record = tuple[Time, Row] | None
"""A time and a value; None removes the key."""


def timed_value(row: bytes, time: Time) -> bytes:
    """`timed-row/1`."""
    return row if time is None else b"\x02" + struct.pack("<I", time) + row


def shows(record: Record, horizon: int, untimed: int | None) -> bool:
    """Whether a reader of a version with that horizon finds the record's key."""
    return record is not None and _counted_as(record[0], untimed) >= horizon


def times_of_keys(
    records: Mapping[Row, Record], horizon: int, untimed: int | None, newest: int | None
) -> Times:
    """What footers and manifests say of these records, of which each shows."""
    own = [record[0] for record in records.values() if record is not None]
    keys = Counter(time for time in own if time is not None)
    optional = {"newest": newest, "untimed": untimed}
    return {
        **{name: value for name, value in optional.items() if value is not None},
        "horizon": horizon,
        "untimedKeys": own.count(None),
        "keys": [{"start": start, "keys": n} for start, n in sorted(keys.items())],
    }


@dataclass
class Aging(Built):
    """Batches with `batch_at` have times; those before them, with `batch`, have none.

    `sliced` writes files of their own for other times, where that is possible. `tidy` writes
    tombstones into runs in place of what has expired at the manifest's version, as merging does.
    """

    sliced: bool = False
    tidy: bool = False
    records: list[dict[Row, Record]] = field(default_factory=lambda: [{}])
    """The newest record of each key, at each version."""
    ages: list[tuple[int, int | None, int | None] | None] = field(default_factory=lambda: [None])
    """Horizon, time of records without one, and the newest time that was seen, of each version."""
    _newest: int = 0
    """The version whose manifest is being made."""

    def batch(self, changes: Changes, *, commit: bool = True) -> None:
        super().batch(changes, commit=commit)
        records = dict(self.records[-1])
        for key, row in changes.items():
            records[key] = None if row is None else (None, row)
        self.records.append(records)
        self.ages.append(None)

    def batch_at(
        self,
        changes: Mapping[Row, Record],
        *,
        horizon: int,
        untimed: int | None = None,
        newest: int | None = None,
    ) -> None:
        version = self.version + 1
        self.plan_batch(version - 1)
        self.records.append({**self.records[-1], **changes})
        self.ages.append((horizon, untimed, newest))
        self.states.append({p: {} for p in range(self.partitions)})
        for key, record in self._showing(version).items():
            assert record is not None
            self.states[-1][self.partition_of(key)][key] = record[1]
        per_partition: dict[int, list[tuple[int, bytes, bytes]]] = {
            p: [] for p in range(self.partitions)
        }
        for key, record in changes.items():
            op = REMOVE if record is None else PUT
            written = op, compact_row(self.key, key), self._value(record) or b""
            per_partition[self.partition_of(key)].append(written)
        for partition, found in per_partition.items():
            self.write_changelog(
                version,
                partition,
                found,
                len(self.states[-1][partition]),
                format_version=2,
                value_encoding="timed-row/1",
                times=self.times_of(version, partition),
            )
        self.commit_batch(version - 1)

    def times_of(self, version: int, partition: int) -> Times | None:
        age = self.ages[version]
        if age is None:
            return None
        own = {k: r for k, r in self._showing(version).items() if self.partition_of(k) == partition}
        return times_of_keys(own, *age)

    def _showing(self, version: int) -> dict[Row, Record]:
        horizon, untimed, _ = self.ages[version] or (0, None, None)
        return {k: r for k, r in self.records[version].items() if shows(r, horizon, untimed)}

    def _value(self, record: Record) -> bytes | None:
        if record is None:
            return None
        return timed_value(compact_row(self.value, record[1]), record[0])

    def snapshot(self, *ends: int, files: int = 2, partition: int | None = None) -> None:
        self._newest = ends[-1]
        super().snapshot(*ends, files=files, partition=partition)

    def _run(self, partition: int, first: int, last: int, files: int) -> dict[str, Any]:
        changed = {
            key: self._merged(record)
            for key, record in self.records[last].items()
            if self.partition_of(key) == partition and record != self.records[first].get(key)
        }
        if not first:
            changed = {key: record for key, record in changed.items() if record is not None}
        parts = self._slices(changed) or self._by_bucket(changed, files)
        written = [
            self._file(partition, last, 100 * first + number, part)
            for number, part in enumerate(parts)
            if part
        ]
        return {"firstVersion": first + 1, "lastVersion": last, "files": written}

    def _merged(self, record: Record) -> Record:
        horizon, untimed, _ = self.ages[self._newest] or (0, None, None)
        return record if shows(record, horizon, untimed) or not self.tidy else None

    def _slices(self, changed: Mapping[Row, Record]) -> list[dict[Row, Record]]:
        """Files that share buckets: of earlier times, of later ones, and without a time.

        None of them where there are not two times.
        """
        given = {record[0] for record in changed.values() if record is not None}
        times = sorted(time for time in given if time is not None)
        if not self.sliced or len(times) < 2:
            return []
        middle = times[len(times) // 2]
        parts: list[dict[Row, Record]] = [{}, {}, {}]
        for key, record in changed.items():
            time = 0 if record is None else record[0]
            parts[2 if time is None else int(time >= middle)][key] = record
        return parts

    def _by_bucket(self, changed: Mapping[Row, Record], files: int) -> list[dict[Row, Record]]:
        per_file = -(-self.buckets // files)
        parts: list[dict[Row, Record]] = [{} for _ in range(files)]
        for key, record in changed.items():
            parts[self._bucket(key) // per_file][key] = record
        return parts

    def _file(
        self, partition: int, version: int, number: int, part: Mapping[Row, Record]
    ) -> dict[str, Any]:
        times = [record[0] for record in part.values() if record is not None]
        known = [time for time in times if time is not None]
        span = (min(known), max(known)) if known and len(known) == len(times) else None
        entries = {
            (self._bucket(key), compact_row(self.key, key)): self._value(record)
            for key, record in part.items()
        }
        return run_file(self.folder(partition), version, number, entries, span)

    def _bucket(self, key: Row) -> int:
        return bucket_of(compact_row(self.key, key), self.buckets)


def _counted_as(time: Time, untimed: int | None) -> int:
    if time is not None:
        return time
    return NEVER if untimed is None else untimed
