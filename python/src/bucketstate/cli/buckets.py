"""What each bucket holds, and in which files, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from bucketstate.checkpoint import Checkpoint, Overview
from bucketstate.checkpoint.store.bucket_residency import NUMBERS
from bucketstate.cli import console
from bucketstate.units import count, size

_SHOWN = 20
"""Buckets of an operator that a table lists at most; JSON has all of them."""


def by_bucket(checkpoint: Checkpoint, found: Overview, version: int | None) -> list[dict[str, Any]]:
    """Of each column family in each store, how its keys lie in its buckets; and each bucket."""
    summaries = []
    for operator in found.operators:
        for store in dict.fromkeys(s.store for s in operator.stores):
            table = checkpoint.scan(
                operator=operator.id, version=version, store=store
            ).residency_per_bucket()
            for (partition, family), rows in groupby(
                table.to_pylist(), lambda row: (row["partition_id"], row["column_family"])
            ):
                where = {
                    "operator": operator.id,
                    "store": store,
                    "partition": partition,
                    "column_family": family,
                }
                buckets = [{name: row[name] for name in ("bucket", *NUMBERS)} for row in rows]
                summaries.append(where | _skew(buckets) | {"by_bucket": buckets})
    return summaries


def _skew(buckets: Sequence[dict[str, int]]) -> dict[str, Any]:
    keys = [bucket["keys"] for bucket in buckets]
    mean = sum(keys) / len(keys)
    return {
        "buckets": len(keys),
        "least": min(keys),
        "mean": mean,
        "most": max(keys),
        "skew": max(keys) / mean if mean else None,
    }


def print_buckets(summaries: Sequence[dict[str, Any]]) -> None:
    columns = ["#operator", "store", "#partition", "family"]
    columns += ["#buckets", "#least", "#mean", "#most", "#skew"]
    rows = [
        [
            s["operator"],
            s["store"],
            s["partition"],
            _family(s),
            s["buckets"],
            count(s["least"]),
            f"{s['mean']:,.1f}",
            count(s["most"]),
            "-" if s["skew"] is None else f"{s['skew']:.2f}",
        ]
        for s in summaries
    ]
    console.console().print(console.table("keys per bucket", columns, rows))
    for operator, of_operator in groupby(summaries, lambda s: s["operator"]):
        _print_largest(operator, list(of_operator))


def _print_largest(operator: int, summaries: Sequence[dict[str, Any]]) -> None:
    """Those that take most of the files first."""
    filled = [(s, b) for s in summaries for b in s["by_bucket"] if any(b[n] for n in NUMBERS)]
    filled.sort(key=lambda found: -found[1]["cold_bytes"] - found[1]["warm_bytes"])
    rows = [
        [s["partition"], s["store"], _family(s), b["bucket"], *_cells(b)]
        for s, b in filled[:_SHOWN]
    ]
    if rest := [bucket for _, bucket in filled[_SHOWN:]]:
        sums = {name: sum(bucket[name] for bucket in rest) for name in NUMBERS}
        rows.append(["", f"{len(rest):,} smaller ones", "", "", *_cells(sums)])
    columns = ["#partition", "store", "family", "#bucket", "#keys"]
    columns += ["#cold entries", "#cold", "#warm keys", "#warm records", "#warm"]
    title = f"operator {operator}: cold and warm by bucket, the largest first"
    console.console().print(console.table(title, columns, rows))


def _cells(numbers: dict[str, int]) -> list[str]:
    return [
        count(numbers["keys"]),
        count(numbers["cold_entries"]),
        size(numbers["cold_bytes"]),
        count(numbers["warm_keys"]),
        count(numbers["warm_records"]),
        size(numbers["warm_bytes"]),
    ]


def _family(summary: dict[str, Any]) -> str:
    return summary["column_family"] or "(removed)"
