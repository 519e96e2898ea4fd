"""Entries of many data blocks at once: each step takes one entry of every stretch between restarts.

An entry's key begins as the one before it in its stretch, so entries of a stretch follow on one
another. Those of other stretches do not: numpy takes the first of all, then the second of all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from bucketstate.checkpoint.format.slices import Bytes, Positions, Slices, gather, offsets_of
from bucketstate.checkpoint.format.sst.blocks import PUT_AT_0, entries_from

Entries = tuple[Slices, Slices]
"""Keys and values, in their order."""

_PUT_AT_0 = int.from_bytes(PUT_AT_0, "little")
_MOST = 5
"""Bytes of a number of 32 bits at most."""
_ROOM = 8
"""Times what the blocks take that their keys may take, one as long as the longest."""


def joined(rows: Iterable[tuple[bytes, bytes]]) -> Entries:
    """Entries that were read one by one."""
    both = Slices.joined(list(chain.from_iterable(rows)))
    return both[0::2], both[1::2]


def entries_of(blocks: Sequence[bytes]) -> Entries:
    """All entries of data blocks that follow on one another, keys without what stands behind them.

    Values are where they were; keys are put together. IndexError or ValueError for what is no
    block of data, or has another entry than a plain put with sequence number 0.
    """
    buffer = np.frombuffer(b"".join(blocks), np.uint8)
    steps = _steps(buffer, *_stretches(buffer, np.fromiter(map(len, blocks), np.int64)))
    width = max((int((s.shared + s.own).max()) for s in steps), default=0)
    if width * sum(s.places.size for s in steps) > _ROOM * buffer.size:
        # A key that is much longer than the others.
        return joined(chain.from_iterable(entries_from(block, b"") for block in blocks))
    made = _keys(buffer, steps, width)
    lengths, starts, sizes = (
        _in_order(steps, values)
        for values in (
            [s.shared + s.own - len(PUT_AT_0) for s in steps],
            [s.value for s in steps],
            [s.size for s in steps],
        )
    )
    keys = Slices(made.reshape(-1), np.arange(lengths.size) * width, lengths)
    if (lengths < 0).any():
        raise ValueError("a key is shorter than what stands behind each")
    if (gather(keys.buffer, keys.starts + lengths, "<u8") != _PUT_AT_0).any():
        raise ValueError("an entry is no plain put with sequence number 0")
    return keys, Slices(buffer, starts, sizes)


def _stretches(buffer: Bytes, lengths: Positions) -> tuple[Positions, Positions]:
    """Where the entries from each restart to the next begin and end."""
    bounds = offsets_of(lengths)
    if (lengths < 8).any():
        raise ValueError("a block has no room for a restart")
    counts = gather(buffer, bounds[1:] - 4, "<u4").astype(np.int64)
    data_ends = bounds[1:] - 4 - 4 * counts
    if (counts < 1).any() or (data_ends < bounds[:-1]).any():
        raise ValueError("a block has more restarts than it has room for")
    of = np.repeat(np.arange(lengths.size), counts)
    number = np.arange(of.size) - offsets_of(counts)[of]
    starts = gather(buffer, data_ends[of] + 4 * number, "<u4").astype(np.int64) + bounds[of]
    ends = np.append(starts[1:], 0)
    last = number == counts[of] - 1
    ends[last] = data_ends
    if (starts[number == 0] != bounds[:-1]).any() or (starts >= ends).any():
        raise ValueError("restarts are not in their order")
    return starts, ends


@dataclass(frozen=True)
class _Step:
    """One entry of each stretch that has so many."""

    places: Positions
    """Where each stands in the order of all."""
    shared: Positions
    own: Positions
    own_start: Positions
    value: Positions
    size: Positions


def _steps(buffer: Bytes, starts: Positions, ends: Positions) -> list[_Step]:
    at, before, counts = starts.copy(), np.zeros_like(starts), np.zeros_like(starts)
    active = np.arange(at.size)
    found = []
    while active.size:
        shared, own, size, own_start = _numbers(buffer, at[active])
        value = own_start + own
        end = value + size
        if (shared > before[active]).any() or (end > ends[active]).any():
            raise ValueError("an entry ends behind its block, or begins as none before it")
        found.append((active, (shared, own, own_start, value, size)))
        before[active] = shared + own
        at[active] = end
        counts[active] += 1
        active = active[end < ends[active]]
    # Only now it is known how many entries the stretches before one have.
    first = offsets_of(counts)[:-1]
    return [_Step(first[of] + number, *parts) for number, (of, parts) in enumerate(found)]


def _keys(buffer: Bytes, steps: Sequence[_Step], width: int) -> Bytes:
    """A row for each key, of which as many bytes count as it is long."""
    edge = np.zeros(width, np.uint8)
    windows = sliding_window_view(np.concatenate([edge, buffer, edge]), width)
    made = np.empty((sum(s.places.size for s in steps), width), np.uint8)
    columns = np.arange(width, dtype=np.int32)
    for number, step in enumerate(steps):
        # Its own bytes where they belong, behind those that it shares.
        rows = windows[width + step.own_start - step.shared]
        if number:
            shared = columns < step.shared.astype(np.int32)[:, None]
            np.copyto(rows, made[step.places - 1], where=shared)
        made[step.places] = rows
    return made


def _in_order(steps: Sequence[_Step], values: Sequence[Positions]) -> Positions:
    found = np.empty(sum(s.places.size for s in steps), np.int64)
    for step, of in zip(steps, values, strict=True):
        found[step.places] = of
    return found


def _numbers(buffer: Bytes, at: Positions) -> tuple[Positions, Positions, Positions, Positions]:
    """The three numbers that stand there one behind the other, and where the last one ends."""
    first, at = _number(buffer, at)
    second, at = _number(buffer, at)
    third, at = _number(buffer, at)
    return first, second, third, at


def _number(buffer: Bytes, at: Positions) -> tuple[Positions, Positions]:
    """LEB128 numbers, and where each ends."""
    byte = gather(buffer, at, "u1").astype(np.int64)
    found = byte & 127
    end = at + 1
    longer = np.flatnonzero(byte > 127)
    for place in range(1, _MOST):
        if not longer.size:
            return found, end
        byte = gather(buffer, at[longer] + place, "u1").astype(np.int64)
        found[longer] |= (byte & 127) << 7 * place
        end[longer] += 1
        longer = longer[byte > 127]
    if longer.size:
        raise ValueError("a number has more than 32 bits")
    return found, end
