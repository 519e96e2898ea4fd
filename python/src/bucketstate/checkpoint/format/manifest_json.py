"""Reads manifests, format versions 1 and 2 (`docs/format.md`)."""

from __future__ import annotations

import json
import re
from typing import Any

from bucketstate.checkpoint.format.compression import crc32c
from bucketstate.checkpoint.format.damage import damaged, decoding, newer
from bucketstate.checkpoint.format.family import Family, KeysAt
from bucketstate.checkpoint.format.manifest import Manifest, Run, RunFile, Span, TimeSpan
from bucketstate.checkpoint.format.manifest_invariants import broken
from bucketstate.checkpoint.format.names import Attempt, ManifestName
from bucketstate.checkpoint.format.storage import Folder
from bucketstate.checkpoint.format.time_buckets import TimeBuckets
from bucketstate.checkpoint.format.timed_values import NEVER

FORMAT = 2
_KIND = "bucketstate-manifest"
_END = re.compile(rb',\n  "checksum" : "crc32c:([0-9a-f]{8})"\n}\n')


def read_manifest(folder: Folder, name: ManifestName) -> Manifest:
    """The manifest of that name, verified, with everything checked that must be true of it."""
    path = folder.path_of(str(name))
    data = folder.read(str(name))
    raw = _verified(data, path)
    with decoding(path, "manifest"):
        manifest = _manifest(raw, name, path, len(data))
    named = Attempt(manifest.version, manifest.checkpoint_id)
    if named != name.attempt:
        raise damaged(
            path,
            f"expected the content of {name}, found that of {named.name('manifest')}: the file "
            "was renamed or copied",
        )
    if rule := broken(manifest):
        raise damaged(path, f"it must be true that {rule}, which is not so")
    return manifest


def _verified(data: bytes, path: str) -> dict[str, Any]:
    try:
        raw = json.loads(data)
    except ValueError:
        raw = None
    if isinstance(raw, dict) and raw.get("format") == _KIND:
        version = raw.get("formatVersion")
        # Before the checksum: a newer format may have another one.
        if isinstance(version, int) and version > FORMAT:
            raise newer(path, "a manifest", FORMAT, version)
    end = _END.search(data, max(0, len(data) - 64))
    if end is None or end.end() != len(data):
        raise damaged(path, "its last member is not its checksum: it was cut off, or written over")
    expected, found = int(end[1], 16), crc32c(data[: end.start()])
    if found != expected:
        raise damaged(path, f"expected checksum {expected:08x}, found {found:08x}")
    if not isinstance(raw, dict) or raw.get("format") != _KIND:
        raise damaged(path, "it is not the JSON of a manifest")
    if raw.get("formatVersion") not in range(1, FORMAT + 1):
        raise damaged(path, f"it has the format version {raw.get('formatVersion')}")
    return raw


def _manifest(raw: dict[str, Any], name: ManifestName, path: str, size: int) -> Manifest:
    # Version 1 has no times: what it has under these names is of no meaning.
    timed = raw["formatVersion"] > 1
    families = tuple(_family(f, timed=timed) for f in raw["families"])
    return Manifest(
        name=name,
        path=path,
        size=size,
        store_id=_text(raw, "storeId"),
        version=_number(raw, "version"),
        checkpoint_id=_text(raw, "checkpointId", optional=True) or None,
        base_checkpoint_id=_text(raw, "baseCheckpointId", optional=True) or None,
        commit_id=_text(raw, "commitId", optional=True) or None,
        num_buckets=_number(raw, "numBuckets"),
        hash_function=_text(raw, "hashFunction"),
        families=families,
        runs=tuple(_run(r, timed=timed) for r in raw["runs"]),
        next_family=_number(raw, "nextFamily")
        if "nextFamily" in raw
        else max((f.id for f in families), default=-1) + 1,
    )


def _family(raw: dict[str, Any], *, timed: bool) -> Family:
    return Family(
        id=_number(raw, "id"),
        name=_text(raw, "name"),
        key_encoding=_text(raw, "keyEncoding"),
        value_encoding=_text(raw, "valueEncoding"),
        keys=_number(raw, "keyCount") if "keyCount" in raw else None,
        key_schema=_text(raw, "keySchema", optional=True) or None,
        value_schema=_text(raw, "valueSchema", optional=True) or None,
        internal=raw.get("internal") is True,
        times=_times(raw["timeBuckets"]) if timed and "timeBuckets" in raw else None,
        last_count=_count(raw["lastCount"]) if "lastCount" in raw else None,
    )


def _count(raw: dict[str, Any]) -> KeysAt:
    return KeysAt(_number(raw, "version"), _number(raw, "keys"))


def _times(raw: dict[str, Any]) -> TimeBuckets:
    return TimeBuckets(
        newest=_time(raw, "newest") if "newest" in raw else None,
        horizon=_time(raw, "horizon"),
        untimed=_time(raw, "untimed") if "untimed" in raw else None,
        untimed_keys=_number(raw, "untimedKeys"),
        keys=tuple((_time(b, "start"), _number(b, "keys")) for b in raw["keys"]),
    )


def _run(raw: dict[str, Any], *, timed: bool) -> Run:
    files = tuple(
        RunFile(
            name=_text(f, "name"),
            size=_number(f, "bytes"),
            entries=_number(f, "entries"),
            tombstones=_number(f, "tombstones"),
            checksum=_checksum(_text(f, "checksum")),
            buckets=tuple(
                Span(_number(b, "family"), _number(b, "first"), _number(b, "last"))
                for b in f["buckets"]
            ),
            times=_span(f) if timed else None,
        )
        for f in raw["files"]
    )
    return Run(_number(raw, "firstVersion"), _number(raw, "lastVersion"), files)


def _span(raw: dict[str, Any]) -> TimeSpan | None:
    if "firstTimeBucket" not in raw and "lastTimeBucket" not in raw:
        return None
    return TimeSpan(_time(raw, "firstTimeBucket"), _time(raw, "lastTimeBucket"))


def _checksum(text: str) -> int:
    if not re.fullmatch("crc32c:[0-9a-f]{8}", text):
        raise ValueError(f"the checksum '{text}' is not one")
    return int(text[-8:], 16)


def _number(raw: dict[str, Any], member: str) -> int:
    value = raw[member]
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise ValueError(f"'{member}' is {value!r}, not an integer below 2^63")
    return value


def _time(raw: dict[str, Any], member: str) -> int:
    value = _number(raw, member)
    if not 0 <= value <= NEVER:
        raise ValueError(f"'{member}' is {value}, not a time of 4 bytes")
    return value


def _text(raw: dict[str, Any], member: str, *, optional: bool = False) -> str:
    value = raw.get(member, "") if optional else raw[member]
    if not isinstance(value, str):
        raise ValueError(f"'{member}' is {value!r}, not a string")
    return value
