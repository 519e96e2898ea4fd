"""More keys than a machine's memory holds, on that machine alone, through `engine=rocksdb`.

.venv/bin/python python/bench/large_state.py --json artifacts/bench/large-state.json

Brings all keys, goes on with batches that change some, starts anew in another process, has the
checkpoint verified and a report written. Every batch's answers are compared with what its rows say,
and it is an error if the process had more memory than it may have.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import end_to_end
from end_to_end import Case

from counted_input import write_input

if TYPE_CHECKING:
    from end_to_end import Run

_PROVIDER = "bucketed-rocksdb"
_A_FILE = 500_000
"""Keys that one batch of the load brings."""


@dataclass(frozen=True)
class Command:
    """What a command of `bucketstate` took: seconds, and bytes of its process in memory at most."""

    seconds: float
    resident: int


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("--keys", type=int, default=100_000_000)
    asked.add_argument("--rows", type=int, default=50_000, help="of each batch after the load")
    asked.add_argument("--batches", type=int, default=3000, help="after the load: about an hour")
    asked.add_argument("--partitions", type=int, default=2)
    asked.add_argument("--heap", default="1500m")
    asked.add_argument("--memory", default="3g", help="memory.maxBytes")
    asked.add_argument("--limit", type=int, default=6144, help="MiB that the process may have")
    asked.add_argument("--work", type=Path, help="a folder on the local disk to work in")
    asked.add_argument("--json", type=Path)
    options = asked.parse_args()
    conf = (f"{end_to_end.STATE_STORE}bucketed.memory.maxBytes={options.memory}",)
    case = Case("aggregation", options.partitions, options.heap, conf, check=True)
    with tempfile.TemporaryDirectory(prefix="bucketstate-large-", dir=options.work) as folder:
        found = _measure(case, Path(folder), options.keys, options.rows, options.batches)
    print(json.dumps({key: found[key] for key in found if key != "results"}, indent=2))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found) + "\n")
    if found["resident"] >> 20 > options.limit:
        sys.exit(f"The process had {found['resident'] >> 20} MiB, more than {options.limit}.")


def _measure(case: Case, work: Path, keys: int, rows: int, batches: int) -> dict[str, Any]:
    preload = -(-keys // _A_FILE)
    _say(f"writing {preload + batches + 1} files of rows")
    expected = write_input(work / "input", keys, rows, preload, batches + 1)
    last = sorted((work / "input").iterdir())[-1]
    later = work / last.name
    last.rename(later)
    checkpoint = work / "checkpoint"
    _say(f"{preload} batches bring {keys:,} keys, {batches} of {rows:,} rows come after them")
    first = _run(case, work / "input", checkpoint, preload + batches)
    later.rename(last)
    _say("a restart")
    again = _run(case, work / "input", checkpoint, 1)
    end_to_end.check(_PROVIDER, [*first.batches, *again.batches], expected)
    _say("verify")
    verified = _command("verify", str(checkpoint))
    _say("report")
    reported = _command("report", str(checkpoint), "--output", str(work / "report.html"))
    counted = [batch.whole_ms for batch in first.batches[preload:]]
    loaded = [batch.whole_ms for batch in first.batches[:preload]]
    return {
        "keys": keys,
        "load_s": sum(loaded) / 1000,
        "batches": len(counted),
        "batches_s": sum(counted) / 1000,
        "batch_p50_ms": statistics.median(counted),
        "batch_p99_ms": sorted(counted)[-(-99 * len(counted) // 100) - 1],
        "commits_p50_ms": statistics.median(b.commits_ms for b in first.batches[preload:]),
        "restart_ms": again.batches[0].whole_ms,
        "resident": max(first.resident, again.resident),
        "checkpoint_bytes": sum(f.stat().st_size for f in checkpoint.rglob("*") if f.is_file()),
        "verify": asdict(verified),
        "report": asdict(reported),
        "results": [{"ms": ms, "loads": n < preload} for n, ms in enumerate(loaded + counted)],
    }


def _run(case: Case, source: Path, checkpoint: Path, batches: int) -> Run:
    """In a process of its own, for as long as it takes."""
    return end_to_end.in_process(case, _PROVIDER, source, checkpoint, batches, timeout=None)


def _command(*words: str) -> Command:
    """Runs a command of `bucketstate`, which has to succeed."""
    began = time.monotonic()
    command = [sys.executable, "-m", "bucketstate", *words]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(running.pid, 0)
    if status != 0:
        raise RuntimeError(f"bucketstate {' '.join(words)} failed")
    return Command(time.monotonic() - began, used.ru_maxrss * 1024)


def _say(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
