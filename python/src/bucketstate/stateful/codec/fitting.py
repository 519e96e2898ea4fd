"""Whether a column of rows can be what a field asks for, by their types alone."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    CharType,
    DataType,
    DecimalType,
    MapType,
    NullType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

_TEXTS = StringType | CharType | VarcharType
_TIMES = TimestampType | TimestampNTZType


def fits(wanted: DataType, found: DataType) -> bool:
    """Whether a value of the type that is found can be one of the type that is wanted.

    Numbers may be each other's, where a value is: that shows when it comes.
    """
    match wanted, found:
        case _, NullType():
            return True
        case ArrayType(), ArrayType():
            return fits(wanted.elementType, found.elementType)
        case MapType(), MapType():
            return fits(wanted.keyType, found.keyType) and fits(wanted.valueType, found.valueType)
        case StructType(), StructType():
            both = set(wanted.names) & set(found.names)
            return all(fits(wanted[name].dataType, found[name].dataType) for name in both)
    if isinstance(wanted, _TEXTS):
        return isinstance(found, _TEXTS)
    if isinstance(wanted, _TIMES):
        return isinstance(found, _TIMES)
    if isinstance(wanted, NumericType) and isinstance(found, NumericType):
        return isinstance(wanted, DecimalType) == isinstance(found, DecimalType)
    return type(wanted) is type(found)
