"""Queries as functions of `bucketstate.stateful` over columns: many keys in a call, in polars."""

# Without `from __future__ import annotations`: `stateful` reads the hints.

import polars as pl
from pyspark.sql import DataFrame

from bucketstate import stateful
from bucketstate.stateful import Keys
from bucketstate_nexmark.events.model import Model
from bucketstate_nexmark.queries.form import Form
from bucketstate_nexmark.queries.typed import TOP, Best, Last, LastBid, Ranked, offers, priced

_LAST = ["at", "price", "channel", "url", "extra"]
_ORDER = ["price", "at", "bidder", "channel", "url", "extra"]
_LISTS = {f"{name}s": name for name in _ORDER}
"""Columns of the state, by what each has many of."""


class LastBids:
    def handleInputRows(self, keys: Keys[Last], rows: pl.DataFrame) -> pl.DataFrame:
        # A state that is not there yet is older than any bid.
        new = rows.select(*_LAST, key=keys.of(rows))
        kept = keys.state.select(*_LAST, key=pl.int_range(pl.len()).cast(new.schema["key"]))
        both = pl.concat([kept, new]).sort("key", *_LAST)
        last = both.group_by("key", maintain_order=True).last().select(_LAST)
        keys.update(last)
        named: pl.DataFrame = pl.concat([keys.frame, last], how="horizontal")
        return named


class TopBids:
    def handleInputRows(self, keys: Keys[Best], rows: pl.DataFrame) -> pl.DataFrame:
        new = rows.select(*_ORDER, key=keys.of(rows))
        named = {name: many for many, name in _LISTS.items()}
        state = keys.state.select(key=pl.int_range(pl.len()), **named)
        kept = state.explode(*_ORDER).drop_nulls("price")
        kept = kept.select(*_ORDER, key=pl.col("key").cast(new.schema["key"]))
        first, *others = _ORDER
        descending = [False, True, *(False for _ in others)]
        both = pl.concat([kept, new]).sort("key", first, *others, descending=descending)
        best = both.group_by("key", maintain_order=True).head(TOP)
        lists = best.group_by("key", maintain_order=True).agg(*_ORDER)
        keys.update(lists.select(**_LISTS))
        ranked = best.with_columns(rank=pl.int_range(1, pl.len() + 1).over("key"))
        auctions = keys.frame["auction"].gather(ranked["key"])
        put_out: pl.DataFrame = ranked.select(auctions.alias("auction"), "rank", *_ORDER)
        return put_out


def last_bids(events: DataFrame, _: Model) -> DataFrame:
    return stateful.apply(
        offers(events),
        by=["bidder", "auction"],
        fn=LastBids(),
        output=LastBid,
        output_mode="update",
    )


def top_bids(events: DataFrame, _: Model) -> DataFrame:
    return stateful.apply(
        priced(events), by="auction", fn=TopBids(), output=Ranked, output_mode="update"
    )


FORMS = (
    Form(
        "q18",
        "columns",
        "update",
        last_bids,
        "the last bid of each bidder for each auction",
        keys=("bidder", "auction"),
    ),
    Form(
        "q19",
        "columns",
        "update",
        top_bids,
        "the ten highest bids of each auction",
        keys=("auction", "rank"),
    ),
)
