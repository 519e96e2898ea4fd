"""Stateful functions in real queries, with restarts from their checkpoints."""

from __future__ import annotations

from dataclasses import astuple
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F  # noqa: N812 (PySpark's own name)

from bucketstate import stateful
from bucketstate.stateful import DefinitionError
from bucketstate.stateful.codec.ddl import parse_ddl
from tests.integration import stateful_functions as fns
from tests.integration.streams import (
    EVENTS,
    SCHEMA,
    Streamed,
    events,
    plain,
    run_with_restart,
    start,
    write_batches,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


def applied(fn: Any, **options: Any) -> Callable[[DataFrame], DataFrame]:
    return lambda rows: rows.transform(
        stateful.apply, by="key", fn=fn, output_mode="update", **options
    )


def run_more(
    spark: SparkSession, folder: Path, fn: Any, batch: list[dict[str, Any]], **options: Any
) -> Streamed:
    """One more batch, in a query that goes on from the folder's checkpoint."""
    write_batches(folder / "input", EVENTS, [batch])
    source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    rows = source.parquet(str(folder / "input"))
    streamed = Streamed()
    query = start(applied(fn, **options)(rows), folder / "checkpoint", streamed, "update")
    assert query.awaitTermination(150)
    return streamed


def counts(streamed: Streamed) -> dict[str, tuple[int, float]]:
    return {key: (n, total) for key, n, total in streamed.rows()}


def totals(batches: list[list[dict[str, Any]]]) -> dict[str, tuple[int, int]]:
    made: dict[str, tuple[int, int]] = {}
    for event in (e for batch in batches for e in batch):
        n, total = made.get(event["key"], (0, 0))
        made[event["key"]] = (n + 1, total + event["value"])
    return made


def test_every_supported_type_survives_state_output_and_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = events(batches=2, rows=8)

    streamed = run_with_restart(spark, tmp_path, applied(fns.echo), batches, mode="update")

    streamed.assert_on_bucketstate()
    expected = astuple(fns.Everything())
    assert streamed.batches.keys() == {0, 1}
    for row in streamed.rows():
        assert tuple(plain(v) for v in row) == tuple(plain(v) for v in expected)


def test_the_state_is_read_as_columns_with_the_schema_of_its_class(
    spark: SparkSession, tmp_path: Path
) -> None:
    run_more(spark, tmp_path, fns.echo, events(batches=1, rows=5)[0])

    stored = spark.read.format("statestore").load(str(tmp_path / "checkpoint"))
    schema = stateful.state_schema(fns.Everything)
    state = stored.select(F.from_json("value.groupState.state", schema).alias("s")).select("s.*")

    found = state.first()
    assert found is not None
    default = fns.Everything()
    assert found.an_int == default.an_int
    assert found.a_decimal == default.a_decimal
    assert found.a_datetime == default.a_datetime.replace(tzinfo=None)
    assert found.a_timedelta == default.a_timedelta
    assert bytes(found.some_bytes) == default.some_bytes
    assert found.nested == default.nested
    assert found.a_dict == default.a_dict
    assert [tuple(pair) for pair in found.by_number] == [(7, 0.5)]
    assert found.inner.text == "t"


def test_a_state_class_changes_under_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    batches = events(batches=4, rows=30)
    assert spark.conf.get("spark.sql.streaming.stateStore.stateSchemaCheck") == "true"
    seen = [totals(batches[: n + 1]) for n in range(4)]

    first = counts(run_more(spark, tmp_path, fns.count_v1, batches[0]))
    second = counts(run_more(spark, tmp_path, fns.count_v2, batches[1]))
    third = counts(run_more(spark, tmp_path, fns.count_v3, batches[2]))

    assert first == seen[0]
    for key, (n, total) in second.items():
        start_value = 0.25 if key in seen[0] else 0.75
        assert (n, total) == (seen[1][key][0], seen[1][key][1] + start_value)
    # What version 1 wrote and version 2 never touched goes the same way.
    assert {k: n for k, (n, _) in third.items()} == {k: seen[2][k][0] for k in third}

    with pytest.raises(StreamingQueryException) as failure:
        run_more(spark, tmp_path, fns.count_v1, batches[3])
    assert "was written by version 3 of CountsV1, and this code knows versions up to 1." in str(
        failure.value
    )


def test_a_state_class_that_cannot_migrate_is_a_clear_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    batch = events(batches=1, rows=30)[0]
    run_more(spark, tmp_path, fns.count_v1, batch)

    with pytest.raises(StreamingQueryException) as failure:
        run_more(spark, tmp_path, fns.count_lost, batch)

    message = str(failure.value)
    assert "MigrationError: The state of Key(key='k" in message
    assert "cannot be read as CountsLost: field n holds int" in message
    assert "expected a list" in message
    assert "add a migration from 1" in message
    # Nothing was lost: the class that fits goes on.
    again = counts(run_more(spark, tmp_path, fns.count_v1, batch))
    assert again == totals([batch, batch, batch])


def test_a_wrong_type_names_the_key_and_the_field(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(StreamingQueryException) as failure:
        run_more(spark, tmp_path, fns.wrong, events(batches=1)[0], output=fns.Counted)

    assert (
        "WrongTypeError: The output of wrong for Key(key='k3'): field n is str 'three', "
        "expected an int of 64 bits." in str(failure.value)
    )


def test_parts_are_kept_across_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    batches = events(batches=2, rows=30)

    streamed = run_with_restart(spark, tmp_path, applied(fns.keep_parts), batches, mode="update")

    of_first = {
        key: [e["value"] for e in batches[0] if e["key"] == key] for key in totals(batches[:1])
    }
    for key, last, values, marks in streamed.batches[1]:
        known = of_first.get(key)
        assert last == (known and f"{len(known)} rows")
        assert values == ([min(known)] if known else [])
        assert {k: tuple(v) for k, v in marks.items()} == (
            {"m": (len(known), None)} if known else {}
        )


def test_a_function_without_output_keeps_state(spark: SparkSession, tmp_path: Path) -> None:
    batches = events(batches=2)

    streamed = run_with_restart(spark, tmp_path, applied(fns.silent), batches, mode="update")

    assert streamed.rows() == []
    stored = spark.read.format("statestore").load(str(tmp_path / "checkpoint"))
    found = stored.select("key.key", F.get_json_object("value.groupState.state", "$.n"))
    assert {k: int(n) for k, n in found.collect()} == {
        k: n for k, (n, _) in totals(batches).items()
    }


def test_schemas_as_ddl_and_an_expression_as_key(spark: SparkSession, tmp_path: Path) -> None:
    batches = events(batches=2)

    def query(rows: DataFrame) -> DataFrame:
        return stateful.apply(
            rows,
            by=[F.col("key"), (F.col("value") % 2).alias("odd")],
            fn=fns.frames,
            state="n long",
            output="key string, odd long, n long, at timestamp",
            output_mode="update",
        )

    streamed = run_with_restart(spark, tmp_path, query, batches, mode="update")

    expected = set()
    for key in {e["key"] for e in batches[1]}:
        for odd in (0, 1):
            seen = [[e for e in b if e["key"] == key and e["value"] % 2 == odd] for b in batches]
            if seen[1]:
                latest = max(e["at"] for e in seen[1]).replace(tzinfo=None)
                expected.add((key, odd, len(seen[0]) + len(seen[1]), latest))
    assert set(streamed.batches[1]) == expected


def test_an_unchanged_state_is_not_written(spark: SparkSession, tmp_path: Path) -> None:
    batches = events(batches=2)

    streamed = run_with_restart(spark, tmp_path, applied(fns.echo), batches, mode="update")

    known = {e["key"] for e in batches[0]}
    fresh = {e["key"] for e in batches[1]} - known
    updated = [p["stateOperators"][0]["numRowsUpdated"] for p in streamed.progress]
    assert updated[:2] == [len(known), len(fresh)]


def test_a_column_that_spark_would_not_find_is_refused(spark: SparkSession) -> None:
    rows = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "a.b")
    with pytest.raises(DefinitionError, match=r"^The column 'a\.b' has a dot in its name"):
        stateful.apply(rows, by="value", fn=fns.echo)


@pytest.mark.parametrize(
    "ddl",
    [
        "a long, b: string, `c d` double, e timestamp_ntz NOT NULL",
        "a decimal, b decimal(9), c NUMERIC(9, 2), d interval day to second",
        "a array<array<int>>, b map<string, struct<x: long, y: array<date>>>, c binary",
        "a tinyint, b smallint, c integer, d bigint, e real, f boolean, g timestamp, h float",
    ],
)
def test_ddl_is_read_as_spark_reads_it(spark: SparkSession, ddl: str) -> None:
    assert parse_ddl(ddl) == spark.createDataFrame([], ddl).schema
