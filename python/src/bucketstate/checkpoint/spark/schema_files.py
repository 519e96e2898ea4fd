"""Spark's state schema files: what the keys and values of each column family are."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from bucketstate.checkpoint.format.damage import decoding, format_of
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.spark.types import StructType, struct_of
from bucketstate.errors import MissingFileError

DEFAULT_FAMILY = "default"
_SCHEMA_FORMAT = 3


@dataclass(frozen=True)
class FamilySchema:
    """Key and value schema of a column family, as types of this package, not of pyspark.

    `user_key` is the schema of the keys in a map state variable. `value_id` is the number of the
    value schema, by which rows may name it; `values` are all that were ever recorded, by number.
    """

    key: StructType
    value: StructType
    user_key: StructType | None = None
    value_id: int = 0
    values: Mapping[int, StructType] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if not self.values:
            object.__setattr__(self, "values", {self.value_id: self.value})

    def grouping_key(self, *, composite: bool) -> StructType:
        """The key that rows were grouped by; of a map or a timer it is a part of the whole key."""
        if not composite:
            return self.key
        found = self.key["key"].dataType
        assert isinstance(found, StructType)
        return found


def read_schemas(folder: Folder, name: str) -> dict[str, FamilySchema]:
    """A state schema file of Spark: format 1 and 2 for one family, 3 for several."""
    path = folder.path_of(name)
    try:
        data = _JavaReader(folder.read(name))
    except MissingFileError as error:
        raise MissingFileError(
            f"{path} is not there: without the schema of the state its bytes have no columns. "
            "Restore it from a backup, or start the query once; Spark writes it anew."
        ).about(path, f"{path} is not there.") from error
    with decoding(path, "state schema"):
        version = format_of(data.utf(), path, "a state schema", _SCHEMA_FORMAT)
        if version == 1:
            return {DEFAULT_FAMILY: FamilySchema(_struct(data.utf()), _struct(data.utf()))}
        if version == 2:
            return {DEFAULT_FAMILY: FamilySchema(_struct(data.text()), _struct(data.text()))}
        schemas = {}
        for _ in range(data.i32()):
            family = data.utf()
            data.i16()
            key = _struct(data.text())
            number = data.i16()
            value = _struct(data.text())
            # How Spark encodes the key; our files say that.
            data.text()
            user_key = json.loads(data.text())
            schemas[family] = FamilySchema(
                key,
                value,
                struct_of(user_key) if user_key else None,
                number,
                {number: value},
            )
        return schemas


def evolved(oldest_first: Sequence[Mapping[str, FamilySchema]]) -> dict[str, FamilySchema]:
    """The newest schema of each family, with all value schemas that it had."""
    found: dict[str, FamilySchema] = {}
    for schemas in oldest_first:
        for family, schema in schemas.items():
            before = found[family].values if family in found else {}
            found[family] = replace(schema, values={**before, **schema.values})
    return found


class _JavaReader:
    """Reads what java.io.DataOutput wrote."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def i16(self) -> int:
        return self._number(">h")

    def i32(self) -> int:
        return self._number(">i")

    def utf(self) -> str:
        length = self._number(">H")
        self._at += length
        taken = self._data[self._at - length : self._at]
        if len(taken) < length:
            raise ValueError("a string is cut off")
        # Java's UTF-8 writes the zero character, and each surrogate, in a way of its own.
        return (
            taken.replace(b"\xc0\x80", b"\x00")
            .decode("utf-8", "surrogatepass")
            .encode("utf-16", "surrogatepass")
            .decode("utf-16")
        )

    def text(self) -> str:
        """A text of any length, in parts."""
        return "".join(self.utf() for _ in range(self.i32()))

    def _number(self, layout: str) -> int:
        (number,) = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return int(number)


def _struct(text: str) -> StructType:
    return struct_of(json.loads(text))
