"""The tables of README and docs/measurements.md, by the names of their places there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from scripts.figures.constants import constants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from scripts.figures.kept import Measured
    from scripts.figures.reports import Row

    Figures = Mapping[str, Measured]

PEOPLE = {
    "hdfs": "HDFSBacked",
    "rocksdb": "RocksDB, changelog on",
    "rocksdb-default": "RocksDB as it comes",
    "hashmap": "`HashMap` of rows, nothing durable",
    "no-snapshots": "bucketstate, snapshots turned off",
    "eager": "bucketstate, `restore.mode=eager`",
    "bucketed": "**bucketstate**",
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


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _two(value: float) -> str:
    return f"{value:,.2f}"


def _mib(value: float) -> str:
    return f"{value / _MIB:,.0f}"


def _millions(keys: float) -> str:
    return f"{keys / 1_000_000:g} M" if keys >= 1_000_000 else f"{keys / 1000:g} k"


def keys_of(row: Row) -> str:
    """How many keys the state of a row had, for people."""
    return _millions(float(row["keys"]))


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    first, *others = ["| " + " | ".join(cells) + " |" for cells in (header, *rows)]
    return "\n".join([first, "|" + "---|" * len(header), *others]).replace("|  |", "| |")


def _said_of(cases: Mapping[str, Measured]) -> str:
    """The version of a table of several reports: told once where one is that of all."""
    if len({(measured.version, measured.date) for measured in cases.values()}) == 1:
        return _said(max(cases.values(), key=lambda measured: measured.others or 0))
    return " ".join(f"{case}: {_said(measured)}" for case, measured in cases.items())


def _said(measured: Measured) -> str:
    """The version of a table, and how busy others kept the machine."""
    beside = (
        "" if measured.others is None else f", others' CPU at most {measured.others * 100:.0f} %"
    )
    return f"Version {measured.version}, {measured.date}{beside}."


def _by_provider(
    figures: Figures, name: str, columns: Sequence[Column], *, by_keys: bool = False
) -> str:
    """A row for each contender, in bold where it is this provider as it comes."""
    measured = figures[name]
    rows = []
    for row in measured.rows:
        provider = str(row["provider"])
        cells = [column.cell(row) for column in columns]
        if provider == "bucketed":
            cells = [cell if cell == "-" else f"**{cell}**" for cell in cells]
        keys = [keys_of(row)] if by_keys else []
        rows.append([*keys, PEOPLE[provider], *cells])
    head = [*(["keys"] if by_keys else []), "", *(column.title for column in columns)]
    return f"{_table(head, rows)}\n\n{_said(measured)}"


def _turned(figures: Figures, name: str, columns: Sequence[Column]) -> str:
    """A column for each contender and a row for each figure."""
    measured = figures[name]
    providers = [str(row["provider"]) for row in measured.rows]
    rows = [
        [
            column.title,
            *(
                f"**{column.cell(row)}**" if row["provider"] == "bucketed" else column.cell(row)
                for row in measured.rows
            ),
        ]
        for column in columns
    ]
    return f"{_table(['', *(PEOPLE[p] for p in providers)], rows)}\n\n{_said(measured)}"


def _crossed(
    figures: Figures,
    cases: Mapping[str, str],
    providers: Mapping[str, str],
    columns: Sequence[Column],
) -> str:
    """A column for each case and contender, by what they are called, and a row for each figure."""
    found = [(figures[name].one(provider=p), p) for name in cases for p in providers]
    head = [f"{case}, {called}" for case in cases.values() for called in providers.values()]
    rows = []
    for column in columns:
        cells = [column.cell(row) for row, _ in found]
        bold = [
            f"**{cell}**" if p.startswith("bucketed") else cell
            for cell, (_, p) in zip(cells, found, strict=True)
        ]
        rows.append([column.title, *bold])
    return f"{_table(['', *head], rows)}\n\n{_said_of({cases[n]: figures[n] for n in cases})}"


def restarts(figures: Figures, name: str = "restart") -> str:
    measured = figures[name]
    columns = [
        Column("initialisation", "initialisation", _whole),
        Column("first get", "first get", _whole),
        Column("its processor time", "processor", _whole),
        Column("first batch", "first batch", _whole),
    ]
    rows = [
        [
            keys_of(row),
            str(row["tail"]),
            f"{PEOPLE[str(row['provider'])]}, {row['jvm']}",
            *(column.cell(row) for column in columns),
        ]
        for row in measured.rows
    ]
    head = ["keys", "changelogs after the snapshot", "", *(column.title for column in columns)]
    return f"{_table(head, rows)}\n\n{_said(measured)}"


_IN_PYSPARK = (
    Column("batch, ms", "batch", _whole),
    Column("all commits added up, ms", "commits", _whole),
    Column("first batch after a cold restart, ms", "restart", _whole),
    Column("memory of the process at most, MiB", "resident", _mib),
)


def operations(figures: Figures) -> str:
    """Single operations each second, of the small rows first."""
    providers = ["hdfs", "rocksdb", "bucketed"]
    rows = []
    for name in ("small-rows", "operations"):
        for operation in dict.fromkeys(str(row["operation"]) for row in figures[name].rows):
            column = Column(operation, "rate", _whole)
            cells = [
                column.cell(figures[name].one(provider=p, operation=operation)) for p in providers
            ]
            keys = keys_of(figures[name].rows[0])
            rows.append([f"{keys} keys: {operation}", *cells])
    said = _said(figures["operations"])
    return f"{_table(['', *(PEOPLE[p] for p in providers)], rows)}\n\n{said}"


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
            line.append("-" if row is None else _whole(keys / float(row["seconds"])))
            line.append(Column("", "peak", _whole).cell(row))
        cells.append(line)
    head = [""]
    for keys in sizes:
        head += [f"{_millions(keys)} keys: s", "keys/s", "peak MiB"]
    return f"{_table(head, cells)}\n\n{_said(measured)}"


def moving_small(figures: Figures) -> str:
    measured = figures["moving"]
    rows = [
        [str(row["case"]), _whole(float(row["keys"])), Column("", "seconds").cell(row)]
        for row in measured.rows
        if "peak" not in row
    ]
    return f"{_table(['', 'keys', 's'], rows)}\n\n{_said(measured)}"


def size_constants(figures: Figures) -> str:
    """What `bucketstate size` reckons with, and of which figures each is made."""
    rows = [[f"`{c.name}`", c.written, c.made_of] for c in constants(figures)]
    return _table(["constant", "value", "made of"], rows)


def versions(figures: Figures) -> str:
    """What each table is of; all are of one version after one run of `make bench`."""
    rows = [
        [
            f"`{name}`",
            measured.version,
            measured.date,
            "-" if measured.others is None else f"{measured.others * 100:.0f} %",
        ]
        for name, measured in sorted(figures.items())
    ]
    return _table(["report", "version", "day", "others' CPU at most"], rows)


def readme(figures: Figures) -> str:
    """What a reader of the README is told, of the benchmarks that say it."""
    providers = ["hdfs", "rocksdb", "bucketed"]
    whole, tenths = _whole, Column("", "").written

    def line(what: str, figure: Callable[[str], str]) -> list[str]:
        cells = [figure(provider) for provider in providers]
        return [what, *cells[:-1], f"**{cells[-1]}**"]

    def both(cells: Iterable[str]) -> str:
        found = list(dict.fromkeys(cells))
        return " and ".join(found)

    def of(
        name: str, field: str, written: Callable[[float], str], **where: str | int
    ) -> Callable[[str], str]:
        return lambda p: Column("", field, written).cell(figures[name].one(provider=p, **where))

    def cold(field: str) -> Callable[[str], str]:
        jvm = str(figures["restart"].rows[-1]["jvm"])  # the last is what users meet
        tails = [
            of("restart", field, whole, keys=1_000_000, tail=tail, jvm=jvm) for tail in (10, 100)
        ]
        return lambda p: both(tail(p) for tail in tails)

    draws = [of(name, "p50", whole) for name in ("memory-uniform", "memory-zipf")]
    spread = [of("long-run", field, tenths) for field in ("p50", "p99")]
    rows = [
        line(
            f"a batch of 20,000 get+put on {_millions(keys)} keys, ms",
            of("providers", "p50", tenths, keys=keys),
        )
        for keys in (1_000_000, 4_000_000)
    ]
    rows += [
        line(
            "heap per key at 4 M keys, bytes",
            of("providers", "heap per key", whole, keys=4_000_000),
        ),
        line(
            "a batch on 5 M keys with memory for a quarter, evenly drawn and by Zipf's law, ms",
            lambda p: both(draw(p) for draw in draws),
        ),
        line(
            "p50 and p99 of batches back to back with snapshots beside them, ms",
            lambda p: both(part(p) for part in spread),
        ),
        line("bytes written per update, snapshots included", of("long-run", "written", whole)),
        line(
            "first get after a cold restart, 1 M keys, 10 and 100 changelogs to replay, ms",
            cold("first get"),
        ),
        line("first batch after the same restart, ms", cold("first batch")),
        line(
            "PySpark with Spark's default of 200 partitions, 20,000 rows on 200 k keys, ms",
            of("partitions", "batch", whole),
        ),
        line("PySpark: a stream joined with itself, 20,000 rows, ms", of("join", "batch", whole)),
    ]
    return _table(["", "HDFSBacked (Spark's default)", *(PEOPLE[p] for p in providers[1:])], rows)


_BATCHES = (
    Column("open", "open"),
    Column("get+put", "get+put"),
    Column("commit", "commit"),
    Column("whole batch", "p50"),
    Column("heap, bytes per key", "heap per key", _whole),
)
_LONG_RUN = (
    Column("batch p50 ms", "p50"),
    Column("p99 ms", "p99"),
    Column("bytes written per update", "written", _whole),
    Column("processor time per update, us", "processor", _two),
    Column("of it beside the batches", "background", _two),
    Column("lag of the newest snapshot, versions: mean", "lag"),
    Column("most", "most lag", _whole),
)
_MORE_THAN_MEMORY = (
    Column("batch p50, ms", "p50", _whole),
    Column("batch p99, ms", "p99", _whole),
    Column("bytes written per update", "written", _whole),
    Column("first get after a restart, ms", "first get", _whole),
    Column("first batch after a restart, ms", "first batch", _whole),
)
_SECOND_ENGINE = (
    Column("batch p50, ms", "p50", _whole),
    Column("batch p99, ms", "p99", _whole),
    Column("commit p50, ms", "commit"),
    Column("checkpoint bytes written per update", "written", _whole),
    Column("heap after the run, MiB", "heap", _mib),
    Column("memory of the process at most, MiB", "resident", _mib),
)

TABLES: dict[str, Callable[[Figures], str]] = {
    "batches": partial(_by_provider, name="providers", columns=_BATCHES, by_keys=True),
    "long-run": partial(_by_provider, name="long-run", columns=_LONG_RUN),
    "more-than-memory": partial(
        _crossed,
        cases={"memory-uniform": "Even", "memory-zipf": "Zipf"},
        providers={"rocksdb": PEOPLE["rocksdb"], "bucketed": "bucketstate"},
        columns=_MORE_THAN_MEMORY,
    ),
    "second-engine": partial(
        _crossed,
        cases={
            "native": "1 M, 512 MB",
            "native-large": "4 M, 2 GB",
            "native-short": "4 M, 1 GB",
        },
        providers={"rocksdb": "RocksDB", "bucketed-rocksdb": "engine=rocksdb"},
        columns=_SECOND_ENGINE,
    ),
    "both-engines": partial(_by_provider, name="engines", columns=[_LONG_RUN[2]], by_keys=True),
    "restarts": restarts,
    "native-restarts": partial(restarts, name="native-restart"),
    **{
        name: partial(_turned, name=name, columns=_IN_PYSPARK)
        for name in ("partitions", "end-to-end", "join", "small-process")
    },
    "operations": operations,
    "moving": moving,
    "moving-small": moving_small,
    "size-constants": size_constants,
    "versions": versions,
    "readme": readme,
}
