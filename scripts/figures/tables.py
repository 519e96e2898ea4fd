"""The tables of README and of pages in docs, by the names of their places there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from scripts.figures import columns, of_one
from scripts.figures.cells import PEOPLE, table
from scripts.figures.readme import readme
from scripts.figures.shapes import by_provider, crossed, turned

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scripts.figures.kept import Measured

    Figures = Mapping[str, Measured]

BUSY = 0.1
"""The share of the processors beyond which others' work is told of, as times say more about it."""


def versions(figures: Figures) -> str:
    """What each report is of, and a warning where they are not of one version."""
    rows = [
        [
            f"`{name}`",
            measured.version,
            measured.date,
            "-" if measured.others is None else f"{measured.others * 100:.0f} %",
        ]
        for name, measured in sorted(figures.items())
    ]
    made = table(["report", "version", "day", "others' CPU at most"], rows)
    said = [warned for warned in (busy(figures), differing(figures)) if warned is not None]
    return "\n\n".join([made, *(f"**{warned}**" for warned in said)])


def busy(figures: Figures) -> str | None:
    """Which reports were made beside work of others; None where there is none."""
    found = [f"`{name}`" for name in sorted(figures) if _is_busy(figures[name])]
    if not found:
        return None
    return (
        f"Others took more than {BUSY * 100:.0f} % of the processors while these were measured, so "
        f"that their times are upper limits: {', '.join(found)}."
    )


def differing(figures: Figures) -> str | None:
    """What is wrong with figures of more than one version; None where there is one."""
    found: dict[str, list[str]] = {}
    for name in sorted(figures):
        found.setdefault(figures[name].version, []).append(name)
    if len(found) < 2:
        return None
    fewest = min(found, key=lambda version: len(found[version]))
    return (
        f"The figures are of {len(found)} versions, {' and '.join(found)}. Fewest are of {fewest}: "
        f"{', '.join(found[fewest])}. One run of `make bench` gives all of them anew, but for what "
        "`make bench-large` measures."
    )


def _said_of(reports: Mapping[str, Measured]) -> str:
    """The version of a table of several reports: told once where one is that of all."""
    if len({(measured.version, measured.date) for measured in reports.values()}) > 1:
        return " ".join(f"`{name}`: {_said(measured)}" for name, measured in reports.items())
    name, most = max(reports.items(), key=lambda report: report[1].others or 0)
    return _said(most, f" (`{name}`)" if len(reports) > 1 else "")


def _said(measured: Measured, which: str = "") -> str:
    """The version of a table, and how busy others kept the machine, in which of its reports."""
    if measured.others is None:
        return f"Version {measured.version}, {measured.date}."
    beside = f"others' CPU at most {measured.others * 100:.0f} %"
    limits = f"{which}: times are upper limits" if _is_busy(measured) else ""
    return f"Version {measured.version}, {measured.date}, {beside}{limits}."


def _is_busy(measured: Measured) -> bool:
    return measured.others is not None and measured.others > BUSY


@dataclass(frozen=True)
class Table:
    """A table of a page: how it is made, and of which reports, some of which it can do without."""

    made: Callable[[Figures], str]
    reports: tuple[str, ...]
    more: tuple[str, ...] = ()

    def __call__(self, figures: Figures) -> str:
        """The table and what it is of. KeyError if one of its reports was not kept."""
        said = _said_of({name: figures[name] for name in self.used(figures)})
        return f"{self.made(figures)}\n\n{said}"

    def is_kept(self, figures: Figures) -> bool:
        return all(name in figures for name in self.reports)

    def used(self, figures: Figures) -> list[str]:
        return [*self.reports, *(name for name in self.more if name in figures)]


_OF_MEMORY = {"memory-uniform": "Even", "memory-zipf": "Zipf"}


_OF_NATIVE = {
    "native": "1 M, 512 MB",
    "native-large": "4 M, 2 GB",
    "native-short": "4 M, 1 GB",
}


def _of_one(name: str, made: Callable[..., str], **options: Any) -> Table:
    """A table of one report, which says its name to what makes it."""
    return Table(partial(made, name=name, **options), (name,))


TABLES: dict[str, Table] = {
    "batches": _of_one("providers", by_provider, columns=columns.BATCHES, by_keys=True),
    "long-run": _of_one("long-run", by_provider, columns=columns.LONG_RUN),
    "more-than-memory": Table(
        partial(
            crossed,
            cases=_OF_MEMORY,
            providers={"rocksdb": PEOPLE["rocksdb"], "bucketed": "bucketstate"},
            columns=columns.MORE_THAN_MEMORY,
        ),
        tuple(_OF_MEMORY),
    ),
    "second-engine": Table(
        partial(
            crossed,
            cases=_OF_NATIVE,
            providers={"rocksdb": "RocksDB", "bucketed-rocksdb": "engine=rocksdb"},
            columns=columns.SECOND_ENGINE,
        ),
        tuple(_OF_NATIVE),
    ),
    "both-engines": _of_one("engines", by_provider, columns=[columns.LONG_RUN[2]], by_keys=True),
    "restarts": _of_one("restart", of_one.restarts),
    "native-restarts": _of_one("native-restart", of_one.restarts),
    **{
        name: _of_one(name, turned, columns=columns.IN_PYSPARK)
        for name in ("partitions", "end-to-end", "join", "small-process")
    },
    "operations": Table(of_one.operations, ("small-rows", "operations")),
    "moving": Table(of_one.moving, ("moving",)),
    "moving-small": Table(of_one.moving_small, ("moving",)),
    "many-keys": Table(of_one.many_keys, ("many-keys",)),
    "many-keys-memory": Table(of_one.many_keys_memory, ("many-keys-memory",)),
    "stateful": Table(
        partial(of_one.of_functions, part="functions", columns=columns.FUNCTIONS), ("stateful",)
    ),
    "histories": Table(
        partial(of_one.of_functions, part="history", columns=columns.IN_MEMORY), ("stateful",)
    ),
    "requests": Table(of_one.requests, ("s3",)),
    "expiry": Table(of_one.expiry, ("expiry",)),
    "tws": _of_one("tws", by_provider, columns=columns.TWS),
    "tws-restarts": _of_one("tws", by_provider, columns=columns.TWS_RESTARTS),
    "tws-in-python": Table(of_one.tws_in_python, ("tws-pandas", "tws-rows")),
    "many-stores": _of_one("many-stores", by_provider, columns=columns.MANY_STORES),
    "large-state": Table(of_one.large_state, ("large-state",)),
    "looking-up": Table(of_one.looking_up, ("live",)),
    "looked-up-beside": Table(of_one.looked_up_beside, ("live",)),
    "first-batches": Table(of_one.first_batches, ("first-batch",)),
    "size-constants": Table(of_one.size_constants, ("providers", "long-run", "restart")),
    "readme": Table(
        readme,
        ("providers", "memory-uniform", "memory-zipf", "long-run", "restart", "partitions", "join"),
        more=("s3",),
    ),
}
"""All but that of the versions, which is of all reports."""
