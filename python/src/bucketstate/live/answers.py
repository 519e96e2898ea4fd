"""What keys have at a version, as Python values and as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, overload

import pyarrow as pa

from bucketstate.checkpoint.spark.python_values import with_dicts
from bucketstate.errors import InvalidArgumentError

Row = dict[str, Any]


class Values(NamedTuple):
    """Where a value is in the rows of its key."""

    column: str
    of_map: bool
    """Whether each row is an entry, whose key has a column, too."""
    several: bool
    """Whether all of a key's rows are its value."""

    @classmethod
    def over(cls, schema: pa.Schema, *, one: bool) -> Values:
        """Those of columns as they are stored; with `one`, of one entry of each map."""
        names = schema.names
        column = names[names.index("partition_id") - 1]
        of_map = column == "user_map_value" and not one
        return cls(column, of_map, of_map or column == "list_element")

    def of(self, rows: Sequence[Row], key: Any) -> Any:
        if not rows:
            return None
        if self.several:
            values = [row[self.column] for row in rows]
            keys = [row["user_map_key"] for row in rows] if self.of_map else []
            return list(zip(keys, values, strict=True)) if self.of_map else values
        if len(rows) > 1:
            raise InvalidArgumentError(
                f"key={key!r} is the beginning of {len(rows)} keys: give all columns, or take "
                "`rows` for all of them."
            )
        return rows[0][self.column]


class Looked:
    """What was found of some keys at one version."""

    def __init__(
        self,
        keys: Sequence[Any],
        owners: list[int],
        view: tuple[int, int | None],
        values: Values,
        rows: Callable[[], list[Row]],
        columns: Callable[[], pa.Table],
    ) -> None:
        self.keys = keys
        self.owners = owners
        self.version, self.batch = view
        self.values = values
        self.columns = columns
        self._rows = rows

    @cached_property
    def by_key(self) -> list[list[Row]]:
        found: list[list[Row]] = [[] for _ in self.keys]
        for owner, row in zip(self.owners, self._rows(), strict=True):
            found[owner].append(row)
        return found


class Answer:
    """What one key has, as the newest batch left it. It does not change; any thread may read it.

    It is true where the key is there.
    """

    def __init__(self, of: Looked, number: int) -> None:
        self._of = of
        self._number = number

    @property
    def rows(self) -> list[Row]:
        """The rows of the key as dicts by column, as `Checkpoint.scan` has them; none without it.

        With `decode`, `state` is an instance of the class.
        """
        return self._of.by_key[self._number]

    @property
    def value(self) -> Any:
        """The key's value, as `Scan.get` has it; None if the key is not there.

        A dict by column; of a list variable a list of them, of a map a list of its keys with
        their values. With `decode` it is an instance of the class.

        Raises:
            InvalidArgumentError: the key is the beginning of several: see `rows`.
        """
        return self._of.values.of(self.rows, self._of.keys[self._number])

    @property
    def version(self) -> int:
        """The version that was asked: batch n makes version n + 1."""
        return self._of.version

    @property
    def batch(self) -> int | None:
        """The batch that made it; None before the first one was committed."""
        return self._of.batch

    def __bool__(self) -> bool:
        return bool(self.rows)

    def __repr__(self) -> str:
        of = f"{self._of.keys[self._number]!r}, rows={self.rows!r}"
        return f"Answer({of}, version={self.version})"


class Answers:
    """What many keys have at one version, in their order. It does not change.

    Any thread may read it. It has a length, is iterated over and is indexed as the keys are.
    """

    def __init__(self, of: Looked) -> None:
        self._of = of

    @property
    def version(self) -> int:
        """The version that was asked: batch n makes version n + 1."""
        return self._of.version

    @property
    def batch(self) -> int | None:
        """The batch that made it; None before the first one was committed."""
        return self._of.batch

    def __len__(self) -> int:
        return len(self._of.keys)

    @overload
    def __getitem__(self, number: int) -> Answer: ...

    @overload
    def __getitem__(self, number: slice) -> list[Answer]: ...

    def __getitem__(self, number: int | slice) -> Answer | list[Answer]:
        found = range(len(self))[number]
        if isinstance(found, range):
            return [Answer(self._of, each) for each in found]
        return Answer(self._of, found)

    def __iter__(self) -> Iterator[Answer]:
        return (Answer(self._of, number) for number in range(len(self)))

    @property
    def values(self) -> list[Any]:
        """The value of each key, as `Answer.value` has it; None for one that is not there.

        Raises:
            InvalidArgumentError: a key is the beginning of several.
        """
        return [answer.value for answer in self]

    def to_arrow(self) -> pa.Table:
        """The rows of all keys as one table, as `Checkpoint.scan` has them, key by key.

        The first column, `asked`, says by its number from 0 which of the keys a row is for. A key
        that is not there has none. With `decode` the columns of states are made of the instances
        that `rows` has.
        """
        asked = pa.array(self._of.owners, pa.int64())
        return self._of.columns().add_column(0, "asked", asked)

    def __repr__(self) -> str:
        rows = len(self._of.owners)
        return f"Answers({len(self)} keys, {rows} rows, version={self.version})"


def as_rows(table: pa.Table) -> list[Row]:
    """The rows as dicts by column, with values as `Scan.get` has them."""
    names = table.column_names
    columns = [with_dicts(column) for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
