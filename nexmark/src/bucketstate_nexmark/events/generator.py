"""Events from a seed, many at a time.

Event n is the same whatever is made before it or with it: randomness is drawn for blocks of events,
each from a generator of its own, seeded with the model's seed and the block's number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from bucketstate_nexmark.events import model, words
from bucketstate_nexmark.events.schema import AUCTION, BID, EVENT, PERSON, TIME

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bucketstate_nexmark.events.model import Model

BLOCK = 10_000
"""Events, a multiple of the epoch."""

CLOSING_ID = -1
"""The id of all that the closing events name, which nothing else is or refers to."""
CLOSING_MS = 2 * 24 * 3600 * 1000
"""How long after the last event the closing ones come: every window has ended by then."""


def events(of: Model, first: int, count: int) -> pa.Table:
    """So many events, from the one with the number `first`, in the order of their times."""
    if count == 0:
        return EVENT.empty_table()
    blocks = range(first // BLOCK, (first + count - 1) // BLOCK + 1)
    whole = pa.concat_tables([_block(of, number) for number in blocks])
    return whole.slice(first - blocks.start * BLOCK, count).combine_chunks()


def closing(of: Model, count: int) -> pa.Table:
    """One event of each kind, two days after the last of `count` events.

    They let the watermark pass everything, and no answer has them: their own windows never end,
    and nothing has their ids.
    """
    last = int(of.micros(np.array([max(0, count - 1)]))[0])
    at = last + CLOSING_MS * 1000
    row = dict.fromkeys(EVENT.names)
    person = {"id": CLOSING_ID, "name": "", "city": "", "state": ""}
    auction = {"id": CLOSING_ID, "seller": CLOSING_ID - 1, "category": 0, "expires": at}
    bid = {"auction": CLOSING_ID - 1, "bidder": CLOSING_ID, "price": 0, "channel": "", "url": ""}
    bid["extra"] = ""
    rows = [
        {**row, "event_type": model.PERSON, "person": person},
        {**row, "event_type": model.AUCTION, "auction": auction},
        {**row, "event_type": model.BID, "bid": bid},
    ]
    return pa.Table.from_pylist([{**row, "date_time": at} for row in rows], schema=EVENT)


def _block(of: Model, block: int) -> pa.Table:
    random = np.random.default_rng([of.seed, block])
    number = np.arange(block * BLOCK, (block + 1) * BLOCK, dtype=np.int64)
    kind = model.kinds(number)
    micros = of.micros(number)
    structs = [
        _spread(_people(random, number[kind == model.PERSON]), kind == model.PERSON),
        _spread(_auctions(of, random, number[kind == model.AUCTION]), kind == model.AUCTION),
        _spread(_bids(random, number[kind == model.BID]), kind == model.BID),
    ]
    return pa.table([pa.array(kind), *structs, pa.array(micros, pa.int64()).cast(TIME)], EVENT)


def _spread(structs: pa.StructArray, where: NDArray[np.bool_]) -> pa.StructArray:
    """The structs at the places where they belong, and null between them."""
    places = np.where(where, np.cumsum(where) - 1, 0)
    return structs.take(pa.array(places, mask=~where))


def _people(random: np.random.Generator, number: NDArray[np.int64]) -> pa.StructArray:
    count = len(number)
    name = words.chosen(words.NAMES, random.integers(0, len(words.NAMES), count))
    columns = [
        pa.array(model.newest_person(number) + model.FIRST_ID),
        name,
        words.patterned(random, count, "aaaaaaa@aaaaa.com"),
        words.patterned(random, count, "0000 0000 0000 0000"),
        words.chosen(words.CITIES, random.integers(0, len(words.CITIES), count)),
        words.chosen(words.STATES, random.integers(0, len(words.STATES), count)),
        words.filling(random, count, model.PERSON_BYTES, 8 + 11 + 17 + 19 + 8 + 2),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(PERSON))


def _auctions(of: Model, random: np.random.Generator, number: NDArray[np.int64]) -> pa.StructArray:
    count = len(number)
    is_hot = random.integers(0, model.HOT_SELLERS, count) > 0
    newest = model.newest_person(number)
    seller = np.where(is_hot, model.hot(newest), model.some_person(random, number))
    initial = model.prices(random, count)
    expires = of.micros(number) + of.auction_ms(random, count) * 1000
    category = model.FIRST_CATEGORY + random.integers(0, model.CATEGORIES, count)
    columns = [
        pa.array(model.newest_auction(number) + model.FIRST_ID),
        words.some_letters(random, count, 20),
        words.some_letters(random, count, 100),
        pa.array(initial),
        pa.array(initial + model.prices(random, count)),
        pa.array(expires, pa.int64()).cast(TIME),
        pa.array(seller + model.FIRST_ID),
        pa.array(category),
        words.filling(random, count, model.AUCTION_BYTES, 8 + 11 + 51 + 5 * 8),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(AUCTION))


def _bids(random: np.random.Generator, number: NDArray[np.int64]) -> pa.StructArray:
    count = len(number)
    for_hot = random.integers(0, model.HOT_AUCTIONS, count) > 0
    newest = model.hot(model.newest_auction(number))
    auction = np.where(for_hot, newest, model.some_auction(random, number))
    by_hot = random.integers(0, model.HOT_BIDDERS, count) > 0
    # The one after the hot seller: the two are never the same.
    known = model.hot(model.newest_person(number)) + 1
    bidder = np.where(by_hot, known, model.some_person(random, number))
    on_hot = random.integers(0, model.HOT_CHANNELS, count) > 0
    hot_channel = random.integers(0, len(words.HOT_CHANNELS), count)
    others = random.integers(len(words.HOT_CHANNELS), len(words.CHANNELS), count)
    channel = np.where(on_hot, hot_channel, others)
    columns = [
        pa.array(auction + model.FIRST_ID),
        pa.array(bidder + model.FIRST_ID),
        pa.array(model.prices(random, count)),
        words.chosen(words.CHANNELS, channel),
        words.chosen(words.URLS, channel),
        words.filling(random, count, model.BID_BYTES, 4 * 8),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(BID))
