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


def most_open(most: int, files: int = 1) -> int:
    """So many, of `files` files each, that a third of what the process may have open is theirs.

    Not more than `most`, and one at least.
    """
    try:
        import resource
    except ImportError:
        # Where there are no such limits, as on Windows.
        return most
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = soft if soft != resource.RLIM_INFINITY else 1 << 20
    return max(1, min(most, limit // 3 // files))
