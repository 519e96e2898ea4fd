"""Entries of a run's file, read without RocksDB: blocks of an SST, each verified.

The layout is RocksDB's block-based table of format 6, as far as runs have it (`docs/format.md`).
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator, Sequence

import xxhash

from bucketstate.checkpoint.format.compression import crc32c, decompress
from bucketstate.checkpoint.format.damage import damaged, decoding
from bucketstate.checkpoint.format.slices import Slices
from bucketstate.checkpoint.format.sst.blocks import (
    TRAILER,
    Handle,
    below,
    blocks_from,
    entries_from,
    handle_at,
    named,
    varint,
)
from bucketstate.checkpoint.format.sst.together import Entries, entries_of, joined
from bucketstate.checkpoint.format.storage import OpenFile

_FOOTER, _TAIL = 53, 16 * 1024
_MAGIC, _EXTENDED, _FORMAT = 0x88E241B785F4CFF7, 0x007A003E, 6
_CRC32C, _XXH3 = 1, 4
_CODECS = {0: 0, 4: 1, 7: 2, 1: 3}
"""RocksDB's numbers of codecs, and those of changelogs."""
_SNAPPY = 3
_INDEX, _PROPERTIES = b"rocksdb.index", b"rocksdb.properties"
_OTHERS = (b"rocksdb.compression_dict", b"rocksdb.range_del")
_INDEX_TYPE = b"rocksdb.block.based.table.index.type"
_ONE_BLOCK, _PARTED = bytes(4), b"\x02\x00\x00\x00"
_EXPECTED = {
    b"rocksdb.index.key.is.user.key": b"\x01",
    b"rocksdb.index.value.is.delta.encoded": b"\x01",
    b"rocksdb.comparator": b"leveldb.BytewiseComparator",
}
_COUNT = b"rocksdb.num.entries"
_AHEAD = 1024 * 1024
"""Bytes of neighbouring blocks that are read at a time at most."""
_TOGETHER = 2 * 1024 * 1024
"""Bytes of inflated blocks whose entries are found at a time, about."""
_FEW = 2
"""So many blocks are walked through sooner than numpy begins."""


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
            parts = dict(named(self._block(metaindex, "metaindex")))
            if any(other in parts for other in _OTHERS):
                raise ValueError("it has a dictionary, or range deletions")
            properties = self._block(handle_at(parts[_PROPERTIES], 0)[0], "properties")
            known = dict(named(properties))
            for name, expected in _EXPECTED.items():
                if known.get(name) != expected:
                    raise ValueError(f"its {name.decode()} is {known.get(name)!r}")
            kind = known.get(_INDEX_TYPE)
            if kind not in (_ONE_BLOCK, _PARTED):
                raise ValueError(f"its {_INDEX_TYPE.decode()} is {kind!r}")
            place = handle_at(parts[_INDEX], 0)[0]
            self.count = varint(known[_COUNT], 0)[0]
            """How many entries the file says it has."""
        self._is_parted = kind == _PARTED
        self._index = self._block(place, "index")

    def entries(self, low: bytes, high: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """Keys from `low` on and below `high`, or to the end, with their values, in order."""
        for handle in self._handles(low, high):
            yield from self._walked(handle, low, high)

    def together(self, low: bytes, high: bytes | None) -> Iterator[Entries]:
        """As `entries`, many at a time: for more than a few keys."""
        handles = self._handles(low, high)
        if len(handles) <= _FEW:
            yield joined(e for handle in handles for e in self._walked(handle, low, high))
            return
        first, blocks, size = handles[0].offset, list[bytes](), 0
        for handle, block in self._in_turn(handles):
            if size >= _TOGETHER:
                yield self._found(blocks, first, low, high)
                first, blocks, size = handle.offset, [], 0
            blocks.append(block)
            size += len(block)
        yield self._found(blocks, first, low, high)

    def _handles(self, low: bytes, high: bytes | None) -> list[Handle]:
        """The data blocks that may have keys from `low` on and below `high`."""
        with decoding(self._path, "index"):
            handles = list(blocks_from(self._index, low, high))
            if not self._is_parted:
                return handles
            parts = [self._block(handle, "index") for handle in handles]
            return [place for part in parts for place in blocks_from(part, low, high)]

    def _walked(self, handle: Handle, low: bytes, high: bytes | None) -> list[tuple[bytes, bytes]]:
        block = self._block(handle, "data block")
        with decoding(self._path, f"data block at byte {handle.offset}"):
            return [e for e in entries_from(block, low) if low <= e[0] and below(e[0], high)]

    def _in_turn(self, handles: Sequence[Handle]) -> Iterator[tuple[Handle, bytes]]:
        """Each block, of which neighbours are read with one request."""
        begin = 0
        while begin < len(handles):
            start, end = handles[begin].offset, begin
            length = 0
            while end < len(handles) and handles[end].offset == start + length and length < _AHEAD:
                length += self._check_place(handles[end], "data block")
                end += 1
            data = self._file.read_at(length, start)
            for handle in handles[begin:end]:
                at = handle.offset - start
                stored = data[at : at + handle.size + TRAILER]
                yield handle, self._inflated(handle, stored, "data block")
            begin = end

    def _found(self, blocks: list[bytes], offset: int, low: bytes, high: bytes | None) -> Entries:
        with decoding(self._path, f"data blocks from byte {offset} on"):
            keys, values = entries_of(blocks)
            first = _first_from(keys, low)
            end = len(keys) if high is None else _first_from(keys, high)
            return keys[first:end], values[first:end]

    def _footer(self) -> Handle:
        path, size = self._path, self._file.size
        if size < _FOOTER + TRAILER:
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
        return Handle(at - TRAILER - length, length)

    def _checksum(self, data: bytes, offset: int) -> int:
        """Changed by where the bytes lie, and of which file they are."""
        if self._kind == _CRC32C:
            crc = crc32c(data)
            plain = ((crc >> 15 | crc << 17) & 0xFFFFFFFF) + 0xA282EAD8
        else:
            plain = xxhash.xxh3_64_intdigest(data[:-1]) & 0xFFFFFFFF ^ data[-1] * 0x6B9083D9
        place = offset + (offset >> 32) & 0xFFFFFFFF
        return int(plain + (self._base ^ place)) & 0xFFFFFFFF

    def _block(self, at: Handle, part: str) -> bytes:
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

    def _read(self, at: Handle, part: str) -> bytes:
        length = self._check_place(at, part)
        start = at.offset - self._tail_at
        stored = self._tail[start : start + length] if start >= 0 else None
        return self._inflated(at, stored or self._file.read_at(length, at.offset), part)

    def _check_place(self, at: Handle, part: str) -> int:
        """How many bytes it takes with what stands behind it."""
        length = at.size + TRAILER
        if at.offset < 0 or at.size < 9 or at.offset + length > self._end:
            raise damaged(
                self._path,
                f"expected the {part} at byte {at.offset} within the first {self._end} bytes, "
                f"found {at.size} bytes",
            )
        return length

    def _inflated(self, at: Handle, stored: bytes, part: str) -> bytes:
        where = f"the {part} at byte {at.offset}"
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
            raw_length, start = varint(stored, 0)
            body = stored[0 if codec == _SNAPPY else start : at.size]
            return decompress(codec, body, raw_length)
        except (OSError, ValueError, IndexError) as error:
            raise damaged(self._path, f"{where} cannot be decompressed ({error})") from error


def _first_from(keys: Slices, key: bytes) -> int:
    """The place of the first that is not below this one."""
    starts, ends = keys.starts, keys.starts + keys.lengths

    def at(place: int) -> bytes:
        return keys.buffer[starts[place] : ends[place]].tobytes()

    return bisect_left(range(len(keys)), key, key=at)
