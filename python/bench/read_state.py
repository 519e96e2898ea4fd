"""How fast a state of a million keys becomes Arrow, from changelogs and from a snapshot's runs.

PYTHONPATH=. .venv/bin/python python/bench/read_state.py
"""

from __future__ import annotations

import struct
import tempfile
import time
from pathlib import Path

from bucketstate.checkpoint import Checkpoint
from tests.kit.checkpoints import PUT, Built, bucket_of, manifest, manifest_members, run_file
from tests.kit.rows import varint

KEYS, BATCHES, ROUNDS = 1_000_000, 10, 5


def entry(number: int) -> tuple[bytes, bytes]:
    """A key (string) and a value (two longs), as `compact-row/1`."""
    key = b"\x01\x00" + varint(12) + b"key-%08d" % number
    return key, b"\x01\x00" + struct.pack("<qq", number, 7 * number)


def changelogs(root: Path) -> None:
    built = Built(root, buckets=64, partitions=1)
    each = KEYS // BATCHES
    for batch in range(BATCHES):
        numbers = range(batch * each, (batch + 1) * each)
        built.plan_batch(batch)
        records = [(PUT, *entry(n)) for n in numbers]
        built.write_changelog(batch + 1, 0, records, numbers.stop, buckets_per_block=1)
        built.commit_batch(batch)


def snapshot(root: Path) -> None:
    changelogs(root)
    built = Built(root, buckets=64, partitions=1)
    entries = dict(entry(n) for n in range(KEYS))
    files = []
    for number, span in enumerate((range(32), range(32, 64))):
        found = {(bucket_of(k, 64), k): v for k, v in entries.items() if bucket_of(k, 64) in span}
        files.append(run_file(built.folder(), BATCHES, number, found))
    runs = [{"firstVersion": 1, "lastVersion": BATCHES, "files": files}]
    members = manifest_members(BATCHES, KEYS, runs, buckets=64)
    (built.folder() / f"{BATCHES}.manifest").write_bytes(manifest(members))


def main() -> None:
    for make in (changelogs, snapshot):
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder))
            rates = []
            for _ in range(ROUNDS):
                wall, cpu = time.perf_counter(), time.process_time()
                rows = sum(b.num_rows for b in Checkpoint(folder).scan().to_arrow_batch_reader())
                wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
                rates.append(f"{rows / wall / 1e6:.2f} ({rows / cpu / 1e6:.2f})")
            print(f"{make.__name__}: million rows per second, of wall (and CPU) time, by round:")
            print(f"  {', '.join(rates)}")


if __name__ == "__main__":
    main()
