"""One stateful function with one key in a call, and over the columns of each library.

It counts, adds up and finds the largest of what is whole numbers, so that no order of additions
changes an answer; it forgets a key that was silent for five minutes, and says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from bucketstate.stateful import Keys, State

SCHEMA = "k string, x double, n long, at timestamp"
QUIET = timedelta(minutes=5)


@dataclass
class Record:
    n: int = 0
    total: float = 0.0
    largest: float | None = None
    seen: int | None = None


@dataclass
class Report:
    k: str | None
    n: int
    total: float
    largest: float | None
    seen: int | None
    quiet: bool


class Alone:
    def handleInputRows(self, key: Any, rows: list[dict[str, Any]], state: State[Record]) -> Report:
        record = state.value
        for row in rows:
            record.n += 1
            if row["x"] is not None:
                record.total += row["x"]
                record.largest = max(row["x"], record.largest or 0.0)
            if row["n"] is not None:
                record.seen = row["n"] if record.seen is None else max(row["n"], record.seen)
        state.timeout_at(max(row["at"] for row in rows) + QUIET)
        return Report(key.k, record.n, record.total, record.largest, record.seen, quiet=False)

    def handleExpiredTimer(self, key: Any, _timer: Any, state: State[Record]) -> Report:
        record = state.value
        state.clear()
        return Report(key.k, record.n, record.total, record.largest, record.seen, quiet=True)


class WithArrow:
    def handleInputRows(self, keys: Keys[Record], rows: pa.Table) -> Any:
        table = pa.table({"key": keys.of(rows), **{c: rows[c] for c in ("x", "n", "at")}})
        new = table.group_by("key", use_threads=False).aggregate(
            [("at", "count"), ("x", "sum"), ("x", "max"), ("n", "max"), ("at", "max")]
        )
        state = keys.state
        largest = pc.max_element_wise(state["largest"], new["x_max"])
        made = {
            "n": pc.add(state["n"], new["at_count"]),
            "total": pc.add(state["total"], new["x_sum"].fill_null(0.0)),
            "largest": pc.if_else(pc.less(largest, 0.0), 0.0, largest),
            "seen": pc.max_element_wise(state["seen"], new["n_max"]),
        }
        keys.update(made)
        keys.timeout_at(pc.add(new["at_max"], QUIET))
        return {"k": keys.frame["k"], **made, "quiet": np.zeros(len(keys), bool)}

    def handleExpiredTimer(self, keys: Keys[Record]) -> Any:
        state = {name: keys.state[name] for name in keys.state.column_names}
        keys.clear()
        return {"k": keys.frame["k"], **state, "quiet": np.ones(len(keys), bool)}


class WithBatches:
    def handleInputRows(self, keys: Keys[Record], rows: pa.RecordBatch) -> Any:
        starts, state = keys.offsets[:-1], keys.state
        numbers = rows["x"].fill_null(0.0).to_numpy()
        known = rows["x"].is_valid().to_numpy(zero_copy_only=False)
        some = pa.array(np.logical_or.reduceat(known, starts))
        largest = pc.max_element_wise(
            state["largest"], pa.array(np.maximum.reduceat(np.maximum(numbers, 0.0), starts))
        )
        whole = rows["n"].fill_null(np.iinfo(np.int64).min).to_numpy()
        seen = np.maximum.reduceat(whole, starts)
        seen = pa.array(seen, mask=seen == np.iinfo(np.int64).min)
        times = rows["at"].cast(pa.int64()).to_numpy()
        made = {
            "n": state["n"].to_numpy() + np.diff(keys.offsets),
            "total": state["total"].to_numpy() + np.add.reduceat(numbers, starts),
            "largest": pc.if_else(some, largest, state["largest"]),
            "seen": pc.max_element_wise(state["seen"], seen),
        }
        keys.update(made)
        newest = pa.array(np.maximum.reduceat(times, starts)).cast(pa.timestamp("us", "UTC"))
        keys.timeout_at(pc.add(newest, QUIET))
        return {"k": keys.frame["k"], **made, "quiet": np.zeros(len(keys), bool)}

    def handleExpiredTimer(self, keys: Keys[Record]) -> Any:
        state = {name: keys.state[name] for name in keys.state.schema.names}
        keys.clear()
        return {"k": keys.frame["k"], **state, "quiet": np.ones(len(keys), bool)}


class WithPandas:
    def handleInputRows(self, keys: Keys[Record], rows: pd.DataFrame) -> Any:
        groups = rows.groupby(keys.of(rows))
        state = keys.state
        made = pd.DataFrame(
            {
                "n": state["n"] + groups.size(),
                "total": state["total"] + groups["x"].sum(),
                "largest": np.fmax(
                    state["largest"].astype(float), groups["x"].max().clip(lower=0.0)
                ),
                "seen": np.fmax(state["seen"].astype(float), groups["n"].max().astype(float)),
            }
        )
        keys.update(made)
        keys.timeout_at(groups["at"].max() + QUIET)
        return keys.frame.join(made).assign(quiet=False)

    def handleExpiredTimer(self, keys: Keys[Record]) -> Any:
        keys.clear()
        return keys.frame.join(keys.state).assign(quiet=True)


class WithPolars:
    def handleInputRows(self, keys: Keys[Record], rows: pl.DataFrame) -> Any:
        new = rows.group_by(keys.of(rows), maintain_order=True).agg(
            rows=pl.len().cast(pl.Int64),
            sum=pl.col("x").sum(),
            max=pl.col("x").max().clip(lower_bound=0.0),
            most=pl.col("n").max(),
            at=pl.col("at").max(),
        )
        both = pl.concat([keys.state, new], how="horizontal")
        made = both.select(
            n=pl.col("n") + pl.col("rows"),
            total=pl.col("total") + pl.col("sum"),
            largest=pl.max_horizontal("largest", "max"),
            seen=pl.max_horizontal("seen", "most"),
        )
        keys.update(made)
        keys.timeout_at(new["at"] + QUIET)
        return pl.concat([keys.frame, made], how="horizontal").with_columns(quiet=False)

    def handleExpiredTimer(self, keys: Keys[Record]) -> Any:
        keys.clear()
        frames = [keys.frame, keys.state]
        return pl.concat(frames, how="horizontal").with_columns(quiet=True)


EVERY = (WithArrow, WithBatches, WithPandas, WithPolars)


def echo_batches(keys: Keys[Record], rows: pa.RecordBatch) -> Any:  # noqa: ARG001
    return rows


def echo_pandas(keys: Keys[Record], rows: pd.DataFrame) -> Any:  # noqa: ARG001
    return rows


def echo_polars(keys: Keys[Record], rows: pl.DataFrame) -> Any:  # noqa: ARG001
    return rows
