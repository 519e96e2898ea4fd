"""The fixture `bucketstate_spark` beside a session that runs already."""

from __future__ import annotations

import re
from argparse import Namespace
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from bucketstate import PROVIDER_CLASS, Conf, SessionError, enable
from bucketstate.cli.session import session as session_of_a_command
from bucketstate.config import PROVIDER_KEY
from bucketstate.registry import registry
from bucketstate.testing.session import local_session
from tests.kit.session_settings import settings

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

BUCKETS = registry().prefix + "numBuckets"
MODE = registry().prefix + "snapshot.mode"
SHUFFLE = "spark.sql.shuffle.partitions"
OTHER = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

beside = contextmanager(local_session)


def held(session: SparkSession) -> dict[str, str | None]:
    return {key: session.conf.get(key, None) for key in (PROVIDER_KEY, BUCKETS, MODE, SHUFFLE)}


def test_its_settings_hold_for_a_while(spark: SparkSession) -> None:
    with settings(spark, {PROVIDER_KEY: OTHER, BUCKETS: "128", SHUFFLE: "3"}):
        before = held(spark)
        assert before[MODE] is None
        with beside({MODE: "sync", SHUFFLE: "7"}) as session:
            assert session is spark
            assert held(spark) == {
                PROVIDER_KEY: PROVIDER_CLASS,
                BUCKETS: "128",
                MODE: "sync",
                SHUFFLE: "7",
            }
        assert held(spark) == before
        with pytest.raises(ValueError, match="a test fails"), beside({SHUFFLE: "7"}):
            raise ValueError("a test fails")
        assert held(spark) == before
    assert spark.range(3).count() == 3


def test_what_a_session_has_to_be_made_with_is_refused(spark: SparkSession) -> None:
    before = held(spark)
    late = {
        "spark.driver.memory": "9g",
        "spark.master": "local[9]",
        "spark.sql.extensions": "x.Y",
        "spark.sql.warehouse.dir": "elsewhere",
    }
    expected = "cannot be given " + ", ".join(f"{k}={v}" for k, v in late.items()) + " any more"
    late |= {SHUFFLE: "7", MODE: "sync"}
    with pytest.raises(SessionError, match=re.escape(expected)), beside(late):
        pytest.fail("it goes on")
    assert held(spark) == before
    there = {key: str(spark.conf.get(key)) for key in ("spark.master", "spark.sql.extensions")}
    with beside(there) as session:
        assert session is spark


@pytest.mark.parametrize(
    "opened", [beside, lambda: session_of_a_command(Namespace(conf=[], kind="", master="local"))]
)
def test_a_session_of_another_thread_is_there_too(spark: SparkSession, opened: Any) -> None:
    """Another one would be no other for Spark, and would be stopped at the end."""

    def entered() -> SparkSession:
        held: AbstractContextManager[SparkSession] = opened()
        with held as session:
            return session

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(entered).result() is spark
    assert spark.range(3).count() == 3


def test_enabling_again_sets_what_is_given_and_no_more(spark: SparkSession) -> None:
    with settings(spark, {BUCKETS: "128", MODE: "sync"}):
        enable(spark)
        assert (spark.conf.get(BUCKETS), spark.conf.get(MODE)) == ("128", "sync")
        enable(spark, Conf(num_buckets=64))
        assert (spark.conf.get(BUCKETS), spark.conf.get(MODE)) == ("64", "sync")


@pytest.mark.parametrize("name", ["low-latency", "large-state", "small-files"])
def test_a_session_that_runs_takes_every_preset(spark: SparkSession, name: Any) -> None:
    preset = Conf.preset(name).to_spark()
    with settings(spark, preset):
        enable(spark, Conf.preset(name))
        assert {key: spark.conf.get(key) for key in preset} == preset
