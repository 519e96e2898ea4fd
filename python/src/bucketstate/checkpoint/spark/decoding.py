"""Records of a column family as Arrow record batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bucketstate.checkpoint.format.damage import REMEDY
from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.records import Records
from bucketstate.checkpoint.format.slices import Slices
from bucketstate.checkpoint.format.times import TIMED, rows_of
from bucketstate.checkpoint.spark.evolution import EVOLVING, EVOLVING_LISTS, evolving_decoder
from bucketstate.checkpoint.spark.keys import COMPACT, LISTS, key_decoder, list_decoder, row_decoder
from bucketstate.checkpoint.spark.schema_files import FamilySchema
from bucketstate.checkpoint.spark.values import arrow_type
from bucketstate.errors import DamagedFileError, NewerFormatError

ROWS = 65_536
"""Rows of a record batch, at most."""


@dataclass(frozen=True)
class StateSchema:
    """The columns a family's records are read as: structs `key` and `value`.

    Where keys have several values, `value` is a list of structs.
    """

    key: pa.StructType
    value: pa.StructType | pa.ListType

    @classmethod
    def of(cls, schema: FamilySchema, *, lists: bool = False) -> StateSchema:
        value = arrow_type(schema.value)
        return cls(arrow_type(schema.key), pa.list_(value) if lists else value)


def holds_lists(family: Family) -> bool:
    """Whether keys of the family have several values."""
    return family.value_encoding in (LISTS, EVOLVING_LISTS)


class RecordDecoder:
    """Decodes a family's records by Spark's schema of it.

    Raises NewerFormatError for an encoding that is not known, DamagedFileError for bytes that do
    not have the layout of the schema.
    """

    def __init__(self, family: Family, schema: FamilySchema, where: str) -> None:
        self._where = where
        self._schema = schema
        lists = holds_lists(family)
        self.columns = StateSchema.of(schema, lists=lists)
        if family.value_encoding not in (COMPACT, LISTS, TIMED, EVOLVING, EVOLVING_LISTS):
            raise self._unknown("value", family.value_encoding)
        self._timed = family.value_encoding == TIMED
        rows = row_decoder(schema.value)
        if family.value_encoding in (EVOLVING, EVOLVING_LISTS):
            rows = evolving_decoder(schema.values, schema.value_id)
        self._values = list_decoder(rows) if lists else rows
        try:
            self._keys = key_decoder(family.key_encoding, schema.key)
        except ValueError as error:
            raise self._unknown("key", family.key_encoding) from error

    def keys(self, keys: Slices) -> pa.StructArray:
        try:
            return self._keys(keys)
        except (IndexError, ValueError, pa.ArrowInvalid) as error:
            raise self._mismatch("key", self._schema.key.simpleString(), error) from error

    def values(self, values: Slices) -> pa.StructArray | pa.ListArray:
        try:
            return self._values(self.without_times(values))
        except (IndexError, ValueError, pa.ArrowInvalid) as error:
            raise self._mismatch("value", self._schema.value.simpleString(), error) from error

    def without_times(self, values: Slices) -> Slices:
        """The bytes of values without their times, by which values are the same or not."""
        try:
            return rows_of(values) if self._timed else values
        except (IndexError, ValueError) as error:
            raise self._mismatch("value", self._schema.value.simpleString(), error) from error

    def optional_values(self, records: Records) -> pa.StructArray | pa.ListArray:
        """Values, with nulls where keys were removed."""
        if records.puts.all():
            return self.values(records.values)
        there = self.values(records.values.where(records.puts))
        places = np.cumsum(records.puts) - 1
        return there.take(pa.array(places, pa.int64(), mask=~records.puts))

    def _unknown(self, what: str, encoding: str) -> NewerFormatError:
        return NewerFormatError(
            f"{self._where} has its {what}s encoded as '{encoding}', which this release does not "
            "know: upgrade this package."
        )

    def _mismatch(self, what: str, schema: str, error: Exception) -> DamagedFileError:
        return DamagedFileError(
            f"{self._where}: a {what} does not have the layout of the schema {schema} ({error}). "
            f"The query's schema file and its state do not belong together. {REMEDY}"
        )


def chunked(parts: Iterable[Records], rows: int = ROWS) -> Iterator[Records]:
    """Cuts records into chunks of at most so many."""
    for part in parts:
        for at in range(0, len(part), rows):
            yield part[at : at + rows]
