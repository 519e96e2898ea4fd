"""What lies within lists, maps and structs, with many keys in a call and with one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.types import StructType

from bucketstate import stateful
from bucketstate.stateful import Keys, WrongTypeError
from bucketstate.stateful.codec.kept import NO_TIMEOUT, SCHEMA
from bucketstate.stateful.many.columnar import Columnar, ColumnsAlone, _seen
from bucketstate.stateful.run.keys import KeyCodec
from bucketstate.stateful.run.wire import Wire
from bucketstate.testing import Harness

if TYPE_CHECKING:
    from pyspark.sql.types import Row


@dataclass
class Counted:
    n: int = 0


FLOATS = "k string, xs array<double>, ms map<string,array<double>>, ls array<map<int,array<float>>>"


@pytest.mark.parametrize("many_keys", [True, False])
def test_a_null_within_a_list_of_floats_is_a_nan_wherever_the_list_lies(many_keys: bool) -> None:
    seen: list[Any] = []

    def look(_keys: Keys[Counted], rows: pa.RecordBatch) -> None:
        seen.extend(rows.to_pylist())

    fn = stateful.define(look, output=None)
    running = Harness(fn, by="k", schema=FLOATS, many_keys=many_keys)
    nothing = {"k": "b", "xs": None, "ms": None, "ls": None}
    running.run(
        [
            {
                "k": "a",
                "xs": [1.0, None],
                "ms": {"x": [None, 2.0], "y": None, "z": []},
                "ls": [{1: [None]}, {}, None],
            },
            nothing,
        ]
    )
    assert nothing in seen
    rows = [row for row in seen if row["k"] == "a"]
    for row in rows:
        assert repr(row["xs"]) == "[1.0, nan]"
        assert repr(row["ms"]) == "[('x', [nan, 2.0]), ('y', None), ('z', [])]"
        assert repr(row["ls"]) == "[[(1, [nan])], [], None]"
    assert rows


def test_maps_of_slices_and_behind_nulls() -> None:
    kind = pa.map_(pa.string(), pa.list_(pa.float64()))
    maps = pa.array(
        [[("a", [1.0, None])], None, [], [("b", None), ("c", [None])], [("d", [4.0])]], kind
    )
    end = "[('b', None), ('c', [nan])], [('d', [4.0])]"
    assert repr(_seen(maps, kind).to_pylist()) == f"[[('a', [1.0, nan])], None, [], {end}]"
    assert repr(_seen(maps.slice(3), kind).to_pylist()) == f"[{end}]"
    assert _seen(maps.slice(0, 0), kind).to_pylist() == []
    # A null that has items behind it.
    whole = pa.MapArray.from_arrays(
        [0, 1, 2], ["a", "b"], pa.array([[None], [2.0]], kind.item_type)
    )
    validity = pa.array([False, True]).buffers()[1]
    hidden = pa.Array.from_buffers(
        whole.type, 2, [validity, whole.buffers()[1]], children=[whole.values]
    )
    made = _seen(hidden, kind)
    made.validate(full=True)
    assert made.to_pylist() == [None, [("b", [2.0])]]


def test_times_within_maps() -> None:
    kind = pa.map_(pa.string(), pa.timestamp("us", "Europe/Berlin"))
    maps = pa.array([[("a", 0), ("b", None)], None], pa.map_(pa.string(), pa.int64()))
    made = _seen(maps, kind)
    assert made.type.item_type == kind.item_type
    assert made.items.cast(pa.int64()).to_pylist() == [0, None]
    assert made.is_null().to_pylist() == [False, True]


WHOLE = (
    "k string, xs array<int>, ls array<long>, ms map<string,long>, "
    "st struct<n:long,xs:array<int>>, ss array<struct<n:long>>, at array<timestamp>, "
    "ds array<double>"
)


def alone(by: str, **cells: Any) -> list[dict[str, Any]]:
    """The rows and the keys that a function sees of one row, as Spark 4.1 hands it over."""
    seen: list[dict[str, Any]] = []

    def look(keys: Keys[Counted], rows: pa.RecordBatch) -> None:
        seen.extend([*rows.to_pylist(), *keys.frame.to_pylist()])

    schema = stateful.output_schema(WHOLE)
    definition = stateful.define(look, output=None)
    wire = Wire(schema, [by], masked=True)
    key = KeyCodec(StructType([schema[by]]), UTC)
    columnar = Columnar(definition, schema, key, wire, StructType([]), None, UTC)
    group = GroupState(
        optionalValue=cast("Row", None),
        batchProcessingTimeMs=0,
        eventTimeWatermarkMs=-1,
        timeoutConf=GroupStateTimeout.NoTimeout,
        hasTimedOut=False,
        watermarkPresent=False,
        defined=False,
        updated=False,
        removed=False,
        timeoutTimestamp=NO_TIMEOUT,
        keyAsUnsafe=b"",
        valueSchema=SCHEMA,
    )
    row = {**dict.fromkeys(schema.names), **cells}
    frame = pd.DataFrame({name: pd.Series([value], dtype=object) for name, value in row.items()})
    run = ColumnsAlone(columnar, key.names)
    assert [*run((row[by],), [frame], group)] == []
    return seen


def test_whole_numbers_beside_nulls_that_pandas_made_floats_of() -> None:
    second = datetime(2024, 3, 1, 0, 0, 1, tzinfo=UTC)
    micros = float((second - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))
    row, key = alone(
        "k",
        k="a",
        xs=np.array([1.0, np.nan]),
        ls=np.array([2.0**53 - 1, np.nan]),
        ms={"x": 1.0, "y": None, "z": math.nan},
        st={"n": 3.0, "xs": np.array([np.nan])},
        ss=np.array([{"n": 4.0}, {"n": None}, None], dtype=object),
        at=np.array([micros, np.nan]),
        ds=np.array([1.5, np.nan]),
    )
    assert repr(row.pop("ds")) == "[1.5, nan]"
    assert row == {
        "k": "a",
        "xs": [1, None],
        "ls": [2**53 - 1, None],
        "ms": [("x", 1), ("y", None), ("z", None)],
        "st": {"n": 3, "xs": [None]},
        "ss": [{"n": 4}, {"n": None}, None],
        "at": [second, None],
    }
    assert key == {"k": "a"}


def test_a_key_of_such_numbers() -> None:
    _, key = alone("xs", xs=np.array([1.0, np.nan]))
    assert key == {"xs": [1, None]}
    _, key = alone("st", st={"n": 3.0, "xs": None})
    assert key == {"st": {"n": 3, "xs": None}}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ls", np.array([2.0**53, np.nan])),
        ("ms", {"x": 2.0**60, "y": None}),
        ("st", {"n": -(2.0**53), "xs": None}),
        ("ss", np.array([{"n": 2.0**53}, None], dtype=object)),
    ],
)
def test_one_that_may_be_another_names_its_column(name: str, value: Any) -> None:
    told = rf"The column {name} of the rows has float .*, expected a whole number within 2\*\*53"
    with pytest.raises(WrongTypeError, match=told):
        alone("k", k="a", **{name: value})
