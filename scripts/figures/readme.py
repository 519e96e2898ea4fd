"""The table of the README."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.figures.cells import PEOPLE, Column, best, millions, table, whole
from scripts.figures.constants import CONDITION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from scripts.figures.kept import Measured

    Figures = Mapping[str, Measured]


def readme(figures: Figures) -> str:
    """What a reader of the README is told, of the benchmarks that say it."""
    providers = ["hdfs", "rocksdb", "bucketed"]
    tenths = Column("", "").written

    def line(what: str, figure: Callable[[str], str]) -> list[str]:
        return [what, *best([figure(provider) for provider in providers])]

    def both(cells: Iterable[str]) -> str:
        found = list(dict.fromkeys(cells))
        return " and ".join(found)

    def of(
        name: str, field: str, written: Callable[[float], str], **where: str | int
    ) -> Callable[[str], str]:
        return lambda p: Column("", field, written).cell(figures[name].one(provider=p, **where))

    def cold(field: str) -> Callable[[str], str]:
        tails = [
            of("restart", field, whole, keys=1_000_000, tail=tail, jvm=CONDITION)
            for tail in (10, 100)
        ]
        return lambda p: both(tail(p) for tail in tails)

    draws = [of(name, "p50", whole) for name in ("memory-uniform", "memory-zipf")]
    spread = [of("long-run", field, tenths) for field in ("p50", "p99")]
    rows = [
        line(
            f"a batch of 20,000 get+put on {millions(keys)} keys, ms",
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
        line(
            "bytes written per update, snapshots included, back to back",
            of("long-run", "written", whole),
        ),
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
    if "s3" in figures:
        rows.append(
            line("requests of a commit on S3A, all kinds", of("s3", "requests per commit", tenths))
        )
    return table(["", "HDFSBacked (Spark's default)", *(PEOPLE[p] for p in providers[1:])], rows)
