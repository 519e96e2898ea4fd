"""What Spark's own files say of where and whose a checkpoint is, said anew."""

from __future__ import annotations

import json

from bucketstate.checkpoint.format.damage import damaged, decoding, json_object
from bucketstate.checkpoint.format.filesystems import split_uri


def with_query_id(data: bytes, query_id: str, path: str) -> bytes:
    """Spark's `metadata` with another id.

    Raises DamagedFileError.
    """
    with decoding(path, "query's metadata"):
        found = json_object(data.decode("utf-8")) | {"id": query_id}
    return json.dumps(found, separators=(",", ":")).encode()


def at_home(data: bytes, operator: int, home: str, path: str) -> bytes:
    """An operator's metadata with the paths of its schema files in another checkpoint.

    Raises DamagedFileError.

    Args:
        data: the file, whose first line is its format.
        operator: Spark's number of it.
        home: the checkpoint's URI.
        path: of the file, for a message.
    """
    head, line, body = data.partition(b"\n")
    if not line:
        raise damaged(path, "it has one line alone")
    changed = False
    with decoding(path, "operator metadata"):
        found = json_object(body.decode("utf-8"))
        for store in found["stateStoreInfo"]:
            files = store.get("stateSchemaFilePaths")
            if files:
                store["stateSchemaFilePaths"] = [_at_home(f, operator, home) for f in files]
                changed = True
    # What names no paths stays as it is, byte for byte.
    said = json.dumps(found, separators=(",", ":")).encode()
    return head + b"\n" + said if changed else data


def in_partitions(data: bytes, partitions: int, path: str) -> bytes:
    """An operator's metadata with another number of partitions.

    In their first form there is one file for all batches.

    Raises DamagedFileError.

    Args:
        data: the file, whose first line is its format.
        partitions: that its stores have.
        path: of the file, for a message.
    """
    head, line, body = data.partition(b"\n")
    if not line:
        raise damaged(path, "it has one line alone")
    with decoding(path, "operator metadata"):
        found = json_object(body.decode("utf-8"))
        if all(s["numPartitions"] == partitions for s in found["stateStoreInfo"]):
            return data
        for store in found["stateStoreInfo"]:
            store["numPartitions"] = partitions
    return head + b"\n" + json.dumps(found, separators=(",", ":")).encode()


def _at_home(file: str, operator: int, home: str) -> str:
    inside = f"/state/{operator}/"
    before, there, name = file.rpartition(inside)
    if not there:
        raise ValueError(f"expected a path with {inside}, found {file}")
    return f"{_as_named(before, home)}{inside}{name}"


def _as_named(before: str, home: str) -> str:
    """The home by the scheme that Spark knew the file system by: `s3:` is `s3a:` to Hadoop."""
    theirs, _, _ = split_uri(before)
    own, host, path = split_uri(home)
    if own == "file" or own != theirs:
        return home
    scheme = before.partition(":")[0]
    return f"{scheme}://{host}{path}"
