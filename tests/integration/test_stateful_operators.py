"""One function on both operators and in the harness: the same random batches, the same answers."""

from __future__ import annotations

import json
import random
import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from bucketstate import stateful
from bucketstate.stateful.codec.containers import OptionalCodec
from bucketstate.stateful.run.definition import output_codec
from bucketstate.stateful.run.operators import Operator
from bucketstate.testing import Harness
from tests.integration.following import needs_rows
from tests.integration.streams import START, Streamed, offset_log, start, write_batches
from tests.integration.test_stateful_semantics import DELAY, STEPS
from tests.kit.cases import ALL, cases
from tests.kit.scripted_parts import OPERATIONS, SCHEMA, Report, Scripted, Step

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from bucketstate.stateful.run.handle import Timeout

pytestmark = needs_rows

EXAMPLES = 2 if ALL else 1
OPERATORS: tuple[Operator, ...] = ("applyInPandasWithState", "transformWithState")
ZONE = "Asia/Kolkata"


@st.composite
def histories(draw: st.DrawFn) -> list[list[dict[str, Any]]]:
    """Batches whose event time moves on unevenly, some rows late, of many keys, one null."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    return [
        [
            {
                "at": START + timedelta(minutes=45 * number + chance.randrange(-90, 45)),
                "key": None if (key := chance.randrange(60)) == 0 else f"k{key}",
                "seq": seq,
                "op": chance.choice(OPERATIONS),
                "value": chance.randrange(120),
            }
            for seq in range(chance.choice([150, 400]))
        ]
        for number in range(4)
    ]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("timeout", cases(["event"], ["processing"]))
def test_both_operators_and_the_harness_answer_alike(
    spark: SparkSession, tmp_path: Path, timeout: Timeout
) -> None:
    # By the clock there is always one more batch to run, and the query would never end.
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", timeout == "event")
    spark.conf.set("spark.sql.session.timeZone", ZONE)
    agreed: Counter[str] = Counter()

    @seed(20261123)
    @settings(
        max_examples=EXAMPLES,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(histories())
    def run(batches: list[list[dict[str, Any]]]) -> None:
        answers = []
        for operator in OPERATORS:
            folder = tmp_path / operator
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            answers.append(compare(spark, folder, batches, operator, timeout, agreed))
        if timeout == "event":
            assert answers[0] == answers[1]

    try:
        run()
    finally:
        spark.conf.unset("spark.sql.streaming.noDataMicroBatches.enabled")
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    # What was compared is of every kind.
    assert agreed["rows"] > 100 * EXAMPLES
    assert agreed["after"] > 100 * EXAMPLES
    assert agreed["timer"] > 10 * EXAMPLES


def compare(
    spark: SparkSession,
    folder: Path,
    batches: list[list[dict[str, Any]]],
    operator: Operator,
    timeout: Timeout,
    agreed: Counter[str],
) -> list[list[str]]:
    """Runs Spark and both harnesses by the clocks of Spark's batches; returns what they said."""
    streamed = run_in_spark(spark, folder, batches, operator, timeout)
    harnesses = [harness(o, timeout) for o in OPERATORS]
    answers = []
    taken = 0
    for number, (clocks, files) in enumerate(offset_log(folder)):
        rows = streamed.get(number, [])
        found = Counter(map(text, rows))
        for n, running in enumerate(harnesses):
            if number == 3:
                running = harnesses[n] = running.restarted()
            assert aware(running.watermark) == clocks["batchWatermarkMs"]
            running.clock = datetime.fromtimestamp(clocks["batchTimestampMs"] / 1000, UTC)
            told = Counter(map(text, running.run(batches[taken] if files > taken else ())))
            assert (told - found, found - told) == (Counter(), Counter())
        taken = files
        agreed.update(row["why"] for row in rows)
        answers.append(sorted(map(untimed, rows)))
    assert taken == len(batches)
    states = [{k: repr_of(v) for k, v in running.states().items()} for running in harnesses]
    assert states[0] == states[1]
    return answers


def untimed(row: dict[str, Any]) -> str:
    return text({name: value for name, value in row.items() if name != "now"})


def text(row: dict[str, Any]) -> str:
    """Equal for equal rows: the elements of a set have no order."""
    return repr(row | {"ids": sorted(map(str, row["ids"]))})


def repr_of(value: Any) -> str:
    return repr((value.total, value.seen)) + Scripted(True).parts(value)


def harness(operator: Operator, timeout: Timeout) -> Harness:
    function = Scripted(timeout == "event")
    return Harness(
        stateful.define(function, state=function.state),
        by="key",
        operator=operator,
        schema=Step,
        timeout=timeout,
        event_time="at",
        delay=DELAY,
        time_zone=ZONE,
    )


def run_in_spark(
    spark: SparkSession,
    folder: Path,
    batches: list[list[dict[str, Any]]],
    operator: Operator,
    timeout: Timeout,
) -> dict[int, list[dict[str, Any]]]:
    """With a restart in the middle."""
    function = Scripted(timeout == "event")
    streamed = Streamed()
    for part in (batches[:2], batches[2:]):
        write_batches(folder / "input", STEPS, part)
        source = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        steps = source.parquet(str(folder / "input")).withWatermark("at", "20 minutes")
        reports = steps.transform(
            stateful.apply,
            by="key",
            fn=stateful.define(function, state=function.state),
            operator=operator,
            output_mode="update",
            timeout=timeout,
        )
        query = start(reports, folder / "checkpoint", streamed, "update")
        assert query.awaitTermination(300)
        streamed.progress += [json.loads(p.json) for p in query.recentProgress]
    streamed.assert_on_bucketstate()
    return {
        number: [typed(tuple(map(aware_in_utc, row))) for row in rows]
        for number, rows in streamed.batches.items()
    }


OUTPUT = output_codec(Report, ZoneInfo(ZONE))


def typed(row: tuple[Any, ...]) -> dict[str, Any]:
    """As the harness gives it."""
    values = zip(OUTPUT.fields, row, strict=True)
    return {field.name: OptionalCodec(field.codec).cell(value) for field, value in values}


def aware_in_utc(value: Any) -> Any:
    """`collect` gives datetimes in the time zone of this machine."""
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def aware(at: datetime | None) -> int:
    assert at is not None
    return int(at.replace(tzinfo=ZoneInfo(ZONE)).timestamp() * 1000)
