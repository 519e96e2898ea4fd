"""Records in memory, found by their keys: a part of a changelog, or all of a small data file."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator

from bucketstate.checkpoint.format.changelog_footer import Block
from bucketstate.checkpoint.format.records import MERGE, PUT, REMOVE, Change, Records
from bucketstate.checkpoint.spark.key_bytes import KeyBytes
from bucketstate.checkpoint.spark.keys import deciding

_PIECE = 256 * 1024
"""About as many raw bytes of a changelog are read, and their keys indexed, at a time."""
_OF_A_RECORD = 250
"""Bytes that the index takes for a record, besides its key and its value."""


class Indexed:
    """Records that are found by the part of their keys that decides their bucket. Immutable."""

    def __init__(self, records: Records, encoding: str) -> None:
        decides = deciding(records.keys, encoding).to_list()
        self._keys = records.keys.buffer.tobytes()
        same = records.values.buffer is records.keys.buffer
        self._values = self._keys if same else records.values.buffer.tobytes()
        self._at = records.keys.starts, records.keys.lengths
        self._value_at = records.values.starts, records.values.lengths
        self._kinds = [
            MERGE if merge else PUT if put else REMOVE
            for put, merge in zip(records.puts.tolist(), records.merges.tolist(), strict=True)
        ]
        self._places: dict[bytes, int | list[int]] = {}
        for place, group in enumerate(decides):
            others = self._places.setdefault(group, place)
            if isinstance(others, list):
                others.append(place)
            elif others != place:
                self._places[group] = [others, place]
        apart = 0 if same else len(self._values)
        self.size = len(self._keys) + apart + _OF_A_RECORD * len(decides)
        """Bytes that it takes, about."""

    def of(self, group: bytes, wanted: KeyBytes) -> Iterator[Change]:
        """What there is of the keys that are wanted, all of which have this part that decides."""
        places = self._places.get(group)
        if places is None:
            return
        for place in [places] if isinstance(places, int) else places:
            change = self._change(place)
            if wanted.matches(change[1]):
                yield change

    def some_keys(self, count: int) -> list[bytes]:
        """Keys of it, so many at most."""
        return [self._change(place)[1] for place in range(min(count, len(self._kinds)))]

    def _change(self, place: int) -> Change:
        start, value = int(self._at[0][place]), int(self._value_at[0][place])
        end, value_end = start + int(self._at[1][place]), value + int(self._value_at[1][place])
        return self._kinds[place], self._keys[start:end], self._values[value:value_end]


class Indexes:
    """Indexed records by what names them, those that were asked for last. Not thread-safe.

    Args:
        memory: bytes of them that are kept, about.
    """

    def __init__(self, memory: int) -> None:
        self._left = memory
        self._kept: OrderedDict[Hashable, Indexed] = OrderedDict()

    def get(self, name: Hashable, make: Callable[[], Indexed]) -> Indexed:
        found = self._kept.get(name)
        if found is not None:
            self._kept.move_to_end(name)
            return found
        found = self._kept[name] = make()
        self._left -= found.size
        while self._left < 0 and len(self._kept) > 1:
            self._left += self._kept.popitem(last=False)[1].size
        return found

    def drop(self, name: Hashable) -> None:
        found = self._kept.pop(name, None)
        self._left += found.size if found is not None else 0


def pieces(blocks: Iterable[Block]) -> list[list[Block]]:
    """Blocks of a family as they are read: neighbours together, all of a bucket in one piece."""
    found: list[list[Block]] = []
    size = last = 0
    for block in sorted(blocks, key=lambda b: (b.first_bucket, b.offset)):
        apart = not found or block.first_bucket > last
        if apart and (not found or size + block.raw_length > _PIECE):
            found.append([])
            size = 0
        found[-1].append(block)
        size += block.raw_length
        last = max(last, block.last_bucket)
    return found
