"""Checkpoints of a transformWithState made without Spark, with a state variable of each kind."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql.types import BinaryType, LongType, NullType, StringType, StructType

from bucketstate import PROVIDER_CLASS
from tests.kit.checkpoints import PUT, REMOVE, FamilyChanges, changelog_of, log
from tests.kit.rows import compact_row, unsafe_row, varint

KEY = StructType().add("key", StringType())
USER_KEY = StructType().add("v", LongType())
MAP_KEY = StructType().add("key", KEY).add("userKey", USER_KEY)
COUNT = StructType().add("n", LongType()).add("told", StringType())
NUMBER = StructType().add("v", LongType())
EXPIRING = StructType().add("value", NUMBER).add("ttlExpirationMs", LongType())
TIMER = StructType().add("key", KEY).add("expiryTimestampMs", LongType())
BY_TIME = StructType().add("expiryTimestampMs", LongType()).add("key", KEY)
LENGTH = StructType().add("count", LongType())
EXPIRY = StructType().add("expirationMs", LongType())
NOTHING = StructType().add("__empty__", NullType())
PREFIX, RANGE = "spark-prefix-scan/1", "spark-range-scan/0"

Families = dict[str, dict[bytes, bytes]]
"""What each column family holds: values by key, as they are stored."""


def ttl_key(element: StructType) -> StructType:
    return StructType().add("expirationMs", LongType()).add("elementKey", element)


@dataclass(frozen=True)
class Kept:
    """A column family as Spark describes it."""

    key: StructType
    value: StructType
    key_encoding: str = "compact-row/1"
    lists: bool = False
    user_key: StructType | None = None
    value_id: int = 0


KEPT = {
    "count": Kept(KEY, COUNT),
    "last": Kept(KEY, EXPIRING),
    "$ttl_last": Kept(ttl_key(KEY), NOTHING, RANGE),
    "every": Kept(KEY, NUMBER, lists=True),
    "$rowCounter_every": Kept(KEY, LENGTH),
    "recent": Kept(KEY, EXPIRING, lists=True),
    "$ttl_recent": Kept(ttl_key(KEY), NOTHING, RANGE),
    "$min_recent": Kept(KEY, EXPIRY),
    "$count_recent": Kept(KEY, LENGTH),
    "plain": Kept(MAP_KEY, NUMBER, PREFIX, user_key=USER_KEY),
    "by_value": Kept(MAP_KEY, EXPIRING, PREFIX, user_key=USER_KEY),
    "$ttl_by_value": Kept(ttl_key(MAP_KEY), NOTHING, RANGE),
    "$procTimers_keyToTimestamp": Kept(TIMER, NOTHING, PREFIX),
    "$procTimers_timestampToKey": Kept(BY_TIME, NOTHING, RANGE),
}
VARIABLES = {
    "count": ("ValueState", False),
    "last": ("ValueState", True),
    "every": ("ListState", False),
    "recent": ("ListState", True),
    "plain": ("MapState", False),
    "by_value": ("MapState", True),
    "$procTimers_keyToTimestamp": ("TimerState", False),
}


@dataclass
class State:
    """What the variables hold. Expiry times are in milliseconds, and stand behind their value."""

    count: dict[str, tuple[int, str | None]] = field(default_factory=dict)
    last: dict[str, tuple[int, int]] = field(default_factory=dict)
    every: dict[str, list[int]] = field(default_factory=dict)
    recent: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    plain: dict[tuple[str, int], int] = field(default_factory=dict)
    by_value: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    timers: set[tuple[str, int]] = field(default_factory=set)

    def families(self, row: Callable[[StructType, tuple[Any, ...]], bytes]) -> Families:
        """As Spark keeps it, each value by `row`."""
        least = {k: min(at for _, at in of) for k, of in self.recent.items()}
        ttl = [((at,), key) for key, (_, at) in self.last.items()]
        found = {
            "count": {plain_key(k): row(COUNT, v) for k, v in self.count.items()},
            "last": {plain_key(k): row(EXPIRING, ((v,), at)) for k, (v, at) in self.last.items()},
            "$ttl_last": {range_key(at[0], KEY, (k,)): row(NOTHING, (None,)) for at, k in ttl},
            "every": {
                plain_key(k): stored([row(NUMBER, (v,)) for v in of])
                for k, of in self.every.items()
            },
            "$rowCounter_every": {
                plain_key(k): row(LENGTH, (len(of),)) for k, of in self.every.items()
            },
            "recent": {
                plain_key(k): stored([row(EXPIRING, ((v,), at)) for v, at in of])
                for k, of in self.recent.items()
            },
            "$ttl_recent": {
                range_key(at, KEY, (k,)): row(NOTHING, (None,)) for k, at in least.items()
            },
            "$min_recent": {plain_key(k): row(EXPIRY, (at,)) for k, at in least.items()},
            "$count_recent": {
                plain_key(k): row(LENGTH, (len(of),)) for k, of in self.recent.items()
            },
            "plain": {map_key(*k): row(NUMBER, (v,)) for k, v in self.plain.items()},
            "by_value": {
                map_key(*k): row(EXPIRING, ((v,), at)) for k, (v, at) in self.by_value.items()
            },
            "$ttl_by_value": {
                range_key(at, MAP_KEY, ((k,), (v,))): row(NOTHING, (None,))
                for (k, v), (_, at) in self.by_value.items()
            },
            "$procTimers_keyToTimestamp": {
                timer_key(k, at): row(NOTHING, (None,)) for k, at in self.timers
            },
            "$procTimers_timestampToKey": {
                range_key(at, KEY, (k,)): row(NOTHING, (None,)) for k, at in self.timers
            },
        }
        assert found.keys() == KEPT.keys()
        return found


class Variables:
    """A checkpoint of one partition, grown batch by batch.

    With `evolving`, values carry the id of their schema, as with encodingFormat=avro.
    """

    def __init__(self, root: Path, *, evolving: bool = False) -> None:
        self.root = root
        self.evolving = evolving
        self.kept = dict(KEPT)
        self._version = 0
        self._before: Families = {}
        for name in ("offsets", "commits", "state/0/_metadata/v2", "state/0/0"):
            (root / name).mkdir(parents=True)
        (root / "metadata").write_text('{"id":"00000000-0000-0000-0000-000000000001"}')
        self.schemas: list[str] = []
        self.new_schemas()

    def new_schemas(self, **kept: Kept) -> None:
        """As a restart writes them: one more schema file, and metadata that name it, too."""
        self.kept |= kept
        self.write_schemas(f"{self._version}_{len(self.schemas)}", self.kept)
        self.write_metadata(VARIABLES)

    def write_schemas(self, name: str, kept: Mapping[str, Kept]) -> None:
        path = self.root / "state/0/_stateSchema/default" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(schema_file(kept))
        self.schemas.append(f"file:{path}")

    def write_metadata(self, variables: Mapping[str, tuple[str, bool]]) -> None:
        properties = {
            "timeMode": "ProcessingTime",
            "outputMode": "Update",
            "stateVariables": [
                {"stateName": name, "stateVariableType": kind, "ttlEnabled": ttl}
                for name, (kind, ttl) in variables.items()
            ],
        }
        store = {
            "storeName": "default",
            "numColsPrefixKey": 0,
            "numPartitions": 1,
            "stateSchemaFilePaths": self.schemas,
        }
        info = {"operatorId": 0, "operatorName": "transformWithStateExec"}
        content = {
            "operatorInfo": info,
            "stateStoreInfo": [store],
            "operatorPropertiesJson": json.dumps(properties),
        }
        log(self.root / f"state/0/_metadata/v2/{self._version}", 2, content)

    def row(self, schema: StructType, values: tuple[Any, ...], number: int = 0) -> bytes:
        packed = compact_row(schema, values)
        return varint(number) + packed if self.evolving else packed

    def families(self, state: State) -> Families:
        return state.families(self.row)

    def batch(self, families: Families) -> None:
        """One more batch, after which the families hold this."""
        self._version += 1
        conf = {"spark.sql.streaming.stateStore.providerClass": PROVIDER_CLASS}
        batch = str(self._version - 1)
        log(self.root / "offsets" / batch, 1, {"batchWatermarkMs": 0, "conf": conf}, "0")
        parts = [FamilyChanges([], 0)]
        for name, state in families.items():
            before = self._before.get(name, {})
            changes = [(PUT, k, v) for k, v in state.items() if before.get(k) != v]
            changes += [(REMOVE, k, b"") for k in before.keys() - state.keys()]
            kept = self.kept.get(name, Kept(KEY, NUMBER))
            values = ("evolving-" if self.evolving else "compact-") + (
                "rows/1" if kept.lists else "row/1"
            )
            internal = int(name.startswith("$"))
            part = FamilyChanges(
                changes, len(state), name, kept.key_encoding, values, flags=internal
            )
            parts.append(part)
        data = changelog_of(self._version, parts, buckets=4)
        (self.root / f"state/0/0/{self._version}.changelog").write_bytes(data)
        log(self.root / "commits" / batch, 1, {"nextBatchWatermarkMs": 0})
        self._before = {name: dict(of) for name, of in families.items()}


def plain_key(key: str) -> bytes:
    return compact_row(KEY, (key,))


def map_key(key: str, user_key: int) -> bytes:
    first = StructType(MAP_KEY.fields[:1])
    rest = StructType(MAP_KEY.fields[1:])
    return scanned(unsafe_row(first, ((key,),)), unsafe_row(rest, ((user_key,),)))


def timer_key(key: str, at: int) -> bytes:
    first, rest = StructType(TIMER.fields[:1]), StructType(TIMER.fields[1:])
    return scanned(unsafe_row(first, ((key,),)), unsafe_row(rest, (at,)))


def range_key(at: int, element: StructType, key: tuple[Any, ...]) -> bytes:
    ordered = unsafe_row(StructType().add("at", BinaryType()), (b"\x01" + struct.pack(">q", at),))
    return scanned(ordered, unsafe_row(StructType().add("element", element), (key,)))


def scanned(first: bytes, rest: bytes) -> bytes:
    return struct.pack("<i", len(first) + 1) + b"\0" + first + b"\0" + rest


def stored(rows: Sequence[bytes]) -> bytes:
    """A list of rows."""
    return b"".join(varint(len(row)) + row for row in rows)


def schema_file(kept: Mapping[str, Kept]) -> bytes:
    """Spark's state schema, format 3."""
    out = _utf("v3") + struct.pack(">i", len(kept))
    for name, family in sorted(kept.items()):
        user_key = family.user_key.json() if family.user_key else "{    }"
        out += _utf(name) + struct.pack(">h", 0) + _text(family.key.json())
        out += struct.pack(">h", family.value_id) + _text(family.value.json())
        out += _text('{"keyStateEncoderType":"NoPrefixKeyStateEncoderSpec"}') + _text(user_key)
    return out


def _text(text: str) -> bytes:
    return struct.pack(">i", 1) + _utf(text)


def _utf(text: str) -> bytes:
    return struct.pack(">H", len(text.encode())) + text.encode()
