"""How long an application takes from its start until its first batch is done: a new query, and one
that is restarted, each in a process of its own, with the contenders in turns.

    make bench-first-batch BENCH_FIRST="--rounds 5"

Two contenders take the JVM's classes from an archive (AppCDS) that a run before the measured ones
has made: without the warm-up, as local mode is, and with it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from end_to_end import PREFIX, STATE_STORE, aggregated
from process_figures import followed

from counted_input import write_input

ROWS = 20_000
"""Of the batch after the restart; the one before it brings all keys."""

PLUGIN = {"spark.plugins": "io.bucketstate.BucketstatePlugin"}
CONTENDERS = {
    "rocksdb-default": {STATE_STORE + "providerClass": PREFIX + "RocksDBStateStoreProvider"},
    "bucketed": PLUGIN,
    "warm-up": PLUGIN | {"spark.bucketstate.jvmWarmUp": "2000"},
}
ARCHIVED = {"archive": "bucketed", "archive-warm-up": "warm-up"}
"""Contenders with an archive of classes, and what they are without."""

ARCHIVE = "BUCKETSTATE_BENCH_ARCHIVE"
"""A variable with the archive's file, for the process of an archived contender."""

ARCHIVED_IN_S = 120
"""A JVM writes its archive when it ends, after the Python process that began it."""


@dataclass(frozen=True)
class First:
    """Milliseconds of a process until its session was there, and until its batch was done.

    Those of the batch are as Spark has them.
    """

    session_ms: float
    done_ms: float
    batch_ms: float


def of_archive(archive: Path) -> str:
    """The JVM's options: to write the archive where there is none yet, and else to use it.

    What the JVM says of classes goes beside this process's answer.
    """
    logged = "-Xlog:disable -Xlog:all=error:stderr"
    if archive.exists():
        return f"{logged} -XX:SharedArchiveFile={archive} -Xshare:on"
    return f"{logged} -XX:ArchiveClassesAtExit={archive}"


def run(contender: str, source: Path, checkpoint: Path, began: float) -> First:
    """Runs one batch in this process.

    Args:
        began: when the process was started, in seconds since 1970.
    """
    from pyspark.sql import SparkSession

    import bucketstate

    jar = str(bucketstate.jar_path())
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
    )
    if contender in ARCHIVED:
        # Classes of `spark.jars` have a loader of Spark's, whose classes no such archive takes.
        builder = builder.config("spark.driver.extraClassPath", jar)
        builder = builder.config(
            "spark.driver.extraJavaOptions", of_archive(Path(os.environ[ARCHIVE]))
        )
    else:
        builder = builder.config("spark.jars", jar)
    for key, value in CONTENDERS[ARCHIVED.get(contender, contender)].items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    session_ms = (time.time() - began) * 1000
    rows = aggregated(
        lambda: (
            spark.readStream.schema("key string, value double, at timestamp")
            .option("maxFilesPerTrigger", "1")
            .parquet(str(source))
        )
    )
    writer = rows.writeStream.outputMode("update").format("noop")
    query = writer.option("checkpointLocation", str(checkpoint)).start()
    progress = next(followed(query, contender, 1))
    done_ms = (time.time() - began) * 1000
    spark.sparkContext.setLogLevel("OFF")
    query.stop()
    spark.stop()
    return First(session_ms, done_ms, progress.batchDuration)


def in_process(contender: str, source: Path, checkpoint: Path) -> First:
    command = [sys.executable, __file__, "--run", contender, str(source), str(checkpoint)]
    done = subprocess.run(
        [*command, str(time.time())], check=True, stdout=subprocess.PIPE, text=True, timeout=600
    )
    return First(**json.loads(done.stdout.splitlines()[-1]))


def wait_for(archive: Path) -> None:
    """Until the archive's file is there and grows no more."""
    size = -1
    for _ in range(ARCHIVED_IN_S):
        now = archive.stat().st_size if archive.exists() else -1
        if now > 0 and now == size:
            print(f"{archive.name}: {now / 1e6:,.0f} MB", file=sys.stderr)
            return
        size = now
        time.sleep(1)
    raise SystemExit(f"The JVM wrote no archive {archive} within {ARCHIVED_IN_S} s.")


Medians = dict[str, dict[str, dict[str, float]]]
"""Milliseconds by contender, `new` or `again`, and the name of a field of `First`."""


def measure(contenders: list[str], keys: int, rounds: int, folder: Path) -> Medians:
    """Each contender's runs, in turns: `new` on an empty checkpoint, `again` on what that left."""
    written = folder / "written"
    write_input(written, keys, rows=ROWS, preload=1, batches=1)
    files = dict(zip(("new", "again"), sorted(written.iterdir()), strict=True))

    def both(contender: str, label: str) -> Iterator[tuple[str, First]]:
        source = folder / f"{contender}-{label}"
        source.mkdir()
        for kind, file in files.items():
            # One at a time: a query takes the next one before it is stopped.
            shutil.copy(file, source)
            first = in_process(contender, source, folder / f"{contender}-{label}-checkpoint")
            print(f"{label}, {contender}, {kind}: {first.done_ms:,.0f} ms", file=sys.stderr)
            yield kind, first

    for contender in contenders:
        if contender in ARCHIVED:
            archive = folder / f"{contender}.jsa"
            os.environ[ARCHIVE] = str(archive)
            # Of the restart's run, as it loads what the other one does, and what reads files.
            for kind, _ in both(contender, "archiving"):
                wait_for(archive)
                if kind == "new":
                    archive.unlink()
    found: dict[str, dict[str, list[First]]] = {c: {"new": [], "again": []} for c in contenders}
    for turn in range(rounds):
        shift = turn % len(contenders)
        for contender in contenders[shift:] + contenders[:shift]:
            os.environ[ARCHIVE] = str(folder / f"{contender}.jsa")
            for kind, first in both(contender, f"round {turn + 1} of {rounds}"):
                found[contender][kind].append(first)
    return {
        contender: {
            kind: {
                name: statistics.median(asdict(one)[name] for one in runs)
                for name in ("session_ms", "done_ms", "batch_ms")
            }
            for kind, runs in kinds.items()
        }
        for contender, kinds in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--contenders", default=",".join([*CONTENDERS, *ARCHIVED]))
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if options.run:
        contender, source, checkpoint, began = options.run
        print(json.dumps(asdict(run(contender, Path(source), Path(checkpoint), float(began)))))
        return
    with tempfile.TemporaryDirectory(prefix="first-batch-") as folder:
        found = measure(options.contenders.split(","), options.keys, options.rounds, Path(folder))
    print(f"{'medians, ms':<28}{'session':>10}{'first batch done':>18}{'the batch':>12}")
    for contender, kinds in found.items():
        for kind, figures in kinds.items():
            print(
                f"{contender + ', ' + kind:<28}{figures['session_ms']:>10,.0f}"
                f"{figures['done_ms']:>18,.0f}{figures['batch_ms']:>12,.0f}"
            )
    if options.json:
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
