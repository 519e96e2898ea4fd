"""Times of many keys in microseconds since 1970, and the watermark among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bucketstate.stateful.codec.instants import micros

if TYPE_CHECKING:
    from bucketstate.stateful.run.many_keys import Keys


def instants(at: pa.Array) -> pa.Array:
    """Microseconds as points in time."""
    return at.cast(pa.timestamp("us", "UTC"))


def watermark_of(keys: Keys[Any]) -> int:
    """In microseconds."""
    return micros(keys.watermark)
