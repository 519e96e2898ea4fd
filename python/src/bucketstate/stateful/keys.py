"""The key of a group, as a named tuple of Python values."""

from __future__ import annotations

from collections import namedtuple
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bucketstate.stateful.containers import OptionalCodec
from bucketstate.stateful.ddl import codec_of_type
from bucketstate.stateful.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

    from pyspark.sql.types import StructType


class KeyCodec:
    """Makes keys of what Spark hands over: numpy values, pandas timestamps, NaN for null."""

    def __init__(self, schema: StructType, zone: tzinfo) -> None:
        self.names = tuple(schema.names)
        self._cells: list[Callable[[Any], Any]] = []
        for field in schema.fields:
            try:
                codec = OptionalCodec(codec_of_type(field.dataType, field.name, zone))
            except DefinitionError:
                self._cells.append(_plain)
            else:
                self._cells.append(codec.cell)

    @cached_property
    def type(self) -> Any:
        return namedtuple("Key", self.names, rename=True)

    def __call__(self, cells: tuple[Any, ...]) -> Any:
        make = self.type._make
        return make(
            [c if type(c) is str else f(c) for f, c in zip(self._cells, cells, strict=True)]
        )

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "type"}


def _plain(cell: Any) -> Any:
    return cell.item() if isinstance(cell, np.generic) else cell
