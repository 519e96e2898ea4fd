"""Runs a stateful function batch by batch in plain Python, with Spark's semantics."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, TypeVar, Unpack, overload

import pyarrow as pa

from bucketstate.notebook import MOST, table
from bucketstate.stateful.codec.document import Clock
from bucketstate.stateful.codec.instants import MICROS_PER_MILLI, MILLISECOND, Timer, local, reached
from bucketstate.stateful.codec.kept import NO_TIMEOUT
from bucketstate.stateful.codec.times import moment
from bucketstate.stateful.errors import (
    DefinitionError,
    MismatchError,
    StateUsageError,
    UnreadableError,
)
from bucketstate.stateful.ready.recipe import Recipe, bound, check_restart, clock_of, event_time_of
from bucketstate.stateful.run import operators
from bucketstate.stateful.run.handle import State, Timeout
from bucketstate.stateful.run.signatures import S
from bucketstate.stateful.run.zones import zone_of
from bucketstate.testing.answer import Answer
from bucketstate.testing.batches import Batches
from bucketstate.testing.group_run import StoredRows
from bucketstate.testing.processor_run import StoredVariables, check_variables, variables_of
from bucketstate.testing.query import Query
from bucketstate.testing.runs import Clocks

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from bucketstate.stateful.codec.kept import Kept
    from bucketstate.stateful.run.definition import Definition
    from bucketstate.stateful.run.operators import Operator
    from bucketstate.stateful.run.signatures import Typed
    from bucketstate.stateful.run.slots import Slot
    from bucketstate.testing.options import Options, Point
    from bucketstate.testing.restored import StoredKeys
    from bucketstate.testing.runs import Group, Run

_START = datetime(2024, 1, 1)

R = TypeVar("R")
"""The state class of another function."""


class Harness(Generic[S]):
    """A query with one stateful function, without a JVM. Not thread-safe.

    To type checkers it is a `Harness[Totals]`, with the state class that the function's hints say.

    The function runs through the same code as in a query, on Spark's own `GroupState` or as a
    `StatefulProcessor`. As in Spark, the timed-out keys follow the data of a batch, the watermark
    that a batch sees is that of the batches before it, rows behind the watermark of the previous
    batch are dropped where `timeout="event"`, and a batch that fails changes nothing. The order of
    groups is unspecified: it is shuffled with `seed`.

    Args:
        fn: as for `stateful.apply`.
        by: as for `stateful.apply`; names only.
        operator: as for `stateful.apply`.
        schema: the rows' columns as a dataclass, a DDL text or a StructType; without it they follow
            from the first batch. A ready-made function needs it.
        timeout: as for `stateful.apply`.
        event_time: the watermark's column, a timestamp, as in `withWatermark`; without, set
            `watermark`. A ready-made function has its own.
        delay: the watermark's delay, as in `withWatermark`, 0 or more.
        clock: the processing time of the first batch; a naive datetime is in `time_zone`.
        time_zone: the session's: a region such as "Europe/Berlin", or an offset such as "+02:00".
        initial_state: the rows that `handleInitialState` gets before the first batch with rows, in
            the forms that `run` takes.
        rows_per_chunk: cuts each group's rows into chunks of that many, as Spark does to large
            groups.
        seed: of the order of groups.
        state: as for `stateful.define`.
        output: as for `stateful.define`.
        chunked: as for `stateful.define`.
        many_keys: as for `stateful.apply`; how many keys go into a call is drawn with `seed`.

    Raises:
        DefinitionError: a function or an argument that can never work.
        StateUsageError: the clock is no datetime.
        WrongTypeError: the rows of the initial state do not fit their columns.
        InvalidSettingError: an unknown time zone.
    """

    @overload
    def __init__(
        self, fn: Definition[S], *, by: str | Sequence[str], **options: Unpack[Options]
    ) -> None: ...

    @overload
    def __init__(
        self, fn: Typed[S], *, by: str | Sequence[str], **options: Unpack[Options]
    ) -> None: ...

    @overload
    def __init__(
        self,
        fn: Any,
        *,
        by: str | Sequence[str],
        state: type[S],
        **options: Unpack[Options],
    ) -> None: ...

    @overload
    def __init__(
        self: Harness[Any],
        fn: Any,
        *,
        by: str | Sequence[str],
        state: Any,
        **options: Unpack[Options],
    ) -> None: ...

    @overload
    def __init__(
        self: Harness[Any],
        fn: Recipe,
        *,
        by: str | Sequence[str],
        **options: Unpack[Options],
    ) -> None: ...

    def __init__(
        self,
        fn: Any,
        *,
        by: str | Sequence[str],
        operator: Operator = "applyInPandasWithState",
        schema: Any = None,
        timeout: Timeout | None = None,
        event_time: str | None = None,
        delay: timedelta = timedelta(0),
        clock: datetime = _START,
        time_zone: str = "UTC",
        initial_state: Any = None,
        rows_per_chunk: int | None = None,
        seed: int = 0,
        state: Any = None,
        output: Any = None,
        chunked: bool | None = None,
        many_keys: bool = True,
    ) -> None:
        _check_arguments(by, delay, rows_per_chunk, seed)
        timeout = clock_of(fn, timeout)
        self._by = [by] if isinstance(by, str) else list(by)
        self._zone = zone_of(time_zone, "time_zone")
        self._recipe = fn if isinstance(fn, Recipe) else None
        self._batches = Batches(schema, self._zone, self._recipe)
        names = [*self._by, *(self._recipe.adds if self._recipe else ())]
        self._definition = bound(
            fn,
            self._batches.schema if self._recipe and self._batches.known else None,
            names,
            state=state,
            output=output,
            chunked=chunked,
        )
        operators.check(
            self._definition, operator, timeout, initial_state=initial_state is not None
        )
        self._schema = schema
        self._timeout: Timeout | None = timeout
        self._event_time = event_time = event_time_of(fn, event_time)
        self._delay = delay
        self._time_zone = time_zone
        self._query = Query(
            self._definition,
            names,
            operator,
            timeout,
            self._zone,
            many_keys=many_keys,
        )
        self._rows_per_chunk = rows_per_chunk
        self._order = random.Random(seed)
        # Keys whose types are not known yet, as Spark hands them over where that is known.
        self._given_keys: dict[Any, tuple[Any, ...] | None] = {}
        self._initial_batches = None if initial_state is None else Batches(None, self._zone)
        self._initial = self._initial_batches and self._initial_batches.table(initial_state)
        self._stored: Any = (
            StoredRows() if operator == "applyInPandasWithState" else StoredVariables()
        )
        self._variables = variables_of(self._definition.state_codec(self._zone).parts)
        self._clock = self._millis(clock)
        self._watermark: int | None = 0 if event_time or timeout == "event" else None
        self._last_watermark = 0

    def __repr__(self) -> str:
        name = (self._recipe or self._definition).name
        keys = sum(not kept.empty for kept in self._stored.kept().values())
        return f"<Harness of {name} by {', '.join(self._by)}: {keys} keys at {self.clock}>"

    @overload
    @classmethod
    def from_checkpoint(
        cls,
        path: str | os.PathLike[str],
        fn: Definition[R] | Typed[R],
        *,
        by: str | Sequence[str],
        keys: Sequence[Any],
        **options: Unpack[Point],
    ) -> Harness[R]: ...

    @overload
    @classmethod
    def from_checkpoint(
        cls,
        path: str | os.PathLike[str],
        fn: Any,
        *,
        by: str | Sequence[str],
        keys: Sequence[Any],
        state: Any,
        **options: Unpack[Point],
    ) -> Harness[Any]: ...

    @overload
    @classmethod
    def from_checkpoint(
        cls,
        path: str | os.PathLike[str],
        fn: Recipe,
        *,
        by: str | Sequence[str],
        keys: Sequence[Any],
        **options: Unpack[Point],
    ) -> Harness[Any]: ...

    @classmethod
    def from_checkpoint(
        cls,
        path: str | os.PathLike[str],
        fn: Any,
        *,
        by: str | Sequence[str],
        keys: Sequence[Any],
        version: int | None = None,
        batch: int | None = None,
        operator_id: int = 0,
        filesystem: Any = None,
        **query: Any,
    ) -> Harness[Any]:
        """A harness that begins with the state of some keys of a query's checkpoint.

        The checkpoint is only read, without a JVM, and may be that of a query that runs. It has the
        states, the parts, the timers and the timeouts of these keys; a key that it does not have
        has no state. The clock and the watermark are those of the batch after the version, as far
        as Spark's logs have them. Without a version that is the batch with which a restart begins,
        such as the one that failed.

        Args:
            path: as for `Checkpoint`.
            fn: as for `stateful.apply`: the query's, or one that it is to be restarted with.
            by: as for `Harness`.
            keys: of a single column its values; of several, tuples of them in the order of `by`, or
                dicts by column.
            version: the state after batch n is version n + 1; without, what a restart reads.
            batch: the state that this batch made, in place of a version.
            operator_id: of the stateful operator, if the query has several; the operator itself is
                the checkpoint's.
            filesystem: as for `Checkpoint`.
            query: other arguments, which are as for `Harness`. Where a key has timers, `schema` is
                needed for batches without rows before the first one with rows; and for a naive
                datetime among the keys, where the time zone is not UTC.

        Raises:
            DefinitionError: an argument is at odds with the checkpoint, or as for `Harness`.
            NoSuchStateError: the checkpoint has no such operator or version, or its state is not
                that of a function of `bucketstate.stateful`.
            CheckpointError: it cannot be read.
            StorageError: the file system failed.
            InvalidArgumentError: what is given cannot be a key, a version or a batch.
            MissingLibraryError: what reads checkpoints is not installed.
            WrongTypeError: as for `Harness`.
        """
        # Reads files, which other harnesses do not.
        from bucketstate.testing.restored import StoredKeys

        for name in sorted({"operator", "initial_state"} & query.keys()):
            raise DefinitionError(f"{name} is given, which the checkpoint says: leave it out.")
        source = StoredKeys(path, filesystem, operator_id, version, batch)
        made: Harness[Any] = cls(fn, by=by, operator=source.operator, **query)
        made._restore(source, keys, clocked="clock" in query)
        return made

    @property
    def clock(self) -> datetime:
        """The processing time of the next batch. It can be set, also naive, in `time_zone`."""
        return local(self._clock, self._zone)

    @clock.setter
    def clock(self, now: datetime) -> None:
        self._clock = self._millis(now)

    def advance(self, duration: timedelta) -> None:
        """Moves the clock on.

        Args:
            duration: 0 or more; kept in whole milliseconds.

        Raises:
            StateUsageError: it is no timedelta, is negative, or leads beyond the years of Python.
        """
        if not isinstance(duration, timedelta) or duration < timedelta(0):
            raise StateUsageError(f"advance({duration!r}): give a timedelta of 0 or more.")
        try:
            self._clock = self._millis(self.clock + duration)
        except OverflowError:
            raise StateUsageError(
                f"advance({duration!r}) leads beyond the year 9999: give a shorter one."
            ) from None

    @property
    def watermark(self) -> datetime | None:
        """The watermark that the next batch will see; None for a query without one. It can be set.

        Setting it raises StateUsageError for what is no datetime, and for a time before it.
        """
        return None if self._watermark is None else local(self._watermark, self._zone)

    @watermark.setter
    def watermark(self, watermark: datetime) -> None:
        given = self._millis(watermark)
        if given < (self._watermark or 0):
            raise StateUsageError(
                f"The watermark is {self.watermark} and cannot go back to {watermark}."
            )
        self._watermark = given

    def _repr_html_(self) -> str:
        kept = self._stored.kept()
        rows = [
            [key, state, self._timeout_of(kept[key]), self._timers_of(kept[key]) or None]
            for key, state in list(self.states().items())[:MOST]
        ]
        clocks = f"clock {self.clock.isoformat(' ')}"
        if self.watermark is not None:
            clocks += f", watermark {self.watermark.isoformat(' ')}"
        title = f"{self._definition.name} by {', '.join(self._by)}: {len(kept)} keys"
        return table(title, ["key", "state", "timeout", "timers"], rows, clocks)

    def run(self, rows: Any = ()) -> list[dict[str, Any]]:
        """Runs one batch, and returns its output rows, which a notebook shows as a table.

        Whatever it raises, and whatever the function does, the state is then as before.

        Args:
            rows: a DataFrame of pandas or polars, a table or batch of Arrow, or a list of dicts,
                Rows or dataclass instances; none for a batch without data, which still fires
                timeouts.

        Raises:
            WrongTypeError: rows have other columns than those before, a value does not fit its
                column as it is, or what the function puts out or keeps does not fit its type.
            DefinitionError: the rows lack a column that the function needs, or Spark has no
                watermark of the event time.
            MigrationError: what is stored cannot be read as the state class.
            StateUsageError: the function makes a call on its state that the query does not allow.
        """
        table = self._batches.table(rows)
        self._settle_given_keys()
        self._check_due()
        stored = self._stored.copy()
        output: list[dict[str, Any]] = []
        event_times: list[int | None] = []
        initial = self._initial
        if table is not None:
            if self._event_time is not None:
                event_times = self._batches.micros(table, self._event_time)
                table = self._in_time(table, event_times)
            run = self._started(stored)
            if initial is not None:
                assert self._initial_batches is not None
                keys = self._batches.key_schema(self._query.by)
                operators.check_initial(keys, self._initial_batches.schema, typed=False)
                by = self._initial_batches.key_columns(self._query.by)
                for group in self._groups(self._initial_batches, initial):
                    for row in range(group.chunks[0].num_rows):
                        run.initial(group.key, group.chunks[0].slice(row, 1), by)
                initial = None
            output += run.rows(self._groups(self._batches, table, self._rows_per_chunk))
        if self._timeout is not None and self._batches.known:
            reached = self._clock if self._timeout == "processing" else self._watermark or 0
            output += self._started(stored).fire(reached, self._shuffled)
        self._stored = stored
        self._initial = initial
        self._last_watermark = self._watermark or 0
        if seen := [t for t in event_times if t is not None]:
            reached = max(seen) // MICROS_PER_MILLI - self._delay // MILLISECOND
            self._watermark = max(self._watermark or 0, reached)
        return Answer(output)

    # To type checkers a state is there: most tests ask for one that is.
    def state(self, *key: Any) -> S | Any:
        """The value of a key's state, a copy; None where there is none.

        Args:
            key: the values of the columns in `by`.

        Raises:
            StateUsageError: there are more or fewer of them, or the rows can have no such key.
            MigrationError: what is stored cannot be read as the state class.
        """
        of = self._key(key)
        kept = self._stored.kept().get(of)
        return None if kept is None or kept.text is None else self._value(of, kept)

    def set_state(self, value: S | Mapping[str, Any], *key: Any) -> None:
        """Gives a key a state, before the first batch or between two.

        It is as if the function had been called and had done `state.update(value)` alone: a timeout
        that was set ends, timers stay. Before the first batch with rows, a key that they cannot
        have is a WrongTypeError of that batch.

        Args:
            value: an instance of the state class, or a dict of all its fields.
            key: the values of the columns in `by`.

        Raises:
            WrongTypeError: the value does not fit the state class.
            StateUsageError: there are more or fewer values of the key, or the rows can have no such
                key.
        """
        codec = self._definition.state_codec(self._zone)
        if any(isinstance(k, codec.cls) for k in key):
            raise StateUsageError(
                f"set_state({value!r}, {', '.join(map(repr, key))}) has the state among the values "
                "of the key: give it first, and then the key."
            )
        of, cells = self._query.key(key, self._batches)
        clocks = Clocks(self._clock, self._watermark)

        def step(slot: Slot) -> None:
            state: State[Any] = State(codec, slot, of, self._timeout, self._zone)
            state.update(value)
            state.finish()

        stored = self._stored.copy()
        stored.call(of, tuple(of) if cells is None else cells, codec, clocks, step)
        self._stored = stored
        if cells is None:
            self._given_keys[of] = None

    def states(self) -> dict[Any, S]:
        """All states by key, copies; without values of parts that the next batch finds expired.

        Raises:
            MigrationError: what is stored cannot be read as the state class.
        """
        return {
            key: self._value(key, kept)
            for key, kept in self._stored.kept().items()
            if kept.text is not None
        }

    def timeout(self, *key: Any) -> datetime | None:
        """When a key's timeout is reached; None where none is set.

        Args:
            key: the values of the columns in `by`.

        Raises:
            StateUsageError: there are more or fewer of them.
        """
        return self._timeout_of(self._stored.kept().get(self._key(key)))

    def timers(self, *key: Any) -> list[Timer]:
        """A key's timers, by time; without the timeout.

        Args:
            key: the values of the columns in `by`.

        Raises:
            StateUsageError: there are more or fewer of them.
        """
        return self._timers_of(self._stored.kept().get(self._key(key)))

    @overload
    def restarted(
        self, fn: None = ..., *, output: Any = ..., chunked: bool | None = ...
    ) -> Harness[S]: ...

    @overload
    def restarted(
        self, fn: Definition[R] | Typed[R], *, output: Any = ..., chunked: bool | None = ...
    ) -> Harness[R]: ...

    @overload
    def restarted(
        self, fn: Any = ..., *, state: Any, output: Any = ..., chunked: bool | None = ...
    ) -> Harness[Any]: ...

    @overload
    def restarted(self, fn: Recipe) -> Harness[Any]: ...

    def restarted(
        self,
        fn: Any = None,
        *,
        state: Any = None,
        output: Any = None,
        chunked: bool | None = None,
    ) -> Harness[Any]:
        """A harness that goes on from here, as a query restarted with `fn` would.

        A new state class reads what the old one left. This harness stays as it is. Errors are as
        for `Harness`; on "transformWithState" a part that has become another one, or got or lost a
        time to live, is a DefinitionError, since Spark refuses it.

        Args:
            fn: the function now; without it, the same one as before.
            state: as for `stateful.define`; without, what the function says, or of the same
                function, what was given before.
            output: the same.
            chunked: the same.
        """
        if isinstance(fn, Recipe):
            check_restart(fn.name, fn.timeout, had=self._timeout is not None)
        made: Harness[Any] = Harness(
            (self._recipe or self._definition) if fn is None else fn,
            state=state,
            output=output,
            chunked=chunked,
            by=self._by,
            operator=self._query.operator,
            schema=self._schema,
            timeout=self._timeout,
            event_time=self._event_time,
            delay=self._delay,
            clock=self.clock,
            time_zone=self._time_zone,
            rows_per_chunk=self._rows_per_chunk,
            many_keys=self._query.many_keys,
        )
        if self._query.operator == "transformWithState":
            check_variables(made._variables, self._variables, "the query")
            # What a class has no more stays in the state store.
            made._variables = self._variables | made._variables
        if made._recipe is None and self._recipe is None:
            made._batches = self._batches
        made._stored = self._stored.copy()
        made._initial, made._initial_batches = self._initial, self._initial_batches
        made._watermark, made._last_watermark = self._watermark, self._last_watermark
        made._order.setstate(self._order.getstate())
        made._given_keys = dict(self._given_keys)
        made._query.extension = self._query.extension
        return made

    def _value(self, key: Any, kept: Kept) -> S:
        codec = self._definition.state_codec(self._zone)
        try:
            value: S = self._stored.value(key, codec, Clock(self._clock, self._watermark))
        except (MismatchError, UnreadableError) as e:
            raise codec.unreadable(key, kept.version, e) from e
        return value

    def _restore(self, source: StoredKeys, keys: Sequence[Any], *, clocked: bool) -> None:
        from bucketstate.testing.restored import travelling, values_of

        names = self._query.by
        if [n.lower() for n in source.names] != [n.lower() for n in names]:
            raise DefinitionError(
                f"by={', '.join(names)}, and the keys of the checkpoint have the columns "
                f"{', '.join(source.names)}: group by these."
            )
        if source.clocked is not None:
            name = (self._recipe or self._definition).name
            check_restart(name, self._timeout, had=source.clocked)
        codec = self._definition.state_codec(self._zone)
        check_variables(self._variables, source.variables, "the checkpoint")
        self._variables = source.variables | self._variables
        for given in keys:
            values = values_of(given, names)
            of, cells = self._query.key(values, self._batches)
            lookup = cells or tuple(travelling(value, self._zone) for value in values)
            found = source.read(of, lookup, self._stored, codec)
            if found is not None and cells is None:
                self._given_keys[of] = found
        now, watermark, before = source.clocks
        if now is not None and not clocked:
            self._clock = now
        if watermark is not None and self._watermark is not None:
            self._watermark, self._last_watermark = watermark, before or 0

    def _settle_given_keys(self) -> None:
        keys = self._query.keys(self._batches)
        if keys is None or not self._given_keys:
            return
        stored = self._stored.copy()
        for given, cells in self._given_keys.items():
            self._query.settle(given, cells, keys, stored)
        self._stored = stored
        self._given_keys.clear()

    def _check_due(self) -> None:
        """Refuses to leave out timers of a checkpoint's key, which fire by the rows' types."""
        if self._timeout is None or self._batches.known or not any(self._given_keys.values()):
            return
        if any(kept.moments for kept in self._stored.kept().values()):
            raise DefinitionError(
                "Keys of the checkpoint have timers, which cannot fire before the rows' columns "
                "are known: give schema=, or run a batch with rows first."
            )

    def _timeout_of(self, kept: Kept | None) -> datetime | None:
        if kept is None or kept.timeout == NO_TIMEOUT:
            return None
        return reached(kept.timeout, self._zone)

    def _timers_of(self, kept: Kept | None) -> list[Timer]:
        return [] if kept is None else [Timer.of(t, self._zone) for t in kept.timers]

    def _key(self, key: tuple[Any, ...]) -> Any:
        return self._query.key(key, self._batches)[0]

    def _started(self, stored: Any) -> Run:
        clocks = Clocks(self._clock, self._watermark)
        return self._query.started(
            self._batches, self._initial_batches, stored, clocks, self._rows_per_chunk, self._order
        )

    def _groups(self, of: Batches, table: Any, rows_per_chunk: int | None = None) -> list[Group]:
        return self._shuffled(self._query.groups(self._batches, of, table, rows_per_chunk))

    def _shuffled(self, items: Iterable[Any]) -> list[Any]:
        made = list(items)
        self._order.shuffle(made)
        return made

    def _in_time(self, table: Any, event_times: list[int | None]) -> Any:
        """The rows that are not behind the watermark of the previous batch."""
        if self._timeout != "event":
            return table
        if self._recipe is not None and self._event_time is not None:
            event_times = self._batches.late_by(table, self._recipe.late_by(self._event_time))
        behind = self._last_watermark * MICROS_PER_MILLI
        in_time = [t is None or t > behind for t in event_times]
        return table.filter(pa.array(in_time, pa.bool_()))

    def _millis(self, at: datetime) -> int:
        try:
            return moment(at, self._zone)
        except MismatchError as e:
            raise StateUsageError(f"{e.found_text} is not a datetime.") from None


def _check_arguments(by: Any, delay: Any, rows_per_chunk: Any, seed: Any) -> None:
    names = [by] if isinstance(by, str) else by
    if not isinstance(names, list | tuple) or not names or {type(n) for n in names} != {str}:
        raise DefinitionError(f"by={by!r}: give the name of a column, or a list of some.")
    operators.check_names(names)
    if type(seed) is not int:
        raise DefinitionError(f"seed={seed!r}: give a whole number.")
    if not isinstance(delay, timedelta) or delay < timedelta(0):
        raise DefinitionError(
            f"delay={delay!r}: give a timedelta of 0 or more, such as timedelta(minutes=5)."
        )
    if rows_per_chunk is not None and (type(rows_per_chunk) is not int or rows_per_chunk < 1):
        raise DefinitionError(
            f"rows_per_chunk={rows_per_chunk!r}: give a whole number from 1, or None."
        )
