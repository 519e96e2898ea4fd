"""Keys of 0.0 and -0.0, which functions have states of each of, and aggregations one state of."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from bucketstate import stateful
from bucketstate.checkpoint import Checkpoint
from bucketstate.live import Live
from bucketstate.stateful import MapState, State, ValueState
from bucketstate.testing import Harness
from tests.integration.following import needs_rows
from tests.integration.streams import Streamed, start, write_batches
from tests.kit.cases import at_night

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

ARROW = pa.schema([("key", pa.float64()), ("n", pa.int64())])
SCHEMA = "key double, n long"
OTHERS = [float(n) for n in range(1, 8)]


@dataclass
class Kept:
    n: int = 0
    last: ValueState[int] = field(default_factory=ValueState)
    seen: MapState[float, int] = field(default_factory=MapState)


def keep(key: Any, rows: list[dict], state: State[Kept]) -> None:  # type: ignore[type-arg]
    state.value.n += sum(row["n"] for row in rows)
    # The state of -0.0 has no such parts.
    if math.copysign(1, key.key) > 0:
        state.value.last.update(state.value.n)
        state.value.seen.updateValue(1.0, state.value.n)


def run(spark: SparkSession, folder: Path, query: Any, rows: list[dict[str, Any]]) -> Checkpoint:
    # Within a batch Spark brings the rows of both together.
    by_sign: dict[float, list[dict[str, Any]]] = {1.0: [], -1.0: []}
    for row in rows:
        by_sign[math.copysign(1, row["key"])].append(row)
    write_batches(folder / "input", ARROW, [*by_sign.values()])
    reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    source = reader.parquet(str(folder / "input"))
    assert start(query(source), folder / "checkpoint", Streamed(), "update").awaitTermination(150)
    return Checkpoint(folder / "checkpoint")


def of(value: Kept | None) -> Any:
    if value is None:
        return None
    return value.n, value.last.get() if value.last.exists() else None, dict(value.seen.iterator())


EXPECTED = {"0.0": (3, 3, {1.0: 3}), "-0.0": (40, None, {})}


@pytest.mark.parametrize("others", [[], OTHERS], ids=["two keys", "nine keys"])
@pytest.mark.parametrize(
    "operator", ["applyInPandasWithState", pytest.param("transformWithState", marks=needs_rows)]
)
def test_a_function_has_a_state_of_each(
    spark: SparkSession, tmp_path: Path, operator: Any, others: list[float]
) -> None:
    def query(rows: DataFrame) -> DataFrame:
        return stateful.apply(rows, by="key", fn=keep, output_mode="update", operator=operator)

    rows = [{"key": 0.0, "n": 3}, {"key": -0.0, "n": 40}, *({"key": k, "n": 5} for k in others)]
    found = run(spark, tmp_path, query, rows)
    scan = found.scan(decode=Kept)
    keys = {"0.0": 0.0, "-0.0": -0.0}
    assert {name: of(scan.get(key)) for name, key in keys.items()} == EXPECTED
    for name, key in keys.items():
        (row,) = found.scan(decode=Kept, key=key).to_arrow().to_pylist()
        assert repr(row["key"]["key"]) == name
        assert (row["state"]["n"], row["state"]["last"]) == EXPECTED[name][:2]
    every = {repr(r["key"]["key"]): r["state"] for r in scan.to_arrow().to_pylist()}
    assert len(every) == len(rows)
    for name, (n, last, seen) in EXPECTED.items():
        assert (every[name]["n"], every[name]["last"], dict(every[name]["seen"])) == (n, last, seen)
    harness = Harness.from_checkpoint(
        tmp_path / "checkpoint", keep, by="key", keys=[0.0, -0.0], schema=SCHEMA
    )
    assert sorted(map(of, harness.states().values())) == sorted(EXPECTED.values())
    with Live(tmp_path / "checkpoint", decode=Kept) as live:
        assert {name: of(live.get(key).value) for name, key in keys.items()} == EXPECTED


@needs_rows
@at_night
def test_the_parts_of_one_are_not_the_others(spark: SparkSession, tmp_path: Path) -> None:
    """A harness that starts with a key that the checkpoint has not starts with nothing of it."""

    def query(rows: DataFrame) -> DataFrame:
        return stateful.apply(
            rows, by="key", fn=keep, output_mode="update", operator="transformWithState"
        )

    run(spark, tmp_path, query, [{"key": 0.0, "n": 3}])
    harness = Harness.from_checkpoint(
        tmp_path / "checkpoint", keep, by="key", keys=[0.0, -0.0], schema=SCHEMA
    )
    assert [of(value) for value in harness.states().values()] == [EXPECTED["0.0"]]


def test_an_aggregation_has_one_of_both(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"key": 0.0, "n": 3}, {"key": -0.0, "n": 40}]
    found = run(spark, tmp_path, lambda rows: rows.groupBy("key").sum("n"), rows)
    for key in (0.0, -0.0, 0):
        assert found.scan().get(key) == {"sum": 43}
        assert found.scan(key=key).to_arrow().num_rows == 1
    with Live(tmp_path / "checkpoint") as live:
        assert live.get(-0.0).value == {"sum": 43}
