"""`bucketstate size`: what a state will take, for people and for programs."""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields

from bucketstate.sizing import LAG, Size, Workload, reckon
from bucketstate.units import count, size

_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kmg]?)")


def add_arguments(command: argparse.ArgumentParser) -> None:
    number, byte = _suffixed(1000), _suffixed(1024)
    add = command.add_argument
    add("--keys", type=number, required=True, metavar="N", help="in the state, such as 10m")
    add(
        "--bytes",
        dest="record_bytes",
        type=byte,
        required=True,
        metavar="N",
        help="of a key and its value together",
    )
    add(
        "--updates",
        type=number,
        required=True,
        metavar="N",
        help="keys that a batch changes, over all partitions",
    )
    add(
        "--batch-seconds",
        type=float,
        metavar="S",
        help="from the start of a batch to the next (default: %(default)s)",
    )
    add("--partitions", type=int, metavar="N", help="shuffle partitions (default: %(default)s)")
    add("--executors", type=int, metavar="N", help="default: %(default)s")
    add(
        "--snapshot-versions",
        type=int,
        metavar="N",
        help="batches after which a snapshot is due (default: %(default)s)",
    )
    add(
        "--bandwidth",
        type=byte,
        metavar="N",
        help="bytes that an executor can write to the checkpoint in a second (default: 100m)",
    )
    add("--json", action="store_true", help="JSON, for programs")
    command.set_defaults(**{f.name: f.default for f in fields(Workload) if _optional(f.name)})


def sizing(arguments: argparse.Namespace) -> str:
    """The command's output. Raises InvalidSettingError for a number that cannot be."""
    work = Workload(**{f.name: getattr(arguments, f.name) for f in fields(Workload)})
    found = reckon(work)
    if arguments.json:
        return json.dumps({"workload": asdict(work), "size": asdict(found)}, indent=2)
    rows = list(_rows(work, found))
    first, second = (max(len(row[n]) for row in rows) for n in (0, 1))
    lines = [f"{name:{first}}  {text:>{second}}  {why}".rstrip() for name, text, why in rows]
    return "\n".join([*lines, "", "Estimated from what docs/measurements.md has: measure yours."])


def _rows(work: Workload, found: Size) -> Iterator[tuple[str, str, str]]:
    each = " an executor" if work.executors > 1 else ""
    share = found.written_per_second / work.bandwidth
    yield "state", size(found.state_bytes), f"{count(work.keys)} x {work.record_bytes} B"
    yield (
        "in the heap",
        size(found.memory_bytes),
        f"memory.maxBytes{each} that keeps all in memory, with up to "
        f"{count(found.uncovered_updates)} updates that no snapshot has yet",
    )
    yield "", size(found.heap_bytes), "spark.executor.memory with which memory.maxBytes=auto is it"
    yield (
        "or outside",
        size(found.native_bytes),
        f"memory.maxBytes{each} with engine=rocksdb, for spark.executor.memoryOverhead, too",
    )
    yield (
        "written",
        f"{size(round(found.written_per_second))}/s",
        f"to the checkpoint{each}, {share:.0%} of what it can"
        + (": TOO MUCH" if share > 1 else ""),
    )
    yield "", count(work.partitions), "changelogs a batch, one for each partition"
    yield (
        "snapshot",
        f"{found.snapshot_seconds:g} s",
        f"from one to the next; the newest is at most {LAG} of them behind",
    )
    slow = "all of it can be merged" if found.files <= found.rewritable_files else "LONGER to merge"
    yield (
        "",
        count(found.files),
        f"files in one; meanwhile {count(found.rewritable_files)} can be written: {slow}",
    )
    yield (
        "restart",
        f"{found.restart_seconds:.1f} s",
        "the first batch in a new JVM with two cores, its files at hand",
    )
    yield "numBuckets", count(found.num_buckets), "fixed for the life of a checkpoint"


def _suffixed(base: int) -> Callable[[str], int]:
    """Parses numbers such as 10m, in powers of this."""

    def parse(text: str) -> int:
        number = _NUMBER.fullmatch(text.lower())
        if number is None:
            raise argparse.ArgumentTypeError(f"'{text}' is no number such as 500, 20k or 1.5m")
        scale: int = base ** " kmg".index(number[2] or " ")
        value = float(number[1]) * scale
        if not math.isfinite(value):
            raise argparse.ArgumentTypeError(f"'{text[:20]}...' is too large: give at most 2**63")
        return round(value)

    return parse


def _optional(name: str) -> bool:
    return name not in ("keys", "record_bytes", "updates")
