"""Values that Spark keeps and Python has no value for, wherever they become Python's."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import LongType, StringType, StructType

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.spark.python_values import (
    as_frame,
    day_of,
    flattened,
    micros_of,
    python_values,
    with_dicts,
)
from bucketstate.cli.terminal.rows import as_json
from bucketstate.errors import InvalidArgumentError
from tests.kit.cases import examples
from tests.kit.checkpoints import Built
from tests.kit.values import of_spark
from tests.kit.values.far import DAYS, TEXTS, TIMES, built
from tests.kit.values.own_types import arrow_type

UTF8_ESCAPED = ["\\xff", "A\0\\xc3", "\\xed\\xa0\\x80", "\u00fc\u4e2d", "\x1b[31m\n", "\\xff", ""]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return Checkpoint(built(tmp_path_factory.mktemp("far") / "checkpoint").root)


def days(*numbers: int | None) -> pa.Array:
    return pa.array(numbers, pa.int32()).view(pa.date32())


def times(*numbers: int | None, unit: str = "us", zone: str | None = "UTC") -> pa.Array:
    return pa.array(numbers, pa.int64()).view(pa.timestamp(unit, tz=zone))


def texts(*raw: bytes | None) -> pa.Array:
    return pa.array(raw, pa.binary()).view(pa.string())


def test_text_that_is_not_utf_8_is_escaped() -> None:
    assert python_values(texts(*TEXTS, None)) == [*UTF8_ESCAPED, None]


def test_years_are_written_as_spark_writes_them() -> None:
    found = python_values(days(*DAYS.values(), None))
    assert [v if isinstance(v, str | None) else v.isoformat() for v in found] == [*DAYS, None]
    assert found[3:5] == [date.min, date.max]
    for zone, behind in (("UTC", "+00:00"), (None, "")):
        found = python_values(times(*TIMES.values(), zone=zone))
        written = [v if isinstance(v, str) else v.isoformat() for v in found]
        assert written == [text + behind for text in TIMES]
        assert found[3] == datetime.max.replace(tzinfo=UTC if zone else None)


@given(st.integers(-(2**31), 2**31 - 1))
def test_a_date_is_that_of_numpy_and_found_again(number: int) -> None:
    (found,) = python_values(days(number))
    text = str(found)
    assert text.removeprefix("+").lstrip("-").lstrip("0") == str(np.datetime64(number, "D")).lstrip(
        "-"
    ).lstrip("0")
    assert day_of(text) == number


@given(st.integers(-(2**63), 2**63 - 1), st.booleans())
def test_a_time_is_found_again(number: int, zoned: bool) -> None:
    (found,) = python_values(times(number, zone="UTC" if zoned else None))
    text = found if isinstance(found, str) else found.isoformat()
    assert micros_of(text, zoned=zoned) == number


@settings(max_examples=examples(10))
@given(st.data())
def test_what_python_has_is_as_pyarrow_has_it(data: st.DataObject) -> None:
    schema = data.draw(of_spark.schemas())
    rows = data.draw(of_spark.rows(schema))
    kind = arrow_type(schema)
    array = pa.array([of_spark.expected(schema, row) for row in rows], kind)
    try:
        plain = array.to_pylist()
    except (OverflowError, ValueError):
        plain = None
    found = python_values(array)
    assert len(found) == len(rows)
    if plain is not None:
        assert repr(found).replace("datetime.timezone.utc", "zoneinfo.ZoneInfo(key='UTC')") == repr(
            plain
        )


@pytest.mark.parametrize("far", [False, True])
def test_slices_and_nulls_of_nested_values(far: bool) -> None:
    odd = texts(b"\xff" if far else b"x", b"a", None, b"b")
    shown = ["\\xff" if far else "x", "a", None, "b"]
    lists = pa.ListArray.from_arrays(pa.array([0, 2, None, 4], pa.int32()), odd)
    assert python_values(lists) == [shown[:2], shown[2:], None]
    structs = pa.StructArray.from_arrays([odd], ["s"], mask=pa.array([False, True, False, False]))
    assert python_values(structs.slice(1)) == [None, {"s": None}, {"s": "b"}]
    assert python_values(structs)[0] == {"s": shown[0]}
    maps = pa.MapArray.from_arrays(pa.array([0, 1, 3], pa.int32()), odd.take([0, 1, 3]), odd[:3])
    assert python_values(maps) == [
        [(shown[0], shown[0])],
        [("a", "a"), ("b", None)],
    ]
    assert python_values(maps.slice(1)) == [[("a", "a"), ("b", None)]]
    assert python_values(pa.chunked_array([odd[:1], odd[1:]])) == shown


def test_maps_are_dicts_where_their_keys_are_plain_values() -> None:
    plain = pa.map_(pa.string(), pa.list_(pa.map_(pa.int64(), pa.date32())))
    by_struct = pa.map_(pa.struct([("n", pa.int64())]), pa.string())
    day = date(2024, 3, 1)
    kind = pa.struct([("plain", plain), ("other", by_struct)])
    given = {"plain": [("a", [[(1, day)], None]), ("b", None)], "other": [({"n": 1}, "x")]}
    array = pa.array([given, None], kind)
    assert with_dicts(array) == [
        {"plain": {"a": [{1: day}, None], "b": None}, "other": [({"n": 1}, "x")]},
        None,
    ]
    frame = as_frame(pa.table({"plain": array.flatten()[0], "n": [1, 2]}))
    assert frame["plain"].tolist() == [{"a": [{1: day}, None], "b": None}, None]
    assert frame["n"].tolist() == [1, 2]
    assert with_dicts(pa.chunked_array([pa.array([1, None])])) == [1, None]


def test_structs_in_structs_are_columns() -> None:
    inner = pa.array([{"w": {"start": 1, "end": 2}, "u": "a"}, None])
    table = flattened(pa.table({"key": inner, "n": [1, 2]}))
    assert table.to_pydict() == {
        "key.w.start": [1, None],
        "key.w.end": [2, None],
        "key.u": ["a", None],
        "n": [1, 2],
    }


def test_other_units_of_time() -> None:
    assert python_values(times(2**63 - 1, unit="ms")) == ["+292278994-08-17T07:12:55.807000+00:00"]
    assert python_values(times(2**62, unit="s", zone=None))[0].startswith("+")
    near = python_values(times(0, -1, unit="s"))
    assert near == [
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
    ]


def test_a_frame_has_what_pandas_has_and_texts() -> None:
    table = pa.table(
        [times(0, 1), times(0, 2**63 - 1), texts(b"a", b"\xff"), times(0, -(2**63), zone=None)],
        names=["near", "far", "s", "s"],
    )
    frame = as_frame(table)
    assert list(frame.columns) == ["near", "far", "s", "s"]
    assert isinstance(frame.dtypes.iloc[0], pd.DatetimeTZDtype)
    assert frame["far"].tolist()[1] == "+294247-01-10T04:00:54.775807+00:00"
    assert frame.iloc[1, 2] == "\\xff"
    # Which pandas alone would have for none.
    assert frame.iloc[1, 3] == "-290308-12-21T19:59:05.224192"
    assert "+294247" in repr(frame["far"])
    spans = pa.table([pa.array([-(2**63)], pa.int64()).view(pa.duration("us"))], names=["d"])
    assert as_frame(spans)["d"][0].days == -106751992


def test_all_of_it_is_read(checkpoint: Checkpoint) -> None:
    table = checkpoint.scan().to_arrow()
    rows = list(zip(python_values(table["key"]), with_dicts(table["value"]), strict=True))
    assert len(rows) == len(DAYS) - 1
    frame = checkpoint.scan().to_pandas()
    assert len(repr(frame)) > 0
    assert len(frame) == len(rows)
    for key, value in rows:
        # As it is shown, and as JSON has it.
        for given_key in (key, json.loads(as_json(key))):
            assert repr(checkpoint.scan().get(given_key)) == repr(value), given_key
            history = checkpoint.scan("history", key=given_key).to_arrow()
            assert history["version"].to_pylist() == [1, 2]
    assert checkpoint.verify().ok


def test_a_text_is_looked_for_as_it_is_given_first(tmp_path: Path) -> None:
    built = Built(
        tmp_path / "checkpoint",
        key=StructType().add("s", StringType()),
        value=StructType().add("n", LongType()),
    )
    built.batch({("\\xff",): (1,), ("\udcff",): (2,), ("a\udcff",): (3,)})
    found = Checkpoint(built.root)
    assert found.scan().get("\\xff") == {"n": 1}
    for given_key in (b"\xff", "\udcff", {"s": b"\xff"}, (b"\xff",)):
        assert found.scan().get(given_key) == {"n": 2}
    for given_key in (b"a\xff", "a\\xff"):
        assert found.scan().get(given_key) == {"n": 3}
    assert found.scan().get("b\\xff") is None
    assert found.scan("history", key="a\\xff").to_arrow()["value"].to_pylist() == [{"n": 3}]
    with pytest.raises(InvalidArgumentError, match="surrogates not allowed"):
        found.scan().get("\ud800")


@pytest.mark.parametrize(
    "key",
    [
        {"d": "+5881580-07-12"},
        {"d": "10000-13-01"},
        {"d": "+10000-01-01T00:00"},
        {"t": "+294247-01-10T04:00:54.775808"},
        {"t": "+10000-01-01T25:00"},
        {"f": "nan"},
    ],
)
def test_what_is_no_key_is_refused(checkpoint: Checkpoint, key: dict[str, Any]) -> None:
    whole = {"s": "x", "d": "2024-01-01", "t": "2024-01-01", "z": "2024-01-01", "f": 0.0}
    with pytest.raises(InvalidArgumentError, match=f"key.{next(iter(key))}="):
        checkpoint.scan().get(whole | key)
