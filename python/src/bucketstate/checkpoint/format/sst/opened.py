"""How many files are open at a time."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from itertools import islice


class Opened:
    """Files and databases that are open, those that were asked for last. Not thread-safe.

    Args:
        most: how many there may be, but for those that are read just then.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._shut: OrderedDict[Hashable, Callable[[], None]] = OrderedDict()
        self._read: Counter[Hashable] = Counter()

    def ask(self, name: Hashable, shut: Callable[[], None]) -> None:
        """Says that one is asked for, and how it is shut for a while."""
        self._shut[name] = shut
        self._shut.move_to_end(name)
        spare = max(0, len(self._shut) - self._most)
        for other in [n for n in islice(self._shut, spare) if not self._read[n]]:
            self._shut.pop(other)()

    @contextmanager
    def reading(self, name: Hashable) -> Iterator[None]:
        """It is not shut meanwhile."""
        self._read[name] += 1
        try:
            yield
        finally:
            self._read[name] -= 1

    def drop(self, name: Hashable) -> None:
        """Says that one is not there any more."""
        self._shut.pop(name, None)
