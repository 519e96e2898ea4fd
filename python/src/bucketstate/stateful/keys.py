"""The key of a group, as a named tuple of Python values."""

from __future__ import annotations

import math
from collections import namedtuple
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bucketstate.stateful.containers import OptionalCodec
from bucketstate.stateful.ddl import codec_of_type
from bucketstate.stateful.errors import DefinitionError, MismatchError

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

    from pyspark.sql.types import StructType

    from bucketstate.stateful.codecs import Codec


NAN = math.nan
"""The one NaN in keys: as the same object it is equal to itself."""


class KeyCodec:
    """Makes keys of what Spark hands over: numpy values, pandas timestamps, NaN for null.

    A name that a field cannot have, such as `from` or `event type`, is `_0` for the first column.
    """

    def __init__(self, schema: StructType, zone: tzinfo) -> None:
        self.names = tuple(schema.names)
        self._codecs: list[Codec | None] = []
        self._cells: list[Callable[[Any], Any]] = []
        for field in schema.fields:
            try:
                codec = OptionalCodec(codec_of_type(field.dataType, field.name, zone))
            except DefinitionError:
                self._codecs.append(None)
                self._cells.append(_plain)
            else:
                self._codecs.append(codec)
                self._cells.append(codec.cell)

    @cached_property
    def type(self) -> Any:
        return namedtuple("Key", self.names, rename=True)

    def __call__(self, cells: tuple[Any, ...]) -> Any:
        make = self.type._make
        return make(
            [c if type(c) is str else f(c) for f, c in zip(self._cells, cells, strict=True)]
        )

    def identity(self, cells: tuple[Any, ...]) -> Any:
        """The key by which Spark tells groups apart.

        A NaN is not a null, though both are None to the function.
        """
        made = self(cells)
        nans = {
            name: NAN
            for name, cell, value in zip(made._fields, cells, made, strict=True)
            if value is None and isinstance(cell, float | np.floating) and cell != cell
        }
        return made._replace(**nans) if nans else made

    def check(self, values: tuple[Any, ...]) -> None:
        """MismatchError, with the column's name, for a key that the columns cannot have."""
        for name, codec, value in zip(self.names, self._codecs, values, strict=True):
            if codec is not None:
                try:
                    codec.check(value)
                except MismatchError as e:
                    raise e.under(name) from None

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "type"}


def _plain(cell: Any) -> Any:
    return cell.item() if isinstance(cell, np.generic) else cell
