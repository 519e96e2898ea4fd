"""What lies within lists, maps and structs, with many keys in a call and with one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from bucketstate import stateful
from bucketstate.stateful import Keys
from bucketstate.stateful.many.columnar import _seen
from bucketstate.testing import Harness


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
    whole = pa.MapArray.from_arrays([0, 1, 2], ["a", "b"], pa.array([[None], [2.0]], kind.item_type))
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
