"""What Linux says of a process: threads, open files and memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def jvm_of(spark: SparkSession) -> Any:
    """The door to a session's JVM, which there is one of but for Spark Connect."""
    jvm = spark._jvm
    assert jvm is not None
    return jvm


def process_of(spark: SparkSession) -> int:
    return int(jvm_of(spark).java.lang.ProcessHandle.current().pid())


def status(process: int, field: str) -> int:
    """A number from `/proc/<process>/status`, such as `Threads`; memory in bytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            number, *unit = value.split()
            return int(number) * (1024 if unit == ["kB"] else 1)
    raise RuntimeError(f"/proc/{process}/status has no {field}")


def open_files(process: int) -> int:
    return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())
