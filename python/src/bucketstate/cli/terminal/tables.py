"""What `inspect` and `verify` print: sums, and an operator's stores, buckets, expiry, variables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from bucketstate.checkpoint import Checkpoint, Expiry, Overview, Restart
from bucketstate.checkpoint.format.family import summed
from bucketstate.checkpoint.overview import FamilyOverview, OperatorOverview
from bucketstate.checkpoint.store.bucket_residency import NUMBERS
from bucketstate.checkpoint.store.expiry import TimeBucket
from bucketstate.checkpoint.store.residency import Residency
from bucketstate.cli.terminal import console
from bucketstate.units import count, size


def print_sums(found: Overview) -> None:
    """A line for each store of each operator, all partitions together."""
    rows = []
    for operator in found.operators:
        for name in sorted({s.store for s in operator.stores}):
            stores = [s for s in operator.stores if s.store == name]
            largest = max((s.keys for s in stores if s.keys is not None), default=None)
            keys = keys_of(f for s in stores for f in s.families)
            rows.append(
                [
                    operator.id,
                    operator.name or "unknown",
                    name,
                    len(stores),
                    "unknown" if any(s.problem for s in stores) else keys,
                    count(largest),
                    size(sum(s.read_bytes for s in stores)),
                    count(max((s.changelogs for s in stores), default=0)),
                    count(sum(s.files for s in stores)),
                    size(sum(s.bytes for s in stores)),
                ]
            )
    columns = ["#operator", "name", "store", "#partitions", "#keys", "#most in one"]
    columns += ["#a restart reads", "#changelogs, at most", "#files", "#bytes"]
    console.console().print(console.table(f"state at version {found.version}", columns, rows))


def print_stores(operator: OperatorOverview, version: int) -> None:
    """A line for each store of each partition: what a restart reads of it."""
    columns = ["#partition", "store", "#keys", "read from", "#bytes read", "#files", "#bytes"]
    rows = []
    for s in operator.stores:
        start = "" if s.manifest_version is None else f"manifest {s.manifest_version} "
        start += f"({s.runs} runs) + " if start else ""
        source = "cannot be read" if s.problem else f"{start}{s.changelogs} changelogs"
        keys = count(None) if s.problem else keys_of(s.families)
        sizes = [size(s.read_bytes), count(s.files), size(s.bytes)]
        rows.append([s.partition, s.store, keys, source, *sizes])
    title = f"operator {operator.id} ({operator.name or 'unknown'}) at version {version}"
    console.console().print(console.table(title, columns, rows))


def print_restarts(restarts: Iterable[Restart]) -> None:
    """A line for each operator whose stores a restart opens all: what it reads of them."""
    by_operator = groupby(sorted(restarts, key=lambda r: r.operator), lambda r: r.operator)
    for operator, each in by_operator:
        of = list(each)
        if any(r.failure for r in of):
            continue
        console.say(
            f"operator {operator}: a restart opens version {of[0].version} of {len(of):,} stores "
            f"({size(sum(r.bytes for r in of))}, {sum(r.keys for r in of):,} keys)"
        )


_SHOWN = 20
"""Buckets of an operator that a table lists at most; JSON has all of them."""


def by_bucket(checkpoint: Checkpoint, found: Overview, version: int | None) -> list[dict[str, Any]]:
    """How keys lie in buckets, for each column family in each store; and each bucket."""
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


_SHOWN_TIMES = 20
"""Time buckets that a table lists at most; JSON has all of them."""


def print_expiry(operator: OperatorOverview, *, verbose: bool) -> None:
    """Nothing for an operator whose state has no times. `verbose`: of each partition."""
    rest = "" if operator.is_whole else " that can be read"
    found = [
        (str(store.partition) if verbose else f"all{rest}", store.store, family.name, family.expiry)
        for store in operator.stores
        for family in store.families
        if family.expiry is not None
    ]
    if not found:
        return
    columns = ["#partition", "store", "family", "expired before", "newest", "#without a time"]
    of_family: dict[tuple[str, str, str], list[Expiry]] = {}
    for partition, store, name, expiry in found:
        of_family.setdefault((partition, store, name), []).append(expiry)
    rows = [
        [
            *where,
            _time(_horizon(each)),
            _time(max((e.newest for e in each if e.newest), default=None)),
            count(summed(e.untimed_keys for e in each)),
        ]
        for where, each in of_family.items()
    ]
    terminal = console.console()
    terminal.print(console.table(f"operator {operator.id}: times, in UTC", columns, rows))
    title = f"keys per time bucket{f', of all{rest}' if rest else ''}"
    _print_time_buckets(title, (b for *_, expiry in found for b in expiry.time_buckets))


def _horizon(expiries: Iterable[Expiry]) -> datetime | None:
    """Before it everything has expired in each partition; None if in one nothing has."""
    horizons = [e.horizon for e in expiries]
    known = [horizon for horizon in horizons if horizon is not None]
    return min(known) if len(known) == len(horizons) else None


def _print_time_buckets(title: str, buckets: Iterable[TimeBucket]) -> None:
    """All partitions together, the next to expire first."""
    counts: Counter[datetime | None] = Counter()
    for bucket in buckets:
        counts[bucket.start] += bucket.keys
    never = counts.pop(None, 0)
    in_order = [(_time(start), keys) for start, keys in sorted(counts.items())]
    rows, rest = in_order[:_SHOWN_TIMES], in_order[_SHOWN_TIMES:]
    if rest:
        rows.append((f"{len(rest):,} later ones", sum(keys for _, keys in rest)))
    if never:
        rows.append(("never expire", never))
    if not rows:
        return
    cells = [[start, count(keys)] for start, keys in rows]
    console.console().print(console.table(title, ["start", "#keys"], cells))


def _time(at: datetime | None) -> str:
    return "-" if at is None else f"{at:%Y-%m-%d %H:%M:%S}"


def print_residency(operator: OperatorOverview) -> None:
    """A line for each store that can be read; nothing without any."""
    found = [(s.partition, s.store, s.residency) for s in operator.stores if s.residency]
    if not found:
        return
    columns = ["#partition", "store", "#cold entries", "#cold", "#warm records", "#warm"]
    rows = [
        [
            partition,
            store,
            count(of.cold_entries),
            size(of.cold_bytes),
            count(of.warm_records),
            size(of.warm_bytes),
            _resident(of),
        ]
        for partition, store, of in found
    ]
    title = f"operator {operator.id}: cold in data files, warm in changelogs alone"
    table = console.table(title, [*columns, "#keys a restart must hold, at most"], rows)
    console.console().print(table)


def _resident(of: Residency) -> str:
    # There is no share where there are no keys, and where nobody counted them.
    share = "" if of.resident_share is None else f" ({of.resident_share:.1%})"
    return f"{of.resident_keys:,}{share}"


def keys_of(families: Iterable[FamilyOverview]) -> str:
    """How many keys column families hold together.

    Where those of one were not counted at this version, with the version that they were counted at.
    """
    keys, oldest = 0, None
    for family in families:
        if family.keys is not None:
            keys += family.keys
        elif family.last_count is None:
            return "not counted"
        else:
            at = family.last_count
            keys += at.keys
            oldest = at.version if oldest is None else min(oldest, at.version)
    return count(keys) if oldest is None else f"{count(keys)} (at version {oldest:,})"


def print_variables(operator: OperatorOverview, *, internal: bool) -> None:
    """A line for each; with `internal` one for each column family, too. Nothing for others."""
    if operator.time_mode is None:
        return
    families = _by_name(operator)
    columns = ["name", "kind", "TTL", "#keys", "key", "key in the map", "value", "schemas"]
    rows = [
        [
            v.name,
            v.kind,
            "yes" if v.ttl else "no",
            _keys(operator, families.get(v.name, [])),
            v.key or "unknown",
            v.user_key or "",
            v.value or "unknown",
            ", ".join(map(str, v.schema_ids)),
        ]
        for v in operator.state_variables
    ]
    terminal = console.console()
    title = f"operator {operator.id}: state variables (time mode {operator.time_mode}, "
    terminal.print(console.table(f"{title}timers: {_timers(operator)})", columns, rows))
    if internal:
        _print_families(operator)


def _timers(operator: OperatorOverview) -> str:
    if operator.timers is not None:
        return count(operator.timers)
    if operator.time_mode == "None":
        return "none"
    return "not counted" if operator.is_whole else "unknown"


def _keys(operator: OperatorOverview, families: Iterable[FamilyOverview]) -> str:
    return keys_of(families) if operator.is_whole else "unknown"


def _print_families(operator: OperatorOverview) -> None:
    """Prints the column families, all partitions together."""
    rows = [
        [
            name,
            "internal" if found[-1].internal else "",
            found[-1].role,
            _keys(operator, found),
            found[-1].key_encoding,
            found[-1].value_encoding,
        ]
        for name, found in sorted(_by_name(operator).items())
    ]
    columns = ["column family", "", "what it is", "#keys", "keys as", "values as"]
    terminal = console.console()
    terminal.print(console.table(f"operator {operator.id}: column families", columns, rows))


def _by_name(operator: OperatorOverview) -> dict[str, list[FamilyOverview]]:
    found: defaultdict[str, list[FamilyOverview]] = defaultdict(list)
    for family in (f for store in operator.stores for f in store.families):
        found[family.name].append(family)
    return dict(found)
