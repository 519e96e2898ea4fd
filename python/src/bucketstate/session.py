"""The ways into a Spark session: before its JVM starts, while it runs, or as a plain dict.

Spark reads `spark.jars` when its JVM starts. The class is then found everywhere: on the driver,
where the stream thread asks the provider for its metrics, and in the executors' tasks. Given to a
JVM that already runs, `spark.jars` reaches the executors only, and the query fails on the driver
with nothing but the class's name. `configure` therefore refuses that case, and `enable` serves it
with `ADD JAR`, which reaches both.

Spark reads `spark.sql.extensions` when a session is made, never later. Without the extension a
session runs everything but `transformWithState` and its forms for pandas; `enable` warns then.
Spark 4.1 runs these, too.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from bucketstate.config import EXTENSION_CLASS, EXTENSIONS_KEY, PROVIDER_CLASS, Conf
from bucketstate.errors import ExtensionMissingWarning, SessionError
from bucketstate.jar import jar_path, minor_of

JARS = "spark.jars"
FIXED = (JARS, EXTENSIONS_KEY)
"""Lists that `configure` adds to; nothing changes them in a session that runs."""

_RULE = "io.bucketstate.spark.plan.TransformWithStateRule"


def spark_settings(conf: Conf | None = None, *, spark: str | None = None) -> dict[str, str]:
    """The settings with jar and extension, for `spark-submit`, a notebook or a Connect server.

    `spark` is the version that will run, if it is another than that of the pyspark installed here.
    """
    jar = str(jar_path(spark))
    return {JARS: jar, EXTENSIONS_KEY: EXTENSION_CLASS, **(conf or Conf()).to_spark()}


def configure(builder: SparkSession.Builder, conf: Conf | None = None) -> SparkSession.Builder:
    """Adds jar, session extension and settings to a classic session's builder, and returns it.

    Jars and extensions that the builder already names are kept. Those named in
    `spark-defaults.conf` are not seen from here before Spark's JVM runs, and Spark lets the builder
    win: name those in the builder too.

    Raises SessionError if a JVM already runs without the jar: see `enable`. Warns with
    ExtensionMissingWarning if a session already runs without the extension, which the builder's
    `getOrCreate` would return.
    """
    options: dict[str, Any] = builder._options
    given = _listed(options.get(JARS))
    running = _jvm()
    if running is not None and not _loads(running):
        raise SessionError(
            f"A Spark JVM already runs in this process, without {PROVIDER_CLASS}; spark.jars is "
            "read only when the JVM starts. Call `bucketstate.enable(spark)` on the session, or "
            "start the process with `spark-submit --jars $(bucketstate jar)`."
        )
    # A JVM that has the class has it from its own spark.jars, which the builder would hide.
    if running is None or given:
        jar = str(jar_path())
        builder = builder.config(JARS, ",".join([*given, *([] if jar in given else [jar])]))
    extensions = _listed(options.get(EXTENSIONS_KEY) or _submitted(running, EXTENSIONS_KEY))
    if EXTENSION_CLASS not in extensions:
        # Spark runs the rules of the first one last: behind others that touch the same operators.
        builder = builder.config(EXTENSIONS_KEY, ",".join([EXTENSION_CLASS, *extensions]))
    for key, value in (conf or Conf()).to_spark().items():
        builder = builder.config(key, value)
    active = SparkSession.getActiveSession() if running is not None else None
    if active is not None:
        _warn_without_extension(active)
    return builder


def enable(spark: SparkSession, conf: Conf | None = None) -> SparkSession:
    """Turns the provider on in a classic session that already runs, for queries started after it.

    The jar is added with `ADD JAR` unless the session has it; then the settings are set. Warns with
    ExtensionMissingWarning if the session was made without the extension: its queries with
    `transformWithState` will not start.
    """
    settings = (conf or Conf()).to_spark()
    running = _jvm()
    if running is None:
        raise SessionError(
            "This is not a classic session with a JVM of its own. On Spark Connect, give the "
            "server the jar (`bucketstate conf --format flags`) and set `Conf().to_spark()` here."
        )
    if not _loads(running):
        jar = str(jar_path(spark.version)).replace("'", "\\'")
        spark.sql(f"ADD JAR '{jar}'")
    _warn_without_extension(spark)
    for key, value in settings.items():
        spark.conf.set(key, value)
    return spark


def _warn_without_extension(spark: SparkSession) -> None:
    """Looks for the rule, not the setting: of a class that it cannot find Spark only logs that."""
    if minor_of(spark.version) == "4.1":
        return  # It lets every provider keep the state of transformWithState.
    if _RULE not in spark._jsparkSession.sessionState().columnarRules().mkString(","):
        warnings.warn(
            f"This session was made without {EXTENSION_CLASS} and will not run transformWithState "
            f"or its forms for pandas on bucketstate. {EXTENSIONS_KEY} is read only when a session "
            "is made: use `bucketstate.configure(builder)`, or `spark-submit --jars "
            f"$(bucketstate jar) --conf {EXTENSIONS_KEY}={EXTENSION_CLASS}`. Everything else runs.",
            ExtensionMissingWarning,
            stacklevel=3,
        )


def _listed(names: Any) -> list[str]:
    return [name.strip() for name in str(names or "").split(",") if name.strip()]


def _submitted(running: Any | None, key: str) -> str:
    """What `spark-submit` was told, which the builder would hide."""
    return "" if running is None else str(running.java.lang.System.getProperty(key) or "")


def _jvm() -> Any | None:
    """The JVM of this process, if one runs: started here, or by the `spark-submit` around us."""
    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" in os.environ:
        SparkContext._ensure_initialized()
    return SparkContext._jvm if SparkContext._gateway is not None else None


def _loads(jvm: Any) -> bool:
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass(PROVIDER_CLASS)
    except Py4JError:
        return False
    return True
