"""What Spark keeps and Python has no value for, written by Spark itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.spark.python_values import python_values, with_dicts
from bucketstate.cli import main
from bucketstate.cli.terminal.rows import as_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

TEXTS = ["X'FF'", "X'4100C3'", "X'EDA080'", "X'C3BC'"]
DAYS = [-2_545_731, -719_528, 2_932_897, 2_147_483_647]
MICROS = [-220_000_000_000_000_000, -62_135_596_800_000_001, 253_402_300_800_000_000, 2**63 - 1]
FLOATS = [f"double('{text}')" for text in ("NaN", "Infinity", "-Infinity", "1.5")]

FAR = f"""
    cast(element_at(array({", ".join(TEXTS)}), n) as string) as s,
    date_from_unix_date(element_at(array({", ".join(map(str, DAYS))}), n)) as d,
    timestamp_micros(element_at(array({", ".join(f"{m}L" for m in MICROS)}), n)) as t,
    element_at(array({", ".join(FLOATS)}), n) as f
"""
NESTED = {
    "texts": "array(s, null)",
    "days": "array(d, null)",
    "local": "array(cast(t as timestamp_ntz))",
    "named": "map(s, d)",
    "inner": "named_struct('s', s, 'more', array(named_struct('t', t, 'f', f)))",
    "raw": "cast(s as binary)",
    "span": "make_dt_interval(n, 1)",
    "months": "make_ym_interval(n, 1)",
    "calendar": "make_interval(n, 1, 2, 3)",
    "long": "cast(n as decimal(38, 3))",
    "variant": """parse_json('{"a": 1}')""",
}


def aggregated(rows: DataFrame) -> DataFrame:
    return rows.groupBy("s", "d", "t", "f").agg(F.count("*").alias("n"))


def nested(rows: DataFrame) -> DataFrame:
    return rows.groupBy("n").agg(*[F.last(F.expr(e)).alias(name) for name, e in NESTED.items()])


def deduplicated(rows: DataFrame) -> DataFrame:
    return rows.dropDuplicates(["t", "s"])


def windowed(rows: DataFrame) -> DataFrame:
    late = rows.where("n between 2 and 3").withWatermark("t", "1 hour")
    return late.groupBy(F.window("t", "1 hour"), "s").count()


@pytest.mark.parametrize("query", [aggregated, nested, deduplicated, windowed])
def test_every_command_reads_it(
    spark: SparkSession,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    query: Callable[[DataFrame], DataFrame],
) -> None:
    source, root = str(tmp_path / "in"), str(tmp_path / "checkpoint")
    for _ in range(2):
        spark.range(1, 5).selectExpr("cast(id as int) as n").write.mode("append").parquet(source)
    rows = spark.readStream.schema("n int").parquet(source).selectExpr("n", *expressions())
    mode = "append" if query is deduplicated else "update"
    to = query(rows).writeStream.outputMode(mode).format("noop").trigger(availableNow=True)
    to.option("checkpointLocation", root).start().awaitTermination()

    checkpoint = Checkpoint(root)
    assert checkpoint.verify().ok
    table = checkpoint.scan().to_arrow()
    # Of the windows one is over.
    assert table.num_rows == (1 if query is windowed else 4)
    assert len(repr(checkpoint.scan().to_pandas())) > 0
    for key, value in zip(python_values(table["key"]), with_dicts(table["value"]), strict=True):
        assert repr(checkpoint.scan().get(key)) == repr(value)

    out = str(tmp_path / "out")
    formats = ["csv", "jsonl", "arrow", *([] if query is nested else ["parquet"])]
    commands = [
        *[["inspect", root], ["verify", root], ["doctor", root], ["show", root], ["diff", root]],
        *[["export", root, f"{out}.{name}"] for name in formats],
        ["report", root, "-o", f"{out}.html"],
    ]
    for command in commands:
        assert main(command) == 0
    capsys.readouterr()
    assert main(["show", root, "--json"]) == 0
    for line in capsys.readouterr().out.splitlines():
        assert main(["show", root, "--json", "--key", json.dumps(json.loads(line)["key"])]) == 0
        assert capsys.readouterr().out.splitlines() == [line]


def test_it_is_written_as_spark_writes_it(spark: SparkSession, tmp_path: Path) -> None:
    """Years and floats; of text Spark's own form loses what it was."""
    source, root = str(tmp_path / "in"), str(tmp_path / "checkpoint")
    spark.range(1, 5).selectExpr("cast(id as int) as n").write.parquet(source)
    rows = spark.readStream.schema("n int").parquet(source).selectExpr("n", *expressions())
    to = aggregated(rows).writeStream.outputMode("update").format("noop")
    to.option("checkpointLocation", root).trigger(availableNow=True).start().awaitTermination()
    state = spark.read.format("statestore").load(root)
    # Of an instant its wall clock in UTC, as it is written here.
    in_utc = "to_utc_timestamp(key.t, current_timezone())"
    shown = state.selectExpr("string(key.d)", f"string({in_utc})", "string(key.f)").collect()
    found = python_values(Checkpoint(root).scan().to_arrow()["key"])
    texts = [(k["d"], str(k["t"]), json.loads(as_json(k["f"]))) for k in found]
    assert {(d, t.removesuffix("+00:00").replace("T", " "), str(f)) for d, t, f in texts} == {
        tuple(row) for row in shown
    }


def expressions() -> list[str]:
    return [line.strip().rstrip(",") for line in FAR.strip().splitlines()]
