"""Stateful forms in the harness, without a JVM: what they put out is DuckDB's answer."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bucketstate import stateful
from bucketstate.testing import Harness
from bucketstate_nexmark.answers.compare import compare
from bucketstate_nexmark.events.files import Amount, Files, write
from bucketstate_nexmark.events.model import Model
from bucketstate_nexmark.queries import FORMS, columns, typed

OFFERS = (
    "bidder bigint, auction bigint, at bigint, price bigint, channel string, url string, "
    "extra string"
)
PRICED = (
    "auction bigint, price bigint, at bigint, bidder bigint, channel string, url string, "
    "extra string"
)
STEPS = (
    "id bigint, item_name string, description string, initial_bid bigint, reserve bigint, "
    "seller bigint, category bigint, expires timestamp, extra string, bidder bigint, "
    "price bigint, bid_extra string, date_time timestamp"
)
ARRIVALS = "seller bigint, name string, city string, state string, auction bigint"

ROWS = {
    "q3": "SELECT coalesce(person.id, auction.seller) AS seller, person.name AS name, person.city "
    "AS city, person.state AS state, auction.id AS auction FROM events WHERE event_type = 0 AND "
    "person.state IN ('OR', 'ID', 'CA') OR event_type = 1 AND auction.category = 10",
    "q9": "SELECT coalesce(auction.id, bid.auction) AS id, auction.item_name AS item_name, "
    "auction.description AS description, auction.initial_bid AS initial_bid, auction.reserve AS "
    "reserve, auction.seller AS seller, auction.category AS category, auction.expires AS expires, "
    "auction.extra AS extra, bid.bidder AS bidder, bid.price AS price, bid.extra AS bid_extra, "
    "date_time FROM events WHERE event_type > 0",
    "q18": "SELECT bid.bidder AS bidder, bid.auction AS auction, epoch_ms(date_time) AS at, "
    "bid.price AS price, bid.channel AS channel, bid.url AS url, bid.extra AS extra FROM events "
    "WHERE event_type = 2",
    "q19": "SELECT bid.auction AS auction, bid.price AS price, epoch_ms(date_time) AS at, "
    "bid.bidder AS bidder, bid.channel AS channel, bid.url AS url, bid.extra AS extra FROM events "
    "WHERE event_type = 2",
}
"""What each form is given, as its DataFrame selects it."""


def harness(form: str) -> Harness:
    made: dict[str, Any] = {
        "q3-typed": lambda: Harness(typed.sell, by="seller", schema=ARRIVALS),
        "q9-typed": lambda: Harness(
            typed.Auctions(),
            by="id",
            schema=STEPS,
            timeout="event",
            event_time="date_time",
            delay=timedelta(seconds=4),
        ),
        "q18-typed": lambda: Harness(typed.remember, by=["bidder", "auction"], schema=OFFERS),
        "q18-columns": lambda: Harness(
            stateful.define(columns.LastBids(), output=typed.LastBid),
            by=["bidder", "auction"],
            schema=OFFERS,
        ),
        "q19-typed": lambda: Harness(typed.rank, by="auction", schema=PRICED),
        "q19-columns": lambda: Harness(
            stateful.define(columns.TopBids(), output=typed.Ranked), by="auction", schema=PRICED
        ),
    }
    found: Harness = made[form]()
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return write(tmp_path_factory.mktemp("events"), Model(rate=1000), Amount(750, 250))


@pytest.mark.parametrize(
    "form", ["q3-typed", "q9-typed", "q18-typed", "q18-columns", "q19-typed", "q19-columns"]
)
def test_what_they_put_out_is_the_answer(made: Files, tmp_path: Path, form: str) -> None:
    running = harness(form)
    query = ROWS[FORMS[form].query]
    for batch, file in enumerate([*made.batches, made.closing, None]):
        rows: list[dict[str, Any]] = []
        if file is not None:
            with duckdb.connect() as connection:
                connection.execute("SET TimeZone = 'UTC'")
                connection.execute(
                    f"CREATE VIEW events AS SELECT * REPLACE (date_time::TIMESTAMP AS date_time) "
                    f"FROM read_parquet('{file}')"
                )
                found = connection.execute(query)
                names = [column[0] for column in found.description or ()]
                rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        # Behind the closing events comes a batch without rows, which ends what they let end.
        said = running.run(rows)
        if said:
            target = tmp_path / f"batch={batch}"
            target.mkdir()
            pq.write_table(pa.Table.from_pylist(said), target / "part.parquet")
    found_rows = compare(FORMS[form], made, tmp_path)
    assert found_rows.equal, found_rows.examples
    assert found_rows.rows > 0
