"""Runs queries until they are stopped or done, and keeps what Spark reports of each batch."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bucketstate import Conf, configure
from bucketstate.config import PROVIDER_KEY
from flights import layout
from flights.data import SLICES, SPARK_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from flights.layout import Layout

BUCKETS = 64
_POLL_SECONDS = 0.5
STOPPED = "the demo stops here"


@dataclass
class Running:
    name: str
    query: StreamingQuery
    batches: int = 0
    """How many batches this checkpoint has behind it, earlier processes' included."""
    keys: int = 0

    @property
    def slices(self) -> int:
        # The last batch reads nothing: it only lets the watermark close what it has passed.
        return min(self.batches, SLICES)

    def look(self) -> None:
        last = self.query.lastProgress
        if last is not None:
            self.batches = int(last["batchId"]) + 1
            self.keys = sum(o["numRowsTotal"] for o in last["stateOperators"])


def session(provider: str | None = None) -> SparkSession:
    """A local session, on another state store provider than bucketstate if one is named."""
    # Spark's Python workers take this interpreter, not whatever `python3` is on the PATH.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # pandas warns of something that Spark 4.2's own serializer does, once per batch.
    os.environ["PYTHONWARNINGS"] = "ignore::FutureWarning:pyspark.sql.pandas.serializers"
    # A run this short spends more on the JVM's optimising compiler than it gets back. Without it
    # the room for code is a fifth, which Spark's generated classes fill.
    java = (
        f"-Dlog4j2.configurationFile={layout.LOGGING.as_uri()} "
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -Xss4m"
    )
    builder = SparkSession.builder.appName("flights").master(f"local[{layout.PARTITIONS}]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": java,
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.shuffle.partitions": str(layout.PARTITIONS),
        # Batches this small end before generated code has paid for being compiled.
        "spark.sql.codegen.wholeStage": "false",
    }.items():
        builder = builder.config(key, value)
    spark = configure(builder, Conf(num_buckets=BUCKETS)).getOrCreate()
    if provider is not None:
        spark.conf.set(PROVIDER_KEY, provider)
    return spark


def flights(spark: SparkSession, *, streaming: bool) -> DataFrame:
    """The files: as a stream of one file per batch, oldest first, or all at once."""
    if not streaming:
        return spark.read.schema(SPARK_SCHEMA).parquet(str(layout.INPUT))
    source = spark.readStream.schema(SPARK_SCHEMA).option("maxFilesPerTrigger", 1)
    return source.option("latestFirst", "false").parquet(str(layout.INPUT))


def run(
    spark: SparkSession,
    console: Console,
    files: Layout,
    queries: dict[str, Callable[[DataFrame], DataFrame]],
    stop_in: int | None,
) -> None:
    """Runs all queries at once, until each fails in batch `stop_in` or is done."""
    running = [
        _start(files, name, query(flights(spark, streaming=True)), stop_in)
        for name, query in queries.items()
    ]
    with _bars(console) as bars:
        tasks = {r.name: bars.add_task(r.name, total=SLICES, note="starting") for r in running}
        reported = 0
        while any(r.query.isActive for r in running):
            time.sleep(_POLL_SECONDS)
            for r in running:
                r.look()
                bars.update(tasks[r.name], completed=r.slices, note=f"{r.keys:,} keys")
            slowest = min(r.slices for r in running)
            if not console.is_terminal and slowest >= reported + 10:
                reported = slowest
                console.print(f"  {slowest} of {SLICES} slices")
    for r in running:
        failure = r.query.exception()
        if failure is not None and STOPPED not in str(failure):
            raise failure
        if stop_in is not None and failure is None:
            raise RuntimeError(f"{r.name} was to stop in batch {stop_in} and did not")
        _keep_progress(files, r)


def emitted(spark: SparkSession, files: Layout, name: str) -> DataFrame:
    """All that a query has put out, with the batch that put it out."""
    return spark.read.parquet(str(files.output / name))


def _start(files: Layout, name: str, rows: DataFrame, stop_in: int | None) -> Running:
    folder = files.output / name
    folder.mkdir(parents=True, exist_ok=True)

    def put_out(said: DataFrame, batch: int) -> None:
        # A batch that is run again after a restart replaces what its first run put out.
        unfinished = folder / f".batch-{batch:03d}.unfinished"
        table = said.toArrow()
        # Behind the last slice the watermark moves once; in processing time batches never end.
        if batch == stop_in or batch > SLICES:
            # The worst moment: the state store has committed, and nobody has the rows. What runs
            # next has to take the state from before this batch, and put the same rows out again.
            said.sparkSession.sparkContext.setLogLevel("OFF")
            logging.getLogger("py4j").setLevel(logging.CRITICAL)
            raise RuntimeError(STOPPED)
        pq.write_table(
            table.append_column("batch", pa.repeat(pa.scalar(batch), len(table))), unfinished
        )
        unfinished.replace(folder / f"batch-{batch:03d}.parquet")

    query = (
        rows.writeStream.queryName(name)
        .outputMode("update")
        .option("checkpointLocation", str(files.checkpoints / name))
        .foreachBatch(put_out)
        .trigger(availableNow=True)
        .start()
    )
    return Running(name, query)


def _bars(console: Console) -> Progress:
    return Progress(
        TextColumn("  {task.description:<10}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TextColumn("slices, {task.fields[note]}"),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )


def _keep_progress(files: Layout, running: Running) -> None:
    """Adds what Spark reported of this process's batches to that of the earlier one's."""
    files.progress.mkdir(parents=True, exist_ok=True)
    with files.progress_of(running.name).open("a", encoding="utf-8") as file:
        file.writelines(f"{progress.json}\n" for progress in running.query.recentProgress)
