"""A small local Spark session with the provider, for tests."""

from __future__ import annotations

import os
import sys
import warnings
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from bucketstate.config import PROVIDER_KEY
from bucketstate.errors import PluginMissingWarning, SessionError
from bucketstate.session import FIXED, configure, enable
from bucketstate.session.jvm import running_session

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # Runs this short end before the JVM's optimising compiler has paid for itself; but the room for
    # code is a fifth then, which Spark's generated classes fill: the JVM sweeps it all the time.
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -Xss4m"
    ),
}
"""What makes Spark start and run short queries quickly."""


_OF_SESSIONS = "spark.sql."
"""What others begin with has to be there when Spark starts, if it was."""


def local_session(settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Yields a session with two cores and stops it.

    A session that runs already, made by any thread, is yielded instead, with the provider and
    `settings` until it is done with: then it runs on, with the settings that it had.

    Args:
        settings: win over SETTINGS, and over the provider's defaults; jars and extensions among
            them are added to.

    Raises SessionError if that session cannot be given one of the settings any more.
    """
    wanted = dict(settings or {})
    running = running_session()
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


def _beside(session: SparkSession, wanted: Mapping[str, str]) -> Iterator[SparkSession]:
    """The session of others, with settings of ours for a while."""
    before = {key: session.conf.get(key, None) for key in (PROVIDER_KEY, *wanted)}
    try:
        with warnings.catch_warnings():
            # A test of a query needs nothing that an operator looks at.
            warnings.simplefilter("ignore", PluginMissingWarning)
            enable(session)
        late = {key: text for key, text in wanted.items() if not _has(session, key, text)}
        if late:
            named = ", ".join(f"{key}={text}" for key, text in sorted(late.items()))
            raise SessionError(
                f"A session is active already, which cannot be given {named} any more: that is "
                "read when a session is made. Make that session with it, stop that session before, "
                "or leave it out of bucketstate_spark_settings."
            )
        yield session
    finally:
        for key, value in before.items():
            if value == session.conf.get(key, None):
                continue
            if value is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, value)


def _has(session: SparkSession, key: str, value: str) -> bool:
    """Whether a session has a setting, of a list all of it, or has it now."""
    made_with = session.sparkContext.getConf().get(key)
    found = session.conf.get(key, None) if made_with is None else made_with
    if key in FIXED:
        return set(value.split(",")) <= set((found or "").split(","))
    if not key.startswith(_OF_SESSIONS) and made_with is not None:
        return value == made_with
    if value == session.conf.get(key, None):
        return True
    try:
        session.conf.set(key, value)
    except AnalysisException:
        return False
    return True
