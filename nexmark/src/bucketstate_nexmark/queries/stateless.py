"""The query that keeps no state, q0: what its batches take is Spark's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bucketstate_nexmark.queries.form import Form
from bucketstate_nexmark.queries.views import bids, millis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bucketstate_nexmark.events.model import Model


def passed_on(events: DataFrame, _: Model) -> DataFrame:
    return bids(events, timed=False).select(
        "auction", "bidder", "price", millis("date_time").alias("at"), "extra"
    )


FORMS = (
    Form(
        "q0",
        "dataframe",
        "update",
        passed_on,
        "bids, as they come",
        keys=("auction", "bidder", "price", "at", "extra"),
        keeps_state=False,
    ),
)
