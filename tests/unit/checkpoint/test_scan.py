"""A scan: an object that says what is read, and the ways to have it."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, get_overloads, get_type_hints

import pyarrow as pa
import pytest
from pyspark.sql.types import DoubleType, LongType, StringType, StructType, TimestampNTZType

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.selection import Asked
from bucketstate.errors import InvalidArgumentError, MissingLibraryError, NoSuchStateError
from tests.kit.checkpoints import Built
from tests.unit.checkpoint.test_state import grown, rows


@pytest.fixture
def built(tmp_path: Path) -> Built:
    return grown(tmp_path)


@pytest.fixture
def checkpoint(built: Built) -> Checkpoint:
    return Checkpoint(built.root)


def test_an_update_makes_another_scan(checkpoint: Checkpoint, built: Built) -> None:
    newest = checkpoint.scan()
    older = newest.update(version=4)
    assert rows(newest.to_arrow()) == built.rows()
    assert rows(older.to_arrow()) == built.rows(4)
    assert older.update(version=None).to_arrow() == newest.to_arrow()
    assert repr(older.update(partition=1)) == "Scan(partition=1, version=4)"
    with pytest.raises(InvalidArgumentError, match=r"no argument row_filter\. There are: kind, op"):
        newest.update(row_filter="x")


def test_it_reads_anew_each_time(checkpoint: Checkpoint) -> None:
    scan = checkpoint.scan()
    assert scan.to_arrow() == scan.to_arrow_batch_reader().read_all()
    assert scan.schema == scan.to_arrow().schema


@pytest.mark.parametrize("kind", ["state", "changes", "diff"])
def test_columns_and_filters_are_for_every_kind(checkpoint: Checkpoint, kind: str) -> None:
    whole = checkpoint.scan(kind)
    values = "value.count" if kind != "diff" else "after.count"
    some = whole.update(columns=["key.key", values], filters=[(values, ">", 1)])
    assert some.schema.names == some.to_arrow().column_names == ["key.key", values]
    outer, inner = values.split(".")
    expected = [
        (row["key"]["key"], row[outer][inner])
        for row in whole.to_arrow().to_pylist()
        if row[outer] is not None and row[outer][inner] > 1
    ]
    assert [tuple(row.values()) for row in some.to_arrow().to_pylist()] == expected
    assert some.to_pandas()["key.key"].tolist() == [key for key, _ in expected]


def test_since_is_the_version_before(checkpoint: Checkpoint) -> None:
    for kind in ("changes", "diff"):
        given = checkpoint.scan(kind, version=6, since=5).to_arrow()
        assert checkpoint.scan(kind).to_arrow() == given
    assert checkpoint.scan("diff", version=0).to_arrow().num_rows == 0


def test_filters_that_say_the_whole_key_look_it_up(
    checkpoint: Checkpoint, built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    (key, value), *_ = ((row[1], row[2]) for row in built.rows())
    expected = checkpoint.scan(key=key).to_arrow()

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the whole state was read")

    monkeypatch.setattr("bucketstate.checkpoint.store.reading.read_state", never)
    (name,) = (field.name for field in expected.schema.field("key").type)
    found = checkpoint.scan(filters=[(f"key.{name}", "=", key[0])]).to_arrow()
    assert found == expected
    assert value is not None
    with pytest.raises(AssertionError, match="whole state"):
        checkpoint.scan(filters=[(f"key.{name}", ">=", key[0])]).to_arrow()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"kind": "rows"}, "kind='rows': give one of state, changes, diff, timers, history"),
        ({"since": 3}, "since=3 is given to a scan of state, which takes none"),
        ({"kind": "timers", "key": 3}, "key=3 is given to a scan of timers"),
        ({"kind": "diff", "times": True}, "times=True is given to a scan of diff"),
        ({"kind": "history"}, "A scan of history is of one key"),
        ({"kind": "history", "key": 3, "version": 3}, "version=3 is given to a scan of history"),
        ({"version": 3, "batch": 2}, "version=3 and batch=2 are given"),
        ({"state_var": "a", "column_family": "b"}, "state_var='a' and column_family='b' are"),
        ({"user_key": 3}, "user_key=3 is given without key"),
        ({"decode": "total long", "flatten": False}, "flatten=False is given with decode"),
        ({"columns": "key"}, "columns='key' is a text"),
        ({"columns": []}, r"columns=\[\] names none"),
        ({"kind": "diff", "since": 1, "since_batch": 0}, "since=1 and since_batch=0 are given"),
        ({"since_batch": 0}, "since_batch=0 is given to a scan of state"),
    ],
)
def test_arguments_are_checked_before_anything_is_read(
    checkpoint: Checkpoint, arguments: dict[str, Any], told: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=told):
        checkpoint.scan(**arguments)
    given = checkpoint.scan()
    with pytest.raises(InvalidArgumentError, match=told):
        given.update(**arguments)


@pytest.mark.parametrize("kind", ["diff", "changes"])
def test_batches_in_place_of_versions(checkpoint: Checkpoint, kind: str) -> None:
    by_batch = checkpoint.scan(kind, since_batch=3, batch=4)
    assert by_batch.to_arrow() == checkpoint.scan(kind, since=4, version=5).to_arrow()
    assert by_batch.to_arrow() == checkpoint.scan(kind, batch=4).to_arrow()
    with pytest.raises(InvalidArgumentError, match=r"since_batch=1\.5 is a float"):
        checkpoint.scan(kind, since_batch=1.5).to_arrow()  # type: ignore[call-overload]
    with pytest.raises(NoSuchStateError, match="From version 5 to 3 is not a way forward"):
        checkpoint.scan(kind, since_batch=4, batch=2).to_arrow()


def test_type_checkers_know_all_arguments(checkpoint: Checkpoint) -> None:
    (asked,) = {
        found["asked"].__args__[0]
        for overload in get_overloads(Checkpoint.scan)
        if (found := get_type_hints(overload, localns={"Asked": Asked}))
    }
    taken = inspect.signature(checkpoint.scan).parameters
    assert {*asked.__annotations__, "kind", "decode"} == set(taken)


def test_a_batch_wherever_a_version_can_be_given(checkpoint: Checkpoint) -> None:
    """Of every public method that takes a version."""
    taken = {
        name: inspect.signature(getattr(checkpoint, name)).parameters
        for name in dir(checkpoint)
        if not name.startswith("_") and callable(getattr(checkpoint, name))
    }
    with_version = {name for name, of in taken.items() if "version" in of}
    # The attempt is at a version, whichever batch makes it.
    assert {name for name, of in taken.items() if "batch" in of} == with_version - {"attempt"}
    assert len(with_version) > 5
    for name in ("schema", "operator_at", "state_variables"):
        number = [0] if name == "operator_at" else []
        ask = getattr(checkpoint, name)
        assert ask(*number, batch=2) == ask(*number, version=3)
        with pytest.raises(InvalidArgumentError, match="version=3 and batch=2 are given"):
            ask(*number, version=3, batch=2)


def test_filters_for_what_is_null(tmp_path: Path) -> None:
    built = Built(tmp_path / "nulls")
    built.batch({("a",): (1, None), ("b",): (None, 2), (None,): (3, 3)})
    checkpoint = Checkpoint(built.root)

    def keys(*filters: tuple[str, str, Any]) -> set[Any]:
        table = checkpoint.scan(columns=["key.key"], filters=filters).to_arrow()
        return set(table["key.key"].to_pylist())

    assert keys(("value.total", "=", None)) == {"a"}
    assert keys(("value.total", "!=", None)) == {"b", None}
    assert keys(("key.key", "==", None)) == {None}
    assert keys(("value.count", "!=", None), ("value.total", "=", None)) == {"a"}
    with pytest.raises(InvalidArgumentError, match="give a value of that type"):
        keys(("value.total", "<", None))


SOME = (
    StructType().add("at", TimestampNTZType()).add("real", DoubleType()).add("name", StringType())
)
AT = datetime(2024, 1, 1, 12, 0, 0, 500_000)


@pytest.fixture
def with_nulls(tmp_path: Path) -> Callable[..., set[Any]]:
    """Keys of 1 to 5, where 5 has nulls alone: those for which the filters hold."""
    built = Built(tmp_path / "nulls", StructType().add("key", LongType()), SOME)
    micros = int(AT.replace(tzinfo=UTC).timestamp() * 10**6)
    built.batch(
        {
            (1,): (micros, 0.5, "a"),
            (2,): (micros - 500_000, math.nan, "b"),
            (3,): (0, -0.0, "c"),
            (4,): (1, 1e300, ""),
            (5,): (None, None, None),
        }
    )

    def keys(*filters: tuple[str, str, Any]) -> set[Any]:
        table = Checkpoint(built.root).scan(columns=["key.key"], filters=filters).to_arrow()
        return set(table["key.key"].to_pylist())

    return keys


SEVERAL: list[tuple[str, list[Any]]] = [
    ("key.key", [1, 3]),
    ("key.key", [1.0, 2.9, Decimal("3.5")]),
    ("key.key", [300, -(2**63), 2**63 - 1]),
    ("key.key", [2**63, 1]),
    ("key.key", [2**63]),
    ("key.key", []),
    ("partition_id", [0, 2**40]),
    ("value.at", [AT]),
    ("value.at", [AT.replace(microsecond=0), AT.replace(microsecond=499_999)]),
    ("value.at", [AT.date()]),
    ("value.real", [0.5, 0.0, math.nan]),
    ("value.real", [1, None]),
    ("value.name", ["a", "c", "d"]),
    ("value.name", ["a", None]),
    ("value.name", [None]),
]


@pytest.mark.parametrize(("column", "values"), SEVERAL, ids=str)
def test_one_of_several_values_is_equal_to_one(
    with_nulls: Callable[..., set[Any]], column: str, values: list[Any]
) -> None:
    """A null is neither equal to another value nor unequal to it."""
    equal = set[Any]().union(*(with_nulls((column, "=", value)) for value in values))
    others = {1, 2, 3, 4} | ({5} if column in ("key.key", "partition_id") else set())
    others = others.intersection(*(with_nulls((column, "!=", value)) for value in values))
    assert with_nulls((column, "in", values)) == equal
    assert with_nulls((column, "not in", values)) == others


@pytest.mark.parametrize("how", ["in", "not in"])
@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("key.key", ["1"]),
        ("key.key", [True]),
        ("key.key", [Decimal("nan")]),
        ("key.key", [[1]]),
        ("value.name", ["\udcff"]),
        ("value.name", "abc"),
        ("value.name", iter(["a"])),
        ("value.name", None),
        ("value.at", ["2024-01-01"]),
        ("value.at", [AT.replace(tzinfo=UTC)]),
        ("value.real", [object()]),
    ],
)
def test_several_values_that_are_none_of_the_column(
    with_nulls: Callable[..., set[Any]], column: str, how: str, values: Any
) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^filters has .*give "):
        with_nulls((column, how, values))


@pytest.mark.parametrize("value", [[1], "1", True, object(), Decimal("nan"), Decimal("snan")])
def test_a_value_that_is_none_of_the_column(
    with_nulls: Callable[..., set[Any]], value: Any
) -> None:
    """Whether a batch has one row or many."""
    for key in (("key.key", ">", 0), ("key.key", "=", 1)):
        with pytest.raises(InvalidArgumentError, match=r"^filters has .*give a value"):
            with_nulls(key, ("key.key", "=", value))


@pytest.mark.parametrize("memory", ["1g", 0, -1, 1.5, None, True])
def test_memory_is_a_number_of_bytes(built: Built, memory: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^memory=.*give a"):
        Checkpoint(built.root, memory=memory)


def test_a_checkpoint_shows_which_it_is(built: Built) -> None:
    assert repr(Checkpoint(built.root)) == f"Checkpoint('{built.root}')"


def test_the_value_of_a_key_whatever_else_is_asked_for(
    checkpoint: Checkpoint, built: Built
) -> None:
    for _, (key,), (count, total) in sorted(built.rows())[:5]:
        for scan in (checkpoint.scan(), checkpoint.scan(times=True)):
            assert scan.get(key) == {"count": count, "total": total}


def test_a_value_is_of_a_whole_state(checkpoint: Checkpoint) -> None:
    for scan in (
        checkpoint.scan("diff"),
        checkpoint.scan(columns=["key"]),
        checkpoint.scan(filters=[("key.key", "=", 1)]),
    ):
        with pytest.raises(InvalidArgumentError, match="no values by key: ask a scan of state"):
            scan.get("a")


def test_who_knows_arrow_takes_it_as_it_is(checkpoint: Checkpoint) -> None:
    scan = checkpoint.scan(columns=["key", "value"])
    assert pa.table(scan) == scan.to_arrow()
    assert pa.RecordBatchReader.from_stream(scan).read_all() == scan.to_arrow()


def test_polars(checkpoint: Checkpoint) -> None:
    polars = pytest.importorskip("polars")
    scan = checkpoint.scan()
    frame = polars.DataFrame(scan)
    assert frame.columns == ["key", "value", "partition_id"]
    assert frame.height == scan.to_arrow().num_rows


def test_duckdb(checkpoint: Checkpoint) -> None:
    pytest.importorskip("duckdb")
    scan = checkpoint.scan()
    connection = scan.to_duckdb("state")
    assert scan.update(version=1).to_duckdb("first", connection) is connection
    counted = connection.execute("select count(*) from state").fetchone()
    assert counted == (scan.to_arrow().num_rows,)
    summed = connection.execute("select sum(value.count) from first").fetchone()
    values = scan.update(version=1).to_arrow()["value"].to_pylist()
    assert summed == (sum(value["count"] for value in values),)


def test_duckdb_reads_what_a_query_needs(built: Built) -> None:
    """The other partition cannot be read, and is not asked for."""
    pytest.importorskip("duckdb")
    scan = Checkpoint(built.root).scan()
    connection = scan.to_duckdb("state")
    scan.update(partition=0).to_duckdb("first", connection)

    def found(query: str) -> list[Any]:
        return connection.execute(query).fetchall()

    in_second = "select count(*) from first where partition_id = 1"
    assert found(in_second) == [(0,)]
    key, value = next((k, v) for p, k, v in sorted(built.rows()) if p == 0)
    for file in built.folder(1).glob("*.changelog"):
        data = file.read_bytes()
        # Within the first block of records.
        file.write_bytes(data[:150] + bytes(10) + data[160:])
    of_partition = "select count(*) from state where partition_id = 0"
    assert found(of_partition) == [(sum(p == 0 for p, *_ in built.rows()),)]
    assert found(f"select value.count from state where key.key = '{key[0]}'") == [(value[0],)]
    assert found(in_second) == [(0,)]
    with pytest.raises(Exception, match="is damaged"):
        found("select count(*) from state")


def test_duckdb_compares_texts_as_they_are_shown(built: Built) -> None:
    """What is shown for a byte that is no UTF-8 is below letters that the byte is above."""
    pytest.importorskip("duckdb")
    built.batch({("\udcff",): (1, 1), ("b\udcff",): (2, 2)})
    connection = Checkpoint(built.root).scan().to_duckdb("state")

    def count(query: str) -> Any:
        return connection.execute(query).fetchone()

    for operator in ("<", "<=", ">", ">=", "="):
        for text in ("b", "z", "b|", "key-1"):
            where = f"{operator} '{text}'"
            found = count(f"select count(*) from state where key.key {where}")
            shown = "with t as materialized (select key.key as k from state)"
            assert found == count(f"{shown} select count(*) from t where k {where}"), where


def test_a_table_of_duckdb_stays_at_its_version(built: Built) -> None:
    pytest.importorskip("duckdb")
    connection = Checkpoint(built.root).scan().to_duckdb("state")
    before = connection.execute("select count(*) from state").fetchone()
    assert before is not None
    built.batch({("another",): (1, 1)})
    assert connection.execute("select count(*) from state").fetchone() == before


def test_what_is_not_there_is_told_at_once(checkpoint: Checkpoint) -> None:
    pytest.importorskip("duckdb")
    with pytest.raises(NoSuchStateError, match="no operator 7"):
        checkpoint.scan(operator=7).to_duckdb("state")


def test_duckdb_that_is_not_installed(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'bucketstate\[duckdb\]'"):
        checkpoint.scan().to_duckdb("state")
