"""The golden keys, which a suite of the provider makes too: they are looked for where they lie."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import types as T  # noqa: N812

from bucketstate.checkpoint.format.runs import run_key
from bucketstate.checkpoint.spark.key_bytes import key_columns
from tests.kit.sparks import HAS_TIME
from tests.kit.values.own_types import bytes_of_key

FILE = Path(__file__).resolve().parents[2] / "golden" / "v1" / "keys.json"
CONTENT = json.loads(FILE.read_text(encoding="utf-8"))
NUM_BUCKETS = CONTENT["numBuckets"]
KEYS = [
    pytest.param(family, key, id=f"{family['id']}-{family['encoding']}-{number}")
    for family in CONTENT["families"]
    if HAS_TIME or not any(field["type"] == "time(6)" for field in family["schema"]["fields"])
    for number, key in enumerate(family["keys"])
]


def schema_of(family: dict[str, Any]) -> T.StructType:
    return T.StructType.fromJson(family["schema"])


def values_of(schema: T.StructType, values: list[Any]) -> tuple[Any, ...]:
    return tuple(value_of(f.dataType, v) for f, v in zip(schema, values, strict=True))


def value_of(kind: T.DataType, value: Any) -> Any:
    """As the file has it to as it is stored."""
    match kind:
        case _ if value is None:
            return None
        case T.FloatType() | T.DoubleType():
            return float(value)
        case T.DecimalType():
            return int(value)
        case T.BinaryType():
            return bytes.fromhex(value)
        case T.StructType():
            return values_of(kind, value)
        case T.ArrayType():
            return [value_of(kind.elementType, v) for v in value]
    return value


@pytest.mark.parametrize(("family", "key"), KEYS)
def test_a_key_is_looked_for_where_it_lies(family: dict[str, Any], key: dict[str, Any]) -> None:
    schema, encoding = schema_of(family), family["encoding"]
    values = values_of(schema, key["values"])
    found = bytes_of_key(encoding, schema, values, NUM_BUCKETS)
    entry = bytes.fromhex(key["entry"])
    assert found.bucket == key["bucket"]
    assert run_key(family["id"], found.bucket, found.start).hex() == entry.hex()
    assert found.matches(entry[4:])
    assert found.start <= entry[4:] < found.end
    # The fields that suffice lead to the same bucket.
    part = bytes_of_key(encoding, schema, values[: key_columns(encoding, len(schema))], NUM_BUCKETS)
    assert part.bucket == found.bucket
    assert part.matches(entry[4:])
    assert part.start <= entry[4:] < part.end
