"""Little-endian numbers and strings, read one after the other."""

from __future__ import annotations

import struct


class Reader:
    """Reads from the front of some bytes; struct.error or ValueError when they do not suffice."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def u8(self) -> int:
        return self._unpack("<B")

    def u16(self) -> int:
        return self._unpack("<H")

    def u32(self) -> int:
        return self._unpack("<I")

    def u64(self) -> int:
        return self._unpack("<Q")

    def i64(self) -> int:
        return self._unpack("<q")

    def bytes(self, length: int) -> bytes:
        taken = self._data[self._at : self._at + length]
        if len(taken) < length:
            raise ValueError(f"expected {length} bytes more, found {len(taken)}")
        self._at += length
        return taken

    def string(self) -> str:
        return self.bytes(self.u16()).decode("utf-8")

    def count(self, least_bytes_each: int) -> int:
        """A count that can be true: a wrong one must not make anybody allocate that much."""
        count = self.u32()
        if count * least_bytes_each > len(self._data) - self._at:
            raise ValueError(f"a count of {count} is more than the rest can hold")
        return count

    def finish(self) -> None:
        if self._at != len(self._data):
            raise ValueError(f"{len(self._data) - self._at} bytes too many")

    def _unpack(self, layout: str) -> int:
        (number,) = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return int(number)
