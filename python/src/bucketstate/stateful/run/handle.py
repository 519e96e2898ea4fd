"""What a function sees of its key's state."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from bucketstate.stateful.codec.document import Clock, StateCodec
from bucketstate.stateful.codec.instants import MILLISECOND, Timer, local, reached
from bucketstate.stateful.codec.kept import NO_TIMEOUT, Kept, order
from bucketstate.stateful.codec.parts import MapState, holds
from bucketstate.stateful.codec.times import moment
from bucketstate.stateful.errors import (
    MigrationError,
    MismatchError,
    StateUsageError,
    UnreadableError,
    WrongTypeError,
)
from bucketstate.stateful.run.usage import (
    check_clock,
    check_kind,
    check_years,
    checked_watermark,
    warn_of_first_watermark,
)
from bucketstate.stateful.run.variables import in_memory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bucketstate.stateful.codec.document import PartCodec
    from bucketstate.stateful.codec.kept import Due
    from bucketstate.stateful.run.slots import Slot
    from bucketstate.stateful.run.variables import Bound

T = TypeVar("T")
Timeout = Literal["processing", "event"]

_UNREAD: Any = object()
_NO_CLOCK = Clock(0, None)


class State(Generic[T]):
    """The state of one key, for one call of the function. Not thread-safe; do not keep it.

    What the call leaves behind is written once, after it; a state that was not changed is not
    written. All datetimes are points in time, as in the rows: they bear the offset that the
    session's time zone has then. Whoever runs the function makes it.

    Args:
        codec: how its value is stored.
        slot: where it is kept.
        key: for messages.
        timeout: the query's clock.
        zone: the session's time zone.
        fired: the timer that the call is made for.
    """

    __slots__ = (
        "_baseline",
        "_beside",
        "_codec",
        "_fired",
        "_given",
        "_kept",
        "_key",
        "_new_timeout",
        "_present",
        "_slot",
        "_timeout_kind",
        "_timers",
        "_value",
        "_watermark_read",
        "_zone",
    )

    def __init__(
        self,
        codec: StateCodec,
        slot: Slot,
        key: Any,
        timeout: Timeout | None,
        zone: tzinfo,
        fired: Due | None = None,
    ) -> None:
        self._codec = codec
        self._slot = slot
        self._key = key
        self._timeout_kind = timeout
        self._zone = zone
        self._fired = fired
        self._kept = slot.kept if fired is None else slot.kept.without(fired)
        self._present = self._kept.text is not None
        self._value = _UNREAD
        self._beside: Any = _UNREAD if codec.parts else None
        self._baseline: str | None = None
        self._given = False
        self._new_timeout = NO_TIMEOUT
        self._timers = self._kept.timers
        self._watermark_read = False

    @property
    def exists(self) -> bool:
        """Whether there is a state: stored before, or given by `update` in this call."""
        return self._present or self._given

    @property
    def value(self) -> T:
        """The state's value; default-constructed, and not yet stored, where there is none.

        Changes of its attributes are noticed.

        Raises:
            MigrationError: a stored value does not fit the class any more.
            StateUsageError: there is none, and the class has a field without a default; or a part
                with `time="event"` is in a query without a watermark.
            WrongTypeError: a default of the class does not fit its field.
        """
        if self._value is _UNREAD:
            self._value, self._baseline = self._load() if self._present else self._new()
            self._check_keys()
        return cast("T", self._value)

    @value.setter
    def value(self, value: T) -> None:
        self.update(value)

    def update(self, value: T | Mapping[str, Any]) -> None:
        """Sets the state.

        Args:
            value: an instance of its class, or a dict of all its fields.

        Raises:
            WrongTypeError: it is neither, or a field of it does not fit.
        """
        try:
            self._value = self._codec.value_of(value)
        except MismatchError as e:
            raise self.unfit(e) from None
        self._check_keys()
        self._given = True

    def clear(self) -> None:
        """Removes the state. A timeout set in this call stays set, and timers stay."""
        self._value = _UNREAD
        self._given = False
        self._present = False

    @property
    def timed_out(self) -> bool:
        """Whether the call is made because the timeout or a timer was reached: it has no rows."""
        return self._fired is not None

    @property
    def expired_timer(self) -> Timer | None:
        """The timer that the call is made for; without a name where it is the timeout."""
        return None if self._fired is None else Timer.of(self._fired, self._zone)

    @property
    def timeout(self) -> datetime | None:
        """The timeout in force when the call began, or None."""
        at = self._kept.timeout
        return None if at == NO_TIMEOUT else reached(at, self._zone)

    @property
    def now(self) -> datetime:
        """The batch's processing time; the same for all calls and retries of a batch."""
        return local(self._slot.now, self._zone)

    @property
    def watermark(self) -> datetime:
        """The watermark that the batches before this one made.

        In the first batch there is none yet, and it is 1970-01-01 in UTC.

        Raises:
            StateUsageError: the query has none.
        """
        self._watermark_read = True
        return local(self._watermark("state.watermark was read"), self._zone)

    def timeout_after(self, duration: timedelta) -> None:
        """Calls the function for this key once `duration` of processing time has passed.

        Every call ends the timeout that was set before it, so it has to be set each time.

        Args:
            duration: from the batch's processing time, 1 ms or more; kept in whole milliseconds.

        Raises:
            StateUsageError: the query does not run with timeout="processing", or the duration is no
                timedelta, too short, or leads beyond the year 9999.
        """
        check_kind(self._timeout_kind, "processing", "timeout_after", "timeout_at(datetime)")
        if not isinstance(duration, timedelta) or duration < MILLISECOND:
            raise StateUsageError(
                f"timeout_after({duration!r}) for {self._key!r}: give a timedelta of 1 ms or more."
            )
        at = self._slot.now + duration // MILLISECOND
        check_years(at, f"timeout_after({duration!r}) for {self._key!r}")
        self._new_timeout = at

    def timeout_at(self, when: datetime) -> None:
        """Calls the function for this key once the watermark has passed `when`.

        Every call ends the timeout that was set before it, so it has to be set each time.

        Args:
            when: not before the watermark; naive in the session's time zone, or with one of its
                own.

        Raises:
            StateUsageError: the query does not run with timeout="event", or `when` is no datetime,
                before the watermark, or beyond the year 9999 in UTC.
        """
        check_kind(self._timeout_kind, "event", "timeout_at", "timeout_after(timedelta)")
        self._new_timeout = self._future(when, "timeout_at")

    def registerTimer(self, when: datetime, name: str | None = None) -> None:
        """Calls the function for this key once the clock of the query has passed `when`.

        That clock is the watermark with timeout="event", the batches' processing time with
        timeout="processing". A timer stays until it fires or is deleted, and a key may have many.

        Args:
            when: naive in the session's time zone, or with one of its own; kept in milliseconds.
            name: takes the place of an earlier timer of that name; one without is known by its
                time.

        Raises:
            StateUsageError: the query has no timeout, the clock has passed the time, it is beyond
                the year 9999 in UTC, or what is given is no datetime or no name.
        """
        check_clock(self._timeout_kind, "registerTimer")
        at = self._future(when, "registerTimer")
        if name is not None and not (isinstance(name, str) and name):
            raise StateUsageError(
                f"registerTimer(name={name!r}) for {self._key!r}: give a name as text, or none."
            )
        kept = (t for t in self._timers if (t != (at, None) if name is None else t[1] != name))
        self._timers = tuple(sorted([*kept, (at, name)], key=order))

    def deleteTimer(self, which: datetime | str | Timer) -> None:
        """Removes a timer, if there is one.

        Args:
            which: its name; the time of one without a name; or one that `listTimers` gave.

        Raises:
            StateUsageError: the query has no timeout, or what is given is none of these.
        """
        check_clock(self._timeout_kind, "deleteTimer")
        if isinstance(which, Timer):
            self._timers = tuple(t for t in self._timers if t != (which.millis, which.name))
        elif isinstance(which, str):
            self._timers = tuple(t for t in self._timers if t[1] != which)
        else:
            at = self._millis(which, "deleteTimer")
            self._timers = tuple(t for t in self._timers if t != (at, None))

    def listTimers(self) -> Iterator[Timer]:
        """The timers that have not fired, by time; without the timeout."""
        return iter([Timer.of(t, self._zone) for t in self._timers])

    def finish(self) -> None:
        """Hands what changed over to the slot. For whoever runs the function, not for itself.

        Raises:
            WrongTypeError: a field of the value does not fit its type.
            StateUsageError: a part with `time="event"` is in a query without a watermark.
        """
        version, text = self._kept.version, self._kept.text
        if self._value is not _UNREAD:
            new_text = self._dump(self._value)
            if self._given or new_text != self._baseline or (not self._present and self._grown()):
                # Fields that a migration changes are others, even where they read alike.
                if new_text != text or self._codec.evolution.changes(version):
                    version = self._codec.evolution.version
                text = new_text
            elif not self._present:
                text = None
        elif not self._present:
            text = None
        if self._codec.parts:
            self._settle_parts(stored=text is not None)
        kept = Kept(version or self._codec.evolution.version, self._new_timeout, self._timers, text)
        if not kept.same(self._kept) or self._fired is not None:
            self._slot.write(kept)

    def _parts(self) -> Mapping[str, Bound] | None:
        if self._beside is _UNREAD:
            self._beside = self._slot.parts(self)
        found: Mapping[str, Bound] | None = self._beside
        return found

    def _check_keys(self) -> None:
        """Has the value's maps refuse keys that their fields do not take, as variables do."""
        for name, codec in self._codec.maps.items():
            part = getattr(self._value, name)
            if isinstance(part, MapState):
                part._check = partial(self._check_key, name, codec)

    def _check_key(self, name: str, codec: PartCodec, key: Any) -> None:
        try:
            codec.check_key(key)
        except MismatchError as e:
            raise self.unfit(e.under(name)) from None

    def _grown(self) -> bool:
        """Whether parts that lie beside the document make a state of what was none."""
        if self._parts() is None:
            return False
        parts = [getattr(self._value, name) for name in self._codec.parts]
        # After `clear` the new value has parts in memory: one with a variable was given to it.
        cleared = self._kept.text is not None
        return any(part.exists() if cleared else holds(part) for part in parts)

    def _settle_parts(self, *, stored: bool) -> None:
        """Brings the parts beside the document in line with the value that the call left."""
        was_stored = self._kept.text is not None
        if self._value is _UNREAD and (stored or (self._beside is _UNREAD and not was_stored)):
            return
        parts = self._parts() or {}
        if not stored:
            for part in parts.values():
                part.drop(was_stored=was_stored)
            return
        given = {name: getattr(self._value, name) for name in parts}
        # A field may be given another field's part. All are read before the first is written.
        taken = {n: in_memory(g) for n, g in given.items() if g is not parts[n]}
        for name, held in taken.items():
            parts[name].replace(held)

    def _clock(self) -> Clock:
        if not self._codec.parts:
            return _NO_CLOCK
        part = self._codec.event_time_part
        watermark = part and self._watermark(
            f"the part {part} of {self._codec.name} has time='event'"
        )
        return Clock(self._slot.now, watermark or (0 if part else None))

    def _watermark(self, why: str) -> int:
        return checked_watermark(self._slot.watermark, why)

    def _millis(self, when: Any, method: str) -> int:
        try:
            return moment(when, self._zone)
        except MismatchError as e:
            raise StateUsageError(
                f"{method}({when!r}) for {self._key!r}: {e.found_text} is not a datetime."
            ) from None

    def _future(self, when: Any, method: str) -> int:
        at = self._millis(when, method)
        if self._timeout_kind == "event":
            watermark = self._watermark(f"{method} was called")
            if at < max(watermark, 1):
                raise StateUsageError(
                    f"{method}({when!s}) for {self._key!r} is before the watermark "
                    f"{local(watermark, self._zone)!s}. Give a later time, or act on the key now."
                )
            if watermark == 0 and self._watermark_read:
                warn_of_first_watermark(at, method)
        elif at <= self._slot.now:
            raise StateUsageError(
                f"{method}({when!s}) for {self._key!r} is not after the batch's processing time "
                f"{self.now!s}. Give a later time, or act on the key now."
            )
        check_years(at, f"{method}({when!s}) for {self._key!r}")
        return at

    def _load(self) -> tuple[Any, str]:
        """The stored value, and the document that it has while it is not changed."""
        version, text = self._kept.version, self._kept.text
        assert text is not None
        try:
            value, older = self._codec.read(text, version, self._clock(), self._parts())
        except MismatchError as e:
            raise self.unreadable(e) from e.cause
        except UnreadableError as e:
            raise self.unreadable(e) from e
        return value, self._dump(value) if older else text

    def _new(self) -> tuple[Any, str]:
        try:
            # After clear, the parts that lie beside the document wait for what replaces them.
            fresh = self._kept.text is None and self._beside is _UNREAD
            value = self._codec.new(self._parts() if fresh else None)
        except MismatchError as e:
            raise StateUsageError(
                f"There is no state of {self._key!r}, and {self._codec.name}.{e.path} has no "
                "default to make one with. Look at state.exists first, or give it a default."
            ) from None
        return value, self._dump(value)

    def _dump(self, value: Any) -> str:
        try:
            return self._codec.dump(value, self._clock(), self._parts())
        except MismatchError as e:
            raise self.unfit(e) from None

    def unreadable(self, e: MismatchError | UnreadableError) -> MigrationError:
        """The error for a stored value that the state class cannot take. Used by the parts."""
        return self._codec.unreadable(self._key, self._kept.version, e)

    def unfit(self, e: MismatchError) -> WrongTypeError:
        """The error for a value that does not fit the state class. Used by the parts."""
        return self._codec.unfit(self._key, e)
