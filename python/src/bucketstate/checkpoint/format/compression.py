"""Checksums and compression of changelogs, as `docs/format.md` numbers them."""

from __future__ import annotations

import google_crc32c
import pyarrow as pa

CODECS = {0: "none", 1: "lz4", 2: "zstd", 3: "snappy", 4: "lzf"}
_ARROW = {1: "lz4_raw", 2: "zstd", 3: "snappy"}
_MOST = {0: 1, 1: 255, 2: 32 * 1024, 3: 22, 4: 88}
"""Raw bytes per stored byte that each format can come to."""


def crc32c(data: bytes | memoryview) -> int:
    """The CRC32C (Castagnoli) of some bytes."""
    return int(google_crc32c.value(bytes(data)))


def crc32c_extend(crc: int, data: bytes) -> int:
    """The CRC32C of what `crc` is of, followed by `data`."""
    return int(google_crc32c.extend(crc, data))


def decompress(codec: int, stored: bytes, raw_length: int) -> bytes:
    """A block's raw bytes; ValueError (or pyarrow's OSError) if they are not `raw_length` long."""
    if raw_length > len(stored) * _MOST.get(codec, 0):
        # Not a length to allocate.
        raise ValueError(f"{len(stored)} bytes of codec {codec} cannot hold {raw_length}")
    if codec == 0:
        raw = stored
    elif codec in _ARROW:
        raw = _by_arrow(codec, stored, raw_length)
    elif codec == 4:
        raw = _lzf(stored)
    else:
        raise ValueError(f"there is no codec {codec}")
    if len(raw) != raw_length:
        raise ValueError(f"it has {len(raw)} bytes, not {raw_length}")
    return raw


def _by_arrow(codec: int, stored: bytes, raw_length: int) -> bytes:
    """What pyarrow makes of it; ValueError or OSError if that has another length.

    pyarrow hands out as many bytes as it was asked for. Of LZ4 and Snappy some may not come from
    the block, but be what was in memory.
    """
    if codec == 3 and _snappy_length(stored) != raw_length:
        raise ValueError(f"it has {_snappy_length(stored)} bytes, not {raw_length}")
    raw: bytes = pa.decompress(stored, raw_length, _ARROW[codec], asbytes=True)
    if codec == 1 and raw_length and _fits(stored, raw_length - 1):
        raise ValueError(f"it has less than {raw_length} bytes")
    return raw


def _fits(stored: bytes, room: int) -> bool:
    """Whether an LZ4 block, which does not say its length, has no more raw bytes than that.

    It takes as long as to decompress it, a tenth of what it takes to parse the records.
    """
    try:
        pa.decompress(stored, room, _ARROW[1])
    except OSError:
        return False
    return True


def _snappy_length(stored: bytes) -> int:
    """The number that a Snappy block begins with, a varint of at most 5 bytes."""
    length = 0
    for i, byte in enumerate(stored[:5]):
        length |= (byte & 127) << 7 * i
        if byte < 128:
            return length
    raise ValueError("it does not begin with its length")


def _lzf(stored: bytes) -> bytes:
    """A sequence of LZF chunks. In plain Python, so slow: no maintained library reads them."""
    out = bytearray()
    at = 0
    while at < len(stored):
        if stored[at : at + 2] != b"ZV" or at + 5 > len(stored):
            raise ValueError(f"no LZF chunk starts at byte {at}")
        compressed = stored[at + 2] == 1
        length = int.from_bytes(stored[at + 3 : at + 5], "big")
        start = at + (7 if compressed else 5)
        at = start + length
        if at > len(stored):
            raise ValueError("an LZF chunk is cut off")
        if compressed:
            _inflate(stored[start:at], out)
        else:
            out += stored[start:at]
    return bytes(out)


def _inflate(chunk: bytes, out: bytearray) -> None:
    at = 0
    while at < len(chunk):
        control = chunk[at]
        at += 1
        if control < 32:
            out += chunk[at : at + control + 1]
            at += control + 1
            continue
        length = control >> 5
        if length == 7:
            length += chunk[at]
            at += 1
        start = len(out) - ((control & 0x1F) << 8) - chunk[at] - 1
        at += 1
        if start < 0:
            raise ValueError("an LZF chunk refers to bytes before its start")
        # Byte by byte where source and target overlap.
        for position in range(start, start + length + 2):
            out.append(out[position])
