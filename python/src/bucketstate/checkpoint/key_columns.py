"""One key: its value at a version, and at every version that is still there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from bucketstate.checkpoint.key_bytes import Key
from bucketstate.checkpoint.key_values import meanings, stored_key
from bucketstate.checkpoint.python_values import python_values
from bucketstate.checkpoint.query import DEFAULT_STORE
from bucketstate.checkpoint.reading import Part, Reading
from bucketstate.checkpoint.selection import Selection
from bucketstate.checkpoint.store import Store
from bucketstate.errors import CheckpointError, InvalidArgumentError


class KeyColumns(Selection):
    """Looks single keys up: only the files and blocks that may have them are read.

    Its partition and its bucket are computed as Spark and the provider compute them. If the key is
    not in that partition, the others are asked, too, because a few operators distribute their keys
    otherwise; `partition` says which one is meant. Not thread-safe.
    """

    def get(
        self,
        key: Any,
        operator: int = 0,
        partition: int | None = None,
        version: int | None = None,
        column_family: str | None = None,
        *,
        store: str = DEFAULT_STORE,
        state_var: str | None = None,
        user_key: Any = None,
        batch: int | None = None,
    ) -> Any:
        """The value of one key at a version, as Python values; None if it is not there.

        A value is a dict by column. Where a key has several, as in a list variable, it is a list of
        them; of a map variable it is a list of its keys with their values, or with `user_key` the
        value of that one. `to_arrow` has the same as a table. A year beyond 1 to 9999 is a text in
        ISO 8601, and bytes that are no UTF-8 are in a text as a backslash, an x and two digits.

        Args:
            key: the value of the key's column; of several columns a tuple of all values, or a dict
                of them by column. Of a state variable it is the grouping key. Texts may be bytes.
            operator: the id of the stateful operator.
            partition: the key's partition, if it is known; it is looked for without.
            version: the state after batch n is version n + 1; without, what a restart reads.
            column_family: for operators that have several.
            store: for stream-stream joins, which have several.
            state_var: a state variable of transformWithState.
            user_key: of a map variable, one key of the map; None for all of them.
            batch: the state that this batch made, in place of a version.

        Raises:
            InvalidArgumentError: the key cannot be one of this state, or is the beginning of
                several; an argument is of a wrong type, or at odds with another.
            NoSuchStateError: what is asked for is not there; the message lists what is.
            DamagedFileError: a file that is needed is damaged.
            MissingFileError: a file that is needed is not there.
            NewerFormatError: a newer release wrote a file that is needed.
            StorageError: the file system failed.
        """
        table = self._key_table(
            key,
            operator,
            partition,
            self.version_at(version, batch),
            column_family,
            store=store,
            state_var=state_var,
            user_key=user_key,
            flatten=user_key is not None,
        )
        if table.num_rows > 1:
            raise InvalidArgumentError(
                f"key={key!r} is the beginning of {table.num_rows} keys: give all columns, or ask "
                "`to_arrow` for all of those keys."
            )
        # The partition stands behind the value.
        found = python_values(table.column(table.num_columns - 2))
        return found[0] if found else None

    def key_history(
        self,
        key: Any,
        operator: int = 0,
        partition: int | None = None,
        column_family: str | None = None,
        *,
        store: str = DEFAULT_STORE,
        times: bool = False,
        state_var: str | None = None,
        user_key: Any = None,
        flatten: bool = True,
    ) -> pa.Table:
        """The value of one key at every version that can still be read, the oldest first.

        Columns: `version`, `batch_id` (the batch that made it), then those of `to_arrow`. Where the
        key is not there, they are null. Values are read as of the newest schemas. Arguments and
        errors are as for `get`, and `times` and `flatten` as for `to_arrow_batch_reader`.
        """
        found: pa.Table | None = None
        for wanted, inner in meanings(key, user_key):
            reading = self._key_reading(
                wanted, operator, column_family, store, None, state_var, inner, times, flatten
            )
            for stores in self._places(reading, operator, partition, store):
                tables = [reading.history(self._readable(one)) for one in stores]
                there = [t for t in tables if t.column("key").null_count < t.num_rows]
                if there:
                    return there[0]
                found = found or tables[0]
        assert found is not None
        return found

    def _key_table(
        self,
        key: Any,
        operator: int,
        partition: int | None,
        version: int,
        column_family: str | None,
        *,
        store: str,
        state_var: str | None,
        user_key: Any,
        times: bool = False,
        flatten: bool = True,
    ) -> pa.Table:
        table: pa.Table | None = None
        for wanted, inner in meanings(key, user_key):
            reading = self._key_reading(
                wanted, operator, column_family, store, version, state_var, inner, times, flatten
            )
            for stores in self._places(reading, operator, partition, store):
                table = reading.state(self._parts_at(stores, version)).read_all()
                if table.num_rows:
                    return table
        return table

    def _key_reading(
        self,
        key: Any,
        operator: int,
        column_family: str | None,
        store: str,
        version: int | None,
        state_var: str | None,
        user_key: Any,
        times: bool,
        flatten: bool,
    ) -> Reading:
        reading = self._reading(
            operator, column_family, store, version, state_var, times=times, flatten=flatten
        )
        schema = reading.schema.key
        variable = state_var and self.state_variable(state_var, operator, version)
        if variable and variable.kind == "map":
            grouping = reading.schema.grouping_key(composite=True)
            values: tuple[Any, ...] = (stored_key(grouping, key),)
            if user_key is not None:
                of_map = variable.user_key
                assert of_map is not None
                values += (stored_key(of_map, user_key, "user_key"),)
            return replace(reading, key=Key(schema, values, 1))
        if user_key is not None:
            raise InvalidArgumentError(
                f"user_key={user_key!r} is given, but {state_var or 'this'} is no map variable: "
                "leave it out, or name one with state_var."
            )
        info = self.store_info(self.operator(operator), store)
        columns = (0 if state_var else info.prefix_columns) or len(schema)
        return replace(reading, key=Key(schema, stored_key(schema, key), columns))

    def _places(
        self, reading: Reading, operator: int, partition: int | None, store: str
    ) -> Iterator[Sequence[Store]]:
        """The store that should have the key; then, for who has not found it, the others."""
        if partition is not None:
            yield [self.store(operator, partition, store)]
            return
        assert reading.key is not None
        count = self.store_info(self.operator(operator), store).partitions
        first = reading.key.partition(count)
        if first is not None:
            yield [self.store(operator, first, store)]
        others = [self.store(operator, n, store) for n in range(count) if n != first]
        if others:
            yield others

    def _readable(self, store: Store) -> list[Part]:
        """The store at each version that Spark could ask for, but for those that retention took."""
        parts: list[Part] = []
        gone: CheckpointError | None = None
        for version in self.versions:
            try:
                target = self.attempt(store, version)
                store.plan(target)
            except CheckpointError as error:
                if parts:
                    raise
                gone = error
            else:
                parts.append(Part(store, target, self.attempt(store, 0)))
        if gone is not None and not parts:
            raise gone
        return parts
