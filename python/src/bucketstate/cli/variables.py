"""The state variables of a transformWithState, and the column families behind them, as tables."""

from __future__ import annotations

from collections import Counter

from bucketstate.checkpoint.overview import OperatorOverview
from bucketstate.cli import console
from bucketstate.units import count


def print_variables(operator: OperatorOverview, *, internal: bool) -> None:
    """A line for each; with `internal` one for each column family, too. Nothing for others."""
    if operator.time_mode is None:
        return
    columns = ["name", "kind", "TTL", "#keys", "key", "key in the map", "value", "schemas"]
    rows = [
        [
            v.name,
            v.kind,
            "yes" if v.ttl else "no",
            _keys(v.keys, estimated=v.estimated),
            v.key or "unknown",
            v.user_key or "",
            v.value or "unknown",
            ", ".join(map(str, v.schema_ids)),
        ]
        for v in operator.state_variables
    ]
    timers = "none" if operator.timers is None else count(operator.timers)
    terminal = console.console()
    title = f"operator {operator.id}: state variables (time mode {operator.time_mode}, "
    terminal.print(console.table(f"{title}timers: {timers})", columns, rows))
    if internal:
        _print_families(operator)


def _print_families(operator: OperatorOverview) -> None:
    """Of all partitions together."""
    keys: Counter[str] = Counter()
    described = {}
    for family in (f for store in operator.stores for f in store.families):
        keys[family.name] += family.keys
        described[family.name] = family
    rows = [
        [
            name,
            "internal" if family.internal else "",
            family.role,
            _keys(keys[name], estimated=family.estimated),
            family.key_encoding,
            family.value_encoding,
        ]
        for name, family in sorted(described.items())
    ]
    columns = ["column family", "", "what it is", "#keys", "keys as", "values as"]
    terminal = console.console()
    terminal.print(console.table(f"operator {operator.id}: column families", columns, rows))


def _keys(number: int, *, estimated: bool) -> str:
    return ("~" if estimated else "") + count(number)
