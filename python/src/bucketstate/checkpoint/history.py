"""What each version of each store added to the checkpoint, from the files' indexes alone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from bucketstate.checkpoint.format.family import all_keys
from bucketstate.checkpoint.format.names import ChangelogName, ManifestName
from bucketstate.checkpoint.format.parallel import in_order
from bucketstate.checkpoint.store.catalog import Catalog, every_store, is_there
from bucketstate.checkpoint.store.store import Store

SCHEMA = pa.schema(
    [
        ("operator", pa.int32()),
        ("store", pa.string()),
        ("partition_id", pa.int32()),
        ("version", pa.int64()),
        ("keys", pa.int64()),
        ("changes", pa.int64()),
        ("changelog_bytes", pa.int64()),
        ("manifest", pa.bool_()),
        ("run_bytes", pa.int64()),
    ]
)
"""`keys` are those held at the version, of all column families, null if nobody counted them;
`changes` those that it wrote; `run_bytes` what the data files of its manifest take. Null where
there is no such file."""


def history(catalog: Catalog) -> pa.Table:
    """A row for each version that Spark's commit log has, in each store of each partition.

    Reads the index of every file. Raises what makes one unreadable.
    """
    versions = catalog.versions
    stores = list(every_store(catalog))
    rows: list[dict[str, Any]] = []
    for found in in_order(
        lambda s: [
            _version(catalog, s, version) for version in versions if is_there(catalog, s, version)
        ],
        stores,
    ):
        rows += found
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _version(catalog: Catalog, store: Store, version: int) -> dict[str, Any]:
    attempt = catalog.attempt(store, version)
    row: dict[str, Any] = {
        "operator": store.operator,
        "store": store.name,
        "partition_id": store.partition,
        "version": version,
        "manifest": False,
    }
    changelog = ChangelogName(attempt)
    if changelog in store.files:
        index = store.changelog(changelog)
        row["keys"] = all_keys(index.families)
        row["changes"] = sum(b.records for b in index.blocks)
        row["changelog_bytes"] = index.size
    manifest = ManifestName(attempt)
    if manifest in store.files:
        found = store.manifest(manifest)
        row["keys"] = all_keys(found.families)
        row["manifest"] = True
        row["run_bytes"] = sum(f.size for f in found.files)
    return row
