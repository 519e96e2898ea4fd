"""What `verify` of a gigabyte takes: time beside the disk's own, and the most memory.

PYTHONPATH=. .venv/bin/python python/bench/verify.py [megabytes [bytes of a value]]

The files are of eight partitions, each with a snapshot of two files and some changelogs behind it,
of values that cannot be compressed. Before each round they are dropped from the system's cache.
Rounds of reading them alone and of verifying them alternate.
"""

from __future__ import annotations

import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google_crc32c import value as crc32c
from pyspark.sql.types import LongType, StringType, StructType
from rocksdict import BlockBasedOptions, Options, SstFileWriter

from tests.kit.checkpoints import PUT, Built, bucket_of, manifest, manifest_members
from tests.kit.rows import varint

PARTITIONS, BUCKETS, CHANGELOGS, ROUNDS = 8, 64, 3, 3
CHANGED = 1000
"""Keys in each changelog."""


def entry(number: int, length: int) -> tuple[bytes, bytes]:
    """A key (string) and a value (a long, and a text of that length), as `compact-row/1`."""
    key = b"\x01\x00" + varint(14) + b"key-%010d" % number
    text = os.urandom(length // 2).hex().encode()
    return key, b"\x01\x00" + struct.pack("<q", number) + varint(len(text)) + text


def run_file(folder: Path, number: int, rows: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    """Writes one file of a run; what a manifest says of it."""
    name = f"runs/1-{number}-{uuid.UUID(int=number)}.sst"
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    table = BlockBasedOptions()
    table.set_format_version(6)
    options = Options(raw_mode=True)
    options.set_block_based_table_factory(table)
    writer = SstFileWriter(options=options)
    writer.open(str(path))
    for key, value in rows:
        writer[key] = value
    writer.finish()
    data = path.read_bytes()
    first, last = (struct.unpack(">HH", rows[at][0][:4])[1] for at in (0, -1))
    return {
        "name": name,
        "bytes": len(data),
        "entries": len(rows),
        "tombstones": 0,
        "checksum": f"crc32c:{crc32c(data):08x}",
        "buckets": [{"family": 0, "first": first, "last": last}],
    }


def made(root: Path, size: int, length: int) -> None:
    value = StructType().add("count", LongType()).add("text", StringType())
    built = Built(root, buckets=BUCKETS, partitions=PARTITIONS, value=value)
    each = size // (length + 40) // PARTITIONS
    built.plan_batch(0)
    for partition in range(PARTITIONS):
        base = partition * each
        keys = dict(entry(base + n, length) for n in range(each))
        rows = sorted(
            (struct.pack(">HH", 0, bucket_of(k, BUCKETS)) + k, b"\x01" + v) for k, v in keys.items()
        )
        middle = bisect_left(rows, struct.pack(">HH", 0, BUCKETS // 2), key=lambda row: row[0])
        files = [
            run_file(built.folder(partition), n, part)
            for n, part in enumerate((rows[:middle], rows[middle:]))
        ]
        runs = [{"firstVersion": 1, "lastVersion": 1, "files": files}]
        kept = sum(file["entries"] for file in files)
        members = manifest_members(1, kept, runs, BUCKETS, partition)
        commit = {"commitId": str(built.commit_id(1, partition))}
        (built.folder(partition) / "1.manifest").write_bytes(manifest(members | commit))
        for version in range(2, 2 + CHANGELOGS):
            changes = [(PUT, *entry(base + n, length)) for n in range(CHANGED)]
            built.write_changelog(version, partition, changes, kept)
    built.commit_batch(0)
    for batch in range(1, 1 + CHANGELOGS):
        built.plan_batch(batch)
        built.commit_batch(batch)


def files(root: Path) -> Iterator[Path]:
    return (path for path in sorted(root.rglob("*")) if path.is_file())


def dropped(root: Path) -> None:
    os.sync()
    for path in files(root):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def plainly(root: Path) -> float:
    """Seconds to read the files one after the other."""
    dropped(root)
    began = time.perf_counter()
    for path in files(root):
        with path.open("rb", buffering=0) as file:
            while file.read(4 << 20):
                pass
    return time.perf_counter() - began


def verified(root: Path) -> tuple[float, float, float]:
    """Seconds, seconds of processor time, and the most mebibytes of memory."""
    dropped(root)
    # What the system says of the most memory of a child includes the parent's, before it began.
    code = (
        "import os, sys; from bucketstate.checkpoint import Checkpoint\n"
        "from process_figures import status\n"
        "report = Checkpoint(sys.argv[1]).verify(); assert report.ok, report.findings\n"
        "print(status(os.getpid(), 'VmHWM') / (1 << 20))"
    )
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code, str(root)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, float(done.stdout)


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    length = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        made(root, megabytes << 20, length)
        size = sum(path.stat().st_size for path in files(root)) / (1 << 20)
        print(f"{size:,.0f} MiB in {len(list(files(root)))} files, values of {length} bytes")
        for _ in range(ROUNDS):
            read = plainly(root)
            wall, cpu, memory = verified(root)
            print(
                f"read {size / read:6,.0f} MiB/s; verified {size / wall:6,.0f} MiB/s, "
                f"{wall:5.1f} s, {cpu:5.1f} s of processors, at most {memory:,.0f} MiB"
            )


if __name__ == "__main__":
    main()
