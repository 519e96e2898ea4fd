"""Whether the driver's threads and the executors have the jar, in JVMs that are made up here."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyspark
import pytest
from py4j.protocol import Py4JError
from pyspark import SparkContext

from bucketstate import SessionError, jar_path
from bucketstate.session.jvm import add_jar, finds_class, sends_jar

JAR = jar_path().as_uri()


@dataclass
class Loader:
    """A class loader: it finds what those above it find, and what is in its own jars."""

    parent: Loader | None = None
    jars: list[str] = field(default_factory=list)
    takes: bool = True

    def getParent(self) -> Loader | None:
        return self.parent

    def addURL(self, url: str) -> None:  # noqa: N802
        self.jars.append(url)

    def loadClass(self, name: str) -> Any:  # noqa: N802
        if self.parent is not None:
            with suppress(Py4JError):
                return self.parent.loadClass(name)
        if not self.jars:
            raise Py4JError("java.lang.ClassNotFoundException")
        source = SimpleNamespace(getLocation=lambda: self.jars[0])
        return SimpleNamespace(
            getProtectionDomain=lambda: SimpleNamespace(getCodeSource=lambda: source)
        )


class File:
    def __init__(self, path: str) -> None:
        self._uri = Path(path).as_uri()

    def toURI(self) -> File:  # noqa: N802
        return self

    def toURL(self) -> str:  # noqa: N802
        return self._uri

    def __str__(self) -> str:
        return self._uri


@dataclass
class Context:
    """A context of Spark's, as Python and as the JVM has it."""

    settings: dict[str, str] = field(default_factory=dict)
    jars: list[str] = field(default_factory=list)

    @property
    def _jsc(self) -> Any:
        listed = SimpleNamespace(mkString=lambda between: between.join(self.jars))
        return SimpleNamespace(
            addJar=self.jars.append, sc=lambda: SimpleNamespace(listJars=lambda: listed)
        )

    def getConf(self) -> dict[str, str]:
        return self.settings


def jvm(loader: Loader, system: Loader, **properties: str) -> Any:
    """A JVM one of whose threads has a class loader."""
    said = {name.replace("_", "."): value for name, value in properties.items()}
    thread = SimpleNamespace(getContextClassLoader=lambda: loader)
    lang = SimpleNamespace(
        Thread=SimpleNamespace(currentThread=lambda: thread),
        ClassLoader=SimpleNamespace(getSystemClassLoader=lambda: system),
        System=SimpleNamespace(getProperty=said.get),
    )
    kinds = SimpleNamespace(isInstanceOf=lambda _, each: each.takes)
    return SimpleNamespace(
        java=SimpleNamespace(lang=lang, io=SimpleNamespace(File=File)),
        py4j=SimpleNamespace(reflection=SimpleNamespace(TypeUtil=kinds)),
    )


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch) -> Context:
    made = Context()
    monkeypatch.setattr(SparkContext, "_active_spark_context", made)
    return made


def test_what_one_thread_finds_is_not_found_by_all() -> None:
    system = Loader(takes=False)
    shared = Loader(system)
    assert not finds_class(jvm(Loader(shared, [JAR]), system))
    shared.addURL(JAR)
    assert finds_class(jvm(Loader(shared), system))


def test_executors_have_what_their_context_sends_and_the_class_path_names(context: Context) -> None:
    system = Loader(takes=False)
    here = jvm(Loader(system, [JAR]), system, spark_jars=JAR)
    assert not sends_jar(here), "the JVM's own settings are read when a context starts"
    context.jars = [f"spark://driver:1/jars/{jar_path().name}"]
    assert sends_jar(here)
    context.jars = ["spark://driver:1/jars/another.jar"]
    assert not sends_jar(here)
    system.addURL(JAR)
    assert sends_jar(here)


def test_yarn_s_executors_have_other_lists(context: Context) -> None:
    system = Loader(takes=False)
    for key in ("spark.yarn.dist.jars", "spark.yarn.secondary.jars"):
        context.settings = {key: f"other.jar,{jar_path()}"}
        assert sends_jar(jvm(Loader(system, [JAR]), system))


@pytest.mark.parametrize("key", ["spark_jars", "spark_yarn_dist_jars"])
def test_a_context_to_come_sends_what_the_jvm_was_told(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    system = Loader(takes=False)
    loader = Loader(system, ["file:/some%20folder/my%20jar.jar"])
    assert not sends_jar(jvm(loader, system))
    assert sends_jar(jvm(loader, system, **{key: "a.jar,/some folder/my jar.jar"}))


def test_a_jar_is_given_to_all_threads_and_to_executors(context: Context) -> None:
    system = Loader(takes=False)
    shared = Loader(system)
    here = jvm(Loader(shared), system)
    spark: Any = SimpleNamespace(version=pyspark.__version__, sparkContext=context)
    add_jar(spark, here)
    assert shared.jars == context.jars == [JAR]
    # The driver keeps the class: the next context sends the jar that it is from.
    context.jars = []
    shared.jars = ["file:/mine.jar"]
    add_jar(spark, here)
    assert context.jars == ["file:/mine.jar"]


def test_a_jvm_that_takes_no_jars_is_refused(context: Context) -> None:
    system = Loader(takes=False)
    spark: Any = SimpleNamespace(version=pyspark.__version__, sparkContext=context)
    with pytest.raises(SessionError, match=r"does not take file:.*\.jar any more.*--jars"):
        add_jar(spark, jvm(system, system))
