"""Checkpoints made without Spark: changelogs, runs, manifests, and Spark's own files."""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import xxhash
from google_crc32c import value as crc32c
from pyspark.sql.types import LongType, StringType, StructType
from rocksdict import BlockBasedIndexType, BlockBasedOptions, Options, SstFileWriter

from bucketstate import PROVIDER_CLASS
from tests.kit.rows import compact_row, varint

PUT, REMOVE, MERGE = 1, 2, 3
CODECS = {"none": (0, None), "lz4": (1, "lz4_raw"), "zstd": (2, "zstd"), "snappy": (3, "snappy")}
KEY = StructType().add("key", StringType())
VALUE = StructType().add("count", LongType()).add("total", LongType())

NEVER = 0xFFFFFFFF
"""Time of a record that never expires."""

Times = Mapping[str, Any]
"""The time buckets of a family, as the member `timeBuckets` of a manifest has them."""

Row = tuple[Any, ...]
Changes = Mapping[Row, Row | None]
"""New values by key; None removes it."""


def bucket_of(key: bytes, buckets: int) -> int:
    return (int(xxhash.xxh64_intdigest(key)) >> 32) % buckets


@dataclass(frozen=True)
class FamilyChanges:
    """What a changelog has of one column family; `keys` is how many it holds afterwards.

    None is not counted. The flags are what these and its times make them, unless they are given.
    """

    changes: Iterable[tuple[int, bytes, bytes]]
    keys: int | None
    name: str = "default"
    key_encoding: str = "compact-row/1"
    value_encoding: str = "compact-row/1"
    times: Times | None = None
    flags: int | None = None


def changelog(
    version: int,
    changes: Iterable[tuple[int, bytes, bytes]],
    keys: int | None,
    *,
    key_encoding: str = "compact-row/1",
    value_encoding: str = "compact-row/1",
    times: Times | None = None,
    flags: int | None = None,
    **file: Any,
) -> bytes:
    """A changelog of one family: see `changelog_of`."""
    family = FamilyChanges(changes, keys, "default", key_encoding, value_encoding, times, flags)
    return changelog_of(version, [family], **file)


def changelog_of(
    version: int,
    families: Sequence[FamilyChanges],
    *,
    buckets: int,
    checkpoint_id: str = "",
    base_id: str = "",
    codec: str = "lz4",
    commit: uuid.UUID | None = None,
    buckets_per_block: int = 4,
    format_version: int = 1,
) -> bytes:
    """A changelog, byte for byte as `docs/format.md` says; families get the ids 0, 1 and so on."""
    number, arrow = CODECS[codec]
    tail = _string(checkpoint_id) + _string(base_id) + _string("xxh64")
    head = b"BKTSTLOG" + struct.pack("<HHB3x", format_version, 44 + len(tail) + 4, number)
    head += (commit or uuid.UUID(int=1)).bytes + struct.pack("<qI", version, buckets) + tail
    header_crc = crc32c(head)
    out = head + struct.pack("<I", header_crc)
    entries = b""
    blocks = 0
    for family, part in enumerate(families):
        of_bucket = _records(part, buckets)
        for first in range(0, buckets, buckets_per_block):
            last = min(first + buckets_per_block, buckets)
            span = [b for b in range(first, last) if b in of_bucket]
            if not span:
                continue
            records = [r for b in span for r in of_bucket[b]]
            raw = b"".join(records)
            stored = raw if arrow is None else pa.compress(raw, arrow, asbytes=True)
            used = number if len(stored) < len(raw) else 0
            stored = stored if used else raw
            where = family, span[0], span[-1], len(out)
            entries += struct.pack("<IIIQIII", *where, len(stored), len(raw), len(records))
            entries += struct.pack("<BI", used, crc32c(stored))
            out += stored
            blocks += 1
    footer = struct.pack("<I", len(families))
    for family, part in enumerate(families):
        flags = (2 if part.times else 0) | (4 if part.keys is None else 0)
        flags = flags if part.flags is None else part.flags
        footer += struct.pack("<IB", family, flags) + _string(part.name)
        footer += _string(part.key_encoding) + _string(part.value_encoding)
        footer += b"" if part.keys is None else struct.pack("<Q", part.keys)
        footer += _times(part.times)
    footer += struct.pack("<II", len(families), blocks) + entries
    trailer = struct.pack("<QIII", len(out), len(footer), crc32c(footer), header_crc)
    return out + footer + trailer + struct.pack("<I", crc32c(trailer)) + b"BKTSTEND"


def _records(family: FamilyChanges, buckets: int) -> dict[int, list[bytes]]:
    of_bucket: dict[int, list[bytes]] = {}
    for op, key, value in family.changes:
        body = varint(len(key)) + key + (b"" if op == REMOVE else value)
        deciding = key
        if family.key_encoding.startswith("spark-prefix-scan/"):
            deciding = key[: 4 + struct.unpack_from("<i", key)[0]]
        bucket = bucket_of(deciding, buckets)
        of_bucket.setdefault(bucket, []).append(bytes([op]) + varint(len(body)) + body)
    return of_bucket


def _times(times: Times | None) -> bytes:
    if times is None:
        return b""
    heads = times.get("newest", NEVER), times["horizon"], times.get("untimed", NEVER)
    out = struct.pack("<IIIQI", *heads, times["untimedKeys"], len(times["keys"]))
    return out + b"".join(struct.pack("<IQ", b["start"], b["keys"]) for b in times["keys"])


def run_file(
    folder: Path,
    version: int,
    number: int,
    entries: Mapping[tuple[int, bytes], bytes | None],
    times: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """Writes one file of a run; what a manifest says of it. Keys are (bucket, key).

    `times` are the first and the last time bucket, if that is to be said.
    """
    name = f"runs/{version}-{number}-{uuid.UUID(int=(version << 32) + number)}.sst"
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    writer = SstFileWriter(options=_table(len(entries)))
    writer.open(str(path))
    rows = sorted(
        (struct.pack(">HH", 0, bucket) + key, value)
        for (bucket, key), value in ((k, entries[k]) for k in entries)
    )
    for key, value in rows:
        writer[key] = b"\x02" if value is None else b"\x01" + value
    writer.finish()
    found = sorted({bucket for bucket, _ in entries})
    data = path.read_bytes()
    return {
        "name": name,
        "bytes": len(data),
        "entries": len(rows),
        "tombstones": sum(v is None for v in entries.values()),
        "checksum": f"crc32c:{crc32c(data):08x}",
        "buckets": [{"family": 0, "first": found[0], "last": found[-1]}],
    } | ({} if times is None else {"firstTimeBucket": times[0], "lastTimeBucket": times[1]})


def _table(rows: int) -> Options:
    """Of files of some rows the index is in parts, as in those that are large."""
    options = Options(raw_mode=True)
    if rows > 20:
        table = BlockBasedOptions()
        table.set_format_version(6)
        table.set_index_type(BlockBasedIndexType.two_level_index_search())
        table.set_block_size(512)
        table.set_metadata_block_size(64)
        options.set_block_based_table_factory(table)
    return options


def manifest(members: Mapping[str, Any]) -> bytes:
    body = json.dumps(members, indent=2).removesuffix("\n}").encode()
    return body + f',\n  "checksum" : "crc32c:{crc32c(body):08x}"\n}}\n'.encode()


def manifest_members(
    version: int,
    keys: int,
    runs: list[Any],
    buckets: int,
    partition: int = 0,
    times: Times | None = None,
) -> dict[str, Any]:
    """A manifest of one family, without what names a commit."""
    encoding = "compact-row/1" if times is None else "timed-row/1"
    return {
        "format": "bucketstate-manifest",
        "formatVersion": 1 if times is None else 2,
        "storeId": f"state/0/{partition}",
        "version": version,
        "numBuckets": buckets,
        "hashFunction": "xxh64",
        "families": [
            {
                "id": 0,
                "name": "default",
                "keyEncoding": "compact-row/1",
                "valueEncoding": encoding,
                "keyCount": keys,
            }
            | ({} if times is None else {"timeBuckets": times})
        ],
        "runs": runs,
    }


def schema_file(key: StructType, value: StructType) -> bytes:
    """Spark's state schema, format 2."""
    out = _java("v2")
    for schema in (key, value):
        out += struct.pack(">i", 1) + _java(schema.json())
    return out


@dataclass
class Built:
    """A checkpoint of one operator, grown batch by batch, with a model of each version's state."""

    root: Path
    key: StructType = KEY
    value: StructType = VALUE
    buckets: int = 8
    partitions: int = 2
    ids: bool = False
    commits: bool = True
    """Whether files say which commit they build on, as they do since snapshots are made."""
    codec: str = "lz4"
    provider: str = PROVIDER_CLASS
    states: list[dict[int, dict[Row, Row]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("offsets", "commits", "state/0/_metadata"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        (self.root / "metadata").write_text('{"id":"00000000-0000-0000-0000-000000000001"}')
        store = {"storeName": "default", "numColsPrefixKey": 0, "numPartitions": self.partitions}
        info = {"operatorId": 0, "operatorName": "stateStoreSave"}
        log(
            self.root / "state/0/_metadata/metadata",
            1,
            {"operatorInfo": info, "stateStoreInfo": [store]},
        )
        for partition in range(self.partitions):
            self.folder(partition).mkdir(parents=True, exist_ok=True)
        schema = self.folder(0) / "_metadata/schema"
        schema.parent.mkdir(exist_ok=True)
        schema.write_bytes(schema_file(self.key, self.value))
        self.states.append({p: {} for p in range(self.partitions)})

    def folder(self, partition: int = 0) -> Path:
        return self.root / "state" / "0" / str(partition)

    @property
    def version(self) -> int:
        return len(self.states) - 1

    def checkpoint_id(self, version: int, partition: int) -> str:
        """The id of the attempt that counts, where there are ids."""
        return str(uuid.UUID(int=(version << 16) + partition)) if self.ids and version else ""

    def commit_id(self, version: int, partition: int) -> uuid.UUID:
        """Of the commit that counts."""
        return uuid.UUID(int=(1 << 64) + (version << 16) + partition)

    def batch(self, changes: Changes, *, commit: bool = True) -> None:
        """One more batch: a changelog in each partition, and Spark's logs."""
        version = self.version + 1
        self.plan_batch(version - 1)
        state = {p: dict(rows) for p, rows in self.states[-1].items()}
        per_partition: dict[int, list[tuple[int, bytes, bytes]]] = {p: [] for p in state}
        for key, value in changes.items():
            partition = self.partition_of(key)
            packed = compact_row(self.key, key)
            if value is None:
                state[partition].pop(key, None)
                per_partition[partition].append((REMOVE, packed, b""))
            else:
                state[partition][key] = value
                per_partition[partition].append((PUT, packed, compact_row(self.value, value)))
        for partition, records in per_partition.items():
            self.write_changelog(version, partition, records, len(state[partition]))
        self.states.append(state)
        if commit:
            self.commit_batch(version - 1)

    def write_changelog(
        self, version: int, partition: int, records: Any, keys: int | None, **other: Any
    ) -> Path:
        own = self.checkpoint_id(version, partition)
        base = self.checkpoint_id(version - 1, partition)
        if self.commits and not self.ids and version > 1:
            base = str(self.commit_id(version - 1, partition))
        settings: dict[str, Any] = {
            "checkpoint_id": own,
            "base_id": base,
            "codec": self.codec,
            "commit": self.commit_id(version, partition),
        } | other
        own = settings["checkpoint_id"]
        data = changelog(version, records, keys, buckets=self.buckets, **settings)
        path = self.folder(partition) / f"{version}{'_' + own if own else ''}.changelog"
        path.write_bytes(data)
        return path

    def plan_batch(self, batch: int) -> None:
        conf = {"spark.sql.streaming.stateStore.providerClass": self.provider}
        log(self.root / "offsets" / str(batch), 1, {"batchWatermarkMs": 0, "conf": conf}, "0")

    def commit_batch(self, batch: int) -> None:
        committed: dict[str, Any] = {"nextBatchWatermarkMs": 0}
        if self.ids:
            names = [[self.checkpoint_id(batch + 1, p)] for p in range(self.partitions)]
            committed["stateUniqueIds"] = {"0": names}
        log(self.root / "commits" / str(batch), 2 if self.ids else 1, committed)

    def snapshot(self, *ends: int, files: int = 2, partition: int | None = None) -> None:
        """A manifest of the last of these versions in each partition, with a run up to each."""
        for number in range(self.partitions) if partition is None else [partition]:
            runs = []
            for first, last in zip([0, *ends], ends, strict=False):
                runs.append(self._run(number, first, last, files))
            own = self.checkpoint_id(ends[-1], number)
            data = manifest(self._manifest(number, ends[-1], list(reversed(runs))))
            name = f"{ends[-1]}{'_' + own if own else ''}.manifest"
            (self.folder(number) / name).write_bytes(data)

    def partition_of(self, key: Row) -> int:
        return sum(compact_row(self.key, key)) % self.partitions

    def rows(self, version: int | None = None) -> set[tuple[int, Row, Row]]:
        """What the state holds: partition, key and value."""
        state = self.states[self.version if version is None else version]
        return {(p, key, value) for p, rows in state.items() for key, value in rows.items()}

    def _run(self, partition: int, first: int, last: int, files: int) -> dict[str, Any]:
        old, new = self.states[first][partition], self.states[last][partition]
        merged: dict[tuple[int, bytes], bytes | None] = {}
        for key in old.keys() | new.keys():
            if old.get(key) != new.get(key):
                packed = compact_row(self.key, key)
                value = compact_row(self.value, new[key]) if key in new else None
                merged[bucket_of(packed, self.buckets), packed] = value
        written = []
        per_file = -(-self.buckets // files)
        for number in range(files):
            span = range(number * per_file, (number + 1) * per_file)
            entries = {k: v for k, v in merged.items() if k[0] in span}
            if entries:
                written.append(
                    run_file(self.folder(partition), last, 100 * first + number, entries)
                )
        return {"firstVersion": first + 1, "lastVersion": last, "files": written}

    def _manifest(self, partition: int, version: int, runs: list[Any]) -> dict[str, Any]:
        own = self.checkpoint_id(version, partition)
        ids = {"checkpointId": own} if own else {}
        commit = {"commitId": str(self.commit_id(version, partition))} if self.commits else {}
        keys, times = len(self.states[version][partition]), self.times_of(version, partition)
        members = manifest_members(version, keys, runs, self.buckets, partition, times)
        return members | ids | commit

    def times_of(self, version: int, partition: int) -> Times | None:  # noqa: ARG002
        """None: nothing expires here."""
        return None

    def rewrite_manifest(self, version: int, /, **members: Any) -> None:
        """Changes some members of partition 0's manifest, and has its checksum right again."""
        path = self.folder(0) / f"{version}.manifest"
        sound = json.loads(path.read_bytes())
        del sound["checksum"]
        path.write_bytes(manifest(sound | members))

    def stand_alone(self, version: int, *, with_older: bool = True) -> None:
        """The version becomes a manifest alone; perhaps without what was before it."""
        self.snapshot(version)
        for partition in range(self.partitions):
            for path in [*self.folder(partition).glob("*.*")]:
                number, kind = int(path.name.split(".")[0].split("_")[0]), path.suffix
                older = not with_older and number < version
                if older or (number == version and kind == ".changelog"):
                    path.unlink()

    def drop_changelogs(self, last: int) -> None:
        """As retention does: those up to a version, of all partitions."""
        for partition in range(self.partitions):
            for version in range(1, last + 1):
                (self.folder(partition) / f"{version}.changelog").unlink()


def log(path: Path, version: int, content: Mapping[str, Any], *lines: str) -> None:
    path.write_text("\n".join([f"v{version}", json.dumps(content), *lines]))


def _string(text: str) -> bytes:
    return struct.pack("<H", len(text.encode())) + text.encode()


def _java(text: str) -> bytes:
    return struct.pack(">H", len(text.encode())) + text.encode()
