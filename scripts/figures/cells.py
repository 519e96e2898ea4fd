"""What is written into a cell of a table, and a table of cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from scripts.figures.reports import Row


PEOPLE = {
    "hdfs": "HDFSBacked",
    "rocksdb": "RocksDB, changelog on",
    "rocksdb-tuned": "RocksDB, tuned",
    "rocksdb-default": "RocksDB as it comes",
    "hashmap": "`HashMap` of rows, nothing durable",
    "no-snapshots": "bucketstate, snapshots turned off",
    "eager": "bucketstate, `restore.mode=eager`",
    "warm-up": "bucketstate, `jvmWarmUp=2000`",
    "archive": "bucketstate, classes from an archive",
    "archive-warm-up": "bucketstate, `jvmWarmUp=2000`, classes from an archive",
    "bucketed": "bucketstate",
    "bucketed-plugin": "bucketstate, with the plugin",
    "bucketed-rocksdb": "bucketstate, `engine=rocksdb`",
    "bucketed-rocksdb-local": "the same, on the same machine",
}
"""What a contender is called in a page."""

BESIDE = frozenset({"hashmap", "no-snapshots"})
"""What is measured beside the contenders, and keeps nothing or no snapshots: never the best."""

_FIGURE = re.compile(r"\d[\d,.]*")


_MIB = 1 << 20


@dataclass(frozen=True)
class Column:
    """One figure of a row: its title, where it is in what was kept, and how it is written.

    The least of a column is the best, unless more is said to be better.
    """

    title: str
    field: str
    written: Callable[[float], str] = lambda value: f"{value:,.1f}"
    more_is_better: bool = False

    def cell(self, row: Row | None) -> str:
        value = None if row is None else row.get(self.field)
        return "-" if value is None else self.written(float(value))


def whole(value: float) -> str:
    return f"{value:,.0f}"


def two(value: float) -> str:
    return f"{value:,.2f}"


def mib(value: float) -> str:
    return f"{value / _MIB:,.0f}"


def millions(keys: float) -> str:
    return f"{keys / 1_000_000:g} M" if keys >= 1_000_000 else f"{keys / 1000:g} k"


def keys_of(row: Row) -> str:
    """How many keys the state of a row had, for people."""
    return millions(float(row["keys"]))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    first, *others = ["| " + " | ".join(cells) + " |" for cells in (header, *rows)]
    return "\n".join([first, "|" + "---|" * len(header), *others]).replace("|  |", "| |")


def best(cells: Sequence[str], *, more_is_better: bool = False) -> list[str]:
    """Cells that are held against each other, with the best one in bold.

    Bold says nothing else in a table that is made here. A cell of several figures is the best where
    each of them is; cells that read the same are so together, but not where all are.
    """
    figures = {cell: _figures(cell) for cell in dict.fromkeys(cells) if _FIGURE.search(cell)}
    if len(figures) < 2:
        return list(cells)
    sign = -1 if more_is_better else 1

    def reaches(one: list[float], other: list[float]) -> bool:
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(sign * a <= sign * b for a, b in pairs)

    bold = {c for c, own in figures.items() if all(reaches(own, f) for f in figures.values())}
    return [f"**{cell}**" if cell in bold else cell for cell in cells]


def best_of(
    rows: Sequence[Row], columns: Sequence[Column], *, among: Sequence[str] = ()
) -> list[list[str]]:
    """The cells of contenders below each other, with the best of each column in bold.

    Rows are held against those that have the same in the fields of `among`.
    """
    made = [[column.cell(row) for column in columns] for row in rows]
    groups: dict[tuple[object, ...], list[int]] = {}
    for at, row in enumerate(rows):
        if row["provider"] not in BESIDE:
            groups.setdefault(tuple(row[field] for field in among), []).append(at)
    for group in groups.values():
        for number, column in enumerate(columns):
            cells = [made[at][number] for at in group]
            found = best(cells, more_is_better=column.more_is_better)
            for at, cell in zip(group, found, strict=True):
                made[at][number] = cell
    return made


def _figures(cell: str) -> list[float]:
    return [float(figure.replace(",", "")) for figure in _FIGURE.findall(cell)]
