"""Changes of keys put together: of each key the newest counts, and what is appended to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bucketstate.checkpoint.format.damage import decoding
from bucketstate.checkpoint.format.family import Family
from bucketstate.checkpoint.format.records import Records
from bucketstate.checkpoint.format.slices import Mask, Slices


def merged(newest_first: Sequence[Records], *, once: bool = False) -> Iterator[Records]:
    """The keys that are there, with their values; of each the first change that is found counts.

    `once` says that no part has a key twice.
    """
    parts = [part for part in newest_first if len(part)]
    if any(part.merges.any() for part in parts):
        yield _appended(parts)
        return
    alone = once and len(parts) == 1
    wins = [part.puts for part in parts] if alone else firsts([p.keys for p in parts])
    for part, won in zip(parts, wins, strict=True):
        live = won & part.puts
        if live.any():
            yield part if live.all() else part.where(live)


def aged(records: Records, family: Family, path: str) -> Records:
    """With removals in place of what has expired at the version that the family is of.

    Each record is looked at by itself: which one of a key counts is not decided by times.
    """
    if family.times is None:
        return records
    gone = records.puts.copy()
    with decoding(path, "times of records"):
        gone[gone] = family.times.expired(records.values.where(records.puts))
    return records.removing(gone) if gone.any() else records


def firsts(parts: Sequence[Slices]) -> list[Mask]:
    """Which are the first of their key, over all parts."""
    if not parts:
        return []
    codes = codes_of(parts)
    # Codes are given in the order of first occurrence.
    highest = np.maximum.accumulate(codes)
    first = np.append(True, highest[1:] > highest[:-1])
    bounds = np.cumsum([len(part) for part in parts])[:-1]
    return list(np.split(first, bounds))


def codes_of(parts: Sequence[Slices]) -> npt.NDArray[np.int32]:
    """A number for each byte string of all parts: 0, 1 and so on, in the order they appear."""
    strings = pa.chunked_array([part.to_arrow() for part in parts], pa.large_binary())
    # Arrow leaves out empty chunks.
    found = [chunk.indices.to_numpy() for chunk in strings.dictionary_encode().chunks]
    return np.concatenate(found) if found else np.empty(0, np.int32)


def _appended(newest_first: Sequence[Records]) -> Records:
    """The state where values were appended to: key by key, the oldest change first."""
    state: dict[bytes, bytes] = {}
    for part in reversed(newest_first):
        changes = zip(
            part.keys.to_list(),
            part.values.to_list(),
            part.puts.tolist(),
            part.merges.tolist(),
            strict=True,
        )
        for key, value, put, merge in reversed(list(changes)):
            if not put:
                state.pop(key, None)
            else:
                state[key] = state.get(key, b"") + value if merge else value
    return Records.of(state)
