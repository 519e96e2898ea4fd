"""Blocks of an SST, one entry after the other: of its index, and for a look-up."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

TRAILER = 5
"""Bytes behind each block: its codec and its checksum."""
PUT_AT_0 = b"\x01" + bytes(7)
"""Behind each key: a put with sequence number 0."""


@dataclass(frozen=True)
class Handle:
    """Where a block lies, without what stands behind it. In bytes."""

    offset: int
    size: int


class _Block:
    """A block's entries: `bytes shared with the key before | own bytes | ... | key | value`."""

    def __init__(self, data: bytes) -> None:
        (count,) = struct.unpack_from("<I", data, len(data) - 4)
        self.end = len(data) - 4 - 4 * count
        if count < 1 or self.end < 0:
            raise ValueError(f"a block has {count} restarts in {len(data)} bytes")
        self.data = data
        self.restarts = struct.unpack_from(f"<{count}I", data, self.end)

    def start(self, low: bytes, *, values: bool) -> int:
        """Where to begin to come by the first key that is not below `low`."""
        place = bisect_left(self.restarts, low, key=lambda at: self._key(at, values=values))
        return int(self.restarts[max(0, place - 1)])

    def _key(self, at: int, *, values: bool) -> bytes:
        shared, at = varint(self.data, at)
        own, at = varint(self.data, at)
        if values:
            _, at = varint(self.data, at)
        if shared or at + own > self.end:
            raise ValueError("a restart has no key of its own")
        # Of data blocks with a trailer, which is the same for all.
        return self.data[at : at + own]


def named(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    block = _Block(data)
    return _walk(block, block.restarts[0])


def _walk(block: _Block, at: int) -> Iterator[tuple[bytes, bytes]]:
    data, key = block.data, b""
    while at < block.end:
        shared, at = varint(data, at)
        own, at = varint(data, at)
        length, at = varint(data, at)
        value = at + own
        if shared > len(key) or value + length > block.end:
            raise ValueError(f"an entry ends behind its block, at byte {value + length}")
        key = key[:shared] + data[at:value]
        at = value + length
        yield key, data[value:at]


def entries_from(data: bytes, low: bytes) -> Iterator[tuple[bytes, bytes]]:
    """From a key that is not above the first one wanted."""
    block = _Block(data)
    for key, value in _walk(block, block.start(low, values=True)):
        if key[-8:] != PUT_AT_0:
            raise ValueError("an entry is no plain put with sequence number 0")
        yield key[:-8], value


def below(key: bytes, high: bytes | None) -> bool:
    return high is None or key < high


def blocks_from(data: bytes, low: bytes, high: bytes | None) -> Iterator[Handle]:
    """The data blocks that may have keys from `low` on and below `high`, or the parts of the index.

    A block's entry has a key that is not below its last, and below the next block's first.
    """
    block = _Block(data)
    at, key, handle = block.start(low, values=False), b"", Handle(0, 0)
    while at < block.end:
        shared, at = varint(data, at)
        own, at = varint(data, at)
        if shared > len(key) or at + own > block.end:
            raise ValueError(f"an entry ends behind its block, at byte {at + own}")
        key = key[:shared] + data[at : at + own]
        at += own
        if shared:
            # Behind the one before it, and so much larger.
            number, at = varint(data, at)
            more = number >> 1 ^ -(number & 1)
            handle = Handle(handle.offset + handle.size + TRAILER, handle.size + more)
        else:
            handle, at = handle_at(data, at)
        if key >= low:
            yield handle
        if not below(key, high):
            return


def handle_at(data: bytes, at: int) -> tuple[Handle, int]:
    offset, at = varint(data, at)
    size, at = varint(data, at)
    return Handle(offset, size), at


def varint(data: bytes, at: int) -> tuple[int, int]:
    """The LEB128 number that starts there, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number has more than 64 bits")
