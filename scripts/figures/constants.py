"""The constants of `bucketstate size`, fitted to what was measured.

Two are no measurement of a kept report: their rows say what they are taken from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import linear_regression, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.figures.kept import Measured
    from scripts.figures.reports import Row

RECORD_BYTES = 168
"""A key and its value in all benchmarks of the store alone."""
UPDATES = 20_000
"""Keys that a batch changes there."""
SNAPSHOT_VERSIONS = 10
"""Batches after which a snapshot is due there: Spark's default."""
CONDITION = "in a Spark application"
"""The restarts that count: what an executor meets."""


@dataclass(frozen=True)
class Constant:
    """One constant, as Python writes it, and what it is made of."""

    name: str
    written: str
    made_of: str

    @property
    def value(self) -> float:
        return float(self.written)


def constants(figures: Mapping[str, Measured]) -> list[Constant]:
    """All of them, in the order of `bucketstate.sizing`.

    Raises:
        KeyError: a report that they are made of was not kept.
        ValueError: a kept report has nothing of this provider, or too little.
    """
    return [*_sizes(figures), *_restarts(figures["restart"]), _NATIVE]


def _sizes(figures: Mapping[str, Measured]) -> list[Constant]:
    largest = _largest(figures, "providers", "bucketed")
    with_snapshots = _largest(figures, "long-run", "bucketed")
    without = _largest(figures, "long-run", "no-snapshots")
    heap, lag = float(largest["heap per key"]), float(with_snapshots["most lag"])
    written, changelog = float(with_snapshots["written"]), float(without["written"])
    return [
        Constant(
            "ENTRY_BYTES",
            str(math.ceil(heap - RECORD_BYTES)),
            f"heap per key of the largest state, {heap:.0f}, less the {RECORD_BYTES} of the record "
            "([Batches](#batches-by-size-of-the-state))",
        ),
        _UNCOVERED,
        Constant(
            "LAG",
            str(math.ceil(lag / SNAPSHOT_VERSIONS)),
            f"the newest snapshot was {lag:.0f} versions behind at most, by the "
            f"{SNAPSHOT_VERSIONS} after which one is due "
            "([Long runs](#long-runs-what-snapshots-cost))",
        ),
        Constant(
            "WRITTEN_SHARE",
            f"{written / RECORD_BYTES:.2f}",
            f"{written:.0f} bytes written per update, by {RECORD_BYTES} (the same)",
        ),
        Constant(
            "CHANGELOG_SHARE",
            f"{changelog / RECORD_BYTES:.2f}",
            f"{changelog:.0f} of them with snapshots turned off, by {RECORD_BYTES} (the same)",
        ),
    ]


_UNCOVERED = Constant(
    "UNCOVERED_BYTES",
    "164",
    "no report has it today: an earlier version took so much more than the record for an update "
    "that no snapshot had. It is left as it was, on the safe side",
)
_NATIVE = Constant(
    "NATIVE_SHARE",
    "1.5",
    "chosen: about the memory of the last two columns of [the second engine]"
    "(#the-second-engine-with-as-much-memory-as-rocksdb), 1 GB for 640 MiB",
)


def _largest(figures: Mapping[str, Measured], name: str, provider: str) -> Row:
    """What a report has of a contender's largest state."""
    rows = figures[name].of(provider=provider)
    if not rows:
        raise ValueError(f"The report '{name}' has nothing of '{provider}'")
    return max(rows, key=_keys)


def _restarts(measured: Measured) -> list[Constant]:
    """A restart is so long for no keys, and longer by each key and each update to replay."""
    rows = measured.of(provider="bucketed", jvm=CONDITION)
    ends = [_ends(rows, keys) for keys in sorted({_keys(row) for row in rows})]
    if not ends:
        raise ValueError(f"The report 'restart' has no restart of bucketstate {CONDITION}")
    per_update = median(
        (_batch(most) - _batch(least)) / (_replayed(most) - _replayed(least))
        for least, most in ends
    )
    shortest = [least for least, _ in ends]
    apart = [_batch(row) - per_update * _replayed(row) for row in shortest]
    if len(shortest) > 1:
        per_key, alone = linear_regression([_keys(row) for row in shortest], apart)
        base = "what is left of the next two for no keys and no changelogs"
    else:
        alone = float(shortest[0]["first get"]) / 1000
        per_key = (apart[0] - alone) / _keys(shortest[0])
        base = (
            "the first get, which hardly grows with the state "
            "([Restarts](#restarts-in-a-cold-jvm)): other sizes were not measured"
        )
    least, most = ends[-1]
    of_sizes = " and ".join(f"{_whole(_batch(row))} ms at {_keys(row):,}" for row in shortest)
    return [
        Constant("RESTART_SECONDS", f"{alone:.2f}", base),
        Constant(
            "RESTART_SECONDS_PER_KEY",
            _micro(per_key),
            f"first batch {CONDITION}: {of_sizes} keys, less the rows above and below",
        ),
        Constant(
            "RESTART_SECONDS_PER_UPDATE",
            _micro(per_update),
            f"the same with {most['tail']} and {least['tail']} changelogs of {UPDATES:,} updates: "
            f"{_whole(_batch(most))} and {_whole(_batch(least))} ms",
        ),
    ]


def _ends(rows: list[Row], keys: int) -> tuple[Row, Row]:
    """The restarts of a state with the fewest and the most changelogs."""
    tails = sorted((row for row in rows if _keys(row) == keys), key=_replayed)
    if len(tails) < 2:
        raise ValueError(f"The report 'restart' has one number of changelogs at {keys:,} keys")
    return tails[0], tails[-1]


def _keys(row: Row) -> int:
    return int(row["keys"])


def _replayed(row: Row) -> int:
    return int(row["tail"]) * UPDATES


def _batch(row: Row) -> float:
    return float(row["first batch"]) / 1000


def _whole(seconds: float) -> str:
    return f"{seconds * 1000:,.0f}"


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:.2f}e-6"
