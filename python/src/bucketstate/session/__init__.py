"""The ways into a Spark session: before its JVM starts, while it runs, or as a plain dict.

Spark reads `spark.jars` when its JVM starts. The class is then found everywhere: on the driver,
where the stream thread asks the provider for its metrics, and in the executors' tasks. Given to a
JVM that already runs, `spark.jars` reaches the executors only, and the query fails on the driver
with nothing but the class's name. `configure` therefore refuses that case, and `enable` serves it:
it gives the jar to the driver's class loader, too.

Spark reads `spark.plugins` when its context starts, and `spark.sql.extensions` when a session is
made, never later. The plugin names the extension. In an application that runs without the plugin
`configure` names the extension itself, for a session that is still to be made; without it a session
runs everything but `transformWithState` and its forms for pandas. Spark 4.0 and 4.1 run these, too.
Nothing brings back what else the plugin gives. `configure` and `enable` warn of what is missing.
"""

from __future__ import annotations

import logging
import os
import shlex
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bucketstate.config import (
    EXTENSION_CLASS,
    EXTENSIONS_KEY,
    PARTITIONS_KEY,
    PLUGIN_CLASS,
    PLUGINS_KEY,
    PROVIDER_CLASS,
    Conf,
)
from bucketstate.errors import (
    ExtensionMissingWarning,
    InvalidArgumentError,
    PluginMissingWarning,
    SessionError,
)
from bucketstate.jar import jar_path, minor_of
from bucketstate.session.jvm import (
    JARS,
    add_jar,
    finds_class,
    has_context,
    running_jvm,
    running_session,
    sends_jar,
)
from bucketstate.submission import ARGUMENTS, CLASS_KEYS, submission

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = logging.getLogger("bucketstate.session")

FIXED = (JARS, PLUGINS_KEY, EXTENSIONS_KEY)
"""Lists that `configure` adds to; nothing changes them in a session that runs."""

_OURS = "bucketstate-spark-"
"""What the provider's jars and coordinates begin with."""

_RULE = "io.bucketstate.spark.plan.TransformWithStateRule"


def spark_settings(
    conf: Conf | None = None,
    *,
    partitions: int | None = None,
    spark: str | None = None,
    jars: Iterable[str] = (),
    plugins: Iterable[str] = (),
) -> dict[str, str]:
    """The settings with jar and plugin, for `spark-submit`, a notebook or a Connect server.

    Args:
        conf: what is set besides; nothing without.
        partitions: see `configure`.
        spark: the version that will run, if it is another than that of the pyspark installed here.
        jars: others that the application needs. Of `spark.jars` and `--jars` Spark hears one.
        plugins: others that the application needs. Of `spark.plugins`, too, Spark hears one. The
            Connect server that PySpark starts by itself hears none of these.

    Raises:
        JarNotFoundError: there is no jar for that Spark.
        InvalidArgumentError: an argument is of a wrong type.
    """
    settings = _settings(conf, partitions)
    others, needed = _texts("jars", jars), _texts("plugins", plugins)
    return {
        JARS: ",".join(_with(str(jar_path(spark)), others)),
        PLUGINS_KEY: ",".join(with_plugin(needed)),
        **settings,
    }


def with_plugin(others: Iterable[str] = ()) -> list[str]:
    """The plugin that turns the provider on, and others."""
    # Before one that makes a session as it starts, as that of Spark Connect does.
    others = list(others)
    return others if PLUGIN_CLASS in others else [PLUGIN_CLASS, *others]


def _with_extension(others: list[str]) -> list[str]:
    # Spark runs the rules of the first one last: behind others that touch the same operators.
    return others if EXTENSION_CLASS in others else [EXTENSION_CLASS, *others]


def configure(
    builder: SparkSession.Builder, conf: Conf | None = None, *, partitions: int | None = None
) -> SparkSession.Builder:
    """Adds jar, plugin and settings to a classic session's builder, and returns it.

    Only those of the provider's settings are set that `conf` gives: what the builder,
    `spark-defaults.conf` or `--conf` say stays, but for these. Jars, plugins and extensions that
    any of them names are kept. Where Spark's context runs already, no plugin starts any more: the
    session extension is named then, and metrics and pages of the plugin are missing.

    Not for two threads at a time: it changes the builder. It looks at the session that the builder
    would return, whichever thread made that.

    Args:
        builder: with any settings of its own; not one that makes a client of Spark Connect.
        conf: what is set besides; nothing without.
        partitions: how many each stateful operator has, at least 1. It is Spark's
            `spark.sql.shuffle.partitions`, and the state of a checkpoint that has another number
            is rewritten in place before its query starts; that takes Spark 4.2 or newer. Without
            it a checkpoint keeps the number that it has.

    Raises:
        JarNotFoundError: there is no jar for this pyspark.
        SessionError: Spark already runs without the jar (see `enable`), or PYSPARK_SUBMIT_ARGS
            names jars without it, or a file of settings cannot be read, or the builder is of Spark
            Connect, or `partitions` is given and a session already runs without the extension.
        InvalidArgumentError: an argument is of a wrong type, or of no use beside another.

    Warns:
        ExtensionMissingWarning: a session already runs without the extension, which the builder's
            `getOrCreate` would return.
        PluginMissingWarning: a session already runs that has the extension, or needs none, in an
            application that was started without the plugin.
    """
    settings = _settings(conf, partitions)
    if isinstance(builder, type) or not hasattr(builder, "getOrCreate"):
        raise InvalidArgumentError(
            f"The builder is {builder!r}: give SparkSession.builder, with whatever it was told. "
            "For a session that runs there is bucketstate.enable."
        )
    options: dict[str, Any] = builder._options
    _refuse_connect(builder, options)
    running = running_jvm()
    sent = running is not None and sends_jar(running)
    if running is not None and not sent and (has_context() or not finds_class(running)):
        raise SessionError(
            f"Spark already runs in this process, without {PROVIDER_CLASS} for its driver and its "
            "executors; spark.jars is read only when it starts. Call `bucketstate.enable(spark)` "
            'on the session, or start the process with `spark-submit --jars "$(bucketstate jar)"`.'
        )
    hidden = _hidden(running, options)
    # Where the jar is sent anyway, the JVM's own spark.jars names it, which the builder would hide.
    jars = _listed(options.get(JARS) or ("" if sent else hidden.get(JARS)))
    if not sent or jars:
        builder = builder.config(JARS, ",".join(_with(str(jar_path()), jars)))
    if running is None or not has_context():
        plugins = _listed(options.get(PLUGINS_KEY) or hidden.get(PLUGINS_KEY))
        builder = builder.config(PLUGINS_KEY, ",".join(with_plugin(plugins)))
    else:
        extensions = _listed(options.get(EXTENSIONS_KEY) or hidden.get(EXTENSIONS_KEY))
        builder = builder.config(EXTENSIONS_KEY, ",".join(_with_extension(extensions)))
    _log.info("the session's builder gets %s, and jars beside %s", settings, jars)
    for key, value in settings.items():
        builder = builder.config(key, value)
    returned = running_session() if running is not None else None
    if returned is not None:
        _look_for_the_rest(returned, partitions)
    return builder


def enable(
    spark: SparkSession, conf: Conf | None = None, *, partitions: int | None = None
) -> SparkSession:
    """Turns the provider on in a classic session that already runs, for queries started after it.

    The jar is given to all threads of the driver and to the executors, unless they have it; then
    what `conf` gives is set. The session's other settings stay, those of the provider, too. Call it
    again for a session that is made after this one was stopped.

    Args:
        spark: a classic session.
        conf: what is set besides; nothing without.
        partitions: see `configure`.

    Raises:
        JarNotFoundError: the session has no jar, and there is none for its Spark.
        SessionError: the session is not a classic one, or its Spark does not take the jar any
            more, or `partitions` is given and it was made without the extension.
        InvalidArgumentError: an argument is of a wrong type.

    Warns:
        ExtensionMissingWarning: the session was made without the extension: its queries with
            `transformWithState` will not start.
        PluginMissingWarning: the session has the extension, or needs none, and its application
            was started without the plugin.
    """
    settings = _settings(conf, partitions)
    if isinstance(spark, type) or not hasattr(spark, "conf"):
        raise InvalidArgumentError(
            f"The session is {spark!r}: give one, as builder.getOrCreate() returns it. For a "
            "builder there is bucketstate.configure."
        )
    running = running_jvm()
    # A server of Spark Connect may be in this process; the session is not classic for that.
    if running is None or not hasattr(spark, "_jsparkSession"):
        raise SessionError(
            "This is not a classic session with a JVM of its own. On Spark Connect, give the "
            "server the jar (`bucketstate conf --format flags`) and set `Conf().to_spark()` here."
        )
    if not sends_jar(running):
        add_jar(spark, running)
        _log.info("added the jar to the session")
    _look_for_the_rest(spark, partitions)
    _log.info("the session gets %s", settings)
    for key, value in settings.items():
        spark.conf.set(key, value)
    return spark


def _refuse_connect(builder: Any, options: Mapping[str, Any]) -> None:
    """Refuses a builder whose `getOrCreate` makes a client of Spark Connect, as that finds out."""
    from pyspark.util import default_api_mode

    mode = str(options.get("spark.api.mode", os.environ.get("SPARK_API_MODE", ""))).lower()
    if mode not in ("classic", "connect"):
        mode = default_api_mode()
    said = {
        "spark.remote": "spark.remote" in options,
        "SPARK_REMOTE": "SPARK_REMOTE" in os.environ,
        "SPARK_CONNECT_MODE_ENABLED": "SPARK_CONNECT_MODE_ENABLED" in os.environ,
        "spark.api.mode=connect": mode == "connect",
        "its class": type(builder).__module__.startswith("pyspark.sql.connect."),
    }
    by = next((name for name, found in said.items() if found), None)
    if by is not None:
        raise SessionError(
            f"The builder makes a client of Spark Connect (by {by}), and jar and plugin are for "
            "the server: start that with `start-connect-server.sh $(bucketstate conf --format "
            "flags)`. To a server that PySpark starts by itself give the settings of "
            "`bucketstate.spark_settings()`, and `bucketstate.EXTENSION_CLASS` as "
            f"{EXTENSIONS_KEY}, by `builder.config`."
        )


def _look_for_the_rest(spark: SparkSession, partitions: int | None) -> None:
    """Looks for what cannot be had any more, and says all of it at once."""
    has_extension = _has_extension(spark)
    if partitions is not None and not has_extension:
        raise SessionError(
            f"partitions={partitions} needs {EXTENSION_CLASS}, and this session was made without: "
            f"{EXTENSIONS_KEY} is read only when a session is made. Use "
            "`bucketstate.configure(builder, partitions=...)` for a new application, or rewrite "
            "the checkpoint by `bucketstate move rewrite --in-place`."
        )
    has_plugin = PLUGIN_CLASS in _listed(spark.sparkContext.getConf().get(PLUGINS_KEY, ""))
    # Spark 4.0 and 4.1 let every provider keep the state of transformWithState.
    refuses = not has_extension and minor_of(spark.version) not in ("4.0", "4.1")
    missing = []
    if refuses:
        missing.append(
            f"This session was made without {EXTENSION_CLASS} and will not run transformWithState "
            f"or its forms for pandas on bucketstate: {EXTENSIONS_KEY} is read only when a session "
            "is made."
        )
    if not has_plugin:
        missing.append(
            f"This application was started without {PLUGIN_CLASS}. It has no metrics of its state "
            "stores for Prometheus or Spark's sinks, no tab State in Spark's web UI, and no "
            f"warm-up before the first batch: {PLUGINS_KEY} is read only when Spark starts."
        )
    queries = "All queries run"
    if refuses:
        queries = "Other queries run"
    elif not has_extension and minor_of(spark.version) != "4.0":
        queries += ' but stateful.apply(operator="transformWithState")'
    if missing:
        warnings.warn(
            f"{' '.join(missing)} To have all, start the application with "
            '`bucketstate.configure(builder)`, or with `spark-submit --jars "$(bucketstate jar)" '
            f"--conf {PLUGINS_KEY}={PLUGIN_CLASS}`. {queries}.",
            ExtensionMissingWarning if refuses else PluginMissingWarning,
            stacklevel=3,
        )


def _has_extension(spark: SparkSession) -> bool:
    """Looks for the rule, not the setting: of a class that it cannot find Spark only logs that."""
    return _RULE in spark._jsparkSession.sessionState().columnarRules().mkString(",")


def _hidden(running: Any | None, options: Mapping[str, Any]) -> dict[str, str]:
    """Lists that Spark was told of, or will be, and that the builder would hide."""
    if running is not None:
        # What `spark-submit` was told.
        said = running.java.lang.System.getProperty
        return {key: str(said(key) or "") for key in FIXED}
    told = submission()
    named = told.arguments.get(JARS)
    classes = [str(options.get(key) or told.get(key)) for key in CLASS_KEYS if key != JARS]
    if named and not any(_OURS in text for text in [named, *classes]):
        # The JVM's class path is made of the arguments' jars alone, if they name any.
        raise SessionError(
            f"{ARGUMENTS} names jars ({named}), and Spark's JVM would not hear of others: name the "
            f"provider's there, too, as --jars {shlex.quote(f'{named},{jar_path()}')}, or name "
            "yours in the builder's spark.jars instead."
        )
    return {key: told.get(key) for key in FIXED}


def _settings(conf: Any, partitions: Any) -> dict[str, str]:
    if conf is not None and not isinstance(conf, Conf):
        raise InvalidArgumentError(
            f"conf is {conf!r}: give a bucketstate.Conf, such as Conf(num_buckets=64). "
            "Conf.from_spark makes one of settings by Spark's keys."
        )
    given = Conf() if conf is None else conf
    if partitions is None:
        return given.to_spark()
    if isinstance(partitions, bool) or not isinstance(partitions, int):
        raise InvalidArgumentError(f"partitions is {partitions!r}: give a whole number.")
    if not 1 <= partitions < 2**31:
        raise InvalidArgumentError(f"partitions is {partitions}: give a number of at least 1.")
    if given.partitions == "checkpoint":
        raise InvalidArgumentError(
            f"partitions={partitions} and Conf(partitions='checkpoint') contradict each other: "
            "leave one out."
        )
    return {
        **replace(given, partitions="session").to_spark(),
        PARTITIONS_KEY: str(partitions),
    }


def _texts(name: str, given: Any) -> list[str]:
    several = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    found: list[Any] = list(given) if several else [None]
    if not all(isinstance(each, str) for each in found):
        raise InvalidArgumentError(f"{name} is {given!r}: give a list of texts.")
    return found


def _with(jar: str, others: Iterable[str]) -> list[str]:
    others = list(others)
    return others if jar in others else [*others, jar]


def _listed(names: Any) -> list[str]:
    return [name.strip() for name in str(names or "").split(",") if name.strip()]
