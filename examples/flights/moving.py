"""`make demo-move`: the flights on three state stores, one after the other, and every row checked.

The queries begin on the state store that Spark takes by itself. A third of the year later they are
moved into bucketstate, with other partitions; after another third out to Spark's RocksDB store.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from flights import check, data, hourly, layout, rotations
from flights.layout import Layout

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SPARKS = "org.apache.spark.sql.execution.streaming.state."
_QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    hourly.NAME: hourly.query,
    rotations.NAME: rotations.query,
}


@dataclass(frozen=True)
class Part:
    """A third of the year: on whose store, how it gets there, and where it stops."""

    provider: str | None
    """None for bucketstate."""

    files: Layout
    command: tuple[str, ...] = ()
    """The words of the command that moves the checkpoints of the part before it here."""

    stop_in: int | None = None


PARTS = (
    Part(f"{_SPARKS}HDFSBackedStateStoreProvider", Layout("demo-move", "on-hdfs"), stop_in=15),
    Part(
        None,
        Layout("demo-move", "on-bucketstate"),
        ("import", "--partitions", "4", "--buckets", "64"),
        stop_in=35,
    ),
    Part(
        f"{_SPARKS}RocksDBStateStoreProvider",
        Layout("demo-move", "on-rocksdb"),
        ("export", "--to", "rocksdb", "--partitions", "3"),
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="flights.moving", description=__doc__)
    parser.add_argument("--part", type=int, choices=range(len(PARTS)), help=argparse.SUPPRESS)
    options = parser.parse_args()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 110)
    if options.part is not None:
        return _part(console, PARTS[options.part])
    return _whole(console)


def _whole(console: Console) -> int:
    started = time.monotonic()
    shutil.rmtree(PARTS[0].files.home, ignore_errors=True)
    console.print(f"Input: {data.FLIGHTS:,} flights of 2013 in {data.SLICES} files")
    with console.status("Writing them, once"):
        data.prepare(layout.INPUT)
    for number, part in enumerate(PARTS):
        if part.command and not _moved(console, PARTS[number - 1], part):
            return 1
        # Each part is a process of its own: it knows only what the checkpoints hold.
        command = [sys.executable, "-m", "flights.moving", "--part", str(number)]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.stderr.write(done.stderr)
            return done.returncode
    console.print(f"Done in {time.monotonic() - started:.0f} s")
    return 0


def _moved(console: Console, before: Part, part: Part) -> bool:
    """Both queries' checkpoints, by the command that users have."""
    kind, *options = part.command
    for name in _QUERIES:
        source, target = (str(p.files.checkpoints / name) for p in (before, part))
        console.print(f"bucketstate move {kind} {name}: {' '.join(options)}")
        command = [sys.executable, "-m", "bucketstate", "move", kind, source, target, *options]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.stderr.write(done.stdout + done.stderr)
            return False
        console.print("  " + "\n  ".join(done.stdout.strip().splitlines()[-2:]))
    return True


def _part(console: Console, part: Part) -> int:
    from flights import stream

    name = (part.provider or "bucketstate").removeprefix(_SPARKS)
    ends = "to the end of the year" if part.stop_in is None else f"fails in batch {part.stop_in}"
    console.print(f"On {name}: each query {ends}")
    with console.status("Starting Spark"):
        spark = stream.session(part.provider)
    stream.run(spark, console, part.files, _QUERIES, stop_in=part.stop_in)
    if part.stop_in is not None:
        return 0
    with console.status("Comparing every row with one batch query"):
        comparisons = check.compare_operators(spark, part.files)
    for c in comparisons:
        verdict = "[green]equal[/]" if c.equal else "[red]DIFFERENT[/]"
        console.print(f"{verdict}: {c.name}, {c.rows:,} rows beside one batch query")
    return 0 if all(c.equal for c in comparisons) else 1


if __name__ == "__main__":
    raise SystemExit(main())
