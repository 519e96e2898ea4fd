"""About how many different values there were: a HyperLogLog of Apache DataSketches for each group.

A sketch that is kept is what Spark's `hll_sketch_agg` makes, as base64, so Spark's
`hll_sketch_estimate` and `hll_union` read it.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import (
    BooleanType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    FractionalType,
    IntegralType,
    LongType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from bucketstate.optional import needed
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.ready.aggregates import Aggregate, Bound, column_of
from bucketstate.stateful.ready.stored import to_stored

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from bucketstate.stateful.ready.groups import Groups

    Parts = list[pa.Array]

_SIZES = range(4, 22)
_COUNTED = (
    IntegralType,
    FractionalType,
    StringType,
    BooleanType,
    DateType,
    DayTimeIntervalType,
    TimestampType,
    TimestampNTZType,
)


@dataclass(frozen=True)
class ApproxDistinct(Aggregate):
    column: str
    lg_k: int

    def bound(self, name: str, schema: StructType) -> Bound:
        what = f"{name}=approx_distinct"
        if type(self.lg_k) is not int or self.lg_k not in _SIZES:
            raise DefinitionError(
                f"{what}({self.column!r}, lg_k={self.lg_k!r}): give a whole number from "
                f"{_SIZES[0]} to {_SIZES[-1]}."
            )
        _library(what)
        kind = column_of(schema, self.column, name, "approx_distinct")
        if not isinstance(kind, _COUNTED):
            raise DefinitionError(
                f"{what}({self.column!r}): the column is {kind.simpleString()}, expected a number, "
                "a text, a flag or a time. Cast it to a string."
            )
        return _Distinct(name, self.column, self.lg_k, as_text=isinstance(kind, DecimalType))


class _Distinct(Bound):
    """The state has the sketches; rows come with their values behind them."""

    def __init__(self, name: str, column: str, lg_k: int, *, as_text: bool) -> None:
        super().__init__(name, LongType(), [(name, StringType())])
        self._column = column
        self._lg_k = lg_k
        self._as_text = as_text

    def lifted(self, rows: pa.RecordBatch) -> Parts:
        values = to_stored(rows.column(self._column))
        if self._as_text:
            values = values.cast(pa.string())
        elif pa.types.is_boolean(values.type):
            values = values.cast(pa.int64())
        return [pa.nulls(len(values), pa.string()), values]

    def joined(self, parts: Parts, groups: Groups) -> Parts:
        library = _library(self.name)
        kind = library.tgt_hll_type.HLL_8
        sketches: list[Any] = [None] * groups.count
        texts, values = (part.to_pylist() for part in parts)
        union = library.hll_union
        for of, text, value in zip(groups.numbers.tolist(), texts, values, strict=True):
            sketch = sketches[of]
            if text is not None:
                found = library.hll_sketch.deserialize(b64decode(text))
                if sketch is not None:
                    both = union(self._lg_k)
                    both.update(sketch)
                    both.update(found)
                    found = both.get_result(kind)
                sketches[of] = found
            elif value is not None:
                if sketch is None:
                    sketches[of] = sketch = library.hll_sketch(self._lg_k, kind)
                sketch.update(value)
        made = [s and b64encode(s.serialize_compact()).decode() for s in sketches]
        return [pa.array(made, pa.string())]

    def shown(self, parts: Parts) -> pa.Array:
        library = _library(self.name)
        found = [
            0 if text is None else library.hll_sketch.deserialize(b64decode(text)).get_estimate()
            for text in parts[0].to_pylist()
        ]
        return pa.array([round(n) for n in found], pa.int64())


def _library(what: str) -> Any:
    return needed("datasketches", what=what, extra="sketches")
