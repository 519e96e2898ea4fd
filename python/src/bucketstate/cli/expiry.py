"""When the keys of an operator expire, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from bucketstate.checkpoint.overview import OperatorOverview
from bucketstate.checkpoint.store.expiry import TimeBucket
from bucketstate.cli import console
from bucketstate.units import count

_SHOWN = 20
"""Time buckets that a table lists at most; JSON has all of them."""


def print_expiry(operator: OperatorOverview) -> None:
    """Nothing for an operator whose state has no times."""
    found = [
        (store.partition, store.store, family.name, family.expiry)
        for store in operator.stores
        for family in store.families
        if family.expiry is not None
    ]
    if not found:
        return
    columns = ["#partition", "store", "family", "expired before", "newest", "#without a time"]
    rows = [
        [
            partition,
            store,
            family,
            _time(expiry.horizon),
            _time(expiry.newest),
            count(expiry.untimed_keys),
        ]
        for partition, store, family, expiry in found
    ]
    terminal = console.console()
    terminal.print(console.table(f"operator {operator.id}: times, in UTC", columns, rows))
    _print_time_buckets(b for *_, expiry in found for b in expiry.time_buckets)


def _print_time_buckets(buckets: Iterable[TimeBucket]) -> None:
    """All partitions together, the next to expire first."""
    counts: Counter[datetime | None] = Counter()
    for bucket in buckets:
        counts[bucket.start] += bucket.keys
    never = counts.pop(None, 0)
    in_order = [(_time(start), keys) for start, keys in sorted(counts.items())]
    rows, rest = in_order[:_SHOWN], in_order[_SHOWN:]
    if rest:
        rows.append((f"{len(rest):,} later ones", sum(keys for _, keys in rest)))
    if never:
        rows.append(("never expire", never))
    if not rows:
        return
    cells = [[start, count(keys)] for start, keys in rows]
    console.console().print(console.table("keys per time bucket", ["start", "#keys"], cells))


def _time(at: datetime | None) -> str:
    return "-" if at is None else f"{at:%Y-%m-%d %H:%M:%S}"
