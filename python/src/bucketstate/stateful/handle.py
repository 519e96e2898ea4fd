"""What a function sees of its key's state."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

from pyspark.errors import PySparkRuntimeError

from bucketstate.stateful.codecs import DatetimeCodec
from bucketstate.stateful.document import Clock, StateCodec
from bucketstate.stateful.errors import (
    MigrationError,
    MismatchError,
    StateUsageError,
    UnreadableError,
    WrongTypeError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql.streaming.state import GroupState

T = TypeVar("T")
Timeout = Literal["processing", "event"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
NO_TIMEOUT = -1
_UNREAD: Any = object()


def millis(value: datetime) -> int:
    """An aware datetime in whole milliseconds since the epoch."""
    return (value - EPOCH) // MILLISECOND


def local(at: int, zone: tzinfo) -> datetime:
    """Milliseconds since the epoch as a naive datetime of that zone."""
    return (EPOCH + at * MILLISECOND).astimezone(zone).replace(tzinfo=None)


class State(Generic[T]):
    """The state of one key, for one call of the function. Not thread-safe; do not keep it.

    What the call leaves behind is written once, after it; a state that was not changed is not
    written. All datetimes are naive, in the session's time zone, as in the rows.
    """

    __slots__ = (
        "_baseline",
        "_codec",
        "_given",
        "_group",
        "_key",
        "_new_timeout",
        "_present",
        "_stored",
        "_timeout_kind",
        "_value",
        "_zone",
    )

    def __init__(
        self, codec: StateCodec, group: GroupState, key: Any, timeout: Timeout | None, zone: tzinfo
    ) -> None:
        self._codec = codec
        self._group = group
        self._key = key
        self._timeout_kind = timeout
        self._zone = zone
        self._stored: tuple[int, int, str | None] = group.getOption or (0, NO_TIMEOUT, None)
        self._present = self._stored[2] is not None
        self._value = _UNREAD
        self._baseline: str | None = None
        self._given = False
        self._new_timeout = NO_TIMEOUT

    @property
    def exists(self) -> bool:
        """Whether there is a state: stored before, or given by `update` in this call."""
        return self._present or self._given

    @property
    def value(self) -> T:
        """The state's value; default-constructed, and not yet stored, where there is none.

        Changes of its attributes are noticed. Raises MigrationError for a stored value that does
        not fit the class any more, StateUsageError where there is none and the class has a field
        without a default.
        """
        if self._value is _UNREAD:
            self._value, self._baseline = self._load() if self._present else self._new()
        return cast("T", self._value)

    @value.setter
    def value(self, value: T) -> None:
        self.update(value)

    def update(self, value: T | Mapping[str, Any]) -> None:
        """Sets the state to an instance of its class, or to a dict of its fields."""
        try:
            self._value = self._codec.value_of(value)
        except MismatchError as e:
            raise self._wrong_type(e) from None
        self._given = True

    def clear(self) -> None:
        """Removes the state. A timeout set in this call stays set."""
        self._value = _UNREAD
        self._given = False
        self._present = False

    @property
    def timed_out(self) -> bool:
        """Whether the call is made because the timeout was reached, and so has no rows."""
        return self._group.hasTimedOut

    @property
    def timeout(self) -> datetime | None:
        """The timeout in force when the call began, or None."""
        return None if self._stored[1] == NO_TIMEOUT else local(self._stored[1], self._zone)

    @property
    def now(self) -> datetime:
        """The batch's processing time; the same for all calls and retries of a batch."""
        return local(self._group.getCurrentProcessingTimeMs(), self._zone)

    @property
    def watermark(self) -> datetime:
        """The watermark that the batches before this one made; 1970-01-01 before the first.

        Raises StateUsageError where the query has none.
        """
        return local(self._watermark("state.watermark was read"), self._zone)

    def timeout_after(self, duration: timedelta) -> None:
        """Calls the function for this key once `duration` of processing time has passed.

        Every call ends the timeout that was set before it, so it has to be set each time. Raises
        StateUsageError unless the query runs with timeout="processing" and the duration is 1 ms or
        more.
        """
        self._needs("processing", "timeout_after", "timeout_at(datetime)")
        if not isinstance(duration, timedelta) or duration < MILLISECOND:
            raise StateUsageError(
                f"timeout_after({duration!r}) for {self._key!r}: give a timedelta of 1 ms or more."
            )
        self._new_timeout = self._group.getCurrentProcessingTimeMs() + duration // MILLISECOND

    def timeout_at(self, when: datetime) -> None:
        """Calls the function for this key once the watermark has passed `when`.

        Every call ends the timeout that was set before it, so it has to be set each time. Raises
        StateUsageError unless the query runs with timeout="event" and `when` is not before the
        watermark.
        """
        self._needs("event", "timeout_at", "timeout_after(timedelta)")
        try:
            at = millis(DatetimeCodec(self._zone).check(when))
        except MismatchError as e:
            raise StateUsageError(
                f"timeout_at({when!r}) for {self._key!r}: {e.found_text} is not a datetime."
            ) from None
        if at < max(self._watermark("timeout_at was called"), 1):
            raise StateUsageError(
                f"timeout_at({when!s}) for {self._key!r} is before the watermark "
                f"{self.watermark!s}. Give a later time, or act on the key now."
            )
        self._new_timeout = at

    def finish(self) -> None:
        """Hands what changed over to Spark. For whoever runs the function, not for itself."""
        version, timeout, text = self._stored
        if self._value is not _UNREAD:
            new_text = self._dump()
            if self.exists or new_text != self._baseline:
                version = version if new_text == text else self._codec.evolution.version
                text = new_text
        elif not self._present:
            text = None
        if text == self._stored[2] and timeout == self._new_timeout:
            return
        if text is None and self._new_timeout == NO_TIMEOUT:
            if self._group.exists:
                self._group.remove()
            return
        self._group.update((version or self._codec.evolution.version, self._new_timeout, text))
        if self._new_timeout == NO_TIMEOUT:
            return
        if self._timeout_kind == "event":
            self._group.setTimeoutTimestamp(self._new_timeout)
        else:
            self._group.setTimeoutDuration(
                self._new_timeout - self._group.getCurrentProcessingTimeMs()
            )

    def _clock(self) -> Clock:
        part = self._codec.event_time_part
        watermark = part and self._watermark(
            f"the part {part} of {self._codec.name} has time='event'"
        )
        return Clock(self._group.getCurrentProcessingTimeMs(), watermark or (0 if part else None))

    def _watermark(self, why: str) -> int:
        try:
            return max(self._group.getCurrentWatermarkMs(), 0)
        except PySparkRuntimeError:
            raise StateUsageError(
                f"The query has no watermark, but {why}. Call "
                "df.withWatermark(column, delay) before the function is applied."
            ) from None

    def _needs(self, kind: Timeout, method: str, other: str) -> None:
        if self._timeout_kind == kind:
            return
        raise StateUsageError(
            f"{method} needs a query with timeout={kind!r}, and this one has "
            + (
                f"timeout={self._timeout_kind!r}: call state.{other} instead."
                if self._timeout_kind
                else f"none: give timeout={kind!r} where the function is applied."
            )
        )

    def _load(self) -> tuple[Any, str]:
        version, _, text = self._stored
        assert text is not None
        try:
            return self._codec.load(text, version, self._clock()), text
        except MismatchError as e:
            advice = (
                "Give the field a type that takes it, or a default, or raise the version of "
                f"{self._codec.name} and add a migration from {version}."
            )
            raise MigrationError(
                f"The state of {self._key!r} cannot be read as {self._codec.name}: field {e.path} "
                f"holds {e.found_text}, expected {e.expected}. It was written by version "
                f"{version}, this is version {self._codec.evolution.version}. {advice}"
            ) from None
        except UnreadableError as e:
            raise MigrationError(
                f"The state of {self._key!r} cannot be read as {self._codec.name}: {e}"
            ) from e

    def _new(self) -> tuple[Any, str]:
        try:
            value = self._codec.new()
        except MismatchError as e:
            raise StateUsageError(
                f"There is no state of {self._key!r}, and {self._codec.name}.{e.path} has no "
                "default to make one with. Look at state.exists first, or give it a default."
            ) from None
        return value, self._codec.dump(value, self._clock())

    def _dump(self) -> str:
        try:
            return self._codec.dump(self._value, self._clock())
        except MismatchError as e:
            raise self._wrong_type(e) from None

    def _wrong_type(self, e: MismatchError) -> WrongTypeError:
        field = f"field {e.path}" if e.path else "the value"
        return WrongTypeError(
            f"The state of {self._key!r}: {field} of {self._codec.name} is {e.found_text}, "
            f"expected {e.expected}. Convert it in the function, or change the field's type."
        )
