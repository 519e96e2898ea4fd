"""Rows put into states: the query goes on as one does whose input made the same state."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from bucketstate import stateful
from bucketstate.checkpoint import Checkpoint, Scan
from bucketstate.cli import main
from bucketstate.errors import RefusedMoveError
from bucketstate.move import plan
from tests.integration.moved_queries import (
    BUCKETS,
    FORMAT,
    OURS,
    PARTITIONS,
    PROVIDER,
    Moved,
    Run,
    feed,
    queries,
    tree,
)
from tests.integration.upserted_states import Kept, Wide, keep, widen
from tests.kit.cases import at_night, cases

SETTINGS = {PROVIDER: OURS, PARTITIONS: "3"}
BY_NAME = {query.name: query for query in queries()}


def feed_less(folder: Path, batch: int) -> None:
    """Input of the same times, without some of the rows, and with other values."""
    feed(folder, batch)
    file = folder / f"{batch:04}.json"
    at = file.stat().st_mtime
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    left = [row | {"v": row["v"] + 1000} for row in rows if row["k"] is None or row["k"] % 4 != 1]
    file.write_text("".join(json.dumps(row) + "\n" for row in left))
    os.utime(file, (at, at))


class Twins:
    """Two histories that differ in some batches, after which both have the same input."""

    def __init__(
        self, spark: SparkSession, query: Moved, place: Path, less: Collection[int] = (1,)
    ) -> None:
        self.spark = spark
        self.place = place
        self.twin = Run(spark, query, place / "twin", place / "twin-input")
        self.moved = Run(spark, query, place / "moved", place / "moved-input")
        for batch in range(3):
            feed(self.twin.source, batch)
            (feed_less if batch in less else feed)(self.moved.source, batch)
        self.go()

    def go(self, **settings: str) -> None:
        self.twin.run(SETTINGS)
        self.moved.run(SETTINGS | settings)

    def state(self, run: Run) -> pa.Table:
        return Checkpoint(str(run.checkpoint)).scan().to_arrow()

    def put(self, rows: Any, **wanted: Any) -> Path:
        """Rows over the state of the one."""
        source, target = self.moved.checkpoint, self.place / "upserted"
        before = tree(source)
        made = plan(self.spark, str(source), str(target), "upsert", rows=rows, **wanted)
        report = made.run()
        assert report.published
        assert tree(source) == before
        assert Checkpoint(str(target)).verify().ok
        self.moved.on(target)
        return target

    def check(self, **settings: str) -> None:
        for batch in range(3, 6):
            feed(self.twin.source, batch)
            feed(self.moved.source, batch)
        self.go(**settings)
        after = [batch for batch in self.twin.rows if batch >= 3]
        assert after
        assert [self.moved.rows[b] for b in after] == [self.twin.rows[b] for b in after]


def _sorted(table: pa.Table) -> list[str]:
    rows = table.select(["key", "value"]).to_pylist()
    return sorted(json.dumps(row, default=str) for row in rows)


FORMS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "scan": lambda table: table,
    "flat": lambda table: table.drop_columns(["partition_id"]).flatten(),
    "plain": lambda table: _plain(table),
}
"""How the rows of a scan are written."""


def _plain(table: pa.Table) -> pa.Table:
    flat = table.drop_columns(["partition_id"]).flatten()
    return flat.rename_columns([name.split(".", 1)[1] for name in flat.column_names])


@pytest.mark.parametrize(
    ("name", "form"),
    cases(
        [("agg", "plain")],
        [
            *[(name, "scan") for name in ("agg_double", "agg_window", "pandas")],
            *[(name, "flat") for name in ("agg", "agg_global", "dedup")],
            ("dedup", "plain"),
        ],
    ),
)
def test_the_query_goes_on_as_its_twin(
    spark: SparkSession, tmp_path: Path, name: str, form: str
) -> None:
    # Every key is in every batch, and one that was seen is seen.
    twins = Twins(spark, BY_NAME[name], tmp_path, range(3) if name == "dedup" else (1,))
    other = twins.state(twins.twin)
    assert _sorted(twins.state(twins.moved)) != _sorted(other)
    file = tmp_path / "rows.parquet"
    pq.write_table(FORMS[form](other), file)
    target = twins.put(str(file), partitions=4, buckets=8, checkpoint_format=2)
    assert _sorted(Checkpoint(str(target)).scan().to_arrow()) == _sorted(other)
    twins.check(**{FORMAT: "2", BUCKETS: "8"})


def _stateful(fn: Any) -> Callable[[DataFrame], DataFrame]:
    def build(frame: DataFrame) -> DataFrame:
        rows = frame.where("s is not null").select("s", "v")
        return stateful.apply(rows, by="s", fn=fn, output_mode="update")

    return build


@pytest.mark.parametrize("form", cases(["struct"], ["document", "fields", "scan"]))
def test_states_of_stateful_functions(spark: SparkSession, tmp_path: Path, form: str) -> None:
    twins = Twins(spark, Moved("stateful", _stateful(keep), "update", {}), tmp_path)
    scan = Checkpoint(str(twins.twin.checkpoint)).scan(decode=Kept)
    decoded = scan.to_arrow()
    state: Any = Kept
    rows = decoded
    if form == "document":
        stored = twins.state(twins.twin)
        kept = stored.column("value").combine_chunks().field("groupState")
        rows = pa.table({"s": _names(stored), "state": kept.field("state")})
        state = None
    elif form == "fields":
        states = decoded.column("state").combine_chunks()
        fields = {f.name: states.field(f.name) for f in states.type}
        rows = pa.table({"s": _names(decoded), **fields})
    elif form == "scan":
        rows, state = twins.state(twins.twin), None
    file = tmp_path / "rows.parquet"
    pq.write_table(rows, file)
    target = twins.put(str(file), state=state)
    assert Checkpoint(str(target)).scan(decode=Kept).to_arrow().num_rows == decoded.num_rows
    twins.check()


def _names(table: pa.Table) -> pa.Array:
    return table.column("key").combine_chunks().field("s")


def _keyed_by_version(frame: DataFrame) -> DataFrame:
    rows = frame.selectExpr("s", "cast(coalesce(k, 11) % 3 as int) as version", "v")
    return stateful.apply(rows, by=["s", "version"], fn=keep, output_mode="update")


@pytest.mark.parametrize("form", cases(["fields"], ["document", "struct"]))
def test_a_key_that_is_called_as_a_part_of_a_document(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    twins = Twins(spark, Moved("stateful", _keyed_by_version, "update", {}), tmp_path)
    stored, decoded = twins.state(twins.twin), _decoded(twins.twin.checkpoint)
    keys, states = (decoded.column(name).combine_chunks() for name in ("key", "state"))
    columns = {name: keys.field(name) for name in ("s", "version")}
    if form == "fields":
        columns |= {f.name: states.field(f.name) for f in states.type}
    elif form == "document":
        kept = stored.column("value").combine_chunks().field("groupState")
        columns["state"] = kept.field("state")
    else:
        columns["state"] = states
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table(columns), file)
    target = twins.put(str(file), state=Kept)
    assert _rows(_decoded(target)) == _rows(decoded)
    twins.check()


def _decoded(checkpoint: Path) -> pa.Table:
    return Checkpoint(str(checkpoint)).scan(decode=Kept).to_arrow()


def _rows(table: pa.Table) -> list[str]:
    return sorted(json.dumps(row) for row in table.select(["key", "state"]).to_pylist())


@at_night
def test_a_state_of_every_type_with_parts(spark: SparkSession, tmp_path: Path) -> None:
    twins = Twins(spark, Moved("wide", _stateful(widen), "update", {}), tmp_path)
    file = tmp_path / "rows.parquet"
    pq.write_table(Checkpoint(str(twins.twin.checkpoint)).scan(decode=Wide).to_arrow(), file)
    target = twins.put(spark.read.parquet(str(file)), state=Wide)
    assert _states(target) == _states(twins.twin.checkpoint)
    twins.check()


def _states(checkpoint: Path) -> dict[str, Any]:
    scan: Scan[Any] = Checkpoint(str(checkpoint)).scan(decode=Wide)
    names = [row["s"] for row in scan.to_arrow().column("key").to_pylist()]
    return {name: asdict(scan.get(name)) for name in names}


@pytest.mark.parametrize("kind", cases(["stateful"], ["variable"]))
def test_what_cannot_be_given_is_refused(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    twins = Twins(spark, Moved("stateful", _stateful(keep), "update", {}), tmp_path)
    source = str(twins.moved.checkpoint)

    def refused(rows: Any, said: str, **wanted: Any) -> None:
        with pytest.raises(RefusedMoveError, match=said):
            plan(spark, source, str(tmp_path / "x"), "upsert", rows=rows, **wanted).run()
        assert not (tmp_path / "x" / "commits").exists()

    one = spark.createDataFrame([("name-1", 5)], "s string, seen long")
    if kind == "stateful":
        refused(one, "no column 'version'|no column 'state'")
        refused(one.withColumnRenamed("seen", "seem"), "none of the fields of Kept", state=Kept)
        odd = one.selectExpr("s", "named_struct('x', 1) as state")
        refused(odd, "'x' of the state", state=Kept)
        refused(one.selectExpr("s", "1 as state"), "is int: give a struct", state=Kept)
        refused(one.selectExpr("s", "'{' as state"), "cannot be read", state=Kept)
        refused(one.selectExpr("s", "'x' as seen"), "field seen of Kept is str", state=Kept)
        refused(str(tmp_path / "nowhere"), "cannot be read as Parquet", state=Kept)
        refused(str(tmp_path / "nowhere"), "cannot be read as Parquet")
        text = tmp_path / "rows.txt"
        text.write_text("s,seen\nname-1,5\n")
        no_parquet = r"rows\.txt cannot be read as Parquet files: .*is not a Parquet file"
        refused(str(text), no_parquet, state=Kept)
        refused(str(text), no_parquet)
        refused(None, "takes rows")
    else:
        made = plan(spark, source, str(tmp_path / "x"), "rewrite", rows=one)
        assert any("Rows are for an upsert" in found.text for found in made.findings)


def _timed(frame: DataFrame) -> DataFrame:
    rows = frame.where("s is not null").select("s", "v")
    return stateful.apply(rows, by="s", fn=keep, output_mode="update", timeout="processing")


@at_night
def test_a_whole_state_with_timers_needs_the_time_that_they_have(
    spark: SparkSession, tmp_path: Path
) -> None:
    run = Run(spark, Moved("timed", _timed, "update", {}), tmp_path, tmp_path / "input")
    feed(run.source, 0)
    run.run(SETTINGS)
    fields = ("'version', 1", "'timeout', -1L", "'state', '{\"$timers\":[[5,null]]}'")
    rows = spark.createDataFrame([("name-1",)], "s string").selectExpr(
        "s", f"named_struct({', '.join(fields)}) as `value.groupState`"
    )
    source, target = str(run.checkpoint), str(tmp_path / "x")
    with pytest.raises(RefusedMoveError, match="has timers: give 'timeoutTimestamp'"):
        plan(spark, source, target, "upsert", rows=rows).run()
    whole = rows.selectExpr("*", "5L as timeoutTimestamp")
    assert plan(spark, source, target, "upsert", rows=whole).run().published


@at_night
def test_the_command(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    twins = Twins(spark, Moved("stateful", _stateful(keep), "update", {}), tmp_path)
    file, target = tmp_path / "rows.parquet", tmp_path / "upserted"
    pq.write_table(pa.table({"s": ["name-1", "new"], "seen": [5, 6]}), file)
    words = ["move", "upsert", str(twins.moved.checkpoint), str(target), "--from", str(file)]
    assert main([*words, "--state", "tests.integration.upserted_states:Kept"]) == 0
    said = capsys.readouterr().out
    assert "1 keys replaced, 1 added" in said
    scan: Scan[Any] = Checkpoint(str(target)).scan(decode=Kept)
    assert (scan.get("name-1").seen, scan.get("new").seen) == (5, 6)
    origin = Checkpoint(str(target)).overview().origin
    assert origin is not None
    assert origin.kind == "upsert"
    with pytest.raises(SystemExit, match="2"):
        main(words[:4])
