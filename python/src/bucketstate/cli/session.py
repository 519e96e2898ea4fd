"""A Spark session of a command: its own, or the one that the process has."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from bucketstate.errors import InvalidArgumentError, SessionError
from bucketstate.optional import needed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _settings(given: list[str]) -> dict[str, str]:
    found = {}
    for setting in given:
        key, there, value = setting.partition("=")
        if not there:
            raise InvalidArgumentError(f"--conf {setting}: give it as KEY=VALUE.")
        found[key] = value
    return found


@contextmanager
def session(arguments: argparse.Namespace) -> Iterator[SparkSession]:
    """A session for the move alone; where the process has one, made by any thread, that."""
    given = _settings(arguments.conf)
    needed("pyspark.sql", extra="spark", what="Moving a checkpoint")
    from pyspark.sql import SparkSession

    from bucketstate.session.jvm import running_session

    running = running_session()
    if running is not None:
        yield running
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"bucketstate move {arguments.kind}")
    quiet = {
        "spark.master": arguments.master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        # So often it is known how far tasks have come.
        "spark.executor.heartbeatInterval": "1s",
    }
    for key, value in {**quiet, **given}.items():
        builder = builder.config(key, value)
    spark = _started(builder)
    try:
        yield spark
    finally:
        _stop(spark)


def _stop(spark: SparkSession) -> None:
    """Stops the session; where its JVM has ended, what was done with it has said so."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, OSError):
        spark.stop()


def _started(builder: SparkSession.Builder) -> SparkSession:
    """The builder's session. Raises SessionError where Spark does not start."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    from bucketstate.session import configure

    try:
        return configure(builder).getOrCreate()
    except Py4JJavaError as error:
        raise _not_started(error.java_exception.toString()) from error
    except (PySparkException, Py4JError) as error:
        raise _not_started(error) from error


def _not_started(cause: object) -> SessionError:
    first = next(iter(str(cause).splitlines()), "it says nothing of why")
    return SessionError(
        f"Spark cannot be started: {first.rstrip('.')}. Look at --master and --conf, and whether "
        "there is a Java of 17 or newer (on the PATH, or in JAVA_HOME)."
    )
