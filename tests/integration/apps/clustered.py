"""A stateful query on executors of their own, of which one is killed or one is slow.

Arguments: a folder, the master, what happens: `killed`, `seen` (killed, beside a web UI) or `slow`,
and the query: `aggregation`, `manyKeys` or `transformWithState`. Prints one line of JSON: the
counts, how often state was loaded, how much of it databases held, how long the longest batch took,
which attempts ended it. Of `seen` also what the web UI had of executors and counts, before and
after.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import TaskContext
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from bucketstate import Conf, configure, stateful
from bucketstate.operations import METRICS_PATH
from bucketstate.testing.session import SETTINGS
from tests.integration.apps.counting import builder_options, counted, folder
from tests.kit.engine import engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from pyspark.sql import DataFrame

BATCHES, ROWS = 8, 50
SLOW_BATCH, KILLING_BATCH = 3, 5
SLOW_SECONDS = 40


def executors() -> list[int]:
    """Processes of this application's executors: descendants of this process."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in command and is_ours(int(process.name)):
            found.append(int(process.name))
    return found


def is_ours(process: int) -> bool:
    while process > 1:
        if process == os.getpid():
            return True
        try:
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def with_attempts(rows: DataFrame, *, slow: bool) -> DataFrame:
    """Adds the attempt that made a row; the first attempt of one batch holds its store for long."""

    def added(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        context = TaskContext.get()
        assert context is not None
        for batch in batches:
            waited_for = (batch["total"] == (SLOW_BATCH + 1) * ROWS // 10).any()
            if slow and waited_for and context.attemptNumber() == 0 and context.partitionId() == 0:
                time.sleep(SLOW_SECONDS)
            yield batch.assign(attempt=context.attemptNumber())

    return rows.mapInPandas(added, "digit long, total long, attempt long")


class Counting(StatefulProcessor):
    """Counts in a value, with a list of as many elements and a map of their sums beside it."""

    def init(self, handle: Any) -> None:
        self.total = handle.getValueState("total", "n long")
        self.all = handle.getListState("all", "n long")
        self.sums = handle.getMapState("sums", "odd boolean", "n long")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:  # noqa: ARG002
        total = self.total.get()[0] if self.total.exists() else 0
        for _ in rows:
            total += 1
            self.all.appendValue((total,))
            odd = (total % 2 == 1,)
            before = self.sums.getValue(odd)[0] if self.sums.containsKey(odd) else 0
            self.sums.updateValue(odd, (before + total,))
        self.total.update((total,))
        assert [n for (n,) in self.all.get()] == list(range(1, total + 1))
        assert sum(n for (n,) in self.sums.values()) == total * (total + 1) // 2
        yield Row(digit=key[0], total=total)

    def close(self) -> None:
        pass


def aggregation(digits: DataFrame) -> DataFrame:
    return digits.groupBy("digit").agg(F.count("*").alias("total"))


def transform_with_state(digits: DataFrame) -> DataFrame:
    said = "digit long, total long"
    return digits.groupBy("digit").transformWithState(Counting(), said, "Update", "None")


def many_keys(digits: DataFrame) -> DataFrame:
    counts = stateful.apply(digits, by="digit", fn=counted, output_mode="update")
    return counts.withColumnRenamed("count", "total")


QUERIES = {
    "aggregation": aggregation,
    "manyKeys": many_keys,
    "transformWithState": transform_with_state,
}


class WebUi:
    """What an operator sees of the application meanwhile."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.scrapes: list[dict[str, float]] = []

    def read(self, path: str) -> str:
        with urllib.request.urlopen(self._url + path, timeout=20) as answer:
            return str(answer.read(), "utf-8")

    def scrape(self, version: int) -> None:
        """Keeps one, once two executors tell, not both as before, and of that version."""
        before = [executors_of(samples) for samples in self.scrapes]
        until = time.monotonic() + 60
        while time.monotonic() < until:
            samples = dict(self.samples())
            versions = {n: v for n, v in samples.items() if n.startswith("bucketstate_version{")}
            told = executors_of(samples)
            if len(told) == 2 and told not in before and version in versions.values():
                self.scrapes.append(samples)
                return
            time.sleep(0.2)
        raise TimeoutError(f"not at version {version}: {self.read(METRICS_PATH)}")

    def samples(self) -> Iterator[tuple[str, float]]:
        for line in self.read(METRICS_PATH).splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                yield name, float(value)


def executors_of(samples: dict[str, float]) -> list[str]:
    told = [name for name in samples if name.startswith("bucketstate_executor_stores{")]
    return sorted(name.partition('executor="')[2].partition('"')[0] for name in told)


def session(master: str, *, has_ui: bool = False) -> SparkSession:
    settings = builder_options() | {
        "spark.master": master,
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.speculation": "true",
        "spark.speculation.interval": "200ms",
        "spark.speculation.quantile": "0.3",
        "spark.speculation.multiplier": "1.5",
        "spark.speculation.minTaskRuntime": "1s",
        # So that the slow partition's first attempt is not the only one that may have its state.
        "spark.locality.wait": "0s",
        "spark.executor.extraJavaOptions": SETTINGS["spark.driver.extraJavaOptions"],
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.streaming.stateStore.maintenanceInterval": "500ms",
        "spark.ui.enabled": str(has_ui).lower(),
        "spark.ui.port": "0",
        "spark.bucketstate.metrics.interval": "200",
    }
    builder = configure(SparkSession.builder, Conf(engine=engine()))
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def main() -> None:
    root, master, event = folder(), sys.argv[2], sys.argv[3]
    spark = session(master, has_ui=event == "seen")
    web = WebUi(spark.sparkContext.uiWebUrl or "no web UI")
    for number in range(BATCHES):
        rows = spark.range(number * ROWS, (number + 1) * ROWS).coalesce(1)
        rows.write.parquet(str(root / "input" / f"{number:02d}"))
    numbers = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1)
    source = numbers.parquet(str(root / "input" / "*"))
    digits = source.select((F.col("id") % 10).alias("digit"))
    counts = QUERIES[sys.argv[4]](digits)
    latest: dict[int, int] = {}
    attempts: dict[int, int] = {}
    killed: list[int] = []
    pages: list[str] = []

    def keep(batch: DataFrame, number: int) -> None:
        for row in batch.collect():
            latest[row["digit"]] = row["total"]
            attempts[number] = max(attempts.get(number, 0), row["attempt"])
        if event in ("killed", "seen") and number == KILLING_BATCH and not killed:
            if event == "seen":
                web.scrape(version=number + 1)
            killed.append(executors()[0])
            os.kill(killed[0], signal.SIGKILL)
        if event == "seen" and number == BATCHES - 1 and not pages:
            web.scrape(version=number + 1)
            pages.append(web.read("/State/"))

    shown = with_attempts(counts, slow=event == "slow")
    writer = shown.writeStream.outputMode("update").foreachBatch(keep).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(root / "checkpoint")).start()
    query.awaitTermination()
    progress = [json.loads(p.json) for p in query.recentProgress]
    operators = [o for p in progress for o in p["stateOperators"]]
    answer = {
        "counts": latest,
        "killed": len(killed),
        "attempts": attempts,
        "loads": sum(o["customMetrics"]["bucketedTableReloads"] for o in operators),
        "native": max(o["customMetrics"]["bucketedDbMemoryBytes"] for o in operators),
        "slowest": max(p["durationMs"]["triggerExecution"] for p in progress),
        "scrapes": web.scrapes,
        "executors": [executors_of(samples) for samples in web.scrapes],
        "tab": pages,
    }
    print("ANSWER " + json.dumps(answer))
    spark.stop()


if __name__ == "__main__":
    main()
