"""Where the state of an operator lies, as a table."""

from __future__ import annotations

from bucketstate.checkpoint.overview import OperatorOverview
from bucketstate.checkpoint.store.residency import Residency
from bucketstate.cli import console
from bucketstate.units import count, size


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
    if of.resident_share is None:
        return "0"
    return f"{of.resident_keys:,} ({of.resident_share:.1%})"
