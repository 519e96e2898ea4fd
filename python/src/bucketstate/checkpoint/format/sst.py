"""Entries of a run's file, read without RocksDB: blocks of an SST, each verified.

The layout is RocksDB's block-based table of format 6, as far as runs have it (`docs/format.md`).
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

import xxhash

from bucketstate.checkpoint.format.compression import crc32c, decompress
from bucketstate.checkpoint.format.damage import damaged, decoding
from bucketstate.checkpoint.format.storage import OpenFile

_FOOTER, _TRAILER, _TAIL = 53, 5, 16 * 1024
_MAGIC, _EXTENDED, _FORMAT = 0x88E241B785F4CFF7, 0x007A003E, 6
_CRC32C, _XXH3 = 1, 4
_CODECS = {0: 0, 4: 1, 7: 2, 1: 3}
"""RocksDB's numbers of codecs, and those of changelogs."""
_SNAPPY = 3
_PUT_AT_0 = b"\x01" + bytes(7)
"""Behind each key: a put with sequence number 0."""
_INDEX, _PROPERTIES = b"rocksdb.index", b"rocksdb.properties"
_OTHERS = (b"rocksdb.compression_dict", b"rocksdb.range_del")
_INDEX_TYPE = b"rocksdb.block.based.table.index.type"
_ONE_BLOCK, _PARTED = bytes(4), b"\x02\x00\x00\x00"
_EXPECTED = {
    b"rocksdb.index.key.is.user.key": b"\x01",
    b"rocksdb.index.value.is.delta.encoded": b"\x01",
    b"rocksdb.comparator": b"leveldb.BytewiseComparator",
}


@dataclass(frozen=True)
class _Handle:
    """Where a block lies, without what stands behind it. In bytes."""

    offset: int
    size: int


class SstReader:
    """An open run's file. Reads its end at once, and a block or two for each look-up.

    Raises DamagedFileError for whatever is not as a run's file is, and StorageError. Not
    thread-safe.

    Args:
        file: it stays open as long as this is used.
        path: what errors name.
        held: bytes of inflated blocks that are kept for the next look-ups.
    """

    def __init__(self, file: OpenFile, path: str, held: int = 0) -> None:
        self._file = file
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._room = held
        self._path = path
        # The parts behind the data lie there: most files are read with three requests.
        self._tail_at = max(0, file.size - _TAIL)
        self._tail = file.read_at(file.size - self._tail_at, self._tail_at)
        metaindex = self._footer()
        with decoding(path, "list of its parts"):
            parts = dict(_named(self._block(metaindex, "metaindex")))
            if any(other in parts for other in _OTHERS):
                raise ValueError("it has a dictionary, or range deletions")
            properties = self._block(_handle(parts[_PROPERTIES], 0)[0], "properties")
            known = dict(_named(properties))
            for name, expected in _EXPECTED.items():
                if known.get(name) != expected:
                    raise ValueError(f"its {name.decode()} is {known.get(name)!r}")
            kind = known.get(_INDEX_TYPE)
            if kind not in (_ONE_BLOCK, _PARTED):
                raise ValueError(f"its {_INDEX_TYPE.decode()} is {kind!r}")
            place = _handle(parts[_INDEX], 0)[0]
        self._is_parted = kind == _PARTED
        self._index = self._block(place, "index")

    def entries(self, low: bytes, high: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """Keys from `low` on and below `high`, or to the end, with their values, in order."""
        with decoding(self._path, "index"):
            handles = list(_blocks_from(self._index, low, high))
            if self._is_parted:
                parts = [self._block(handle, "index") for handle in handles]
                handles = [place for part in parts for place in _blocks_from(part, low, high)]
        for handle in handles:
            block = self._block(handle, "data block")
            with decoding(self._path, f"data block at byte {handle.offset}"):
                found = [e for e in _data(block, low) if low <= e[0] and _below(e[0], high)]
            yield from found

    def _footer(self) -> _Handle:
        path, size = self._path, self._file.size
        if size < _FOOTER + _TRAILER:
            raise damaged(path, f"expected an SST with a footer, found {size} bytes")
        data, at = self._tail[-_FOOTER:], size - _FOOTER
        kind, extended, expected, base, length = struct.unpack_from("<BIIII", data)
        reserved, form, magic = struct.unpack_from("<QIQ", data, 33)
        if (magic, form) != (_MAGIC, _FORMAT) or kind not in (_CRC32C, _XXH3):
            raise damaged(
                path,
                f"expected a block-based table of format {_FORMAT} with checksums of type 1 or 4, "
                f"found the magic number {magic:x}, format {form}, type {kind}",
            )
        self._kind, self._base, self._end = kind, base, at
        found = self._checksum(data[:5] + bytes(4) + data[9:], at)
        if found != expected:
            raise damaged(path, f"expected footer checksum {expected:08x}, found {found:08x}")
        if extended != _EXTENDED or not base or reserved:
            raise damaged(path, f"expected a footer of table format {_FORMAT}, found another")
        return _Handle(at - _TRAILER - length, length)

    def _checksum(self, data: bytes, offset: int) -> int:
        """Changed by where the bytes lie, and of which file they are."""
        if self._kind == _CRC32C:
            crc = crc32c(data)
            plain = ((crc >> 15 | crc << 17) & 0xFFFFFFFF) + 0xA282EAD8
        else:
            plain = xxhash.xxh3_64_intdigest(data[:-1]) & 0xFFFFFFFF ^ data[-1] * 0x6B9083D9
        place = offset + (offset >> 32) & 0xFFFFFFFF
        return int(plain + (self._base ^ place)) & 0xFFFFFFFF

    def _block(self, at: _Handle, part: str) -> bytes:
        if at.offset in self._kept:
            self._kept.move_to_end(at.offset)
            return self._kept[at.offset]
        found = self._read(at, part)
        if len(found) <= self._room or self._kept:
            self._kept[at.offset] = found
            self._room -= len(found)
            while self._room < 0:
                self._room += len(self._kept.popitem(last=False)[1])
        return found

    def _read(self, at: _Handle, part: str) -> bytes:
        where = f"the {part} at byte {at.offset}"
        length = at.size + _TRAILER
        if at.offset < 0 or at.size < 9 or at.offset + length > self._end:
            raise damaged(
                self._path,
                f"expected {where} within the first {self._end} bytes, found {at.size} bytes",
            )
        start = at.offset - self._tail_at
        stored = self._tail[start : start + length] if start >= 0 else None
        stored = stored or self._file.read_at(length, at.offset)
        (expected,) = struct.unpack_from("<I", stored, at.size + 1)
        found = self._checksum(stored[: at.size + 1], at.offset)
        if found != expected:
            raise damaged(
                self._path, f"expected checksum {expected:08x} of {where}, found {found:08x}"
            )
        codec = _CODECS.get(stored[at.size])
        if codec is None:
            raise damaged(self._path, f"{where} is compressed by {stored[at.size]}, not 0, 1, 4, 7")
        if not codec:
            return stored[: at.size]
        try:
            raw_length, start = _varint(stored, 0)
            body = stored[0 if codec == _SNAPPY else start : at.size]
            return decompress(codec, body, raw_length)
        except (OSError, ValueError, IndexError) as error:
            raise damaged(self._path, f"{where} cannot be decompressed ({error})") from error


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
        shared, at = _varint(self.data, at)
        own, at = _varint(self.data, at)
        if values:
            _, at = _varint(self.data, at)
        if shared or at + own > self.end:
            raise ValueError("a restart has no key of its own")
        # Of data blocks with a trailer, which is the same for all.
        return self.data[at : at + own]


def _named(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    block = _Block(data)
    return _walk(block, block.restarts[0])


def _walk(block: _Block, at: int) -> Iterator[tuple[bytes, bytes]]:
    data, key = block.data, b""
    while at < block.end:
        shared, at = _varint(data, at)
        own, at = _varint(data, at)
        length, at = _varint(data, at)
        value = at + own
        if shared > len(key) or value + length > block.end:
            raise ValueError(f"an entry ends behind its block, at byte {value + length}")
        key = key[:shared] + data[at:value]
        at = value + length
        yield key, data[value:at]


def _data(data: bytes, low: bytes) -> Iterator[tuple[bytes, bytes]]:
    """From a key that is not above the first one wanted."""
    block = _Block(data)
    for key, value in _walk(block, block.start(low, values=True)):
        if key[-8:] != _PUT_AT_0:
            raise ValueError("an entry is no plain put with sequence number 0")
        yield key[:-8], value


def _below(key: bytes, high: bytes | None) -> bool:
    return high is None or key < high


def _blocks_from(data: bytes, low: bytes, high: bytes | None) -> Iterator[_Handle]:
    """The data blocks that may have keys from `low` on and below `high`, or the parts of the index.

    A block's entry has a key that is not below its last, and below the next block's first.
    """
    block = _Block(data)
    at, key, handle = block.start(low, values=False), b"", _Handle(0, 0)
    while at < block.end:
        shared, at = _varint(data, at)
        own, at = _varint(data, at)
        if shared > len(key) or at + own > block.end:
            raise ValueError(f"an entry ends behind its block, at byte {at + own}")
        key = key[:shared] + data[at : at + own]
        at += own
        if shared:
            # Behind the one before it, and so much larger.
            number, at = _varint(data, at)
            more = number >> 1 ^ -(number & 1)
            handle = _Handle(handle.offset + handle.size + _TRAILER, handle.size + more)
        else:
            handle, at = _handle(data, at)
        if key >= low:
            yield handle
        if not _below(key, high):
            return


def _handle(data: bytes, at: int) -> tuple[_Handle, int]:
    offset, at = _varint(data, at)
    size, at = _varint(data, at)
    return _Handle(offset, size), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
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
