"""Typed functions on `transformWithState`: what lies in Spark's own state variables."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import astuple
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F  # noqa: N812 (PySpark's own name)

from bucketstate import stateful
from bucketstate.checkpoint import Checkpoint
from bucketstate.errors import SessionError
from bucketstate.stateful import DefinitionError
from bucketstate.testing import Harness
from tests.integration import stateful_functions as fns
from tests.integration.following import needs_rows
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
from tests.kit.cases import at_night, cases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = needs_rows


def applied(fn: Any, **options: Any) -> Callable[[DataFrame], DataFrame]:
    given = {"by": "key", "operator": "transformWithState", "output_mode": "update", **options}
    return lambda rows: stateful.apply(rows, fn=fn, **given)


def run_more(
    spark: SparkSession, folder: Path, fn: Any, batch: list[dict[str, Any]], **options: Any
) -> Streamed:
    """One more batch, in a query that goes on from the folder's checkpoint."""
    write_batches(folder / "input", EVENTS, [batch])
    rows = spark.readStream.schema(SCHEMA).parquet(str(folder / "input"))
    streamed = Streamed()
    query = start(applied(fn, **options)(rows), folder / "checkpoint", streamed, "update")
    assert query.awaitTermination(150)
    return streamed


def stored(spark: SparkSession, folder: Path, variable: str) -> DataFrame:
    reader = spark.read.format("statestore").option("stateVarName", variable)
    return reader.load(str(folder / "checkpoint"))


@contextmanager
def setting(spark: SparkSession, key: str, value: str) -> Iterator[None]:
    before = spark.conf.get(key)
    spark.conf.set(key, value)
    try:
        yield
    finally:
        spark.conf.set(key, str(before))


def test_every_supported_type_survives_state_parts_output_and_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = events(batches=2, rows=8)

    streamed = run_with_restart(spark, tmp_path, applied(fns.echo_parts), batches, mode="update")

    streamed.assert_on_bucketstate()
    expected = astuple(fns.Everything())
    again = {e["key"] for e in batches[0]} & {e["key"] for e in batches[1]}
    for key, where, *row in streamed.rows():
        assert tuple(plain(v) for v in row) == tuple(plain(v) for v in expected), (key, where)
    seen = [(key, where) for key, where, *_ in streamed.rows()]
    assert sorted(seen) == sorted(
        (k, w) for k in again for w in ("state", "last", "log", "by_name")
    )
    assert again


def test_the_variables_are_read_with_sparks_own_reader(spark: SparkSession, tmp_path: Path) -> None:
    batch = events(batches=1, rows=30)[0]
    # A time to live keeps Spark running one batch after the other.
    with setting(spark, "spark.sql.streaming.noDataMicroBatches.enabled", "false"):
        run_more(spark, tmp_path, fns.keep_parts, batch)

    values: dict[str, list[int]] = {}
    for event in batch:
        values.setdefault(event["key"], []).append(event["value"])
    last = stored(spark, tmp_path, "last").select("key.key", F.get_json_object("value.value", "$"))
    assert dict(map(tuple, last.collect())) == {k: f"{len(v)} rows" for k, v in values.items()}
    log = stored(spark, tmp_path, "values").select(
        "key.key", F.get_json_object("list_element.value", "$").cast("long")
    )
    assert dict(map(tuple, log.collect())) == {k: min(v) for k, v in values.items()}
    marks = stored(spark, tmp_path, "marks").select(
        "key.key", "user_map_key.key", F.get_json_object("user_map_value.value.value", "$.n")
    )
    assert sorted(map(tuple, marks.collect())) == sorted(
        (k, '"m"', str(len(v))) for k, v in values.items()
    )


def test_a_map_and_the_index_of_what_expires_stay_in_step(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What is removed and put again would go with the first one's time, if the index had both."""
    at = datetime(2024, 3, 1, tzinfo=UTC)
    for number, names in enumerate([{1, 2, 3}, {2}, {1, 2}, {4}, {1}]):
        batch = [{"at": at, "key": key, "value": n} for key in ("a", "b") for n in sorted(names)]
        with setting(spark, "spark.sql.streaming.noDataMicroBatches.enabled", "false"):
            streamed = run_more(spark, tmp_path, fns.keep_names, batch)
        assert {row[:2] for row in streamed.rows()} == {("a", len(names)), ("b", len(names))}
        found = Checkpoint(tmp_path / "checkpoint")
        entries, index = (
            found.scan(state_var="by_name").to_arrow(),
            found.scan(column_family="$ttl_by_name").to_arrow(),
        )
        assert entries.num_rows == index.num_rows > 0, number
        held = found.scan(decode=fns.Named).get("a")
        assert held is not None
        assert set(held.by_name) == {str(n) for n in names}
        assert found.verify().findings == ()


def told_by(shape: fns.Shapes, by: list[str], rows: DataFrame) -> DataFrame:
    query = applied(shape, by=by, output=fns.Told, timeout="event")
    return query(rows.withWatermark("at", "1 hour"))


@at_night
def test_rows_come_in_every_shape_and_keys_of_every_type_fire_timers(
    spark: SparkSession, tmp_path: Path
) -> None:
    """In a time zone that is not this machine's."""
    rows = [
        {
            "at": datetime(2024, 3, 1, n, tzinfo=UTC),
            "price": Decimal("1.25") * n,
            "day": date(2024, 1, 1 + n % 3),
            "raw": None if n % 3 == 0 else bytes([n % 3]),
            "n": None if n % 2 else n,
            "gap": timedelta(seconds=n),
            "tags": [("a", n)],
        }
        for n in range(6)
    ]
    arrow = pa.schema(
        [
            ("at", pa.timestamp("us", tz="UTC")),
            ("price", pa.decimal128(10, 2)),
            ("day", pa.date32()),
            ("raw", pa.binary()),
            ("n", pa.int64()),
            ("gap", pa.duration("us")),
            ("tags", pa.map_(pa.string(), pa.int64())),
        ]
    )
    spark_schema = (
        "at timestamp, price decimal(10,2), day date, raw binary, n long, "
        "gap interval day to second, tags map<string, long>"
    )
    by = ["at", "price", "day", "raw"]
    later = [{**rows[0], "at": datetime(2030, 1, 1, tzinfo=UTC)}]
    with setting(spark, "spark.sql.session.timeZone", "Asia/Tokyo"):
        for shape in (fns.ShapeFrame(), fns.ShapeDicts(), fns.ShapeRecords()):
            folder = tmp_path / type(shape).__name__
            folder.mkdir()
            streamed = run_with_restart(
                spark,
                folder,
                partial(told_by, shape, by),
                [rows, later],
                mode="update",
                spark_schema=spark_schema,
                arrow_schema=arrow,
            )
            running = Harness(
                shape,
                by=by,
                output=fns.Told,
                operator="transformWithState",
                schema=spark.createDataFrame([], spark_schema).schema,
                timeout="event",
                event_time="at",
                delay=timedelta(hours=1),
                time_zone="Asia/Tokyo",
            )
            told = [*running.run(rows), *running.run(), *running.run(later), *running.run()]
            found = [tuple(r) for r in streamed.rows()]
            assert sorted(found) == sorted(tuple(r.values()) for r in told)
            assert sum(what.startswith("timer") for what, *_ in found) == len(rows)


def test_the_initial_state_is_brought_in_before_the_first_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    batches = events(batches=2)
    initial = spark.createDataFrame([("k1", 100), ("k1", 1), ("new", 7)], "key string, n long")

    streamed = run_with_restart(
        spark,
        tmp_path,
        applied(fns.Seeded(), initial_state=initial),
        batches,
        mode="update",
    )

    running = Harness(
        fns.Seeded(),
        by="key",
        operator="transformWithState",
        schema=SCHEMA,
        initial_state=initial.toPandas(),
    )
    for number, batch in enumerate(batches):
        expected = {r["key"]: r["n"] for r in running.run(batch)}
        assert dict(map(tuple, streamed.batches[number])) == expected
    assert running.state("new").n == 7
    rows = stored(spark, tmp_path, "state").select("key.key", "value.state").collect()
    states = {key: json.loads(text)["n"] for key, text in rows}
    assert states == {key[0]: value.n for key, value in running.states().items()}


def test_an_initial_state_of_other_keys_is_refused(spark: SparkSession) -> None:
    rows = spark.readStream.format("rate").load().selectExpr("string(value) key", "value")
    for schema, told in (
        ("id string, n long", "initial_state has no column key, which the rows are grouped by"),
        ("key long, n long", "initial_state.key is bigint, and the rows are grouped by a string"),
    ):
        with pytest.raises(DefinitionError) as refusal:
            applied(fns.Seeded(), initial_state=spark.createDataFrame([], schema))(rows)
        assert told in str(refusal.value)


def test_the_clocks_are_there_without_timers(spark: SparkSession, tmp_path: Path) -> None:
    streamed = run_more(spark, tmp_path, fns.clocks, events(batches=1, rows=10)[0])
    log = (tmp_path / "checkpoint" / "offsets" / "0").read_text().splitlines()[1]
    batch = datetime.fromtimestamp(json.loads(log)["batchTimestampMs"] / 1000, UTC)
    told = "The query has no watermark, but state.watermark was read."
    assert {(now.astimezone(UTC), why[: len(told)]) for now, why in streamed.rows()} == {
        (batch, told)
    }


@pytest.mark.parametrize("encoding", cases(["unsaferow"], ["avro"]))
def test_a_state_class_changes_under_a_checkpoint(
    spark: SparkSession, tmp_path: Path, encoding: str
) -> None:
    """A field or a part added, removed or widened, with either encoding of Spark's."""
    batches = events(batches=4, rows=30)
    with setting(spark, "spark.sql.streaming.stateStore.encodingFormat", encoding):
        answers = [
            {key: tuple(rest) for key, *rest in run_more(spark, tmp_path, fn, batch).rows()}
            for fn, batch in zip(
                (fns.evolve_1, fns.evolve_2, fns.evolve_3, fns.evolve_3), batches, strict=True
            )
        ]
        running = Harness(fns.evolve_1, by="key", operator="transformWithState", schema=SCHEMA)
        functions: list[Any] = [fns.evolve_1, fns.evolve_2, fns.evolve_3, fns.evolve_3]
        for fn, batch, answer in zip(functions, batches, answers, strict=True):
            running = running.restarted(fn)
            told = {key: tuple(rest) for key, *rest in (r.values() for r in running.run(batch))}
            assert told == answer
        with pytest.raises(StreamingQueryException) as failure:
            run_more(spark, tmp_path, fns.evolve_1, batches[0])
        assert "was written by version 2 of Evolve1" in str(failure.value)


@at_night
def test_a_part_that_became_another_is_refused_by_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    batch = events(batches=1)[0]
    run_more(spark, tmp_path, fns.evolve_1, batch)
    for fn, told in (
        (fns.evolve_kind, "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"),
        (fns.evolve_ttl, "STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"),
    ):
        with (
            setting(spark, "spark.sql.streaming.noDataMicroBatches.enabled", "false"),
            pytest.raises(StreamingQueryException) as failure,
        ):
            run_more(spark, tmp_path, fn, batch)
        assert told in str(failure.value)


def test_a_session_with_another_provider_is_told_so(spark: SparkSession) -> None:
    rows = spark.readStream.format("rate").load().selectExpr("string(value) key", "value")
    key = "spark.sql.streaming.stateStore.providerClass"
    with setting(spark, key, "org.apache.spark.NoProvider"), pytest.raises(SessionError) as refusal:
        applied(fns.silent)(rows)
    assert f"{key} is org.apache.spark.NoProvider: call bucketstate.configure" in str(refusal.value)
