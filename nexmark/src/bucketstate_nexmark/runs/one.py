"""One run in a process of its own: `python -m bucketstate_nexmark.runs.one '{...}'`.

It is told what to do in JSON, and says in its last line, in JSON, what Spark and Linux said of it.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bucketstate_nexmark.events.model import Model
from bucketstate_nexmark.queries import FORMS
from bucketstate_nexmark.runs import stream
from bucketstate_nexmark.runs.contenders import CONTENDERS, is_local
from bucketstate_nexmark.runs.process import cpu_seconds, peak_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bucketstate_nexmark.runs.figures import Batch
    from bucketstate_nexmark.runs.sink import SinkName


@dataclass(frozen=True)
class Task:
    """What one process is to run."""

    form: str
    contender: str
    seed: int
    rate: int
    source: str
    checkpoint: str
    output: str
    sink: SinkName
    master: str
    partitions: int
    memory_mib: int
    conf: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Told:
    """What it says when it has run."""

    batches: list[Batch]
    first_batch_ms: int
    cpu_seconds: float | None
    """None where executors are processes of their own, as is the next one."""
    peak_bytes: int | None
    checkpoint_bytes: int


def session(task: Task) -> SparkSession:
    """A session on the contender's state store."""
    from pyspark.sql import SparkSession

    import bucketstate

    contender, form = CONTENDERS[task.contender], FORMS[task.form]
    # Workers are of this interpreter, and import what the queries are made of by name.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    builder = SparkSession.builder.appName(f"nexmark {task.form} {task.contender}")
    builder = builder.master(task.master)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.jars": str(bucketstate.jar_path()),
        "spark.sql.shuffle.partitions": str(task.partitions),
        "spark.driver.extraJavaOptions": "-Xss4m",
        **stream.SETTINGS,
        **contender.to_spark(task.memory_mib, task.master),
    }
    if form.is_stateful or contender.extended:
        # The operator for many keys works with every state store: only these differ then.
        settings["spark.sql.extensions"] = "io.bucketstate.BucketstateExtensions"
    for key, value in {**settings, **task.conf}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def state_bytes(spark: SparkSession, checkpoint: str) -> int:
    """The length of all files of a checkpoint's state, on whatever file system it is."""
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(f"{checkpoint}/state")
    context: Any = spark.sparkContext._jsc
    system = path.getFileSystem(context.hadoopConfiguration())
    return int(system.getContentSummary(path).getLength()) if system.exists(path) else 0


def perform(task: Task) -> Told:
    spark = session(task)
    jvm: Any = spark._jvm
    process = int(jvm.java.lang.ProcessHandle.current().pid())
    alone = is_local(task.master)
    before = cpu_seconds(process)
    batches, first = stream.run(
        spark,
        FORMS[task.form],
        Model(task.seed, task.rate),
        Path(task.source),
        task.checkpoint,
        Path(task.output),
        task.sink,
    )
    told = Told(
        batches,
        first,
        cpu_seconds(process) - before if alone else None,
        peak_bytes(process) if alone else None,
        state_bytes(spark, task.checkpoint),
    )
    spark.stop()
    return told


def main() -> None:
    task = Task(**json.loads(sys.argv[1]))
    print(json.dumps(asdict(perform(task))), flush=True)


if __name__ == "__main__":
    main()
