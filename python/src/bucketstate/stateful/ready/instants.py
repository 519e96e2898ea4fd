"""Times of many keys in microseconds since 1970, and the watermark among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bucketstate.stateful.codec.instants import LAST, MICROS_PER_MILLI, micros

if TYPE_CHECKING:
    from bucketstate.stateful.run.many_keys import Keys


def instants(at: pa.Array) -> pa.Array:
    """Microseconds as points in time."""
    return at.cast(pa.timestamp("us", "UTC"))


def timeouts(at: pa.Array) -> pa.Array:
    """Microseconds as times to be called at.

    What is due after the last of Python's years is as good as never due: no watermark gets there.
    """
    last = pa.scalar(LAST * MICROS_PER_MILLI, at.type)
    return instants(pc.min_element_wise(at, last, skip_nulls=False))


def watermark_of(keys: Keys[Any]) -> int:
    """In microseconds."""
    return micros(keys.watermark)
