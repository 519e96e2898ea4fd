"""Tables of one benchmark each, whose reports are like no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.figures.cells import (
    PEOPLE,
    Column,
    best,
    best_of,
    keys_of,
    millions,
    table,
    whole,
)
from scripts.figures.columns import (
    FIRST_BATCHES,
    IN_PYSPARK,
    LARGE,
    LOOKED_UP_BESIDE,
    LOOKING_UP,
)
from scripts.figures.constants import constants

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scripts.figures.kept import Measured

    Figures = Mapping[str, Measured]


def restarts(figures: Figures, name: str = "restart") -> str:
    measured = figures[name]
    columns = [
        Column("initialisation", "initialisation", whole),
        Column("first get", "first get", whole),
        Column("its processor time", "processor", whole),
        Column("first batch", "first batch", whole),
    ]
    found = best_of(measured.rows, columns, among=["keys", "tail", "jvm"])
    rows = [
        [keys_of(row), str(row["tail"]), f"{PEOPLE[str(row['provider'])]}, {row['jvm']}", *cells]
        for row, cells in zip(measured.rows, found, strict=True)
    ]
    head = ["keys", "changelogs after the snapshot", "", *(column.title for column in columns)]
    return table(head, rows)


def operations(figures: Figures) -> str:
    """Single operations each second, of the small rows first."""
    providers = ["hdfs", "rocksdb", "bucketed"]
    rows = []
    for name in ("small-rows", "operations"):
        for operation in dict.fromkeys(str(row["operation"]) for row in figures[name].rows):
            column = Column(operation, "rate", whole, more_is_better=True)
            cells = [
                column.cell(figures[name].one(provider=p, operation=operation)) for p in providers
            ]
            keys = keys_of(figures[name].rows[0])
            line = best(cells, more_is_better=column.more_is_better)
            rows.append([f"{keys} keys: {operation}", *line])
    return table(["", *(PEOPLE[p] for p in providers)], rows)


def moving(figures: Figures) -> str:
    measured = figures["moving"]
    rows = [row for row in measured.rows if "peak" in row]
    sizes = sorted({int(row["keys"]) for row in rows})
    cells = []
    for case in dict.fromkeys(str(row["case"]) for row in rows):
        line = [case]
        for keys in sizes:
            row = measured.one(case=case, keys=keys)
            line.append(Column("", "seconds").cell(row))
            line.append("-" if row is None else whole(keys / float(row["seconds"])))
            line.append(Column("", "peak", whole).cell(row))
        cells.append(line)
    head = [""]
    for keys in sizes:
        head += [f"{millions(keys)} keys: s", "keys/s", "peak MiB"]
    return table(head, cells)


def _brief(seconds: float) -> str:
    return f"{seconds:.1f}" if seconds >= 0.1 else f"{seconds:.3f}"


def moving_small(figures: Figures) -> str:
    measured = figures["moving"]
    rows = [
        [str(row["case"]), whole(float(row["keys"])), Column("", "seconds", _brief).cell(row)]
        for row in measured.rows
        if "peak" not in row
    ]
    return table(["", "keys", "s"], rows)


def size_constants(figures: Figures) -> str:
    """What `bucketstate size` reckons with, and of which figures each is made."""
    rows = [[f"`{c.name}`", c.written, c.made_of] for c in constants(figures)]
    return table(["constant", "value", "made of"], rows)


def many_keys(figures: Figures) -> str:
    """Processor time of a key, by the number of keys in a batch."""
    measured = figures["many-keys"]
    sizes = sorted({int(row["keys"]) for row in measured.rows})
    column = Column("", "processor")
    rows = [
        [name, *(column.cell(measured.one(name=name, keys=keys)) for keys in sizes)]
        for name in dict.fromkeys(str(row["name"]) for row in measured.rows)
    ]
    head = "processor time of JVM and workers for a key, microseconds"
    return table([head, *(f"{keys:,} keys a batch" for keys in sizes)], rows)


def many_keys_memory(figures: Figures) -> str:
    measured = figures["many-keys-memory"]
    rows = []
    for case in dict.fromkeys(str(row["case"]) for row in measured.rows):
        found = [measured.one(case=case, **{"keys of a call": keys}) for keys in ("many", "one")]
        both = [[Column("", field, whole).cell(r) for field in ("jvm", "worker")] for r in found]
        rows.append([case, *(" and ".join(cells) for cells in both)])
    return table(["", "many keys in a call", "one"], rows)


def of_functions(figures: Figures, part: str, columns: Sequence[Column]) -> str:
    rows = [
        [str(row["name"]), *(column.cell(row) for column in columns)]
        for row in figures["stateful"].of(part=part)
    ]
    return table(["", *(column.title for column in columns)], rows)


def requests(figures: Figures) -> str:
    """What commits ask of an object store; all that the report has, as it calls it."""
    found = figures["s3"].rows
    titles = [title for title in found[0] if title != "provider"]
    columns = [Column(title, title) for title in titles]
    rows = [[str(row["provider"]), *(column.cell(row) for column in columns)] for row in found]
    return table(["provider", *titles], rows)


def expiry(figures: Figures) -> str:
    rows = [
        [keys_of(row), str(row["way"]), Column("", "p50").cell(row)]
        for row in figures["expiry"].rows
    ]
    return table(["keys", "old state", "batch p50, ms"], rows)


def tws_in_python(figures: Figures) -> str:
    batch, commits, restart, _ = IN_PYSPARK
    columns = (batch, commits, Column("waited for the state, ms", "waited", whole), restart)
    rows = [
        [f"{form}, {PEOPLE[str(row['provider'])]}", *cells]
        for name, form in {"tws-pandas": "pandas", "tws-rows": "Row"}.items()
        for row, cells in zip(figures[name].rows, best_of(figures[name].rows, columns), strict=True)
    ]
    return table(["", *(column.title for column in columns)], rows)


def large_state(figures: Figures) -> str:
    (row,) = figures["large-state"].rows
    cells = [[column.title, column.cell(row)] for column in LARGE]
    return table(["", f"{keys_of(row)} keys"], cells)


_WAYS = {
    "get": "`get`",
    "get_of_what_is_not_there": "`get` of a key that is not there",
    "get_many_of_100": "`get_many` of 100, as Python values",
    "get_many_of_100_as_columns": "`get_many` of 100, `to_arrow()`",
}


def looking_up(figures: Figures) -> str:
    """How fast a process that does nothing else looks keys up."""
    rows = [
        [called, *(column.cell(figures["live"].one(way=way)) for column in LOOKING_UP)]
        for way, called in _WAYS.items()
    ]
    return table(["", *(column.title for column in LOOKING_UP)], rows)


def looked_up_beside(figures: Figures) -> str:
    """What looking up at a pace takes, and what it costs the query that is asked about."""
    row = figures["live"].one(way="beside")
    cells = [[column.title, column.cell(row)] for column in LOOKED_UP_BESIDE]
    return table(["", "while the query runs"], cells)


_STARTS = {"new": "a new query", "again": "restarted"}


def first_batches(figures: Figures) -> str:
    """How long an application takes from nothing to its first batch."""
    measured = figures["first-batch"].rows
    rows = [
        [f"{PEOPLE[str(row['provider'])]}, {_STARTS[str(row['start'])]}", *cells]
        for row, cells in zip(
            measured, best_of(measured, FIRST_BATCHES, among=["start"]), strict=True
        )
    ]
    return table(["", *(column.title for column in FIRST_BATCHES)], rows)
