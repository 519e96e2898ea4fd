"""What the reader does with its own types, asked with those of pyspark, as tests have them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T  # noqa: N812

from bucketstate.checkpoint.spark import (
    evolution,
    key_bytes,
    key_values,
    keys,
    partitioning,
    schema_files,
    types,
    values,
)


def own(kind: T.DataType) -> types.DataType:
    """By the JSON in which Spark keeps it."""
    return types.type_of(json.loads(kind.json()))


def own_struct(kind: T.StructType) -> types.StructType:
    return types.struct_of(json.loads(kind.json()))


def family_schema(
    key: T.StructType, value: T.StructType, user_key: T.StructType | None = None, number: int = 0
) -> schema_files.FamilySchema:
    inner = None if user_key is None else own_struct(user_key)
    return schema_files.FamilySchema(own_struct(key), own_struct(value), inner, number)


def arrow_type(kind: T.DataType) -> pa.DataType:
    return values.arrow_type(own(kind))


def row_decoder(schema: T.StructType) -> keys.Decoder:
    return keys.row_decoder(own_struct(schema))


def key_decoder(encoding: str, schema: T.StructType) -> keys.Decoder:
    return keys.key_decoder(encoding, own_struct(schema))


def bytes_of_key(
    encoding: str, schema: T.StructType, key: Sequence[Any], num_buckets: int
) -> key_bytes.KeyBytes:
    return key_bytes.key_bytes(encoding, own_struct(schema), key, num_buckets)


def stored_key(schema: T.StructType, key: Any) -> tuple[Any, ...]:
    return key_values.stored_key(own_struct(schema), key)


def spark_hash(kinds: Sequence[T.DataType], row: Sequence[Any]) -> int | None:
    return partitioning.spark_hash([own(kind) for kind in kinds], row)


def partition_of(kinds: Sequence[T.DataType], row: Sequence[Any], partitions: int) -> int | None:
    return partitioning.partition_of([own(kind) for kind in kinds], row, partitions)


def resolved(array: pa.Array, before: T.DataType, after: T.DataType) -> pa.Array:
    return evolution.resolved(array, own(before), own(after))


def evolving_decoder(schemas: Mapping[int, T.StructType], newest: int) -> keys.Decoder:
    return evolution.evolving_decoder({n: own_struct(s) for n, s in schemas.items()}, newest)
