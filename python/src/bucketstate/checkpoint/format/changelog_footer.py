"""The index at a changelog's end: its column families, and where their changes are."""

from __future__ import annotations

from dataclasses import dataclass

from bucketstate.checkpoint.format.binary import Reader
from bucketstate.checkpoint.format.damage import damaged, decoding
from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.times import NEVER, TIMED, TimeBuckets

_FAMILY, _TIME_BUCKET, _BLOCK, _RECORD = 11, 12, 37, 3
"""The least bytes of each."""
_INTERNAL, _TIMES, _NOT_COUNTED = 1, 2, 4
"""Flags of a family."""
_FLAGS = {1: _INTERNAL | _NOT_COUNTED, 2: _INTERNAL | _TIMES | _NOT_COUNTED}
"""Those that there are, by format version."""


@dataclass(frozen=True)
class Block:
    """The changes of some neighbouring buckets of one family; lengths and offset in bytes."""

    family: int
    first_bucket: int
    last_bucket: int
    offset: int
    stored_length: int
    raw_length: int
    records: int
    codec: int
    crc: int

    @property
    def is_possible(self) -> bool:
        """Whether a writer can have made it: its bytes can be these records, and were worth it."""
        if not 0 < self.records <= self.raw_length // _RECORD:
            return False
        if not self.codec:
            return self.stored_length == self.raw_length
        return self.stored_length < self.raw_length

    def overlaps(self, first: int, last: int) -> bool:
        return self.first_bucket <= last and first <= self.last_bucket

    def within(self, first: int, last: int) -> bool:
        return first <= self.first_bucket and self.last_bucket <= last


Footer = tuple[tuple[Family, ...], tuple[Block, ...]]


def decode_footer(data: bytes, format_version: int, path: str) -> Footer:
    """Column families and blocks of the file at that path. DamagedFileError if they cannot be."""
    with decoding(path, "footer"):
        families, blocks = _footer(Reader(data), format_version)
    for family in families:
        _check_times(family, path)
    return families, blocks


def _footer(reader: Reader, format_version: int) -> Footer:
    flags = _FLAGS[format_version]
    families = tuple(_family(reader, flags) for _ in range(reader.count(_FAMILY)))
    next_family = reader.u32()
    if any(family.id >= next_family for family in families):
        raise ValueError(f"the next new column family would get id {next_family}, which is taken")
    blocks = tuple(
        Block(
            family=reader.u32(),
            first_bucket=reader.u32(),
            last_bucket=reader.u32(),
            offset=reader.u64(),
            stored_length=reader.u32(),
            raw_length=reader.u32(),
            records=reader.u32(),
            codec=reader.u8(),
            crc=reader.u32(),
        )
        for _ in range(reader.count(_BLOCK))
    )
    reader.finish()
    return families, blocks


def _family(reader: Reader, known_flags: int) -> Family:
    number, flags = reader.u32(), reader.u8()
    if flags & ~known_flags:
        raise ValueError(f"column family {number} has the flags {flags}, known are {known_flags}")
    return Family(
        id=number,
        name=reader.string(),
        key_encoding=reader.string(),
        value_encoding=reader.string(),
        keys=None if flags & _NOT_COUNTED else reader.u64(),
        internal=bool(flags & _INTERNAL),
        times=_times(reader) if flags & _TIMES else None,
    )


def _times(reader: Reader) -> TimeBuckets:
    newest, horizon, untimed = reader.u32(), reader.u32(), reader.u32()
    return TimeBuckets(
        newest=None if newest == NEVER else newest,
        horizon=horizon,
        untimed=None if untimed == NEVER else untimed,
        untimed_keys=reader.u64(),
        keys=tuple((reader.u32(), reader.u64()) for _ in range(reader.count(_TIME_BUCKET))),
    )


def _check_times(family: Family, path: str) -> None:
    times, of = family.times, f"column family '{family.name}'"
    if (times is not None) != (family.value_encoding == TIMED):
        raise damaged(
            path,
            f"{of} has {'no ' if times is None else ''}time buckets, but its values are encoded as "
            f"{family.value_encoding}",
        )
    if times is None:
        return
    if family.keys is None:
        raise damaged(path, f"the keys of {of}, which has time buckets, are not counted")
    if not times.ascending:
        raise damaged(path, f"the time buckets of {of} are not in ascending order, each once")
    if times.key_count != family.keys:
        raise damaged(
            path,
            f"expected {family.keys} keys in the time buckets of {of}, found {times.key_count}",
        )
    if not times.living:
        raise damaged(
            path, f"the time buckets of {of} count keys that expired before {times.horizon}"
        )
