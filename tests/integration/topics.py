"""A source of partitions, whose offset is a map of maps as that of Kafka: `{"rides": {"0": 7}}`.

What is fed lies in a folder, one file of rows for each partition of the topic.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

TOPIC = "rides"
PARTITIONS = 2
Offset = dict[str, dict[str, int]]


@dataclass
class Part(InputPartition):
    """Rows of one partition of the topic, from one number up to another."""

    number: int
    begin: int
    end: int


class Topics(DataSource):
    """Lines of JSON below the option `path`, a file for each partition of one topic."""

    @classmethod
    def name(cls) -> str:
        return "topics"

    def schema(self) -> str:
        return "k long, s string, v long"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: ARG002, N802
        return _Reader(Path(self.options["path"]))


class _Reader(DataSourceStreamReader):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def initialOffset(self) -> Offset:  # noqa: N802
        return {TOPIC: {str(n): 0 for n in range(PARTITIONS)}}

    def latestOffset(self, start: Any = None, limit: Any = None) -> Offset:  # noqa: ARG002, N802
        """Spark gives where it is and how much it takes since 4.3."""
        return ends(self.folder)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        return [Part(int(n), start[TOPIC][n], end[TOPIC][n]) for n in end[TOPIC]]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        assert isinstance(partition, Part)
        for row in rows_of(self.folder, partition.number)[partition.begin : partition.end]:
            yield row["k"], row["s"], row["v"]


def rows_of(folder: Path, partition: int) -> list[Mapping[str, Any]]:
    file = folder / f"{partition}.json"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def ends(folder: Path) -> Offset:
    """The offset behind all that is there."""
    return {TOPIC: {str(n): len(rows_of(folder, n)) for n in range(PARTITIONS)}}


def feed_topics(folder: Path, batch: int) -> None:
    """Rows of one batch, of which one partition gets more than the other."""
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(30):
        key = (batch * 7 + i * 3) % 23
        row = {"k": key, "s": f"name-{key % 9}", "v": batch * 100 + i}
        with (folder / f"{0 if i % 3 else 1}.json").open("a") as file:
            file.write(json.dumps(row) + "\n")


def read_topics(spark: SparkSession, folder: Path) -> DataFrame:
    spark.dataSource.register(Topics)
    return spark.readStream.format("topics").option("path", str(folder)).load()
