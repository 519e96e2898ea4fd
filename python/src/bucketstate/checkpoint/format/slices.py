"""Many byte strings in one buffer, by position: what is vectorised here works on these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


def gather(buffer: Bytes, at: Positions, dtype: str) -> npt.NDArray[Any]:
    """The numbers that start at these bytes, wherever they lie. IndexError if one is outside."""
    kind = np.dtype(dtype)
    if not at.size:
        return np.empty(0, kind)
    if int(at.min()) < 0 or int(at.max()) + kind.itemsize > buffer.size:
        raise IndexError(f"a value would lie outside of the {buffer.size} bytes read")
    # A view with an element at every byte, overlapping: one gather, aligned or not.
    size = buffer.size - kind.itemsize + 1
    view: npt.NDArray[Any] = np.ndarray((size,), kind, buffer, strides=(1,))
    return view[at]


@dataclass(frozen=True)
class Slices:
    """Byte strings: `lengths[i]` bytes of `buffer` from `starts[i]`, which nobody changes."""

    buffer: Bytes
    starts: Positions
    lengths: Positions

    def __len__(self) -> int:
        return int(self.starts.size)

    def __getitem__(self, part: slice) -> Slices:
        return Slices(self.buffer, self.starts[part], self.lengths[part])

    def where(self, mask: Mask) -> Slices:
        return Slices(self.buffer, self.starts[mask], self.lengths[mask])

    def at(self, positions: Positions) -> Slices:
        return Slices(self.buffer, self.starts[positions], self.lengths[positions])

    def matching(self, wanted: Callable[[bytes], bool]) -> Mask:
        """Which of them are wanted."""
        return np.fromiter(map(wanted, self.to_list()), np.bool_, len(self))

    def check(self) -> None:
        """IndexError if one lies outside of the buffer."""
        if not len(self):
            return
        ends = self.starts + self.lengths
        inside = self.starts.min() >= 0 and self.lengths.min() >= 0
        if not inside or ends.max() > self.buffer.size:
            raise IndexError(f"a value would lie outside of the {self.buffer.size} bytes read")

    def to_arrow(self) -> pa.LargeBinaryArray:
        """Copied into an Arrow array, next to each other."""
        self.check()
        count = len(self)
        if not count:
            return pa.array([], pa.large_binary())
        # What lies between two of them becomes an element too, which `take` leaves out.
        bounds = np.empty(2 * count + 1, np.int64)
        bounds[0:-1:2] = self.starts
        bounds[1::2] = self.starts + self.lengths
        bounds[-1] = bounds[-2]
        # Empty ones may lie anywhere.
        if not self.lengths.all():
            empty = np.flatnonzero(self.lengths == 0)
            bounds[2 * empty] = bounds[2 * empty + 1] = 0
            np.maximum.accumulate(bounds, out=bounds)
            if not np.array_equal(bounds[1::2] - bounds[0:-1:2], self.lengths):
                return self._copied()
        elif (np.diff(bounds) < 0).any():
            return self._copied()
        every = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(),
            2 * count,
            [None, pa.py_buffer(bounds), pa.py_buffer(np.ascontiguousarray(self.buffer))],
        )
        return every.take(pa.array(np.arange(0, 2 * count, 2)))

    def _copied(self) -> pa.LargeBinaryArray:
        """Slices in no order as an Arrow array, copied byte by byte."""
        offsets = offsets_of(self.lengths)
        shift = np.repeat(self.starts - offsets[:-1], self.lengths)
        data = self.buffer[shift + np.arange(offsets[-1])]
        return pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(self), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        )

    def to_list(self) -> list[bytes]:
        data = self.buffer.tobytes()
        ends = (self.starts + self.lengths).tolist()
        return [data[s:e] for s, e in zip(self.starts.tolist(), ends, strict=True)]

    @classmethod
    def joined(cls, strings: Sequence[bytes]) -> Slices:
        """These strings, copied into one buffer."""
        lengths = np.fromiter(map(len, strings), np.int64, len(strings))
        return cls(buffer_of(strings), offsets_of(lengths)[:-1], lengths)

    @classmethod
    def concat(cls, parts: Sequence[Slices]) -> Slices:
        """All of them, copied into one buffer."""
        if len(parts) == 1:
            return parts[0]
        bases = offsets_of(np.array([p.buffer.size for p in parts], np.int64))
        return cls(
            np.concatenate([p.buffer for p in parts] or [np.empty(0, np.uint8)]),
            _concat([p.starts + base for p, base in zip(parts, bases[:-1], strict=True)]),
            _concat([p.lengths for p in parts]),
        )


def buffer_of(strings: Iterable[bytes]) -> Bytes:
    return np.frombuffer(b"".join(strings), np.uint8)


def offsets_of(lengths: Positions) -> Positions:
    """Where each starts if they lie one after the other, and where the last one ends."""
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _concat(parts: Sequence[Positions]) -> Positions:
    return np.concatenate(parts) if parts else np.empty(0, np.int64)
