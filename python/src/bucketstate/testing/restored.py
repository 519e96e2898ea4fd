"""Keys of a query's checkpoint, as a harness keeps them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any
from uuid import UUID

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.documents import check_kept
from bucketstate.checkpoint.spark.variables import TTL_FIELD
from bucketstate.stateful.codec.instants import micros
from bucketstate.stateful.codec.kept import NO_TIMEOUT, Kept
from bucketstate.stateful.codec.times import DatetimeCodec
from bucketstate.stateful.errors import DefinitionError
from bucketstate.stateful.run.processor import AFTER, STATE
from bucketstate.testing.group_run import StoredRow, StoredRows
from bucketstate.testing.processor_run import StoredVariables, Variable

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from datetime import tzinfo

    import pyarrow as pa

    from bucketstate.stateful.codec.document import StateCodec
    from bucketstate.stateful.run.operators import Operator
    from bucketstate.testing.memory import Item

Cells = tuple[Any, ...]

_NEVER = -1
"""Spark's expiry of a value that has none."""


class StoredKeys:
    """The keys of a stateful function at a version of a checkpoint.

    Args:
        path: of the checkpoint.
        filesystem: the one that it is on; None for that of the path.
        operator_id: which of the query's operators.
        version: the state after batch n is version n + 1; without, what a restart reads.
        batch: the batch that made it, in place of a version.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        filesystem: Any,
        operator_id: int,
        version: int | None,
        batch: int | None,
    ) -> None:
        self._checkpoint = Checkpoint(path, filesystem)
        self._id = operator_id
        self._version = self._checkpoint.version_at(version, batch)
        info = self._checkpoint.operator_at(operator_id, self._version)
        self.variables: dict[str, Variable] = {
            v.name: (v.kind, v.ttl) for v in info.state_variables
        }
        """The state variables of the operator, by name."""
        self.operator: Operator = (
            "applyInPandasWithState" if info.transform is None else "transformWithState"
        )

    @property
    def names(self) -> list[str]:
        """The columns of the keys."""
        schema = self._scan(STATE).schema
        check_kept(schema.field("value").type, f"operator {self._id}")
        return [field.name for field in schema.field("key").type]

    @property
    def clocked(self) -> bool | None:
        """Whether the query had a clock; None where its states do not tell."""
        if self.operator != "applyInPandasWithState":
            return None
        kind = self._scan(STATE).schema.field("value").type
        return bool(kind.get_field_index("timeoutTimestamp") >= 0)

    @property
    def clocks(self) -> tuple[int | None, int | None, int | None]:
        """The clock of the batch after the version, its watermark and the one of before.

        In milliseconds since the epoch. Of a batch that was not planned yet the clock is that of
        the last one that was; None for what Spark's logs do not have any more.
        """
        query, number = self._checkpoint.query, self._version
        planned = [n for n in query.planned if n <= number]
        at = query.planned_at(planned[-1]) if planned and planned[-1] >= number - 1 else None
        return at, query.watermark_of(number), query.watermark_of(number - 1)

    def read(self, key: Any, lookup: Cells, stored: Any, codec: StateCodec) -> Cells | None:
        """Puts a key of the checkpoint into what is stored, under the name `key`.

        Args:
            key: what it is called there.
            lookup: its columns, as Spark hands them over.
            stored: of the checkpoint's operator.
            codec: of the states.

        Returns:
            The key as Spark hands it over; None where the checkpoint has no such key.
        """
        rows = self._rows(STATE, lookup)
        if not rows:
            return None
        cells = tuple(rows[0]["key"].values())
        if isinstance(stored, StoredRows):
            value = rows[0]["value"]
            group = value["groupState"]
            row = None if group is None else tuple(group.values())
            stored[key] = StoredRow(cells, row, value.get("timeoutTimestamp", NO_TIMEOUT))
            return cells
        assert isinstance(stored, StoredVariables)
        memory = stored.memory
        row = tuple(rows[0]["value"].values())
        memory.variables.setdefault(STATE, {})[key] = (row, None)
        memory.cells[key] = cells
        moments = Kept.of(row).moments
        if moments:
            memory.timers[key] = frozenset(at + AFTER for at in moments)
        for name in codec.parts:
            found = self._part(name, cells)
            if found:
                memory.variables.setdefault(name, {})[key] = found
        return cells

    def _part(self, name: str, cells: Cells) -> Any:
        """What a variable holds of a key, as `Memory` has it."""
        if name not in self.variables:
            # The class has the part since; no query has written it.
            return None
        kind, _ = self.variables[name]
        rows = self._rows(name, cells)
        if kind == "map":
            return {
                tuple(row["user_map_key"].values()): _item(row["user_map_value"]) for row in rows
            }
        if kind == "list":
            return tuple(_item(row["list_element"]) for row in rows)
        return _item(rows[0]["value"]) if rows else None

    def _rows(self, variable: str, cells: Cells) -> list[dict[str, Any]]:
        found: pa.Table = self._scan(variable).update(key=cells).to_arrow()
        rows: list[dict[str, Any]] = found.to_pylist()
        # What is found for -0.0 may be of 0.0, which is another key of a function's.
        return [row for row in rows if _signs(row["key"]) == _signs(cells)]

    def _scan(self, variable: str) -> Any:
        name = variable if self.operator == "transformWithState" else None
        return self._checkpoint.scan(operator=self._id, version=self._version, state_var=name)


def _signs(key: Any) -> list[float]:
    """The signs of the zeros in a key, in their order."""
    if isinstance(key, Mapping):
        key = tuple(key.values())
    if isinstance(key, tuple | list):
        return [sign for value in key for sign in _signs(value)]
    # A float of a key is not equal to any other class's.
    zero = isinstance(key, int | float) and float(key) == 0
    return [math.copysign(1, key)] if zero else []


def _item(stored: dict[str, Any]) -> Item:
    """A variable's value, and when it expires."""
    if TTL_FIELD not in stored:
        return tuple(stored.values()), None
    expires = stored[TTL_FIELD]
    return tuple(stored["value"].values()), None if expires == _NEVER else expires


def values_of(given: Any, names: Sequence[str]) -> Cells:
    """The values of a key, as a test names it: of one column its value alone, too.

    Raises DefinitionError for other columns than those.
    """
    if isinstance(given, Mapping) and set(given) == set(names):
        return tuple(given[name] for name in names)
    found = tuple(given) if isinstance(given, tuple | list) else (given,)
    if len(found) != len(names):
        raise DefinitionError(
            f"keys has {given!r}, and the rows are grouped by {', '.join(names)}: give a tuple of "
            f"{len(names)}, or a dict of them by name."
        )
    return found


def travelling(value: Any, zone: tzinfo) -> Any:
    """A value of a key as it travels, where nothing but the value says what it is.

    Raises DefinitionError for a datetime without a time zone, unless it is one in UTC as well.
    """
    if isinstance(value, datetime):
        instant = DatetimeCodec(zone).check(value)
        if value.tzinfo is None and instant.replace(tzinfo=None) != value:
            # Both kinds of columns are stored as the same type.
            raise DefinitionError(
                f"keys has {value!r}, which without the rows' types may be a timestamp in "
                f"{zone}, or a reading of a timestamp_ntz: give schema=, or of a timestamp the "
                "datetime with its time zone."
            )
        return micros(instant)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {name: travelling(inner, zone) for name, inner in value.items()}
    return value
