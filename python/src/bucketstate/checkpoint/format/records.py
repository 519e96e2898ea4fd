"""Records of changelogs: where each one's key and value lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bucketstate.checkpoint.format.slices import Bytes, Mask, Positions, Slices, buffer_of, gather

PUT, REMOVE, MERGE = 1, 2, 3

Change = tuple[int, bytes, bytes]
"""A record's kind, its key and its value."""


@dataclass(frozen=True)
class Records:
    """Changes of keys.

    `puts` says which have a value; a removal's is empty. `merges` says which of those are to be
    appended to what the key had.
    """

    keys: Slices
    values: Slices
    puts: Mask
    merges: Mask

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, part: slice) -> Records:
        return Records(self.keys[part], self.values[part], self.puts[part], self.merges[part])

    def where(self, mask: Mask) -> Records:
        return Records(
            self.keys.where(mask), self.values.where(mask), self.puts[mask], self.merges[mask]
        )

    def at(self, positions: Positions) -> Records:
        return Records(
            self.keys.at(positions),
            self.values.at(positions),
            self.puts[positions],
            self.merges[positions],
        )

    def removing(self, gone: Mask) -> Records:
        """A copy with removals in place of these."""
        lengths = np.where(gone, 0, self.values.lengths)
        values = Slices(self.values.buffer, self.values.starts, lengths)
        return Records(self.keys, values, self.puts & ~gone, self.merges & ~gone)

    @classmethod
    def concat(cls, parts: Sequence[Records]) -> Records:
        if len(parts) == 1:
            return parts[0]
        return cls(
            Slices.concat([p.keys for p in parts]),
            Slices.concat([p.values for p in parts]),
            np.concatenate([p.puts for p in parts] or [np.empty(0, np.bool_)]),
            np.concatenate([p.merges for p in parts] or [np.empty(0, np.bool_)]),
        )

    @classmethod
    def made(cls, changes: Sequence[Change]) -> Records:
        """Changes, copied into a buffer of their own."""
        kinds = np.array([kind for kind, _, _ in changes], np.uint8)
        keys = Slices.joined([key for _, key, _ in changes])
        values = Slices.joined([value for _, _, value in changes])
        return cls(keys, values, kinds != REMOVE, kinds == MERGE)

    def changes(self) -> list[Change]:
        """They as `made` takes them."""
        kinds = np.where(self.merges, MERGE, np.where(self.puts, PUT, REMOVE)).tolist()
        return list(zip(kinds, self.keys.to_list(), self.values.to_list(), strict=True))

    @classmethod
    def of(cls, state: Mapping[bytes, bytes]) -> Records:
        """Keys with their values."""
        there = np.ones(len(state), np.bool_)
        return cls(Slices.joined(list(state)), Slices.joined(list(state.values())), there, ~there)


def parse(blocks: Sequence[tuple[bytes, int]]) -> Records:
    """The records of some blocks' raw bytes, of which each holds so many; in their order.

    ValueError or IndexError for bytes that are no such records.
    """
    starts = [np.empty(0, np.int64)]
    base = 0
    for raw, count in blocks:
        # Of one block at a time: a number of Python's takes five times as much.
        starts.append(np.array(_starts(raw, count), np.int64) + base)
        base += len(raw)
    # Behind the last record, so that each one's end is where the next one starts.
    buffer = buffer_of(raw for raw, _ in blocks)
    return _parsed(buffer, np.concatenate(starts), base)


def _starts(raw: bytes, count: int) -> list[int]:
    """Where each record starts. One after the other: a length says where the next one is."""
    starts = []
    at, end = 0, len(raw)
    for _ in range(count):
        starts.append(at)
        length = raw[at + 1]
        at += 2
        if length > 127:
            length &= 127
            shift = 7
            while True:
                more = raw[at]
                at += 1
                length |= (more & 127) << shift
                if more < 128:
                    break
                shift += 7
        at += length
    if at != end:
        raise ValueError(f"its {count} records end at byte {at} of {end}")
    return starts


def _parsed(buffer: Bytes, starts: Positions, end: int) -> Records:
    ops = gather(buffer, starts, "u1")
    if not np.isin(ops, (PUT, REMOVE, MERGE)).all():
        raise ValueError("a record is neither a PUT nor a REMOVE nor a MERGE")
    puts = ops != REMOVE
    _, bodies = varints(buffer, starts + 1)
    key_lengths, keys = varints(buffer, bodies)
    ends = np.append(starts[1:], end)
    values = keys + key_lengths
    if (values > ends).any() or (values[~puts] != ends[~puts]).any():
        raise ValueError("a record's key does not fit it")
    return Records(
        Slices(buffer, keys, key_lengths),
        Slices(buffer, values, ends - values),
        puts,
        ops == MERGE,
    )


def varints(buffer: Bytes, at: Positions) -> tuple[Positions, Positions]:
    """The LEB128 numbers that start there, and where each ends."""
    byte = gather(buffer, at, "u1").astype(np.int64)
    values, after = byte & 127, at + 1
    more = np.flatnonzero(byte > 127)
    shift = 7
    while more.size:
        if shift > 28:
            raise ValueError("a length has more than 5 bytes")
        byte = gather(buffer, after[more], "u1").astype(np.int64)
        values[more] |= (byte & 127) << shift
        after[more] += 1
        more = more[byte > 127]
        shift += 7
    return values, after
