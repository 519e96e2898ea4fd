"""What `configure` tells a builder before any JVM runs: nothing over what others have said."""

from __future__ import annotations

import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

import bucketstate
from bucketstate import (
    PLUGIN_CLASS,
    PROVIDER_CLASS,
    Conf,
    InvalidArgumentError,
    SessionError,
    configure,
    enable,
    jar_path,
    spark_settings,
)
from bucketstate.config import PLUGINS_KEY, PROVIDER_KEY
from bucketstate.session.jvm import JARS
from bucketstate.submission import submission

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX = "spark.sql.streaming.stateStore.bucketed."
OF_CONNECT = ("SPARK_REMOTE", "SPARK_API_MODE", "SPARK_CONNECT_MODE", "SPARK_CONNECT_MODE_ENABLED")
UNTYPED: Any = bucketstate


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of Spark's settings, in a process in which no JVM runs."""
    monkeypatch.setattr(SparkContext, "_gateway", None)
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS", "SPARK_HOME", *OF_CONNECT):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    return tmp_path


def defaults(home: Path, *lines: str) -> None:
    (home / "spark-defaults.conf").write_text("\n".join(lines), encoding="utf-8")


def told(conf: Conf | None = None, options: dict[str, str] | None = None) -> dict[str, Any]:
    builder = SparkSession.builder
    for key, value in (options or {}).items():
        builder = builder.config(key, value)
    return dict(configure(builder, conf)._options)


@pytest.mark.usefixtures("home")
def test_without_a_conf_no_setting_of_the_provider_is_set() -> None:
    assert told() == {
        JARS: str(jar_path()),
        PLUGINS_KEY: PLUGIN_CLASS,
        PROVIDER_KEY: PROVIDER_CLASS,
    }


@pytest.mark.usefixtures("home")
def test_what_the_builder_says_stays_unless_it_is_given_again() -> None:
    said = {PREFIX + "numBuckets": "128", PREFIX + "engine": "rocksdb"}
    assert told(Conf(snapshot_mode="sync"), said).items() >= said.items()
    assert told(Conf(num_buckets=64), said).items() >= {PREFIX + "numBuckets": "64"}.items()


@pytest.mark.usefixtures("home")
def test_a_preset_is_given_like_its_values() -> None:
    said = {PREFIX + "numBuckets": "128", PREFIX + "engine": "rocksdb"}
    found = told(Conf.preset("large-state", run_bloom_bits=15), said)
    assert found[PREFIX + "numBuckets"] == "512"
    assert found[PREFIX + "engine"] == "rocksdb"
    assert found[PREFIX + "run.bloomBits"] == "15"
    assert found["spark.sql.streaming.minBatchesToRetain"] == "20"


def by_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    defaults(home, f"{JARS}  a.jar, b.jar", f"{PLUGINS_KEY}=x.Y,\\", "  z.Z")


def by_another_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_file(home, monkeypatch)
    (home / "spark-defaults.conf").rename(home / "mine own.conf")
    file = shlex.quote(str(home / "mine own.conf"))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--properties-file {file} pyspark-shell")


def by_arguments(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defaults(home, f"{JARS} dropped.jar", f"{PLUGINS_KEY} dropped.Too")
    words = f"--jars a.jar,b.jar --packages org:bucketstate-spark-4.3_2.13:1 --conf={JARS}=no.jar"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{words} -c {PLUGINS_KEY}=x.Y,z.Z pyspark-shell")


@pytest.mark.parametrize("said", [by_file, by_another_file, by_arguments])
def test_jars_and_plugins_that_others_name_are_kept(
    said: Callable[[Path, pytest.MonkeyPatch], None], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(home, monkeypatch)
    found = told()
    assert found[JARS] == f"a.jar,b.jar,{jar_path()}"
    assert found[PLUGINS_KEY] == f"{PLUGIN_CLASS},x.Y,z.Z"
    # Where the builder says something, Spark hears nothing else.
    found = told(options={JARS: "mine.jar", PLUGINS_KEY: PLUGIN_CLASS})
    assert found[JARS] == f"mine.jar,{jar_path()}"
    assert found[PLUGINS_KEY] == PLUGIN_CLASS


def test_defaults_are_read_beside_another_file_where_spark_does(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults(home, "spark.a 1", "spark.b 1")
    (home / "mine").write_text("spark.b 2")
    words = f"--properties-file={home / 'mine'}"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", words)
    assert submission().defaults == {"spark.b": "2"}
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{words} --load-spark-defaults")
    assert submission().defaults == {"spark.a": "1", "spark.b": "2"}


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("words", ["--jars mine.jar", "--conf spark.jars=mine.jar"])
def test_arguments_that_would_hide_the_jar_are_refused(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"{words} pyspark-shell")
    with pytest.raises(SessionError, match=r"PYSPARK_SUBMIT_ARGS names jars \(mine.jar\)") as error:
        told()
    assert f"--jars mine.jar,{jar_path()}" in str(error.value)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--jars mine.jar,{jar_path()} pyspark-shell")
    assert told()[JARS] == f"mine.jar,{jar_path()}"


def test_a_file_of_settings_that_cannot_be_read_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "spark-defaults.conf").write_bytes(b"\xff")
    with pytest.raises(SessionError, match=r"spark-defaults\.conf, from which Spark would"):
        told()
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--properties-file gone.conf")
    with pytest.raises(SessionError, match=r"gone\.conf, from which Spark would"):
        told()


def test_the_settings_as_a_dict_take_jars_and_plugins_along() -> None:
    found = spark_settings(Conf(num_buckets=8), jars=["a.jar"], plugins=["x.Y"])
    assert found == {
        JARS: f"a.jar,{jar_path()}",
        PLUGINS_KEY: f"{PLUGIN_CLASS},x.Y",
        PROVIDER_KEY: PROVIDER_CLASS,
        PREFIX + "numBuckets": "8",
    }
    again = spark_settings(jars=found[JARS].split(","), plugins=[PLUGIN_CLASS])
    assert again[JARS] == found[JARS]
    assert again[PLUGINS_KEY] == PLUGIN_CLASS


def test_a_session_of_spark_connect_is_refused_beside_its_server_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bucketstate.session.running_jvm", object)
    connected: Any = SimpleNamespace(conf=None)
    with pytest.raises(SessionError, match=r"On Spark Connect, give the server the jar"):
        enable(connected)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("spark.remote", "sc://there"),
        ("spark.remote", "local[2]"),
        ("spark.api.mode", "connect"),
        ("SPARK_REMOTE", "local"),
        ("SPARK_API_MODE", "Connect"),
        ("SPARK_CONNECT_MODE", "1"),
        ("SPARK_CONNECT_MODE_ENABLED", "1"),
    ],
)
def test_a_builder_of_spark_connect_is_refused(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {}
    if name in OF_CONNECT:
        monkeypatch.setenv(name, value)
    else:
        options = {name: value}
    expected = r"a client of Spark Connect \(by .*`start-connect-server\.sh .*spark_settings\(\)"
    with pytest.raises(SessionError, match=expected):
        told(options=options)


@pytest.mark.usefixtures("home")
def test_a_builder_that_says_classic_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_CONNECT_MODE", "1")
    assert JARS in told(options={"spark.api.mode": "classic"})


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (
            lambda: UNTYPED.configure(SparkSession.builder, {}),
            "conf is {}: give a bucketst",
        ),
        (lambda: UNTYPED.configure(SparkSession.builder, {"a": "b"}), "Conf.from_spark makes one"),
        (lambda: UNTYPED.configure(SparkSession), "give SparkSession.builder"),
        (lambda: UNTYPED.configure(SparkConf(False)), "give SparkSession.builder"),
        (lambda: UNTYPED.configure(None), "The builder is None"),
        (
            lambda: UNTYPED.enable(SparkSession.builder),
            "For a builder there is",
        ),
        (lambda: UNTYPED.enable(SparkSession), "give one, as builder.getOrCreate() returns it"),
        (lambda: UNTYPED.enable(None), "The session is None"),
        (lambda: UNTYPED.enable(object(), {}), "conf is {}"),
        (lambda: UNTYPED.spark_settings({}), "conf is {}"),
        (lambda: UNTYPED.spark_settings("num_buckets=3"), "conf is 'num_buckets=3'"),
        (
            lambda: UNTYPED.spark_settings(spark=4.3),
            "spark=4.3 is a float: give",
        ),
        (lambda: UNTYPED.spark_settings(jars="a.jar"), "jars is 'a.jar': give a list of texts"),
        (lambda: UNTYPED.spark_settings(jars=5), "jars is 5"),
        (lambda: UNTYPED.spark_settings(plugins="a,b"), "plugins is 'a,b'"),
        (lambda: UNTYPED.spark_settings(plugins=[5]), "plugins is [5]"),
        (lambda: UNTYPED.jar_path(4.3), "spark=4.3 is a float"),
        (lambda: UNTYPED.spark_settings(partitions="8"), "partitions is '8': give a whole number"),
        (lambda: UNTYPED.spark_settings(partitions=True), "partitions is True"),
        (
            lambda: UNTYPED.spark_settings(partitions=0),
            "partitions is 0: give a number of at least 1",
        ),
        (lambda: UNTYPED.spark_settings(partitions=2**31), "partitions is 2147483648"),
        (
            lambda: UNTYPED.spark_settings(Conf(partitions="checkpoint"), partitions=8),
            "contradict each other",
        ),
        (lambda: UNTYPED.jar_path(b"4.3"), "is a bytes"),
    ],
)
@pytest.mark.usefixtures("home")
def test_an_argument_of_another_type_is_told(act: Callable[[], Any], told: str) -> None:
    with pytest.raises(InvalidArgumentError) as refusal:
        act()
    assert told in str(refusal.value)


def test_lists_may_come_one_by_one() -> None:
    made = spark_settings(jars=iter(["a.jar"]), plugins=iter(["a.B"]))
    assert made[JARS].startswith("a.jar,")
    assert made[PLUGINS_KEY] == f"{PLUGIN_CLASS},a.B"


@pytest.mark.usefixtures("home")
def test_partitions_count_for_checkpoints_that_have_others() -> None:
    wanted = {"spark.sql.shuffle.partitions": "8", f"{PREFIX}partitions": "session"}
    assert dict(configure(SparkSession.builder, partitions=8)._options).items() >= wanted.items()
    made = spark_settings(Conf(engine="rocksdb"), partitions=8)
    assert made.items() >= {**wanted, f"{PREFIX}engine": "rocksdb"}.items()
    assert f"{PREFIX}partitions" not in spark_settings(Conf(engine="rocksdb"))
