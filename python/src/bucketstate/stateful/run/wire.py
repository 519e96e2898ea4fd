"""The rows as they travel to Spark's Python workers, so that they arrive as they were.

On its own way Spark makes readings of the session's clock of all times, and of a reading within the
hour that a clock change repeats nobody can tell which one it was; and pandas makes floats of whole
numbers beside a null, and NaN of nulls. So times travel as microseconds since 1970, also those in
keys; and whole numbers of 64 bits and floats travel without nulls, beside a column that says where
they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DoubleType,
    FloatType,
    LongType,
    MapType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from bucketstate.stateful.codec.instants import micros, wall_micros

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd
    from pyspark.sql import DataFrame

    from bucketstate.stateful.run.chunks import Columns

WATERMARK = "spark.watermarkDelayMs"
"""What Spark notes at the column that a watermark is of."""

_EVENT_TIME = "bucketstate event time"
_NULLS = "bucketstate nulls"
# As many as a signed number of 64 bits has, without its sign.
_FLAGS = 63
# To pandas a null is a NaN in these; of the whole numbers it changes the others.
_MASKED = LongType | FloatType | DoubleType


class Wire:
    """The form in which rows of one schema travel: picklable, without side effects.

    Args:
        schema: of the rows as the function gets them.
        keys: the grouping columns. As Spark tells groups apart by them, they keep their nulls.
        masked: whether the workers make pandas columns of the rows.
    """

    def __init__(self, schema: StructType, keys: Collection[str], *, masked: bool) -> None:
        self._fields = list(schema.fields)
        self.schema = StructType(
            [StructField(f.name, wired_type(f.dataType), f.nullable) for f in schema.fields]
        )
        """The schema of the columns under their own names."""
        self._names = tuple(schema.names)
        # Spark finds a column by its name in either case.
        grouping = {name.lower() for name in keys}
        maskable = [
            f.name
            for f in self.schema.fields
            if masked
            and f.nullable
            and f.name.lower() not in grouping
            and isinstance(f.dataType, _MASKED)
        ]
        self._places = {name: divmod(n, _FLAGS) for n, name in enumerate(maskable)}
        self._masks = [f"{_NULLS} {n}" for n in range(-(-len(maskable) // _FLAGS))]

    @property
    def event_time(self) -> StructField | None:
        """The column that a watermark is of; Spark itself looks at it, so it travels as it is."""
        return next((f for f in self._fields if WATERMARK in f.metadata), None)

    @property
    def sent(self) -> StructType:
        """The schema of all columns that travel, but for the one that Spark's watermark is of."""
        masks = [StructField(mask, LongType(), False) for mask in self._masks]
        return StructType([*self.schema.fields, *masks])

    def project(self, rows: DataFrame) -> DataFrame:
        """The rows with the columns that travel."""
        if not self._masks and not any(holds_times(f.dataType) for f in self._fields):
            return rows
        # By their numbers, since names may have dots, or differ in case alone.
        numbered = {f.name: f"_{n}" for n, f in enumerate(self._fields)}
        made = []
        for f in self._fields:
            value = _sql(numbered[f.name], f.dataType)
            if f.name in self._places:
                zero = f"cast(0 as {self.schema[f.name].dataType.simpleString()})"
                value = f"coalesce({value}, {zero})"
            made.append(f"{value} as {_quoted(f.name)}")
        for n, mask in enumerate(self._masks):
            flags = [
                f"if({numbered[name]} is null, {1 << bit}L, 0L)"
                for name, (of, bit) in self._places.items()
                if of == n
            ]
            made.append(f"{' + '.join(flags)} as {_quoted(mask)}")
        if (event_time := self.event_time) is not None:
            made.append(f"{numbered[event_time.name]} as {_quoted(_EVENT_TIME)}")
        return rows.toDF(*numbered.values()).selectExpr(*made)

    def table(self, rows: pa.Table) -> pa.Table:
        """Rows of a test as the columns that travel."""
        columns = {f.name: _array(rows.column(f.name), f.dataType) for f in self._fields}
        absent = {n: columns[n].is_null().to_pylist() for n in self._places}
        for name in self._places:
            columns[name] = columns[name].fill_null(0)
        for n, mask in enumerate(self._masks):
            flags = [0] * rows.num_rows
            for name, (of, bit) in self._places.items():
                if of == n:
                    flags = [f | null << bit for f, null in zip(flags, absent[name], strict=True)]
            columns[mask] = pa.array(flags, pa.int64())
        return pa.table(columns)

    def received(self, columns: Columns) -> Columns:
        """The columns under their own names, with their nulls; times are microseconds still."""
        made: dict[str, Any] = {name: columns[name] for name in self._names}
        for n, mask in enumerate(self._masks):
            sent: pd.Series[Any] = columns[mask]  # type: ignore[assignment]
            flags = sent.to_numpy("int64")
            if not flags.any():
                continue
            for name, (of, bit) in self._places.items():
                absent = (flags >> bit) & 1
                if of == n and absent.any():
                    pairs = zip(made[name].tolist(), absent.tolist(), strict=True)
                    made[name] = [None if null else value for value, null in pairs]
        return made

    def arrays(self, rows: pa.StructArray) -> dict[str, pa.Array]:
        """As `received`, of rows that came as Arrow."""
        names = [f.name for f in rows.type]
        sent = {name: rows.field(n) for n, name in enumerate(names)}
        made = {name: sent[name] for name in self._names}
        for n, mask in enumerate(self._masks):
            flags = sent[mask].to_numpy()
            if not flags.any():
                continue
            for name, (of, bit) in self._places.items():
                absent = ((flags >> bit) & 1).astype(bool)
                if of == n and absent.any():
                    nothing = pa.scalar(None, made[name].type)
                    made[name] = pc.if_else(pa.array(absent), nothing, made[name])
        return made


def holds_times(spark: DataType) -> bool:
    match spark:
        case TimestampType() | TimestampNTZType():
            return True
        case ArrayType():
            return holds_times(spark.elementType)
        case MapType():
            return holds_times(spark.keyType) or holds_times(spark.valueType)
        case StructType():
            return any(holds_times(f.dataType) for f in spark.fields)
    return False


def wired_type(spark: DataType) -> DataType:
    """The type in which values of this type travel."""
    match spark:
        case TimestampType() | TimestampNTZType():
            return LongType()
        case ArrayType():
            return ArrayType(wired_type(spark.elementType), spark.containsNull)
        case MapType():
            key, value = wired_type(spark.keyType), wired_type(spark.valueType)
            return MapType(key, value, spark.valueContainsNull)
        case StructType():
            fields = spark.fields
            return StructType(
                [StructField(f.name, wired_type(f.dataType), f.nullable) for f in fields]
            )
    return spark


def wired(value: Any, spark: DataType) -> Any:
    """A value as it travels. Times in it are aware, of TIMESTAMP_NTZ naive."""
    if value is None or not holds_times(spark):
        return value
    match spark:
        case TimestampType():
            return micros(value)
        case TimestampNTZType():
            return wall_micros(value)
        case ArrayType():
            return [wired(v, spark.elementType) for v in value]
        case MapType():
            pairs = value.items() if isinstance(value, dict) else value
            return [(wired(k, spark.keyType), wired(v, spark.valueType)) for k, v in pairs]
        case StructType():
            return {f.name: wired(value[f.name], f.dataType) for f in spark.fields}
    raise AssertionError(spark)


def _array(column: pa.ChunkedArray, spark: DataType) -> pa.ChunkedArray:
    if isinstance(spark, TimestampType | TimestampNTZType):
        return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
    if not holds_times(spark):
        return column
    values = [wired(v, spark) for v in column.to_pylist()]
    return pa.chunked_array([pa.array(values, _arrow_type(column.type))])


def _arrow_type(arrow: pa.DataType) -> pa.DataType:
    """The Arrow type of values that travel as `wired_type` says."""
    if pa.types.is_timestamp(arrow):
        return pa.int64()
    if pa.types.is_list(arrow):
        return pa.list_(_arrow_type(arrow.value_type))
    if pa.types.is_map(arrow):
        return pa.map_(_arrow_type(arrow.key_type), _arrow_type(arrow.item_type))
    if pa.types.is_struct(arrow):
        return pa.struct([(f.name, _arrow_type(f.type)) for f in arrow.fields])
    return arrow


def _sql(value: str, spark: DataType, depth: int = 0) -> str:
    """The expression that makes of a value what travels."""
    if not holds_times(spark):
        return value
    each = f"v{depth}"
    match spark:
        case TimestampType():
            return f"unix_micros({value})"
        case TimestampNTZType():
            # Whatever casts it to a timestamp asks the session's time zone.
            return (
                f"(unix_date(cast({value} as date)) * 86400000000L + hour({value}) * 3600000000L "
                f"+ minute({value}) * 60000000L "
                f"+ cast(extract(second from {value}) * 1000000 as bigint))"
            )
        case ArrayType():
            return f"transform({value}, {each} -> {_sql(each, spark.elementType, depth + 1)})"
        case MapType():
            keys = _sql(f"map_keys({value})", ArrayType(spark.keyType), depth)
            values = _sql(f"map_values({value})", ArrayType(spark.valueType), depth)
            return f"map_from_arrays({keys}, {values})"
        case StructType():
            fields = ", ".join(
                f"{_text(f.name)}, {_sql(f'{value}.{_quoted(f.name)}', f.dataType, depth)}"
                for f in spark.fields
            )
            return f"if({value} is null, null, named_struct({fields}))"
    raise AssertionError(spark)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _text(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
