"""A small local Spark session with the provider, for tests."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from bucketstate.config import PROVIDER_KEY
from bucketstate.errors import SessionError
from bucketstate.session import FIXED, configure, enable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # Runs this short end before the JVM's optimising compiler has paid for itself.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -Xss4m",
}
"""What makes Spark start and run short queries quickly."""


def local_session(settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Yields a session with two cores and stops it.

    A session that is active already is yielded instead, with the provider and `settings` until it
    is done with: then it runs on, with the settings that it had.

    Args:
        settings: win over SETTINGS, and over the provider's defaults; jars and extensions among
            them are added to.

    Raises SessionError if the active session cannot be given one of the settings any more.
    """
    wanted = dict(settings or {})
    running = SparkSession.getActiveSession()
    if running is not None:
        yield from _beside(running, wanted)
        return
    # The workers have to be of the interpreter that runs the tests.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("bucketstate tests").master("local[2]")
    for key, value in {**SETTINGS, **wanted}.items():
        builder = builder.config(key, value)
    session = configure(builder).getOrCreate()
    yield session
    session.stop()


def _beside(session: SparkSession, wanted: dict[str, str]) -> Iterator[SparkSession]:
    """The session of others, with settings of ours for a while."""
    fixed = {key for key in wanted if not session.conf.isModifiable(key)}
    late = {key: wanted[key] for key in fixed if not _holds(session, key, wanted[key])}
    if late:
        named = ", ".join(f"{key}={value}" for key, value in sorted(late.items()))
        raise SessionError(
            f"A session is active already, which cannot be given {named} any more: that is read "
            "when a session is made. Make that session with it, stop that session before, or leave "
            "it out of bucketstate_spark_settings."
        )
    changed = [PROVIDER_KEY, *sorted(wanted.keys() - fixed)]
    before = {key: session.conf.get(key, None) for key in changed}
    try:
        enable(session)
        for key in changed[1:]:
            session.conf.set(key, wanted[key])
        yield session
    finally:
        for key, value in before.items():
            if value is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, value)


def _holds(session: SparkSession, key: str, value: str) -> bool:
    """Whether a session has what is asked for; of a list, all of it."""
    found = session.sparkContext.getConf().get(key) or session.conf.get(key, None)
    if key in FIXED:
        return set(value.split(",")) <= set((found or "").split(","))
    return found == value
