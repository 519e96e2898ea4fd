"""What the demos leave out on a Spark that does not have it."""

from __future__ import annotations

from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from flights.__main__ import whole
from flights.demos import DEMOS
from flights.ways import ways_of, ways_table


@pytest.mark.parametrize(
    ("spark", "many"), [("4.0.5", [False]), ("4.1.4", [False, True]), ("4.3.0", [False, True])]
)
def test_only_ways_that_spark_has_are_measured(spark: str, many: list[bool]) -> None:
    assert list(ways_of(spark).values()) == many


def test_one_way_alone_is_no_table() -> None:
    session: Any = SimpleNamespace(version="4.0.5")
    assert ways_table(session) is None


@pytest.mark.parametrize(
    ("name", "spark", "runs"),
    [("demo", "4.0.5", True), ("demo-tws", "4.0.5", False), ("demo-tws", "4.1.4", True)],
)
def test_which_demo_a_spark_runs(name: str, spark: str, runs: bool) -> None:
    assert (DEMOS[name].refusal(spark) is None) == runs


def test_a_demo_that_spark_cannot_run_says_so_in_one_sentence() -> None:
    said = StringIO()
    assert whole(Console(file=said, width=60), DEMOS["demo-tws"], "4.0.5") == 1
    (line,) = said.getvalue().splitlines()
    assert line.startswith("demo-tws cannot run on Spark 4.0.5")
    assert "`make demo-tws SPARK=4.1`" in line
