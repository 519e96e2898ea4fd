"""What a checkpoint has to query in SQL: its states, changes and timers, under plain names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bucketstate.checkpoint.selection import CHANGES, DIFF, STATE, TIMERS
from bucketstate.checkpoint.spark.query import DEFAULT_STORE, OperatorInfo
from bucketstate.checkpoint.spark.schema_files import DEFAULT_FAMILY
from bucketstate.checkpoint.store.catalog import Catalog


@dataclass(frozen=True)
class View:
    """A table of rows that a scan has. `selection` are the arguments of `Checkpoint.scan`."""

    name: str
    what: str
    selection: dict[str, Any]


def views(catalog: Catalog, version: int, operator: int = 0) -> list[View]:
    """Everything that there is at a version.

    What is of the operator has short names; those of others begin with the operator.
    """
    catalog.operator(operator)
    found: dict[str, View] = {}
    others = [o.id for o in catalog.operators if o.id != operator]
    for number in (operator, *others):
        prefix = "" if number == operator else f"operator{number}_"
        for name, what, selection in _of(catalog, catalog.operator_at(number, version), version):
            # Names are the same in either case to SQL.
            free = re.sub(r"\W", "_", prefix + name)
            while free.lower() in found:
                free += "_"
            where = what if number == operator else f"{what} of operator {number}"
            found[free.lower()] = View(free, where, selection | {"operator": number})
    return list(found.values())


def _of(
    catalog: Catalog, operator: OperatorInfo, version: int
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """An operator's names, what the rows are, and how they are selected."""
    if operator.transform is not None:
        for variable in operator.state_variables:
            what = f"the {variable.kind} {variable.name}"
            yield from _kinds(variable.name, what, {"state_var": variable.name})
        if operator.transform.timers is not None:
            yield TIMERS, "timers that are registered", {"kind": TIMERS}
        return
    places = [
        (store.name, family)
        for store in operator.stores
        for family in catalog.families(operator.id, store=store.name, version=version)
    ]
    for store, family in places:
        named = family if store == DEFAULT_STORE else store
        selection: dict[str, Any] = {"store": store}
        if family != DEFAULT_FAMILY:
            selection["column_family"] = family
        if len(places) == 1:
            yield from _kinds("", "the state", selection)
        else:
            yield from _kinds(named, f"the state in {named}", selection)


def _kinds(
    name: str, what: str, selection: dict[str, Any]
) -> Iterator[tuple[str, str, dict[str, Any]]]:
    after = f"{name}_" if name else ""
    yield name or STATE, what, {"kind": STATE} | selection
    yield f"{after}{CHANGES}", f"what batches wrote to {what}", {"kind": CHANGES} | selection
    yield f"{after}{DIFF}", f"how {what} differs between versions", {"kind": DIFF} | selection
