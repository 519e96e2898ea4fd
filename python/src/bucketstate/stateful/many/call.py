"""One call of a function over columns: what it is given, and what it asks for each key."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bucketstate.stateful.codec.instants import FIRST, LAST, MICROS_PER_MILLI, MILLISECOND, local
from bucketstate.stateful.codec.kept import NO_TIMEOUT
from bucketstate.stateful.codec.times import moment
from bucketstate.stateful.errors import (
    MismatchError,
    StateUsageError,
    WrongTypeError,
)
from bucketstate.stateful.many.given import instants, zone_name
from bucketstate.stateful.many.protocol import PUT, REMOVED, STATE, UNTOUCHED
from bucketstate.stateful.many.tables import OTHER_ORDER, arrow_of, counts_up, flags
from bucketstate.stateful.run.usage import (
    check_kind,
    check_years,
    checked_watermark,
    warn_of_first_watermark,
)

if TYPE_CHECKING:
    from datetime import tzinfo

    from bucketstate.stateful.many.documents import Documents
    from bucketstate.stateful.many.given import Given
    from bucketstate.stateful.many.reading import Block
    from bucketstate.stateful.many.tables import Tables
    from bucketstate.stateful.run.handle import Timeout
    from bucketstate.stateful.run.keys import KeyCodec

    Numbers = np.ndarray[Any, np.dtype[np.int64]]
    Bools = np.ndarray[Any, np.dtype[np.bool_]]


_DAY = 86_400_000
_PER_MILLI = {"ms": 1, "us": MICROS_PER_MILLI, "ns": 1_000_000}
_MOST = 1 << 60


class ColumnsCall:
    """The keys of one call; see `Keys`. Not thread-safe.

    Args:
        name: of the function.
        block: the keys, and what is stored of them.
        documents: reads and writes the states.
        given: takes the states that the function gives.
        tables: of the function's library.
        key: makes keys for messages.
    """

    def __init__(
        self,
        name: str,
        block: Block,
        documents: Documents,
        given: Given,
        tables: Tables,
        key: KeyCodec,
        timeout: Timeout | None,
        zone: tzinfo,
        keys: pa.RecordBatch,
    ) -> None:
        self.name = name
        self.count = len(block)
        self.offsets = block.offsets
        self.timed_out = block.timed_out
        self._block = block
        self._documents = documents
        self._given = given
        self._tables = tables
        self._key = key
        self._kind = timeout
        self._zone = zone
        self._keys = keys
        self._now = block.now
        stored = block.calls.field("state")
        self._stored = stored.is_valid().to_numpy(zero_copy_only=False)
        versions, timeouts, texts = (stored.field(n) for n in range(3))
        if stored.null_count:
            nothing = pa.scalar(None, texts.type)
            texts = pc.if_else(stored.is_valid(), texts, nothing)
        self._versions = versions
        self._texts = texts
        before = timeouts.fill_null(NO_TIMEOUT).to_numpy()
        self._timeouts: Numbers = np.where(self._stored, before, NO_TIMEOUT)
        self._new_timeouts: Numbers = np.full(self.count, NO_TIMEOUT, np.int64)
        self._present: Bools = texts.is_valid().to_numpy(zero_copy_only=False)
        self._updated: Bools = np.zeros(self.count, dtype=bool)
        self._values: pa.StructArray | None = None
        self._watermark_read = False

    def check(self) -> None:
        """Refuses timers, before the function runs: it may write states without reading them."""
        self._documents.check_timers(self._texts, self.key)

    @property
    def now(self) -> datetime:
        return local(self._now, self._zone)

    @property
    def watermark(self) -> datetime:
        self._watermark_read = True
        return local(self._watermark("keys.watermark was read"), self._zone)

    @cached_property
    def frame(self) -> Any:
        return self._tables.table(self._keys, "keys.frame")

    @cached_property
    def state(self) -> Any:
        zoned = in_zone(self._columns, self._zone)
        return self._tables.table(pa.RecordBatch.from_struct_array(zoned), "keys.state")

    @cached_property
    def exists(self) -> Any:
        return self._tables.column(self._texts.is_valid())

    @cached_property
    def timeout(self) -> Any:
        # As `reached` says it.
        at = np.minimum(self._timeouts, LAST)
        micros = pa.array(at * MICROS_PER_MILLI, mask=at == NO_TIMEOUT)
        return self._tables.column(micros.cast(pa.timestamp("us", zone_name(self._zone))))

    def of(self, rows: Any) -> Any:
        count = int(self.offsets[-1])
        if len(rows) != count:
            raise StateUsageError(
                f"keys.of got {len(rows)} rows, and the call has {count}: give it all of them, in "
                "their order."
            )
        lengths = np.diff(self.offsets)
        return self._tables.numbers(np.repeat(np.arange(self.count), lengths))

    def update(self, state: Any, where: Any) -> None:
        which = self._which(where, "update")
        new = self._given.struct(state, self._documents.kind, self.count)
        if self._values is None or which.all():
            self._values = new
        else:
            self._values = pc.if_else(pa.array(which), new, self._values)
        self._updated |= which
        self._present |= which

    def clear(self, where: Any) -> None:
        which = self._which(where, "clear")
        self._present &= ~which
        self._updated &= ~which

    def timeout_at(self, when: Any, where: Any) -> None:
        check_kind(self._kind, "event", "timeout_at", "timeout_after(timedelta)")
        which = self._which(where, "timeout_at")
        at = self._instants(when)
        which = which & (at != NO_TIMEOUT)
        self._check_years(at, which, "timeout_at")
        watermark = self._watermark("timeout_at was called")
        late = which & (at < max(watermark, 1))
        if late.any():
            first = int(np.flatnonzero(late)[0])
            raise StateUsageError(
                f"timeout_at for {self.key(first)!r} is {local(int(at[first]), self._zone)!s}, "
                f"before the watermark {local(watermark, self._zone)!s}. Give a later time, or act "
                "on the key now."
            )
        if watermark == 0 and self._watermark_read and which.any():
            warn_of_first_watermark(int(at[which].min()), "timeout_at")
        self._new_timeouts[which] = at[which]

    def timeout_after(self, duration: Any, where: Any) -> None:
        check_kind(self._kind, "processing", "timeout_after", "timeout_at(datetime)")
        which = self._which(where, "timeout_after")
        spans, absent = self._spans(duration)
        which = which & ~absent
        short = which & (spans < 1)
        if short.any():
            first = int(np.flatnonzero(short)[0])
            raise StateUsageError(
                f"timeout_after for {self.key(first)!r} is {spans[first]} ms: give a timedelta of "
                "1 ms or more."
            )
        at = self._now + spans
        self._check_years(at, which, "timeout_after")
        self._new_timeouts[which] = at[which]

    def key(self, number: int) -> Any:
        """A key for messages."""
        (cells,) = self._block.calls.slice(number, 1).field("key").to_pylist()
        return self._key(tuple(cells.values()))

    def settled(self) -> tuple[Numbers, pa.StructArray, Numbers]:
        """For each key an action, the state to be stored and its timeout."""
        texts, versions = self._texts, self._versions
        migrated = None
        if self._values is not None and self._updated.any():
            every = bool(self._updated.all())
            values = self._values if every else self._values.filter(pa.array(self._updated))
            places = np.flatnonzero(self._updated)
            made = self._documents.write(values, lambda n: self.key(int(places[n])))
            if not every:
                made = pc.replace_with_mask(texts, pa.array(self._updated), made)
            changed = pc.invert(pc.fill_null(pc.equal(made, texts), False))
            # Fields that a migration changes are others, even where they read alike.
            if (older := self._documents.older(self._versions)) is not None:
                migrated = older & self._updated
                changed = pc.or_(changed, pa.array(migrated))
            versions = pc.if_else(changed, pa.scalar(self._documents.version, pa.int32()), versions)
            texts = made
        if not self._present.all():
            texts = pc.if_else(pa.array(self._present), texts, pa.scalar(None, texts.type))
        versions = versions.fill_null(self._documents.version)
        return self._actions(texts, migrated), self._rows(versions, texts), self._moments()

    def _actions(self, texts: pa.Array, migrated: Bools | None) -> Numbers:
        same_text = pc.equal(texts, self._texts).fill_null(False)
        both = pc.and_(texts.is_null(), self._texts.is_null())
        same = pc.or_(same_text, both).to_numpy(zero_copy_only=False)
        same &= self._new_timeouts == self._timeouts
        if migrated is not None:
            same &= ~migrated
        empty = ~self._present & (self._new_timeouts == NO_TIMEOUT)
        gone = np.where(self._stored, REMOVED, UNTOUCHED)
        made: Numbers = np.where(same, UNTOUCHED, np.where(empty, gone, PUT)).astype(np.int8)
        return made

    def _rows(self, versions: pa.Array, texts: pa.Array) -> pa.StructArray:
        arrays = [versions, pa.array(self._new_timeouts), texts]
        return pa.StructArray.from_arrays(arrays, fields=list(STATE))

    def _moments(self) -> Numbers:
        """When Spark is to call for each key."""
        at = self._new_timeouts
        if self._kind != "processing":
            return at
        # One of this very moment is reached by the next batch, as one a moment later is.
        return np.where(at == NO_TIMEOUT, at, np.maximum(at, self._now + 1))

    @cached_property
    def _columns(self) -> pa.StructArray:
        return self._documents.read(self._versions, self._texts, self.key)

    def _watermark(self, why: str) -> int:
        return checked_watermark(self._block.watermark, why)

    def _which(self, where: Any, method: str) -> Bools:
        self._check_order(where, f"{method}(where=...)")
        found = flags(where, self.count)
        if found is None:
            raise WrongTypeError(
                f"{method}(where=...) of {self.name} is {MismatchError('', where).found_text}, "
                f"expected a bool for each of the {self.count} keys, in their order."
            )
        return found

    def _instants(self, when: Any) -> Numbers:
        """Milliseconds since the epoch, for each key."""
        if isinstance(when, datetime):
            try:
                at = moment(when, self._zone)
            except MismatchError:
                raise self._no_column(when, "timeout_at", "a datetime") from None
            return np.full(self.count, at, np.int64)
        array = self._by_key(when, "timeout_at", "a datetime")
        if not pa.types.is_timestamp(array.type) and not pa.types.is_null(array.type):
            raise self._no_column(when, "timeout_at", "a datetime")
        found, absent = _whole_millis(array)
        if pa.types.is_timestamp(array.type) and array.type.tz is None:
            # Arrow is not asked for offsets of years that no datetime has.
            readings = pa.array(np.clip(found, FIRST - _DAY, LAST + _DAY)).cast(pa.timestamp("ms"))
            found = instants(readings, self._zone).cast(pa.int64()).to_numpy()
        made: Numbers = np.where(absent, NO_TIMEOUT, found)
        return made

    def _spans(self, duration: Any) -> tuple[Numbers, Bools]:
        """Milliseconds for each key, and where there are none."""
        if isinstance(duration, timedelta):
            spans = np.full(self.count, duration // MILLISECOND, np.int64)
            return spans, np.zeros(self.count, dtype=bool)
        array = self._by_key(duration, "timeout_after", "a timedelta")
        if not pa.types.is_duration(array.type) and not pa.types.is_null(array.type):
            raise self._no_column(duration, "timeout_after", "a timedelta")
        return _whole_millis(array)

    def _check_years(self, at: Numbers, which: Bools, method: str) -> None:
        beyond = which & ((at < FIRST) | (at > LAST))
        if beyond.any():
            first = int(np.flatnonzero(beyond)[0])
            check_years(int(at[first]), f"{method} for {self.key(first)!r}")

    def _check_order(self, given: Any, what: str) -> None:
        if not counts_up(given):
            raise WrongTypeError(
                f"{what} of {self.name} got a Series in another order than the keys: {OTHER_ORDER}."
            )

    def _by_key(self, given: Any, method: str, expected: str) -> pa.Array:
        self._check_order(given, method)
        try:
            array = arrow_of(given)
        except (pa.ArrowException, TypeError, ValueError):
            array = None
        if array is None or len(array) != self.count:
            raise self._no_column(given, method, expected)
        return array

    def _no_column(self, given: Any, method: str, expected: str) -> WrongTypeError:
        return WrongTypeError(
            f"{method} of {self.name} got {MismatchError('', given).found_text}, expected "
            f"{expected}, or one for each of the {self.count} keys, in their order."
        )


def _whole_millis(array: pa.Array) -> tuple[Numbers, Bools]:
    """A column of times or durations in milliseconds, and where it has none."""
    absent = array.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_null(array.type):
        return np.zeros(len(array), np.int64), absent
    found = array.cast(pa.int64()).fill_null(0).to_numpy()
    # What is cut is beyond all years, and would become another time with 64 bits.
    if array.type.unit == "s":
        return np.clip(found, -_MOST // 1000, _MOST // 1000) * 1000, absent
    return np.clip(found // _PER_MILLI[array.type.unit], -_MOST, _MOST), absent


def in_zone(columns: pa.StructArray, zone: tzinfo) -> pa.StructArray:
    """The columns with their times in the session's zone."""
    name = zone_name(zone)
    fields, arrays = [], []
    for n, field in enumerate(columns.type):
        array = columns.field(n)
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            array = array.cast(pa.timestamp("us", name))
        fields.append(pa.field(field.name, array.type))
        arrays.append(array)
    return pa.StructArray.from_arrays(arrays, fields=fields)
