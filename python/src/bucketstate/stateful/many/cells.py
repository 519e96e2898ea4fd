"""Values of Python as columns of Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import ArrayType, MapType, StructType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql.types import DataType


class Cells:
    """Makes a column of values as a codec's `check` gives them: picklable, without side effects."""

    def __init__(self, spark: DataType) -> None:
        self._spark = spark
        self._has_map = _paired(spark) is not None

    def array(
        self, values: Iterable[Any], kind: pa.DataType, *, as_pandas: bool = False
    ) -> pa.Array:
        """The column, of that type. `as_pandas`: NaN is null, as it is to pandas.

        Raises what pyarrow does for a value that does not fit.
        """
        if self._has_map:
            paired = _paired(self._spark) or _same
            values = [paired(v) for v in values]
        return pa.array(values, kind, from_pandas=as_pandas)


def _paired(spark: DataType) -> Callable[[Any], Any] | None:
    """What makes pairs of the dicts of maps, as Arrow takes them; None where there is no map."""
    match spark:
        case MapType():
            key, value = _paired(spark.keyType) or _same, _paired(spark.valueType) or _same
            return _but_null(lambda found: [(key(k), value(v)) for k, v in _items(found)])
        case ArrayType():
            element = _paired(spark.elementType)
            return element and _but_null(lambda found: [element(v) for v in found])
        case StructType():
            fields = {f.name: _paired(f.dataType) for f in spark.fields}
            if not any(fields.values()):
                return None
            return _but_null(lambda found: {n: (p or _same)(found[n]) for n, p in fields.items()})
    return None


def _but_null(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else change(value)


def _items(found: Any) -> Any:
    return found.items() if isinstance(found, dict) else found


def _same(value: Any) -> Any:
    return value
