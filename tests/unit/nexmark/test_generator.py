"""The events are those of Nexmark's model: proportions, keys, hot ones, times, sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from bucketstate_nexmark.events import model, words
from bucketstate_nexmark.events.generator import CLOSING_ID, closing, events
from bucketstate_nexmark.events.model import Model
from bucketstate_nexmark.events.schema import EVENT, spark_schema

EVENTS = 100_000
MODEL = Model()


@pytest.fixture(scope="module")
def made() -> pa.Table:
    return events(MODEL, 0, EVENTS)


def of_kind(table: pa.Table, kind: int, struct: str) -> tuple[Any, np.ndarray[Any, Any]]:
    """A kind's columns, and the numbers of its events."""
    numbers = np.flatnonzero(table["event_type"].to_numpy() == kind)
    rows = table[struct].combine_chunks().take(pa.array(numbers))
    return {field.name: pc.struct_field(rows, field.name) for field in rows.type}, numbers


def share(of: Any) -> float:
    return float(np.mean(np.asarray(of)))


def test_of_fifty_events_one_is_a_person_and_three_are_auctions(made: pa.Table) -> None:
    counts = np.bincount(made["event_type"].to_numpy())
    assert counts.tolist() == [EVENTS // 50, EVENTS // 50 * 3, EVENTS // 50 * 46]
    first = made["event_type"].to_numpy()[:50]
    assert first.tolist() == [0, 1, 1, 1] + [2] * 46


@pytest.mark.parametrize(("kind", "struct"), [*enumerate(["person", "auction", "bid"])])
def test_an_event_has_the_struct_of_its_kind_alone(made: pa.Table, kind: int, struct: str) -> None:
    there = pc.is_valid(made[struct]).to_numpy(zero_copy_only=False)
    assert (there == (made["event_type"].to_numpy() == kind)).all()


def test_ids_go_up_by_one(made: pa.Table) -> None:
    for kind, struct in ((model.PERSON, "person"), (model.AUCTION, "auction")):
        ids = of_kind(made, kind, struct)[0]["id"].to_numpy()
        assert ids.tolist() == list(range(1000, 1000 + len(ids)))


def test_times_begin_where_they_always_do_and_go_up_with_the_rate(made: pa.Table) -> None:
    micros = made["date_time"].cast(pa.int64()).to_numpy()
    assert micros[0] == int(model.START.timestamp()) * 1_000_000
    assert (np.diff(micros) >= 0).all()
    assert micros[-1] - micros[0] == (EVENTS - 1) * 1000 // MODEL.rate * 1000


def test_three_of_four_bids_are_by_the_hot_bidder(made: pa.Table) -> None:
    bids, number = of_kind(made, model.BID, "bid")
    hot = number // 50 // 100 * 100 + 1 + 1000
    assert share(bids["bidder"].to_numpy() == hot) == pytest.approx(3 / 4, abs=0.01)


def test_every_second_bid_is_for_the_hot_auction(made: pa.Table) -> None:
    bids, number = of_kind(made, model.BID, "bid")
    hot = (number // 50 * 3 + 2) // 100 * 100 + 1000
    # One of the others is the hot one by chance, now and then.
    assert share(bids["auction"].to_numpy() == hot) == pytest.approx(1 / 2, abs=0.02)


def test_three_of_four_auctions_are_of_the_hot_seller(made: pa.Table) -> None:
    auctions, number = of_kind(made, model.AUCTION, "auction")
    hot = number // 50 // 100 * 100 + 1000
    assert share(auctions["seller"].to_numpy() == hot) == pytest.approx(3 / 4, abs=0.02)


def test_others_are_among_the_active_people_and_the_auctions_in_flight(made: pa.Table) -> None:
    bids, number = of_kind(made, model.BID, "bid")
    people = number // 50 + 1
    bidder = bids["bidder"].to_numpy() - 1000
    hot = number // 50 // 100 * 100 + 1
    others = bidder != hot
    assert (bidder - people)[others].max() == model.LEAD - 1
    assert (bidder - people)[others].min() == -model.ACTIVE_PEOPLE
    ahead = bids["auction"].to_numpy() - 1000 - (number // 50 * 3 + 2)
    assert ahead.max() == model.LEAD
    assert ahead.min() == -model.IN_FLIGHT


def test_prices_have_as_many_of_each_order_of_magnitude(made: pa.Table) -> None:
    prices = of_kind(made, model.BID, "bid")[0]["price"].to_numpy()
    assert prices.min() >= 100
    assert prices.max() <= 100_000_000
    orders = np.bincount(np.floor(np.log10(prices)).astype(int), minlength=8)[2:8]
    assert orders / len(prices) == pytest.approx(np.full(6, 1 / 6), abs=0.01)


def test_auctions_are_in_five_categories_and_end_after_a_while(made: pa.Table) -> None:
    auctions, number = of_kind(made, model.AUCTION, "auction")
    categories = np.bincount(auctions["category"].to_numpy())
    assert np.flatnonzero(categories).tolist() == [10, 11, 12, 13, 14]
    assert categories[10:] / len(number) == pytest.approx(np.full(5, 0.2), abs=0.02)
    opened = made["date_time"].cast(pa.int64()).to_numpy()[number]
    lengths = (auctions["expires"].cast(pa.int64()).to_numpy() - opened) / 1000
    assert lengths.min() >= 1
    assert lengths.max() <= MODEL.longest_auction_ms
    # As long as it takes for a hundred auctions to begin, on average.
    assert lengths.mean() == pytest.approx(100 / 3 * 50 * 1000 / MODEL.rate, rel=0.05)
    assert (auctions["reserve"].to_numpy() > auctions["initial_bid"].to_numpy()).all()


def test_every_second_bid_comes_by_one_of_four_channels(made: pa.Table) -> None:
    bids = of_kind(made, model.BID, "bid")[0]
    counts = {row["values"]: row["counts"] for row in pc.value_counts(bids["channel"]).to_pylist()}
    for channel in words.HOT_CHANNELS:
        assert counts[channel] / len(bids["channel"]) == pytest.approx(1 / 8, abs=0.01)
    pages = {*zip(bids["channel"].to_pylist(), bids["url"].to_pylist(), strict=True)}
    assert len(pages) == len(counts), "a channel has one page"


@pytest.mark.parametrize(
    ("kind", "struct", "numbers", "wanted"),
    [
        (model.PERSON, "person", 1, model.PERSON_BYTES),
        (model.AUCTION, "auction", 5, model.AUCTION_BYTES),
        # Channels and pages came later, beside what fills a bid up.
        (model.BID, "bid", 4, model.BID_BYTES),
    ],
)
def test_events_are_as_large_as_the_original_ones(
    made: pa.Table, kind: int, struct: str, numbers: int, wanted: int
) -> None:
    columns, _ = of_kind(made, kind, struct)
    texts = [c for n, c in columns.items() if c.type == pa.string() and n not in ("channel", "url")]
    size = 8 * numbers + sum(pc.mean(pc.binary_length(text)).as_py() for text in texts)
    assert size == pytest.approx(wanted, rel=0.05)


def test_an_event_is_the_same_whatever_is_made_with_it(made: pa.Table) -> None:
    assert made.slice(12_345, 30_000).equals(events(MODEL, 12_345, 30_000))
    assert events(MODEL, 7, 0).num_rows == 0


def test_another_seed_has_other_events_and_a_rate_other_times() -> None:
    one, other = events(MODEL, 0, 1000), events(Model(seed=42), 0, 1000)
    assert one["date_time"].equals(other["date_time"])
    assert not one["bid"].equals(other["bid"])
    slow = events(Model(rate=1000), 0, 1000)
    assert slow["date_time"][-1].as_py() - model.START > one["date_time"][-1].as_py() - model.START


def test_closing_events_come_late_and_are_about_nobody() -> None:
    rows = closing(MODEL, EVENTS).to_pylist()
    last = events(MODEL, EVENTS - 1, 1)["date_time"][0].as_py()
    assert [row["event_type"] for row in rows] == [model.PERSON, model.AUCTION, model.BID]
    assert all((row["date_time"] - last).days == 2 for row in rows)
    assert rows[0]["person"]["id"] == rows[1]["auction"]["id"] == CLOSING_ID
    assert rows[1]["auction"]["seller"] not in (rows[0]["person"]["id"],)
    assert rows[2]["bid"]["auction"] != rows[1]["auction"]["id"]


def test_spark_has_the_same_columns() -> None:
    assert spark_schema().fieldNames() == EVENT.names
    assert spark_schema()["bid"].dataType.simpleString().startswith("struct<auction:bigint,")
