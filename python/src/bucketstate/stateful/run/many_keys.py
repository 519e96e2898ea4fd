"""What a function over columns sees of the keys of one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from bucketstate.stateful.errors import StateUsageError

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np

T = TypeVar("T")


class KeysCall(Protocol):
    """Where the keys of one call lie; `Keys` says what each part is."""

    name: str
    count: int
    offsets: np.ndarray[Any, np.dtype[np.int64]]
    timed_out: bool

    @property
    def now(self) -> datetime: ...
    @property
    def watermark(self) -> datetime: ...
    @property
    def frame(self) -> Any: ...
    @property
    def state(self) -> Any: ...
    @property
    def exists(self) -> Any: ...
    @property
    def timeout(self) -> Any: ...
    def of(self, rows: Any) -> Any: ...
    def update(self, state: Any, where: Any) -> None: ...
    def clear(self, where: Any) -> None: ...
    def timeout_at(self, when: Any, where: Any) -> None: ...
    def timeout_after(self, duration: Any, where: Any) -> None: ...


class Keys(Generic[T]):
    """The keys of one call of a function over columns, with their states. Not thread-safe.

    It has a place for each key, and everything that it gives or takes by key is in that order: the
    rows of the call lie key by key, too. Columns are of the library that the function's `rows` are
    of. How many keys a call has is unspecified, so a key's answer must not depend on the others.
    The names are those of `State`; DataFusion's `GroupsAccumulator` is the model of the shape.
    Whoever runs the function makes it; it is of no use after the call.
    """

    __slots__ = ("_made",)

    def __init__(self, call: KeysCall) -> None:
        self._made: KeysCall | None = call

    def __len__(self) -> int:
        return self._call.count

    @property
    def frame(self) -> Any:
        """The grouping columns, a row for each key.

        Raises:
            WrongTypeError: pandas would change a whole number beyond 2**53, beside a null.
        """
        return self._call.frame

    @property
    def state(self) -> Any:
        """The fields of the states, a row for each key; of a new value where there is no state.

        Where a key has no state and the class a field without a default, all of them are null.

        Raises:
            MigrationError: a stored value does not fit the class any more.
            WrongTypeError: pandas would change a whole number beyond 2**53, beside a null.
        """
        return self._call.state

    @property
    def exists(self) -> Any:
        """Whether there is a state that was stored before, for each key."""
        return self._call.exists

    @property
    def offsets(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Where the rows of each key begin, and behind the last one where they end.

        The rows of key `n` are `offsets[n]` to `offsets[n + 1]`, as numpy's `reduceat` takes them.
        """
        return self._call.offsets

    @property
    def timed_out(self) -> bool:
        """Whether the call is for keys whose timeout was reached: it has no rows then."""
        return self._call.timed_out

    @property
    def timeout(self) -> Any:
        """The timeout in force when the call began, for each key; null where there was none."""
        return self._call.timeout

    @property
    def now(self) -> datetime:
        """The batch's processing time; the same for all calls and retries of a batch."""
        return self._call.now

    @property
    def watermark(self) -> datetime:
        """The watermark that the batches before this one made; 1970-01-01 in UTC in the first.

        Raises:
            StateUsageError: the query has none.
        """
        return self._call.watermark

    def of(self, rows: Any) -> Any:
        """The number of its key, for each row of the call.

        Args:
            rows: those of the call, all of them, in their order.

        Raises:
            StateUsageError: they are more or fewer.
        """
        return self._call.of(rows)

    def update(self, state: Any, *, where: Any = None) -> None:
        """Sets the states.

        A state that is as it was is not written.

        Args:
            state: all fields as columns, with a value for each key: in the library of the rows, or
                a dict of columns.
            where: a bool for each key; a state stays as it is where it is False or null.

        Raises:
            WrongTypeError: columns are missing, unknown, of other types or lengths, or hold what a
                field cannot be.
        """
        self._call.update(state, where)

    def clear(self, *, where: Any = None) -> None:
        """Removes the states. A timeout that is set in this call stays set.

        Args:
            where: a bool for each key; a state stays where it is False or null.

        Raises:
            WrongTypeError: it is something else.
        """
        self._call.clear(where)

    def timeout_at(self, when: Any, *, where: Any = None) -> None:
        """Has keys called once the watermark has passed a time.

        Every call ends the timeouts that were set before it, so they have to be set each time.

        Args:
            when: a datetime, or one for each key; naive in the session's time zone. Where it is
                null no timeout is set.
            where: a bool for each key; nothing is set where it is False or null.

        Raises:
            StateUsageError: the query does not run with timeout="event", or a time is before the
                watermark, or beyond the year 9999 in UTC.
            WrongTypeError: it is no datetime.
        """
        self._call.timeout_at(when, where)

    def timeout_after(self, duration: Any, *, where: Any = None) -> None:
        """Has keys called once a span of processing time has passed.

        Every call ends the timeouts that were set before it, so they have to be set each time.

        Args:
            duration: a timedelta of 1 ms or more, or one for each key. Where it is null no timeout
                is set.
            where: a bool for each key; nothing is set where it is False or null.

        Raises:
            StateUsageError: the query does not run with timeout="processing", or a duration is too
                short, or leads beyond the year 9999.
            WrongTypeError: it is no timedelta.
        """
        self._call.timeout_after(duration, where)

    def close(self) -> None:
        """Ends the call. For whoever runs the function, not for itself."""
        self._made = None

    @property
    def _call(self) -> KeysCall:
        if self._made is None:
            raise StateUsageError(
                "The keys of a call were used after it: a function over columns must not keep "
                "them. "
                "Take what is needed out of them within the call."
            )
        return self._made
