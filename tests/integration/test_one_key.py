"""Keys that Spark wrote are found where they are looked for, in every encoding and type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as T  # noqa: N812

from bucketstate.checkpoint import Checkpoint
from bucketstate.checkpoint.spark import key_values, partitioning
from tests.integration.streams import events, plain
from tests.integration.test_checkpoint import (
    JOIN_STORES,
    TYPED,
    aggregated,
    deduplicated,
    joined,
    sessions,
    snapshots,
    split,
    typed_keys,
    windowed,
    written,
)
from tests.integration.test_checkpoint import session as session
from tests.kit.cases import cases
from tests.kit.values.own_types import spark_hash, stored_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["session", "snapshots"]

KINDS: list[tuple[Callable[[DataFrame], DataFrame], str, list[str]]] = [
    (aggregated, "update", ["default"]),
    (windowed, "append", ["default"]),
    (deduplicated, "append", ["default"]),
    (typed_keys, "append", ["default"]),
    (sessions, "append", ["default"]),
    (joined, "append", JOIN_STORES),
]

FEW = [kind for kind in KINDS if kind[0] in (windowed, typed_keys, joined)]


def found_again(found: Checkpoint, table: pa.Table, **how: Any) -> None:
    """Each key of the state, or each grouping key, with all that is kept for it."""
    by_key: dict[str, list[Any]] = {}
    rows = table.to_pylist()
    for row in rows:
        by_key.setdefault(repr(row["key"]), []).append(row)
    for of_key in by_key.values():
        again = found.scan(key=of_key[0]["key"], **how).to_arrow().to_pylist()
        assert sorted(map(repr, again)) == sorted(map(repr, of_key))
    assert rows


@pytest.mark.parametrize(
    ("query", "mode", "stores"),
    cases(FEW, KINDS),
    ids=lambda k: getattr(k, "__name__", str(k)[:24]),
)
@pytest.mark.usefixtures("snapshots")
def test_every_key_is_found(
    session: SparkSession,
    tmp_path: Path,
    query: Callable[[DataFrame], DataFrame],
    mode: str,
    stores: list[str],
) -> None:
    found = written(session, tmp_path, query, mode, 1)
    for store in stores:
        table = found.scan(store=store).to_arrow()
        found_again(found, table.slice(0, 60), store=store)
        schema = found.schema(store=store).key
        info = found.store_info(found.operator(), store)
        columns = partitioning.hashed_columns(
            found.operator().name, store, None, info.prefix_columns, len(schema)
        )
        assert columns is not None
        for row in table.slice(0, 60).to_pylist():
            values = key_values.stored_key(schema, row["key"])[:columns]
            kinds = [f.dataType for f in schema][:columns]
            place = partitioning.partition_of(kinds, values, info.partitions)
            assert place == row["partition_id"], row["key"]


def test_the_hash_is_spark_s(session: SparkSession) -> None:
    frame = session.createDataFrame(
        [(e["at"], e["key"], e["value"]) for e in events(batches=1, rows=50)[0]],
        "at timestamp, key string, value long",
    )
    rows = frame.selectExpr("key as k", *split(TYPED)).drop("named")
    hashes = [F.hash(name).alias(f"hash_{name}") for name in rows.columns]
    both = rows.select("*", *hashes, F.hash(*rows.columns).alias("hash"))
    kinds = {f.name: f.dataType for f in rows.schema}
    for row in both.collect():
        values = {
            name: stored_key(T.StructType([T.StructField(name, kind)]), (plain(row[name]),))[0]
            for name, kind in kinds.items()
            if not isinstance(kind, T.TimestampType)
        }
        for name, value in values.items():
            assert spark_hash([kinds[name]], [value]) == row[f"hash_{name}"], name
