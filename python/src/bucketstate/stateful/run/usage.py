"""What a query's clock allows a function to ask for."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from bucketstate.stateful.codec.instants import FIRST, LAST
from bucketstate.stateful.errors import FirstWatermarkWarning, StateUsageError

if TYPE_CHECKING:
    from bucketstate.stateful.codec.parts import Time

# No watermark of today's data is as early, in milliseconds since the epoch.
_LONG_BEFORE = 10 * 365 * 24 * 3_600_000


def check_clock(clock: Time | None, method: str) -> None:
    """Refuses timers in a query without a clock."""
    if clock is None:
        raise StateUsageError(
            f"{method} needs a query with a clock for timers, and this one has none: give "
            "timeout='processing' or timeout='event' where the function is applied."
        )


def check_kind(clock: Time | None, kind: Time, method: str, other: str) -> None:
    """Refuses a timeout by another clock than the query's."""
    if clock == kind:
        return
    raise StateUsageError(
        f"{method} needs a query with timeout={kind!r}, and this one has "
        + (
            f"timeout={clock!r}: call state.{other} instead."
            if clock
            else f"none: give timeout={kind!r} where the function is applied."
        )
    )


def checked_watermark(found: int | None, why: str) -> int:
    """The query's watermark, in milliseconds since the epoch; `why` says what asks for it.

    Raises StateUsageError where the query has none.
    """
    if found is None:
        raise StateUsageError(
            f"The query has no watermark, but {why}. Call df.withWatermark(column, delay) before "
            "the function is applied."
        )
    return found


def check_years(at: int, asked: str) -> None:
    """Refuses a time, in milliseconds since the epoch, that no datetime of UTC can be.

    A call that sees the timer could not be told when it is reached. `asked` is what set it.
    """
    if not FIRST <= at <= LAST:
        raise StateUsageError(
            f"{asked} is beyond the years 1 to 9999, and Python has no others. Give a nearer time, "
            "or set none for what is never to be reached."
        )


def warn_of_first_watermark(at: int, method: str) -> None:
    """Warns of a time near 1970, which was computed from a watermark that is not there yet."""
    if at < _LONG_BEFORE:
        warnings.warn(
            f"{method} was computed from state.watermark in the first batch: the query has no "
            "watermark before that has ended, and it is 1970-01-01 until then, so that this is "
            "reached in the next batch. Compute it from the times of the rows.",
            FirstWatermarkWarning,
            stacklevel=4,
        )
