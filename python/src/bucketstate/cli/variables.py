"""The state variables of a transformWithState, and the column families behind them, as tables."""

from __future__ import annotations

from collections import defaultdict

from bucketstate.checkpoint.overview import FamilyOverview, OperatorOverview
from bucketstate.cli import console
from bucketstate.cli.key_counts import keys_of
from bucketstate.units import count


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
            keys_of(families.get(v.name, [])),
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
    rows = [
        [
            name,
            "internal" if found[-1].internal else "",
            found[-1].role,
            keys_of(found),
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
