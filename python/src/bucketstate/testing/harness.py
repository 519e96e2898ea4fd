"""Runs a stateful function batch by batch in plain Python, with Spark's semantics."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo

import pandas as pd
from pyspark.sql.streaming.state import GroupState

from bucketstate.stateful.adapter import Adapter
from bucketstate.stateful.codecs import DatetimeCodec
from bucketstate.stateful.containers import OptionalCodec
from bucketstate.stateful.definition import define
from bucketstate.stateful.document import SCHEMA, Clock
from bucketstate.stateful.errors import MismatchError, StateUsageError
from bucketstate.stateful.handle import MILLISECOND, NO_TIMEOUT, Timeout, local, millis
from bucketstate.stateful.keys import KeyCodec
from bucketstate.stateful.streaming import TIMEOUTS, check_timeout
from bucketstate.testing.batches import Batches
from bucketstate.testing.store import Stored, stored_after

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql.types import Row

_START = datetime(2024, 1, 1)
_MICROS = 1000


class Harness:
    """A query with one stateful function, without a JVM. Not thread-safe.

    The function runs through the same code as in a query, on Spark's own `GroupState`. As in Spark,
    the timed-out keys follow the data of a batch, the watermark that a batch sees is that of the
    batches before it, rows behind the watermark of the previous batch are dropped where
    `timeout="event"`, and a batch that fails changes nothing. The order of groups is unspecified:
    it is shuffled with `seed`.

    fn, by, timeout, state, output, chunked: as for `stateful.apply`; `by` takes names only.
    schema: the rows' columns as a dataclass, a DDL text or a StructType; without it they follow
        from the first batch.
    event_time, delay: the watermark's column and delay, as in `withWatermark`. Without them, set
        `harness.watermark`.
    clock: the processing time of the first batch; naive datetimes are in `time_zone`.
    rows_per_chunk: cuts each group's rows into chunks of that many, as Spark does to large groups.
    """

    def __init__(
        self,
        fn: Any,
        *,
        by: str | Sequence[str],
        schema: Any = None,
        timeout: Timeout | None = None,
        event_time: str | None = None,
        delay: timedelta = timedelta(0),
        clock: datetime = _START,
        time_zone: str = "UTC",
        rows_per_chunk: int | None = None,
        seed: int = 0,
        state: Any = None,
        output: Any = None,
        chunked: bool | None = None,
    ) -> None:
        check_timeout(timeout)
        self._definition = define(fn, state=state, output=output, chunked=chunked)
        self._by = [by] if isinstance(by, str) else list(by)
        self._schema = schema
        self._timeout: Timeout | None = timeout
        self._event_time = event_time
        self._delay = delay
        self._zone = ZoneInfo(time_zone)
        self._rows_per_chunk = rows_per_chunk
        self._order = random.Random(seed)
        self._batches = Batches(schema, self._zone)
        self._adapter: Adapter | None = None
        self._stored: dict[Any, Stored] = {}
        self._clock = self._millis(clock)
        self._watermark: int | None = 0 if event_time or timeout == "event" else None
        self._last_watermark = 0

    @property
    def clock(self) -> datetime:
        """The processing time of the next batch."""
        return local(self._clock, self._zone)

    @clock.setter
    def clock(self, now: datetime) -> None:
        self._clock = self._millis(now)

    def advance(self, duration: timedelta) -> None:
        """Moves the clock."""
        self._clock += duration // MILLISECOND

    @property
    def watermark(self) -> datetime | None:
        """The watermark that the next batch will see; None for a query without one."""
        return None if self._watermark is None else local(self._watermark, self._zone)

    @watermark.setter
    def watermark(self, watermark: datetime) -> None:
        given = self._millis(watermark)
        if given < (self._watermark or 0):
            raise StateUsageError(
                f"The watermark is {self.watermark} and cannot go back to {watermark}."
            )
        self._watermark = given

    def run(self, rows: Any = ()) -> list[dict[str, Any]]:
        """Runs one batch, and returns its output rows.

        rows: a DataFrame, or dicts or dataclass instances; none for a batch without data, which
        still fires timeouts. Raises what the function raises; the state is then as before.
        """
        table = self._batches.table(rows)
        stored = dict(self._stored)
        output: list[dict[str, Any]] = []
        event_times: list[int | None] = []
        if table is not None:
            if self._event_time is not None:
                event_times = self._batches.micros(table, self._event_time)
                table = self._in_time(table, event_times)
            key_of = self._adapted().key
            groups = list(self._batches.groups(table, self._by, self._rows_per_chunk))
            self._order.shuffle(groups)
            for cells, chunks in groups:
                key = key_of(cells)
                output += self._call(stored, key, cells, chunks, timed_out=False)
        for key in self._timed_out(stored):
            empty = [pd.DataFrame(columns=self._batches.names)]
            output += self._call(stored, key, stored[key].cells, empty, timed_out=True)
        self._stored = stored
        self._last_watermark = self._watermark or 0
        if seen := [t for t in event_times if t is not None]:
            reached = max(seen) // _MICROS - self._delay // MILLISECOND
            self._watermark = max(self._watermark or 0, reached)
        return output

    def state(self, *key: Any) -> Any:
        """The value of a key's state, a copy; None where there is none."""
        return self.states().get(key)

    def states(self) -> dict[Any, Any]:
        """All states by key, copies; without values of parts that the next batch finds expired."""
        codec = self._definition.state_codec(self._zone)
        clock = Clock(self._clock, self._watermark)
        return {
            key: codec.load(found.row[2], found.row[0], clock)
            for key, found in self._stored.items()
            if found.row is not None and found.row[2] is not None
        }

    def timeout(self, *key: Any) -> datetime | None:
        """When a key's timeout is reached; None where none is set."""
        found = self._stored.get(key)
        if found is None or found.timeout == NO_TIMEOUT:
            return None
        return local(found.timeout, self._zone)

    def restarted(self, fn: Any = None) -> Harness:
        """A harness that goes on from here, as a query restarted with `fn` would; a new state class
        reads what the old one left."""
        made = Harness(
            self._definition if fn is None else fn,
            by=self._by,
            schema=self._schema,
            timeout=self._timeout,
            event_time=self._event_time,
            delay=self._delay,
            clock=self.clock,
            time_zone=str(self._zone),
            rows_per_chunk=self._rows_per_chunk,
        )
        made._batches = self._batches
        made._stored = dict(self._stored)
        made._watermark, made._last_watermark = self._watermark, self._last_watermark
        made._order.setstate(self._order.getstate())
        return made

    def _adapted(self) -> Adapter:
        """The function as Spark would call it, once the key's type is known."""
        if self._adapter is None:
            key = KeyCodec(self._batches.key_schema(self._by), self._zone)
            self._adapter = Adapter(self._definition, key, self._timeout, self._zone)
        return self._adapter

    def _call(
        self, stored: dict[Any, Stored], key: Any, cells: Any, chunks: Any, *, timed_out: bool
    ) -> list[dict[str, Any]]:
        before = stored.get(key)
        group = GroupState(
            optionalValue=cast("Row", before.row if before else None),
            batchProcessingTimeMs=self._clock,
            eventTimeWatermarkMs=-1 if self._watermark is None else self._watermark,
            timeoutConf=TIMEOUTS[self._timeout],
            hasTimedOut=timed_out,
            watermarkPresent=self._watermark is not None,
            defined=before is not None and before.row is not None,
            updated=False,
            removed=False,
            timeoutTimestamp=NO_TIMEOUT,
            keyAsUnsafe=b"",
            valueSchema=SCHEMA,
        )
        frames = list(self._adapted()(cells, chunks, group))
        after = stored_after(before, group, cells)
        if after is None:
            stored.pop(key, None)
        else:
            stored[key] = after
        return [row for frame in frames for row in self._rows_of(frame)]

    def _rows_of(self, frame: pd.DataFrame) -> list[dict[str, Any]]:
        output = self._adapted().output
        assert output is not None
        columns = [OptionalCodec(f.codec).cells(frame[f.name]) for f in output.fields]
        return [dict(zip(output.names, row, strict=True)) for row in zip(*columns, strict=True)]

    def _timed_out(self, stored: dict[Any, Stored]) -> list[Any]:
        if self._timeout is None:
            return []
        reached = self._clock if self._timeout == "processing" else self._watermark or 0
        keys = [k for k, s in stored.items() if s.timeout != NO_TIMEOUT and s.timeout < reached]
        self._order.shuffle(keys)
        return keys

    def _in_time(self, table: Any, event_times: list[int | None]) -> Any:
        """The rows that are not behind the watermark of the previous batch."""
        if self._timeout != "event":
            return table
        behind = self._last_watermark * _MICROS
        return table.filter([t is None or t > behind for t in event_times])

    def _millis(self, at: datetime) -> int:
        try:
            return millis(DatetimeCodec(self._zone).check(at))
        except MismatchError as e:
            raise StateUsageError(f"{e.found_text} is not a datetime.") from None
