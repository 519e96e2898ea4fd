"""What memory Spark's workers and the JVM need for what is large, with many keys in a call and one.

    python python/bench/many_keys_memory.py [--rows 3000000] [--states 1500] [--json FILE]

Three queries of two batches each, all on a heap of 2 GB: one key with most rows of its batch, once
over columns and once by chunks of dicts; and many states of 100 kB. Each runs in processes of its
own, which are looked at while they run. Linux alone tells what a process has taken.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from stateful_cost import processor_time

import contenders
from bucketstate import stateful
from bucketstate.stateful import State
from bucketstate.testing.session import local_session

_HEAP = "2g"
_STATE = 100_000
_FIRST_MODIFIED = 1_700_000_000
_MB = 1 << 20
_LOOK_EVERY = 0.05


@dataclass
class Hoard:
    text: str = ""
    n: int = 0


def hoard(key: Any, rows: list[dict[str, Any]], state: State[Hoard]) -> contenders.Line:
    """Each state is as long as `_STATE` says, and another one with each batch."""
    state.value.n += len(rows)
    state.value.text = str(state.value.n % 10) * _STATE
    return contenders.Line(key.key, state.value.n, 0.0, 0.0)


def by_chunks(
    key: Any, chunks: Iterator[list[dict[str, Any]]], state: State[contenders.Totals]
) -> Iterator[contenders.Line]:
    totals = state.value
    for rows in chunks:
        totals.count += len(rows)
        totals.total += sum(row["amount"] for row in rows)
    yield contenders.Line(key.key, totals.count, totals.total, totals.largest)


CASES: dict[str, Callable[[], Any]] = {
    "one huge key, over columns": lambda: stateful.define(
        contenders.Columns, output=contenders.OUTPUT
    ),
    "one huge key, by chunks of dicts": lambda: by_chunks,
    "states of 100 kB": lambda: hoard,
}


def write_input(folder: Path, case: str, rows: int, states: int) -> None:
    for number in range(2):
        keys = np.arange(states)
        if "key" in case:
            keys = np.concatenate([np.zeros(rows, np.int64), np.arange(1, 1001)])
        file = folder / f"{number}.parquet"
        pq.write_table(pa.table({"key": keys, "amount": np.ones(len(keys))}), file)
        os.utime(file, (_FIRST_MODIFIED + number, _FIRST_MODIFIED + number))


def run(case: str, *, many_keys: bool, rows: int, states: int) -> dict[str, float]:
    """One query in this process. The megabytes that the JVM and the largest worker had."""
    sessions = local_session(
        {
            "spark.log.level": "ERROR",
            "spark.driver.memory": _HEAP,
            "spark.sql.shuffle.partitions": "2",
            "spark.driver.extraJavaOptions": "-Xss4m",
        }
    )
    spark = next(sessions)
    peak = {"jvm": 0.0, "worker": 0.0}
    ended = threading.Event()
    looking = threading.Thread(target=_look, args=(peak, ended))
    with tempfile.TemporaryDirectory(prefix="bucketstate-bench-") as name:
        folder = Path(name)
        (folder / "input").mkdir()
        write_input(folder / "input", case, rows, states)
        source = spark.readStream.schema("key long, amount double").option("maxFilesPerTrigger", 1)
        made = stateful.apply(
            source.parquet(str(folder / "input")),
            by="key",
            fn=CASES[case](),
            output_mode="update",
            many_keys=many_keys,
        )
        looking.start()
        writer = made.writeStream.outputMode("update").format("noop").trigger(availableNow=True)
        writer.option("checkpointLocation", str(folder / "checkpoint")).start().awaitTermination()
        ended.set()
        looking.join()
    next(sessions, None)
    return peak


def _look(peak: dict[str, float], ended: threading.Event) -> None:
    while not ended.wait(_LOOK_EVERY):
        for process in processor_time():
            try:
                command = Path(f"/proc/{process}/cmdline").read_bytes()
                status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
            except OSError:
                continue  # It has ended.
            kind = "worker" if b"pyspark.daemon" in command else "jvm"
            found = [line for line in status.splitlines() if line.startswith("VmHWM")]
            if found and (kind == "worker" or b"java" in command):
                peak[kind] = max(peak[kind], int(found[0].split()[1]) * 1024 / _MB)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=3_000_000, help="of the huge key")
    parser.add_argument("--states", type=int, default=1_500)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        sizes = {"rows": options.rows, "states": options.states}
        print(json.dumps(run(options.case, many_keys=not options.one, **sizes)))
        return
    made = []
    print(f"{'':36}{'Python is called for':>22}{'JVM, MB':>10}{'a worker, MB':>14}")
    for case in CASES:
        for one in (False, True):
            found = _of_its_own(case, one=one, options=options)
            which = "one key" if one else "many keys"
            print(f"{case:36}{which:>22}{found['jvm']:10.0f}{found['worker']:14.0f}", flush=True)
            made.append({"case": case, "many_keys": not one, **found})
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(made, indent=1))


def _of_its_own(case: str, *, one: bool, options: argparse.Namespace) -> dict[str, float]:
    here = str(Path(__file__).parent)
    given = [p for p in [os.environ.get("PYTHONPATH")] if p]
    command = [sys.executable, __file__, "--case", case, f"--rows={options.rows}"]
    command += [f"--states={options.states}", *(["--one"] if one else [])]
    ran = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*given, here])},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
