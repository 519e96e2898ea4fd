"""What is written into a cell of a table, and a table of cells."""

from __future__ import annotations

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
    "bucketed": "**bucketstate**",
    "bucketed-plugin": "bucketstate, with the plugin",
    "bucketed-rocksdb": "bucketstate, `engine=rocksdb`",
    "bucketed-rocksdb-local": "the same, on the same machine",
}
"""What a contender is called in a page."""


_MIB = 1 << 20


@dataclass(frozen=True)
class Column:
    """One figure of a row: its title, where it is in what was kept, and how it is written."""

    title: str
    field: str
    written: Callable[[float], str] = lambda value: f"{value:,.1f}"

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
