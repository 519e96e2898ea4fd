"""Queries whose checkpoints are rewritten in place, beside such as never were."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from bucketstate.checkpoint import Checkpoint
from bucketstate.move import Report, plan
from tests.integration.moved_queries import OURS, PARTITIONS, PROVIDER, Moved, Run, feed

MARK = "_bucketstate/in-place.json"


class Twins:
    """A query whose checkpoint is rewritten, and one of the same input whose checkpoint is not."""

    def __init__(
        self, spark: SparkSession, query: Moved, place: Path, partitions: int, **others: str
    ) -> None:
        self.spark = spark
        self.place = place
        self.settings = {PROVIDER: OURS, PARTITIONS: str(partitions), **others}
        self.source = place / "input"
        self.own = Run(spark, query, place / "own", self.source)
        self.twin = Run(spark, query, place / "twin", self.source)
        self.fed = 0

    @property
    def root(self) -> Path:
        return self.own.checkpoint

    def go(self, batches: int = 2, own: Mapping[str, str] | None = None) -> None:
        """Runs both over so many batches of input more; the one that is rewritten as `own` says."""
        for number in range(batches):
            feed(self.source, self.fed)
            self.fed += 1
            if self.own.query.once or number == batches - 1:
                self.own.run(self.settings if own is None else own)
                self.twin.run(self.settings)
        self.check()

    def rewrite(self, partitions: int) -> Report:
        report = plan(
            self.spark, str(self.root), None, "rewrite", partitions=partitions, in_place=True
        ).run()
        assert report.published
        assert report.last_batch == report.batch + 1 == Checkpoint(self.root).last_batch
        return report

    def check(self) -> None:
        """Batches have other numbers where one was a rewrite."""
        own, twin = self.own.rows, self.twin.rows
        assert [own[n] for n in sorted(own)] == [twin[n] for n in sorted(twin)]


def sound(root: Path) -> None:
    report = Checkpoint(root).verify()
    assert report.ok, report.findings
    assert Checkpoint(root).overview().half_done is None


def keys(root: Path, batch: int | None = None) -> list[str]:
    rows = Checkpoint(root).scan(batch=batch).to_arrow().to_pylist()
    return sorted(json.dumps([row["key"], row["value"]], default=str) for row in rows)


def begun(root: Path, *, manifests: bool = True) -> None:
    """As a rewrite leaves it that is killed before its commit."""
    batch = Checkpoint(root).last_batch
    assert batch is not None
    for log in ("commits",):
        for name in (f"{batch}", f".{batch}.crc"):
            (root / log / name).unlink(missing_ok=True)
    if not manifests:
        for path in root.glob(f"state/0/*/{batch + 1}*.manifest"):
            path.unlink()
    mark = {"format": 1, "kind": "rewrite", "status": "begun", "batch": batch, "partitions": 5}
    (root / MARK).write_text(json.dumps(mark | {"tool": "test", "startedMs": 1_700_000_000_000}))
