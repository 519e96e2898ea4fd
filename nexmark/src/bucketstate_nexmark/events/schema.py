"""The columns of an event: what it is, one struct of three, and its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

TIME = pa.timestamp("us", tz="UTC")

PERSON = pa.struct(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("email_address", pa.string()),
        ("credit_card", pa.string()),
        ("city", pa.string()),
        ("state", pa.string()),
        ("extra", pa.string()),
    ]
)
AUCTION = pa.struct(
    [
        ("id", pa.int64()),
        ("item_name", pa.string()),
        ("description", pa.string()),
        ("initial_bid", pa.int64()),
        ("reserve", pa.int64()),
        ("expires", TIME),
        ("seller", pa.int64()),
        ("category", pa.int64()),
        ("extra", pa.string()),
    ]
)
BID = pa.struct(
    [
        ("auction", pa.int64()),
        ("bidder", pa.int64()),
        ("price", pa.int64()),
        ("channel", pa.string()),
        ("url", pa.string()),
        ("extra", pa.string()),
    ]
)
EVENT = pa.schema(
    [
        ("event_type", pa.int8()),
        ("person", PERSON),
        ("auction", AUCTION),
        ("bid", BID),
        ("date_time", TIME),
    ]
)
"""One of the three structs is not null: that of the kind which `event_type` names."""


def spark_schema() -> StructType:
    """The columns of an event for Spark."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(EVENT)
