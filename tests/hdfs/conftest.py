"""A namenode and a datanode in a JVM of their own, and one real local Spark."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

CLASS_PATH = Path(__file__).parents[2] / "scala/hdfs/target/spark-4.2/server.classpath"


@dataclass(frozen=True)
class Hdfs:
    """`uri` is such as `hdfs://127.0.0.1:12345`; `web` is the port of its WebHDFS."""

    uri: str
    web: int


@pytest.fixture(scope="session")
def hdfs() -> Iterator[Hdfs]:
    assert CLASS_PATH.exists(), f"{CLASS_PATH} is not there: run `make hdfs`"
    command = ["java", "-Xmx512m", "-cp", CLASS_PATH.read_text(), "io.bucketstate.hdfs.HdfsServer"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        ready = (line for line in process.stdout if line.startswith("READY "))
        found = next(ready, None)
        assert found is not None, "the mini cluster has ended before it was ready"
        _, uri, web = found.split()
        yield Hdfs(uri, int(web))
    finally:
        process.stdin.close()
        process.wait(60)


@pytest.fixture(scope="session")
def bucketstate_spark_settings() -> dict[str, str]:
    return {
        "spark.log.level": "OFF",
        "spark.sql.streaming.stateStore.bucketed.snapshot.maxVersions": "2",
    }


@pytest.fixture(scope="session")
def spark(bucketstate_spark: SparkSession) -> SparkSession:
    return bucketstate_spark
