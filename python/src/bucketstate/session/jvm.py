"""Spark as it runs in this process: its JVM and its session, and whether they have the jar.

A query needs the provider's class twice: on the driver, in whatever thread starts it, and in the
executors' tasks. A driver finds it by a class loader, and executors get the jars that their context
sends them. The JVM outlives its contexts: the next one of them finds what a class loader was given,
and does not send what the last one sent.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from bucketstate.config import PROVIDER_CLASS
from bucketstate.errors import SessionError
from bucketstate.jar import jar_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JARS = "spark.jars"
_OF_YARN = ("spark.yarn.dist.jars", "spark.yarn.secondary.jars")
"""Lists by which YARN gives jars to executors: there a context sends none of `spark.jars`."""

_TAKES_JARS = "org.apache.spark.util.MutableURLClassLoader"


def running_jvm() -> Any | None:
    """The JVM of this process, if one runs: started here, or by the `spark-submit` around us."""
    from pyspark import SparkContext

    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" in os.environ:
        SparkContext._ensure_initialized()
    return SparkContext._jvm if SparkContext._gateway is not None else None


def has_context() -> bool:
    """Whether a Spark context runs, for the plugins and jars of which it is too late."""
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None


def running_session() -> SparkSession | None:
    """The session that a builder's `getOrCreate` would return; None if it would make one.

    Spark calls a session active for the thread that made it, and for no other one of Python's.
    """
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    made = SparkSession._instantiatedSession
    return None if made is None or made._sc._jsc is None else made


def finds_class(jvm: Any) -> bool:
    """Whether all threads of the driver find the provider."""
    return _class_of(_loader(jvm)) is not None


def sends_jar(jvm: Any) -> bool:
    """Whether executors get the jar that the driver has the class from.

    Where no context runs, those of the next one are meant. What the JVM has on its own class path
    is taken for installed on executors, too.
    """
    if _class_of(jvm.java.lang.ClassLoader.getSystemClassLoader()) is not None:
        return True
    found = _class_of(_loader(jvm))
    return found is not None and _file_name(_jar_of(found)) in map(_file_name, _sent(jvm))


def add_jar(spark: SparkSession, jvm: Any) -> None:
    """Gives the jar to all threads of the driver, and to the context's executors.

    `ADD JAR` would give it to the one thread that runs it, and not from every folder.

    Raises:
        JarNotFoundError: the driver has no jar, and there is none for the session's Spark.
        SessionError: the driver's threads share no class loader that takes a jar, or the context
            does not send this one.
    """
    loader = _loader(jvm)
    found = _class_of(loader)
    if found is None:
        # As a URI it is read the same by Java and by Spark, whatever characters it has.
        jar = jvm.java.io.File(str(jar_path(spark.version))).toURI()
        if _takes_jars(jvm, loader):
            loader.addURL(jar.toURL())
    else:
        jar = _jar_of(found)
    context: Any = spark.sparkContext._jsc
    context.addJar(str(jar))
    if not sends_jar(jvm):
        raise SessionError(
            f"The Spark that runs here does not take {jar} any more, for all threads of its driver "
            'and for its executors. Start it with the jar: `spark-submit --jars "$(bucketstate '
            'jar)"`, or `bucketstate.configure(builder)` before there is a session.'
        )


def _loader(jvm: Any) -> Any:
    """The class loader that all threads of the driver share, which takes jars.

    `spark-submit` makes it, below which PySpark, too, starts its JVM. `ADD JAR` puts another one
    beneath it, for one thread. Where nothing made one it is whatever this thread has.
    """
    shared = each = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    while each is not None:
        if _takes_jars(jvm, each):
            shared = each
        each = each.getParent()
    return shared


def _takes_jars(jvm: Any, loader: Any) -> bool:
    return bool(jvm.py4j.reflection.TypeUtil.isInstanceOf(_TAKES_JARS, loader))


def _class_of(loader: Any) -> Any | None:
    from py4j.protocol import Py4JError

    try:
        return loader.loadClass(PROVIDER_CLASS)
    except Py4JError:
        return None


def _jar_of(found: Any) -> str:
    return str(found.getProtectionDomain().getCodeSource().getLocation())


def _sent(jvm: Any) -> list[str]:
    """The jars that executors get, as paths or URIs."""
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    if context is None:
        said = jvm.java.lang.System.getProperty
        lists = [said(key) for key in (JARS, *_OF_YARN)]
    else:
        said = context.getConf().get
        lists = [context._jsc.sc().listJars().mkString(","), *(said(key) for key in _OF_YARN)]
    return [jar for found in lists for jar in str(found or "").split(",")]


def _file_name(jar: str) -> str:
    return unquote(jar.rpartition("/")[2])
